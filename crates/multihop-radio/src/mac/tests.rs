//! One station against timelines computed by hand. 2 Mb/s data, 1 Mb/s basic rate, long preamble: RTS 352, CTS and
//! ACK 304, data of 1500 bytes 6304 us.

use super::*;
use crate::frame::{Category, PacketHandle};
use crate::params::{CategoryParams, EdcaParams, Flavour, Protection, RadioParams, WindowReset};
use crate::phy_profile::{DOT11A, DOT11B, DOT11G};
use crate::rate_control::{LadderParams, RateControlParams};

const ME: NodeId = NodeId(0);
pub(super) const PEER: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);

pub(super) struct Bench {
    pub(super) mac: Mac,
    pub(super) config: MacConfig,
}

pub(super) fn bench(flavour: Flavour, rts_threshold: Option<u32>) -> Bench {
    let params = MacParams { flavour, rts_threshold, ..MacParams::default() };
    let config = MacConfig::new(&RadioParams::default(), &params);
    let [backoff, rates] = ["test", "rates"].map(|purpose| Rng::stream(1, purpose, 0));
    Bench { mac: Mac::new(ME, &config, backoff, rates), config }
}

/// The standard flavour without RTS/CTS, and a rate that changes.
fn adaptive(flavour: Flavour, rate_control: LadderParams) -> Bench {
    let rate_control = RateControlParams::Ladder(rate_control);
    let params = MacParams { flavour, rts_threshold: None, rate_control, ..MacParams::default() };
    let config = MacConfig::new(&RadioParams::default(), &params);
    let [backoff, rates] = ["test", "rates"].map(|purpose| Rng::stream(1, purpose, 0));
    Bench { mac: Mac::new(ME, &config, backoff, rates), config }
}

pub(super) fn us(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

pub(super) fn packet(n: u32) -> Outgoing {
    Outgoing {
        packet: PacketHandle(n),
        to: PEER,
        bytes: 1500,
        urgent: false,
        category: Category::BestEffort,
        queued: Instant::ZERO,
    }
}

impl Bench {
    pub(super) fn sends(&mut self, now: Instant, out: Outgoing) {
        assert_eq!(self.mac.enqueue(out), None);
        self.mac.serve(now, &self.config);
    }

    /// The packet that was finished, and whether it was delivered.
    fn outcome(&mut self) -> Option<(Outgoing, bool)> {
        self.mac.poll_done().map(|done| (done.out, done.delivered))
    }

    /// Runs the next deadline and returns its time.
    fn step(&mut self) -> (Instant, Option<Transmission>) {
        let at = self.mac.deadline(&self.config);
        assert!(at < Instant::FAR_FUTURE, "nothing to wait for");
        let sent = self.mac.handle_timeout(at, &self.config);
        (at, sent)
    }

    /// The next frame that goes out.
    pub(super) fn next_frame(&mut self) -> (Instant, Frame) {
        loop {
            if let (at, Some(sent)) = self.step() {
                return (at, sent.frame);
            }
        }
    }

    /// Receives a frame whose last bit arrives at `end`.
    fn hears(&mut self, from: Instant, end: Instant, frame: &Frame) -> bool {
        self.mac.carrier_busy(from, &self.config);
        let delivered = self.mac.receive(end, frame, &self.config);
        self.mac.carrier_idle(end, &self.config);
        self.mac.serve(end, &self.config);
        delivered
    }

    fn hears_noise(&mut self, from: Instant, end: Instant) {
        self.mac.carrier_busy(from, &self.config);
        self.mac.receive_error(end, &self.config);
        self.mac.carrier_idle(end, &self.config);
    }

    pub(super) fn to_me(&self, kind: FrameKind, nav: u64) -> Frame {
        Frame::control(kind, PEER, ME, Duration::from_micros(nav), 14, RateIndex(0))
    }

    /// Slots between the end of the interframe space that began at `idle` and `at`.
    fn slots(at: Instant, idle: Instant, space: Duration) -> u64 {
        let wait = (at - idle) - space;
        assert_eq!(wait.as_nanos() % 20_000, 0, "{at} is no slot boundary after {idle}");
        wait.as_micros() / 20
    }
}

const DIFS: Duration = Duration::from_micros(50);

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

    // The next packet inherits the post-backoff.
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
    // The same frame again: acknowledged, not delivered.
    b.hears(us(20_000), us(20_352), &b.to_me(FrameKind::Rts, 6942));
    b.next_frame();
    assert!(!b.hears(us(20_676), us(26_980), &data));
    assert_eq!(b.next_frame().1.kind, FrameKind::Ack);
}

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
            // RTS 352 + 2 + SIFS 10 + CTS 304 + 2.
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

