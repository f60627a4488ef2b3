//! Route requests and replies, message by message.

use super::*;

#[test]
fn a_route_is_found_and_used_in_ns2() {
    let mut mesh = chain(4, &config(Preset::Ns2));
    mesh.adapter.log_data = true;
    send(&mut mesh, 0, 3);
    mesh.run_for(Duration::from_millis(200));
    expect_log(
        &mut mesh,
        "0.000 ms: 0 -> *: RREQ 1 for 3 (seq ?) by 0 (seq 1) hops 0 ttl 5
         1.000 ms: 1 -> *: RREQ 1 for 3 (seq ?) by 0 (seq 1) hops 1 ttl 4
         2.000 ms: 2 -> *: RREQ 1 for 3 (seq ?) by 0 (seq 1) hops 2 ttl 3
         3.000 ms: 3 -> 2: RREP 3 (seq 1) for 0 hops 0 ttl 30
         4.000 ms: 2 -> 1: RREP 3 (seq 1) for 0 hops 1 ttl 29
         5.000 ms: 1 -> 0: RREP 3 (seq 1) for 0 hops 2 ttl 28
         6.000 ms: 0: 3 is 3 hops away
         6.000 ms: 0 -> 1: data 1
         7.000 ms: 1 -> 2: data 1
         8.000 ms: 2 -> 3: data 1",
    );
    assert_eq!(delivered(&mesh), [1]);
    let routes: Vec<_> = mesh.machines[1].routes().map(|(to, route)| (index(to), route.hops)).collect();
    assert_eq!(routes, [(0, 1), (3, 2)], "ns-2 creates no routes to the neighbours that forward messages");
}

#[test]
fn a_route_is_found_and_used_in_uu() {
    let mut mesh = chain(4, &config(Preset::Uu));
    send(&mut mesh, 0, 3);
    mesh.run_for(Duration::from_millis(700));
    expect_log(
        &mut mesh,
        "0.000 ms: 0 -> *: RREQ 1 for 3 (seq ?) by 0 (seq 1) hops 0 ttl 1
         240.000 ms: 0 -> *: RREQ 2 for 3 (seq ?) by 0 (seq 2) hops 0 ttl 3
         241.000 ms: 1 -> *: RREQ 2 for 3 (seq ?) by 0 (seq 2) hops 1 ttl 2
         242.000 ms: 2 -> *: RREQ 2 for 3 (seq ?) by 0 (seq 2) hops 2 ttl 1
         243.000 ms: 3 -> 2: RREP 3 (seq 0) for 0 hops 0 ttl 255
         244.000 ms: 2 -> 1: RREP 3 (seq 0) for 0 hops 1 ttl 254
         245.000 ms: 1 -> 0: RREP 3 (seq 0) for 0 hops 2 ttl 253
         246.000 ms: 0: 3 is 3 hops away",
    );
    assert_eq!(delivered(&mesh), [1]);
    let routes: Vec<_> = mesh.machines[1].routes().map(|(to, route)| (index(to), route.hops)).collect();
    assert_eq!(routes, [(0, 1), (2, 1), (3, 2)]);
}

/// Times in milliseconds and TTLs of the requests of a search without success.
fn requests(config: &Config, until: Instant) -> Vec<(u64, u8)> {
    let mut agent = agents(1, config, 1).remove(0);
    let packet = Net::default().hold(Data {
        id: 1,
        source: addr(0),
        destination: addr(9),
        hops: 0,
        previous_hop: None,
    });
    agent.handle(Instant::ZERO, Input::Packet(packet));
    let mut sent = Vec::new();
    let mut now = Instant::ZERO;
    loop {
        while let Some(output) = agent.poll_output(now) {
            if let Output::Message { ttl, message: RoutingMessage::Aodv(Message::Request(_)), .. } = output {
                sent.push((now.as_nanos() / 1_000_000, ttl));
            }
        }
        match agent.poll_timeout().filter(|&at| at <= until) {
            Some(at) => now = at,
            None => return sent,
        }
        agent.handle_timeout(now);
    }
}

