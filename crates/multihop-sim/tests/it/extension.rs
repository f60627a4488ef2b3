//! Protocols of one's own: the examples that docs/extending.md walks through.

#[expect(dead_code, reason = "main prints what the tests look at")]
#[path = "../../../../examples/greedy.rs"]
mod greedy;
#[expect(dead_code, reason = "main prints what the tests look at")]
#[path = "../../../../examples/stop_and_wait.rs"]
mod stop_and_wait;

use multihop_core::{FlowId, Machine};
use multihop_scenario::{Scenario, Source};
use multihop_sim::extension::{Extensions, TransportInput, TransportOutput};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run_with};

#[test]
fn stop_and_wait_over_one_hop_takes_a_segment_and_an_ack_in_turn() {
    let (own, _) = stop_and_wait::compare(1, 30.0).unwrap();
    // Two exchanges with RTS/CTS and the mean back-off of 300 us, 7644 us and 1804 us, and 50 us
    // between IP and MAC for each.
    let expected = 1460.0 * 8.0 / (7.644 + 1.804 + 0.1);
    let found = own.totals.goodput_kbps;
    assert!((found / expected - 1.0).abs() < 0.02, "{found} kb/s, by arithmetic {expected}");
    let flow = &own.flows[0];
    assert_eq!(
        (flow.transport.as_str(), flow.segments_retransmitted, flow.timeouts),
        ("stop-and-wait", 0, 0)
    );
    assert_eq!(flow.acked_kbps, Some(flow.goodput_kbps));
    assert!((flow.rtt_ms.unwrap().mean - 9.548).abs() < 0.2, "{:?}", flow.rtt_ms);
}

#[test]
fn stop_and_wait_repairs_what_the_channel_loses() {
    let found = lossy(0.2);
    let flow = &found.flows[0];
    // Two hops each way: a round trip survives with a probability of 0.8^4.
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
         [[flow]]\napp = \"file\"\nbytes = 100_000\ntransport = \"newreno\"\n"
    );
    let own = |_| Some(stop_and_wait::stop_and_wait());
    let extensions = Extensions { transport: Some(&own), ..Extensions::default() };
    run_with(&scenario(text), &extensions, Outputs::default(), &mut |_| {}).unwrap()
}

#[test]
fn a_sender_repeats_until_it_is_answered() {
    use multihop_core::Instant;
    let mut ends = stop_and_wait::stop_and_wait();
    let drain = |machine: &mut dyn Machine<Input = TransportInput, Output = TransportOutput>, now| {
        std::iter::from_fn(|| machine.poll_output(now)).collect::<Vec<_>>()
    };
    ends.sender.handle(Instant::ZERO, TransportInput::Data(Some(100)));
    let said = drain(&mut *ends.sender, Instant::ZERO);
    let [TransportOutput::Send(first)] = said.as_slice() else { panic!("{said:?}") };
    let later = ends.sender.poll_timeout().unwrap();
    ends.sender.handle_timeout(later);
    let said = drain(&mut *ends.sender, later);
    let [TransportOutput::TimedOut, TransportOutput::Send(second)] = said.as_slice() else {
        panic!("{said:?}")
    };
    assert_eq!((&second.header, second.data, second.again), (&first.header, first.data, true));
    // The receiver delivers once and answers twice.
    for (message, delivered) in [(first, Some(100)), (second, None)] {
        ends.receiver.handle(later, TransportInput::Message(message.clone()));
        let mut said = drain(&mut *ends.receiver, later);
        let Some(TransportOutput::Send(ack)) = said.pop() else { panic!("no answer") };
        assert_eq!(said.pop(), delivered.map(TransportOutput::Delivered));
        ends.sender.handle(later, TransportInput::Message(ack));
    }
    assert_eq!(drain(&mut *ends.sender, later), [TransportOutput::Acked(100)], "no sample: Karn's rule");
    assert_eq!(ends.sender.poll_timeout(), None);
}

#[test]
fn only_the_flows_that_are_asked_for_get_another_transport() {
    let text = "duration = 30.0\nmac = { arp = \"oracle\" }\ntopology = { kind = \"parallel\" }\n\
                [[flow]]\ntransport = \"reno\"\n[[flow]]\ntransport = \"reno\"\n\
                [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 10.0\n";
    let own = |flow: FlowId| (flow != FlowId(0)).then(stop_and_wait::stop_and_wait);
    let extensions = Extensions { transport: Some(&own), ..Extensions::default() };
    let found = run_with(&scenario(text.into()), &extensions, Outputs::default(), &mut |_| {}).unwrap();
    let names: Vec<_> = found.flows.iter().map(|flow| flow.transport.as_str()).collect();
    assert_eq!(names, ["reno", "stop-and-wait", "udp"]);
    let delivered: Vec<_> = found.flows.iter().map(|flow| flow.segments_delivered).collect();
    assert!(!delivered.contains(&0), "{delivered:?}");
}

#[test]
fn greedy_forwarding_finds_its_way_where_there_is_one() {
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

fn scenario(text: String) -> Scenario {
    Scenario::load(&Source::Toml { text, name: "test.toml".into() }, &[]).unwrap()
}
