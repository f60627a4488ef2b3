//! The measurements of each scenario, and what follows from them.

use serde::Serialize;

use crate::cases::Case;
use crate::machine::Load;
use crate::measure::{Cost, Sample};
use crate::scaling::Scaling;

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
    pub(crate) sim_seconds: f64,
    pub(crate) events: u64,
    pub(crate) frames: u64,
    /// Of the median run.
    pub(crate) events_per_second: f64,
    pub(crate) wall_per_sim_second: Spread,
    /// `null` where the system does not tell.
    cpu_per_sim_second: Option<Spread>,
    /// Simulated over wall time of the median run.
    pub(crate) times_real_time: f64,
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
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
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
