//! The pinned scenarios: a base for each area, changed by each of its cases.

use std::fs;
use std::path::PathBuf;

use multihop_routing_extra::extensions;
use multihop_scenario::{Scenario, Source};
use multihop_sim::sweep::Plan;
use multihop_sim::{Outputs, run, unattended};
use serde_json::{Value, json};

use super::values::{self, Parts};
use crate::support::ran_scenario;

/// The files of cases, without `.toml`.
pub(super) const AREAS: [&str; 6] = ["layouts", "mac", "radio", "routing", "traffic", "transports"];

/// Keys that select which other keys a table has.
pub(super) const KINDS: [&str; 4] = ["app", "kind", "model", "protocol"];

/// A scenario whose results are pinned.
pub(super) struct Case {
    pub(super) name: String,
    /// The scenario as JSON.
    pub(super) document: Value,
}

/// The folder of all areas and of the files that their scenarios name.
pub(super) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pinned")
}

/// The cases of an area, by name.
pub(super) fn cases(area: &str) -> Vec<Case> {
    let path = folder().join(format!("{area}.toml"));
    let text = fs::read_to_string(&path).unwrap();
    let file: Value = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let changed = file["case"].as_object().expect("every area has cases");
    let case = |(name, changes): (&String, &Value)| {
        let mut document = file["base"].clone();
        merge(&mut document, changes);
        Case { name: name.clone(), document }
    };
    changed.iter().map(case).collect()
}

/// Changes keys of a table, and of tables in it. Other values, and tables of another kind, are replaced as a whole.
fn merge(base: &mut Value, changes: &Value) {
    match (base, changes) {
        (Value::Object(base), Value::Object(changes))
            if !KINDS.iter().any(|kind| changes.contains_key(*kind)) =>
        {
            for (key, value) in changes {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, changes) => *base = changes.clone(),
    }
}

impl Case {
    /// Runs the scenario, or each combination of its `[sweep]`. With a `[record]` table the series, the trace and the
    /// capture are pinned as well.
    pub(super) fn run(&self) -> Parts {
        let source = Source::Json { text: self.document.to_string(), name: self.file() };
        if self.document.get("sweep").is_some() {
            return sweep(
                &Plan::new_with(&source, &[], &extensions()).unwrap_or_else(|problems| panic!("{problems}")),
            );
        }
        let scenario =
            Scenario::load_with(&source, &[], &extensions()).unwrap_or_else(|problems| panic!("{problems}"));
        if self.document.get("record").is_some() {
            return values::with_outputs(&ran_scenario(&scenario));
        }
        values::parts(&run(&scenario, Outputs::default(), &mut unattended).unwrap())
    }

    /// The result of a run without outputs, and that of a run with all outputs and frequent rows of series.
    pub(super) fn with_and_without_outputs(&self) -> [Value; 2] {
        let mut document = self.document.clone();
        document["record"] =
            json!({ "every": 0.013, "what": ["cwnd", "rtt", "hops", "queue", "goodput", "shortest"] });
        let source = Source::Json { text: document.to_string(), name: self.file() };
        let scenario =
            Scenario::load_with(&source, &[], &extensions()).unwrap_or_else(|problems| panic!("{problems}"));
        let unseen = run(&scenario, Outputs::default(), &mut unattended).unwrap();
        [unseen, ran_scenario(&scenario).result]
            .map(|result| serde_json::to_value(result.timeless()).unwrap())
    }

    /// Name of the scenario's file, in the folder that also has the files which the scenario names.
    fn file(&self) -> String {
        folder().join(format!("{}.json", self.name)).display().to_string()
    }
}

/// A hash of the result of each run, by the values of the axes and the seed.
fn sweep(plan: &Plan) -> Parts {
    let hashed = |index| {
        let planned = plan.run(index).unwrap_or_else(|problems| panic!("{problems}"));
        let label = format!("{} {}", Value::from(plan.values(planned.combination)), planned.scenario.seed);
        (label, values::brief(&run(&planned.scenario, Outputs::default(), &mut unattended).unwrap()))
    };
    (0..plan.runs()).map(hashed).collect()
}