#[test]
fn the_ring_expands_at_the_ticks_of_ns2() {
    // Waits of 0.3, 0.42, 1.8, 3.6 and 5.4 s, each rounded up to the next half second.
    assert_eq!(
        requests(&config(Preset::Ns2), ms(60_000)),
        [(0, 5), (500, 7), (1000, 30), (3000, 30), (7000, 30), (12_500, 30)]
    );
    let flat = Config { expanding_ring: false, ..config(Preset::Ns2) };
    assert_eq!(requests(&flat, ms(60_000)), [(0, 30), (2000, 30), (6000, 30), (11_500, 30)]);
}

#[test]
fn the_ring_expands_as_in_uu() {
    let mac = config(Preset::Uu);
    // Waits of 0.24, 0.40, 0.56, 0.72 and 2.96 s.
    assert_eq!(requests(&mac, ms(60_000)), [(0, 1), (240, 3), (640, 5), (1200, 7), (1920, 35), (4880, 35)]);
    let hello = Config { jitter: mac.jitter, ..Config::new(Preset::Uu, LinkFailure::Hello) };
    assert_eq!(requests(&hello, ms(60_000)), [(0, 2), (320, 4), (800, 6), (1440, 8), (2240, 35), (5200, 35)]);
    let flat = Config { expanding_ring: false, ..mac };
    assert_eq!(requests(&flat, ms(60_000)), [(0, 35), (2800, 35), (5600, 35)]);
}

#[test]
fn a_search_without_success_ends_and_ns2_pauses() {
    for (preset, ends, again) in [(Preset::Ns2, 20_000, 30_000), (Preset::Uu, 7840, 21_000)] {
        let mut mesh = TestNetwork::new(agents(1, &config(preset), 1), Net::default(), 1);
        send(&mut mesh, 0, 9);
        mesh.run_until(ms(ends - 1));
        assert!(mesh.adapter.dropped.is_empty());
        mesh.run_until(ms(ends));
        let (node, data, reason, notified) = &mesh.adapter.dropped[0];
        assert_eq!((*node, data.id, *reason, *notified), (0, 1, DropReason::NoRoute, false));
        assert!(mesh.take_log().ends_with(": route to 9 lost\n"));
        mesh.run_until(ms(21_000));
        send(&mut mesh, 0, 9);
        mesh.run_until(ms(40_000));
        let first = mesh.take_log().lines().find(|line| line.contains("RREQ")).unwrap().to_string();
        assert!(first.starts_with(&format!("{again}.000 ms")), "{preset:?}: {first}");
        assert_eq!(first.ends_with("ttl 30"), preset == Preset::Ns2, "{first}");
    }
}

#[test]
fn in_ns2_a_new_packet_repeats_a_request_that_is_due() {
    let mut mesh = chain(1, &config(Preset::Ns2));
    send(&mut mesh, 0, 9);
    for at in [299, 300, 301] {
        mesh.run_until(ms(at));
        send(&mut mesh, 0, 9);
    }
    expect_log(
        &mut mesh,
        "0.000 ms: 0 -> *: RREQ 1 for 9 (seq ?) by 0 (seq 1) hops 0 ttl 5
         300.000 ms: 0 -> *: RREQ 2 for 9 (seq ?) by 0 (seq 2) hops 0 ttl 7",
    );
}

#[test]
fn a_node_with_a_fresh_route_replies() {
    for preset in [Preset::Ns2, Preset::Uu] {
        let mut mesh = chain(4, &config(preset));
        send(&mut mesh, 2, 3);
        mesh.run_until(ms(1000));
        mesh.take_log();
        send(&mut mesh, 1, 3);
        mesh.run_until(ms(1200));
        let log = mesh.take_log();
        assert!(log.contains("2 -> 1: RREP 3") && !log.contains("2 -> *"), "{log}");
        assert_eq!(next_hop(&mesh, 1, 3), Some(2));
        let route = mesh.machines[2].routes().find(|(to, _)| *to == addr(3)).unwrap().1;
        assert!(route.precursors.contains(&addr(1)));
    }
}

