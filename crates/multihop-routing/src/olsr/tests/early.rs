//! Tests of HELLOs and TCs that leave before their interval has passed.

use super::*;

fn triggered() -> Bench {
    Bench::new(Config::for_hosts())
}

impl Bench {
    /// Departure times in ms of HELLOs or of TCs.
    fn times(&self, wanted: fn(&Body) -> bool) -> Vec<u64> {
        let has = |packet: &Packet| packet.messages.iter().any(|message| wanted(&message.body));
        let of = self.packets.iter().filter(|(_, packet)| has(packet));
        of.map(|(at, _)| at.as_nanos() / 1_000_000).collect()
    }
}

fn is_hello(body: &Body) -> bool {
    matches!(body, Body::Hello(_))
}

fn is_tc(body: &Body) -> bool {
    matches!(body, Body::Tc(_))
}

#[test]
fn only_hosts_send_early_messages_by_default() {
    for config in [Config::rfc(), Config::um_olsr()] {
        assert_eq!(config.triggered, None);
        let mut b = Bench::new(config);
        b.at_ms(100).hello(2, &[]).at_ms(300).hello(2, &[(MPR, OWN), (SYM, 3)]).at_ms(1_900);
        assert_eq!((b.times(is_hello), b.times(is_tc)), (vec![0], vec![]));
    }
}

#[test]
fn a_handshake_takes_a_few_tenths_of_a_second() {
    let mut b = triggered();
    b.at_ms(1_000);
    b.packets.clear();
    // Node 2 is a new neighbour.
    b.hello(2, &[]).at_ms(1_300);
    assert_eq!(b.declared(), [(ASYM, 2)]);
    // Node 2 hears this node and has another neighbour, so that it becomes a relay.
    b.hello(2, &[(ASYM, OWN), (SYM, 3)]).at_ms(1_600);
    assert_eq!(b.declared(), [(MPR, 2)]);
    // Node 2 has chosen this node as its relay, too.
    b.packets.clear();
    b.hello(2, &[(MPR, OWN), (SYM, 3)]).at_ms(1_900);
    assert_eq!(b.tcs().last(), Some(&(1, vec![2])));
}

#[test]
fn a_neighbour_that_has_forgotten_this_node_is_answered() {
    let mut b = triggered();
    for at in [1_000, 3_000, 5_000] {
        b.at_ms(at).hello(2, &[(SYM, OWN)]);
    }
    b.at_ms(5_100);
    let answer = |b: &mut Bench, links: &[(LinkCode, u8)]| {
        b.packets.clear();
        let (at, early) = (b.now.as_nanos() / 1_000_000, b.agent.counters().early);
        b.hello(2, links).at_ms(at + 310);
        let found = b.agent.counters().early > early;
        assert_eq!(found, !b.times(is_hello).is_empty() && found);
        found
    };
    assert!(!answer(&mut b, &[(SYM, OWN)]), "nothing has changed");
    assert!(answer(&mut b, &[]), "it has started anew");
    b.at_ms(7_900);
    assert!(!answer(&mut b, &[]), "it does not hear this node: answers would not reach it either");
}

#[test]
fn a_changed_hello_is_repeated_twice_and_then_follows_its_interval() {
    let mut b = triggered();
    b.at_ms(10_100);
    b.packets.clear();
    b.hello(2, &[]).at_ms(11_900);
    let times = b.times(is_hello);
    assert_eq!(times.len(), 3, "{times:?}");
    assert!(times[0] <= 10_200 && times.windows(2).all(|pair| (400..=500).contains(&(pair[1] - pair[0]))));
    b.hello(2, &[]).packets.clear();
    let last = times[2];
    b.at_ms(last + 2_001);
    assert_eq!(b.times(is_hello), [last + 2_000]);
}

#[test]
fn a_lost_selector_is_announced_early() {
    let mut b = triggered();
    b.at_ms(1_000).hello(2, &[(MPR, OWN)]).hello(3, &[(MPR, OWN)]).at_ms(5_500);
    b.hello(2, &[(MPR, OWN)]);
    b.at_ms(6_900).packets.clear();
    // The selection by node 3 is valid until 7 s.
    assert_eq!(b.at_ms(7_310).tcs().first().map(|(_, listed)| listed.clone()), Some(vec![2]));
}

