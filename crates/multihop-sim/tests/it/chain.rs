//! Goodput of chains of nodes 200 m apart, in the ns2 flavour with RTS before every frame.
//!
//! The figures for comparison come from an independent program that follows the same rules. Paced flows agree to 3%, and
//! so do greedy ones if no queue overflows. Over 3 hops, and over 5 or more, greedy flows have less goodput here. One
//! reason is a tie that the two programs resolve differently:
//!
//! After an exchange, the transmitter of the ACK begins its interframe space when its ACK ends. All other stations begin
//! theirs when they have received it, later by the propagation delay. If the transmitter of the ACK and another station
//! then wait for the same number of slots, the signal of the first reaches the second at the very instant at which the
//! backoff of the second ends. Here timers come before arrivals, so both transmit and both frames are lost.
//!
//! ns-2 does the same. Its timers and arrivals are sums of the same numbers, so the instants are equal. Its scheduler
//! runs simultaneous events in the order in which they were scheduled: the timer an interframe space earlier, the arrival
//! only a propagation delay earlier. (In the standard too, a slot is long enough that no station notices a signal that
//! began in it.) If arrivals came first, the transmitter of the ACK would win each of these ties. That explains the
//! difference at 3 and 5 hops, and part of it at 6 to 10. ns-2 itself agrees with the figures here, not with those of the
//! other program (`docs/validation/ns2.md`).
//!
//! The tie matters because a greedy source overloads the chain: over 3 hops, node 0 sends more than node 1 can forward,
//! as `after_the_last_hop_the_source_may_send_314_us_before_the_relay` shows.

use crate::support::{Kind, Sent, ran, result, udp_chain};

const RTS: u64 = 352_000;
const CTS: u64 = 304_000;
const ACK: u64 = 304_000;
/// 1516 bytes at 2 Mb/s.
const DATA: u64 = 6_256_000;
const SIFS: u64 = 10_000;
const DIFS: u64 = 50_000;
const EIFS: u64 = 364_000;
const SLOT: u64 = 20_000;
/// Propagation delay over 200 and 400 m.
const ONE_HOP: u64 = 667;
const TWO_HOPS: u64 = 1_334;

/// For each number of hops: the figure of the other program, and the allowed difference.
const GREEDY: [(u32, f64, f64); 10] = [
    (1, 1537.0, 0.01),
    (2, 767.0, 0.01),
    (3, 518.0, 0.04),
    (4, 367.0, 0.01),
    (5, 232.0, 0.08),
    (6, 238.0, 0.08),
    (7, 235.0, 0.08),
    (8, 229.0, 0.08),
    (9, 238.0, 0.09),
    (10, 235.0, 0.09),
];

#[test]
fn greedy_datagrams_over_one_to_ten_hops() {
    for (hops, expected, tolerance) in GREEDY {
        let found = (1..=3)
            .map(|seed| result(&udp_chain(hops, 2000.0, 100.0, seed)).totals.goodput_kbps)
            .sum::<f64>()
            / 3.0;
        assert!((found / expected - 1.0).abs() < tolerance, "{hops} hops: {found} kb/s, expected {expected}");
    }
}

/// The other program tried rates 3% apart; ours are finally 1% apart.
#[test]
fn paced_datagrams_keep_a_quarter_of_the_channel() {
    for (hops, expected) in [(2, 768.0), (3, 520.0), (4, 380.0), (6, 378.0), (8, 365.0), (10, 365.0)] {
        let text = udp_chain(hops, 1.0, 30.0, 1);
        let text = text.replace("app = \"cbr\"\nrate_kbps = 1.0", "app = \"paced\"");
        let found = result(&text).totals.goodput_kbps;
        let ratio = found / expected;
        assert!((0.97..1.04).contains(&ratio), "{hops} hops: {found} kb/s, expected {expected}");
    }
}