#[test]
fn a_node_with_an_older_route_forwards_the_request() {
    let mut mesh = chain(4, &config(Preset::Ns2));
    send(&mut mesh, 2, 3);
    mesh.run_until(ms(100));
    mesh.take_log();
    // Node 1 had a route with number 7 before.
    let request = Request { destination_sequence: Some(Sequence(7)), ..request(1, 3) };
    mesh.input(2, message_input(1, 5, Message::Request(request)));
    mesh.run_until(ms(200));
    expect_log(
        &mut mesh,
        "100.000 ms: 2 -> *: RREQ 9 for 3 (seq 7) by 1 (seq 50) hops 1 ttl 4
         101.000 ms: 3 -> 2: RREP 3 (seq 8) for 1 hops 0 ttl 30
         102.000 ms: 2 -> 1: RREP 3 (seq 8) for 1 hops 1 ttl 29",
    );
}

#[test]
fn a_forwarded_request_carries_the_newest_number() {
    let mut mesh = chain(3, &config(Preset::Ns2));
    send(&mut mesh, 1, 2);
    mesh.run_until(ms(100));
    mesh.disconnect(1, 2);
    mesh.run_until(ms(12_000)); // The route expires, which adds 1.
    mesh.take_log();
    mesh.input(1, message_input(0, 5, Message::Request(request(0, 2))));
    mesh.run_until(ms(12_010));
    expect_log(&mut mesh, "12000.000 ms: 1 -> *: RREQ 9 for 2 (seq 2) by 0 (seq 50) hops 1 ttl 4");
}

#[test]
fn only_the_destination_replies_if_requested() {
    let config = Config { destination_only: true, ..config(Preset::Ns2) };
    let mut mesh = chain(4, &config);
    send(&mut mesh, 2, 3);
    mesh.run_until(ms(100));
    mesh.take_log();
    send(&mut mesh, 1, 3);
    mesh.run_until(ms(200));
    assert!(mesh.take_log().contains("2 -> *: RREQ 1 for 3 (seq 1) by 1"));
}

#[test]
fn a_gratuitous_reply_gives_the_destination_a_route() {
    let config = Config { gratuitous_replies: true, ..config(Preset::Uu) };
    let mut mesh = chain(4, &config);
    send(&mut mesh, 1, 3);
    mesh.run_until(ms(1000));
    mesh.take_log();
    send(&mut mesh, 0, 3);
    mesh.run_until(ms(1100));
    expect_log(
        &mut mesh,
        "1000.000 ms: 0 -> *: RREQ 1 for 3 (seq ?) by 0 (seq 1) hops 0 ttl 1
         1001.000 ms: 1 -> 0: RREP 3 (seq 0) for 0 hops 2 ttl 255
         1001.000 ms: 1 -> 2: RREP 0 (seq 1) for 3 hops 1 ttl 255
         1002.000 ms: 0: 3 is 3 hops away
         1002.000 ms: 2 -> 3: RREP 0 (seq 1) for 3 hops 2 ttl 254",
    );
    assert_eq!(next_hop(&mesh, 3, 0), Some(2));
}

/// A request of node `from`, as if from an earlier search.
pub(super) fn request(from: usize, to: usize) -> Request {
    Request {
        join: false,
        repair: false,
        gratuitous: false,
        destination_only: false,
        hop_count: 0,
        id: 9,
        destination: addr(to),
        destination_sequence: None,
        originator: addr(from),
        originator_sequence: Sequence(50),
    }
}

fn hear(agent: &mut Agent, now: Instant, from: usize, message: Message) -> Vec<String> {
    agent.handle(now, message_input(from, 9, message));
    let later = now + Duration::from_millis(20);
    if agent.poll_timeout().is_some_and(|at| at <= later) {
        agent.handle_timeout(later);
    }
    outputs(agent, later)
}

#[test]
fn a_request_is_forwarded_once() {
    for (preset, life) in [(Preset::Ns2, 6000), (Preset::Uu, 5600)] {
        let mut agent = agents(1, &config(preset), 1).remove(0);
        let message = Message::Request(request(5, 9));
        assert_eq!(hear(&mut agent, ms(0), 1, message.clone()).len(), 1);
        assert_eq!(hear(&mut agent, ms(100), 2, message.clone()), [""; 0]);
        assert_eq!(hear(&mut agent, ms(life - 1), 2, message.clone()), [""; 0]);
        assert_eq!(hear(&mut agent, ms(life), 2, message).len(), 1);
        let mine = Message::Request(request(0, 9));
        assert_eq!(hear(&mut agent, ms(life), 2, mine), [""; 0]);
    }
}

