//! Tests of carrier sense, NAV, interframe spaces and backoff against timelines computed by hand.

use super::*;
use crate::frame::{Frame, FrameKind};
use crate::mac::tests::{Bench, DIFS, OTHER, PEER, bench, packet, us};
use crate::params::Flavour;
use crate::phy_profile::RateIndex;

#[test]
fn backoff_pauses_while_the_medium_is_busy_and_keeps_whole_slots() {
    let mut b = bench(Flavour::Ns2, Some(0));
    b.sends(us(0), packet(1));
    b.mac.backoff = Backoff::Paused { slots: 10 };
    b.mac.resume_backoff(us(0), &b.config);
    assert_eq!(b.mac.deadline(&b.config), us(50 + 200));
    let other = Frame::control(FrameKind::Ack, PEER, OTHER, Duration::ZERO, 14, RateIndex(0));
    b.hears(us(50 + 79), us(500), &other);
    assert_eq!(b.mac.deadline(&b.config), us(500 + 50 + 7 * 20));
}

#[test]
fn a_backoff_ends_without_a_deadline_if_no_packet_waits() {
    let fresh = || {
        let mut b = bench(Flavour::Standard, None);
        b.mac.backoff = Backoff::Paused { slots: 10 };
        b.mac.resume_backoff(us(0), &b.config);
        assert_eq!(b.mac.deadline(&b.config), Instant::FAR_FUTURE);
        b
    };
    let mut b = fresh();
    b.sends(us(249), packet(1));
    assert_eq!(b.mac.deadline(&b.config), us(50 + 10 * 20), "it has not ended");
    let mut b = fresh();
    b.sends(us(250), packet(1));
    assert_eq!(b.mac.deadline(&b.config), us(250), "it has ended");
    // Another frame pauses the backoff only before its end.
    let other = Frame::control(FrameKind::Ack, PEER, OTHER, Duration::ZERO, 14, RateIndex(0));
    for (begins, left) in [(249, Some(1)), (250, None)] {
        let mut b = fresh();
        b.hears(us(begins), us(500), &other);
        let slots = match b.mac.backoff {
            Backoff::Running { slots, .. } => Some(slots),
            _ => None,
        };
        assert_eq!(slots, left, "busy from {begins} us on");
    }
}

#[test]
fn a_station_defers_during_the_nav_and_a_difs_after_it() {
    let mut b = bench(Flavour::Ns2, Some(0));
    let others_rts =
        Frame::control(FrameKind::Rts, PEER, OTHER, Duration::from_micros(6942), 20, RateIndex(0));
    b.hears(us(0), us(352), &others_rts);
    b.sends(us(400), packet(1));
    let (at, _) = b.next_frame();
    assert!(Bench::slots(at, us(352 + 6942), DIFS) <= 30);
    // An RTS that arrives during the NAV is not answered.
    let mut b = bench(Flavour::Ns2, Some(0));
    b.hears(us(0), us(352), &others_rts);
    b.hears(us(400), us(752), &b.to_me(FrameKind::Rts, 6942));
    assert_eq!(b.step(), (us(762), None));
    assert_eq!(b.mac.deadline(&b.config), Instant::FAR_FUTURE);
}

#[test]
fn an_error_is_followed_by_eifs_and_in_ns2_also_difs() {
    for (flavour, space) in [(Flavour::Ns2, 364 + 50), (Flavour::Standard, 364)] {
        let mut b = bench(flavour, Some(0));
        b.mac.carrier_busy(us(0), &b.config);
        b.sends(us(10), packet(1));
        b.mac.receive_error(us(100), &b.config);
        b.mac.carrier_idle(us(100), &b.config);
        Bench::slots(b.mac.deadline(&b.config), us(100), Duration::from_micros(space));
    }
    // By the standard, a frame without errors ends the effect of the error.
    let mut b = bench(Flavour::Standard, Some(0));
    b.hears_noise(us(0), us(100));
    b.mac.carrier_busy(us(110), &b.config);
    b.sends(us(120), packet(1));
    let other = Frame::control(FrameKind::Ack, PEER, OTHER, Duration::ZERO, 14, RateIndex(0));
    b.mac.receive(us(414), &other, &b.config);
    b.mac.carrier_idle(us(414), &b.config);
    Bench::slots(b.mac.deadline(&b.config), us(414), DIFS);
}

#[test]
fn a_frame_that_the_station_missed_is_an_error_only_in_ns2() {
    for (flavour, space) in [(Flavour::Ns2, 364 + 50), (Flavour::Standard, 50)] {
        let mut b = bench(flavour, Some(0));
        b.mac.carrier_busy(us(0), &b.config);
        b.sends(us(10), packet(1));
        b.mac.miss_frame(us(100), &b.config);
        b.mac.carrier_idle(us(100), &b.config);
        Bench::slots(b.mac.deadline(&b.config), us(100), Duration::from_micros(space));
    }
}
