//! Tests of TCs: which are sent, and which are forwarded.

use super::*;

/// A node that 2 has chosen as relay for both purposes, and 3 for neither.
fn chosen() -> Bench {
    let mut b = Bench::of_hops();
    b.at_ms(100).hello(2, &[relay(OWN)]).hello(3, &[says(OWN, SYM)]);
    b.sent();
    b
}

/// The forwarded TCs of other nodes: originator, sequence number, hop limit and hop count.
fn forwarded(b: &mut Bench) -> Vec<(u8, u16, u8, u8)> {
    let now = b.now.as_nanos() / 1_000_000;
    b.at_ms(now + 1);
    let tcs = b.sent().into_iter().filter_map(|message| match message {
        Message::Tc(tc) if tc.originator != node(OWN) => Some(tc),
        Message::Tc(_) | Message::Hello(_) => None,
    });
    tcs.map(|tc| (last(tc.originator), tc.sequence, tc.hop_limit, tc.hop_count)).collect()
}

#[test]
fn a_node_announces_those_that_route_through_it_with_costs_until_they_are_gone() {
    let mut b = Bench::of_airtime();
    let chosen = |to: u8, cost| Neighbour { routes: true, ..says_cost(to, SYM, cost, 350) };
    let keep = |b: &mut Bench, ms, neighbour| {
        b.at_ms(ms).hello(2, &[neighbour]).hello(3, &[says_cost(OWN, SYM, 350, 350)]);
    };
    keep(&mut b, 4_000, chosen(OWN, 1_400));
    let tcs = b.at_ms(5_000).tcs(OWN);
    let expected =
        Tc { interval: Some(TimeCode::at_least(Duration::from_secs(5))), ..tc(OWN, 0, 1, &[(2, 1_400)]) };
    assert_eq!(tcs, [expected]);
    // The content is the same, so that its sequence number stays.
    keep(&mut b, 9_000, chosen(OWN, 1_400));
    let numbers =
        |tcs: &[Tc]| -> Vec<_> { tcs.iter().map(|tc| (tc.sequence, tc.advertised.sequence)).collect() };
    assert_eq!(numbers(&b.at_ms(10_000).tcs(OWN)), [(1, 1)]);
    // First the cost changes, then the willingness of node 2.
    keep(&mut b, 14_000, chosen(OWN, 2_800));
    assert_eq!(numbers(&b.at_ms(15_000).tcs(OWN)), [(2, 2)]);
    keep(&mut b, 19_000, says_cost(OWN, SYM, 2_800, 350));
    let empty = b.at_ms(20_000).tcs(OWN);
    assert_eq!((numbers(&empty), empty[0].advertised.links.len()), (vec![(3, 3)], 0));
    // The last non-empty TC expires elsewhere at 30 s; afterwards the node announces nothing.
    assert_eq!(numbers(&b.at_ms(29_999).tcs(OWN)), [(4, 3)]);
    assert_eq!(b.at_ms(60_000).tcs(OWN), []);
}

#[test]
fn tcs_from_selectors_are_forwarded_once() {
    let mut b = chosen();
    let message = Message::Tc(Tc { hop_limit: 200, hop_count: 3, ..tc(9, 7, 1, &[(8, 1)]) });
    b.gets(2, vec![message.clone()]);
    assert_eq!(forwarded(&mut b), [(9, 7, 199, 4)]);
    b.gets(2, vec![message.clone()]).gets(3, vec![message]);
    assert_eq!(forwarded(&mut b), []);
    assert_eq!(b.agent.counters().duplicates, 2);
}

#[test]
fn on_a_host_only_forwarded_tcs_delay_the_next_one_of_their_originator() {
    let mut b = chosen();
    b.agent.senders = Some(Table::new());
    let message = |sequence, hop_limit| Message::Tc(Tc { hop_limit, ..tc(9, sequence, 1, &[(8, 1)]) });
    b.gets(2, vec![message(7, 1)]);
    assert_eq!(forwarded(&mut b), [], "at its last hop");
    b.gets(2, vec![message(8, 255)]);
    assert_eq!(forwarded(&mut b), [(9, 8, 254, 1)]);
    b.gets(2, vec![message(9, 255)]);
    assert_eq!(forwarded(&mut b), [], "too soon");
}

