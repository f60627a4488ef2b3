//! Rules for paths that hold many segments: most of such a path is wire, so that a queue is the only cause of delay.
//!
//! docs/models/mesh.md has the argument.

use multihop_core::{Duration, Instant};

/// Evidence of whether a path is a wire, and the sender's dips: intervals at a reduced rate, in which the queue drains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    /// Queueing delay that other paths allow.
    delay: Duration,
    /// Number of hops of the path, 0 if unknown.
    hops: f64,
    state: State,
    noise: Noise,
    dips: Dips,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// Number of successive ACKs, up to the latest one, that look like those of a wire.
    Unknown(u32),
    Found,
    /// The path is no wire, whatever arrives from now on.
    Excluded,
}

/// Noise of the queueing delay: mean difference of an ACK's delay from that of the ACKs before and after it. A queue behind a
/// wire grows and shrinks steadily; stations that contend delay segments at random.
#[derive(Clone, Copy, Debug)]
struct Noise {
    /// The latest two delays, s.
    latest: [f64; 2],
    mean: f64,
}

impl Noise {
    fn add(&mut self, delay: f64) {
        let [before, middle] = self.latest;
        let difference = (middle - (before + delay) / 2.0).abs();
        self.mean += (difference - self.mean) * NOISE_WEIGHT;
        self.latest = [middle, delay];
    }
}

/// Dips: the sender reduces its rate until the queue is empty.
#[derive(Clone, Copy, Debug)]
struct Dips {
    /// The current dip.
    current: Option<Dip>,
    /// Beginning of the newest dip.
    newest: Option<Instant>,
    /// Whether the queue has reached its target since the newest dip.
    was_full: bool,
    /// Time from which arrivals show the undiminished rate.
    settled: Instant,
    /// Time from which the queue is full again, so that its distance from the target shows an error of the rate.
    refilled: Instant,
}

/// A time of reduced rate.
#[derive(Clone, Copy, Debug)]
struct Dip {
    /// Factor on the rate. If all flows dip, twice the queue drains within a shortest round trip.
    factor: f64,
    /// Time from which an empty queue ends the dip: one flow alone has emptied the queue and seen the effect.
    earliest: Instant,
    /// End of the dip, whatever the queue.
    latest: Instant,
}

/// The begin or the end of a dip.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    Begin,
    End {
        /// Whether the dip has emptied the queue.
        is_empty: bool,
    },
}

impl Wire {
    pub(super) fn new(delay: Duration) -> Self {
        let noise = Noise { latest: [0.0; 2], mean: delay.as_secs_f64() };
        Self { delay, hops: 0.0, state: State::Unknown(0), noise, dips: Dips::NEVER }
    }

    /// Excludes that the path is wire, for the rest of the connection.
    pub(super) const fn exclude(&mut self) {
        self.state = State::Excluded;
        self.dips = Dips::NEVER;
    }

    /// Whether the path is no wire for the rest of the connection.
    pub(super) fn is_excluded(&self) -> bool {
        self.state == State::Excluded
    }

    /// Begins anew on a path of this length.
    pub(super) fn set_hops(&mut self, hops: u8) {
        if self.state != State::Excluded {
            *self = Self { hops: hops.into(), ..Self::new(self.delay) };
        }
    }

    /// Whether the path counts as wire.
    pub(super) fn is_found(&self) -> bool {
        self.state == State::Found
    }

    /// Takes an ACK after the start, and returns whether it shows that the path is wire. `carried` segments arrive within the
    /// shortest round trip, 0 if the sender lacks data.
    pub(super) fn detects(&mut self, newest: Duration, base: Duration, carried: f64) -> bool {
        let State::Unknown(calm) = self.state else { return false };
        self.noise.add(newest.as_secs_f64());
        let is_long = self.holds(base, carried, MIN_CARRIED);
        let is_calm = self.noise.mean < newest.min(self.delay).as_secs_f64() / CALM;
        let calm = if is_long && is_calm { calm + 1 } else { 0 };
        self.state = if calm < CALM_ACKS { State::Unknown(calm) } else { State::Found };
        self.is_found()
    }

