//! Tests of data packets and notices.

use super::*;

fn forward(to: u8, next_hop: u8) -> Output {
    Output::Forward { ticket: Ticket(to.into()), next_hop: node(next_hop), route: None }
}

fn no_route(to: u8) -> Output {
    Output::Drop { ticket: Ticket(to.into()), reason: DropReason::NoRoute, tell_source: true }
}

fn notice(peer: u8, notice: Notice) -> Output {
    Output::Notice { peer: node(peer), notice }
}

#[test]
fn packets_without_route_are_dropped() {
    let mut b = rfc();
    b.at_ms(100).packet(Some(7), 3);
    assert_eq!(b.outputs(), [no_route(3)]);
    b.hello(2, &[(SYM, OWN), (SYM, 3)]).packet(Some(7), 3).packet(Some(7), 2);
    assert_eq!(b.outputs(), [forward(3, 2), forward(2, 2)], "nothing is buffered; only hosts get notices");
    let mut b = Bench::new(Config { tell_source: false, ..Config::rfc() });
    b.packet(Some(7), 3);
    let silent = Output::Drop { ticket: Ticket(3), reason: DropReason::NoRoute, tell_source: false };
    assert_eq!(b.outputs(), [silent]);
}

#[test]
fn hosts_get_notices_about_the_routes_to_their_peers() {
    let mut b = rfc();
    b.at_ms(100).packet(None, 3);
    assert_eq!(b.outputs(), [notice(3, Notice::RouteLost), no_route(3)]);
    b.packet(None, 3);
    assert_eq!(b.outputs(), [no_route(3)], "one notice only");
    b.at_ms(200).hello(2, &[(SYM, OWN), (SYM, 3)]);
    assert_eq!(b.outputs(), [notice(3, Notice::RouteRestored), notice(3, Notice::PathInfo { hops: 2 })]);
    b.packet(None, 3).packet(None, 2);
    assert_eq!(b.outputs(), [forward(3, 2), notice(2, Notice::PathInfo { hops: 1 }), forward(2, 2)]);
    b.at_ms(300).hello(3, &[(SYM, OWN)]);
    assert_eq!(b.outputs(), [notice(3, Notice::PathInfo { hops: 1 })]);
    // After silence the neighbours remain symmetric until 6.2 s and 6.3 s; node 3 lasts longer than node 2.
    b.at_ms(6_299);
    assert_eq!(b.outputs(), [notice(2, Notice::RouteLost)]);
    b.at_ms(6_300);
    assert_eq!(b.outputs(), [notice(3, Notice::RouteLost)]);
}

#[test]
fn a_host_without_packets_gets_no_notices_and_computes_no_routes() {
    let mut b = rfc();
    for step in 0..10_u8 {
        b.at_ms(2_000 * u64::from(step)).hello(2, &[(SYM, OWN), (SYM, 3 + step)]);
    }
    assert_eq!((b.outputs(), b.agent.counters().computations), (vec![], 0));
    b.packet(None, 2);
    assert_eq!(b.agent.counters().computations, 1);
}

#[test]
fn unchanged_information_causes_no_computation() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(SYM, OWN), (SYM, 3)]).packet(None, 3);
    let before = b.agent.counters();
    for step in 1..20_u16 {
        b.at_ms(u64::from(step) * 2_000)
            .hello(2, &[(SYM, OWN), (SYM, 3)])
            .gets(2, vec![tc(3, step, 1, &[2])]);
    }
    let after = b.agent.counters();
    // The link that the first TC announced causes the computation.
    assert_eq!(after.computations - before.computations, 1);
    assert_eq!(after.elections, 1);
}

#[test]
fn unused_peers_are_forgotten() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(SYM, OWN)]).packet(None, 2);
    b.at_ms(200_000).packet(None, 2);
    b.hello(2, &[(SYM, OWN)]);
    b.at_ms(499_000).hello(2, &[(SYM, OWN)]);
    assert!(b.agent.forwarder.is_watching());
    b.at_ms(506_000).hello(2, &[(SYM, OWN)]);
    assert!(!b.agent.forwarder.is_watching());
}
