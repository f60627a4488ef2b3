//! Hosts behind wires, and split connections.

use super::support::{events, ran, result, scenario};

/// A chain of three hops whose last node is the gateway of a host.
fn chain(routing: &str, host: &str, flows: &str) -> String {
    format!(
        "duration = 60.0\n[topology]\nkind = \"chain\"\nhops = 3\n[routing]\nprotocol = \"{routing}\"\n\
         [[host]]\ngateway = 3\nname = \"server\"\n{host}\n{flows}"
    )
}

fn flow(from: &str, to: &str, rest: &str) -> String {
    format!("[[flow]]\nfrom = {from}\nto = {to}\n{rest}\n")
}

const SPLIT: &str = "app = \"relay\"\nof = 0\ntransport = \"newreno\"";

#[test]
fn a_packet_takes_transmission_time_plus_delay() {
    let cbr = "app = \"cbr\"\nrate_kbps = 10.0\nsize = 972\nstop = 20.0";
    let ran = ran(&chain("static", "rate_kbps = 100.0\ndelay = 0.25", &flow("3", "\"server\"", cbr)));
    // 1000 bytes with IP and UDP headers at 100 kb/s, and a quarter of a second.
    let sent: Vec<_> = events(&ran.trace).filter(|e| e.what == "s").map(|e| e.at).collect();
    let received: Vec<_> = events(&ran.trace).filter(|e| e.what == "r").collect();
    assert_eq!(received.len(), sent.len());
    for (sent, received) in sent.iter().zip(&received) {
        assert!((received.at - sent - 0.33).abs() < 1e-6, "{} {}", sent, received.at);
        assert_eq!((received.node, received.hops), (4, 1), "hosts are numbered after the nodes");
    }
}

#[test]
fn a_wire_has_a_queue_limit_and_a_rate() {
    let cbr = "app = \"cbr\"\nrate_kbps = 300.0\nsize = 972";
    let text = chain("static", "rate_kbps = 100.0\nqueue = 5", &flow("3", "4", cbr));
    let result = result(&text);
    let goodput = result.flows[0].goodput_kbps;
    assert!((goodput - 97.2).abs() < 1.0, "{goodput}");
    assert!(result.drops["queue-full"] > 1000, "{:?}", result.drops);
    // Five packets are queued, and one is being transmitted.
    let longest = result.flows[0].delay_ms.as_ref().unwrap().p95;
    assert!((longest - (6.0 * 80.0 + 10.0)).abs() < 15.0, "{longest}");
}

#[test]
fn a_wire_loses_packets_at_random_in_each_direction() {
    let cbr = "app = \"cbr\"\nrate_kbps = 500.0\nsize = 972";
    for (losses, to, from) in [("loss_to_host = 0.1", 0.9, 1.0), ("loss_from_host = 0.3", 1.0, 0.7)] {
        let flows = flow("3", "4", cbr) + &flow("4", "3", cbr);
        let result = result(&chain("static", losses, &flows));
        // 64 packets in a second, for a minute: the standard deviation of the shares is below 0.8%.
        for (found, expected) in result.flows.iter().zip([to, from]) {
            let share = found.goodput_kbps / 500.0;
            assert!((share - expected).abs() < 0.03, "{losses}: {share}, expected {expected}");
        }
        assert!(result.drops["channel-error"] > 200, "{:?}", result.drops);
    }
}

/// A trace of 100 ms with six opportunities of 1500 bytes.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pinned/files/wire.trace");

#[test]
fn a_packet_leaves_at_the_next_opportunity_of_a_trace() {
    let opportunities = [0.01, 0.02, 0.03, 0.045, 0.1];
    let cbr = "app = \"cbr\"\nrate_kbps = 100.0\nsize = 1013\nstop = 20.0";
    let host = format!("trace_to_host = {TRACE:?}\ndelay = 0.25");
    let ran = ran(&chain("static", &host, &flow("3", "\"server\"", cbr)));
    let sent: Vec<_> = events(&ran.trace).filter(|e| e.what == "s").map(|e| e.at).collect();
    let received: Vec<_> = events(&ran.trace).filter(|e| e.what == "r").map(|e| e.at).collect();
    assert!(sent.len() > 200 && received.len() == sent.len(), "{}", sent.len());
    for (sent, received) in sent.iter().zip(received) {
        let turn = (sent / 0.1).floor() * 0.1;
        let leaves = opportunities.map(|at| turn + at).into_iter().find(|at| *at > sent - 1e-9).unwrap();
        assert!((received - leaves - 0.25).abs() < 1e-6, "{sent} {received}");
    }
}