    /// Whether the path may be a wire although the delay is not calm: other flows cause a long queue, and the noise of the delay
    /// is small compared with it.
    pub(super) fn may_be(&self, queue: Queue, carried: f64) -> bool {
        matches!(self.state, State::Unknown(_))
            && self.holds(queue.base, carried, MIN_BESIDE_OTHERS)
            && self.noise.mean < queue.newest.as_secs_f64() / CALM
    }

    /// Counts the path as wire.
    pub(super) const fn find(&mut self) {
        self.state = State::Found;
    }

    /// Whether a path with this shortest round trip, in which so many segments arrive, holds more segments than radios do:
    /// at least this number if its length is unknown.
    fn holds(&self, base: Duration, carried: f64, least: f64) -> bool {
        base >= self.delay * ROUND_TRIP && carried >= (PER_HOP * self.hops).max(least)
    }

    /// Whether the rate is reduced now.
    pub(super) const fn is_dip(&self) -> bool {
        self.dips.current.is_some()
    }

    /// Factor on the pace.
    pub(super) fn factor(&self) -> f64 {
        self.dips.current.map_or(1.0, |dip| dip.factor)
    }

    /// Whether arrivals show the undiminished rate: not until a round trip after a dip.
    pub(super) fn is_settled(&self, now: Instant) -> bool {
        !self.is_dip() && now >= self.dips.settled
    }

    /// Whether the distance of the queue from its target shows an error of the rate.
    pub(super) fn is_refilled(&self, now: Instant) -> bool {
        !self.is_dip() && now >= self.dips.refilled
    }

    /// Notes that the sender was silent, which empties its queue.
    pub(super) fn on_silence(&mut self) {
        self.dips.was_full = false;
    }

    /// Begins or ends a dip, by the queueing delay of the newest segments and its target.
    pub(super) fn on_delay(&mut self, now: Instant, queue: Queue) -> Option<Turn> {
        if let Some(dip) = self.dips.current {
            return dip.is_over(now, queue).then(|| {
                self.dips.end(now, queue);
                Turn::End { is_empty: queue.is_empty() }
            });
        }
        self.dips.is_due(now, queue).then(|| {
            let current = Some(Dip::new(now, queue));
            self.dips = Dips { current, newest: Some(now), ..Dips::NEVER };
            Turn::Begin
        })
    }
}

impl Dips {
    const NEVER: Self = Self {
        current: None,
        newest: None,
        was_full: false,
        settled: Instant::ZERO,
        refilled: Instant::ZERO,
    };

    /// Whether a dip must begin: the queue was not empty for long, or it shrinks because another flow dips.
    fn is_due(&mut self, now: Instant, queue: Queue) -> bool {
        self.was_full |= queue.newest >= queue.target / 4 * 3;
        if self.was_full && queue.newest < queue.target / 2 {
            return true;
        }
        if queue.is_empty() {
            self.newest = Some(now);
        }
        self.newest.is_none_or(|at| now.saturating_since(at) >= DIP_EVERY)
    }

    fn end(&mut self, now: Instant, queue: Queue) {
        self.current = None;
        self.settled = now + queue.base + queue.newest;
        self.refilled = self.settled + (queue.base + queue.target) * REFILL_ROUNDS;
    }
}

impl Dip {
    fn new(now: Instant, queue: Queue) -> Self {
        let (base, twice) = (queue.base, queue.newest.max(queue.target) * 2);
        let factor = 1.0 - twice.as_secs_f64() / base.as_secs_f64().max(f64::MIN_POSITIVE);
        let earliest = now + base + twice;
        Self { factor: factor.max(DEEPEST), earliest, latest: earliest + base + twice }
    }

    fn is_over(&self, now: Instant, queue: Queue) -> bool {
        now >= self.latest || (queue.is_empty() && now >= self.earliest)
    }
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.newest < self.target / EMPTY
    }
}

/// The queue as an ACK reports it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// Queueing delay of the newest segments.
    pub(super) newest: Duration,
    /// Target of the queueing delay.
    pub(super) target: Duration,
    /// The shortest round trip.
    pub(super) base: Duration,
}