#[test]
fn the_tc_of_a_newcomer_is_answered_by_one_tc() {
    let mut b = triggered();
    let stays = |b: &mut Bench, at: u64, from: u8, sequence: u16, ansn: u16| {
        b.at_ms(at).hello(2, &[(MPR, OWN)]);
        b.packets.clear();
        b.gets(2, vec![tc(from, sequence, ansn, &[2])]);
        b.at_ms(at + 900);
        let own = b.packets.iter().flat_map(|(_, packet)| packet.messages.clone());
        own.filter(|message| message.originator == node(OWN) && is_tc(&message.body)).count()
    };
    b.at_ms(1_000).hello(2, &[(MPR, OWN)]).at_ms(2_000);
    assert_eq!(stays(&mut b, 6_000, 9, 1, 100), 2, "it is new; the TC is repeated once");
    assert_eq!(stays(&mut b, 8_000, 9, 2, 101), 0, "it is known");
    assert_eq!(stays(&mut b, 9_000, 9, 3, 300), 2, "it has started anew");
}

#[test]
fn a_node_with_a_relay_presents_itself_to_all_once() {
    let mut b = triggered();
    b.at_ms(1_000).hello(2, &[(SYM, OWN), (SYM, 3)]).at_ms(3_000);
    // The node is a leaf without selectors: its TCs are empty, and the periodic ones do not leave.
    assert_eq!(b.tcs(), [(0, vec![]), (0, vec![])]);
    for step in 1..20 {
        b.at_ms(3_000 + 1_000 * step).hello(2, &[(SYM, OWN), (SYM, 3)]);
    }
    assert_eq!(b.tcs(), []);
}

/// Largest number of messages of one kind that leave within any period of this length, ms.
fn most_within(times: &[u64], length: u64) -> usize {
    let from = |at: &u64| times.iter().filter(|other| (*at..at + length).contains(other)).count();
    times.iter().map(from).max().unwrap_or(0)
}

#[test]
fn a_neighbour_that_flaps_and_invents_nodes_cannot_provoke_more_than_twice_the_messages() {
    let mut b = triggered();
    b.at_ms(1_000);
    for step in 0..60_000_u64 {
        b.at_ms(1_000 + 10 * step);
        let number = u16::try_from(step).unwrap();
        match step % 4 {
            0 => b.hello(2, &[]),
            1 => b.hello(2, &[(MPR, OWN), (SYM, 3), (SYM, 4 + u8::try_from(step % 100).unwrap())]),
            2 => b.gets(
                2,
                vec![tc(u8::try_from(10 + step % 200).unwrap(), number, number.wrapping_mul(97), &[9])],
            ),
            _ => b.hello(2, &[(LOST, OWN)]),
        };
    }
    let (hellos, tcs) = (b.times(is_hello), own_tcs(&b));
    for (times, interval) in [(&hellos, 2_000), (&tcs, 5_000)] {
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 200), "closer than the shortest interval");
        // The bound is the regular messages, the messages that refill the budget, and the burst.
        let most = |length: u64| usize::try_from(2 * length / interval + 2 + 8).unwrap();
        for length in [2_000, 10_000, 100_000] {
            assert!(
                most_within(times, length) <= most(length),
                "{} in {length} ms",
                most_within(times, length)
            );
        }
        assert!(times.len() > 120, "the attack has an effect: {}", times.len());
    }
}

fn own_tcs(b: &Bench) -> Vec<u64> {
    let own = |packet: &Packet| {
        packet.messages.iter().any(|message| message.originator == node(OWN) && is_tc(&message.body))
    };
    let of = b.packets.iter().filter(|(_, packet)| own(packet));
    of.map(|(at, _)| at.as_nanos() / 1_000_000).collect()
}

#[test]
fn a_quiet_network_costs_nothing_more() {
    let messages = |config: Config| {
        let mut b = Bench::new(config);
        for step in 0..300_u16 {
            b.at_ms(2_000 * u64::from(step) + 10);
            b.hello(2, &[(MPR, OWN), (SYM, 3)]).gets(2, vec![tc(3, step, 1, &[2])]);
        }
        (b.times(is_hello).len(), own_tcs(&b).len())
    };
    let (rfc, hosts) = (messages(Config::rfc()), messages(Config::for_hosts()));
    // At the start, up to three changes cause a HELLO with repetitions, and up to two changes cause two TCs.
    assert!(hosts.0 <= rfc.0 + 5 && hosts.1 <= rfc.1 + 4, "{hosts:?}, without early messages {rfc:?}");
}