#[test]
fn a_trace_delivers_all_bytes_of_its_opportunities_and_drops_what_its_queue_cannot_hold() {
    let cbr = "app = \"cbr\"\nrate_kbps = 2000.0\nsize = 972";
    for (direction, from, to) in [("to", "3", "4"), ("from", "4", "3")] {
        let host = format!("trace_{direction}_host = {TRACE:?}\nqueue = 5");
        let result = result(&chain("static", &host, &flow(from, to, cbr)));
        // 9000 bytes in 100 ms, of which 28 in 1000 are headers.
        let goodput = result.flows[0].goodput_kbps;
        assert!((goodput - 720.0 * 0.972).abs() < 2.0, "{goodput}");
        assert!(result.drops["queue-full"] > 1000, "{:?}", result.drops);
    }
}

#[test]
fn packets_that_wait_for_longer_than_time_lasts_never_arrive() {
    let trace = std::env::temp_dir().join(format!("multihop-slow-{}.trace", std::process::id()));
    // One packet in 11.6 days: 20,000 packets would need 633 years, and 64 bits of nanoseconds express 584.
    std::fs::write(&trace, "1000000000\n").unwrap();
    let cbr = "app = \"cbr\"\nrate_kbps = 240000.0\nsize = 1472\nstop = 1.0";
    let host = format!("trace_from_host = {trace:?}\nqueue = 1000000");
    let result = result(&chain("static", &host, &flow("4", "3", cbr)));
    std::fs::remove_file(&trace).unwrap();
    let flow = &result.flows[0];
    assert!(flow.segments_sent > 19_000 && flow.goodput_kbps == 0.0, "{flow:?}");
    assert_eq!(result.drops.get("queue-full"), None);
}

/// Goodput over a wire of 10 Mb/s and 100 ms with this queue, kb/s.
fn over_a_long_wire(queue: u32, transport: &str) -> f64 {
    for_a_while_over_a_long_wire(120, queue, transport)
}

fn for_a_while_over_a_long_wire(seconds: u32, queue: u32, transport: &str) -> f64 {
    result(&long_wire(seconds, queue, 0.0499, transport)).flows[0].goodput_kbps
}

fn long_wire(seconds: u32, queue: u32, delay: f64, transport: &str) -> String {
    format!(
        "duration = {seconds}.0\n[topology]\nkind = \"chain\"\nhops = 1\n\
         [[host]]\ngateway = 0\nname = \"a\"\nrate_kbps = 100000.0\ndelay = 0.0001\nqueue = 1000\n\
         [[host]]\ngateway = 0\nname = \"b\"\nrate_kbps = 10000.0\ndelay = {delay}\nqueue = {queue}\n{}",
        flow("\"a\"", "\"b\"", &format!("transport = {{ {transport}, window_max = 400 }}"))
    )
}

#[test]
fn no_way_of_recovering_from_losses_costs_goodput_on_a_wire_that_loses_only_at_its_queue() {
    for queue in [5, 84] {
        // A queue shorter than the bandwidth-delay product leaves the wire idle after each halving.
        let least = if queue == 5 { 7200.0 } else { 9000.0 };
        for kind in ["newreno", "reno", "westwood"] {
            for options in
                ["sack = false", "sack = true", "preset = \"rfc\"", "preset = \"rfc\", sack = true"]
            {
                let transport = format!("kind = \"{kind}\", {options}");
                let goodput = over_a_long_wire(queue, &transport);
                assert!(goodput > least, "{transport}, queue of {queue}: {goodput}");
            }
        }
        for options in ["sack = true", "preset = \"rfc\", sack = true", "preset = \"linux-6\""] {
            let goodput = over_a_long_wire(queue, &format!("kind = \"cubic\", {options}"));
            assert!(goodput > least, "cubic, {options}, queue of {queue}: {goodput}");
        }
    }
}

/// The ACK that covers a delayed segment and reports the one behind a loss is no sign of reordering, after which RACK would wait
/// longer, and lose more, at every full queue. The delays are those with which it then lost most and least.
#[test]
fn delayed_acks_cost_cubic_little_behind_a_short_queue() {
    for delay in [0.049534, 0.050356, 0.049638] {
        let [with, without] = ["cubic+da", "cubic"].map(|kind| {
            let transport = format!("kind = \"{kind}\", preset = \"linux-6\"");
            result(&long_wire(200, 3, delay, &transport)).flows[0].goodput_kbps
        });
        assert!(with > 0.97 * without, "{delay}: {with} with delayed ACKs, {without} without");
    }
}

