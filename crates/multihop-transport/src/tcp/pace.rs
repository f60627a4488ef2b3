//! The settings of adaptive pacing, and its state.

use multihop_core::Duration;

use crate::pacing::{Pacer, PacingConfig};

/// Adaptive pacing of a connection (ElRakabawy, Klemm and Lindemann).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pacing {
    /// The pacer's own settings.
    pub pacer: PacingConfig,
    /// Which round trips feed it.
    pub round_trips: RoundTrips,
    /// Whether those of segments that were outstanding at a retransmission timeout, or when the path
    /// was lost, do as well, unless they were retransmitted. They are those of an outage, and make the sender wait for as long as they
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
    /// a round trip in section 4.3 has no such time. Where the driver does not report trips, the
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
    pub(super) round_trips: RoundTrips,
    pub(super) across_timeouts: bool,
    /// Of the segment in hand.
    pub(super) trip: Option<Trip>,
    /// No position below this gives a sample.
    pub(super) stale: u64,
}

impl Pace {
    pub(super) fn new(config: &Pacing) -> Self {
        let Pacing { pacer, round_trips, across_timeouts } = *config;
        Self { pacer: Pacer::new(pacer), round_trips, across_timeouts, trip: None, stale: 0 }
    }
}
