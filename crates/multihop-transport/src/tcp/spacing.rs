//! Spaces data segments in time, and feeds the pacer with round trips.

use multihop_core::{Duration, Instant};

use super::Endpoint;
use super::pace::RoundTrips;
use super::timer::Timer;

impl Endpoint {
    /// Whether the pacer holds the next segment back.
    pub(super) fn wait_for_pace(&mut self, now: Instant) -> bool {
        let until = self.pace.as_ref().and_then(|pace| pace.pacer.holds_until(now, self.last_data));
        if let Some(at) = until {
            self.timers.set(Timer::Pace, at);
        }
        until.is_some()
    }

    /// Everything before `end` has been sent twice, or may have been.
    pub(super) fn note_resent(&mut self, end: u64) {
        if let Some(pace) = &mut self.pace {
            pace.stale = pace.stale.max(end);
        }
    }

    /// The retransmission timer expired, or the path is known to be gone.
    pub(super) fn note_outage(&mut self) {
        let outstanding = self.send.max;
        if let Some(pace) = self.pace.as_mut().filter(|pace| !pace.across_timeouts) {
            pace.stale = outstanding;
        }
    }

    /// An ACK of new data arrived; `timed` is the round trip that it ended, if it was being timed.
    pub(super) fn feed_pacer(&mut self, timed: Option<Duration>) {
        let una = self.send.una;
        let Some(pace) = &mut self.pace else { return };
        let trip = pace.trip.filter(|_| una >= pace.stale);
        let net = trip.map(|trip| trip.there + trip.back);
        let round_trip = match pace.round_trips {
            RoundTrips::Net if pace.trip.is_some() => net,
            RoundTrips::Net | RoundTrips::Timed => timed,
        };
        if let Some(round_trip) = round_trip {
            pace.pacer.sample(self.mss, round_trip, trip.map(|trip| trip.there));
        }
    }
}
