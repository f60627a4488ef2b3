//! Competition with flows that fill the queue of a wire, as TCP does: a flow that kept the queue short would get no share.
//!
//! docs/models/mesh.md has the argument.

use multihop_core::{Duration, Instant};

use super::lowest::Lowest;
use super::wire::Queue;
use crate::congestion::{ALPHA, Epoch};

/// Whether a flow competes on a wire, and its window while it competes. The window grows as that of CUBIC (RFC 9438).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rival {
    signs: Signs,
    competition: Option<Competition>,
    /// Window of the latest loss, at which the cubic function is flat; 0 before the first loss.
    flat: f64,
    /// Instant until which further losses belong to the latest overflow of the queue, and do not reduce the window again.
    reduced: Instant,
}

/// Signs that other flows fill the queue, as long as the flow does not compete.
#[derive(Clone, Copy, Debug)]
struct Signs {
    /// Instant since which the queue has been longer than [`ABOVE`] eighths of its target, except during dips and for
    /// [`REFILLED`] after each.
    above_since: Option<Instant>,
    /// Instant until which a short queue may be the effect of a dip.
    dips_until: Instant,
    /// Instant since which the queue has been [long](Queue::is_long), except during dips.
    long_since: Option<Instant>,
    /// Whether segments were lost since `long_since`. Flows of `mesh` alone do not fill the queue until segments are lost.
    has_lost: bool,
    /// Whether a dip since `long_since` has not emptied the queue. Flows of `mesh` alone would have dipped, too, and emptied it.
    has_full_dip: bool,
    /// Shortest time between two segments of the flow, on average over a round trip: while the queue was within its target,
    /// and when the wire was found.
    gap: Lowest<Duration>,
}

/// State of a flow that competes.
#[derive(Clone, Copy, Debug)]
struct Competition {
    /// Congestion window: largest number of segments in flight.
    window: f64,
    /// Growth of the window since the latest loss; `None` until data arrives after the loss, or after a time without data.
    epoch: Option<Epoch>,
    /// Shortest round trip, which a flow that competes does not forget. Other estimates of the shortest delay forget it while
    /// other flows fill the queue.
    base: Duration,
    /// The smoothed round trip.
    round_trip: Duration,
}

