//! What was measured, for people and for programs.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::cases::Case;
use crate::measure::{Cost, Sample};
use crate::targets::{Verdict, process_bytes, verdicts};

/// What was measured of one case.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) scenario: &'static str,
    pub(crate) nodes: u32,
    runs: usize,
    sim_seconds: f64,
    events: u64,
    frames: u64,
    /// Of the median run.
    events_per_second: f64,
    wall_per_sim_second: Spread,
    /// `null` where the system does not tell.
    cpu_per_sim_second: Option<Spread>,
    /// Simulated over wall time of the median run.
    times_real_time: f64,
    /// `null` without valgrind.
    pub(crate) instructions: Option<Cost>,
    pub(crate) peak_bytes: Option<u64>,
    /// Of runs of [`WATCHED`](crate::targets::WATCHED) simulated seconds.
    pub(crate) peak_bytes_over_time: Option<[u64; 2]>,
}

/// Median and range.
#[derive(Clone, Copy, Debug, Serialize)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Row {
    /// `samples` are runs of equal length, at least one.
    pub(crate) fn new(
        case: &Case,
        samples: &[Sample],
        instructions: Option<Cost>,
        peak_bytes_over_time: Option<[u64; 2]>,
    ) -> Self {
        let Sample { sim_seconds, events, frames, .. } = samples[0];
        let cpu: Option<Vec<_>> =
            samples.iter().map(|s| s.cpu_seconds.map(|seconds| seconds / s.sim_seconds)).collect();
        let wall = Spread::of(samples.iter().map(|s| s.wall_seconds / s.sim_seconds).collect());
        Self {
            scenario: case.name,
            nodes: case.nodes,
            runs: samples.len(),
            sim_seconds,
            events,
            frames,
            events_per_second: events as f64 / (sim_seconds * wall.median),
            wall_per_sim_second: wall,
            cpu_per_sim_second: cpu.map(Spread::of),
            times_real_time: 1.0 / wall.median,
            instructions,
            peak_bytes: samples.iter().filter_map(|s| s.peak_bytes).max(),
            peak_bytes_over_time,
        }
    }

    fn cells(&self, process: Option<u64>) -> [String; 10] {
        let Spread { median, min, max } = self.wall_per_sim_second;
        [
            self.scenario.to_owned(),
            format!("{:.3}", self.events as f64 * 1e-6),
            format!("{:.1}", self.events as f64 / self.frames as f64),
            format!("{:.2}", self.events_per_second * 1e-6),
            format!("{:.3} ({:.3}..{:.3})", median * 1e3, min * 1e3, max * 1e3),
            format!("{:.0}", self.times_real_time),
            number(self.instructions.map(|cost| cost.per_event), 0),
            number(self.instructions.map(|cost| cost.per_frame), 0),
            number(self.peak_bytes.map(|bytes| bytes as f64 * 1e-6), 1),
            number(self.bytes_per_node(process).map(|bytes| bytes * 1e-3), 1),
        ]
    }

    /// Seconds of processor time for a simulated second, or of wall time where the former is not
    /// known.
    pub(crate) fn seconds_per_sim_second(&self) -> f64 {
        self.cpu_per_sim_second.unwrap_or(self.wall_per_sim_second).median
    }

    pub(crate) fn events_per_sim_second(&self) -> f64 {
        self.events as f64 / self.sim_seconds
    }

    /// What a node takes where there are many: the peak without that of a process with hardly any
    /// nodes, shared among them.
    pub(crate) fn bytes_per_node(&self, process: Option<u64>) -> Option<f64> {
        let beyond = self.peak_bytes?.checked_sub(process?)?;
        (self.nodes >= MANY).then(|| beyond as f64 / f64::from(self.nodes))
    }
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self { median: values[values.len() / 2], min: values[0], max: values[values.len() - 1] }
    }
}

/// A table, and how near the targets are.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "scenario",
        "Mevents",
        "per frame",
        "Mevents/s",
        "wall ms per simulated s",
        "x real time",
        "instr/event",
        "instr/frame",
        "peak MB",
        "kB/node",
    ]);
    let process = process_bytes(rows);
    for row in rows {
        table.add_row(row.cells(process));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let verdicts: String = verdicts(rows).iter().map(|line| format!("\n{}", line.text())).collect();
    format!("{table}\n{verdicts}")
}

/// The same as a document.
pub(crate) fn json(rows: &[Row]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        version: &'static str,
        scenarios: &'a [Row],
        targets: Vec<Verdict>,
    }
    let document = Document { version: env!("CARGO_PKG_VERSION"), scenarios: rows, targets: verdicts(rows) };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// Nodes from which on the memory of each is told.
pub(crate) const MANY: u32 = 100;

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CASES;

    fn row(nodes: u32, cost: Cost) -> Row {
        let sample = Sample {
            sim_seconds: 2.0,
            wall_seconds: 0.5,
            cpu_seconds: None,
            events: 100,
            frames: 4,
            peak_bytes: Some(3_000_000),
        };
        let slow = Sample { wall_seconds: 1.0, peak_bytes: Some(4_000_000), ..sample };
        let slower = Sample { wall_seconds: 4.0, ..slow };
        Row { nodes, ..Row::new(&CASES[0], &[slower, sample, slow], Some(cost), None) }
    }

    #[test]
    fn the_median_run_counts() {
        let row = row(100, Cost { per_event: 200.0, per_frame: 5000.0 });
        let cells = row.cells(Some(2_000_000));
        let expected =
            ["0.000", "25.0", "0.00", "500.000 (250.000..2000.000)", "2", "200", "5000", "4.0", "20.0"];
        assert_eq!(cells[1..], expected);
    }
}
