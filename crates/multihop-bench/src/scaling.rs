//! Scaling: the same list of runs on one thread and on all processors.

use std::time::Instant;

use multihop_scenario::Scenario;
use multihop_sim::batch::in_order;
use multihop_sim::{Outputs, run, unattended};
use serde::Serialize;

use crate::cases::Case;
use crate::machine::{self, Load, Moment};
use crate::networks::Size;

/// The name of this measurement in the list of scenarios.
pub(crate) const NAME: &str = "sweep-scaling";

/// Time of equal runs on one thread and on several.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Scaling {
    runs: usize,
    pub(crate) threads: usize,
    /// Shortest wall-clock time of several rounds on one thread, s.
    seconds_alone: f64,
    seconds_together: f64,
    /// The load of the machine; `null` if the system does not report it.
    load: Option<Load>,
}

impl Scaling {
    /// Measures runs of `seconds` simulated seconds each; `None` on a machine with one processor.
    pub(crate) fn measure(case: &Case, seconds: f64, rounds: usize) -> anyhow::Result<Option<Self>> {
        let threads = machine::processors();
        if threads < 2 {
            return Ok(None);
        }
        let runs = RUNS_PER_THREAD * threads;
        let scenarios: Vec<_> = (1..)
            .take(runs)
            .map(|seed| case.scenario(Size { nodes: case.nodes, seed }, [0.0, seconds]))
            .collect::<Result<_, _>>()?;
        let before = Moment::now();
        let (mut alone, mut together) = (f64::INFINITY, f64::INFINITY);
        // The rounds alternate, so that both measurements meet the same load.
        for _ in 0..rounds.max(1) {
            alone = alone.min(time(&scenarios, 1)?);
            together = together.min(time(&scenarios, threads)?);
        }
        let load = before.zip(Moment::now()).map(|(before, after)| before.until(after));
        Ok(Some(Self { runs, threads, seconds_alone: alone, seconds_together: together, load }))
    }

    /// Throughput / (threads * throughput of one thread).
    pub(crate) fn share_of_linear(&self) -> f64 {
        self.seconds_alone / (self.threads as f64 * self.seconds_together)
    }

    pub(crate) fn text(&self) -> String {
        let Self { runs, threads, seconds_alone, seconds_together, load } = self;
        let others =
            load.map_or_else(String::new, |load| format!(", others kept {:.2} processors busy", load.others));
        format!(
            "{NAME}: {runs} runs in {seconds_alone:.2} s on one thread, {seconds_together:.2} s on {threads} \
             (best of several{others})"
        )
    }
}

fn time(scenarios: &[Scenario], threads: usize) -> anyhow::Result<f64> {
    let begin = Instant::now();
    in_order(
        scenarios.len(),
        threads,
        |n| run(&scenarios[n], Outputs { without_lists: true, ..Outputs::default() }, &mut unattended),
        |_, result| result.map(drop),
    )?;
    Ok(begin.elapsed().as_secs_f64())
}

/// Number of runs for each thread: enough that little time is lost while the last run is alone.
const RUNS_PER_THREAD: usize = 16;