#[test]
fn requests_end_where_their_ttl_does() {
    let mut agent = agents(1, &config(Preset::Ns2), 1).remove(0);
    let message = Message::Request(request(5, 9));
    agent.handle(ms(0), message_input(1, 1, message));
    assert_eq!(
        agent.poll_timeout().map(|at| at.as_nanos() / 1_000_000),
        Some(6000),
        "the reverse route only"
    );
    assert_eq!(agent.next_hop(addr(5)), Some(addr(1)));
    let worn = Request { hop_count: 255, id: 10, ..request(5, 9) };
    assert_eq!(hear(&mut agent, ms(0), 1, Message::Request(worn)), [""; 0]);
}

#[test]
fn sequence_numbers_wrap_in_routes() {
    let mut agent = agents(1, &config(Preset::Ns2), 1).remove(0);
    let mut news = |id, from, sequence, hop_count| {
        let originator_sequence = Sequence(sequence);
        let news = Request { id, originator_sequence, hop_count, ..request(5, 9) };
        hear(&mut agent, ms(0), from, Message::Request(news));
        agent.next_hop(addr(5)).map(index)
    };
    assert_eq!(news(1, 1, u32::MAX, 0), Some(1));
    assert_eq!(news(2, 2, 0, 6), Some(2), "0 is newer");
    assert_eq!(news(3, 1, u32::MAX, 0), Some(2), "an older one is refused, however short");
    assert_eq!(news(4, 3, 0, 3), Some(3), "the same number and shorter");
    assert_eq!(news(5, 4, 0, 3), Some(3), "the same number and not shorter");
}

#[test]
fn the_destination_raises_its_number_to_the_requested_one() {
    let asked = |preset, destination_sequence| {
        let mut agent = agents(1, &config(preset), 1).remove(0);
        let request = Request { destination_sequence, ..request(5, 0) };
        hear(&mut agent, ms(0), 1, Message::Request(request)).remove(0)
    };
    assert_eq!(asked(Preset::Ns2, None), "-> 1: RREP 0 (seq 1) for 5 hops 0 ttl 30");
    assert_eq!(asked(Preset::Ns2, Some(Sequence(7))), "-> 1: RREP 0 (seq 8) for 5 hops 0 ttl 30");
    assert_eq!(asked(Preset::Uu, None), "-> 1: RREP 0 (seq 0) for 5 hops 0 ttl 255");
    assert_eq!(asked(Preset::Uu, Some(Sequence(0))), "-> 1: RREP 0 (seq 1) for 5 hops 0 ttl 255");
    assert_eq!(asked(Preset::Uu, Some(Sequence(7))), "-> 1: RREP 0 (seq 7) for 5 hops 0 ttl 255");
}

#[test]
fn a_reply_is_acknowledged_if_requested() {
    let mut agent = agents(1, &config(Preset::Ns2), 1).remove(0);
    let reply = Reply {
        repair: false,
        ack_required: true,
        prefix_size: 0,
        hop_count: 2,
        destination: addr(7),
        destination_sequence: Sequence(3),
        originator: addr(0),
        lifetime_ms: 500,
    };
    assert_eq!(hear(&mut agent, ms(0), 1, Message::Reply(reply)), ["-> 1: RREP-ACK ttl 1"]);
}

#[test]
fn a_search_starts_two_hops_beyond_the_last_route() {
    for (preset, count, ttl) in
        [(Preset::Ns2, 5, 6), (Preset::Ns2, 9, 30), (Preset::Uu, 5, 6), (Preset::Uu, 9, 10)]
    {
        let mut mesh = chain(count, &config(preset));
        send(&mut mesh, 0, count - 1);
        mesh.run_until(ms(3000));
        mesh.disconnect(0, 1);
        send(&mut mesh, 0, count - 1);
        mesh.run_until(ms(3002));
        mesh.take_log();
        send(&mut mesh, 0, count - 1);
        mesh.run_until(ms(3003));
        let log = mesh.take_log();
        let sent = log.lines().find(|line| line.contains("0 -> *: RREQ")).unwrap();
        assert!(sent.ends_with(&format!("ttl {ttl}")), "{preset:?} {count}: {sent}");
    }
}

