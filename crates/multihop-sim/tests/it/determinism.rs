//! Tests that a run depends on nothing but its scenario and its seed.

use multihop_scenario::Source;
use multihop_sim::batch::in_order;
use multihop_sim::sweep::Plan;
use multihop_sim::{Outputs, run, unattended};

use crate::support::{ran, scenario};

/// Everything that draws random numbers: placement, backoff, shadowing, fading, losses, traffic.
const BUSY: &str = "\
duration = 6.0
warmup = 1.0
seed = 3
[radio]
model = \"sinr\"
shadowing_db = 4.0
fading = { kind = \"rician\" }
loss = 0.01
frame_loss = 0.02
burst = { p = 0.001, r = 0.1 }
[topology]
kind = \"random\"
nodes = 20
area = [800.0, 500.0]
[[flow]]
from = 0
to = 5
transport = \"newreno\"
[[flow]]
from = 7
to = 2
app = \"cbr\"
rate_kbps = 50.0
[[flow]]
from = 3
to = 9
app = \"pareto\"
mean_bytes = 30000.0
shape = 1.5
mean_pause = 0.2
transport = \"reno+da\"
[record]
every = 0.0
what = [\"cwnd\", \"rtt\", \"hops\", \"queue\", \"goodput\"]
[energy]
";

/// The result without wall-clock times.
fn json(mut result: multihop_sim::results::RunResult) -> String {
    (result.wall_seconds, result.events_per_second) = (None, None);
    serde_json::to_string(&result).unwrap()
}

#[test]
fn two_runs_write_the_same_bytes() {
    let [one, two] = [ran(BUSY), ran(BUSY)];
    assert!(one.result.totals.goodput_kbps > 0.0 && one.record.lines().count() > 100);
    assert!(one.pcap.len() > 100_000 && one.trace.lines().count() > 1_000);
    assert!(one.trace == two.trace, "traces differ");
    assert!(one.pcap == two.pcap, "captures differ");
    assert!(one.record == two.record, "series differ");
    assert_eq!(json(one.result), json(two.result));
}

#[test]
fn another_seed_gives_another_result() {
    let [one, two] = [ran(BUSY), ran(&BUSY.replace("seed = 3", "seed = 4"))];
    assert!(one.trace != two.trace && one.pcap != two.pcap);
}

#[test]
fn outputs_do_not_change_the_result() {
    let unseen = run(&scenario(BUSY), Outputs::default(), &mut unattended).unwrap();
    assert_eq!(json(unseen), json(ran(BUSY).result));
}

#[test]
fn the_number_of_jobs_does_not_change_results() {
    let text = format!("{BUSY}[sweep]\nseeds = 2\n\"flow.0.transport\" = [\"newreno\", \"reno\"]\n");
    let plan = Plan::new(&Source::Toml { text, name: "sweep.toml".to_owned() }, &[]).unwrap();
    let lines = |jobs| {
        let mut lines = Vec::new();
        let work = |index| {
            let planned = plan.run(index).unwrap();
            let mut result = run(&planned.scenario, Outputs::default(), &mut unattended).unwrap();
            (result.wall_seconds, result.events_per_second) = (None, None);
            serde_json::to_string(&plan.label(&planned, result)).unwrap()
        };
        let outcome: Result<(), ()> = in_order(plan.runs(), jobs, work, |_, line| {
            lines.push(line);
            Ok(())
        });
        assert_eq!(outcome, Ok(()));
        lines
    };
    let one = lines(1);
    assert_eq!(one.len(), 4);
    assert_eq!(one, lines(2));
}

/// Random streams are separate by purpose, so positions and channels stay the same.
#[test]
fn another_transport_does_not_change_positions() {
    let other = BUSY.replace("transport = \"newreno\"", "transport = \"tcp-2\"");
    let [one, two] = [scenario(BUSY), scenario(&other)];
    assert_eq!(one.topology.place(one.seed).unwrap(), two.topology.place(two.seed).unwrap());
    let [one, two] = [ran(BUSY), ran(&other)];
    assert!(one.trace != two.trace);
    for (one, two) in one.result.flows.iter().zip(&two.result.flows) {
        assert_eq!(one.mean_hops, two.mean_hops, "flow {}", one.id);
    }
    // The times of datagrams are also independent of other flows.
    let datagrams = |trace: &str| -> Vec<String> {
        let sent = trace.lines().filter(|line| line.starts_with("s\t") && line.contains("\tcbr\t"));
        sent.map(|line| line.split('\t').nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(datagrams(&one.trace), datagrams(&two.trace));
}
