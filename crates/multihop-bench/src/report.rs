//! What was measured, for people and for programs.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::cases::Case;
use crate::machine::Load;
use crate::measure::{Cost, Sample};
use crate::scaling::Scaling;
use crate::targets::{Verdict, verdicts};

/// What was measured of one case.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) scenario: &'static str,
    pub(crate) nodes: u32,
    /// Networks of other seeds that count together.
    networks: u32,
    /// Simulated seconds from and to which time is measured.
    timed: [f64; 2],
    /// And instructions.
    counted: [f64; 2],
    runs: usize,
    /// Of all networks, as are events and frames.
    sim_seconds: f64,
    events: u64,
    pub(crate) frames: u64,
    /// Of the median run.
    events_per_second: f64,
    wall_per_sim_second: Spread,
    /// `null` where the system does not tell.
    cpu_per_sim_second: Option<Spread>,
    /// Simulated over wall time of the median run.
    times_real_time: f64,
    /// `null` without valgrind.
    pub(crate) instructions: Option<Cost>,
    pub(crate) memory: Memory,
}

/// Largest resident sets; `null` where the system does not tell.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Memory {
    pub(crate) peak_bytes: Option<u64>,
    /// Of runs of [`WATCHED`](crate::targets::WATCHED) simulated seconds.
    pub(crate) peak_bytes_over_time: Option<[u64; 2]>,
    /// Of the same network with so many nodes, run as long as the first of these.
    pub(crate) peak_bytes_of_few: Option<(u32, u64)>,
}

/// Median and range.
#[derive(Clone, Copy, Debug, Serialize)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Row {
    /// `samples` are runs of equal length, at least one; `events` are those of any.
    pub(crate) fn new(
        case: &Case,
        samples: &[Sample],
        events: u64,
        instructions: Option<Cost>,
        memory: Memory,
    ) -> Self {
        let Sample { sim_seconds, frames, .. } = samples[0];
        let cpu: Option<Vec<_>> =
            samples.iter().map(|s| s.cpu_seconds.map(|seconds| seconds / s.sim_seconds)).collect();
        let wall = Spread::of(samples.iter().map(|s| s.wall_seconds / s.sim_seconds).collect());
        Self {
            scenario: case.name,
            nodes: case.nodes,
            networks: case.networks,
            timed: case.timed,
            counted: case.counted,
            runs: samples.len(),
            sim_seconds,
            events,
            frames,
            events_per_second: events as f64 / (sim_seconds * wall.median),
            wall_per_sim_second: wall,
            cpu_per_sim_second: cpu.map(Spread::of),
            times_real_time: 1.0 / wall.median,
            instructions,
            memory: Memory { peak_bytes: samples.iter().filter_map(|s| s.peak_bytes).max(), ..memory },
        }
    }

    fn cells(&self) -> [String; 12] {
        let Spread { median, min, max } = self.wall_per_sim_second;
        let time = self.time();
        [
            self.scenario.to_owned(),
            format!("{:.3}", self.events as f64 * 1e-6),
            format!("{:.1}", self.events as f64 / self.frames as f64),
            format!("{:.2}", self.events_per_second * 1e-6),
            format!("{:.3} ({:.3}..{:.3})", median * 1e3, min * 1e3, max * 1e3),
            format!("{:.0}", self.times_real_time),
            format!("{:.1}", time.per_event * 1e9),
            format!("{:.2}", time.per_frame * 1e6),
            number(self.instructions.map(|cost| cost.per_event), 0),
            number(self.instructions.map(|cost| cost.per_frame), 0),
            number(self.memory.peak_bytes.map(|bytes| bytes as f64 * 1e-6), 1),
            number(self.bytes_per_node().map(|bytes| bytes * 1e-3), 1),
        ]
    }

    /// Seconds of processor time, of the fastest run: whatever else happens makes a run slower.
    pub(crate) fn time(&self) -> Cost {
        let seconds = self.cpu_per_sim_second.unwrap_or(self.wall_per_sim_second).min * self.sim_seconds;
        Cost { per_event: seconds / self.events as f64, per_frame: seconds / self.frames as f64 }
    }

    /// Seconds of processor time for a simulated second, or of wall time where the former is not
    /// known.
    pub(crate) fn seconds_per_sim_second(&self) -> f64 {
        self.cpu_per_sim_second.unwrap_or(self.wall_per_sim_second).median
    }

    pub(crate) fn events_per_sim_second(&self) -> f64 {
        self.events as f64 / self.sim_seconds
    }

    pub(crate) fn frames_per_node_second(&self) -> f64 {
        self.frames as f64 / self.sim_seconds / f64::from(self.nodes)
    }

    /// What a node takes where there are many: what the network takes beyond one of few, shared among
    /// the nodes that it has more. The program itself is in both.
    pub(crate) fn bytes_per_node(&self) -> Option<f64> {
        let Memory { peak_bytes, peak_bytes_over_time, peak_bytes_of_few } = self.memory;
        let (few, bytes) = peak_bytes_of_few?;
        let many = peak_bytes_over_time.map(|[once, _]| once).or(peak_bytes)?;
        Some(many.saturating_sub(bytes) as f64 / f64::from(self.nodes - few))
    }
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self { median: values[values.len() / 2], min: values[0], max: values[values.len() - 1] }
    }
}

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(rename = "scenarios")]
    pub(crate) rows: Vec<Row>,
    /// `null` on a machine with one processor.
    pub(crate) scaling: Option<Scaling>,
    /// `null` where the system does not tell.
    pub(crate) machine: Option<Load>,
}

/// A table, and how near the targets are.
pub(crate) fn text(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header([
        "scenario",
        "Mevents",
        "per frame",
        "Mevents/s",
        "wall ms per simulated s",
        "x real time",
        "ns/event",
        "us/frame",
        "instr/event",
        "instr/frame",
        "peak MB",
        "kB/node",
    ]);
    for row in &report.rows {
        table.add_row(row.cells());
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let verdicts: String = verdicts(report).iter().map(|line| format!("\n{}", line.text())).collect();
    let scaling = report.scaling.map_or_else(String::new, |scaling| format!("\n{}", scaling.text()));
    let machine = report.machine.map_or_else(String::new, |load| format!("\n{}", load.text()));
    format!("{table}\n{NOTE}\n{scaling}{machine}\n{verdicts}")
}

const NOTE: &str = "A frame is two events at each station that hears it, and a few more.";

/// The same as a document.
pub(crate) fn json(report: &Report) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Document<'a> {
        version: &'static str,
        #[serde(flatten)]
        report: &'a Report,
        targets: Vec<Verdict>,
    }
    let document = Document { version: env!("CARGO_PKG_VERSION"), report, targets: verdicts(report) };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

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
        let memory = Memory { peak_bytes_of_few: Some((10, 2_200_000)), ..Memory::default() };
        Row { nodes, ..Row::new(&CASES[0], &[slower, sample, slow], 100, Some(cost), memory) }
    }

    #[test]
    fn the_median_run_counts() {
        let row = row(100, Cost { per_event: 200.0, per_frame: 5000.0 });
        let wall = "500.000 (250.000..2000.000)";
        let expected =
            ["0.000", "25.0", "0.00", wall, "2", "5000000.0", "125000.00", "200", "5000", "4.0", "20.0"];
        assert_eq!(row.cells()[1..], expected);
    }
}
