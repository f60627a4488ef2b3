//! User-defined protocols: the examples that docs/extending.md walks through.

#[expect(dead_code, reason = "only main uses the output that the tests examine")]
#[path = "../../../../examples/greedy.rs"]
mod greedy;
#[expect(dead_code, reason = "only main uses the output that the tests examine")]
#[path = "../../../../examples/stop_and_wait.rs"]
mod stop_and_wait;

use multihop_scenario::{Extension, Extensions, Scenario, Source};
use multihop_sim::results::RunResult;
use multihop_sim::sweep::Plan;
use multihop_sim::{Outputs, run, unattended};
use multihop_transport::connection::{Connection, ConnectionConfig, Data, Event, FlowSetup, Output, Segment};

use crate::support::ran_scenario;

#[test]
fn stop_and_wait_goodput_over_one_hop_follows_from_airtimes() {
    let (own, _) = stop_and_wait::compare(1, 30.0).unwrap();
    // Two exchanges with RTS/CTS and the mean backoff of 300 us, 7644 us and 1804 us, and 50 us
    // between IP and MAC for each.
    let expected = 1460.0 * 8.0 / (7.644 + 1.804 + 0.1);
    let found = own.totals.goodput_kbps;
    assert!((found / expected - 1.0).abs() < 0.02, "{found} kb/s, computed {expected}");
    let flow = &own.flows[0];
    assert_eq!(
        (flow.transport.as_str(), flow.segments_retransmitted, flow.timeouts),
        ("stop-and-wait", 0, 0)
    );
    assert_eq!(flow.acked_kbps, Some(flow.goodput_kbps));
    assert!((flow.rtt_ms.unwrap().mean - 9.548).abs() < 0.2, "{:?}", flow.rtt_ms);
}

#[test]
fn stop_and_wait_recovers_losses() {
    let found = lossy(0.2);
    let flow = &found.flows[0];
    // There are two hops in each direction: a round trip succeeds with a probability of 0.8^4.
    let tries = flow.segments_sent as f64 / flow.segments_delivered as f64;
    assert!((tries * 0.8_f64.powi(4) - 1.0).abs() < 0.15, "{tries} tries for each segment");
    assert_eq!(flow.segments_sent, flow.segments_retransmitted + 69, "a file of 100 kB has 69 segments");
    assert_eq!(flow.segments_delivered, 69);
    assert!((flow.goodput_kbps * (flow.stop - flow.start) - 800.0).abs() < 1e-6, "100 kB arrived");
}

/// A file of 100 kB over two hops, each of which loses packets.
fn lossy(loss: f64) -> RunResult {
    let text = format!(
        "duration = 10000.0\nradio = {{ loss = {loss:?} }}\ntopology = {{ kind = \"chain\", hops = 2 }}\n\
         [[flow]]\napp = \"file\"\nbytes = 100_000\ntransport = \"stop-and-wait\"\n"
    );
    run(&scenario(text), Outputs::default(), &mut unattended).unwrap()
}

#[test]
fn a_sender_retransmits_until_it_gets_an_ack() {
    use multihop_core::Instant;
    let mut flow = FlowSetup {
        channels: false,
        lifecycle: None,
        pool: None,
        port: 1,
        sink: true,
        bandwidth: multihop_core::BitRate(2_000_000),
        initial_ttl: 64,
        hops: &mut || None,
        rng: &|_, _| unreachable!("nothing is random"),
    };
    let [mut sender, mut receiver] = stop_and_wait::StopAndWait::default().ends(&mut flow);
    let drain =
        |end: &mut dyn Connection, now| std::iter::from_fn(|| end.poll_output(now)).collect::<Vec<_>>();
    sender.send(Instant::ZERO, Data::Virtual(100)).unwrap();
    let first = drain(&mut *sender, Instant::ZERO);
    let later = sender.poll_timeout().unwrap();
    sender.handle_timeout(later);
    let second = drain(&mut *sender, later);
    assert_eq!(first, second);
    let counters = sender.counters();
    assert_eq!((counters.sent, counters.retransmitted, counters.timeouts), (2, 1, 1));
    // The receiver delivers once and acknowledges twice.
    let [Output::Segment(segment)] = &first[..] else { panic!("{first:?}") };
    for delivered in [Some(100), None] {
        receiver.receive(later, segment.clone(), None);
        let mut outputs = drain(&mut *receiver, later);
        let Some(Output::Segment(ack @ Segment::Custom(_))) = outputs.pop() else { panic!("no ACK") };
        assert_eq!(outputs.pop(), delivered.map(|bytes| Output::Event(Event::Delivered(bytes))));
        sender.receive(later, ack, None);
    }
    assert_eq!(drain(&mut *sender, later), [Output::Event(Event::Acked(100))]);
    assert_eq!(sender.round_trip(), None, "no sample: Karn's rule");
    assert_eq!(sender.poll_timeout(), None);
}

