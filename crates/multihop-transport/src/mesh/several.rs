//! Several trains at a time on long paths: as far apart as stations that transmit at once must be. The sender takes
//! turns between one train at a time, which measures the path, and several.

use multihop_core::{Duration, Instant};

/// Number of trains under way at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Several {
    /// Length of the path to the peer, 0 if unknown.
    hops: u8,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Each train waits for the ACK of the last one. The phase lasts for at least `left` more trains.
    One { left: u32 },
    /// A train leaves in each interval of `spacing`, until `left` more ACKs have arrived.
    Several { spacing: Duration, left: u32, since: Instant, arrived: u64 },
}

/// One train at a time on a path without other traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    /// Time from the departure of a train to its arrival.
    pub(super) crossing: Duration,
    /// Segments that arrive per second.
    pub(super) rate: f64,
}

impl Several {
    pub(super) const fn new(hops: u8) -> Self {
        Self { hops, phase: Phase::One { left: MEASURED } }
    }

    /// Time between the departures of two trains; `None` if a train waits for the ACK of the last one.
    pub(super) const fn spacing(&self) -> Option<Duration> {
        match self.phase {
            Phase::One { .. } => None,
            Phase::Several { spacing, .. } => Some(spacing),
        }
    }

    /// Measures again: trains have become longer than ever, or have ended.
    pub(super) const fn restart(&mut self) {
        self.phase = Phase::One { left: MEASURED };
    }

    /// Records an ACK that names `acked` new segments. `alone` is what one train at a time reaches; `None` if several cannot pay.
    pub(super) fn on_ack(&mut self, now: Instant, acked: u64, alone: Option<Alone>) {
        self.phase = match (self.phase, alone) {
            (Phase::One { left: 0 }, Some(alone)) if self.hops > HOPS_APART => {
                let spacing = alone.crossing * u64::from(HOPS_APART) / u64::from(self.hops);
                Phase::Several { spacing, left: PAIRS, since: now, arrived: 0 }
            }
            (Phase::One { left }, _) => Phase::One { left: left.saturating_sub(1) },
            (Phase::Several { .. }, None) => Phase::One { left: MEASURED },
            (Phase::Several { left: 0, since, arrived, .. }, Some(alone)) => {
                let pays = arrived as f64 > alone.rate * now.saturating_since(since).as_secs_f64();
                Phase::One { left: if pays { MEASURED } else { UNPAID } }
            }
            (Phase::Several { spacing, left, since, arrived }, Some(_)) => {
                Phase::Several { spacing, left: left - 1, since, arrived: arrived + acked }
            }
        };
    }
}

/// Number of hops between two trains: carrier sense reaches 2.75 hops, so that a station six hops away does not disturb,
/// and the ACK in the other direction needs room.
const HOPS_APART: u8 = 7;
/// Number of trains that leave one at a time before several do. The last complete mean of 16 trains has none of the phase
/// before. Other flows obtain the air in this time, and show by longer round trips that the path is not idle.
const MEASURED: u32 = 36;
/// Number of ACKs, of two trains each, in a phase of several trains.
const PAIRS: u32 = 64;
/// Number of trains that leave one at a time after several at a time have delivered less.
const UNPAID: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Alone = Alone { crossing: Duration::from_millis(36), rate: 600.0 };

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Ends the first phase of a path with so many hops.
    fn measured(hops: u8) -> Several {
        let mut several = Several::new(hops);
        (0..=MEASURED).for_each(|_| several.on_ack(at(0), 24, Some(ALONE)));
        several
    }

    /// Number of trains that leave one at a time after a phase of 4 s with several trains on the path, in which each ACK reports
    /// `acked` segments.
    fn after_a_phase_with(acked: u64) -> u32 {
        let mut several = measured(9);
        (0..=PAIRS).for_each(|ack| {
            assert!(several.spacing().is_some());
            several.on_ack(at(4000 * u64::from(ack) / u64::from(PAIRS)), acked, Some(ALONE));
        });
        let mut trains = 0;
        while several.spacing().is_none() {
            several.on_ack(at(5000), 24, Some(ALONE));
            trains += 1;
        }
        trains - 1
    }

    #[test]
    fn trains_are_as_far_apart_as_a_train_covers_seven_hops() {
        assert_eq!(measured(9).spacing(), Some(Duration::from_millis(28)));
        assert_eq!(measured(7).spacing(), None, "the path has no room for two trains");
        assert_eq!(measured(0).spacing(), None, "the length of the path is unknown");
    }

    #[test]
    fn one_train_at_a_time_measures_the_path_again() {
        assert_eq!(after_a_phase_with(48), MEASURED);
        assert_eq!(after_a_phase_with(36), UNPAID, "600 segments per second arrive one at a time, too");
    }

    #[test]
    fn several_trains_need_a_path_without_other_traffic() {
        let mut several = Several::new(9);
        (0..1000).for_each(|_| several.on_ack(at(0), 24, None));
        assert_eq!(several.spacing(), None);
        several.on_ack(at(0), 24, Some(ALONE));
        assert!(several.spacing().is_some());
        several.restart();
        assert_eq!(several.spacing(), None, "longer trains take longer");
    }
}
