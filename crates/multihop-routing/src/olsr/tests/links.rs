//! Tests of link sensing, neighbours, 2-hop neighbours and hysteresis.

use super::*;

#[test]
fn a_link_is_asymmetric_then_symmetric_then_lost() {
    let mut b = rfc();
    assert_eq!(b.at_ms(0).declared(), []);
    // Node 2 does not receive from this node yet.
    b.at_ms(100).hello(2, &[]);
    assert_eq!(b.neighbours(), []);
    assert_eq!(b.at_ms(2_000).declared(), [(ASYM, 2)]);
    assert_eq!(b.routes(), []);
    b.at_ms(2_100).hello(2, &[(ASYM, OWN)]);
    assert_eq!(b.neighbours(), [2]);
    assert_eq!(b.routes(), [(2, 2, 1)]);
    assert_eq!(b.at_ms(4_000).declared(), [(SYM, 2)]);
    // Node 2 has lost this node, which still receives from node 2.
    b.at_ms(4_100).hello(2, &[(LOST, OWN)]);
    assert_eq!(b.neighbours(), []);
    assert_eq!(b.at_ms(6_000).declared(), [(ASYM, 2)]);
    // After silence the link is asymmetric until 10.1 s and declared lost until 14.1 s, which is 6 s after
    // the symmetric time.
    assert_eq!(b.at_ms(10_000).declared(), [(ASYM, 2)]);
    assert_eq!(b.at_ms(12_000).declared(), [(LOST, 2)]);
    assert_eq!(b.at_ms(14_000).declared(), [(LOST, 2)]);
    assert_eq!(b.agent.links.iter().count(), 1);
    b.at_ms(14_101);
    assert_eq!(b.agent.links.iter().count(), 0);
    assert!(b.agent.neighbours.list().is_empty());
    assert_eq!(b.at_ms(16_000).declared(), []);
}

#[test]
fn a_symmetric_link_ends_when_its_symmetric_time_expires() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(SYM, OWN)]);
    // The HELLO does not list this node: the link remains symmetric until 6.1 s.
    b.at_ms(4_100).hello(2, &[]);
    b.at_ms(6_099);
    assert_eq!(b.neighbours(), [2]);
    b.at_ms(6_100);
    assert_eq!(b.neighbours(), []);
    assert_eq!(b.at_ms(8_000).declared(), [(ASYM, 2)]);
}

#[test]
fn two_hop_neighbours_follow_hellos() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(ASYM, OWN)]);
    // The link is now symmetric. Nodes 3 and 4 are symmetric neighbours of node 2; this node does not count.
    b.at_ms(200).hello(2, &[(MPR, OWN), (SYM, 3), (MPR, 4), (ASYM, 5), (LOST, 6)]);
    assert_eq!(b.two_hops(), [(2, 3), (2, 4)]);
    assert_eq!(b.routes(), [(2, 2, 1), (3, 2, 2), (4, 2, 2)]);
    assert_eq!(b.mprs(), [2]);
    // A neighbour listed as lost is removed; one that is not listed remains until it expires.
    b.at_ms(2_200).hello(2, &[(SYM, OWN), (LOST, 3)]);
    assert_eq!(b.two_hops(), [(2, 4)]);
    b.at_ms(6_199);
    assert_eq!(b.two_hops(), [(2, 4)]);
    b.at_ms(6_200);
    assert_eq!(b.two_hops(), []);
    assert_eq!(b.mprs(), []);
}

#[test]
fn neighbours_of_an_asymmetric_neighbour_are_ignored() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(SYM, 3)]);
    assert_eq!(b.two_hops(), []);
}

#[test]
fn a_lost_neighbour_is_removed_from_all_sets() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(MPR, OWN), (SYM, 3)]).hello(4, &[(MPR, OWN), (SYM, 3)]);
    assert_eq!((b.selectors(), b.two_hops()), (vec![2, 4], vec![(2, 3), (4, 3)]));
    b.at_ms(200).hello(2, &[(LOST, OWN), (SYM, 3)]);
    assert_eq!((b.selectors(), b.two_hops()), (vec![4], vec![(4, 3)]));
    assert_eq!(b.routes(), [(3, 4, 2), (4, 4, 1)]);
}