#[test]
fn the_series_of_a_user_defined_transport_are_recorded() {
    let text = "duration = 5.0\ntopology = { kind = \"chain\", hops = 2 }\n\
                record = { every = 0.0, what = [\"cwnd\", \"rtt\"] }\n[[flow]]\ntransport = \"stop-and-wait\"\n";
    let found = ran_scenario(&scenario(text.into()));
    let of = |series: &str| found.record.lines().filter(|row| row.contains(series)).count() as u64;
    assert_eq!(of(",cwnd,1"), 1, "the window never changes");
    // Each segment brings a sample, except one that may be in flight at the end.
    let delivered = found.result.flows[0].segments_delivered;
    assert!(delivered > 100 && delivered - of(",rtt_ms,") <= 1, "{delivered} segments");
}

#[test]
fn a_user_defined_transport_runs_beside_built_in_ones() {
    let text = "duration = 30.0\nmac = { arp = \"oracle\" }\ntopology = { kind = \"parallel\" }\n\
                [[flow]]\ntransport = \"reno\"\n[[flow]]\ntransport = { kind = \"stop-and-wait\", segment = 500 }\n\
                [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 10.0\n";
    let found = run(&scenario(text.into()), Outputs::default(), &mut unattended).unwrap();
    let names: Vec<_> = found.flows.iter().map(|flow| flow.transport.as_str()).collect();
    assert_eq!(names, ["reno", "stop-and-wait", "udp"]);
    let delivered: Vec<_> = found.flows.iter().map(|flow| flow.segments_delivered).collect();
    assert!(!delivered.contains(&0), "{delivered:?}");
}

#[test]
fn greedy_forwarding_delivers_if_a_path_exists() {
    let (shortest, greedy) = greedy::compare(1, 30.0).unwrap();
    let beacons = greedy.routing.packets["beacon"];
    assert!((900..1100).contains(&beacons), "{beacons} beacons of 50 nodes in 20 s");
    // 20 bytes of IP, 8 of UDP and two numbers.
    assert_eq!(greedy.routing.bytes["beacon"], 44 * beacons);
    for (flow, least) in greedy.flows.iter().zip(&shortest.flows) {
        let hops = flow.mean_hops.zip(least.mean_hops);
        assert!(hops.is_none_or(|(hops, least)| hops > least - 0.01), "{hops:?}");
    }
    let reached = greedy.flows.iter().filter(|flow| flow.segments_delivered > 100).count();
    assert!(reached >= 3, "{reached} flows of five");
}

#[test]
fn another_version_of_a_protocol_gives_another_key() {
    let text = "duration = 5.0\ntopology = { kind = \"chain\", hops = 1 }\n[[flow]]\ntransport = \"newreno\"\n[sweep]\n\
                \"flow.0.transport\" = [\"stop-and-wait\", \"newreno\"]\n";
    let source = Source::Toml { text: text.into(), name: "test.toml".into() };
    let keys = |version| {
        let extension = Extension { version, ..stop_and_wait::STOP_AND_WAIT };
        let extensions = Extensions::default().transport::<stop_and_wait::StopAndWait>(extension);
        let plan = Plan::new_with(&source, &[], &extensions).unwrap();
        [0, 1].map(|index| plan.run(index).unwrap().key)
    };
    let (first, second) = (keys("1"), keys("2"));
    assert_ne!(first[0], second[0]);
    assert_eq!(first[1], second[1], "a run that does not use the protocol");
}

fn scenario(text: String) -> Scenario {
    let extensions =
        Extensions::default().transport::<stop_and_wait::StopAndWait>(stop_and_wait::STOP_AND_WAIT);
    Scenario::load_with(&Source::Toml { text, name: "test.toml".into() }, &[], &extensions).unwrap()
}
