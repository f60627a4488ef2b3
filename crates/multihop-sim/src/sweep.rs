//! Sweeps: runs for every combination of the axes' values, each with the same seeds.

use std::collections::BTreeMap;

use multihop_scenario::{Axis, Extensions, Problems, Scenario, Source};
use serde::Serialize;

use crate::interval::{self, Estimate};
use crate::journal::Journal;
use crate::key::{BUILD, key};
use crate::notes::notes;
use crate::results::RunResult;

/// The checked runs of a scenario's `[sweep]` table.
#[derive(Clone, Debug)]
pub struct Plan {
    source: Source,
    overrides: Vec<(String, String)>,
    extensions: Extensions,
    keys: Vec<String>,
    combinations: Vec<Combination>,
    seeds: u32,
}

/// One point of each axis.
#[derive(Clone, Debug)]
struct Combination {
    overrides: Vec<(String, String)>,
    values: Vec<serde_json::Value>,
    first_seed: u64,
}

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct Run {
    /// Index in the plan, from 0.
    pub index: usize,
    /// Index of the run's combination of the axes, from 0.
    pub combination: usize,
    /// The scenario, its seed included.
    pub scenario: Scenario,
    /// Key that identifies the run in a journal.
    pub key: String,
    /// All overrides of the plan's source, the seed included.
    pub overrides: Vec<(String, String)>,
}

/// A result and its position in the sweep; one line of a sweep's JSON.
#[derive(Clone, Debug, Serialize)]
pub struct SweepResult {
    /// The value of each axis.
    pub sweep: BTreeMap<String, serde_json::Value>,
    /// Key that identifies the run in a journal.
    pub key: String,
    /// Version of the build that made the result.
    pub version: &'static str,
    /// The result of the run.
    #[serde(flatten)]
    pub result: RunResult,
}

/// Estimates over the seeds of one combination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CombinationSummary {
    /// Number of runs in the summary.
    pub runs: usize,
    /// Sum of the flows' goodput, kb/s.
    pub goodput_kbps: Option<Estimate>,
    /// Jain's fairness index over whole runs.
    pub jain: Option<Estimate>,
    /// Distinct segments delivered / distinct segments sent.
    pub delivery_ratio: Option<Estimate>,
    /// Mean one-way delay of all segments, ms.
    pub delay_ms: Option<Estimate>,
    /// 95th percentile of the delay, ms.
    pub delay_p95_ms: Option<Estimate>,
    /// Retransmitted segments / distinct segments delivered.
    pub retransmission_index: Option<Estimate>,
}

impl Plan {
    /// Checks every combination of the scenario's axes.
    pub fn new(source: &Source, overrides: &[(String, String)]) -> Result<Self, Problems> {
        Self::new_with(source, overrides, &Extensions::default())
    }

    /// Plans the runs of a sweep whose scenario may use user-defined protocols.
    pub fn new_with(
        source: &Source,
        overrides: &[(String, String)],
        extensions: &Extensions,
    ) -> Result<Self, Problems> {
        let base = Scenario::load_with(source, overrides, extensions)?;
        let Some(sweep) = &base.sweep else {
            let message = "is missing, allowed: a table of axes such as \"topology.hops\" = [1, 2, 4]";
            return Err(Problems::of_file(source.name(), "sweep", message));
        };
        let axes: Vec<Axis> = sweep.axes.iter().filter_map(|axis| open_part(axis, overrides)).collect();
        let count = axes.iter().map(|axis| axis.points.len()).product();
        let mut combinations = Vec::with_capacity(count);
        for number in 0..count {
            let mut own = Vec::new();
            let mut values = Vec::new();
            // The index is a mixed-radix number whose lowest digit is the last axis, which varies fastest.
            let mut rest = number;
            for axis in axes.iter().rev() {
                let point = &axis.points[rest % axis.points.len()];
                rest /= axis.points.len();
                for (key, value) in axis.keys.iter().zip(point).rev() {
                    own.push((key.clone(), value.text.clone()));
                    values.push(value.json.clone());
                }
            }
            own.reverse();
            values.reverse();
            // An axis follows the tables that the caller gives, but not what the caller gives for one of several flows.
            let narrower =
                overrides.iter().filter(|(given, _)| own.iter().any(|(key, _)| covers(key, given)));
            own.extend(narrower.cloned().collect::<Vec<_>>());
            let scenario = Scenario::load_with(source, &[overrides, &own].concat(), extensions)?;
            combinations.push(Combination { overrides: own, values, first_seed: scenario.seed });
        }
        Ok(Self {
            source: source.clone(),
            overrides: overrides.to_vec(),
            extensions: extensions.clone(),
            keys: axes.into_iter().flat_map(|axis| axis.keys).collect(),
            combinations,
            seeds: sweep.seeds,
        })
    }

