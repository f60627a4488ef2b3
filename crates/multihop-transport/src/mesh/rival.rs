//! Competition with flows that fill the queue of a wire, as TCP does: beside them, a short queue leaves no share.
//!
//! docs/models/mesh.md has the argument.

use multihop_core::{Duration, Instant};

use super::wire::Queue;
use crate::congestion::{ALPHA, Epoch};

/// Whether a flow competes on a wire, and its window while it competes. The window grows as that of CUBIC (RFC 9438).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rival {
    /// Instant from which every ACK has reported a queue above that of `mesh`, and the window at that instant.
    long_since: Option<(Instant, f64)>,
    /// Whether segments were lost since then. Flows of `mesh` alone do not fill the queue to its end.
    has_lost: bool,
    competition: Option<Competition>,
    /// Window of the latest loss, at which the cubic function is flat; 0 before the first loss.
    flat: f64,
    /// Instant until which further losses are of the same full queue.
    reduced: Instant,
}

/// A time in which other flows fill the queue.
#[derive(Clone, Copy, Debug)]
struct Competition {
    /// Largest number of segments in flight, as that of TCP.
    window: f64,
    /// Growth since the latest loss.
    epoch: Option<Epoch>,
    /// The shortest round trip. Both ends forget theirs while others fill the queue.
    base: Duration,
    /// The smoothed round trip.
    round_trip: Duration,
}

impl Rival {
    /// Round trip of a flow that competes, with the queue.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.competition.map(|now| now.round_trip)
    }

    /// The queue as a flow that competes measures it: by round trips.
    pub(super) fn queue(&self, queue: Queue) -> Queue {
        self.competition.map_or(queue, |Competition { base, round_trip, .. }| Queue {
            newest: round_trip.saturating_sub(base),
            base,
            ..queue
        })
    }

    /// Takes a round trip.
    pub(super) fn on_round_trip(&mut self, sample: Duration) {
        if let Some(now) = &mut self.competition {
            now.base = now.base.min(sample);
            now.round_trip = (now.round_trip * (ROUND_TRIPS - 1) + sample) / ROUND_TRIPS;
        }
    }

    /// Takes the queue, and the window of a flow that does not compete. A queue that stays above that of `mesh` begins the
    /// competition after a loss. An empty queue ends the competition; returns whether it does.
    pub(super) fn on_delay(&mut self, now: Instant, queue: Queue, window: f64) -> bool {
        if self.competition.is_some() {
            let is_over = queue.is_empty();
            if is_over {
                self.competition = None;
            }
            return is_over;
        }
        if queue.newest < queue.target.max(MIN_TARGET) / 2 * 3 {
            (self.long_since, self.has_lost) = (None, false);
            return false;
        }
        let (since, before) = *self.long_since.get_or_insert((now, window));
        let round_trip = queue.base + queue.newest;
        if self.has_lost && now.saturating_since(since) >= round_trip * ROUNDS {
            // The flow has yielded since then.
            let window = window.max(before);
            self.competition = Some(Competition { window, epoch: None, base: queue.base, round_trip });
            (self.long_since, self.has_lost, self.flat) = (None, false, 0.0);
        }
        false
    }

    /// Window of a flow that competes, at most `most`. An ACK for so many segments lets the window grow; 0 segments are those
    /// of a flow without enough data, whose time without data does not count (RFC 9438, section 5.8).
    pub(super) fn window(&mut self, now: Instant, arrived: f64, most: f64) -> Option<f64> {
        let flat = self.flat;
        let Competition { window, epoch, round_trip, .. } = self.competition.as_mut()?;
        if arrived > 0.0 {
            let epoch = epoch.get_or_insert_with(|| Epoch::new(now, *window, flat));
            epoch.count(ALPHA, arrived, *window);
            *window = epoch.grown(now, *window, arrived, *round_trip).min(most);
        } else {
            *epoch = None;
        }
        Some(*window)
    }

    /// Reduces the window of a flow that competes, because a loss shows a full queue.
    pub(super) fn on_loss(&mut self, now: Instant) {
        self.has_lost |= self.long_since.is_some();
        let Some(Competition { window, epoch, round_trip, .. }) = &mut self.competition else { return };
        if now < self.reduced {
            return;
        }
        self.reduced = now + *round_trip * FULL_ROUNDS;
        // Fast convergence (RFC 9438, section 4.7).
        self.flat = if *window < self.flat { *window * (1.0 + KEPT) / 2.0 } else { *window };
        (*window, *epoch) = (*window * KEPT, None);
    }
}

