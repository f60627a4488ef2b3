//! Sweeps: their runs, keys and journals, and the order of the results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use multihop_scenario::{Scenario, Source};
use multihop_sim::batch::{in_order, perform};
use multihop_sim::journal::{Entry, Journal, Shard};
use multihop_sim::sweep::Plan;
use multihop_sim::unattended;

const SWEPT: &str = "\
duration = 10.0
seed = 5
[topology]
kind = \"chain\"
hops = 1
[[flow]]
transport = \"reno\"
[sweep]
seeds = 3
\"flow.*.transport\" = [\"reno\", \"tcp-2\"]
\"topology.hops\" = [1, 2, 4]
";

fn plan(text: &str, overrides: &[(String, String)]) -> Result<Plan, String> {
    let source = Source::Toml { text: text.to_owned(), name: "s.toml".to_owned() };
    Plan::new(&source, overrides).map_err(|problems| problems.to_string())
}

#[test]
fn combinations_share_seeds_and_the_last_axis_varies_fastest() {
    let plan = plan(SWEPT, &[("seed".to_owned(), "7".to_owned())]).unwrap();
    assert_eq!((plan.runs(), plan.combinations()), (18, 6));
    let runs: Vec<_> = (0..18)
        .map(|index| {
            let run = plan.run(index).unwrap();
            let scenario = &run.scenario;
            (scenario.flows[0].transport.name.clone(), scenario.topology.nodes() - 1, scenario.seed)
        })
        .collect();
    let expected: Vec<_> = ["reno", "tcp-2"]
        .iter()
        .flat_map(|name| [1, 2, 4].map(|hops| [7, 8, 9].map(|seed| ((*name).to_owned(), hops, seed))))
        .flatten()
        .collect();
    assert_eq!(runs, expected);
    assert_eq!(plan.keys(), ["flow.*.transport", "topology.hops"]);
    assert_eq!(plan.values(5), [serde_json::json!("tcp-2"), serde_json::json!(4)]);
}

#[test]
fn keys_of_a_zipped_axis_vary_together() {
    let axis = "[[sweep.zip]]\n\"radio.rate\" = [\"2M\", \"11M\"]\n\"radio.range\" = [250, 210]\n";
    let plan = plan(&format!("{SWEPT}{axis}"), &[]).unwrap();
    assert_eq!((plan.runs(), plan.combinations()), (36, 12));
    assert_eq!(plan.keys(), ["flow.*.transport", "topology.hops", "radio.rate", "radio.range"]);
    let values: Vec<_> = (0..3).map(|n| serde_json::Value::from(plan.values(n)).to_string()).collect();
    let expected = [r#"["reno",1,"2M",250]"#, r#"["reno",1,"11M",210]"#, r#"["reno",2,"2M",250]"#];
    assert_eq!(values, expected);
    let run = plan.run(3).unwrap();
    let radio = run.scenario.radio();
    assert_eq!((radio.bit_rate().0, radio.decode_range()), (11_000_000, 210.0));
    let set = run.overrides.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
    assert_eq!(
        set,
        ["flow.*.transport=\"reno\"", "topology.hops=1", "radio.rate=\"11M\"", "radio.range=210", "seed=5"]
    );
}

fn set(key: &str, value: &str) -> Vec<(String, String)> {
    vec![(key.to_owned(), value.to_owned())]
}

#[test]
fn an_override_of_a_key_of_a_zipped_axis_leaves_the_distinct_values_of_the_others() {
    let axis =
        "[[sweep.zip]]\n\"radio.rate\" = [\"2M\", \"2M\", \"11M\"]\n\"radio.range\" = [250, 210, 200]\n";
    let plan = plan(&format!("{SWEPT}{axis}"), &set("radio.range", "240")).unwrap();
    assert_eq!(plan.keys(), ["flow.*.transport", "topology.hops", "radio.rate"]);
    assert_eq!(plan.combinations(), 2 * 3 * 2);
    assert_eq!(plan.run(3).unwrap().scenario.radio().decode_range(), 240.0);
}

#[test]
fn an_override_applies_to_all_runs_also_if_it_or_the_axis_has_a_wildcard() {
    let vegas = |plan: &Plan| {
        (0..plan.runs()).all(|index| plan.run(index).unwrap().scenario.flows[0].transport.name == "vegas")
    };
    let one = SWEPT.replace("flow.*.transport", "flow.0.transport");
    let all = plan(&one, &set("flow.*.transport", "vegas")).unwrap();
    assert!(vegas(&all));
    assert_eq!(all.keys(), ["topology.hops"], "the override replaces the axis of flow 0");
    let some = plan(SWEPT, &set("flow.0.transport", "vegas")).unwrap();
    assert!(vegas(&some));
    assert_eq!(some.keys(), ["flow.*.transport", "topology.hops"], "other flows vary");
}

#[test]
fn a_key_depends_on_everything_that_affects_the_result() {
    let keys = |text: &str| {
        let plan = plan(text, &[]).unwrap();
        (0..plan.runs()).map(|index| plan.run(index).unwrap().key).collect::<Vec<_>>()
    };
    let all = keys(SWEPT);
    let mut once = all.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), 18);
    assert_eq!(keys(&SWEPT.replace("[sweep]", "# a comment\n[sweep]")), all);
    assert_eq!(keys(&SWEPT.replace("seed = 5", "seed = 6"))[0], all[1], "the second seed of the other");
    assert!(!all.contains(&keys(&SWEPT.replace("10.0", "11.0"))[0]));
    assert!(!all.contains(&keys(&SWEPT.replace("duration", "name = \"other\"\nduration"))[0]));
}

