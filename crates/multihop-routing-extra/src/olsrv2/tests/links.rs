//! Tests of links, their states and their costs.

use super::*;

#[test]
fn a_link_is_heard_then_symmetric_then_lost() {
    let mut b = Bench::of_hops();
    assert_eq!(b.at_ms(0).states(), []);
    // Node 2 does not receive from this node yet.
    b.at_ms(100).hello(2, &[]);
    assert!(b.neighbours().is_empty());
    assert_eq!(b.at_ms(2_000).states(), [(2, HEARD)]);
    assert_eq!(b.routes(), []);
    b.at_ms(2_100).hello(2, &[says(OWN, HEARD)]);
    assert_eq!(b.neighbours(), [2]);
    assert_eq!(b.routes(), [(2, 2, 1, 1)]);
    assert_eq!(b.at_ms(4_000).states(), [(2, SYM)]);
    // Node 2 has lost this node, which still receives from node 2.
    b.at_ms(4_100).hello(2, &[says(OWN, LOST)]);
    assert!(b.neighbours().is_empty());
    assert_eq!(b.at_ms(6_000).states(), [(2, HEARD)]);
    // After silence the link is heard until 10.1 s and lost until 16.1 s, because lost links are announced
    // for 6 s.
    assert_eq!(b.at_ms(10_000).states(), [(2, HEARD)]);
    assert_eq!(b.at_ms(12_000).states(), [(2, LOST)]);
    assert_eq!(b.at_ms(16_000).states(), [(2, LOST)]);
    assert_eq!(b.at_ms(18_000).states(), []);
    assert_eq!(b.agent.links.iter().count(), 0);
}

#[test]
fn a_symmetric_link_ends_when_its_symmetric_time_expires() {
    let mut b = Bench::of_hops();
    b.at_ms(100).hello(2, &[says(OWN, SYM), says(3, SYM)]);
    // The HELLO does not list this node: the link remains symmetric until 6.1 s.
    b.at_ms(4_100).hello(2, &[says(3, SYM)]);
    b.at_ms(6_099);
    assert_eq!((b.neighbours(), b.routes()), (vec![2], vec![(2, 2, 1, 1), (3, 2, 2, 2)]));
    b.at_ms(6_100);
    assert_eq!((b.neighbours(), b.routes()), (vec![], vec![]));
    assert_eq!(b.at_ms(8_000).states(), [(2, HEARD)]);
}

#[test]
fn both_ends_measure_what_arrives_and_tell_each_other() {
    let mut b = Bench::of_airtime();
    b.at_ms(100).hello(2, &[]).rate(2, 6_000_000);
    assert_eq!(b.at_ms(999).agent.links.get(node(2)).expect("heard").metrics, Metrics::default());
    b.at_ms(2_000);
    // One of one packets arrived at 6 Mb/s: the cost is 2^21 / 6000.
    let incoming = Some(cost(350));
    let heard = Neighbour {
        link: Some(HEARD),
        link_metrics: Metrics { incoming, outgoing: None },
        ..Neighbour::new(node(2))
    };
    assert_eq!(b.declared(), [heard]);
    // Node 2 receives with another cost, which is the cost of packets to node 2.
    b.at_ms(2_100).hello(2, &[says_cost(OWN, HEARD, 1_400, 350)]);
    assert_eq!(b.routes(), [(2, 2, 1, 1_400)]);
    let metrics = Metrics { incoming, outgoing: Some(cost(1_400)) };
    let symmetric = Neighbour { link: Some(SYM), link_metrics: metrics, metrics, ..Neighbour::new(node(2)) };
    assert_eq!(b.at_ms(4_000).declared(), [symmetric]);
    // Two packets of node 2 are lost.
    b.sequences[2] += 2;
    b.at_ms(4_100).hello(2, &[says_cost(OWN, SYM, 1_400, 350)]).at_ms(6_000);
    assert_eq!(b.declared()[0].link_metrics.incoming, Some(Metric::at_least(583)), "5 sent, 3 arrived");
    assert_eq!(b.routes(), [(2, 2, 1, 1_400)], "only the other direction");
}

#[test]
fn a_link_whose_cost_the_neighbour_does_not_say_is_not_used() {
    let mut b = Bench::of_airtime();
    b.at_ms(100).hello(2, &[Neighbour { link: Some(SYM), ..Neighbour::new(node(OWN)) }]);
    assert_eq!((b.neighbours(), b.routes()), (vec![2], vec![]));
    b.at_ms(2_100).hello(2, &[says_cost(OWN, SYM, 350, 350)]);
    assert_eq!(b.routes(), [(2, 2, 1, 350)]);
}