#[test]
fn uu_forgets_the_length_of_old_routes() {
    let mut mesh = chain(5, &config(Preset::Uu));
    send(&mut mesh, 0, 4);
    mesh.run_until(ms(60_000));
    mesh.take_log();
    send(&mut mesh, 0, 4);
    mesh.run_for(Duration::from_millis(1));
    let log = mesh.take_log();
    assert!(log.contains("RREQ 4 for 4 (seq 1)") && log.trim_end().ends_with("ttl 1"), "{log}");
}

#[test]
fn ns2_waits_according_to_measured_latencies() {
    let mut mesh = chain(3, &config(Preset::Ns2));
    send(&mut mesh, 0, 2); // 4 ms for 2 hops: 2 ms per hop.
    mesh.run_until(ms(100));
    mesh.disconnect(0, 1);
    send(&mut mesh, 0, 2);
    mesh.run_until(ms(102));
    mesh.take_log();
    send(&mut mesh, 0, 2); // TTL 4: a wait of 16 ms.
    mesh.run_until(ms(117));
    send(&mut mesh, 0, 2);
    assert_eq!(mesh.take_log().matches("RREQ").count(), 1);
    mesh.run_until(ms(118));
    send(&mut mesh, 0, 2);
    assert_eq!(mesh.take_log().matches("RREQ").count(), 1);
}

#[test]
fn uu_sends_at_most_nine_requests_per_second() {
    let forwarded = |config: &Config| {
        let mut agent = agents(1, config, 1).remove(0);
        let mut passed = 0;
        for id in 0..30 {
            let request = Request { id, ..request(5, 9) };
            passed += hear(&mut agent, ms(u64::from(id) * 40), 1, Message::Request(request)).len();
        }
        passed
    };
    // Nine at 0 to 320 ms, and again from 1000 ms on: 1000 to 1160.
    assert_eq!(forwarded(&config(Preset::Uu)), 9 + 5);
    assert_eq!(forwarded(&Config { rate_limit: None, ..config(Preset::Uu) }), 30);
    assert_eq!(forwarded(&config(Preset::Ns2)), 30);
}

#[test]
fn forwarded_requests_are_delayed_at_random() {
    for (preset, longest) in [(Preset::Ns2, 10.0), (Preset::Uu, 20.0)] {
        let config = Config { rate_limit: None, ..Config::new(preset, LinkFailure::Mac) };
        let mut agent = agents(1, &config, 1).remove(0);
        let mut delays: Vec<f64> = Vec::new();
        for id in 0..1000 {
            let now = ms(u64::from(id) * 50);
            let message = Message::Request(Request { id, ..request(5, 9) });
            agent.handle(now, message_input(1, 9, message));
            let mut at = now;
            while outputs(&mut agent, at).is_empty() {
                at = agent.poll_timeout().unwrap();
                agent.handle_timeout(at);
            }
            delays.push((at - now).as_secs_f64() * 1000.0);
        }
        assert!(delays.iter().all(|&delay| delay <= longest));
        let mean = delays.iter().sum::<f64>() / 1000.0;
        assert!((mean / longest - 0.5).abs() < 0.05, "{preset:?}: {mean} ms");
    }
}

#[test]
fn own_requests_are_immediate_in_ns2_only() {
    for (preset, sent) in [(Preset::Ns2, 1), (Preset::Uu, 0)] {
        let mut mesh =
            TestNetwork::new(agents(1, &Config::new(preset, LinkFailure::Mac), 1), Net::default(), 1);
        send(&mut mesh, 0, 9);
        assert_eq!(mesh.take_log().lines().count(), sent);
    }
}

#[test]
fn bytes_are_accounted_as_in_the_original_simulators() {
    let len = |preset: Preset, message: &Message| preset.accounted_len(message) - 20;
    let request = Message::Request(request(1, 2));
    let unreachable = vec![Unreachable { destination: addr(1), sequence: Sequence(1) }; 3];
    let error = Message::Error(Error { no_delete: false, unreachable });
    assert_eq!((len(Preset::Ns2, &request), len(Preset::Uu, &request)), (28, 24));
    assert_eq!((len(Preset::Ns2, &error), len(Preset::Uu, &error)), (28, 28));
}