/// Delay that a flow of `rate` segments per second allows on wires, s, where it allows `delay` on other paths. Each halving of
/// the rate adds [`PER_HALVING`] of `delay`, so that the faster of two flows yields, however fast both are.
pub(super) fn allowed(delay: Duration, rate: f64) -> f64 {
    delay.as_secs_f64() * PER_HALVING * log2(1.0 + FASTEST / rate.max(SLOWEST))
}

/// The binary logarithm of a number above 0, linear between powers of two: 0.09 below the exact value at most.
fn log2(x: f64) -> f64 {
    const MANTISSA: u32 = 52;
    let bits = x.to_bits();
    let fraction = (bits & ((1 << MANTISSA) - 1)) as f64 / (1_u64 << MANTISSA) as f64;
    (bits >> MANTISSA) as f64 - 1023.0 + fraction
}

/// Fraction of the allowed delay that each halving of the rate adds.
const PER_HALVING: f64 = 0.25;
/// Rate below which the allowed delay is constant, segments per second.
const SLOWEST: f64 = 1.0;
/// Smallest number of segments in a shortest round trip on a wire for each hop: more than a radio holds, which transmits up to
/// 64 in a frame and has as many for the next one.
const PER_HOP: f64 = 128.0;
/// Smallest number of segments in a shortest round trip on a wire of unknown length.
const MIN_CARRIED: f64 = 2.0;
/// Smallest number of segments in a shortest round trip on a wire of unknown length while other flows fill its queue, and leave
/// little of its rate.
const MIN_BESIDE_OTHERS: f64 = 1.0;
/// Shortest round trip of a wire as a multiple of the allowed delay: on shorter paths a queue is most of the round trip.
const ROUND_TRIP: u64 = 4;
/// Fraction of the newest and of the allowed delay below which noise is that of a wire. Radios cause noise without a queue.
const CALM: f64 = 16.0;
/// Number of ACKs in a row that show a wire.
const CALM_ACKS: u32 = 40;
/// Weight of an ACK in the noise of the delay.
const NOISE_WEIGHT: f64 = 1.0 / 16.0;
/// Smallest factor on the rate in a dip.
const DEEPEST: f64 = 0.5;
/// Fraction of the target below which the queue counts as empty in a dip.
const EMPTY: u64 = 8;
/// Number of round trips after a dip in which the rate does not change, only the pace.
const REFILL_ROUNDS: u64 = 2;
/// Time between two dips of a flow that meets no other flow.
const DIP_EVERY: Duration = Duration::from_secs(5);
/// Rate to which halvings are counted, segments per second. From 20,000 on, arrivals look like trains,
/// which exclude a wire.
const FASTEST: f64 = 30_000.0;
/// Factor on `gain` on wires, whose delay has little noise.
pub(super) const GAIN: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn queue(newest: u64) -> Queue {
        Queue { newest: MS * newest, target: MS * 12, base: MS * 40 }
    }

    /// Follows a flow whose queue is as long at these times, ms. Returns the times at which dips begin.
    fn dips(queues: &[(u64, u64)]) -> Vec<u64> {
        let mut wire = Wire::new(MS * 5);
        let begins = |&(at, newest): &(u64, u64)| {
            (wire.on_delay(Instant::ZERO + MS * at, queue(newest)) == Some(Turn::Begin)).then_some(at)
        };
        queues.iter().filter_map(begins).collect()
    }

    #[test]
    fn a_flow_dips_when_it_has_found_a_wire_and_then_every_five_seconds() {
        let queues: Vec<_> = (0..120).map(|n| (n * 100, 12)).collect();
        assert_eq!(dips(&queues), [0, 5000, 10_000]);
    }

    #[test]
    fn a_flow_that_sees_the_dip_of_another_one_follows() {
        assert_eq!(dips(&[(0, 12), (200, 0), (400, 12), (1000, 12), (1100, 5)]), [0, 1100]);
        assert_eq!(dips(&[(0, 12), (200, 0), (400, 5), (1000, 5)]), [0], "the queue was not full");
    }

    #[test]
    fn a_dip_ends_when_the_queue_is_empty_and_one_flow_alone_has_seen_it() {
        let is_dip = |queues: &[(u64, u64)]| {
            let mut wire = Wire::new(MS * 5);
            for &(at, newest) in queues {
                wire.on_delay(Instant::ZERO + MS * at, queue(newest));
            }
            wire.is_dip()
        };
        assert!(is_dip(&[(0, 12), (63, 0)]));
        assert!(!is_dip(&[(0, 12), (64, 0)]), "a round trip and twice the queue");
        assert!(is_dip(&[(0, 12), (127, 3)]));
        assert!(!is_dip(&[(0, 12), (128, 3)]), "others fill the queue");
    }

    #[test]
    fn each_halving_of_a_slow_rate_adds_the_same_delay() {
        let allowed = |rate: f64| allowed(MS * 5, rate) * 1e3;
        for rate in [20.0, 200.0] {
            let step = allowed(rate) - allowed(2.0 * rate);
            assert!((step - 1.25).abs() < 0.1, "{step}");
        }
    }

    /// Whether the path is found to be wire by ACKs whose delays change by `noise` us around 8 ms.
    fn is_found(wire: &mut Wire, noise: u64, base: u64, carried: f64) -> bool {
        let delay = |n: u64| MS * 8 + Duration::from_micros(noise * (n % 2));
        (0..200).any(|n| wire.detects(delay(n), MS * base, carried))
    }

    #[test]
    fn a_path_is_wire_where_a_queue_is_calm_and_more_segments_arrive_than_radios_hold() {
        let is_wire = |noise: u64, hops: u8, base: u64, carried: f64| {
            let mut wire = Wire::new(MS * 5);
            wire.set_hops(hops);
            is_found(&mut wire, noise, base, carried)
        };
        assert!(is_wire(0, 0, 20, 2.0));
        assert!(!is_wire(0, 0, 20, 1.9));
        assert!(!is_wire(0, 0, 19, 2.0), "a short path");
        assert!(is_wire(0, 2, 40, 256.0));
        assert!(!is_wire(0, 2, 40, 255.0), "radios of two hops could hold as many");
        assert!(is_wire(300, 0, 40, 9.0));
        assert!(!is_wire(320, 0, 40, 9.0), "the delay changes at random");
    }

    #[test]
    fn beside_others_a_long_queue_may_have_more_noise() {
        let may_be = |noise: u64, base: u64, carried: f64| {
            let mut wire = Wire::new(MS * 5);
            assert!(!is_found(&mut wire, noise, base, carried));
            wire.may_be(Queue { base: MS * base, ..queue(32) }, carried)
        };
        assert!(may_be(2 * 900, 40, 9.0));
        assert!(!may_be(2 * 1100, 40, 9.0), "the delay changes at random");
        assert!(!may_be(2 * 900, 19, 9.0), "a short path");
        assert!(may_be(2 * 900, 40, 1.0));
        assert!(!may_be(2 * 900, 40, 0.9));
    }

    #[test]
    fn a_dip_reports_whether_it_has_emptied_the_queue() {
        let end = |newest: u64| {
            let mut wire = Wire::new(MS * 5);
            assert_eq!(wire.on_delay(Instant::ZERO, queue(12)), Some(Turn::Begin));
            wire.on_delay(Instant::ZERO + MS * 128, queue(newest))
        };
        assert_eq!(end(0), Some(Turn::End { is_empty: true }));
        assert_eq!(end(3), Some(Turn::End { is_empty: false }));
    }

    #[test]
    fn without_a_queue_nothing_shows_a_wire() {
        let mut wire = Wire::new(MS * 5);
        assert!(!(0..200).any(|_| wire.detects(Duration::ZERO, MS * 40, 40.0)));
    }

    #[test]
    fn an_excluded_path_is_never_wire() {
        let mut wire = Wire::new(MS * 5);
        assert!(is_found(&mut wire, 0, 40, 40.0));
        wire.exclude();
        wire.set_hops(0);
        assert!(!is_found(&mut wire, 0, 40, 40.0) && !wire.is_found());
    }
}
