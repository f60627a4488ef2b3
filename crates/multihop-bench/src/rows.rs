//! The measurements of each scenario, and values derived from them.

use serde::Serialize;

use crate::cases::Case;
use crate::machine::Load;
use crate::measure::{Cost, Sample};
use crate::scaling::Scaling;

/// The measurements of one case.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) scenario: &'static str,
    pub(crate) nodes: u32,
    /// Number of networks with different seeds, whose costs are added.
    pub(crate) networks: u32,
    /// The measured interval for time, in simulated seconds.
    pub(crate) timed: [f64; 2],
    /// Measured interval for instructions, in simulated seconds.
    pub(crate) counted: [f64; 2],
    pub(crate) runs: usize,
    /// Simulated time of all networks together, s.
    pub(crate) sim_seconds: f64,
    pub(crate) events: u64,
    pub(crate) frames: u64,
    /// Data among the frames; each MPDU of an aggregate counts.
    pub(crate) mpdus: u64,
    /// Number of events per second in the run of median duration.
    pub(crate) events_per_second: f64,
    pub(crate) wall_per_sim_second: Spread,
    /// CPU seconds for each simulated second; `null` if the system does not report them.
    pub(crate) cpu_per_sim_second: Option<Spread>,
    /// Simulated over wall time of the median run.
    pub(crate) times_real_time: f64,
    /// Instructions for each event and frame; `null` without valgrind.
    pub(crate) instructions: Option<Cost>,
    pub(crate) memory: Memory,
}

/// Largest resident sets; `null` if the system does not report them.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Memory {
    pub(crate) peak_bytes: Option<u64>,
    /// Peaks of runs of [`WATCHED`](crate::targets::WATCHED) simulated seconds.
    pub(crate) peak_bytes_over_time: Option<[u64; 2]>,
    /// Number of nodes and peak memory of a smaller network of the same kind, whose run is as long as the
    /// first one in `peak_bytes_over_time`.
    pub(crate) peak_bytes_of_few: Option<(u32, u64)>,
}

/// Median of several values, and their range.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Row {
    /// Row of a case from one or more runs of equal length (`samples`) and the events of any of them.
    pub(crate) fn new(
        case: &Case,
        samples: &[Sample],
        events: u64,
        instructions: Option<Cost>,
        memory: Memory,
    ) -> Self {
        let Sample { sim_seconds, frames, mpdus, .. } = samples[0];
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
            mpdus,
            events_per_second: events as f64 / (sim_seconds * wall.median),
            wall_per_sim_second: wall,
            cpu_per_sim_second: cpu.map(Spread::of),
            times_real_time: 1.0 / wall.median,
            instructions,
            memory: Memory { peak_bytes: samples.iter().filter_map(|s| s.peak_bytes).max(), ..memory },
        }
    }

    /// CPU seconds of the fastest run, because disturbances only make runs slower.
    pub(crate) fn time(&self) -> Cost {
        let seconds = self.cpu_per_sim_second.unwrap_or(self.wall_per_sim_second).min * self.sim_seconds;
        Cost {
            per_event: seconds / self.events as f64,
            per_frame: seconds / self.frames as f64,
            per_mpdu: seconds / self.mpdus as f64,
        }
    }

    /// CPU seconds per simulated second, or wall-clock seconds if CPU time is not known.
    pub(crate) fn seconds_per_sim_second(&self) -> f64 {
        self.cpu_per_sim_second.unwrap_or(self.wall_per_sim_second).median
    }

    pub(crate) fn events_per_sim_second(&self) -> f64 {
        self.events as f64 / self.sim_seconds
    }

    pub(crate) fn frames_per_node_second(&self) -> f64 {
        self.frames as f64 / self.sim_seconds / f64::from(self.nodes)
    }

    /// Memory per node: the difference to a smaller network, divided by the difference in nodes. This excludes the program
    /// itself.
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

/// All measurements of a benchmark, with the load of the machine.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(rename = "scenarios")]
    pub(crate) rows: Vec<Row>,
    /// Speed on all processors compared with one thread; `null` on a machine with one processor.
    pub(crate) scaling: Option<Scaling>,
    /// Load of the machine; `null` if the system does not report it.
    pub(crate) machine: Option<Load>,
}
