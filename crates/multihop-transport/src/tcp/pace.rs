use multihop_core::{Duration, Instant};

use super::Endpoint;
use super::timers::Timer;
use crate::pacing::{Pacer, PacingConfig};

/// Adaptive pacing of a connection (ElRakabawy, Klemm and Lindemann).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pacing {
    /// The pacer's own settings.
    pub pacer: PacingConfig,
    /// Which round trips feed it.
    pub round_trips: RoundTrips,
    /// Whether those of segments that were outstanding at a retransmission timeout, or when the path
    /// was lost, do as well, unless they were sent again. They are those of an outage, and make the sender wait for as long as they
    /// are in its history.
    pub across_timeouts: bool,
}

impl Pacing {
    /// As the paper has it. It says nothing of timeouts; TCP's own timing ends at one.
    pub const fn new(pacer: PacingConfig) -> Self {
        Self { pacer, round_trips: RoundTrips::Net, across_timeouts: false }
    }
}

/// Which round trips feed the pacer. Those of segments that were sent twice never do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RoundTrips {
    /// Those of every ACK of new data, without the time for which the receiver held it: the model of
    /// a round trip in section 4.3 has no such time. Where the driver does not tell of trips, the
    /// connection's own.
    Net,
    /// Those that the retransmission timer is fed with: one for each round trip, what the receiver
    /// waited included.
    Timed,
}

/// A round trip in two halves, without the time between them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Trip {
    /// From the departure of the data segment that made an ACK to its arrival.
    pub there: Duration,
    /// From the departure of that ACK to its arrival.
    pub back: Duration,
}

/// The pacer of an endpoint, and what it is fed with.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    pub(super) pacer: Pacer,
    round_trips: RoundTrips,
    across_timeouts: bool,
    /// Of the segment in hand.
    pub(super) trip: Option<Trip>,
    /// No position below this gives a sample.
    stale: u64,
}

impl Pace {
    pub(super) fn new(config: &Pacing) -> Self {
        let Pacing { pacer, round_trips, across_timeouts } = *config;
        Self { pacer: Pacer::new(pacer), round_trips, across_timeouts, trip: None, stale: 0 }
    }
}

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
