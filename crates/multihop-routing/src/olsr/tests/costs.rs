//! Tests of routes by cost: announcements, processing, and the resulting routes.

use proptest::prelude::*;

use super::*;

/// A bench in which 2 and 3 are neighbours, and both have the neighbour 4.
fn diamond(to_2: u32, to_3: u32) -> Bench {
    let mut b = by_delay();
    b.at_ms(100);
    b.gets(2, vec![reporting(2, 1, 99_000, &[(SYM, OWN), (SYM, 4)], &[(OWN, to_2)])]);
    b.gets(3, vec![reporting(3, 1, 98_000, &[(SYM, OWN), (SYM, 4)], &[(OWN, to_3)])]);
    b.gets(2, vec![tc(2, 10, 1, &[OWN, 4]), costs(2, 11, 1, &[500, 2_000])]);
    b.gets(3, vec![tc(3, 10, 1, &[OWN, 4]), costs(3, 11, 1, &[500, 2_500])]);
    b
}

#[test]
fn the_cheaper_path_is_used_and_ties_go_to_the_lower_address() {
    let way = |to_2, to_3| diamond(to_2, to_3).agent.route(node(4)).unwrap().next_hop;
    assert_eq!(way(1_000, 1_000), node(2));
    assert_eq!(way(1_501, 1_000), node(3));
    assert_eq!(way(1_500, 1_000), node(2), "equal costs");
    let mut b = diamond(1_500, 1_000);
    assert_eq!(b.agent.cost(node(4)), Some(3_500));
    assert_eq!(b.agent.path(node(4)), Some(nodes(&[2, 4])));
    assert_eq!(b.agent.path(node(9)), None);
}

#[test]
fn a_longer_path_may_be_cheaper() {
    let mut b = diamond(9_000, 1_000);
    // The path to 2 itself, through 3 and 4, is cheaper than the link.
    b.gets(2, vec![tc(4, 10, 1, &[2, 3]), costs(4, 11, 1, &[3_000, 100])]);
    assert_eq!(b.agent.path(node(2)), Some(nodes(&[3, 4, 2])));
    assert_eq!(b.routes(), [(2, 3, 3), (3, 3, 1), (4, 3, 2)]);
    b.gets(2, vec![costs(4, 12, 1, &[8_000, 100])]);
    assert_eq!(b.agent.path(node(2)), Some(nodes(&[2])), "new costs, new routes");
}

#[test]
fn costs_are_valid_only_with_their_tc_and_until_they_expire() {
    let mut b = diamond(1_000, 1_000);
    b.gets(2, vec![tc(2, 12, 2, &[OWN, 4, 5])]);
    assert_eq!(b.agent.cost(node(4)), Some(3_500), "through 3: the costs of 2's links are unknown now");
    b.gets(2, vec![costs(2, 13, 2, &[500, 600])]);
    assert_eq!(b.agent.cost(node(4)), Some(3_500), "too few");
    b.gets(2, vec![costs(2, 14, 2, &[500, 600, 700])]);
    assert_eq!((b.agent.cost(node(4)), b.agent.cost(node(5))), (Some(1_600), Some(1_700)));
    let other = Costs { sequence: 2, quantity: ETX.quantity, costs: vec![1; 3] };
    b.gets(2, vec![flooded(2, 15, Body::Costs(Arc::new(other)))]);
    assert_eq!(b.agent.cost(node(5)), Some(1_700), "another quantity");
    b.at_ms(60_000);
    let pricing = b.agent.pricing.as_ref().unwrap();
    assert_eq!((pricing.due(), b.routes()), (None, vec![]));
}