/// The windows of the backoffs before three RTS: the first has no CTS, the data behind the second has no ACK.
fn windows_of_three_attempts(phy: &'static PhyProfile, params: MacParams) -> [u32; 3] {
    let config = MacConfig::new(&RadioParams::new(phy), &params);
    let [backoff, rates] = ["test", "rates"].map(|purpose| Rng::stream(1, purpose, 0));
    let mut b = Bench { mac: Mac::new(ME, &config, backoff, rates), config };
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
    // Other frames pause it only before its end.
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
fn a_packet_that_arrives_while_a_cts_is_suppressed_is_still_sent() {
    let others_rts =
        Frame::control(FrameKind::Rts, PEER, OTHER, Duration::from_micros(6942), 20, RateIndex(0));
    // In the SIFS after the RTS, the NAV is set or a frame arrives at the last moment.
    for nav in [true, false] {
        let mut b = bench(Flavour::Ns2, Some(0));
        if nav {
            b.hears(us(0), us(352), &others_rts);
        }
        b.hears(us(400), us(752), &b.to_me(FrameKind::Rts, 6942));
        b.sends(us(755), packet(1));
        let mut idle = us(352 + 6942);
        if !nav {
            b.mac.carrier_busy(us(757), &b.config);
            idle = us(1000);
        }
        assert_eq!(b.step(), (us(762), None), "the CTS is suppressed");
        if !nav {
            b.mac.carrier_idle(idle, &b.config);
        }
        let (at, rts) = b.next_frame();
        assert_eq!(rts.kind, FrameKind::Rts);
        assert!(Bench::slots(at, idle, DIFS) <= 30);
    }
}

#[test]
fn a_weak_frame_over_the_cts_delays_the_data_to_the_end_of_its_nav() {
    let mut b = bench(Flavour::Ns2, Some(0));
    b.sends(us(1000), packet(7));
    let (rts_at, _) = b.next_frame();
    let cts_end = rts_at + Duration::from_micros(352 + 10 + 304);
    // 1528 bytes begin 4 us before the CTS ends: the CTS survives, the NAV lasts 6304 + 364 us.
    b.mac.carrier_busy(rts_at + Duration::from_micros(362), &b.config);
    let weak_at = cts_end - Duration::from_micros(4);
    b.mac.overheard_weak(weak_at, Duration::from_micros(6304), &b.config);
    b.mac.receive(cts_end, &b.to_me(FrameKind::Cts, 6628), &b.config);
    b.mac.carrier_idle(cts_end, &b.config);
    assert_eq!(b.step(), (cts_end + Duration::from_micros(10), None));
    let (at, again) = b.next_frame();
    assert_eq!(again.kind, FrameKind::Rts, "the exchange starts over");
    let idle = weak_at + Duration::from_micros(6304 + 364);
    assert!(Bench::slots(at, idle, DIFS) <= 62, "from the doubled window");
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
    // The standard forgets the error as soon as a good frame is heard.
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

#[test]
fn the_standard_transmits_immediately_on_an_idle_medium() {
    let mut b = bench(Flavour::Standard, None);
    b.sends(us(1000), packet(1));
    assert_eq!(b.mac.deadline(&b.config), us(1000));
    let (_, data) = b.next_frame();
    assert_eq!(data.kind, FrameKind::Data);
}

#[test]
fn the_standard_backs_off_after_a_drop() {
    let mut b = bench(Flavour::Standard, None);
    b.sends(us(1000), packet(1));
    while b.mac.poll_done().is_none() {
        b.step();
    }
    assert!(!b.mac.backoff.is_idle());
    b.mac.backoff = Backoff::Paused { slots: 9 };
    let given_up = us(2_000_000);
    b.mac.resume_backoff(given_up, &b.config);
    b.sends(given_up, packet(2));
    assert_eq!(b.next_frame().0, given_up + Duration::from_micros(9 * 20), "it inherits the backoff");
}

#[test]
fn the_standard_extends_the_timeout_to_the_end_of_a_reception() {
    let mut b = bench(Flavour::Standard, None);
    b.sends(us(1000), packet(1));
    let (at, _) = b.next_frame();
    let end = at + Duration::from_micros(6304 + 10 + 304);
    // SIFS, slot and preamble after the frame: the ACK has begun but not ended.
    assert_eq!(b.mac.deadline(&b.config), at + Duration::from_micros(6304 + 10 + 20 + 192));
    let due = b.mac.deadline(&b.config);
    b.mac.carrier_busy(at + Duration::from_micros(6304), &b.config);
    b.mac.carrier_idle(at + Duration::from_micros(6307), &b.config);
    assert_eq!(b.mac.deadline(&b.config), due, "what ends before it was no response");
    b.mac.carrier_busy(end - Duration::from_micros(304), &b.config);
    assert_eq!(b.mac.deadline(&b.config), Instant::FAR_FUTURE);
    b.mac.receive(end, &b.to_me(FrameKind::Ack, 0), &b.config);
    b.mac.carrier_idle(end, &b.config);
    assert_eq!(b.outcome(), Some((packet(1), true)));
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
    let config = MacConfig::new(&radio, &params);
    let [backoff, rates] = ["test", "rates"].map(|purpose| Rng::stream(1, purpose, 0));
    Bench { mac: Mac::new(ME, &config, backoff, rates), config }
}

/// 1528 bytes at 54 Mb/s take 254 us, their ACK at 24 Mb/s 34 us, a CTS at 1 Mb/s 304 us.
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
    // The next packet has a CTS of its own, and a backoff.
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

/// Frames transmitted for one packet that nobody answers: kind, rate, airtime in us and, of an RTS, the announced
/// duration in us.
fn unanswered(b: &mut Bench) -> Vec<(FrameKind, u8, u64, u64)> {
    let mut sent = Vec::new();
    while b.mac.poll_done().is_none() {
        let (_, Some(t)) = b.step() else { continue };
        sent.push((
            t.frame.kind,
            t.frame.rate.0,
            t.airtime.as_nanos().div_ceil(1000),
            t.frame.nav.as_micros(),
        ));
    }
    sent
}

#[test]
fn retries_fall_to_lower_rates_and_so_do_their_airtimes() {
    let mut b = adaptive(Flavour::Standard, LadderParams::ARF);
    b.sends(us(1000), packet(1));
    let (at_2, at_1) = ((FrameKind::Data, 1, 6304, 314), (FrameKind::Data, 0, 12_416, 314));
    assert_eq!(unanswered(&mut b), [at_2, at_2, at_1, at_1, at_1, at_1, at_1]);
    let frames: Vec<_> = b.mac.frames_by_rate().expect("rates change").map(|(_, frames)| frames).collect();
    assert_eq!(frames, [5, 2, 0, 0]);
    // A broadcast is no experience with a neighbour.
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
        // Behind the RTS it failed, too: the next one goes at 1 Mb/s, and without an RTS.
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

/// EDCA, standard flavour without RTS/CTS. Windows of 0 to 0 slots, so that a category transmits when its interframe
/// space ends, except where `change` says otherwise.
fn categories(change: impl FnOnce(&mut [CategoryParams; 4])) -> Bench {
    let at_once = CategoryParams { cw_min: Some(0), cw_max: Some(0), ..CategoryParams::default() };
    let mut edca = EdcaParams { categories: std::array::from_fn(|_| at_once.clone()) };
    change(&mut edca.categories);
    let params = MacParams {
        flavour: Flavour::Standard,
        rts_threshold: None,
        edca: Some(edca),
        ..MacParams::default()
    };
    let config = MacConfig::new(&RadioParams::default(), &params);
    let [backoff, rates] = ["test", "rates"].map(|purpose| Rng::stream(1, purpose, 0));
    Bench { mac: Mac::new(ME, &config, backoff, rates), config }
}

fn of(category: Category, n: u32) -> Outgoing {
    Outgoing { category, bytes: 200, ..packet(n) }
}

impl Bench {
    /// The ACK of data that was transmitted at `at` with 200 bytes: 1104 us; returns when it ends.
    fn acknowledged(&mut self, at: Instant) -> Instant {
        let end = at + Duration::from_micros(1104 + 10 + 304);
        let ack = self.to_me(FrameKind::Ack, 0);
        self.mac.carrier_busy(end - Duration::from_micros(304), &self.config);
        self.mac.receive(end, &ack, &self.config);
        self.mac.carrier_idle(end, &self.config);
        assert!(self.mac.poll_done().is_some_and(|done| done.delivered));
        self.mac.serve(end, &self.config);
        end
    }
}

#[test]
fn each_category_waits_for_its_own_interframe_space() {
    for (category, slots) in
        [(Category::Background, 7), (Category::BestEffort, 3), (Category::Video, 2), (Category::Voice, 2)]
    {
        let mut b = categories(|_| ());
        b.mac.carrier_busy(us(0), &b.config);
        b.sends(us(10), of(category, 1));
        b.mac.carrier_idle(us(1000), &b.config);
        assert_eq!(b.next_frame().0, us(1000 + 10 + 20 * slots), "{category:?}");
        // After an error it is EIFS with this space in place of DIFS.
        let mut b = categories(|_| ());
        b.mac.carrier_busy(us(0), &b.config);
        b.sends(us(10), of(category, 1));
        b.mac.receive_error(us(1000), &b.config);
        b.mac.carrier_idle(us(1000), &b.config);
        assert_eq!(b.next_frame().0, us(1000 + 364 - 50 + 10 + 20 * slots), "{category:?}");
    }
}

#[test]
fn categories_of_one_station_take_turns_by_their_interframe_spaces() {
    let mut b = categories(|all| all.iter_mut().for_each(|c| c.txop = Some(Duration::ZERO)));
    b.mac.carrier_busy(us(0), &b.config);
    for (n, category) in (0..).zip([Category::Background, Category::BestEffort, Category::Voice]) {
        b.sends(us(10), of(category, n));
    }
    assert_eq!(b.mac.packets().count(), 3);
    b.mac.carrier_idle(us(1000), &b.config);
    let mut idle = us(1000);
    for (n, slots) in [(2, 2), (1, 3), (0, 7)] {
        let (at, data) = b.next_frame();
        assert_eq!((data.body, at), (PacketHandle(n), idle + Duration::from_micros(10 + 20 * slots)));
        idle = b.acknowledged(at);
    }
    assert_eq!(b.mac.packets().count(), 0);
}

#[test]
fn of_two_categories_that_are_due_at_once_the_less_urgent_backs_off_in_twice_its_window() {
    let mut drawn = [0; 2];
    for seed in 1..=20 {
        let mut b = categories(|all| all[Category::Video as usize].cw_max = Some(1023));
        b.mac.own.rng = Rng::stream(seed, "test", 0);
        b.mac.carrier_busy(us(0), &b.config);
        b.sends(us(10), of(Category::Video, 1));
        b.sends(us(10), of(Category::Voice, 2));
        b.mac.carrier_idle(us(1000), &b.config);
        let (at, data) = b.next_frame();
        assert_eq!((at, data.body), (us(1050), PacketHandle(2)));
        let idle = b.acknowledged(at);
        let (at, data) = b.next_frame();
        assert_eq!(data.body, PacketHandle(1));
        drawn[usize::try_from(Bench::slots(at, idle, DIFS)).expect("few slots")] += 1;
    }
    assert!(drawn[0] > 3 && drawn[1] > 3, "a window of 0 slots became one of 1: {drawn:?}");
}

#[test]
fn a_category_counts_slots_that_have_begun() {
    let mut b = categories(|_| ());
    b.mac.carrier_busy(us(0), &b.config);
    b.sends(us(10), of(Category::BestEffort, 1));
    b.mac.backoff = Backoff::Paused { slots: 5 };
    b.mac.carrier_idle(us(1000), &b.config);
    // AIFS ends at 1070; slots begin at 1070, 1090 and 1110.
    b.mac.carrier_busy(us(1115), &b.config);
    b.mac.carrier_idle(us(2000), &b.config);
    assert_eq!(b.next_frame().0, us(2000 + 70 + 2 * 20));
}

#[test]
fn packets_follow_each_other_in_a_transmission_opportunity_as_long_as_it_lasts() {
    // 802.11b's voice: 3264 us. An exchange of 200 bytes takes 1104 + 10 + 304 = 1418 us.
    let mut b = categories(|_| ());
    b.mac.carrier_busy(us(0), &b.config);
    for n in 1..=3 {
        b.sends(us(10), of(Category::Voice, n));
    }
    b.mac.carrier_idle(us(1000), &b.config);
    let (first, data) = b.next_frame();
    assert_eq!(first, us(1050));
    assert_eq!(data.nav, Duration::from_micros(314 + 10 + 1418), "up to the ACK of the next one");
    let idle = b.acknowledged(first);
    let (second, data) = b.next_frame();
    assert_eq!((second, data.body), (idle + Duration::from_micros(10), PacketHandle(2)));
    assert_eq!(data.nav, Duration::from_micros(314), "a third one does not fit into what is left");
    let idle = b.acknowledged(second);
    let (third, data) = b.next_frame();
    assert_eq!((third, data.body), (idle + DIFS, PacketHandle(3)));
}

#[test]
fn a_failure_ends_the_transmission_opportunity() {
    let mut b = categories(|all| all[Category::Voice as usize].cw_max = Some(1023));
    b.mac.carrier_busy(us(0), &b.config);
    for n in 1..=2 {
        b.sends(us(10), of(Category::Voice, n));
    }
    b.mac.carrier_idle(us(1000), &b.config);
    let (first, _) = b.next_frame();
    // No ACK: SIFS, slot and preamble after the frame it is overdue.
    let overdue = first + Duration::from_micros(1104 + 10 + 20 + 192);
    assert_eq!(b.step(), (overdue, None));
    let (again, data) = b.next_frame();
    assert_eq!((data.body, data.retry), (PacketHandle(1), true));
    assert!(
        again >= overdue && again <= overdue + Duration::from_micros(20),
        "the window is 0 or 1 slots: {again}"
    );
}

#[test]
fn the_retry_of_a_packet_that_followed_another_one_is_announced() {
    let mut b = categories(|all| all[Category::Voice as usize].txop = Some(Duration::from_millis(6)));
    b.config.announced_from = 0;
    b.mac.carrier_busy(us(0), &b.config);
    for n in 1..=2 {
        b.sends(us(10), of(Category::Voice, n));
    }
    b.mac.carrier_idle(us(1000), &b.config);
    let (at, rts) = b.next_frame();
    assert_eq!((at, rts.kind), (us(1050), FrameKind::Rts));
    let cts = b.to_me(FrameKind::Cts, 0);
    b.hears(us(1412), us(1716), &cts);
    let (at, data) = b.next_frame();
    assert_eq!((at, data.body), (us(1726), PacketHandle(1)));
    let idle = b.acknowledged(at);
    let (at, data) = b.next_frame();
    assert_eq!((at, data.body), (idle + Duration::from_micros(10), PacketHandle(2)), "without RTS");
    let (_, retry) = b.next_frame();
    assert_eq!(retry.kind, FrameKind::Rts);
}

#[test]
fn a_packet_that_arrives_during_an_exchange_of_another_category_waits_for_its_end() {
    let mut b = categories(|_| ());
    b.sends(us(1000), of(Category::BestEffort, 1));
    let (at, data) = b.next_frame();
    assert_eq!((at, data.body), (us(1000), PacketHandle(1)), "the medium has been idle");
    b.sends(us(1500), of(Category::Voice, 2));
    let idle = b.acknowledged(at);
    let (at, data) = b.next_frame();
    assert_eq!((at, data.body), (idle + DIFS, PacketHandle(2)));
    // Packets to a lost neighbour leave the queues of all categories.
    b.sends(at, of(Category::Background, 3));
    b.sends(at, of(Category::Background, 4));
    b.sends(at, of(Category::Voice, 5));
    let gone: Vec<u32> = b.mac.remove_if(|out| out.to == PEER).iter().map(|out| out.packet.0).collect();
    assert_eq!(gone, [5, 4], "3 is in service");
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