    /// The number of runs.
    pub fn runs(&self) -> usize {
        self.combinations.len() * self.seeds as usize
    }

    /// The number of combinations of the axes.
    pub fn combinations(&self) -> usize {
        self.combinations.len()
    }

    /// The keys that vary.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The value of each key in one combination.
    pub fn values(&self, combination: usize) -> &[serde_json::Value] {
        &self.combinations[combination].values
    }

    /// The [`notes`] on the first run of each combination, each note once.
    pub fn notes(&self) -> Result<Vec<String>, Problems> {
        let mut all = Vec::new();
        for combination in 0..self.combinations() {
            let run = self.run(combination * self.seeds as usize)?;
            for note in notes(&run.scenario) {
                if !all.contains(&note) {
                    all.push(note);
                }
            }
        }
        Ok(all)
    }

    /// One run of the plan: combinations in order, and for each combination the seeds in order.
    pub fn run(&self, index: usize) -> Result<Run, Problems> {
        let combination = index / self.seeds as usize;
        let own = &self.combinations[combination];
        let seed = own.first_seed.wrapping_add((index % self.seeds as usize) as u64);
        let seed = ("seed".to_owned(), seed.to_string());
        let overrides = [&self.overrides[..], &own.overrides, &[seed]].concat();
        let scenario = Scenario::load_with(&self.source, &overrides, &self.extensions)?;
        let key = key(&self.source, &overrides, &scenario)?;
        Ok(Run { index, combination, scenario, key, overrides })
    }

    /// Adds the run's place in the sweep to its result.
    pub fn label(&self, run: &Run, result: RunResult) -> SweepResult {
        let values = self.values(run.combination).iter().cloned();
        let sweep = self.keys.iter().cloned().zip(values).collect();
        SweepResult { sweep, key: run.key.clone(), version: BUILD, result }
    }

    /// The finished runs, in the order of the plan.
    pub fn finished(&self, journal: &Journal) -> Result<Vec<SweepResult>, Problems> {
        let mut results = Vec::new();
        for index in 0..self.runs() {
            let run = self.run(index)?;
            results.extend(journal.entry(&run.key).map(|entry| self.label(&run, entry.result)));
        }
        Ok(results)
    }
}

impl SweepResult {
    /// A line of JSON, without the line break.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("every key of a result is a string")
    }

    /// Copy of the result without the values that depend on the machine: equal runs give equal bytes.
    #[must_use]
    pub fn timeless(self) -> Self {
        Self { result: self.result.timeless(), ..self }
    }
}

/// The part of an axis that no override replaces. If an override replaces some of the keys, points that no longer differ become
/// one. `None` if overrides replace all keys.
fn open_part(axis: &Axis, overrides: &[(String, String)]) -> Option<Axis> {
    let is_open = |key: &str| !overrides.iter().any(|(given, _)| covers(given, key));
    let open: Vec<usize> = (0..axis.keys.len()).filter(|&at| is_open(&axis.keys[at])).collect();
    if open.len() == axis.keys.len() {
        return Some(axis.clone());
    }
    let mut points = Vec::new();
    for point in &axis.points {
        let point: Vec<_> = open.iter().map(|&at| point[at].clone()).collect();
        if !points.contains(&point) {
            points.push(point);
        }
    }
    let keys = open.iter().map(|&at| axis.keys[at].clone()).collect();
    (!open.is_empty()).then_some(Axis { keys, points })
}

/// Whether an override of `wide` replaces every value of `key`: `flow.*.transport` covers `flow.0.transport`.
fn covers(wide: &str, key: &str) -> bool {
    let [wide, key]: [Vec<&str>; 2] = [wide, key].map(|path| path.split('.').collect());
    wide.len() == key.len() && wide.iter().zip(&key).all(|(wide, part)| *wide == "*" || wide == part)
}

/// Estimates over the runs of one combination, at a confidence `level`.
pub fn summary(results: &[RunResult], level: f64) -> CombinationSummary {
    let estimate = |pick: fn(&RunResult) -> Option<f64>| {
        interval::estimate(&results.iter().filter_map(pick).collect::<Vec<_>>(), level)
    };
    CombinationSummary {
        runs: results.len(),
        goodput_kbps: estimate(|result| Some(result.totals.goodput_kbps)),
        jain: estimate(|result| result.totals.jain),
        delivery_ratio: estimate(|result| result.totals.delivery_ratio),
        delay_ms: estimate(|result| Some(result.totals.delay_ms?.mean)),
        delay_p95_ms: estimate(|result| Some(result.totals.delay_ms?.p95)),
        retransmission_index: estimate(|result| result.totals.retransmission_index),
    }
}
