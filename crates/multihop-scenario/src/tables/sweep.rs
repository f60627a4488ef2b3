//! Keys of the table `[sweep]`.

use std::borrow::Cow;

use multihop_core::settings::{Allowed, Value as Number};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use crate::document::{Entry, Fault, Node, Value};
use crate::faults::Faults;
use crate::model::{Axis, AxisValue};
use crate::read::{Read, describe, join, settings, wrong};

/// Number of repetitions, and the axes in the order of the text.
pub(crate) struct SweepTable {
    /// Runs of each combination.
    pub(crate) seeds: u32,
    /// Keys of the scenario that vary, with their values.
    pub(crate) axes: Vec<Axis>,
}

impl Read for SweepTable {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        let Value::Table(table) = &node.value else { return wrong(node, path, "a table", faults) };
        let seeds = match table.get("seeds") {
            Some(entry) => settings::value(&SEEDS, &entry.node, &join(path, "seeds"), faults),
            None => Some(Number::Whole(1)),
        };
        let Some(Number::Whole(seeds)) = seeds else { return None };
        let mut ranked = Vec::new();
        for (key, entry) in table {
            match key.as_str() {
                "seeds" => {}
                ZIP => zipped(entry, &join(path, ZIP), &mut ranked, faults),
                _ => axes(key, entry, path, &mut ranked, faults),
            }
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let seeds = u32::try_from(seeds).expect("at most a million");
        Some(Self { seeds, axes: ranked.into_iter().map(|(_, axis)| axis).collect() })
    }
}

/// Reads the axes at `key`: an array is one axis, a table (from a dotted key without quotes) contains
/// several.
fn axes(key: &str, entry: &Entry, path: &str, ranked: &mut Vec<(usize, Axis)>, faults: &mut Faults<'_>) {
    match &entry.node.value {
        Value::Array(items) if !items.is_empty() => {
            let point = |item: &Node| vec![AxisValue { text: toml_text(item), json: json_of(item) }];
            let points = items.iter().map(point).collect();
            ranked.push((entry.rank, Axis { keys: vec![key.to_owned()], points }));
        }
        Value::Table(table) if !table.is_empty() => {
            for (below, entry) in table {
                axes(&join(key, below), entry, path, ranked, faults);
            }
        }
        _ => {
            let _: Option<()> = wrong(&entry.node, &join(path, key), "an array of values", faults);
        }
    }
}

/// Reads axes of several keys, from an array of tables whose keys vary together.
fn zipped(entry: &Entry, path: &str, ranked: &mut Vec<(usize, Axis)>, faults: &mut Faults<'_>) {
    let tables = if let Value::Array(items) = &entry.node.value { &items[..] } else { &[] };
    if tables.is_empty() {
        let _: Option<()> = wrong(&entry.node, path, "an array of tables of axes", faults);
    }
    for (n, node) in tables.iter().enumerate() {
        let path = join(path, &n.to_string());
        let table = match &node.value {
            Value::Table(table) if !table.is_empty() => table,
            _ => {
                let _: Option<()> = wrong(node, &path, "a table of axes", faults);
                continue;
            }
        };
        let mut parts = Vec::new();
        for (key, entry) in table {
            axes(key, entry, &path, &mut parts, faults);
        }
        parts.sort_by_key(|(rank, _)| *rank);
        let parts: Vec<_> = parts.into_iter().map(|(_, axis)| axis).collect();
        let count = |axis: &Axis| format!("{} of {}", axis.points.len(), axis.keys[0]);
        if parts.iter().any(|axis| axis.points.len() != parts[0].points.len()) {
            let counts = parts.iter().map(count).collect::<Vec<_>>().join(", ");
            let message = format!(
                "found different numbers of values: {counts}, allowed: the same number for every key"
            );
            faults.push(Fault::at(node.origin, path, message));
        } else {
            ranked.extend(together(parts).map(|axis| (entry.rank, axis)));
        }
    }
}

/// Joins axes with equal numbers of points into one axis.
fn together(axes: Vec<Axis>) -> Option<Axis> {
    axes.into_iter().reduce(|mut all, axis| {
        all.keys.extend(axis.keys);
        all.points.iter_mut().zip(axis.points).for_each(|(all, point)| all.extend(point));
        all
    })
}

fn toml_text(node: &Node) -> String {
    match &node.value {
        // JSON strings are TOML strings, except for one character that only TOML requires to be escaped.
        Value::Text(text) => json!(text).to_string().replace('\u{7f}', "\\u007f"),
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => format!("{x:?}").to_lowercase(),
        Value::Bool(b) => b.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml_text).collect::<Vec<_>>().join(", "))
        }
        Value::Table(table) => {
            let pair =
                |(key, entry): (&String, &Entry)| format!("{} = {}", json!(key), toml_text(&entry.node));
            format!("{{ {} }}", table.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        Value::Strange(what) => (*what).to_owned(),
    }
}

fn json_of(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Text(text) => json!(text),
        Value::Integer(n) => i64::try_from(*n).map_or_else(|_| json!(n.to_string()), |n| json!(n)),
        Value::Float(x) => json!(x),
        Value::Bool(b) => json!(b),
        Value::Array(items) => items.iter().map(json_of).collect(),
        Value::Table(table) => table.iter().map(|(key, entry)| (key.clone(), json_of(&entry.node))).collect(),
        Value::Strange(what) => json!(what),
    }
}

impl JsonSchema for SweepTable {
    fn schema_name() -> Cow<'static, str> {
        "SweepTable".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut seeds = describe::type_of(&SEEDS);
        seeds["default"] = 1.into();
        seeds["description"] = "Runs of each combination.".into();
        let axis = json!({ "anyOf": [{ "type": "array", "minItems": 1 }, { "type": "object" }] });
        json_schema!({
            "description": "What `multihop sweep` varies: every combination of the axes, each with the same \
                seeds. An axis is the dotted path of a key and the values it takes.",
            "type": "object",
            "properties": { "seeds": seeds, ZIP: {
                "description": "Axes of several keys that vary together: the first point of an axis is the first value \
                    of each of its keys.",
                "type": "array",
                "items": { "type": "object", "additionalProperties": axis },
            } },
            "additionalProperties": axis,
        })
    }
}

/// Key in a document for axes of several keys.
const ZIP: &str = "zip";
/// Allowed number of runs of each combination.
const SEEDS: Allowed = Allowed::Whole(1, 1_000_000);
