//! Tests of the choice of relays for flooding and for routing.

use super::*;

#[test]
fn a_hello_names_the_relays() {
    let mut b = Bench::of_hops();
    b.at_ms(100).hello(2, &[says(OWN, SYM), says(4, SYM)]).hello(3, &[says(OWN, SYM)]);
    assert_eq!(b.relays(), [vec![2], vec![2]]);
    let marked = |b: &mut Bench| -> Vec<_> {
        b.declared().iter().map(|one| (last(one.address), one.floods, one.routes)).collect()
    };
    assert_eq!(marked(b.at_ms(2_000)), [(2, true, true), (3, false, false)]);
    // Node 4 is now a neighbour itself: over two hops it would cost more.
    b.at_ms(2_100).hello(4, &[says(OWN, SYM), says(2, SYM)]);
    assert_eq!(marked(b.at_ms(4_000)), [(2, false, false), (3, false, false), (4, false, false)]);
}

/// A node with neighbour 2, to which packets are cheap, and neighbour 3, from which packets are cheap; both
/// are neighbours of 4.
fn lopsided() -> Bench {
    let mut b = Bench::of_airtime();
    b.at_ms(0);
    for (from, rate, to_it) in [(2, 1_000_000, 350), (3, 6_000_000, 2_112)] {
        let links = [says_cost(OWN, SYM, to_it, 350), says_cost(4, SYM, 350, 350)];
        b.hello(from, &links).rate(from, rate);
    }
    b.at_ms(1_000);
    b
}

#[test]
fn flooding_counts_costs_away_from_the_node_and_routing_towards_it() {
    let mut b = lopsided();
    assert_eq!(b.relays(), [vec![2], vec![3]]);
    assert_eq!(b.routes(), [(2, 2, 1, 350), (3, 3, 1, 2_112), (4, 2, 2, 700)]);
}

#[test]
fn a_neighbour_that_is_cheaper_over_two_hops_needs_a_relay() {
    let mut b = lopsided();
    // Node 4 is a neighbour, but at 1 Mb/s.
    b.hello(4, &[says_cost(OWN, SYM, 2_112, 2_112), says_cost(2, SYM, 350, 350)]).rate(4, 1_000_000);
    b.at_ms(1_999).sent();
    b.at_ms(2_000);
    assert_eq!(b.relays(), [vec![2], vec![3]]);
    assert_eq!(b.routes()[2], (4, 2, 2, 700));
    // At 11 Mb/s node 4 needs no relay.
    b.at_ms(2_100).hello(4, &[says_cost(OWN, SYM, 191, 191), says_cost(2, SYM, 350, 350)]);
    b.rate(4, 11_000_000).at_ms(3_000);
    assert_eq!(b.relays(), [vec![], vec![4]], "packets from 2 cost more than 2000, and 541 through 4");
    assert_eq!(b.routes()[2], (4, 4, 1, 191));
}

#[test]
fn unwilling_neighbours_are_no_relays_and_willing_ones_always_are() {
    let links = [says(OWN, SYM), says(4, SYM)];
    let mut b = Bench::of_hops();
    let willing = |flooding, routing| Willingness { flooding, routing };
    b.at_ms(100).gets(2, vec![hello_of(2, &links, willing(0, 7))]);
    b.gets(3, vec![hello_of(3, &links, willing(7, 0))]);
    assert_eq!(b.relays(), [vec![3], vec![2]]);
    assert_eq!(b.routes(), [(2, 2, 1, 1), (3, 3, 1, 1), (4, 2, 2, 2)]);
    // The more willing neighbour is chosen, although node 2 comes first.
    b.gets(2, vec![hello_of(2, &links, willing(6, 6))]);
    assert_eq!(b.relays(), [vec![3], vec![2]]);
    b.gets(3, vec![hello_of(3, &links, willing(7, 7))]);
    assert_eq!(b.relays(), [vec![3], vec![3]]);
    b.gets(2, vec![hello_of(2, &[says(OWN, SYM)], willing(15, 15))]);
    assert_eq!(b.relays(), [vec![2, 3], vec![2, 3]], "always");
}

#[test]
fn a_node_says_how_willing_it_is() {
    let willingness = Willingness { flooding: 0, routing: 15 };
    let mut b = Bench::new(Config { willingness, ..Config::default() });
    let sent = b.at_ms(0).sent();
    assert!(matches!(&sent[..], [Message::Hello(hello)] if hello.willingness == willingness), "{sent:?}");
}