/// BBR loses many segments behind a short queue, and retransmissions among them.
#[test]
fn bbr_with_sack_alone_delivers_what_it_delivers_with_rack() {
    for kind in ["bbr", "bbr3"] {
        let [with, without] =
            [true, false].map(|rack| over_a_long_wire(5, &format!("kind = \"{kind}\", rack = {rack}")));
        assert!(without > 0.95 * with, "{kind}: {without} without RACK, {with} with it");
    }
}

/// CUBIC loses many segments of a round trip when its function is steep, and partial ACKs repair one in each round trip.
#[test]
fn cubic_without_sack_loses_at_most_a_tenth_of_its_goodput_over_a_wire() {
    for queue in [5, 42] {
        let best = for_a_while_over_a_long_wire(150, queue, "kind = \"cubic\", sack = true");
        for options in ["sack = false", "preset = \"linux\", sack = false"] {
            let goodput = for_a_while_over_a_long_wire(150, queue, &format!("kind = \"cubic\", {options}"));
            assert!(goodput > 0.9 * best, "cubic, {options}, queue of {queue}: {goodput}, with SACK {best}");
        }
    }
}

/// Two hosts on one wire of 100 kb/s, the second with a delay and losses of its own.
fn shared(flows: &str) -> String {
    let far = "[[host]]\ngateway = 3\nname = \"far\"\nwire = \"server\"\ndelay = 0.5\n\
               loss_to_host = 0.1\nloss_from_host = 0.1\n";
    chain("static", &format!("rate_kbps = 100.0\ndelay = 0.0\nqueue = 5\n{far}"), flows)
}

#[test]
fn hosts_share_the_rate_and_the_queue_of_a_wire() {
    let cbr = "app = \"cbr\"\nrate_kbps = 90.0\nsize = 972";
    let run = result(&shared(
        &(flow("3", "\"server\"", cbr) + &flow("3", "\"far\"", &format!("{cbr}\nstart = 0.03"))),
    ));
    let [near, far] = &run.flows[..] else { panic!("two flows") };
    // 100 kb/s of packets with headers are 97.2 of data; a tenth of what goes to the second host is lost.
    let carried = near.goodput_kbps + far.goodput_kbps / 0.9;
    assert!((carried - 97.2).abs() < 2.5, "{carried}");
    assert!(run.drops["queue-full"] > 500, "{:?}", run.drops);
}

#[test]
fn hosts_on_one_wire_have_delays_and_losses_of_their_own() {
    let cbr = "app = \"cbr\"\nrate_kbps = 20.0\nsize = 972";
    for (name, delay, lost) in [("server", 80.0, 0.0), ("far", 580.0, 0.1)] {
        for (from, to) in [("3", format!("\"{name}\"")), (&*format!("\"{name}\""), "3".to_owned())] {
            let run = result(&shared(&flow(from, &to, cbr)).replace("duration = 60.0", "duration = 1000.0"));
            let flow = &run.flows[0];
            let mean = flow.delay_ms.as_ref().unwrap().mean;
            assert!((mean - delay).abs() < 0.1, "{from} to {to}: {mean} ms");
            // 2,572 datagrams: a deviation of 0.6%.
            let share = 1.0 - flow.segments_delivered as f64 / flow.segments_sent as f64;
            assert!((share - lost).abs() < 0.02, "{from} to {to}: {share} lost");
        }
    }
}

#[test]
fn hosts_send_and_receive_under_every_routing_protocol() {
    for routing in ["static", "aodv", "dsr", "olsr", "apdr", "apdr-pr"] {
        for (from, to) in [("0", "\"server\""), ("\"server\"", "0")] {
            let tcp = "transport = \"tcp-2\"\nstart = 20.0";
            let ran = ran(&chain(routing, "", &flow(from, to, tcp)));
            let found = &ran.result.flows[0];
            assert!(found.goodput_kbps > 200.0, "{routing} {from} {to}: {}", found.goodput_kbps);
            assert_eq!(found.mean_hops, Some(4.0), "{routing}");
            let other = events(&ran.trace).find(|e| e.node == 4 && !["tcp", "ack", "syn"].contains(&e.kind));
            assert_eq!(other, None, "a host gets no traffic of the mesh");
        }
    }
}

