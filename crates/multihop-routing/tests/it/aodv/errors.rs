//! Link failures and route errors.

use super::*;

/// A chain in which packets go from one end to the other.
fn in_use(count: usize, config: &Config) -> AodvMesh {
    let mut mesh = chain(count, config);
    send(&mut mesh, 0, count - 1);
    mesh.run_until(ms(2000));
    assert_eq!(delivered(&mesh), [1]);
    mesh.take_log();
    mesh
}

#[test]
fn an_error_travels_back_in_ns2() {
    let config = Config { local_repair: LocalRepair::Off, ..config(Preset::Ns2) };
    let mut mesh = in_use(5, &config);
    mesh.disconnect(3, 4);
    mesh.adapter.log_data = true;
    send(&mut mesh, 0, 4);
    mesh.run_for(Duration::from_millis(50));
    expect_log(
        &mut mesh,
        "2000.000 ms: 0 -> 1: data 5
         2001.000 ms: 1 -> 2: data 5
         2002.000 ms: 2 -> 3: data 5
         2003.000 ms: 3 -> 4: data 5
         2004.000 ms: 3: drops data 5: retry-limit, source notified
         2004.000 ms: 3: purges 4
         2004.000 ms: 3 -> *: RERR 4 (seq 2) ttl 1
         2005.000 ms: 2: discards what waits for 3 to any
         2005.000 ms: 2 -> *: RERR 4 (seq 2) ttl 1
         2006.000 ms: 1: discards what waits for 2 to any
         2006.000 ms: 1 -> *: RERR 4 (seq 2) ttl 1
         2007.000 ms: 0: route to 4 lost
         2007.000 ms: 0: discards what waits for 1 to any",
    );
    mesh.connect(3, 4, TestLink::GOOD);
    send(&mut mesh, 0, 4);
    mesh.run_for(Duration::from_millis(50));
    let log = mesh.take_log();
    assert!(log.contains("0: route to 4 restored\n2058.000 ms: 0: 4 is 4 hops away\n"), "{log}");
}

#[test]
fn an_error_travels_back_in_uu_to_the_precursor() {
    let mut mesh = in_use(4, &config(Preset::Uu));
    mesh.disconnect(2, 3);
    send(&mut mesh, 0, 3);
    mesh.run_for(Duration::from_millis(50));
    expect_log(
        &mut mesh,
        "2003.000 ms: 2: drops data 4: retry-limit, source notified
         2003.000 ms: 2: purges 3
         2003.000 ms: 2 -> 1: RERR 3 (seq 1) ttl 1
         2004.000 ms: 1: discards what waits for 2 to 3
         2004.000 ms: 1 -> 0: RERR 3 (seq 1) ttl 1
         2005.000 ms: 0: route to 3 lost
         2005.000 ms: 0: discards what waits for 1 to 3",
    );
}

#[test]
fn a_packet_without_a_route_causes_an_error() {
    let stray = |preset| {
        let mut mesh = in_use(4, &config(preset));
        let (source, destination) = (addr(0), addr(9));
        let data = Data { id: 50, source, destination, hops: 1, previous_hop: Some(addr(0)) };
        let packet = mesh.adapter.hold(data);
        mesh.input(1, Input::Packet(packet));
        let log: Vec<String> = mesh.take_log().lines().map(String::from).collect();
        let (node, data, reason, notified) = mesh.adapter.dropped.pop().unwrap();
        assert_eq!((node, data.id, reason, notified), (1, 50, DropReason::NoRoute, true));
        log[0].clone()
    };
    assert_eq!(stray(Preset::Ns2), "2000.000 ms: 1 -> *: RERR 9 (seq 0) ttl 1");
    assert_eq!(stray(Preset::Uu), "2000.000 ms: 1 -> 0: RERR 9 (seq 0) ttl 1");
}

fn error(destination: usize, sequence: u32, no_delete: bool) -> Message {
    let unreachable = vec![Unreachable { destination: addr(destination), sequence: Sequence(sequence) }];
    Message::Error(Error { no_delete, unreachable })
}

#[test]
fn an_error_is_accepted_only_from_the_next_hop_and_if_it_is_new() {
    for preset in [Preset::Ns2, Preset::Uu] {
        let mut mesh = in_use(4, &config(preset));
        let mut next_hop_after = |from, message| {
            mesh.input(1, message_input(from, 1, message));
            next_hop(&mesh, 1, 3)
        };
        assert_eq!(next_hop_after(0, error(3, 9, false)), Some(2), "not the next hop");
        assert_eq!(next_hop_after(2, error(3, u32::MAX, false)), Some(2), "older than the route");
        assert_eq!(next_hop_after(2, error(3, 9, true)), Some(2), "the link is repaired");
        assert_eq!(next_hop_after(2, error(3, 9, false)), None);
        let sequence = mesh.machines[1].routes().find(|(to, _)| *to == addr(3)).unwrap().1.sequence;
        assert_eq!(sequence, Some(Sequence(9)));
    }
}

#[test]
fn a_sequence_number_never_decreases() {
    let mut mesh = in_use(4, &config(Preset::Ns2));
    let sequence = |mesh: &AodvMesh| {
        mesh.machines[1].routes().find(|(to, _)| *to == addr(3)).unwrap().1.sequence.unwrap().0
    };
    assert_eq!(sequence(&mesh), 1);
    // 0 represents an unknown number.
    mesh.input(1, message_input(2, 1, error(3, 0, false)));
    assert_eq!((next_hop(&mesh, 1, 3), sequence(&mesh)), (None, 2));
}

