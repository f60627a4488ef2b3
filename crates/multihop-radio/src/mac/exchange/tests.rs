//! Tests of frame exchanges against timelines computed by hand.

use super::*;
use crate::frame::{Outgoing, PacketHandle};
use crate::mac::tests::{Bench, DIFS, ME, PEER, bench, packet, station, unanswered, us};
use crate::params::{Flavour, MacParams, Protection, RadioParams};
use crate::phy_profile::DOT11G;

#[test]
fn a_four_way_exchange_is_exact_to_the_microsecond() {
    let mut b = bench(Flavour::Ns2, Some(0));
    b.sends(us(1000), packet(7));
    let (rts_at, rts) = b.next_frame();
    assert!(Bench::slots(rts_at, us(1000), DIFS) <= 30);
    assert_eq!((rts.kind, rts.to, rts.bytes), (FrameKind::Rts, PEER, 20));
    // 3 SIFS + CTS + data + ACK.
    assert_eq!(rts.nav, Duration::from_micros(30 + 304 + 6304 + 304));

    let cts_end = rts_at + Duration::from_micros(352 + 10 + 304);
    let cts = b.to_me(FrameKind::Cts, 6628);
    b.hears(cts_end - Duration::from_micros(304), cts_end, &cts);
    let (data_at, data) = b.next_frame();
    assert_eq!(data_at, cts_end + Duration::from_micros(10));
    assert_eq!((data.kind, data.body, data.bytes), (FrameKind::Data, PacketHandle(7), 1528));
    assert_eq!(data.nav, Duration::from_micros(10 + 304));

    let ack_end = data_at + Duration::from_micros(6304 + 10 + 304);
    let ack = b.to_me(FrameKind::Ack, 0);
    b.hears(ack_end - Duration::from_micros(304), ack_end, &ack);
    assert_eq!(b.outcome(), Some((packet(7), true)));

    // The next packet waits for the rest of the post-backoff.
    b.sends(ack_end, packet(8));
    let (next_at, _) = b.next_frame();
    assert!(Bench::slots(next_at, ack_end, DIFS) <= 30);
}

#[test]
fn a_receiver_responds_after_sifs() {
    let mut b = bench(Flavour::Ns2, Some(0));
    b.hears(us(0), us(352), &b.to_me(FrameKind::Rts, 30 + 304 + 6304 + 304));
    let (at, cts) = b.next_frame();
    assert_eq!((at, cts.kind, cts.to), (us(362), FrameKind::Cts, PEER));
    assert_eq!(cts.nav, Duration::from_micros(20 + 6304 + 304));
    let mut data = b.to_me(FrameKind::Data, 314);
    data.bytes = 1528;
    let end = us(362 + 304 + 10 + 6304);
    assert!(b.hears(us(676), end, &data));
    let (at, ack) = b.next_frame();
    assert_eq!((at, ack.kind), (end + Duration::from_micros(10), FrameKind::Ack));
    // A repeated frame is acknowledged and not delivered.
    b.hears(us(20_000), us(20_352), &b.to_me(FrameKind::Rts, 6942));
    b.next_frame();
    assert!(!b.hears(us(20_676), us(26_980), &data));
    assert_eq!(b.next_frame().1.kind, FrameKind::Ack);
}

#[test]
fn a_packet_waits_for_the_end_of_the_ack_that_its_station_is_sending() {
    for flavour in [Flavour::Ns2, Flavour::Standard] {
        let mut b = bench(flavour, None);
        let mut data = b.to_me(FrameKind::Data, 314);
        data.bytes = 1528;
        b.hears(us(0), us(6304), &data);
        let (at, ack) = b.next_frame();
        assert_eq!((at, ack.kind), (us(6314), FrameKind::Ack));
        assert_eq!(b.mac.deadline(&b.config), Instant::FAR_FUTURE, "nothing follows");
        b.sends(us(6400), packet(1));
        let (at, frame) = b.next_frame();
        assert_eq!(frame.kind, FrameKind::Data);
        assert!(Bench::slots(at, us(6314 + 304), DIFS) <= 31, "{flavour:?}");
    }
}

#[test]
fn a_broadcast_is_sent_once_and_not_answered() {
    let mut b = bench(Flavour::Ns2, Some(0));
    b.sends(us(0), Outgoing { to: BROADCAST, ..packet(1) });
    let (at, frame) = b.next_frame();
    assert_eq!((frame.kind, frame.nav), (FrameKind::Data, Duration::ZERO));
    // 1528 bytes at the basic rate.
    assert_eq!(b.step(), (at + Duration::from_micros(192 + 12_224), None));
    assert_eq!(b.outcome(), Some((Outgoing { to: BROADCAST, ..packet(1) }, true)));
    let everyones = Frame { kind: FrameKind::Data, to: BROADCAST, from: PEER, ..frame };
    assert!(b.hears(us(30_000), us(31_000), &everyones));
    assert_eq!(b.mac.deadline(&b.config), Instant::FAR_FUTURE, "nothing to answer");
}

