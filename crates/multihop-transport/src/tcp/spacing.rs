//! Pacing of data segments, and round-trip samples for the pacer.

use multihop_core::{Duration, Instant};

use super::TcpEnd;
use super::pace::{RoundTrips, Turn};
use super::timer::Timer;

impl TcpEnd {
    /// Whether the pacer, or the pacing rate of the congestion control, delays the next segment.
    pub(super) fn wait_for_pace(&mut self, now: Instant) -> bool {
        if self.departs > now && !self.recovery.resend {
            self.timers.set(Timer::Pace, self.departs);
            return true;
        }
        if let Some(turn) = self.pace.as_ref().and_then(|pace| pace.turn) {
            return self.wait_for_turn(now, turn);
        }
        let until = self.pace.as_ref().and_then(|pace| pace.pacer.holds_until(now, self.last_data));
        if let Some(at) = until {
            self.timers.set(Timer::Pace, at);
        }
        until.is_some()
    }

    /// Whether the next segment must wait for the pacing timer, by the authors' rules. A segment that duplicate or
    /// partial ACKs show to be lost leaves at once, and stops the timer.
    fn wait_for_turn(&mut self, now: Instant, turn: Turn) -> bool {
        let next = match turn {
            _ if self.recovery.resend => None,
            Turn::Resend => None,
            Turn::First => {
                self.start_turn(now);
                Some(Turn::Wait)
            }
            Turn::Open(at) if at == now => Some(Turn::Wait),
            Turn::Wait | Turn::Open(_) => return true,
        };
        if next.is_none() {
            self.timers.stop(Timer::Pace);
        }
        self.set_turn(next.unwrap_or(Turn::Wait));
        false
    }

    /// Starts the timer with the current gap.
    fn start_turn(&mut self, now: Instant) {
        let gap = self.pace.as_ref().and_then(|pace| pace.pacer.gap());
        self.timers.set(Timer::Pace, now + gap.unwrap_or(FIRST_GAP));
    }

    fn set_turn(&mut self, turn: Turn) {
        if let Some(pace) = self.pace.as_mut().filter(|pace| pace.turn.is_some()) {
            pace.turn = Some(turn);
        }
    }

    /// Releases the next segment at the end of the gap.
    pub(super) fn on_pace_timer(&mut self, now: Instant) {
        if self.pace.as_ref().is_none_or(|pace| pace.turn.is_none()) {
            return;
        }
        if self.send.una == self.send.queue.end() && !self.closing {
            return self.set_turn(Turn::First);
        }
        self.start_turn(now);
        self.set_turn(Turn::Open(now));
    }

    /// Handles an expired retransmission timer under pacing. Returns whether the timeout is to be backed off.
    pub(super) fn on_timeout_of_pace(&mut self) -> bool {
        if self.pace.as_ref().is_none_or(|pace| pace.turn.is_none()) {
            return true;
        }
        self.timers.stop(Timer::Pace);
        self.set_turn(Turn::Resend);
        false
    }

    /// Records the departure of the segment from `start` to `end` in the list of transmissions, and schedules the
    /// next departure at the pacing rate.
    pub(super) fn note_departure(&mut self, now: Instant, start: u64, end: u64) {
        if let Some(sent) = &mut self.transmissions {
            if sent.restarts() {
                self.congestion.control_mut().on_restart(now);
            }
            sent.on_sent(now, start, end);
        }
        if let Some(rate) = self.congestion.control().pacing_rate() {
            let gap = Duration::from_nanos((end - start).saturating_mul(1_000_000_000) / rate.max(1));
            self.departs = self.departs.max(now) + gap;
        }
    }

    /// Marks rate samples as limited by the application, if it has no more data to send and the window has room.
    pub(super) fn note_lack_of_data(&mut self) {
        let Some(sent) = &mut self.transmissions else { return };
        let has_room = sent.in_flight() < u64::from(self.congestion.control().window().cwnd());
        if has_room && self.send.next >= self.send.queue.end() && sent.first_lost().is_none() {
            sent.on_app_limited();
        }
    }

    /// Records that all data before `end` has been retransmitted, or may have been.
    pub(super) fn note_resent(&mut self, end: u64) {
        if let Some(pace) = &mut self.pace {
            pace.stale = pace.stale.max(end);
        }
    }

    /// Excludes all segments sent so far from round-trip samples, after an expired retransmission timer or
    /// the loss of the path.
    pub(super) fn note_outage(&mut self) {
        let outstanding = self.send.max;
        if let Some(pace) = self.pace.as_mut().filter(|pace| !pace.across_timeouts) {
            pace.stale = outstanding;
        }
    }

    /// Passes the round-trip time of an ACK to the pacer. `is_new`: the ACK acknowledges new data. `timed` is
    /// the sample of the retransmission timer, if there is one.
    pub(super) fn feed_pacer(&mut self, now: Instant, is_new: bool, timed: Option<Duration>) {
        let una = self.send.una;
        let Some(pace) = &mut self.pace else { return };
        let trip = pace.trip.filter(|_| is_new && una >= pace.stale);
        let net = trip.map(|trip| trip.there + trip.back);
        let round_trip = match (pace.round_trips, pace.trip) {
            (RoundTrips::Net, Some(_)) => net,
            (RoundTrips::Echo, Some(trip)) => {
                pace.pacer.set_hops(trip.hops);
                Some(trip.there + trip.held + trip.back)
            }
            _ => timed,
        };
        if let Some(round_trip) = round_trip {
            pace.pacer.sample(self.mss, round_trip, trip.map(|trip| trip.there));
        }
        let is_stopped = self.timers.at(Timer::Pace).is_none();
        if is_stopped
            && self.pace.as_ref().is_some_and(|pace| pace.turn.is_some_and(|turn| turn != Turn::First))
        {
            self.start_turn(now);
            self.set_turn(Turn::Wait);
        }
    }
}

/// Gap before the first sample, by the rules of the authors' implementation.
const FIRST_GAP: Duration = Duration::from_millis(50);
