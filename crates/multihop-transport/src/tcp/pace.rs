//! The settings of adaptive pacing, and its state.

use multihop_core::Instant;

use crate::event::Trip;
use crate::pacing::{Pacer, PacingConfig, Rules};

/// Adaptive pacing of a connection (ElRakabawy, Klemm and Lindemann).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pacing {
    /// The pacer's own settings.
    pub pacer: PacingConfig,
    /// Which round-trip times it uses.
    pub round_trips: RoundTrips,
    /// Whether it also uses those of segments that were outstanding, but not retransmitted, at a retransmission timeout or when the
    /// path was lost. These include the outage, and slow the sender down for as long as they are in its history.
    pub across_timeouts: bool,
}

impl Pacing {
    /// As the pacer's rules have it. The paper says nothing of timeouts; TCP's own timing ends at one.
    pub const fn new(pacer: PacingConfig) -> Self {
        let round_trips = match pacer.rules {
            Rules::Paper => RoundTrips::Net,
            Rules::Authors => RoundTrips::Echo,
        };
        Self { pacer, round_trips, across_timeouts: false }
    }
}

/// Which round trips feed the pacer. Except with `Echo`, those of segments that were sent twice never do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RoundTrips {
    /// Those of every ACK of new data, without the time for which the receiver delayed it, because
    /// the model in section 4.3 has no such time. If the driver does not report trips, those of the
    /// connection.
    Net,
    /// Those of the retransmission timer: one for each round trip, including the receiver's delay.
    Timed,
    /// Those of every ACK, from the departure of the segment that made it: duplicate ACKs, retransmitted
    /// segments, and the time for which the receiver held it included.
    Echo,
}

/// The pacer of an endpoint, and the source of its samples.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    pub(super) pacer: Pacer,
    pub(super) round_trips: RoundTrips,
    pub(super) across_timeouts: bool,
    /// The trip that the current segment ended.
    pub(super) trip: Option<Trip>,
    /// No position below this gives a sample.
    pub(super) stale: u64,
    /// By the authors' rules alone.
    pub(super) turn: Option<Turn>,
}

/// Whose turn it is by the authors' rules: a timer runs freely, and one segment leaves at each expiry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    /// The next segment leaves at once and starts the timer.
    First,
    /// Segments wait for the timer.
    Wait,
    /// The timer expired at this instant; one segment may leave at it.
    Open(Instant),
    /// The timer is stopped until the next ACK. The next segment is a retransmission and leaves at once.
    Resend,
}

impl Pace {
    pub(super) fn new(config: &Pacing) -> Self {
        let Pacing { pacer, round_trips, across_timeouts } = *config;
        let turn = (pacer.rules == Rules::Authors).then_some(Turn::First);
        Self { pacer: Pacer::new(pacer), round_trips, across_timeouts, trip: None, stale: 0, turn }
    }
}