#[test]
fn the_rts_threshold_includes_the_plcp_header_only_in_ns2() {
    // IP 40 + header 28 = 68 bytes; ns-2 adds 24 for the PLCP.
    let tcp_ack = Outgoing { bytes: 40, ..packet(1) };
    for (flavour, threshold, announced) in [
        (Flavour::Ns2, 92, true),
        (Flavour::Ns2, 93, false),
        (Flavour::Standard, 67, true),
        (Flavour::Standard, 68, false),
    ] {
        let b = bench(flavour, Some(threshold));
        assert_eq!(b.mac.announces(&tcp_ack, &b.config), announced, "{flavour:?} at {threshold}");
    }
}

/// The standard flavour of 802.11g with protection.
fn protected(rate: &str, rts_threshold: Option<u32>) -> Bench {
    let radio = RadioParams {
        rate: DOT11G.rate_named(rate).expect("a rate of 802.11g"),
        ..RadioParams::new(&DOT11G)
    };
    let protection = Protection::CtsToSelf;
    let params = MacParams { flavour: Flavour::Standard, rts_threshold, protection, ..MacParams::default() };
    station(&radio, &params)
}

/// A frame of 1528 bytes at 54 Mb/s takes 254 us, its ACK at 24 Mb/s 34 us, a CTS at 1 Mb/s 304 us.
#[test]
fn a_cts_to_the_station_itself_reserves_the_medium_for_data_and_ack() {
    let mut b = protected("54M", None);
    b.sends(us(1000), packet(7));
    let (cts_at, cts) = b.next_frame();
    assert_eq!(cts_at, us(1000), "an idle medium");
    assert_eq!((cts.kind, cts.to, cts.bytes, cts.rate), (FrameKind::Cts, ME, 14, RateIndex(0)));
    assert_eq!(cts.nav, Duration::from_micros(10 + 254 + 10 + 34));
    let (data_at, data) = b.next_frame();
    assert_eq!(data_at, cts_at + Duration::from_micros(304 + 10));
    assert_eq!((data.kind, data.to, data.nav), (FrameKind::Data, PEER, Duration::from_micros(10 + 34)));

    let ack_end = data_at + Duration::from_micros(254 + 10 + 34);
    let ack = b.to_me(FrameKind::Ack, 0);
    b.hears(ack_end - Duration::from_micros(34), ack_end, &ack);
    assert_eq!(b.outcome(), Some((packet(7), true)));
    // The next packet has another CTS and another backoff.
    b.sends(ack_end, packet(8));
    let (next_at, next) = b.next_frame();
    assert_eq!(next.kind, FrameKind::Cts);
    assert!(Bench::slots(next_at, ack_end, DIFS) <= 15);
}

#[test]
fn each_retry_has_a_cts_of_its_own_and_the_limit_is_that_of_data_without_rts() {
    let mut b = protected("54M", None);
    b.sends(us(1000), packet(1));
    let kinds: Vec<_> = unanswered(&mut b).iter().map(|&(kind, ..)| kind).collect();
    assert_eq!(kinds, [FrameKind::Cts, FrameKind::Data].repeat(7));
    assert_eq!(b.mac.counters().cts, 7);
}

#[test]
fn what_stations_of_802_11b_hear_needs_no_protection() {
    let first = |mut b: Bench, out| {
        b.sends(us(1000), out);
        b.next_frame().1.kind
    };
    assert_eq!(first(protected("11M", None), packet(1)), FrameKind::Data);
    assert_eq!(first(protected("54M", Some(0)), packet(1)), FrameKind::Rts);
    let broadcast = Outgoing { to: BROADCAST, ..packet(1) };
    assert_eq!(first(protected("54M", None), broadcast), FrameKind::Data);
}

#[test]
fn an_outcome_has_the_attempts_and_the_start_of_the_service() {
    let mut b = bench(Flavour::Standard, None);
    b.sends(us(500), Outgoing { queued: us(200), ..packet(1) });
    for _ in 0..2 {
        b.next_frame();
        b.step();
    }
    let (at, _) = b.next_frame();
    let end = at + Duration::from_micros(6304 + 10 + 304);
    let ack = b.to_me(FrameKind::Ack, 0);
    b.mac.carrier_busy(end - Duration::from_micros(304), &b.config);
    b.mac.receive(end, &ack, &b.config);
    let done = b.mac.poll_done().expect("the packet was acknowledged");
    assert_eq!((done.delivered, done.retries), (true, 2));
    assert_eq!((done.out.queued, done.began), (us(200), us(500)));
}
