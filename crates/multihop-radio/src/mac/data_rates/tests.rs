//! Tests of changing rates in the exchange of frames.

use multihop_core::Duration;

use crate::frame::{BROADCAST, FrameKind, Outgoing};
use crate::mac::tests::{Bench, packet, station, unanswered, us};
use crate::params::{Flavour, MacParams, RadioParams};
use crate::phy_profile::RateIndex;
use crate::rate_control::{LadderParams, RateControlParams};

/// A bench with the standard flavour, without RTS/CTS and with changing rates.
fn adaptive(flavour: Flavour, rate_control: LadderParams) -> Bench {
    let rate_control = RateControlParams::Ladder(rate_control);
    let params = MacParams { flavour, rts_threshold: None, rate_control, ..MacParams::default() };
    station(&RadioParams::default(), &params)
}

#[test]
fn retries_fall_to_lower_rates_and_so_do_their_airtimes() {
    let mut b = adaptive(Flavour::Standard, LadderParams::ARF);
    b.sends(us(1000), packet(1));
    let (at_2, at_1) = ((FrameKind::Data, 1, 6304, 314), (FrameKind::Data, 0, 12_416, 314));
    assert_eq!(unanswered(&mut b), [at_2, at_2, at_1, at_1, at_1, at_1, at_1]);
    let frames: Vec<_> = b.mac.frames_by_rate().expect("rates change").map(|(_, frames)| frames).collect();
    assert_eq!(frames, [5, 2, 0, 0]);
    // The outcome of a broadcast does not influence the rate to a neighbour.
    b.sends(us(1_000_000), Outgoing { to: BROADCAST, ..packet(2) });
    assert_eq!(unanswered(&mut b), [(FrameKind::Data, 0, 12_416, 0)]);
    b.mac.clear_counts();
    assert!(b.mac.frames_by_rate().expect("rates change").all(|(_, frames)| frames == 0));
}

#[test]
fn cara_announces_the_retry_at_its_rate() {
    for flavour in [Flavour::Standard, Flavour::Ns2] {
        let mut b = adaptive(flavour, LadderParams::CARA);
        b.sends(us(1000), packet(1));
        let (_, data) = b.next_frame();
        assert_eq!(data.kind, FrameKind::Data);
        let (at, rts) = b.next_frame();
        assert_eq!((rts.kind, rts.nav), (FrameKind::Rts, Duration::from_micros(30 + 304 + 6304 + 304)));
        let end = at + Duration::from_micros(666);
        b.hears(end - Duration::from_micros(304), end, &b.to_me(FrameKind::Cts, 6628));
        assert_eq!(b.next_frame().1.kind, FrameKind::Data);
        // The transmission after the RTS failed, too: the next one uses 1 Mb/s and no RTS.
        let (_, sent) = loop {
            if let (at, Some(sent)) = b.step() {
                break (at, sent);
            }
        };
        assert_eq!((sent.frame.kind, sent.frame.rate), (FrameKind::Data, RateIndex(0)), "{flavour:?}");
    }
}

#[test]
fn data_behind_an_rts_that_its_length_does_not_ask_for_is_accepted() {
    for flavour in [Flavour::Standard, Flavour::Ns2] {
        let mut b = adaptive(flavour, LadderParams::CARA);
        b.hears(us(0), us(352), &b.to_me(FrameKind::Rts, 6942));
        assert_eq!(b.next_frame().1.kind, FrameKind::Cts);
        if b.mac.deadline(&b.config) <= us(666) {
            b.step();
        }
        let mut data = b.to_me(FrameKind::Data, 314);
        data.bytes = 1528;
        assert!(b.hears(us(676), us(6980), &data), "{flavour:?}");
        assert_eq!(b.next_frame().1.kind, FrameKind::Ack);
    }
}
