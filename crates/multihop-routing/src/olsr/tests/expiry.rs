//! Tests of the processing of flooded messages, and of their expiry.

use super::*;

/// A bench with node 2 as permanent symmetric neighbour, and node 3 behind it.
fn with_neighbour() -> Bench {
    let mut b = rfc();
    b.at_ms(100);
    keep_neighbour(&mut b);
    b
}

fn keep_neighbour(b: &mut Bench) {
    let mut message = hello(2, &[(MPR, OWN), (SYM, 3)], Willingness::DEFAULT);
    message.validity = TimeCode(255);
    b.gets(2, vec![message]);
}

#[test]
fn topology_expires_after_its_validity() {
    let mut b = with_neighbour();
    b.at_ms(1_000).gets(2, vec![tc(3, 1, 1, &[2, 4])]);
    b.at_ms(2_000).gets(2, vec![tc(4, 1, 1, &[3, 5, OWN])]);
    assert_eq!(b.routes(), [(2, 2, 1), (3, 2, 2), (4, 2, 3), (5, 2, 4)]);
    b.at_ms(15_999);
    assert_eq!(b.routes().len(), 4);
    b.at_ms(16_000);
    assert_eq!(b.routes(), [(2, 2, 1), (3, 2, 2)], "the path to 5 led through 4");
    assert_eq!(b.agent.topology.ends(node(4)).count(), 3);
    b.at_ms(17_000);
    assert_eq!(b.agent.topology.keys().len(), 0);
}

#[test]
fn tcs_confirm_replace_or_are_outdated() {
    let mut b = with_neighbour();
    b.at_ms(1_000).gets(2, vec![tc(3, 1, 0xffff, &[4])]);
    b.at_ms(6_000).gets(2, vec![tc(3, 2, 0xffff, &[4])]);
    b.at_ms(16_000);
    assert_eq!(b.routes().len(), 3, "confirmed at 6 s");
    b.at_ms(17_000).gets(2, vec![tc(3, 3, 0, &[5])]);
    assert_eq!(b.routes(), [(2, 2, 1), (3, 2, 2), (5, 2, 3)], "0 follows 0xffff");
    b.at_ms(18_000).gets(2, vec![tc(3, 4, 0xffff, &[4])]);
    assert_eq!(b.routes(), [(2, 2, 1), (3, 2, 2), (5, 2, 3)]);
    assert_eq!(b.agent.counters().outdated, 1);
}

#[test]
fn messages_of_non_symmetric_neighbours_are_ignored() {
    let mut b = with_neighbour();
    b.at_ms(200).hello(7, &[]);
    // Node 7 is an asymmetric neighbour, node 8 is unknown. The same TC is accepted from node 2.
    b.gets(7, vec![tc(3, 1, 1, &[4])]).gets(8, vec![tc(3, 1, 1, &[4])]);
    assert_eq!((b.routes().len(), b.agent.counters().strangers), (2, 2));
    b.gets(2, vec![tc(3, 1, 1, &[4])]);
    assert_eq!(b.routes().len(), 3);
}

#[test]
fn selectors_expire_after_the_validity_of_the_hello() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(MPR, OWN)]);
    b.at_ms(5_000).hello(2, &[(SYM, OWN)]);
    b.at_ms(6_099);
    assert_eq!(b.selectors(), [2]);
    b.at_ms(6_100);
    assert_eq!((b.selectors(), b.neighbours()), (vec![], vec![2]));
}

#[test]
fn packets_to_another_interface_of_a_node_reach_it() {
    let mut b = with_neighbour();
    let mid = |sequence| flooded(3, sequence, Body::Mid(Mid { interfaces: nodes(&[33]) }));
    b.at_ms(1_000).gets(2, vec![mid(1)]);
    assert_eq!(b.agent.route(node(33)), b.agent.route(node(3)));
    assert!(b.agent.route(node(3)).is_some());
    // A HELLO that lists the other interface also refers to the node.
    b.at_ms(2_000).hello(4, &[(SYM, OWN), (SYM, 33)]);
    assert_eq!(b.two_hops(), [(2, 3), (4, 3)]);
    b.at_ms(15_999);
    assert!(b.agent.route(node(33)).is_some());
    b.at_ms(16_000);
    assert!(b.agent.route(node(33)).is_none());
}

#[test]
fn duplicates_are_remembered_for_the_hold_time() {
    let mut b = with_neighbour();
    b.at_ms(1_000).gets(2, vec![tc(3, 1, 1, &[4])]);
    b.at_ms(30_999).gets(2, vec![tc(3, 1, 1, &[4])]);
    assert_eq!((b.agent.counters().duplicates, b.routes().len()), (1, 2));
    b.at_ms(31_000).gets(2, vec![tc(3, 1, 1, &[4])]);
    assert_eq!((b.agent.counters().duplicates, b.routes().len()), (1, 3));
}

#[test]
fn without_messages_everything_expires() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(MPR, OWN), (SYM, 3)]);
    let mid = flooded(3, 2, Body::Mid(Mid { interfaces: nodes(&[33]) }));
    b.gets(2, vec![tc(3, 1, 1, &[4]), mid]);
    b.at_ms(60_000);
    let agent = &b.agent;
    let sets = [agent.two_hops.due(), agent.selectors.due(), agent.topology.due()];
    assert_eq!(sets, [None; 3]);
    assert_eq!((agent.interfaces.due(), agent.links.due()), (None, None));
    assert_eq!(b.routes(), []);
}
