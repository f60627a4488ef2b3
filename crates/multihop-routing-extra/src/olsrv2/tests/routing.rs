//! Tests of TCs, the resulting routes, and packets on these routes.

use super::*;

/// A node with the neighbours 2 and 3.
fn fork() -> Bench {
    let mut b = Bench::of_hops();
    b.at_ms(100).hello(2, &[says(OWN, SYM)]).hello(3, &[says(OWN, SYM)]);
    b
}

fn learns(b: &mut Bench, tc: Tc) {
    b.gets(2, vec![Message::Tc(tc)]);
}

/// Sequence number and links, with costs, that the agent learnt of an originator.
fn known(b: &Bench, originator: u8) -> Option<(u16, Vec<(u8, u32)>)> {
    let advertised = b.agent.topology.get(node(originator))?;
    let links = advertised.links.iter();
    let links = links.map(|&(to, metric)| (last(to), metric.map_or(0, Metric::value)));
    Some((advertised.sequence, links.collect()))
}

#[test]
fn routes_take_the_cheapest_links() {
    let mut b = fork();
    learns(&mut b, tc(2, 1, 1, &[(5, 9)]));
    learns(&mut b, tc(3, 1, 1, &[(6, 2)]));
    learns(&mut b, tc(6, 1, 1, &[(5, 3), (7, 1)]));
    let expected = [(2, 2, 1, 1), (3, 3, 1, 1), (5, 3, 3, 6), (6, 3, 2, 3), (7, 3, 3, 4)];
    assert_eq!(b.routes(), expected);
    // A link without a cost is not used.
    let links = vec![(node(5), None), (node(7), Some(cost(1)))];
    let advertised = Arc::new(Advertised { sequence: 2, complete: true, links, networks: Vec::new() });
    learns(&mut b, Tc { advertised, ..tc(6, 2, 2, &[]) });
    assert_eq!(b.routes()[2], (5, 2, 2, 10));
}

#[test]
fn a_newer_tc_replaces_and_an_older_one_is_outdated() {
    let mut b = fork();
    learns(&mut b, tc(9, 1, 0xffff, &[(5, 1)]));
    learns(&mut b, tc(9, 2, 2, &[(6, 1)]));
    assert_eq!(known(&b, 9), Some((2, vec![(6, 1)])), "numbers wrap");
    learns(&mut b, tc(9, 3, 0xfffe, &[(7, 1)]));
    assert_eq!((known(&b, 9), b.agent.counters().outdated), (Some((2, vec![(6, 1)])), 1));
    // A TC with the same sequence number extends the validity.
    b.at_ms(10_100).hello(2, &[says(OWN, SYM)]);
    learns(&mut b, tc(9, 4, 2, &[(6, 1)]));
    b.at_ms(25_099);
    assert!(known(&b, 9).is_some());
    // The time code for 15 s means 15.36 s.
    b.at_ms(25_460);
    assert_eq!(known(&b, 9), None);
}

#[test]
fn a_tc_that_is_not_complete_adds() {
    let mut b = fork();
    learns(&mut b, tc(9, 1, 1, &[(5, 1), (6, 1)]));
    let links = vec![(node(6), Some(cost(4))), (node(7), Some(cost(5)))];
    let advertised = Arc::new(Advertised { sequence: 2, complete: false, links, networks: Vec::new() });
    learns(&mut b, Tc { advertised, ..tc(9, 2, 2, &[]) });
    assert_eq!(known(&b, 9), Some((2, vec![(5, 1), (6, 4), (7, 5)])));
}

#[test]
fn routes_end_when_what_they_rest_on_expires() {
    let mut b = fork();
    learns(&mut b, tc(2, 1, 1, &[(5, 1)]));
    assert_eq!(b.routes().len(), 3);
    b.at_ms(4_100).hello(2, &[says(OWN, SYM)]);
    b.at_ms(6_100);
    assert_eq!(b.routes(), [(2, 2, 1, 1), (5, 2, 2, 2)], "3 was silent for 6 s");
    b.at_ms(9_000).hello(2, &[says(OWN, SYM)]);
    b.at_ms(14_000).hello(2, &[says(OWN, SYM)]);
    b.at_ms(15_099);
    assert_eq!(b.routes().len(), 2);
    b.at_ms(15_100);
    assert_eq!(b.routes(), [(2, 2, 1, 1)]);
}

#[test]
fn packets_follow_the_routes_and_connections_are_notified() {
    let mut b = fork();
    learns(&mut b, tc(2, 1, 1, &[(5, 4)]));
    let forward = |next_hop| Output::Forward { ticket: Ticket(5), next_hop: node(next_hop), route: None };
    let notice = |notice| Output::Notice { peer: node(5), notice };
    b.packet(None, 5);
    assert_eq!(b.outputs(), [notice(Notice::PathInfo { hops: 2 }), forward(2)]);
    b.packet(Some(3), 5);
    assert_eq!(b.outputs(), [forward(2)]);
    // The path has three cheaper links.
    b.gets(3, vec![Message::Tc(tc(3, 1, 1, &[(6, 1)])), Message::Tc(tc(6, 1, 1, &[(5, 1)]))]);
    assert_eq!(b.outputs(), [notice(Notice::PathInfo { hops: 3 })]);
    b.packet(None, 5);
    assert_eq!(b.outputs(), [forward(3)]);
    assert_eq!(b.agent.route_changes(), Some(RouteChanges { changes: 1, oscillations: 0 }));
    // Both neighbours are gone.
    b.at_ms(7_000);
    assert_eq!(b.outputs(), [notice(Notice::RouteLost)]);
    b.packet(None, 5);
    let drop = Output::Drop { ticket: Ticket(5), reason: DropReason::NoRoute, tell_source: true };
    assert_eq!(b.outputs(), [drop]);
    b.at_ms(8_000).hello(2, &[says(OWN, SYM)]);
    assert_eq!(b.outputs(), [notice(Notice::RouteRestored), notice(Notice::PathInfo { hops: 2 })]);
}
