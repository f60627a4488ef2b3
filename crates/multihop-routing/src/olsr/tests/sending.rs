//! Tests of HELLOs and TCs of this node, and of packets with several messages.

use super::*;

#[test]
fn hellos_and_tcs_are_sent_at_their_intervals() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(MPR, OWN)]);
    b.at_ms(20_000);
    let times = |b: &Bench, wanted: fn(&Body) -> bool| -> Vec<u64> {
        let has = |packet: &Packet| packet.messages.iter().any(|message| wanted(&message.body));
        let of = b.packets.iter().filter(|(_, packet)| has(packet));
        of.map(|(at, _)| at.as_nanos() / 1_000_000).collect()
    };
    let hellos = times(&b, |body| matches!(body, Body::Hello(_)));
    assert!(hellos.into_iter().eq((0..=20_000).step_by(2_000)));
    // The selector is valid until 6.1 s, and two empty TCs follow.
    assert_eq!(times(&b, |body| matches!(body, Body::Tc(_))), [5_000, 10_000, 15_000]);
    let messages = b.sent();
    let first = &messages[0];
    assert_eq!((first.ttl, first.hop_count, first.validity.time()), (1, 0, Duration::from_secs(6)));
    let tc = messages.iter().find(|message| matches!(message.body, Body::Tc(_))).unwrap();
    assert_eq!((tc.ttl, tc.hop_count, tc.validity.time()), (255, 0, Duration::from_secs(15)));
    assert!(messages.iter().zip(0..).all(|(message, n)| message.sequence == n));
}

#[test]
fn tcs_list_selectors_and_count_changes() {
    let mut b = Bench::new(Config::um_olsr());
    b.at_ms(4_000).hello(2, &[(MPR, OWN)]);
    assert_eq!(b.at_ms(5_000).tcs(), [(1, vec![2])]);
    b.at_ms(6_000).hello(2, &[(MPR, OWN)]).hello(3, &[(MPR, OWN)]);
    assert_eq!(b.at_ms(10_000).tcs(), [(2, vec![2, 3])]);
    b.at_ms(11_000).hello(2, &[(MPR, OWN)]).hello(3, &[(MPR, OWN)]);
    assert_eq!(b.at_ms(15_000).tcs(), [(2, vec![2, 3])]);
    // Both selectors are gone by 20 s, so that no further TCs leave.
    assert_eq!(b.at_ms(60_000).tcs(), []);
}

#[test]
fn empty_tcs_follow_the_last_selector() {
    let mut b = Bench::new(Config::rfc());
    b.at_ms(4_000).hello(2, &[(MPR, OWN)]);
    assert_eq!(b.at_ms(5_000).tcs(), [(1, vec![2])]);
    // Empty TCs leave for 15 s after the TC at 5 s.
    assert_eq!(b.at_ms(60_000).tcs(), [(2, vec![]), (2, vec![])]);
}

#[test]
fn tcs_can_list_more() {
    let tcs = |advertised| {
        let mut b = Bench::new(Config { advertised, ..Config::rfc() });
        b.at_ms(4_000)
            .hello(2, &[(MPR, OWN)])
            .hello(3, &[(MPR, OWN), (SYM, 9)])
            .hello(5, &[(SYM, OWN), (SYM, 8)])
            .hello(4, &[(SYM, OWN)]);
        b.at_ms(5_000).tcs()
    };
    assert_eq!(tcs(Advertised::Selectors), [(1, vec![2, 3])]);
    assert_eq!(tcs(Advertised::SelectorsAndMprs), [(1, vec![2, 3, 5])]);
    assert_eq!(tcs(Advertised::Neighbours), [(1, vec![2, 3, 4, 5])]);
}

#[test]
fn intervals_are_shortened_by_jitter() {
    for config in [Config::rfc(), Config::um_olsr()] {
        let wait = if config.own_messages_wait { 500 } else { 0 };
        let mut b = Bench::with_jitter(config);
        b.at_ms(200_000);
        let at: Vec<u64> = b.packets.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        assert!(at[0] <= 500);
        let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (1_499 - wait..=2_001 + wait).contains(gap)), "{gaps:?}");
        // The mean gap is 1.75 s with and without shared packets.
        assert!((107..=121).contains(&at.len()), "{}", at.len());
    }
}

#[test]
fn messages_share_packets_of_four() {
    let mut b = Bench::with_jitter(Config::um_olsr());
    b.at_ms(3_000).hello(2, &[(MPR, OWN)]);
    b.packets.clear();
    for sequence in 0..9 {
        b.gets(2, vec![tc(9, sequence, 1, &[8])]);
    }
    assert!(b.packets.is_empty());
    b.at_ms(3_500);
    let (first, _) = b.packets[0];
    let sizes: Vec<usize> =
        b.packets.iter().filter(|(at, _)| *at == first).map(|(_, packet)| packet.messages.len()).collect();
    // The sizes sum up to nine messages, or ten if a HELLO was due.
    assert!(sizes == [4, 4, 1] || sizes == [4, 4, 2], "{sizes:?}");
    let sequences: Vec<u16> = b.packets.iter().map(|(_, packet)| packet.sequence).collect();
    assert!(sequences.windows(2).all(|pair| pair[1] == pair[0] + 1));
}

#[test]
fn own_messages_share_a_packet_with_waiting_ones() {
    let mut b = Bench::with_jitter(Config::rfc());
    b.at_ms(600).hello(2, &[(MPR, OWN)]);
    b.packets.clear();
    // Messages arrive far more often than once in 0.5 s, so that one waits at every HELLO.
    for step in 0..2_000_u16 {
        if step % 200 == 0 {
            b.hello(2, &[(MPR, OWN)]);
        }
        b.at_ms(600 + 10 * u64::from(step)).gets(2, vec![tc(9, step, 1, &[8])]);
    }
    let mixed = b.packets.iter().filter(|(_, packet)| {
        let own = packet.messages.iter().any(|message| message.originator == node(OWN));
        own && packet.messages.iter().any(|message| message.originator != node(OWN))
    });
    assert!(mixed.count() > 5);
    assert!(b.packets.iter().all(|(_, packet)| packet.messages.len() <= 4));
    for (at, packet) in &b.packets {
        for message in packet.messages.iter().filter(|message| message.originator == node(9)) {
            let given = 600 + 10 * u64::from(message.sequence);
            assert!(at.as_nanos() / 1_000_000 - given <= 500, "{} waited too long", message.sequence);
        }
    }
}

#[test]
fn sizes_on_the_wire() {
    let mut b = rfc();
    b.at_ms(100).hello(2, &[(SYM, OWN)]).hello(3, &[]);
    b.packets.clear();
    b.at_ms(2_000);
    // The packet has 4 bytes of header, 12 of message header, 4 of HELLO header, and 4 + 4 for each of two
    // link codes.
    assert_eq!(b.packets[0].1.len(), 36);
    assert_eq!(b.agent.counters().bytes, 20 + 36);
}
