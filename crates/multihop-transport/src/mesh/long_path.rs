//! Several trains at a time on long paths, as far apart as stations must be that transmit at once.

use multihop_core::{Duration, Instant};

/// Number of trains under way: one, and by turns several if the path is long and several deliver more.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongPath {
    /// Length of the path to the peer, 0 if unknown.
    hops: u8,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Each train waits for the ACK of the last one, for so many further trains.
    One { left: u32 },
    /// A train leaves in each interval of `spacing`, until so many further ACKs have arrived.
    Several { spacing: Duration, left: u32, since: Instant, arrived: u64 },
}

impl LongPath {
    pub(super) const fn new(hops: u8) -> Self {
        Self { hops, phase: Phase::One { left: MEASURED } }
    }

    /// Time between two trains; `None` if a train waits for the ACK of the last one.
    pub(super) const fn spacing(&self) -> Option<Duration> {
        match self.phase {
            Phase::One { .. } => None,
            Phase::Several { spacing, .. } => Some(spacing),
        }
    }

    /// Measures again, because trains have become longer.
    pub(super) const fn on_growth(&mut self) {
        self.phase = Phase::One { left: MEASURED };
    }

    /// Records the ACK of a train, or of two if several are under way. `crossing` is the time that a train takes to the
    /// peer, and `rate` what one train at a time delivers, in segments per second; `None` if several cannot pay.
    pub(super) fn on_ack(&mut self, now: Instant, acked: u64, alone: Option<(Duration, f64)>) {
        self.phase = match (self.phase, alone) {
            (Phase::One { left: 0 }, Some((crossing, _))) if self.hops > HOPS_APART => Phase::Several {
                spacing: crossing * u64::from(HOPS_APART) / u64::from(self.hops),
                left: std::env::var("MH_N").map_or(PAIRS, |v| v.parse().unwrap()),
                since: now,
                arrived: 0,
            },
            (Phase::One { left }, _) => Phase::One { left: left.saturating_sub(1) },
            (Phase::Several { .. }, None) => Phase::One { left: UNPAID },
            (Phase::Several { left: 0, since, arrived, .. }, Some((_, rate))) => {
                let pays = arrived as f64 > rate * now.saturating_since(since).as_secs_f64();
                Phase::One { left: if pays { MEASURED } else { UNPAID } }
            }
            (Phase::Several { spacing, left, since, arrived }, Some(_)) => {
                Phase::Several { spacing, left: left - 1, since, arrived: arrived + acked }
            }
        };
    }
}

/// Number of hops between two trains that do not destroy each other's frames.
const HOPS_APART: u8 = 7;
/// Number of trains that measure how long one takes alone.
const MEASURED: u32 = 36;
/// Number of ACKs, of two trains each, between two measurements.
const PAIRS: u32 = 64;
/// Number of trains that leave alone after several at a time have delivered less.
const UNPAID: u32 = 256;
