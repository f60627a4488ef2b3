//! Tests of retries, retry limits, and contention windows after failures.

use multihop_core::Duration;

use crate::frame::FrameKind;
use crate::mac::tests::{Bench, DIFS, bench, packet, station, us};
use crate::params::{Flavour, MacParams, RadioParams, WindowReset};
use crate::phy_profile::{DOT11A, DOT11B, DOT11G, PhyProfile};

#[test]
fn an_rts_is_transmitted_seven_times() {
    let mut b = bench(Flavour::Ns2, Some(0));
    b.sends(us(0), packet(1));
    let mut sent = Vec::new();
    let mut window = 31;
    let mut idle = us(0);
    while b.mac.poll_done().is_none() {
        let (at, transmission) = b.step();
        if let Some(t) = transmission {
            assert!(Bench::slots(at, idle, DIFS) < window, "backoff from the window of {window}");
            sent.push(t.frame.retry);
            // The CTS is overdue after RTS 352 + 2, SIFS 10 and CTS 304 + 2 us.
            assert_eq!(b.mac.deadline(&b.config), at + Duration::from_micros(670));
            idle = at + Duration::from_micros(670);
            window = (2 * window + 1).min(1023);
        }
    }
    assert_eq!(sent, [false, true, true, true, true, true, true]);
    assert_eq!(b.mac.counters().retry_drops, 1);
}

#[test]
fn data_is_transmitted_four_times_each_after_a_new_rts() {
    let mut b = bench(Flavour::Ns2, Some(0));
    b.sends(us(0), packet(1));
    let mut kinds = Vec::new();
    while b.mac.poll_done().is_none() {
        let (at, Some(t)) = b.step() else { continue };
        kinds.push(t.frame.kind);
        if t.frame.kind == FrameKind::Rts {
            let end = at + Duration::from_micros(666);
            b.hears(end - Duration::from_micros(304), end, &b.to_me(FrameKind::Cts, 6628));
        }
    }
    assert_eq!(kinds, [FrameKind::Rts, FrameKind::Data].repeat(4));
}

/// The contention windows before three RTS: the first gets no CTS, and the data after the second gets no ACK.
fn windows_of_three_attempts(phy: &'static PhyProfile, params: MacParams) -> [u32; 3] {
    let mut b = station(&RadioParams::new(phy), &params);
    b.sends(us(1000), packet(1));
    let cts = b.config.airtime.cts;
    let mut windows = Vec::new();
    while windows.len() < 3 {
        let window = b.mac.access(&b.config).window;
        let (at, Some(t)) = b.step() else { continue };
        if t.frame.kind == FrameKind::Rts {
            windows.push(window);
            if windows.len() == 2 {
                let end = at + t.airtime + b.config.contention.sifs + cts;
                let answer = b.to_me(FrameKind::Cts, 6628);
                b.hears(end - cts, end, &answer);
            }
        }
    }
    windows.try_into().expect("three RTS")
}

#[test]
fn a_cts_resets_the_window_only_in_the_standard_flavour_of_802_11b_or_if_asked() {
    let with = |flavour, window_reset| MacParams { flavour, window_reset, ..MacParams::default() };
    let standard = |reset| with(Flavour::Standard, reset);
    for (phy, params, expected) in [
        (&DOT11B, standard(None), [31, 63, 63]),
        (&DOT11B, standard(Some(WindowReset::Ack)), [31, 63, 127]),
        (&DOT11B, with(Flavour::Ns2, None), [31, 63, 127]),
        (&DOT11B, with(Flavour::Ns2, Some(WindowReset::Cts)), [31, 63, 63]),
        (&DOT11A, standard(None), [15, 31, 63]),
        (&DOT11A, standard(Some(WindowReset::Cts)), [15, 31, 31]),
        (&DOT11G, standard(None), [15, 31, 63]),
    ] {
        let found = windows_of_three_attempts(phy, params.clone());
        assert_eq!(found, expected, "{phy:?} {:?} {:?}", params.flavour, params.window_reset);
    }
}

#[test]
fn data_without_rts_counts_against_the_short_retry_limit() {
    let mut b = bench(Flavour::Ns2, Some(3000));
    b.sends(us(0), packet(1));
    let mut sent = 0;
    while b.mac.poll_done().is_none() {
        if let (_, Some(t)) = b.step() {
            assert_eq!(t.frame.kind, FrameKind::Data);
            sent += 1;
        }
    }
    assert_eq!(sent, 7);
}