#[test]
fn a_tc_that_another_neighbour_sent_first_is_not_forwarded() {
    let mut b = chosen();
    let message = Message::Tc(tc(9, 7, 1, &[(8, 1)]));
    b.gets(3, vec![message.clone()]).gets(2, vec![message]);
    assert_eq!(forwarded(&mut b), []);
    // A TC from a node that is not a symmetric neighbour is not recorded as seen.
    let message = Message::Tc(tc(9, 8, 2, &[(8, 1)]));
    b.gets(4, vec![message.clone()]).gets(2, vec![message]);
    assert_eq!(forwarded(&mut b), [(9, 8, 254, 1)]);
    assert_eq!(b.agent.counters().strangers, 1);
}

#[test]
fn only_relays_for_flooding_forward() {
    let mut b = Bench::of_hops();
    let only_routes = Neighbour { routes: true, ..says(OWN, SYM) };
    b.at_ms(100).hello(2, &[only_routes]);
    b.gets(2, vec![Message::Tc(tc(9, 7, 1, &[(8, 1)]))]);
    assert_eq!(forwarded(&mut b), []);
    assert_eq!(b.agent.topology.keys().len(), 1, "processed");
}

#[test]
fn tcs_at_the_end_of_their_hops_and_own_ones_are_not_forwarded() {
    let mut b = chosen();
    for hop_limit in [0, 1] {
        b.gets(2, vec![Message::Tc(Tc { hop_limit, ..tc(9 + hop_limit, 1, 1, &[(8, 1)]) })]);
    }
    b.gets(2, vec![Message::Tc(tc(OWN, 1, 500, &[(8, 1)]))]);
    assert_eq!(forwarded(&mut b), []);
    assert_eq!(b.agent.topology.keys(), [node(10)], "a hop limit of 1 is processed, 0 is not");
}

#[test]
fn a_duplicate_is_forgotten_after_its_hold_time() {
    let mut b = chosen();
    b.gets(2, vec![Message::Tc(tc(9, 7, 1, &[(8, 1)]))]);
    assert_eq!(forwarded(&mut b).len(), 1);
    b.at_ms(29_000).hello(2, &[relay(OWN)]).gets(2, vec![Message::Tc(tc(9, 7, 1, &[(8, 1)]))]);
    assert_eq!(forwarded(&mut b), []);
    b.at_ms(32_000).hello(2, &[relay(OWN)]).gets(2, vec![Message::Tc(tc(9, 7, 1, &[(8, 1)]))]);
    assert_eq!(forwarded(&mut b).len(), 1, "30 s, rounded up");
}

#[test]
fn messages_that_wait_share_packets_of_limited_length() {
    let mut b = Bench::with_jitter(Config { metric: LinkMetric::Hops, ..Config::default() });
    b.at_ms(1_600).hello(2, &[relay(OWN)]);
    b.packets.clear();
    // Each message has 130 bytes.
    let links: Vec<_> = (10..120).map(|n| (n, 1)).collect();
    for originator in 10..30 {
        b.gets(2, vec![Message::Tc(tc(originator, 1, 1, &links))]);
    }
    assert!(b.packets.is_empty(), "they wait");
    b.at_ms(2_100);
    let lengths: Vec<_> = b.packets.iter().map(|packet| packet.wire_len()).collect();
    let count: usize = b.packets.iter().map(|packet| packet.messages.len()).sum();
    assert!(lengths.len() >= 2 && lengths.iter().all(|&len| len <= 1_403), "{lengths:?}");
    assert!((20..=22).contains(&count), "{count} messages, with HELLO and TC of the node itself");
    assert_eq!(b.agent.counters().forwarded, 20);
}