#[test]
fn costs_are_in_the_order_in_which_their_tc_lists_its_neighbours() {
    let mut b = diamond(1_000, 9_000);
    b.gets(2, vec![tc(2, 12, 2, &[5, OWN, 4]), costs(2, 13, 2, &[700, 500, 600])]);
    assert_eq!((b.agent.cost(node(4)), b.agent.cost(node(5))), (Some(1_600), Some(1_700)));
    b.gets(2, vec![tc(2, 14, 3, &[OWN, 4, 5]), costs(2, 15, 3, &[500, 600, 700])]);
    assert_eq!((b.agent.cost(node(4)), b.agent.cost(node(5))), (Some(1_600), Some(1_700)), "sorted again");
    b.gets(2, vec![tc(2, 16, 3, &[5, 4, OWN]), costs(2, 17, 4, &[700, 600, 500])]);
    assert_eq!(b.agent.cost(node(5)), Some(11_000), "costs of another TC");
}

#[test]
fn measurements_are_announced() {
    let mut b = diamond(1_000, 7_000);
    b.sent();
    b.at_ms(2_000);
    let sent = b.sent();
    let Body::Hello(hello) = &sent[0].body else { panic!("a HELLO") };
    let report = hello.report.as_ref().unwrap();
    assert_eq!((report.number, report.stamp), (1, 2_000_000), "the second, as it leaves");
    assert_eq!(report.heard, [(node(2), 1_000), (node(3), 2_000)], "the direction from the neighbour");
    b.at_ms(5_000);
    let sent = b.sent();
    let bodies: Vec<_> = sent.iter().map(|message| &message.body).skip(1).collect();
    let [Body::Tc(tc), Body::Costs(costs)] = bodies[..] else { panic!("{bodies:?}") };
    assert_eq!(lasts(tc.neighbours.iter().copied()), [2, 3], "all neighbours");
    assert_eq!(
        (costs.sequence, &costs.costs),
        (tc.sequence, &vec![1_000, 7_000]),
        "the direction to the neighbour"
    );
}

#[test]
fn local_delay_counts_and_is_announced() {
    let mut b = diamond(1_000, 7_000);
    b.agent.set_local_delays(&[(node(2), 9_000), (node(9), 5)]);
    assert_eq!(b.agent.path(node(4)), Some(nodes(&[3, 4])), "the queue to 2 is long");
    assert_eq!((b.agent.measured(node(2)), b.agent.measured(node(9))), (Some(1_000), None));
    b.gets(2, vec![reporting(2, 2, 99_000, &[(SYM, OWN), (SYM, 4)], &[(OWN, 2_000)])]);
    assert_eq!(b.agent.cost(node(2)), Some(11_000), "a HELLO leaves it as it is");
    b.sent();
    b.at_ms(5_000);
    let announced = |message: Message| match message.body {
        Body::Costs(costs) => Some(costs.costs.clone()),
        _ => None,
    };
    assert_eq!(b.sent().into_iter().find_map(announced), Some(vec![11_000, 7_000]));
    b.agent.set_local_delays(&[]);
    assert_eq!(b.agent.cost(node(2)), Some(2_000), "what is not told any more is gone");
}

#[test]
fn plain_olsr_announces_no_costs_but_forwards_them() {
    let mut b = rfc();
    b.at_ms(100);
    b.gets(2, vec![reporting(2, 1, 99_000, &[(MPR, OWN)], &[(OWN, 5)])]);
    b.sent();
    b.gets(2, vec![costs(9, 1, 1, &[5, 6])]);
    b.at_ms(200);
    let sent = b.sent();
    let Body::Costs(passed) = &sent[0].body else { panic!("{sent:?}") };
    assert_eq!(passed.costs, [5, 6]);
    b.at_ms(20_000);
    let plain = |message: &Message| match &message.body {
        Body::Hello(hello) => hello.report.is_none(),
        body => matches!(body, Body::Tc(_)),
    };
    let sent = b.sent();
    assert!(sent.len() > 9 && sent.iter().all(plain));
}

#[test]
fn nodes_without_measurements_are_reachable() {
    let mut b = by_delay();
    b.at_ms(100).hello(2, &[(SYM, OWN), (SYM, 4)]);
    b.gets(3, vec![reporting(3, 1, 99_000, &[(SYM, OWN), (SYM, 4)], &[])]);
    assert_eq!((b.agent.cost(node(2)), b.agent.cost(node(3))), (Some(10_000), Some(1_000)));
    assert_eq!(b.agent.path(node(4)), Some(nodes(&[3, 4])), "a link without measurements counts as 10 ms");
}

