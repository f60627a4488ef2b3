//! `multihop compare`: comparison of runs or sweeps by paired differences with intervals.

mod keys;
mod runs;
mod sweeps;

use std::path::{Path, PathBuf};

use multihop_scenario::Extensions;
use multihop_sim::difference::Difference;
use multihop_sim::interval::{Estimate, estimate};
use multihop_sim::results::RunResult;
use serde::Serialize;

use self::keys::Key;
use crate::args::CompareArgs;
use crate::terminal::Verbosity;
use crate::{CommandError, output, page, table, terminal, view};

/// Compares the runs or folders that the command line names.
pub(crate) fn compare(
    args: &CompareArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let names = names(&args.names);
    let (comparison, runs) = if sweeps::is_sweep(&args.names[0]) {
        (sweeps::compare(args, names, extensions)?, None)
    } else {
        let (comparison, runs) = runs::compare(args, names, verbosity, extensions)?;
        (comparison, Some(runs))
    };
    if args.json {
        output::json(&comparison, false)?;
    } else {
        output::line(format_args!("{}", comparison.in_words(terminal::width_of_output())))?;
    }
    if let (Some(path), Some(runs)) = (&args.out, runs) {
        page::write(&runs::page(&runs, &comparison)?, path)?;
        view::say(path, args.json)?;
    }
    Ok(())
}

/// Result of a comparison: the metrics of all runs, and their differences from the first run.
#[derive(Serialize)]
struct Comparison {
    /// Names of the compared runs, in the order of the command line.
    names: Vec<String>,
    /// The keys in which the scenarios differ; absent if the scenarios are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<Key>>,
    rows: Vec<Row>,
    /// The first difference between the first two runs; absent for sweeps and recordings.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<First>,
    /// Notes about limits of the comparison.
    notes: Vec<String>,
}

/// Values and differences of one metric.
#[derive(Serialize)]
struct Row {
    /// The values of a sweep's axes; empty for runs.
    of: String,
    metric: &'static str,
    /// Number of decimals in tables.
    #[serde(skip)]
    digits: usize,
    /// Number of the flow to which the metric belongs; `None` for totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<u32>,
    means: Vec<Option<f64>>,
    /// Means of the paired differences from the first run, with 95% intervals.
    differences: Vec<Option<Paired>>,
}

/// A mean of paired differences.
#[derive(Clone, Copy, Serialize)]
struct Paired {
    mean: f64,
    /// Half the width of its confidence interval; `null` for a single pair.
    half_width: Option<f64>,
    pairs: usize,
}

/// First event at which two runs differ.
#[derive(Serialize)]
struct First {
    /// Instant of the first difference, s; `null` if the runs do not differ.
    at: Option<f64>,
    /// The packet event of each run at the first difference, in the format of packets.txt.
    events: [Option<String>; 2],
}

impl First {
    fn of(found: Option<Difference>) -> Self {
        match found {
            Some(found) => Self { at: Some(found.seconds()), events: found.events },
            None => Self { at: None, events: [None, None] },
        }
    }
}

impl Comparison {
    /// Heading and cells of a table.
    fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let others = self.names.iter().skip(1).map(|name| format!("{name} − {}", self.names[0]));
        let heading =
            ["metric".to_owned()].into_iter().chain(self.names.iter().cloned()).chain(others).collect();
        let rows = self.rows.iter().map(|row| {
            let means = row.means.iter().map(|mean| table::number(*mean, row.digits));
            let differences = row.differences.iter().map(|paired| match paired {
                None => "-".to_owned(),
                Some(Paired { mean, half_width, .. }) => {
                    let sign = if *mean >= 0.0 { "+" } else { "" };
                    let estimate = Estimate { mean: *mean, half_width: *half_width };
                    sign.to_owned() + &table::interval(Some(estimate), row.digits)
                }
            });
            [row.name()].into_iter().chain(means).chain(differences).collect()
        });
        (heading, rows.collect())
    }

    fn in_words(&self, width: Option<usize>) -> String {
        let (heading, rows) = self.table();
        let mut lines = vec![table::compared(&heading, &rows, width)];
        lines.extend(self.keys.iter().flat_map(|keys| told_keys(keys)));
        match &self.first {
            None => {}
            Some(First { at: None, .. }) => lines.push("no packet of the first two runs differs".to_owned()),
            Some(First { at: Some(at), events }) => {
                lines.push(format!("the first two runs first differ at {at} s:"));
                for (name, event) in self.names.iter().zip(events) {
                    lines.push(format!("  {name}: {}", event.as_deref().map_or(NOTHING.to_owned(), told)));
                }
            }
        }
        lines.extend(self.notes.iter().cloned());
        lines.join("\n")
    }
}

impl Row {
    fn name(&self) -> String {
        let flow = self.flow.map(|flow| format!(" of flow {flow}")).unwrap_or_default();
        let of = if self.of.is_empty() { String::new() } else { format!("{}: ", self.of) };
        format!("{of}{}{flow}", self.metric)
    }
}

/// Sentences about the keys in which the scenarios differ.
fn told_keys(keys: &[Key]) -> Vec<String> {
    if keys.is_empty() {
        return vec!["the scenarios have the same keys, but perhaps different seeds".to_owned()];
    }
    let told = keys.iter().take(MAX_KEYS).map(|Key { key, values }| {
        let values = values.iter().map(|value| value.as_deref().unwrap_or("not given"));
        format!("  {key}: {}", values.collect::<Vec<_>>().join(" | "))
    });
    let rest = keys.len().saturating_sub(MAX_KEYS);
    let rest = (rest > 0).then(|| format!("  and {rest} more"));
    ["the scenarios differ in:".to_owned()].into_iter().chain(told).chain(rest).collect()
}