#[test]
fn link_failures_are_notified_to_nodes_but_not_to_hosts() {
    // The relay in the middle leaves at 30 s; AODV notifies the source.
    let text = "duration = 40.0\n[topology]\nkind = \"list\"\n\
        positions = [[0.0, 0.0], [200.0, 0.0], [400.0, 0.0]]\n[mobility]\nkind = \"waypoints\"\n\
        waypoints = [[], [[0.0, 200.0, 0.0], [30.0, 200.0, 0.0], [31.0, 200.0, 900.0]], []]\n\
        [routing]\nprotocol = \"aodv\"\n[[host]]\ngateway = 2\n[record]\nevery = 0.0\nwhat = [\"state\"]\n";
    let standing_by = |from, to| {
        let ran = ran(&format!("{text}[[flow]]\nfrom = {from}\nto = {to}\ntransport = \"elfn\"\n"));
        ran.record.lines().any(|line| line.ends_with("state,6"))
    };
    assert!(standing_by(0, 3));
    assert!(standing_by(3, 0), "by ICMP, which crosses the wire");
}

#[test]
fn a_relay_forwards_every_byte_and_ends() {
    for transport in ["newreno", "tpa*-3"] {
        let file = format!("app = \"file\"\nbytes = 300000\ntransport = \"{transport}\"");
        let flows = flow("0", "3", &file) + &flow("3", "\"server\"", SPLIT);
        let ran = ran(&chain("static", "", &flows));
        let [first, second] = &ran.result.flows[..] else { panic!("two flows") };
        let bytes = |kbps: f64, from: f64, to: f64| (kbps * 125.0 * (to - from)).round();
        assert_eq!(bytes(first.goodput_kbps, first.start, first.stop), 300_000.0, "{transport}");
        assert_eq!(bytes(second.goodput_kbps, second.start, second.stop), 300_000.0, "{transport}");
        assert_eq!(ran.result.totals.goodput_kbps, second.goodput_kbps, "relayed data counts once");
        assert!(second.stop > first.stop && second.stop < 30.0, "{} {}", first.stop, second.stop);
        assert!(events(&ran.trace).any(|e| e.kind == "fin" && e.node == 4 && e.what == "r"));
    }
}

#[test]
fn a_slow_wire_limits_the_first_flow_of_a_relay() {
    for transport in ["newreno", "tpa*-3"] {
        let flows = flow("0", "3", &format!("transport = \"{transport}\"")) + &flow("3", "4", SPLIT);
        let [quick, slow] = ["rate_kbps = 10000.0", "rate_kbps = 50.0"].map(|rate| {
            let result = result(&chain("static", rate, &flows));
            [result.flows[0].goodput_kbps, result.flows[1].goodput_kbps]
        });
        assert!(quick[0] > 300.0 && quick[1] > 0.98 * quick[0], "{quick:?}");
        // In addition to the wire's goodput: the buffers of the relay and the receiver.
        let ahead = (slow[0] - slow[1]) * 60.0 * 125.0;
        assert!(slow[1] < 50.0 && slow[1] > 40.0, "{slow:?}");
        assert!(ahead > 65_536.0 && ahead < 65_536.0 + 77.0 * 1460.0, "{transport}: {ahead}");
    }
}

#[test]
fn a_relay_that_begins_late_forwards_earlier_data() {
    let file = "app = \"file\"\nbytes = 20000\ntransport = \"newreno\"";
    let flows = flow("0", "3", file) + &flow("3", "4", &format!("{SPLIT}\nstart = 30.0"));
    let result = result(&chain("static", "", &flows));
    assert!(result.flows[0].stop < 5.0);
    assert!(result.flows[1].stop > 30.0 && result.flows[1].stop < 32.0, "{}", result.flows[1].stop);
}

#[test]
fn shortest_paths_exclude_hosts() {
    let text = chain("static", "", &flow("0", "4", "transport = \"newreno\""));
    let recorded = ran(&format!("{text}[record]\nevery = 10.0\nwhat = [\"shortest\"]\n")).record;
    assert!(recorded.lines().skip(1).all(|line| line.ends_with("shortest,3")), "{recorded}");
    assert_eq!(scenario(&text).hosts.len(), 1);
}
