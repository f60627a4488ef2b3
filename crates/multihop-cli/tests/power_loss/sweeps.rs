//! Tests of the journals of sweeps after a loss of power.

use std::collections::BTreeMap;
use std::path::Path;

use multihop_sim::journal::{Entry, Journal};
use multihop_testkit::disk::{Image, Trace};

use super::{EXIT, Lab, SHORT, mounted};

const SWEEP: &str = "multihop sweep ../a.toml --out new/out --json --jobs 2";

fn lab(name: &str) -> Lab {
    let lab = Lab::new(name);
    let axes =
        "[sweep]\nseeds = 3\n\"flow.*.transport\" = [\"newreno\", \"tcp-2\"]\ntopology.hops = [1, 2]\n";
    lab.write("a.toml", format!("{SHORT}{axes}"));
    lab
}

/// The runs of a complete journal, by their keys.
fn runs(journal: &[u8]) -> BTreeMap<String, Entry> {
    let lines = str::from_utf8(journal).unwrap().lines().map(|line| Entry::from_line(line).unwrap());
    lines.map(|entry| (entry.key.clone(), entry)).collect()
}

/// Opens the journal of an image, then adds the runs that are missing, as a sweep does that is begun again.
fn resumes(folder: &Path, all: &BTreeMap<String, Entry>, has_ended: bool) -> Result<(), String> {
    let folder = folder.join("new/out");
    if !folder.is_dir() {
        return if has_ended { Err("the folder is lost".to_owned()) } else { Ok(()) };
    }
    let open = || Journal::open(&folder, None).map_err(|error| error.to_string());
    let mut journal = open()?;
    if has_ended && journal.len() < all.len() {
        return Err(format!("{} of {} runs are lost", all.len() - journal.len(), all.len()));
    }
    for (key, entry) in all {
        if !journal.contains(key) {
            journal.append(entry).map_err(|error| error.to_string())?;
        }
    }
    drop(journal);
    let journal = open()?;
    match all.iter().find(|(key, entry)| journal.entry(key).as_ref() != Some(entry)) {
        Some((key, _)) => Err(format!("run {key} is damaged")),
        None if journal.len() != all.len() => Err("a damaged line counts as a run".to_owned()),
        None => Ok(()),
    }
}

fn try_cuts(program: &str, trace: &Trace) {
    let last = trace.complete();
    let all = runs(last.file("new/out/runs.jsonl").unwrap());
    assert_eq!(all.len(), 12);
    let results = last.file("new/out/results.jsonl").unwrap();
    let check = |image: &Image| {
        let has_ended = image.outputs().contains(EXIT);
        match image.file("new/out/results.jsonl") {
            Some(found) if found != results => return Err("results.jsonl looks whole".to_owned()),
            None if has_ended => return Err("results.jsonl is lost".to_owned()),
            _ => {}
        }
        mounted(image, |folder| resumes(folder, &all, has_ended))
    };
    trace.try_cuts(program, check).assert_none_is_violated();
}

#[test]
fn a_journal_loses_no_run_of_a_sweep_that_has_ended_and_counts_no_torn_line() {
    let lab = lab("sweep");
    let Some(trace) = lab.record(SWEEP) else { return };
    try_cuts("multihop sweep", &trace);
}

#[test]
fn a_journal_that_has_lost_power_is_resumed() {
    let lab = lab("resume");
    let Some(trace) = lab.record(SWEEP) else { return };
    // Whether the last line of the journal is torn.
    let is_torn = |image: &Image| {
        let journal = image.file("new/out/runs.jsonl").unwrap_or_default();
        journal.len() > 5000 && journal.contains(&0)
    };
    let torn = (0..).map(|n| trace.cut_by_seed(n)).find(is_torn).unwrap();
    std::fs::remove_dir_all(lab.path("disk")).unwrap();
    std::fs::create_dir(lab.path("disk")).unwrap();
    torn.write(&lab.path("disk")).unwrap();
    let trace = lab.record(SWEEP).unwrap();
    let found = trace.complete();
    let lines = found.file("new/out/runs.jsonl").unwrap().split(|&byte| byte == b'\n');
    let intact = lines.filter_map(|line| Entry::from_line(str::from_utf8(line).ok()?).ok());
    let keys: Vec<String> = intact.map(|entry| entry.key).collect();
    let once: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!((keys.len(), once.len()), (12, 12), "each run counts once");
}

/// A program that adds long runs to a journal, and reports each.
#[test]
#[ignore = "another test starts it"]
fn child_adds_long_runs() {
    let Ok(runs) = std::env::var("MULTIHOP_TEST_RUNS") else { return };
    let mut journal = Journal::open(Path::new("."), None).unwrap();
    for line in std::fs::read_to_string(runs).unwrap().lines() {
        let entry = Entry { cost: Some(1.0), ..Entry::from_line(line).unwrap() };
        journal.append(&entry).unwrap();
        println!("finished {}", entry.key);
    }
    // Nothing more is written, as after a loss of power.
    std::mem::forget(journal);
}

#[test]
fn a_run_of_a_second_is_on_the_disk_when_it_is_reported() {
    let lab = lab("long");
    let Some(trace) = lab.record(SWEEP) else { return };
    let journal = trace.complete().file("new/out/runs.jsonl").unwrap().to_vec();
    std::fs::remove_dir_all(lab.path("disk")).unwrap();
    std::fs::create_dir(lab.path("disk")).unwrap();
    lab.write("runs", &journal);
    let program = std::env::current_exe().unwrap();
    let child = "--ignored --exact --nocapture sweeps::child_adds_long_runs";
    let command = format!("MULTIHOP_TEST_RUNS=../runs {} {child}", program.display());
    let trace = lab.record(&command).unwrap();
    let all: Vec<String> = runs(&journal).into_keys().collect();
    let check = |image: &Image| {
        mounted(image, |folder| {
            let journal = Journal::open(folder, None).map_err(|error| error.to_string())?;
            let lost = all
                .iter()
                .find(|key| image.outputs().contains(&format!("finished {key}")) && !journal.contains(key));
            lost.map_or(Ok(()), |key| Err(format!("run {key} is lost after it was reported")))
        })
    };
    trace.try_cuts("a journal of long runs", check).assert_none_is_violated();
}
