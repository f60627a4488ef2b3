//! Compares the results of the scenarios in `tests/pinned` with stored ones, so that a change which should not
//! influence behaviour is seen to have none. `python3 tools/pinned.py` runs these tests and rewrites the stored values.
//!
//! Each `AREA.toml` has a scenario, `[base]`, and cases, each of which changes some of its keys. `AREA.json` stores for
//! each case the pinned values of its result and a hash of them.

mod cases;
mod coverage;
mod values;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;

use cases::{AREAS, Case};
use values::{Parts, Stored};

/// If this variable is `update`, the stored values are replaced instead of compared.
const MODE: &str = "MULTIHOP_PINNED";
/// If this variable is set, only the case with this name, `AREA/CASE`, is run.
const ONLY: &str = "MULTIHOP_PINNED_CASE";

#[test]
fn results_of_layouts_are_pinned() {
    check("layouts");
}

#[test]
fn results_of_mac_are_pinned() {
    check("mac");
}

#[test]
fn results_of_radio_are_pinned() {
    check("radio");
}

#[test]
fn results_of_routing_are_pinned() {
    check("routing");
}

#[test]
fn results_of_traffic_are_pinned() {
    check("traffic");
}

#[test]
fn results_of_transports_are_pinned() {
    check("transports");
}

#[test]
fn outputs_change_no_number_of_a_result() {
    for area in AREAS {
        for case in cases::cases(area).iter().step_by(9) {
            let [unseen, seen] = case.with_and_without_outputs();
            assert_eq!(unseen, seen, "{area}/{}", case.name);
        }
    }
}

#[test]
fn every_file_of_cases_is_an_area() {
    let files = fs::read_dir(cases::folder()).unwrap().map(|entry| entry.unwrap().path());
    let toml = files.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let mut found: Vec<_> = toml.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    found.sort();
    assert_eq!(found, AREAS);
}

/// Runs the cases of an area, and compares their results with the stored ones or replaces these.
fn check(area: &str) {
    let only = env::var(ONLY).ok();
    let asked = |name: &str| only.as_ref().is_none_or(|only| *only == format!("{area}/{name}"));
    let cases = cases::cases(area);
    let mut stored = values::read(area);
    let results: BTreeMap<String, Parts> =
        cases.iter().filter(|case| asked(&case.name)).map(|case| (case.name.clone(), case.run())).collect();
    if env::var(MODE).is_ok_and(|mode| mode == "update") {
        stored.retain(|name, _| cases.iter().any(|case| case.name == *name));
        stored.extend(results.into_iter().map(|(name, parts)| (name, Stored::of(parts))));
        values::write(area, &stored);
        return;
    }
    let report = report(area, &stored, results, &cases);
    assert!(
        report.is_empty(),
        "pinned results differ:\n{report}Only if each difference is intended: python3 tools/pinned.py --update, and its reason \
         in the message of the commit"
    );
}

/// Each value that differs, with its stored and its new value.
fn report(
    area: &str,
    stored: &BTreeMap<String, Stored>,
    results: BTreeMap<String, Parts>,
    cases: &[Case],
) -> String {
    let mut report = String::new();
    for name in stored.keys().filter(|name| cases.iter().all(|case| case.name != **name)) {
        let _ = writeln!(report, "{area}/{name}: stored, but there is no such case");
    }
    for (name, parts) in results {
        let new = Stored::of(parts);
        match stored.get(&name) {
            None => {
                let _ = writeln!(report, "{area}/{name}: nothing is stored of this case");
            }
            Some(old) => {
                for line in old.differences(&new) {
                    let _ = writeln!(report, "{area}/{name}: {line}");
                }
            }
        }
    }
    report
}
