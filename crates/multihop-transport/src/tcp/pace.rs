//! Settings and state of adaptive pacing.

use multihop_core::Instant;
use multihop_core::settings::{Field, Settings, Visitor};

use crate::event::Trip;
use crate::pacing::{Pacer, PacingConfig, Rules};

/// Adaptive pacing of a connection (ElRakabawy, Klemm and Lindemann).
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct Pacing {
    /// The pacer's own settings.
    #[key(with = Self::pacer_keys)]
    #[key(
        name = "clock",
        help = "Source of the one-way delay for pacing: half of the round-trip time (own), or the measurement of a receiver \
                whose clock is synchronised; by default as the kind requires.",
        with = Self::clock_key
    )]
    pub pacer: PacingConfig,
    /// Round-trip times that adaptive pacing uses: those of every ACK of new data without the time for which the receiver held it
    /// (net), those that the retransmission timer measures (timed), or those of every ACK from the departure of the segment that
    /// made it (echo).
    #[key(name = "ap_rtt")]
    pub round_trips: RoundTrips,
    /// Whether round-trip times of segments that were outstanding at a retransmission timeout, but not retransmitted, are used
    /// for pacing as well. An outage then slows the sender down for as long as it is in the history.
    #[key(name = "ap_across_timeouts")]
    pub across_timeouts: bool,
}

impl Pacing {
    /// Settings of pacing, with the source of round trips that the rules of `pacer` use.
    pub const fn new(pacer: PacingConfig) -> Self {
        let round_trips = match pacer.rules {
            Rules::Paper => RoundTrips::Net,
            Rules::Authors => RoundTrips::Echo,
        };
        Self { pacer, round_trips, across_timeouts: false }
    }

    /// Visits the keys of the pacer. The chosen rules determine the source of round trips.
    fn pacer_keys(&mut self, _: &'static str, _: &str, keys: &mut dyn Visitor) {
        let before = self.pacer.rules;
        self.pacer.keys(keys);
        if self.pacer.rules != before {
            self.round_trips = Self::new(self.pacer).round_trips;
        }
    }

    fn clock_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        keys.about(help).field(name, &mut self.pacer.clock, ());
    }
}

/// Which round trips feed the pacer. Except with `Echo`, those of segments that were sent twice never do.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum RoundTrips {
    /// Round trips of every ACK of new data, without the time for which the receiver delayed it, because the model in
    /// section 4.3 has no such time. If the driver does not report trips, the round trips of the connection.
    Net,
    /// Round trips of the retransmission timer: one sample for each round trip, including the receiver's delay.
    Timed,
    /// Round trips of every ACK, from the departure of the segment that caused it. Duplicate ACKs, retransmitted
    /// segments, and the time for which the receiver held the ACK are included.
    Echo,
}

/// Pacer of an endpoint, with the source of its round-trip samples.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    pub(super) pacer: Pacer,
    pub(super) round_trips: RoundTrips,
    pub(super) across_timeouts: bool,
    /// The driver's measurement of the round trip that the current segment completed.
    pub(super) trip: Option<Trip>,
    /// Sequence position below which segments give no round-trip samples, because they may have been retransmitted.
    pub(super) stale: u64,
    /// State of the timer by the authors' rules; `None` by the paper's.
    pub(super) turn: Option<Turn>,
}

/// State of pacing by the rules of the authors' implementation: a timer runs freely, and one segment may
/// leave at each expiry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    /// The next segment leaves at once and starts the timer.
    First,
    /// Segments wait for the timer.
    Wait,
    /// The timer expired at this instant, and one segment may leave for this expiry.
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
