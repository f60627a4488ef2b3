//! Sweeps: every combination of some axes, each with the same seeds, on several threads.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use serde::Serialize;

use crate::interval::{self, Estimate};
use crate::journal::{self, BUILD};
use crate::results::RunResult;
use multihop_scenario::{Place, Problem, Problems, Scenario, Source};

/// The runs of a scenario's `[sweep]` table, all of them checked.
#[derive(Clone, Debug)]
pub struct Plan {
    source: Source,
    overrides: Vec<(String, String)>,
    keys: Vec<String>,
    combinations: Vec<Combination>,
    seeds: u32,
}

/// One value of each axis.
#[derive(Clone, Debug)]
struct Combination {
    overrides: Vec<(String, String)>,
    values: Vec<serde_json::Value>,
    first_seed: u64,
}

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct Run {
    /// Place in the plan, from 0.
    pub index: usize,
    /// Which combination of the axes it belongs to, from 0.
    pub combination: usize,
    /// The scenario, its seed included.
    pub scenario: Scenario,
    /// What the journal knows it by.
    pub key: String,
    /// What makes it of the plan's source: all that is laid on top, the seed included.
    pub overrides: Vec<(String, String)>,
}

/// A result and where it belongs; one line of a sweep's JSON.
#[derive(Clone, Debug, Serialize)]
pub struct SweepResult {
    /// The value of each axis.
    pub sweep: BTreeMap<String, serde_json::Value>,
    /// What tells the run from all others.
    pub key: String,
    /// The build that made it.
    pub version: &'static str,
    /// The result of the run.
    #[serde(flatten)]
    pub result: RunResult,
}

/// What the seeds of one combination say together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CombinationSummary {
    /// How many runs.
    pub runs: usize,
    /// Sum of the flows' goodput, kb/s.
    pub goodput_kbps: Option<Estimate>,
    /// Jain's index over whole runs.
    pub jain: Option<Estimate>,
    /// Segments sent again for each one delivered.
    pub retransmission_index: Option<Estimate>,
}

impl Plan {
    /// Checks every combination of the scenario's axes.
    pub fn new(source: &Source, overrides: &[(String, String)]) -> Result<Self, Problems> {
        let base = Scenario::load(source, overrides)?;
        let Some(sweep) = &base.sweep else {
            let place = Place::Text { name: source.name().to_owned(), at: None };
            let message = "is missing, allowed: a table of axes such as \"topology.hops\" = [1, 2, 4]";
            return Err(Problems::one(Problem { place, key: "sweep".into(), message: message.into() }));
        };
        let count = sweep.axes.iter().map(|axis| axis.values.len()).product();
        let mut combinations = Vec::with_capacity(count);
        for number in 0..count {
            let mut own = Vec::new();
            let mut values = Vec::new();
            // The last axis varies fastest: its digit is the lowest.
            let mut rest = number;
            for axis in sweep.axes.iter().rev() {
                let value = &axis.values[rest % axis.values.len()];
                rest /= axis.values.len();
                own.push((axis.key.clone(), value.text.clone()));
                values.push(value.json.clone());
            }
            own.reverse();
            values.reverse();
            let scenario = Scenario::load(source, &[overrides, &own].concat())?;
            combinations.push(Combination { overrides: own, values, first_seed: scenario.seed });
        }
        Ok(Self {
            source: source.clone(),
            overrides: overrides.to_vec(),
            keys: sweep.axes.iter().map(|axis| axis.key.clone()).collect(),
            combinations,
            seeds: sweep.seeds,
        })
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.combinations.len() * self.seeds as usize
    }

    /// How many combinations of the axes there are.
    pub fn combinations(&self) -> usize {
        self.combinations.len()
    }

    /// The axes.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// What the axes are set to in one combination.
    pub fn values(&self, combination: usize) -> &[serde_json::Value] {
        &self.combinations[combination].values
    }

    /// One run: combinations in order, and the seeds of each in turn.
    pub fn run(&self, index: usize) -> Result<Run, Problems> {
        let combination = index / self.seeds as usize;
        let own = &self.combinations[combination];
        let seed = own.first_seed.wrapping_add((index % self.seeds as usize) as u64);
        let seed = ("seed".to_owned(), seed.to_string());
        let overrides = [&self.overrides[..], &own.overrides, &[seed]].concat();
        let scenario = Scenario::load(&self.source, &overrides)?;
        Ok(Run { index, combination, key: journal::key(&scenario), scenario, overrides })
    }

    /// Puts a result where it belongs.
    pub fn label(&self, run: &Run, result: RunResult) -> SweepResult {
        let values = self.values(run.combination).iter().cloned();
        let sweep = self.keys.iter().cloned().zip(values).collect();
        SweepResult { sweep, key: run.key.clone(), version: BUILD, result }
    }

    /// Writes what has been found, a line for each run in the order of the plan and the same bytes on
    /// every machine; says how many runs are missing.
    pub fn write(&self, mut finished: BTreeMap<String, RunResult>, out: &mut dyn Write) -> io::Result<usize> {
        let mut missing = 0;
        for index in 0..self.runs() {
            let run = self.run(index).map_err(io::Error::other)?;
            match finished.remove(&run.key) {
                Some(result) => {
                    serde_json::to_writer(&mut *out, &self.label(&run, result.timeless()))?;
                    out.write_all(b"\n")?;
                }
                None => missing += 1,
            }
        }
        Ok(missing)
    }
}

/// Calls `work` for every number below `count` on `jobs` threads, and `done` with each answer in the
/// order of the numbers, whatever the order in which they came. An error from `done` ends it.
pub fn in_order<T: Send, E>(
    count: usize,
    jobs: usize,
    work: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (answers, inbox) = mpsc::channel();
        for _ in 0..jobs.clamp(1, count.max(1)) {
            let (answers, next, work) = (answers.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    // Nobody listens any more once `done` has failed.
                    if index >= count || answers.send((index, work(index))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(answers);
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (index, answer) in inbox {
            early.insert(index, answer);
            while let Some(answer) = early.remove(&expected) {
                done(expected, answer)?;
                expected += 1;
            }
        }
        Ok(())
    })
}

/// What the runs of one combination say together, at a confidence `level`.
pub fn summary(results: &[RunResult], level: f64) -> CombinationSummary {
    let estimate = |pick: fn(&RunResult) -> Option<f64>| {
        interval::estimate(&results.iter().filter_map(pick).collect::<Vec<_>>(), level)
    };
    CombinationSummary {
        runs: results.len(),
        goodput_kbps: estimate(|result| Some(result.totals.goodput_kbps)),
        jain: estimate(|result| result.totals.jain),
        retransmission_index: estimate(|result| result.totals.retransmission_index),
    }
}
