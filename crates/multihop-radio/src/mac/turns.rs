//! Turns: a station pauses for a starving station near it. The rule is no part of IEEE 802.11.
//!
//! A station starves if its first packet fails repeatedly or waits for long. All its frames then request a turn. A
//! station that decodes such a frame passes the request on in its responses, because the sender of its data may not
//! hear the starving station. A station that decodes a request pauses for as long as its own data has occupied the
//! medium since its latest pause. It does not pause if it starves itself, or has had little airtime.

use multihop_core::{Duration, Instant};

use super::{Mac, MacConfig, Phase};
use crate::frame::{Frame, FrameKind, TurnRequest};
use crate::params::TurnParams;

/// State of a station that takes turns.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Airtime of the station's data since its latest pause, at most the longest pause.
    used: Duration,
    /// Airtime of acknowledged data, s. It decays exponentially.
    delivered: f64,
    /// Instant up to which `delivered` has decayed.
    decayed_at: Instant,
    /// Airtime of the latest data frame.
    latest: Duration,
    /// End of the latest pause, in which the station begins no exchange.
    pause_ends: Instant,
    /// Instant until which the station starves.
    starves_until: Instant,
    /// Instant until which the station's responses pass on the request of another station.
    passes_until: Instant,
    /// Airtime in the request that responses pass on, us.
    passed: u32,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            used: Duration::ZERO,
            delivered: 0.0,
            decayed_at: Instant::ZERO,
            latest: Duration::ZERO,
            pause_ends: Instant::ZERO,
            starves_until: Instant::ZERO,
            passes_until: Instant::ZERO,
            passed: 0,
        }
    }
}

impl Turns {
    /// Airtime that the station's acknowledged data had lately, s.
    fn airtime(&mut self, now: Instant, params: &TurnParams) -> f64 {
        let elapsed = now.saturating_since(self.decayed_at).as_secs_f64();
        self.delivered *= libm::exp(-elapsed / params.memory.as_secs_f64());
        self.decayed_at = now;
        self.delivered
    }
}

impl Mac {
    /// End of the station's latest pause for another station.
    #[inline]
    pub(super) fn pause_ends(&self, config: &MacConfig) -> Instant {
        if config.params.turns.is_some() { self.own.turns.pause_ends } else { Instant::ZERO }
    }

    /// Sets the request for a turn in a frame that the station transmits, and adds the airtime of data.
    #[cold]
    pub(super) fn request_turn(
        &mut self,
        now: Instant,
        frame: &mut Frame,
        (phase, airtime): (Phase, Duration),
        params: &TurnParams,
    ) {
        if self.is_held_up(now, params) {
            self.own.turns.starves_until = now + params.hold;
        }
        let turns = &mut self.own.turns;
        if now < turns.starves_until {
            let airtime = micros(turns.airtime(now, params));
            frame.turn = Some(TurnRequest { is_passed: false, airtime });
        } else if now < turns.passes_until && is_response(frame.kind) {
            frame.turn = Some(TurnRequest { is_passed: true, airtime: turns.passed });
        }
        if matches!(phase, Phase::Data | Phase::Broadcast) {
            turns.latest = airtime;
            turns.used = (turns.used + airtime).min(params.longest);
        }
    }

    /// Whether the first packet has failed repeatedly or waits for long.
    fn is_held_up(&self, now: Instant, params: &TurnParams) -> bool {
        let front = &self.own.front;
        let Some(service) = &front.service else { return false };
        let (failures, began) = match self.batch().and_then(|batch| batch.packets().first()) {
            // An RTS that fails is no transmission of the MPDU.
            Some(first) => (first.transmissions.max(front.short_count), first.began),
            None => (service.retries, service.began),
        };
        failures >= params.failures || now.saturating_since(began) >= params.patience
    }

    /// Adds the airtime of the latest data frame, which was acknowledged.
    #[cold]
    pub(super) fn count_delivered(&mut self, now: Instant, params: &TurnParams) {
        let turns = &mut self.own.turns;
        turns.delivered = turns.airtime(now, params) + turns.latest.as_secs_f64();
    }

    /// Processes the request in a decoded frame: the station may pause, and may pass the request on.
    #[cold]
    pub(super) fn grant_turn(
        &mut self,
        now: Instant,
        nav: Duration,
        request: TurnRequest,
        config: &MacConfig,
    ) {
        let Some(params) = &config.params.turns else { return };
        let turns = &mut self.own.turns;
        if !request.is_passed {
            let is_first = turns.passes_until <= now;
            turns.passed = if is_first { request.airtime } else { turns.passed.min(request.airtime) };
            turns.passes_until = now + params.pass_on;
        }
        let has_little = turns.airtime(now, params) < params.ratio * f64::from(request.airtime) * 1e-6;
        if has_little || now < turns.starves_until || now < turns.pause_ends {
            return;
        }
        turns.pause_ends = now + nav + turns.used;
        turns.used = Duration::ZERO;
    }
}

/// Whether a frame of this kind answers another one.
fn is_response(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Cts | FrameKind::Ack | FrameKind::BlockAck)
}

