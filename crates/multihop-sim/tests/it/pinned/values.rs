//! The pinned values of a result: selection, storage and comparison.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use multihop_sim::results::RunResult;
use serde_json::{Map, Value, json};

use super::cases::folder;
use crate::support::Ran;

/// Keys of a result that are pinned, by their parts. A key that is added to results later is not pinned before it is
/// added here. The number of events is no behaviour; names, `from`, `to` and the like only repeat the scenario.
const FLOW: [&str; 19] = [
    "goodput_kbps",
    "acked_kbps",
    "retransmission_index",
    "segments_sent",
    "segments_retransmitted",
    "segments_delivered",
    "out_of_order",
    "timeouts",
    "delay_ms",
    "rtt_ms",
    "mean_hops",
    "shortest_hops",
    "stretch",
    "partitioned",
    "expected_goodput_kbps",
    "identification",
    "application",
    "start",
    "stop",
];
const PARTS: [(&str, &[&str]); 4] = [
    ("totals", &["goodput_kbps", "jain", "jain_instant", "retransmission_index", "expected_goodput_kbps"]),
    ("mac", &["frames", "rates", "collisions", "retries", "drops", "airtime_share"]),
    ("routing", &["packets", "bytes", "invalid_routes", "route_changes", "oscillations"]),
    (
        "energy",
        &[
            "node_joules",
            "joules_per_mb",
            "transmit_joules",
            "receive_joules",
            "idle_joules",
            "sleep_joules",
            "first_empty",
            "empty",
        ],
    ),
];

/// Keys that only the hash contains, to keep the files of stored values small.
const HASHED_ONLY: [&str; 22] = [
    "acked_kbps",
    "airtime_share",
    "bytes",
    "empty",
    "identification",
    "idle_joules",
    "jain",
    "jain_instant",
    "mean_hops",
    "node_joules",
    "p50",
    "p95",
    "partitioned",
    "receive_joules",
    "retransmission_index",
    "rtt_ms",
    "shortest_hops",
    "sleep_joules",
    "start",
    "stop",
    "stretch",
    "transmit_joules",
];

/// The pinned values of a case. `null` and absent values are left out.
pub(super) type Parts = BTreeMap<String, Value>;

/// Stored values of a case.
pub(super) struct Stored {
    /// FNV-1a of all pinned values.
    hash: String,
    /// The pinned values with five digits, without those of [`HASHED_ONLY`].
    parts: Parts,
}

/// The pinned values of a result.
pub(super) fn parts(result: &RunResult) -> Parts {
    let whole = serde_json::to_value(result).unwrap();
    let flows = whole["flows"].as_array().expect("results list their flows");
    let flows = flows.iter().enumerate().map(|(id, flow)| (format!("flow {id}"), pick(flow, &FLOW)));
    let others = PARTS.iter().map(|(name, keys)| ((*name).to_owned(), pick(&whole[*name], keys)));
    let drops = ("drops".to_owned(), whole["drops"].clone());
    flows
        .chain(others)
        .chain([drops])
        .filter(|(_, part)| part.as_object().is_some_and(|keys| !keys.is_empty()))
        .collect()
}

/// The pinned values of a run with outputs, and a hash of each output.
pub(super) fn with_outputs(ran: &Ran) -> Parts {
    let mut parts = parts(&ran.result);
    let outputs = json!({
        "capture": hash(&ran.pcap),
        "series": hash(ran.record.as_bytes()),
        "trace": hash(ran.trace.as_bytes()),
    });
    parts.insert("outputs".to_owned(), outputs);
    parts
}

/// A hash of the pinned values of one of many runs of a sweep, with its goodput.
pub(super) fn brief(result: &RunResult) -> Value {
    let parts = parts(result);
    json!({ "goodput_kbps": parts["totals"]["goodput_kbps"], "hash": hash(text(&parts).as_bytes()) })
}

/// A key of summaries that came later than the pinned values, and is not pinned.
const NOT_PINNED: &str = "p99";

fn unpin(value: &mut Value) {
    if let Some(table) = value.as_object_mut() {
        table.remove(NOT_PINNED);
        table.values_mut().for_each(unpin);
    }
}

fn pick(from: &Value, keys: &[&str]) -> Value {
    let value = |key: &&str| {
        let mut value = from.get(*key).filter(|value| !value.is_null()).cloned()?;
        unpin(&mut value);
        Some(value)
    };
    keys.iter().filter_map(|key| Some(((*key).to_owned(), value(key)?))).collect::<Map<_, _>>().into()
}