#[test]
fn changes_of_routes_in_use_are_counted() {
    let mut b = diamond(1_000, 1_000);
    let mut number = 1;
    let mut packet_with = |b: &mut Bench, ms, to_2| {
        number += 1;
        b.at_ms(ms);
        b.gets(2, vec![reporting(2, number, 0, &[(SYM, OWN), (SYM, 4)], &[(OWN, to_2)])]).packet(None, 4);
        let changes = b.agent.route_changes().expect("a metric is chosen");
        (changes.changes, changes.oscillations)
    };
    assert_eq!(packet_with(&mut b, 1_000, 1_000), (0, 0));
    assert_eq!(packet_with(&mut b, 2_000, 9_000), (1, 0));
    assert_eq!(packet_with(&mut b, 3_000, 9_000), (1, 0));
    assert_eq!(packet_with(&mut b, 4_000, 1_000), (2, 1));
}

/// The best of all loop-free paths: cost, hops, first hop.
fn exhaustive(links: &[[Option<u32>; 7]; 7]) -> Vec<(u8, u64, u8, u8)> {
    let mut best = [None; 7];
    let mut open = vec![(0, 0_u64, Vec::new())];
    while let Some((at, cost, path)) = open.pop() {
        for to in (1..7).filter(|to| !path.contains(to)) {
            let Some(price) = links[at][to] else { continue };
            let path = [&path[..], &[to]].concat();
            let rank = (cost + u64::from(price), path.len(), path[0]);
            if best[to].is_none_or(|before| rank < before) {
                best[to] = Some(rank);
            }
            open.push((to, rank.0, path));
        }
    }
    let octet = |n: usize| u8::try_from(n).unwrap();
    let row = |(to, (cost, hops, first)): (usize, (u64, usize, usize))| {
        (octet(to + 1), cost, octet(hops), octet(first + 1))
    };
    (0..7).filter_map(|to| Some((to, best[to]?))).map(row).collect()
}

proptest! {
    #[test]
    fn dijkstra_finds_what_exhaustive_search_finds(
        links in proptest::array::uniform7(proptest::array::uniform7(proptest::option::of(0..6_u32))),
    ) {
        let mut b = by_delay();
        b.at_ms(100);
        let number = |n: usize| u8::try_from(n + 1).unwrap();
        for (to, price) in links[0].iter().enumerate().skip(1) {
            if let Some(price) = *price {
                b.gets(number(to), vec![reporting(number(to), 1, 0, &[(SYM, OWN)], &[(OWN, price)])]);
            }
        }
        let relay = b.agent.neighbours().next().map(|address| address.octets()[3]);
        for (from, row) in links.iter().enumerate().skip(1) {
            let ends: Vec<_> = (0..7).filter(|&to| to != from && row[to].is_some()).collect();
            let prices: Vec<_> = ends.iter().map(|&to| row[to].unwrap()).collect();
            let ends: Vec<_> = ends.into_iter().map(number).collect();
            if let Some(relay) = relay {
                let messages = [tc(number(from), 1, 1, &ends), costs(number(from), 2, 1, &prices)];
                b.gets(relay, messages.to_vec());
            }
        }
        let routes = b.agent.routes().to_vec();
        let found: Vec<_> = routes
            .iter()
            .map(|route| {
                let cost = b.agent.cost(route.destination).unwrap();
                (route.destination.octets()[3], cost, route.hops, route.next_hop.octets()[3])
            })
            .collect();
        prop_assert_eq!(found, exhaustive(&links));
        for route in routes {
            let path = b.agent.path(route.destination).unwrap();
            prop_assert_eq!((path.len(), path[0]), (usize::from(route.hops), route.next_hop));
            prop_assert_eq!(path.last(), Some(&route.destination));
        }
    }
}