/// Seconds in whole microseconds, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an airtime over less than an hour; casts saturate"
)]
fn micros(seconds: f64) -> u32 {
    (seconds * 1e6) as u32
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, DIFS, OTHER, PEER, packet, station, us};
    use super::*;
    use crate::params::{MacParams, RadioParams};
    use crate::phy_profile::RateIndex;

    /// Airtime of a data frame, us.
    const DATA: u64 = 6304;

    fn bench(turns: Option<TurnParams>) -> Bench {
        let params = MacParams { rts_threshold: None, turns, ..MacParams::default() };
        station(&RadioParams::default(), &params)
    }

    fn turns() -> Option<TurnParams> {
        Some(TurnParams::default())
    }

    /// A CTS from one other station to a third one, with a request of a station that had this airtime, us.
    fn request(is_passed: bool, airtime: u32) -> Frame {
        let cts = Frame::control(FrameKind::Cts, OTHER, PEER, Duration::ZERO, 14, RateIndex(0));
        Frame { turn: Some(TurnRequest { is_passed, airtime }), ..cts }
    }

    /// Transmits one data frame and receives the ACK, whose end it returns.
    fn delivers(b: &mut Bench, begin: Instant) -> Instant {
        b.sends(begin, packet(1));
        let (at, _) = b.next_frame();
        let end = at + Duration::from_micros(DATA + 10 + 304);
        let ack = b.to_me(FrameKind::Ack, 0);
        b.hears(end - Duration::from_micros(304), end, &ack);
        assert_eq!(b.outcome(), Some((packet(1), true)));
        end
    }

    /// Time from the end of a request, 1 ms after a delivered frame, to the station's next frame.
    fn wait_after(b: &mut Bench, request: &Frame) -> Duration {
        let end = delivers(b, us(0)) + Duration::from_millis(1);
        b.hears(end - Duration::from_micros(304), end, request);
        b.sends(end, packet(2));
        b.next_frame().0 - end
    }

    #[test]
    fn a_station_pauses_for_the_airtime_that_it_has_used() {
        let pause = Duration::from_micros(DATA) + DIFS;
        for is_passed in [false, true] {
            let wait = wait_after(&mut bench(turns()), &request(is_passed, 0));
            assert!(wait >= pause && wait <= pause + Duration::from_micros(30 * 20), "{wait:?}");
        }
        let wait = wait_after(&mut bench(None), &request(false, 0));
        assert!(wait <= DIFS + Duration::from_micros(30 * 20), "stations take no turns: {wait:?}");
    }

    #[test]
    fn a_station_with_less_than_twice_the_airtime_does_not_pause() {
        let most = DIFS + Duration::from_micros(30 * 20);
        let wait = wait_after(&mut bench(turns()), &request(false, 3300));
        assert!(wait <= most, "{wait:?}");
        let wait = wait_after(&mut bench(turns()), &request(false, 3000));
        assert!(wait > most, "{wait:?}");
    }

    #[test]
    fn a_station_whose_packet_fails_five_times_requests_a_turn() {
        let mut b = bench(turns());
        b.sends(us(0), packet(1));
        for failures in 0..7 {
            let (_, frame) = b.next_frame();
            assert_eq!(frame.turn.is_some(), failures >= 5, "after {failures} failures");
            assert!(frame.turn.is_none_or(|turn| turn == TurnRequest { is_passed: false, airtime: 0 }));
        }
    }

    #[test]
    fn a_station_that_waits_for_50_ms_requests_a_turn_and_pauses_for_nobody() {
        let mut b = bench(turns());
        let end = delivers(&mut b, us(0));
        b.sends(end, packet(2));
        b.hears_noise(end, end + Duration::from_millis(60));
        let (at, frame) = b.next_frame();
        let own = frame.turn.expect("the packet waited for more than 50 ms");
        assert!(!own.is_passed && own.airtime > 5000 && own.airtime < 6304, "{own:?}");
        let end = at + Duration::from_micros(DATA + 10 + 304);
        let ack = b.to_me(FrameKind::Ack, 0);
        b.hears(end - Duration::from_micros(304), end, &ack);
        b.hears(end + Duration::from_micros(100), end + Duration::from_micros(404), &request(false, 0));
        b.sends(end + Duration::from_micros(404), packet(3));
        let (next, _) = b.next_frame();
        assert!(next - end < Duration::from_micros(DATA), "{:?}", next - end);
    }

    #[test]
    fn responses_pass_on_the_request_of_a_station_and_none_that_was_passed_on() {
        for (is_passed, expected) in
            [(false, Some(TurnRequest { is_passed: true, airtime: 70 })), (true, None)]
        {
            let mut b = bench(turns());
            b.hears(us(0), us(304), &request(is_passed, 70));
            let data = b.to_me(FrameKind::Data, 314);
            b.hears(us(1000), us(2000), &data);
            let (_, ack) = b.next_frame();
            assert_eq!((ack.kind, ack.turn), (FrameKind::Ack, expected));
            b.sends(us(3000), packet(1));
            assert_eq!(b.next_frame().1.turn, None, "data passes nothing on");
        }
    }
}