/// A hash by FNV-1a with 64 bits.
fn hash(bytes: &[u8]) -> String {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let hash =
        bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// Formats the parts as JSON, with one part in each line.
fn text(parts: &Parts) -> String {
    let lines = parts.iter().map(|(name, part)| format!("  {}: {part}", Value::from(name.as_str())));
    lines.collect::<Vec<_>>().join(",\n")
}

/// The stored values of the cases of an area; empty if there is no file.
pub(super) fn read(area: &str) -> BTreeMap<String, Stored> {
    let path = folder().join(format!("{area}.json"));
    let Ok(text) = fs::read_to_string(&path) else { return BTreeMap::new() };
    let cases: BTreeMap<String, Parts> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let stored = |(name, mut parts): (String, Parts)| {
        let hash = parts.remove("hash").and_then(|hash| hash.as_str().map(str::to_owned)).unwrap_or_default();
        (name, Stored { hash, parts })
    };
    cases.into_iter().map(stored).collect()
}

/// Stores the cases of an area as JSON, with one line for each part of a result.
pub(super) fn write(area: &str, stored: &BTreeMap<String, Stored>) {
    let mut lines = String::from("{\n");
    for (index, (name, case)) in stored.iter().enumerate() {
        let end = if index + 1 == stored.len() { "" } else { "," };
        let (name, hash, parts) = (Value::from(name.as_str()), &case.hash, text(&case.parts));
        let _ = writeln!(lines, "{name}: {{\n  \"hash\": \"{hash}\",\n{parts}\n}}{end}");
    }
    lines.push_str("}\n");
    fs::write(folder().join(format!("{area}.json")), lines).unwrap();
}

impl Stored {
    pub(super) fn of(parts: Parts) -> Self {
        let hash = hash(text(&parts).as_bytes());
        Self { hash, parts: parts.into_iter().map(|(name, part)| (name, shorten(part))).collect() }
    }

    /// Each value of `new` that differs, as `key: old -> new`.
    pub(super) fn differences(&self, new: &Self) -> Vec<String> {
        if self.hash == new.hash {
            return Vec::new();
        }
        let (old, fresh) = (leaves(&self.parts), leaves(&new.parts));
        let mut keys: Vec<_> = old.keys().chain(fresh.keys()).collect();
        keys.sort();
        keys.dedup();
        let show = |value: Option<&String>| value.map_or("absent", String::as_str).to_owned();
        let changed = keys.into_iter().filter(|key| old.get(*key) != fresh.get(*key));
        let mut lines: Vec<_> =
            changed.map(|key| format!("{key}: {} -> {}", show(old.get(key)), show(fresh.get(key)))).collect();
        if lines.is_empty() {
            lines.push(format!(
                "hash: {} -> {}, after the fifth digit or in one of {}",
                self.hash,
                new.hash,
                HASHED_ONLY.join(", ")
            ));
        }
        lines
    }

    /// The reasons for which packets were dropped.
    pub(super) fn drops(&self) -> Vec<String> {
        let drops = self.parts.get("drops").and_then(Value::as_object);
        drops.into_iter().flat_map(|drops| drops.keys().cloned()).collect()
    }
}

/// The values that are stored, with five digits.
fn shorten(value: Value) -> Value {
    match value {
        Value::Object(keys) => {
            let stored = keys.into_iter().filter(|(key, _)| !HASHED_ONLY.contains(&key.as_str()));
            stored.map(|(key, value)| (key, shorten(value))).collect::<Map<_, _>>().into()
        }
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().expect("is_f64");
            Value::from(format!("{value:.4e}").parse::<f64>().expect("digits that were just written"))
        }
        other => other,
    }
}

/// The innermost values by dotted path.
fn leaves(parts: &Parts) -> BTreeMap<String, String> {
    fn walk(path: &str, value: &Value, leaves: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(keys) => {
                keys.iter().for_each(|(key, value)| walk(&format!("{path}.{key}"), value, leaves))
            }
            Value::Array(items) => {
                let numbered = items.iter().enumerate();
                numbered.for_each(|(index, value)| walk(&format!("{path}.{index}"), value, leaves));
            }
            leaf => drop(leaves.insert(path.to_owned(), leaf.to_string())),
        }
    }
    let mut leaves = BTreeMap::new();
    parts.iter().for_each(|(name, value)| walk(name, value, &mut leaves));
    leaves
}