/// Smallest target to which the queue is compared: the jitter of hosts, which other paths allow, is no queue.
const MIN_TARGET: Duration = Duration::from_millis(5);
/// Weight of the old mean in the smoothed round trip, plus one.
const ROUND_TRIPS: u64 = 8;
/// Number of round trips with a long queue, and a loss among them, until a flow competes.
const ROUNDS: u64 = 20;
/// Number of round trips in which a full queue counts once. Paced segments meet each full queue; those that ACKs release only
/// where the window grows.
const FULL_ROUNDS: u64 = 10;
/// Factor on the window after a loss: more than CUBIC keeps, because paced segments meet more losses.
const KEPT: f64 = 0.8;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + MS * ms
    }

    fn queue(newest: u64) -> Queue {
        Queue { newest: MS * newest, target: MS * 8, base: MS * 40 }
    }

    /// A flow that competes from 1040 ms on, with a window of 100 segments.
    fn competing() -> Rival {
        let mut rival = Rival::default();
        rival.on_delay(at(0), queue(12), 100.0);
        rival.on_loss(at(1));
        (1..=1040).for_each(|ms| assert!(!rival.on_delay(at(ms), queue(12), 100.0 - ms as f64 / 20.0)));
        assert_eq!(rival.round_trip(), Some(MS * 52));
        rival
    }

    #[test]
    fn a_flow_competes_after_twenty_round_trips_with_a_long_queue_with_its_window_before_them() {
        assert_eq!(competing().window(at(1040), 0.0, 1000.0), Some(100.0));
        let mut rival = Rival::default();
        (0..=1039).for_each(|ms| assert!(!rival.on_delay(at(ms), queue(12), 1.0)));
        rival.on_loss(at(1039));
        rival.on_delay(at(1040), queue(11), 1.0);
        rival.on_delay(at(1041), queue(12), 1.0);
        assert!(rival.window(at(1041), 1.0, 1000.0).is_none(), "the queue was short once");
    }

    #[test]
    fn a_long_queue_without_losses_is_of_flows_of_mesh() {
        let mut rival = Rival::default();
        rival.on_loss(at(0));
        (0..5000).for_each(|ms| assert!(!rival.on_delay(at(ms), queue(12), 1.0)));
        assert!(rival.window(at(5000), 1.0, 1000.0).is_none());
    }

    #[test]
    fn the_jitter_of_hosts_is_no_queue_of_others() {
        let mut rival = Rival::default();
        let jitter = Queue { target: MS * 2, ..queue(7) };
        for ms in 0..5000 {
            rival.on_loss(at(ms));
            assert!(!rival.on_delay(at(ms), jitter, 100.0));
        }
        assert!(rival.window(at(5000), 1.0, 1000.0).is_none());
    }

    #[test]
    fn an_empty_queue_ends_the_competition() {
        let mut rival = competing();
        (0..100).for_each(|_| rival.on_round_trip(MS * 40));
        assert!(rival.queue(queue(12)).newest < MS);
        assert!(rival.on_delay(at(2000), rival.queue(queue(12)), 100.0));
        assert!(rival.window(at(2000), 1.0, 1000.0).is_none());
    }

    #[test]
    fn a_full_queue_reduces_the_window_once_in_ten_round_trips() {
        let mut rival = competing();
        rival.on_loss(at(1100));
        assert_eq!(rival.window(at(1100), 0.0, 1000.0), Some(80.0));
        rival.on_loss(at(1619));
        assert!(rival.window(at(1619), 0.0, 1000.0).is_some_and(|window| window >= 80.0));
        rival.on_loss(at(1620));
        assert!(rival.window(at(1620), 0.0, 1000.0).is_some_and(|window| window < 80.0));
    }

    #[test]
    fn the_window_grows_back_to_that_of_the_loss_and_beyond() {
        let mut rival = competing();
        rival.on_loss(at(1100));
        let mut window = 0.0;
        for ms in 1100..9000 {
            window = rival.window(at(ms), 1.0, 1000.0).expect("the flow competes");
        }
        assert!(window > 100.0, "{window}");
    }

    #[test]
    fn a_loss_reduces_a_window_that_is_bounded_otherwise() {
        let mut rival = competing();
        (1040..60_000).for_each(|ms| assert!(rival.window(at(ms), 1.0, 300.0) <= Some(300.0)));
        rival.on_loss(at(60_000));
        assert_eq!(rival.window(at(60_000), 0.0, 300.0), Some(240.0));
    }

    #[test]
    fn time_without_data_does_not_let_the_window_grow() {
        let mut rival = competing();
        rival.window(at(1100), 1.0, 1000.0);
        rival.window(at(1200), 0.0, 1000.0);
        assert!(rival.window(at(61_000), 1.0, 1000.0).is_some_and(|window| window < 101.0));
    }

    #[test]
    fn a_flow_that_does_not_compete_ignores_losses() {
        let mut rival = Rival::default();
        rival.on_loss(at(1));
        assert_eq!((rival.flat, rival.reduced), (0.0, Instant::ZERO));
    }
}