#[test]
fn a_key_depends_on_the_contents_of_files_and_not_on_their_paths() {
    let folder = std::env::temp_dir().join(format!("multihop-key-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let key = |file: &str, contents: &str| {
        std::fs::write(folder.join(file), contents).unwrap();
        let text = format!(
            "duration = 1.0\n[topology]\nkind = \"file\"\nfile = \"{file}\"\n\
             [[flow]]\nfrom = 0\nto = 1\ntransport = \"newreno\"\n"
        );
        let source = Source::Toml { text, name: folder.join("a.toml").display().to_string() };
        multihop_sim::key(&source, &[], &Scenario::load(&source, &[]).unwrap()).unwrap()
    };
    let first = key("a.csv", "x,y\n0,0\n200,0\n");
    assert_eq!(key("b.csv", "x,y\n0,0\n200,0\n"), first);
    assert_ne!(key("a.csv", "x,y\n0,0\n201,0\n"), first);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_journal_reads_the_lines_of_older_versions_and_skips_incomplete_ones() {
    let folder = std::env::temp_dir().join(format!("multihop-journal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = plan(SWEPT, &[]).unwrap().run(0).unwrap();
    let entry = perform(&run.key, &run.scenario, true, &mut unattended).unwrap();
    assert!(entry.cost.is_some() && entry.series.is_none());
    let result = serde_json::to_string(&entry.result).unwrap();
    let old = format!("{{\"key\":\"old\",\"version\":\"0.0\",\"result\":{result}}}\n{{\"key\":\"torn");
    std::fs::write(folder.join("runs-1-of-2.jsonl"), old).unwrap();
    let mut journal = Journal::open(&folder, Some("1/2".parse().unwrap())).unwrap();
    assert_eq!(journal.entry("old").unwrap().result, entry.result);
    assert_eq!(journal.len(), 1);
    journal.append(&entry).unwrap();
    let journal = Journal::open(&folder, None).unwrap();
    assert_eq!((journal.len(), journal.entry(&run.key)), (2, Some(entry)));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_damaged_line_of_a_journal_is_skipped() {
    let folder = std::env::temp_dir().join(format!("multihop-damaged-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = plan(SWEPT, &[]).unwrap().run(0).unwrap();
    let entry = perform(&run.key, &run.scenario, true, &mut unattended).unwrap();
    let line = entry.to_line();
    let at = line.find("\"seed\":").unwrap() + "\"seed\":".len();
    for digit in b'0'..=b'9' {
        let mut damaged = line.clone().into_bytes();
        damaged[at] = digit;
        std::fs::write(folder.join("runs.jsonl"), &damaged).unwrap();
        let is_whole = damaged == line.as_bytes();
        assert_eq!(Journal::open(&folder, None).unwrap().contains(&run.key), is_whole, "{digit}");
        assert_eq!(Entry::from_line(str::from_utf8(&damaged).unwrap()).is_ok(), is_whole);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A writer that fails after this many bytes, and counts the later attempts to write.
struct FullDisk(usize, Arc<AtomicUsize>);

impl std::io::Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 < bytes.len() {
            self.1.fetch_add(1, Ordering::Relaxed);
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_run_ends_at_the_first_failed_write_of_its_trace() {
    let scenario = plan(SWEPT, &[]).unwrap().run(0).unwrap().scenario;
    let failures = Arc::default();
    let trace = FullDisk(5000, Arc::clone(&failures));
    let outputs = multihop_sim::Outputs { trace: Some(Box::new(trace)), ..Default::default() };
    let mut last = 0.0;
    let error = multihop_sim::run(&scenario, outputs, &mut |share| {
        last = share;
        unattended(share)
    })
    .unwrap_err();
    assert!(error.to_string().starts_with("cannot write an output of the run: "), "{error}");
    assert_eq!(failures.load(Ordering::Relaxed), 1);
    assert!(last < 1.0, "the run went on to its end");
}

#[test]
fn shards_divide_a_list() {
    let shard: Shard = "2/3".parse().unwrap();
    assert_eq!((0..7).filter(|&index| shard.has(index)).collect::<Vec<_>>(), [1, 4]);
    for text in ["", "2", "0/2", "3/2", "1/0", "a/b", "-1/2"] {
        assert!(text.parse::<Shard>().is_err(), "{text}");
    }
}

#[test]
fn a_sweep_without_axes_has_one_combination() {
    let text = SWEPT.split("\"flow.*").next().unwrap();
    let plan = plan(text, &[]).unwrap();
    assert_eq!((plan.runs(), plan.combinations()), (3, 1));
}

#[test]
fn bad_values_are_found_before_the_first_run() {
    let bad = SWEPT.replace("[1, 2, 4]", "[1, 2, 0]");
    assert_eq!(
        plan(&bad, &[]).unwrap_err(),
        "override topology.hops=0: topology.hops: found 0, allowed: a whole number from 1 to 99999"
    );
    let unknown = SWEPT.replace("topology.hops", "topology.hop");
    assert_eq!(
        plan(&unknown, &[]).unwrap_err(),
        "override topology.hop=1: topology.hop: is not a key here, allowed: hops, kind, spacing, did you mean \"hops\"?"
    );
    let without = SWEPT.split("[sweep]").next().unwrap();
    assert_eq!(
        plan(without, &[]).unwrap_err(),
        "s.toml: sweep: is missing, allowed: a table of axes such as \"topology.hops\" = [1, 2, 4]"
    );
}

#[test]
fn answers_are_in_order_for_any_number_of_threads() {
    for jobs in [0, 1, 2, 7, 100] {
        let mut answers = Vec::new();
        let work = |index: usize| {
            // The first calls take longest.
            std::thread::sleep(Duration::from_millis(if index < 3 { 10 } else { 0 }));
            index * index
        };
        let outcome: Result<(), ()> = in_order(40, jobs, work, |index, answer| {
            answers.push((index, answer));
            Ok(())
        });
        assert_eq!(outcome, Ok(()));
        assert_eq!(answers, (0..40).map(|n| (n, n * n)).collect::<Vec<_>>(), "{jobs} jobs");
    }
}

#[test]
fn two_jobs_run_in_parallel() {
    // Each of the two jobs waits for the other.
    let (to_second, first_came) = mpsc::sync_channel(1);
    let (to_first, second_came) = mpsc::sync_channel(1);
    let waits = [std::sync::Mutex::new(second_came), std::sync::Mutex::new(first_came)];
    let work = |index: usize| {
        if index == 0 {
            to_second.send(()).unwrap()
        } else {
            to_first.send(()).unwrap()
        }
        waits[index].lock().unwrap().recv_timeout(Duration::from_secs(10)).is_ok()
    };
    let outcome = in_order(2, 2, work, |_, met| if met { Ok(()) } else { Err("alone") });
    assert_eq!(outcome, Ok(()));
}

#[test]
fn an_error_ends_the_list() {
    let started = AtomicUsize::new(0);
    let work = |index: usize| {
        started.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(1));
        index
    };
    let outcome = in_order(10_000, 2, work, |index, _| if index == 3 { Err("full disk") } else { Ok(()) });
    assert_eq!(outcome, Err("full disk"));
    assert!(started.load(Ordering::Relaxed) < 1_000);
}

#[test]
fn an_empty_list_ends_at_once() {
    let outcome: Result<(), ()> = in_order(0, 4, |_| panic!("no work"), |_, ()| Err(()));
    assert_eq!(outcome, Ok(()));
}