/// Both nodes of one link send, so that they contend after each ACK.
#[test]
fn equal_backoffs_after_an_ack_lose_both_frames() {
    let sent = ran("duration = 3.0\n\
         [mac]\narp = \"oracle\"\n\
         [topology]\nkind = \"list\"\npositions = [[0.0, 0.0], [200.0, 0.0]]\n\
         [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1460\n\
         [[flow]]\nfrom = 1\nto = 0\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1460\n")
    .sent();
    let mut ties = 0;
    for window in sent.windows(4) {
        let [ack, first, second, next] = window else { unreachable!("windows of four") };
        if ack.kind != Kind::Ack {
            continue;
        }
        let idle = ack.at + ACK + DIFS;
        let others_idle = idle + ONE_HOP;
        if first.node == ack.node {
            assert_eq!((first.at - idle) % SLOT, 0, "the ACK's transmitter counts from its end");
        } else {
            assert_eq!((first.at - others_idle) % SLOT, 0, "other stations count from its arrival");
        }
        if second.kind == Kind::Rts {
            ties += 1;
            assert_eq!((first.node, second.node), (ack.node, 1 - ack.node));
            assert_eq!(second.at - first.at, ONE_HOP, "at the instant at which the other RTS arrives");
            assert_eq!(next.kind, Kind::Rts, "neither is answered by a CTS");
            // Each node hears the end of the other's RTS as an error.
            let heard = if next.node == first.node { second.at } else { first.at } + ONE_HOP + RTS;
            assert_eq!((next.at - heard - EIFS - DIFS) % SLOT, 0);
        } else {
            assert_eq!(second.kind, Kind::Cts, "a lone RTS is answered");
            assert_eq!(second.at - first.at, RTS + ONE_HOP + SIFS);
        }
    }
    // Backoffs have up to 31 slots, and remaining ones are kept, so that about one exchange in 20 ends in a
    // tie.
    assert!(ties > 5, "{ties} ties");
}

/// Over three hops, the ACK of node 3 is too weak to be decoded at node 1 (400 m), which therefore waits EIFS after it.
/// Node 0 (600 m) does not sense that ACK. It waits EIFS after the data frame of node 2, which it received as an error;
/// this EIFS ends only 50 us after the ACK.
#[test]
fn after_the_last_hop_the_source_may_send_314_us_before_the_relay() {
    let sent = ran(&udp_chain(3, 2000.0, 3.0, 1)).sent();
    let mut seen = [0; 4];
    for pair in sent.windows(5) {
        let [rts, cts, data, ack, next] = pair else { unreachable!("windows of five") };
        if !exchange([rts, cts, data, ack], 2, 3) || next.kind != Kind::Rts {
            continue;
        }
        let data_end = data.at + DATA;
        let ack_end = ack.at + ACK;
        assert_eq!(ack_end - data_end, ONE_HOP + SIFS + ACK);
        let may_send = match next.node {
            0 => data_end + TWO_HOPS + EIFS + DIFS,
            1 => ack_end + TWO_HOPS + EIFS + DIFS,
            2 => ack_end + ONE_HOP + DIFS,
            _ => panic!("node 3 has nothing to send"),
        };
        assert_eq!((next.at - may_send) % SLOT, 0, "{next:?} counts slots from {may_send}");
        seen[next.node as usize] += 1;
    }
    assert!(seen[0] > 2 * seen[1] && seen[1] > 0, "who sends next: {seen:?}");
}

/// Whether the four frames form an undisturbed exchange, with all times exact to the nanosecond.
fn exchange([rts, cts, data, ack]: [&Sent; 4], from: u32, to: u32) -> bool {
    let kinds = [rts, cts, data, ack].map(|frame| (frame.kind, frame.node, frame.to));
    let expected = [
        (Kind::Rts, from, Some(to)),
        (Kind::Cts, to, Some(from)),
        (Kind::Data, from, Some(to)),
        (Kind::Ack, to, Some(from)),
    ];
    if kinds != expected {
        return false;
    }
    assert_eq!(cts.at - rts.at, RTS + ONE_HOP + SIFS);
    assert_eq!(data.at - cts.at, CTS + ONE_HOP + SIFS);
    assert_eq!(ack.at - data.at, DATA + ONE_HOP + SIFS);
    // The duration field is the remaining time of the exchange after each frame: 3 SIFS + CTS + data + ACK
    // and so on, without propagation delays.
    assert_eq!(
        [rts, cts, data, ack].map(|frame| frame.duration),
        [30 + 304 + 6256 + 304, 20 + 6256 + 304, 10 + 304, 0]
    );
    true
}