#[test]
fn two_hop_neighbours_are_those_of_the_last_hello() {
    let mut b = Bench::of_hops();
    b.at_ms(100).hello(2, &[says(3, SYM)]);
    assert!(b.agent.two_hops.keys().is_empty(), "the link is not symmetric");
    b.at_ms(200).hello(2, &[says(OWN, HEARD), says(3, SYM), says(4, SYM), says(5, HEARD), says(6, LOST)]);
    assert_eq!(b.routes(), [(2, 2, 1, 1), (3, 2, 2, 2), (4, 2, 2, 2)]);
    b.at_ms(2_200).hello(2, &[says(OWN, SYM), says(4, SYM)]);
    assert_eq!(b.routes(), [(2, 2, 1, 1), (4, 2, 2, 2)]);
    // Node 2 has this neighbour over another interface.
    let elsewhere = Neighbour { symmetric: Some(true), link: None, ..says(7, SYM) };
    b.at_ms(4_200).hello(2, &[says(OWN, SYM), elsewhere]);
    assert_eq!(b.routes(), [(2, 2, 1, 1), (7, 2, 2, 2)]);
    b.at_ms(10_200);
    assert_eq!((b.routes(), b.relays()), (vec![], [vec![], vec![]]));
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
    let mut b = Bench::of_hops();
    b.at_ms(100).hello(2, &[says(OWN, SYM)]);
    assert_eq!(fails(&mut b), gone(false));
    assert_eq!(b.neighbours(), [2], "HELLOs decide");

    let config = Config { metric: LinkMetric::Hops, link_failure: LinkFailure::Mac, ..Config::default() };
    let mut b = Bench::new(config);
    b.at_ms(100).hello(2, &[relay(OWN), says(3, SYM)]);
    b.at_ms(1_100);
    assert_eq!(fails(&mut b), gone(true));
    assert_eq!((b.neighbours(), b.routes(), b.relays()), (vec![], vec![], [vec![], vec![]]));
    assert_eq!(b.at_ms(2_000).states(), [(2, LOST)]);
    // The link is lost for 6 s whatever arrives; afterwards HELLOs decide.
    b.at_ms(6_100).hello(2, &[says(OWN, SYM)]);
    b.at_ms(7_099);
    assert!(b.neighbours().is_empty());
    b.at_ms(7_100);
    assert_eq!(b.neighbours(), [2]);
}

#[test]
fn hysteresis_accepts_after_three_hellos_and_rejects_after_two_losses() {
    let hysteresis = Some(multihop_routing::olsr::Hysteresis::default());
    let mut b = Bench::new(Config { metric: LinkMetric::Hops, hysteresis, ..Config::default() });
    b.at_ms(0).hello(2, &[says(OWN, SYM)]);
    b.at_ms(1_900).hello(2, &[says(OWN, SYM)]);
    assert_eq!((b.neighbours(), b.at_ms(2_000).states()), (vec![], vec![]), "pending links are not declared");
    b.at_ms(3_800).hello(2, &[says(OWN, SYM)]);
    assert_eq!(b.neighbours(), [2]);
    // Without the HELLOs at 5.8 s and 7.8 s, the quality falls from 0.875 to 0.44 and 0.22.
    b.at_ms(7_799);
    assert_eq!(b.neighbours(), [2]);
    b.at_ms(7_800);
    assert!(b.neighbours().is_empty());
    assert_eq!(b.at_ms(8_000).states(), [(2, LOST)]);
}

#[test]
fn hellos_of_other_addresses_and_of_too_many_neighbours_are_ignored() {
    let mut b = Bench::of_hops();
    b.at_ms(100).gets(2, vec![hello(9, &[says(OWN, SYM)])]).gets(OWN, vec![hello(OWN, &[])]);
    assert_eq!((b.neighbours(), b.agent.counters().strangers), (vec![], 2));
    for n in 0..1_200_u32 {
        let from = Ipv4Addr::from_bits(0x0b00_0000 + n);
        let Message::Hello(said) = hello(2, &[says(OWN, SYM)]) else { unreachable!("made above") };
        let messages = vec![Message::Hello(Hello { originator: from, ..said })];
        let message = RoutingMessage::custom(Packet { sequence: Some(1), messages });
        b.give(Input::Message { interface: Interface(0), from, ttl: 1, message });
    }
    assert_eq!(b.agent.neighbours().count(), 999);
    assert_eq!(b.at_ms(2_000).declared().len(), 999, "as many as fit in a HELLO with the node itself");
}