#[test]
fn packets_queued_behind_a_failed_one_find_no_route() {
    let mut mesh = in_use(3, &config(Preset::Uu));
    for reason in [DropReason::RetryLimit, DropReason::NoRoute] {
        let (source, destination) = (addr(0), addr(2));
        let data = Data { id: 50, source, destination, hops: 0, previous_hop: None };
        let packet = mesh.adapter.hold(data);
        mesh.input(0, Input::LinkFailed { next_hop: addr(1), packet, quoted: None });
        let (_, _, found, notified) = mesh.adapter.dropped.pop().unwrap();
        assert_eq!((found, notified), (reason, true));
    }
}

#[test]
fn uu_sends_at_most_nine_errors_per_second() {
    let mut mesh = in_use(3, &config(Preset::Uu));
    for id in 0..20 {
        let (source, destination) = (addr(0), addr(9));
        let data = Data { id, source, destination, hops: 1, previous_hop: Some(addr(0)) };
        let packet = mesh.adapter.hold(data);
        mesh.input(1, Input::Packet(packet));
    }
    assert_eq!(mesh.take_log().matches("RERR").count(), 9);
    assert_eq!(mesh.adapter.dropped.len(), 20);
}

#[test]
fn the_loss_of_a_message_is_not_a_link_failure() {
    for preset in [Preset::Ns2, Preset::Uu] {
        let mut mesh = in_use(3, &config(preset));
        mesh.input(
            0,
            Input::MessageLost { next_hop: addr(1), message: RoutingMessage::Aodv(Message::ReplyAck) },
        );
        assert_eq!(next_hop(&mesh, 0, 2), Some(1));
    }
}

#[test]
fn one_broadcast_reports_an_error_to_two_precursors() {
    let mut mesh = chain(5, &config(Preset::Uu));
    mesh.disconnect(3, 4);
    mesh.connect(4, 1, TestLink::GOOD);
    for from in [0, 4] {
        send(&mut mesh, from, 3);
        mesh.run_for(Duration::from_millis(1000));
    }
    assert_eq!(delivered(&mesh).len(), 2);
    mesh.take_log();
    mesh.disconnect(2, 3);
    send(&mut mesh, 4, 3);
    mesh.run_for(Duration::from_millis(10));
    expect_log(
        &mut mesh,
        "2003.000 ms: 2: drops data 7: retry-limit, source notified
         2003.000 ms: 2: purges 3
         2003.000 ms: 2 -> 1: RERR 3 (seq 1) ttl 1
         2004.000 ms: 1: discards what waits for 2 to 3
         2004.000 ms: 1 -> *: RERR 3 (seq 1) ttl 1
         2005.000 ms: 0: route to 3 lost
         2005.000 ms: 0: discards what waits for 1 to 3
         2005.000 ms: 4: route to 3 lost
         2005.000 ms: 4: discards what waits for 1 to 3",
    );
}

#[test]
fn unused_routes_expire() {
    // The packet leaves at 6 ms and 246 ms. The clock of ns-2 ticks twice per second. In AODV-UU
    // the destination's reply is valid for 20 s, but the route to the neighbour expires first.
    for (preset, end) in [(Preset::Ns2, 10_500), (Preset::Uu, 10_244)] {
        let mut mesh = chain(3, &config(preset));
        send(&mut mesh, 0, 2);
        mesh.run_until(ms(end - 1));
        assert_eq!((delivered(&mesh), next_hop(&mesh, 0, 2)), (vec![1], Some(1)));
        mesh.run_until(ms(end));
        assert_eq!(next_hop(&mesh, 0, 2), None);
    }
}

#[test]
fn use_extends_the_lifetime_of_routes() {
    for preset in [Preset::Ns2, Preset::Uu] {
        let mut mesh = chain(3, &config(preset));
        for n in 0..6 {
            mesh.run_until(ms(n * 9000));
            send(&mut mesh, 0, 2);
        }
        assert_eq!(
            mesh.take_log().matches("0 -> *: RREQ").count(),
            if preset == Preset::Ns2 { 1 } else { 2 }
        );
        // Only AODV-UU keeps the reverse route.
        mesh.run_until(ms(46_000));
        assert_eq!(next_hop(&mesh, 1, 0).is_some(), preset == Preset::Uu);
    }
}

#[test]
fn the_number_of_an_intermittent_neighbour_does_not_run_ahead() {
    let mut mesh = chain(2, &config(Preset::Uu));
    let mut sequences = Vec::new();
    for round in 1..6 {
        send(&mut mesh, 0, 1);
        mesh.run_until(ms(round * 10_000));
        sequences.push(mesh.machines[0].routes().next().unwrap().1.sequence.unwrap().0);
        mesh.disconnect(0, 1);
        send(&mut mesh, 0, 1);
        mesh.run_for(Duration::from_millis(10));
        mesh.connect(0, 1, TestLink::GOOD);
    }
    // Each search requests the previous number plus 1, and gets a reply with this number.
    assert_eq!(sequences, [0, 1, 2, 3, 4]);
}

#[test]
fn a_lost_neighbour_stays_a_precursor_in_uu() {
    for (preset, stays) in [(Preset::Ns2, false), (Preset::Uu, true)] {
        let mut mesh = chain(4, &config(preset));
        send(&mut mesh, 0, 3);
        mesh.run_until(ms(1000));
        mesh.disconnect(1, 2);
        send(&mut mesh, 0, 3);
        mesh.run_until(ms(1020));
        let (_, back) = mesh.machines[1].routes().find(|(to, _)| *to == addr(0)).unwrap();
        assert_eq!(back.precursors.contains(&addr(2)), stays);
    }
}
