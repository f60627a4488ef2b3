//! Competition with flows that fill the queue of a wire, as TCP does: beside them, a short queue leaves no share.
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

/// Signs that other flows fill the queue, of a flow that does not compete.
#[derive(Clone, Copy, Debug)]
struct Signs {
    /// Instant from which the queue has been [above](ABOVE) its target, but in dips and shortly after them.
    above_since: Option<Instant>,
    /// Instant until which the queue may be short because of a dip.
    dips_until: Instant,
    /// Instant from which the queue has been long outside dips.
    long_since: Option<Instant>,
    /// Whether segments were lost since then. Flows of `mesh` alone do not fill the queue to its end.
    has_lost: bool,
    /// Whether a dip ended with a queue since then. Flows of `mesh` alone follow a dip.
    has_full_dip: bool,
    /// Shortest time between two segments of the flow while the queue was within its target, or during the start.
    gap: Lowest<Duration>,
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

    /// Takes the window with which segments arrived during the start, in which the queue may never have been within its target.
    pub(super) fn on_start(&mut self, now: Instant, base: Duration, window: f64) {
        self.signs.remember(now, base, window);
    }

    /// Takes a round trip.
    pub(super) fn on_round_trip(&mut self, sample: Duration) {
        if let Some(now) = &mut self.competition {
            now.base = now.base.min(sample);
            now.round_trip = (now.round_trip * (ROUND_TRIPS - 1) + sample) / ROUND_TRIPS;
        }
    }

    /// Takes the queue that an ACK reports, and the window of the flow.
    pub(super) fn on_delay(&mut self, now: Instant, queue: Queue, window: f64) {
        if self.competition.is_none() {
            self.signs.add(now, queue, window);
        }
    }

    /// Notes the end of a dip.
    pub(super) fn on_dip(&mut self, now: Instant, is_empty: bool) {
        self.signs.dips_until = now + REFILLED;
        self.signs.has_full_dip |= !is_empty && self.signs.long_since.is_some();
    }

    /// Begins to compete if others fill the queue, and returns whether the flow competes. Only on a wire does the queue alone
    /// show others; elsewhere a queue that is full to its end must show them, too, and that of the flow's own start must have
    /// been short since.
    pub(super) fn begins(&mut self, now: Instant, queue: Queue, window: f64, is_wire: bool) -> bool {
        let signs = &self.signs;
        let may_be_of_others = is_wire || signs.gap.get().is_some();
        let has_others = || {
            (may_be_of_others && signs.is_full(now, queue))
                || (is_wire && signs.others_stay(now, queue, window))
        };
        if self.competition.is_none() && has_others() {
            // The flow has yielded since then. Its former rate takes more segments in flight now that the queue is long.
            let round_trip = queue.base + queue.newest;
            let window = self.signs.window(round_trip).max(window);
            self.competition = Some(Competition { window, epoch: None, base: queue.base, round_trip });
            (self.signs, self.flat) = (Signs::NONE, 0.0);
        }
        self.competition.is_some()
    }

    /// Ends the competition if the queue is empty, and returns whether it ends now.
    pub(super) fn ends(&mut self, queue: Queue) -> bool {
        self.competition.take_if(|_| queue.is_empty()).is_some()
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
    /// Whether the queue is much longer than flows of `mesh` want it, and than the jitter of hosts looks.
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

    /// Remembers how fast the flow is.
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

    /// Whether the queue was full to its end. On other paths than wires, only this shows others.
    fn is_full(&self, now: Instant, queue: Queue) -> bool {
        self.has_lost && self.is_long_for_rounds(now, queue)
    }

    fn is_long_for_rounds(&self, now: Instant, queue: Queue) -> bool {
        has_lasted(self.long_since, now, (queue.base + queue.newest) * ROUNDS)
    }

    /// Whether others keep their rates where flows of `mesh` would yield: those do on a wire whose round trip holds many
    /// segments.
    fn others_stay(&self, now: Instant, queue: Queue, window: f64) -> bool {
        let before = self.window(queue.base);
        let yields = || has_lasted(self.above_since, now, CONVERGED) && window < before * YIELDED;
        before >= MANY && ((self.has_full_dip && self.is_long_for_rounds(now, queue)) || yields())
    }

    /// Window that the rate of the flow before others made the queue longer than its target takes with this round trip, 0 if there
    /// is none.
    fn window(&self, round_trip: Duration) -> f64 {
        self.gap.get().map_or(0.0, |gap| round_trip.as_secs_f64() / gap.as_secs_f64().max(SHORTEST_GAP))
    }
}

fn has_lasted(since: Option<Instant>, now: Instant, time: Duration) -> bool {
    since.is_some_and(|at| now.saturating_since(at) >= time)
}

/// Smallest target to which the queue is compared: the jitter of hosts, which other paths allow, is no queue.
const MIN_TARGET: Duration = Duration::from_millis(5);
/// Weight of the old mean in the smoothed round trip, plus one.
const ROUND_TRIPS: u64 = 8;
/// Shortest time between two segments, s, so that the window stays finite.
const SHORTEST_GAP: f64 = 1e-9;
/// Shortest time for which a flow remembers how fast it was.
const MEMORY: Duration = Duration::from_secs(10);
/// Number of round trips with a long queue, and a sign of others among them, until a flow competes.
const ROUNDS: u64 = 20;
/// Eighths of its target above which a queue does not come to rest.
const ABOVE: u64 = 9;
/// Time with a queue above its target in which flows of `mesh` come to equal rates.
const CONVERGED: Duration = Duration::from_secs(10);
/// Time after a dip in which others may need to fill the queue again.
const REFILLED: Duration = Duration::from_secs(1);
/// Window with which flows of `mesh` come to equal rates in this time, segments.
const MANY: f64 = 8.0;
/// Part of its window to which a flow has yielded after this time if others do not yield.
const YIELDED: f64 = 0.5;
/// Number of round trips in which a full queue counts once. Paced segments meet each full queue; those that ACKs release only
/// where the window grows.
const FULL_ROUNDS: u64 = 10;
/// Factor on the window after a loss: more than CUBIC keeps, because paced segments meet more losses.
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

    /// Reports a queue of so many ms, and returns whether the flow competes.
    fn meets(rival: &mut Rival, ms: u64, newest: u64, window: f64) -> bool {
        rival.on_delay(at(ms), queue(newest), window);
        rival.begins(at(ms), queue(newest), window, true)
    }

    /// A flow that competes from 1040 ms on, with a window of 100 segments.
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
