//! Sweeps without a simulator: what is run, and in which order the answers come.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use multihop_scenario::Source;
use multihop_sim::sweep::{Plan, in_order};

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
fn every_combination_has_the_same_seeds_and_the_last_axis_varies_fastest() {
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
fn a_key_is_what_decides_a_run_and_not_how_it_was_written() {
    let keys = |text: &str| {
        let plan = plan(text, &[]).unwrap();
        (0..plan.runs()).map(|index| plan.run(index).unwrap().key).collect::<Vec<_>>()
    };
    let all = keys(SWEPT);
    let mut once = all.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), 18);
    assert_eq!(keys(&SWEPT.replace("[sweep]", "# the same\n[radio]\nrate = \"2M\"\n[sweep]")), all);
    assert_eq!(keys(&SWEPT.replace("seed = 5", "seed = 6"))[0], all[1], "the second seed of the other");
    assert!(!all.contains(&keys(&SWEPT.replace("10.0", "11.0"))[0]));
}

#[test]
fn no_axes_is_one_combination() {
    let text = SWEPT.split("\"flow.*").next().unwrap();
    let plan = plan(text, &[]).unwrap();
    assert_eq!((plan.runs(), plan.combinations()), (3, 1));
}

#[test]
fn a_bad_value_is_found_before_anything_runs() {
    let bad = SWEPT.replace("[1, 2, 4]", "[1, 2, 0]");
    assert_eq!(
        plan(&bad, &[]).unwrap_err(),
        "override topology.hops=0: topology.hops: found 0, allowed: a whole number from 1 to 99999"
    );
    let unknown = SWEPT.replace("topology.hops", "topology.hop");
    assert_eq!(
        plan(&unknown, &[]).unwrap_err(),
        "override topology.hop=1: topology.hop: is not a key here, did you mean \"hops\"?"
    );
    let without = SWEPT.split("[sweep]").next().unwrap();
    assert_eq!(
        plan(without, &[]).unwrap_err(),
        "s.toml: sweep: is missing, allowed: a table of axes such as \"topology.hops\" = [1, 2, 4]"
    );
}

#[test]
fn answers_come_in_order_however_many_work() {
    for jobs in [0, 1, 2, 7, 100] {
        let mut answers = Vec::new();
        let work = |index: usize| {
            // The first ones take longest.
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
fn two_jobs_work_at_the_same_time() {
    // Each of the two waits for the other.
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
fn an_error_ends_it() {
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
fn nothing_to_do_is_done() {
    let outcome: Result<(), ()> = in_order(0, 4, |_| panic!("no work"), |_, ()| Err(()));
    assert_eq!(outcome, Ok(()));
}