impl Rival {
    /// Smoothed round trip of a flow that competes, queue included; `None` if the flow does not compete.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.competition.map(|now| now.round_trip)
    }

    /// Returns the queue that round trips show if the flow competes, and otherwise `queue`.
    pub(super) fn queue(&self, queue: Queue) -> Queue {
        self.competition.map_or(queue, |Competition { base, round_trip, .. }| Queue {
            newest: round_trip.saturating_sub(base),
            base,
            ..queue
        })
    }

    /// Remembers the rate at which the wire was found, `window` segments in each round trip of `base`: the queue may never be
    /// within its target.
    pub(super) fn on_start(&mut self, now: Instant, base: Duration, window: f64) {
        self.signs.remember(now, base, window);
    }

    /// Updates the shortest and the smoothed round trip of a flow that competes.
    pub(super) fn on_round_trip(&mut self, sample: Duration) {
        if let Some(now) = &mut self.competition {
            now.base = now.base.min(sample);
            now.round_trip = (now.round_trip * (ROUND_TRIPS - 1) + sample) / ROUND_TRIPS;
        }
    }

    /// Looks for signs of other flows in the queue that an ACK reports. `window` is the window of this flow.
    pub(super) fn on_delay(&mut self, now: Instant, queue: Queue, window: f64) {
        if self.competition.is_none() {
            self.signs.add(now, queue, window);
        }
    }

    /// Notes the end of a dip, and whether the dip has emptied the queue.
    pub(super) fn on_dip(&mut self, now: Instant, is_empty: bool) {
        self.signs.dips_until = now + REFILLED;
        self.signs.has_full_dip |= !is_empty && self.signs.long_since.is_some();
    }

    /// Begins to compete if other flows fill the queue, and returns whether the flow competes. If the path is not found to be
    /// a wire, only a full queue shows other flows, and only if the queue has been within its target since start-up: until
    /// then, it may be the queue of the flow's own start.
    pub(super) fn begins(&mut self, now: Instant, queue: Queue, window: f64, is_wire: bool) -> bool {
        let signs = &self.signs;
        let may_be_of_others = is_wire || signs.gap.get().is_some();
        let has_others = || {
            (may_be_of_others && signs.is_full(now, queue))
                || (is_wire && signs.others_stay(now, queue, window))
        };
        if self.competition.is_none() && has_others() {
            // The flow has yielded to the others. Its former rate needs more segments in flight than before, because the
            // queue is long now.
            let round_trip = queue.base + queue.newest;
            let window = self.signs.window(round_trip).max(window);
            self.competition = Some(Competition { window, epoch: None, base: queue.base, round_trip });
            (self.signs, self.flat) = (Signs::NONE, 0.0);
        }
        self.competition.is_some()
    }

    /// Ends the competition if the queue is empty. Returns whether a competition ended.
    pub(super) fn ends(&mut self, queue: Queue) -> bool {
        self.competition.take_if(|_| queue.is_empty()).is_some()
    }

    /// Window of a flow that competes, at most `most`; `None` if the flow does not compete. An ACK for `arrived` segments lets
    /// the window grow. If the flow lacks data, `arrived` is 0: time without data does not let the window grow (RFC 9438,
    /// section 5.8).
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

    /// Reduces the window of a flow that competes. Otherwise the loss counts as a sign of other flows if the queue is long.
    pub(super) fn on_loss(&mut self, now: Instant) {
        self.signs.has_lost |= self.signs.long_since.is_some();
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

impl Default for Rival {
    fn default() -> Self {
        Self { signs: Signs::NONE, competition: None, flat: 0.0, reduced: Instant::ZERO }
    }
}

impl Queue {
    /// Whether the queueing delay is at least 1.5 times its target, and longer than the jitter of hosts.
    fn is_long(self) -> bool {
        self.newest >= self.target.max(MIN_TARGET) / 2 * 3
    }
}

impl Signs {
    const NONE: Self = Self {
        above_since: None,
        dips_until: Instant::ZERO,
        long_since: None,
        has_lost: false,
        has_full_dip: false,
        gap: Lowest::new(MEMORY),
    };

    /// Remembers the rate of the flow: `window` segments in each round trip of `base`.
    fn remember(&mut self, now: Instant, base: Duration, window: f64) {
        self.gap.add(now, Duration::from_secs_f64(base.as_secs_f64() / window));
    }

    fn add(&mut self, now: Instant, queue: Queue, window: f64) {
        if queue.newest <= queue.target {
            self.remember(now, queue.base, window);
        }
        if queue.newest > queue.target / 8 * ABOVE {
            self.above_since.get_or_insert(now);
        } else if now >= self.dips_until {
            self.above_since = None;
        }
        if queue.is_long() {
            self.long_since.get_or_insert(now);
        } else {
            (self.long_since, self.has_lost, self.has_full_dip) = (None, false, false);
        }
    }

    /// Whether the queue has been long for [`ROUNDS`] round trips, and segments were lost in that time.
    fn is_full(&self, now: Instant, queue: Queue) -> bool {
        self.has_lost && self.is_long_for_rounds(now, queue)
    }

    fn is_long_for_rounds(&self, now: Instant, queue: Queue) -> bool {
        has_lasted(self.long_since, now, (queue.base + queue.newest) * ROUNDS)
    }

    /// Whether other flows keep their rates where flows of `mesh` would yield: a dip has not emptied the queue, or this flow
    /// alone yields. Only a flow that had at least [`MANY`] segments in a round trip can decide this.
    fn others_stay(&self, now: Instant, queue: Queue, window: f64) -> bool {
        let before = self.window(queue.base);
        let yields = || has_lasted(self.above_since, now, CONVERGED) && window < before * YIELDED;
        before >= MANY && ((self.has_full_dip && self.is_long_for_rounds(now, queue)) || yields())
    }

    /// Window that the remembered rate of the flow needs with this round trip; 0 if the flow remembers no rate.
    fn window(&self, round_trip: Duration) -> f64 {
        self.gap.get().map_or(0.0, |gap| round_trip.as_secs_f64() / gap.as_secs_f64().max(SHORTEST_GAP))
    }
}

fn has_lasted(since: Option<Instant>, now: Instant, time: Duration) -> bool {
    since.is_some_and(|at| now.saturating_since(at) >= time)
}

/// Smallest target with which the queue is compared, so that the jitter of hosts does not count as a queue.
const MIN_TARGET: Duration = Duration::from_millis(5);
/// Inverse of the weight of a new sample in the smoothed round trip.
const ROUND_TRIPS: u64 = 8;
/// Shortest time between two segments that counts, s, so that the window stays finite.
const SHORTEST_GAP: f64 = 1e-9;
/// Shortest time for which a flow remembers its rate.
const MEMORY: Duration = Duration::from_secs(10);
/// Number of round trips for which a queue must be long, with a sign of other flows in that time, before a flow competes.
const ROUNDS: u64 = 20;
/// Length of a queue in eighths of its target, above which flows of `mesh` alone do not keep the queue for long.
const ABOVE: u64 = 9;
/// Time in which flows of `mesh` come to equal rates while the queue is longer than its target.
const CONVERGED: Duration = Duration::from_secs(10);
/// Time that other flows may need to fill the queue again after a dip.
const REFILLED: Duration = Duration::from_secs(1);
/// Smallest window with which flows of `mesh` come to equal rates within [`CONVERGED`], segments.
const MANY: f64 = 8.0;
/// Fraction of its former window: a flow that has less than this left after [`CONVERGED`] has yielded to flows that do not
/// yield.
const YIELDED: f64 = 0.5;
/// Number of round trips in which losses reduce the window once. A paced flow loses segments each time that the queue is full; a
/// flow whose segments are released by ACKs loses some only when its window grows.
const FULL_ROUNDS: u64 = 10;
/// Factor on the window after a loss: larger than the 0.7 of CUBIC, because a paced flow has more losses.
const KEPT: f64 = 0.875;

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

    /// Reports a queueing delay of `newest` ms at the time `ms`, and returns whether the flow competes.
    fn meets(rival: &mut Rival, ms: u64, newest: u64, window: f64) -> bool {
        rival.on_delay(at(ms), queue(newest), window);
        rival.begins(at(ms), queue(newest), window, true)
    }

    /// A flow that competes from 1040 ms on. Before, the flow had 100 segments in each round trip of 40 ms.
    fn competing() -> Rival {
        let mut rival = Rival::default();
        meets(&mut rival, 0, 8, 100.0);
        meets(&mut rival, 0, 12, 100.0);
        rival.on_loss(at(1));
        (1..1040).for_each(|ms| assert!(!meets(&mut rival, ms, 12, 80.0)));
        assert!(meets(&mut rival, 1040, 12, 80.0));
        assert_eq!(rival.round_trip(), Some(MS * 52));
        rival
    }

    #[test]
    fn a_flow_competes_after_twenty_round_trips_with_a_long_queue_at_its_rate_before_them() {
        // 100 segments in 40 ms are 130 in 52 ms.
        assert_eq!(competing().window(at(1040), 0.0, 1000.0).map(f64::round), Some(130.0));
        let mut rival = Rival::default();
        (0..=1039).for_each(|ms| assert!(!meets(&mut rival, ms, 12, 100.0)));
        rival.on_loss(at(1039));
        meets(&mut rival, 1040, 11, 100.0);
        assert!(!meets(&mut rival, 1041, 12, 100.0), "the queue was short once");
    }

    #[test]
    fn a_dip_that_leaves_a_long_queue_shows_others() {
        let competes = |before: f64| {
            let mut rival = Rival::default();
            meets(&mut rival, 0, 8, before);
            meets(&mut rival, 1, 12, before);
            rival.on_dip(at(1), false);
            meets(&mut rival, 1041, 12, before)
        };
        assert!(competes(8.5));
        assert!(!competes(7.5), "flows of mesh with so few segments follow slowly");
    }

    #[test]
    fn a_long_queue_without_losses_is_of_flows_of_mesh() {
        let mut rival = Rival::default();
        rival.on_loss(at(0));
        assert!((0..20_000).all(|ms| !meets(&mut rival, ms, 12, 1.0)));
    }

    #[test]
    fn a_flow_that_yields_half_of_its_window_for_longer_than_mesh_needs_competes() {
        let yields_to = |least: f64, seconds: u64| {
            let mut rival = Rival::default();
            meets(&mut rival, 0, 8, 100.0);
            (1..=seconds * 1000).any(|ms| meets(&mut rival, ms, 11, (100.0 - ms as f64 / 100.0).max(least)))
        };
        assert!(yields_to(49.0, 11));
        assert!(!yields_to(51.0, 11), "more than half is left");
        assert!(!yields_to(49.0, 10), "flows of mesh come to equal rates");
        let mut unknown = Rival::default();
        unknown.on_delay(at(0), queue(12), 100.0);
        unknown.on_loss(at(0));
        assert!(!unknown.begins(at(2000), queue(12), 100.0, false), "the queue is perhaps that of the start");
        unknown.on_delay(at(2001), queue(8), 100.0);
        unknown.on_delay(at(1), queue(12), 100.0);
        assert!(!unknown.begins(at(20_000), queue(12), 10.0, false), "the path is perhaps no wire");
    }

    #[test]
    fn dips_do_not_hide_that_others_stay() {
        let competes = |short_ms: u64| {
            let mut rival = Rival::default();
            meets(&mut rival, 0, 8, 100.0);
            // After a dip others need time to fill the queue.
            (1..=11_000).any(|ms| {
                if ms % 5000 == 0 {
                    rival.on_dip(at(ms), true);
                }
                meets(&mut rival, ms, if ms >= 5000 && ms % 5000 < short_ms { 8 } else { 11 }, 49.0)
            })
        };
        assert!(competes(1000));
        assert!(!competes(1001), "flows of mesh that have come to rest");
    }

    #[test]
    fn a_flow_whose_queue_was_always_long_takes_back_the_rate_of_its_start() {
        let competes_after = |start: Option<f64>| {
            let mut rival = Rival::default();
            if let Some(window) = start {
                rival.on_start(at(0), MS * 40, window);
            }
            (1..=10_001)
                .any(|ms| meets(&mut rival, ms, 11, 10.0))
                .then(|| rival.window(at(10_001), 0.0, 1000.0))
        };
        assert_eq!(competes_after(Some(80.0)).flatten().map(f64::round), Some(102.0));
        assert_eq!(competes_after(Some(19.0)), None, "more than half is left");
        assert_eq!(competes_after(None), None);
    }

    #[test]
    fn a_window_of_long_ago_does_not_return() {
        let mut rival = Rival::default();
        meets(&mut rival, 0, 8, 500.0);
        [11_000, 22_000].into_iter().for_each(|ms| assert!(!meets(&mut rival, ms, 8, 100.0)));
        meets(&mut rival, 23_000, 12, 100.0);
        rival.on_loss(at(23_000));
        assert!(meets(&mut rival, 25_000, 12, 50.0));
        assert_eq!(rival.window(at(25_000), 0.0, 1000.0).map(f64::round), Some(130.0));
    }

    #[test]
    fn the_jitter_of_hosts_is_no_queue_of_others() {
        let mut rival = Rival::default();
        let jitter = Queue { target: MS * 2, ..queue(7) };
        for ms in 0..9000 {
            rival.on_loss(at(ms));
            rival.on_delay(at(ms), jitter, 100.0);
            assert!(!rival.begins(at(ms), jitter, 100.0, true));
        }
    }

    #[test]
    fn an_empty_queue_ends_the_competition() {
        let mut rival = competing();
        (0..100).for_each(|_| rival.on_round_trip(MS * 40));
        assert!(rival.queue(queue(12)).newest < MS);
        assert!(rival.ends(rival.queue(queue(12))));
        assert!(rival.window(at(2000), 1.0, 1000.0).is_none());
    }

    #[test]
    fn a_full_queue_reduces_the_window_once_in_ten_round_trips() {
        let mut rival = competing();
        rival.on_loss(at(1100));
        assert_eq!(rival.window(at(1100), 0.0, 1000.0), Some(130.0 * KEPT));
        rival.on_loss(at(1619));
        assert_eq!(rival.window(at(1619), 0.0, 1000.0), Some(130.0 * KEPT));
        rival.on_loss(at(1620));
        assert_eq!(rival.window(at(1620), 0.0, 1000.0), Some(130.0 * KEPT * KEPT));
    }

    #[test]
    fn the_window_grows_back_to_that_of_the_loss_and_beyond() {
        let mut rival = competing();
        rival.on_loss(at(1100));
        let mut window = 0.0;
        for ms in 1100..9000 {
            window = rival.window(at(ms), 1.0, 1000.0).expect("the flow competes");
        }
        assert!(window > 130.0, "{window}");
    }

    #[test]
    fn a_loss_reduces_a_window_that_is_bounded_otherwise() {
        let mut rival = competing();
        (1040..60_000).for_each(|ms| assert!(rival.window(at(ms), 1.0, 300.0) <= Some(300.0)));
        rival.on_loss(at(60_000));
        assert_eq!(rival.window(at(60_000), 0.0, 300.0), Some(300.0 * KEPT));
    }

    #[test]
    fn time_without_data_does_not_let_the_window_grow() {
        let mut rival = competing();
        rival.window(at(1100), 1.0, 1000.0);
        rival.window(at(1200), 0.0, 1000.0);
        assert!(rival.window(at(61_000), 1.0, 1000.0).is_some_and(|window| window < 131.0));
    }

    #[test]
    fn a_flow_that_does_not_compete_ignores_losses() {
        let mut rival = Rival::default();
        rival.on_loss(at(1));
        assert_eq!((rival.flat, rival.reduced), (0.0, Instant::ZERO));
    }
}