/// A line of a packet trace in words.
fn told(line: &str) -> String {
    let parts: Vec<_> = line.split('\t').collect();
    let [event, time, node, number, kind, reason, uid, from, to, ..] = parts[..] else {
        return line.to_owned();
    };
    let done = match event {
        "s" => "sent",
        "r" => "received",
        "f" => "forwarded",
        _ => "dropped",
    };
    let reason = if reason == "-" { String::new() } else { format!(" ({reason})") };
    format!("{time} s, packet {uid} ({kind} {number}, {from} to {to}) {done} at {node}{reason}")
}

const NOTHING: &str = "nothing more happens";

/// The rows for paired results: each name has a list, and all lists have the same order. A metric that a
/// result lacks is left out of its pair.
fn rows(of: &str, results: &[Vec<&RunResult>]) -> Vec<Row> {
    let Some(list) = results.first() else { return Vec::new() };
    let Some(first) = list.first() else { return Vec::new() };
    // A count of one run is a whole number; a mean of counts is not.
    let of_counts = usize::from(list.len() > 1);
    let flows = first.flows.iter().enumerate().flat_map(|(index, flow)| {
        let own: [Metric; 7] = [
            ("goodput, kb/s", 1, Box::new(move |result| Some(result.flows.get(index)?.goodput_kbps))),
            (
                "retransmission index",
                4,
                Box::new(move |result| result.flows.get(index)?.retransmission_index),
            ),
            ("timeouts", of_counts, Box::new(move |result| Some(result.flows.get(index)?.timeouts as f64))),
            ("delivery ratio", 4, Box::new(move |result| result.flows.get(index)?.delivery_ratio)),
            ("mean delay, ms", 1, Box::new(move |result| Some(result.flows.get(index)?.delay_ms?.mean))),
            ("95% of delays, ms", 1, Box::new(move |result| Some(result.flows.get(index)?.delay_ms?.p95))),
            ("jitter, ms", 2, Box::new(move |result| result.flows.get(index)?.jitter_ms)),
        ];
        own.map(|metric| (Some(flow.id), metric))
    });
    let totals: [Metric; 9] = [
        ("goodput, kb/s", 1, Box::new(|result| Some(result.totals.goodput_kbps))),
        ("fairness", 4, Box::new(|result| result.totals.jain)),
        ("retransmission index", 4, Box::new(|result| result.totals.retransmission_index)),
        ("delivery ratio", 4, Box::new(|result| result.totals.delivery_ratio)),
        ("mean delay, ms", 1, Box::new(|result| Some(result.totals.delay_ms?.mean))),
        ("95% of delays, ms", 1, Box::new(|result| Some(result.totals.delay_ms?.p95))),
        ("jitter, ms", 2, Box::new(|result| result.totals.jitter_ms)),
        ("collisions", of_counts, Box::new(|result| Some(result.mac.collisions as f64))),
        ("packets dropped by the MAC", of_counts, Box::new(|result| Some(result.mac.drops as f64))),
    ];
    let totals = totals.map(|metric| (None, metric));
    let flows: Vec<_> =
        if of.is_empty() && first.flows.len() <= MAX_FLOWS { flows.collect() } else { Vec::new() };
    totals.into_iter().chain(flows).map(|(flow, metric)| row(of, flow, metric, results)).collect()
}

/// Name of a metric, its decimals in tables, and a function that reads it.
type Metric = (&'static str, usize, Box<dyn Fn(&RunResult) -> Option<f64>>);

fn row(of: &str, flow: Option<u32>, (metric, digits, pick): Metric, results: &[Vec<&RunResult>]) -> Row {
    let values: Vec<Vec<Option<f64>>> =
        results.iter().map(|list| list.iter().map(|result| pick(result)).collect()).collect();
    let mean = |values: &Vec<Option<f64>>| {
        estimate(&values.iter().copied().flatten().collect::<Vec<_>>(), LEVEL).map(|found| found.mean)
    };
    let differences = values.iter().skip(1).map(|theirs| {
        let pairs = theirs.iter().zip(&values[0]).filter_map(|(&b, &a)| Some(b? - a?)).collect::<Vec<_>>();
        let found = estimate(&pairs, LEVEL)?;
        Some(Paired { mean: found.mean, half_width: found.half_width, pairs: pairs.len() })
    });
    let differences = differences.collect();
    Row { of: of.to_owned(), metric, digits, flow, means: values.iter().map(mean).collect(), differences }
}

/// Short names that distinguish the arguments.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let short =
        |path: &Path| path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let stems: Vec<_> = paths.iter().map(|path| short(path)).collect();
    let is_alone = |name: &String| stems.iter().filter(|other| *other == name).count() == 1;
    if stems.iter().all(is_alone) {
        stems
    } else {
        paths.iter().map(|path| path.display().to_string()).collect()
    }
}

/// Confidence level of the intervals.
const LEVEL: f64 = 0.95;
/// Largest number of keys that are shown.
const MAX_KEYS: usize = 30;
/// Largest number of flows that are shown individually; with more flows, only the totals are shown.
const MAX_FLOWS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stems_are_told_apart_by_their_folders() {
        assert_eq!(names(&["a.toml".into(), "x/b".into()]), ["a", "b"]);
        assert_eq!(names(&["x/a.toml".into(), "y/a.toml".into()]), ["x/a.toml", "y/a.toml"]);
    }

    #[test]
    fn a_line_of_a_trace_is_told_in_words() {
        let line = "D\t7.250000000\t2\t1460\ttcp\tRET\t81\t0\t4\t2\t1500";
        assert_eq!(told(line), "7.250000000 s, packet 81 (tcp 1460, 0 to 4) dropped at 2 (RET)");
    }
}