#[test]
fn unwilling_neighbours_are_not_next_hops() {
    let mut b = rfc();
    let links = [(SYM, OWN), (SYM, 3)];
    b.at_ms(100).gets(2, vec![hello(2, &links, Willingness::NEVER)]);
    assert_eq!((b.mprs(), b.routes()), (vec![], vec![(2, 2, 1)]));
    b.at_ms(2_100).gets(2, vec![hello(2, &links, Willingness::LOW)]);
    assert_eq!((b.mprs(), b.routes()), (vec![2], vec![(2, 2, 1), (3, 2, 2)]));
    b.at_ms(4_100).gets(4, vec![hello(4, &links, Willingness::HIGH)]);
    assert_eq!(b.routes(), [(2, 2, 1), (3, 4, 2), (4, 4, 1)]);
}

#[test]
fn hysteresis_accepts_after_three_hellos_and_rejects_after_two_losses() {
    let mut b = Bench::new(Config { hysteresis: Some(Hysteresis::default()), ..Config::rfc() });
    b.at_ms(0).hello(2, &[(SYM, OWN)]);
    b.at_ms(1_900).hello(2, &[(SYM, OWN)]);
    assert_eq!(b.neighbours(), []);
    assert_eq!(b.at_ms(2_000).declared(), [], "pending links are not declared");
    b.at_ms(3_800).hello(2, &[(SYM, OWN)]);
    assert_eq!(b.neighbours(), [2]);
    // Without the HELLOs at 5.8 s and 7.8 s, the quality falls from 0.875 to 0.44 and 0.22.
    b.at_ms(7_799);
    assert_eq!(b.neighbours(), [2]);
    b.at_ms(7_800);
    assert_eq!(b.neighbours(), []);
    assert_eq!(b.at_ms(8_000).declared(), [(LOST, 2)]);
}

#[test]
fn willing_first_hops_are_preferred_at_any_distance() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(MPR, OWN), (SYM, 4)]);
    b.gets(9, vec![hello(9, &[(SYM, OWN), (SYM, 5)], Willingness::HIGH)]);
    b.gets(2, vec![tc(4, 1, 1, &[7]), tc(5, 1, 1, &[7]), tc(7, 1, 1, &[8])]);
    assert_eq!(b.routes(), [(2, 2, 1), (4, 2, 2), (5, 9, 2), (7, 9, 3), (8, 9, 4), (9, 9, 1)]);
}

#[test]
fn hysteresis_counts_missing_packets() {
    let mut b = Bench::new(Config { hysteresis: Some(Hysteresis::default()), ..Config::rfc() });
    for _ in 0..3 {
        b.hello(2, &[(SYM, OWN)]);
    }
    assert_eq!(b.neighbours(), [2]);
    b.sequence += 2;
    // The quality is 0.875; after two losses 0.21; after one more packet 0.61, too little for the link to be
    // used again.
    b.at_ms(100).hello(2, &[(SYM, OWN)]);
    assert_eq!(b.neighbours(), []);
    b.at_ms(200).hello(2, &[(SYM, OWN)]);
    assert_eq!(b.neighbours(), [2]);
}

#[test]
fn a_mac_report_marks_a_link_as_lost() {
    let fails = |b: &mut Bench| {
        let packet = data(None, 3);
        b.give(Input::LinkFailed { next_hop: node(2), packet, quoted: None });
        b.outputs()
    };
    let gone =
        |tell_source| [Output::Drop { ticket: Ticket(3), reason: DropReason::RetryLimit, tell_source }];
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(SYM, OWN)]);
    assert_eq!(fails(&mut b), gone(false));
    assert_eq!(b.neighbours(), [2], "HELLOs decide");

    let mut b = Bench::new(Config { link_failure: LinkFailure::Mac, ..Config::rfc() });
    b.at_ms(100).hello(2, &[(MPR, OWN), (SYM, 3)]);
    b.at_ms(1_100);
    assert_eq!(fails(&mut b), gone(true));
    assert_eq!((b.neighbours(), b.two_hops(), b.selectors()), (vec![], vec![], vec![]));
    assert_eq!(b.at_ms(2_000).declared(), [(LOST, 2)]);
    // The link is lost for 6 s whatever arrives; afterwards HELLOs decide.
    b.at_ms(6_100).hello(2, &[(SYM, OWN)]);
    b.at_ms(7_099);
    assert_eq!(b.neighbours(), []);
    b.at_ms(7_100);
    assert_eq!(b.neighbours(), [2]);
}

#[test]
fn an_interface_with_a_new_main_address_is_a_new_neighbour() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(SYM, OWN), (SYM, 3)]);
    let other = hello(9, &[(SYM, OWN)], Willingness::DEFAULT);
    b.at_ms(200).gets(2, vec![other]);
    assert_eq!((b.neighbours(), b.two_hops()), (vec![9], vec![]));
    assert_eq!(b.routes(), [(9, 2, 1)]);
}
