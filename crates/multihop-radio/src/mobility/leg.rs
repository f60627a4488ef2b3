use multihop_core::{Duration, Instant};

use crate::grid::Point;

/// A straight movement at constant speed, or a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Instant at which the node starts.
    pub start: Instant,
    /// Point at which the leg starts.
    pub from: Point,
    /// Instant at which the node arrives; [`Instant::FAR_FUTURE`] if it stays for ever.
    pub end: Instant,
    /// Point at which the leg ends.
    pub to: Point,
}

/// Instants at which two nodes enter and leave each other's range.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Crossings {
    /// First instant within range; `None` if the nodes are within range before or do not come into range.
    pub enters: Option<Instant>,
    /// The first instant out of range, after being in range.
    pub leaves: Option<Instant>,
}

/// Instants at which two nodes on these legs enter or leave a distance of `range` metres, later than `now`
/// and not later than `until` or the end of either leg. Exact to the nanosecond: at `enters` the distance by
/// [`Leg::at`] is at most `range`, and one nanosecond earlier it is larger; the converse holds for `leaves`.
/// A contact that begins and ends between two nanoseconds is not reported.
pub fn crossings(a: &Leg, b: &Leg, range: f64, now: Instant, until: Instant) -> Crossings {
    let from = now.max(a.start).max(b.start);
    let span = until.min(a.end).min(b.end).saturating_since(from).as_nanos();
    let approach = Approach::new(a, b, from);
    let nearest = approach.nearest().min(span);
    let within = |nanos| {
        let at = from + Duration::from_nanos(nanos);
        a.at(at).distance(b.at(at)) <= range
    };
    let mut crossings = Crossings::default();
    if !within(nearest) {
        return crossings;
    }
    let (enter, leave) = approach.estimates(range);
    let instant = |nanos| Some(from + Duration::from_nanos(nanos));
    if !within(0) {
        crossings.enters = instant(first(0, nearest, enter, within));
    }
    if !within(span) {
        crossings.leaves = instant(first(nearest, span, leave, |nanos| !within(nanos)));
    }
    crossings
}

impl Leg {
    /// The position of the node at `now`.
    #[inline]
    pub fn at(&self, now: Instant) -> Point {
        if now <= self.start || self.stays() {
            return self.from;
        }
        if now >= self.end {
            return self.to;
        }
        self.on_the_way(now)
    }

    /// Position at an instant within the leg, not before its start and before its end.
    #[inline]
    pub(super) fn on_the_way(&self, now: Instant) -> Point {
        debug_assert!(self.start <= now && now < self.end && (!self.stays() || self.from == self.to));
        let share = float(now - self.start) / float(self.end - self.start);
        Point { x: between(self.from.x, self.to.x, share), y: between(self.from.y, self.to.y, share) }
    }

    /// Velocity of the node in m/s: components to the east (x) and to the north.
    pub fn velocity(&self) -> (f64, f64) {
        if self.stays() || self.end <= self.start {
            return (0.0, 0.0);
        }
        let seconds = (self.end - self.start).as_secs_f64();
        ((self.to.x - self.from.x) / seconds, (self.to.y - self.from.y) / seconds)
    }

    /// A pause at a place; it is endless if `end` is [`Instant::FAR_FUTURE`].
    pub(super) fn pause(start: Instant, place: Point, end: Instant) -> Self {
        Self { start, from: place, end, to: place }
    }

    /// Leg from `from` to `to` at `speed` m/s, at least a nanosecond long.
    ///
    /// A trip longer than [`LONGEST_TRIP`] is cut short.
    pub(super) fn trip(start: Instant, from: Point, to: Point, speed: f64) -> Self {
        let seconds = from.distance(to) / speed;
        if seconds > LONGEST_TRIP {
            let share = LONGEST_TRIP / seconds;
            let to = Point { x: between(from.x, to.x, share), y: between(from.y, to.y, share) };
            return Self { start, from, end: start + Duration::from_secs_f64(LONGEST_TRIP), to };
        }
        let time = Duration::from_secs_f64(seconds).max(Duration::from_nanos(1));
        Self { start, from, end: start + time, to }
    }

    fn stays(&self) -> bool {
        self.end == Instant::FAR_FUTURE
    }
}

/// Interpolates between `a` and `b`. Rounding never leads beyond either of them.
fn between(a: f64, b: f64, share: f64) -> f64 {
    let place = a + (b - a) * share;
    lower(higher(place, lower(a, b)), higher(a, b))
}

/// The lower of two numbers in one instruction: unlike `min`, it ignores NaN. Called for each frame and
/// neighbour.
fn lower(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The higher of two numbers in one instruction: unlike `max`, it ignores NaN.
fn higher(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Converts a duration to nanoseconds as a float. A signed integer converts in one instruction, and durations
/// are below 2^63 ns.
fn float(time: Duration) -> f64 {
    time.as_nanos().cast_signed() as f64
}

/// Position and velocity of one node relative to another, at the instant `from`.
struct Approach {
    place: (f64, f64),
    velocity: (f64, f64),
}

impl Approach {
    fn new(a: &Leg, b: &Leg, from: Instant) -> Self {
        let (p, q, v, w) = (a.at(from), b.at(from), a.velocity(), b.velocity());
        Self { place: (q.x - p.x, q.y - p.y), velocity: (w.0 - v.0, w.1 - v.1) }
    }

    /// Nanoseconds until the distance is smallest; 0 if the nodes move away from each other.
    fn nearest(&self) -> u64 {
        let speed_squared = dot(self.velocity, self.velocity);
        if speed_squared > 0.0 { nanos(-dot(self.place, self.velocity) / speed_squared) } else { 0 }
    }

    /// Nanoseconds until the distance is `range`: while the nodes approach each other, and while they move
    /// away.
    fn estimates(&self, range: f64) -> (u64, u64) {
        let speed_squared = dot(self.velocity, self.velocity);
        let closing = -dot(self.place, self.velocity);
        let short = dot(self.place, self.place) - range * range;
        let root = (closing * closing - speed_squared * short).max(0.0).sqrt();
        (nanos((closing - root) / speed_squared), nanos((closing + root) / speed_squared))
    }
}

/// The first number in `low + 1..=high` for which `holds` is true. `holds` must be false at `low`, true at
/// `high`, and change once. A good `guess` makes the search fast.
fn first(mut low: u64, mut high: u64, guess: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let mut step = 1;
    let mut probe = guess;
    while low < probe && probe < high {
        let held = holds(probe);
        if held {
            high = probe;
            probe = high.saturating_sub(step);
        } else {
            low = probe;
            probe = low.saturating_add(step);
        }
        step *= 4;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

fn dot(a: (f64, f64), b: (f64, f64)) -> f64 {
    a.0 * b.0 + a.1 * b.1
}

fn nanos(seconds: f64) -> u64 {
    Duration::from_secs_f64(seconds).as_nanos()
}

/// Longest trip, seconds (31 years). Slower nodes hardly move.
const LONGEST_TRIP: f64 = 1e9;

#[cfg(test)]
mod tests {
    use multihop_core::Rng;

    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    fn point(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    fn random_leg(rng: &mut Rng) -> Leg {
        let mut place = || point(rng.range(0.0, 1000.0), rng.range(0.0, 1000.0));
        let (from, to) = (place(), place());
        let start = at(rng.range(0.0, 10.0));
        Leg { start, from, end: start + Duration::from_secs_f64(rng.range(20.0, 60.0)), to }
    }

    #[test]
    fn a_leg_is_straight_and_ends_at_its_end() {
        let leg = Leg { start: at(10.0), from: point(0.0, 5.0), end: at(20.0), to: point(30.0, -35.0) };
        assert_eq!(leg.at(Instant::ZERO), leg.from);
        assert_eq!(leg.at(at(10.0)), leg.from);
        assert_eq!(leg.at(at(15.0)), point(15.0, -15.0));
        assert_eq!(leg.at(at(20.0)), leg.to);
        assert_eq!(leg.at(at(99.0)), leg.to);
        assert_eq!(leg.velocity(), (3.0, -4.0));
    }

    #[test]
    fn a_pause_without_end_does_not_move() {
        let leg = Leg::pause(at(1.0), point(3.0, 4.0), Instant::FAR_FUTURE);
        for now in [Instant::ZERO, at(5.0), at(1e9), Instant::FAR_FUTURE] {
            assert_eq!(leg.at(now), point(3.0, 4.0));
        }
        assert_eq!(leg.velocity(), (0.0, 0.0));
    }

    #[test]
    fn a_trip_takes_its_distance_over_its_speed() {
        let trip = Leg::trip(at(2.0), point(0.0, 0.0), point(300.0, 400.0), 20.0);
        assert_eq!(trip.end, at(27.0));
        assert_eq!(trip.to, point(300.0, 400.0));
        let slow = Leg::trip(at(0.0), point(0.0, 0.0), point(10.0, 0.0), 1e-9);
        assert_eq!(slow.end, at(1e9));
        assert!((slow.velocity().0 - 1e-9).abs() < 1e-18);
        let nowhere = Leg::trip(at(1.0), point(1.0, 1.0), point(1.0, 1.0), 1.0);
        assert_eq!(nowhere.end, at(1.0) + Duration::from_nanos(1));
    }

    #[test]
    fn crossings_agree_with_hand_computed_ones() {
        // A node passes a stationary node at a distance of 30 m: they are within 50 m of each other for 80 m
        // of its path.
        let stands = Leg::pause(at(0.0), point(0.0, 0.0), Instant::FAR_FUTURE);
        let passes = Leg::trip(at(0.0), point(-100.0, 30.0), point(100.0, 30.0), 10.0);
        let whole = crossings(&stands, &passes, 50.0, at(0.0), at(100.0));
        assert_eq!(whole.enters, Some(at(6.0)));
        assert_eq!(whole.leaves, Some(at(14.0) + Duration::from_nanos(1)));
        assert_eq!(crossings(&passes, &stands, 50.0, at(0.0), at(100.0)), whole);
        let late = crossings(&stands, &passes, 50.0, at(10.0), at(100.0));
        assert_eq!(late, Crossings { enters: None, leaves: whole.leaves });
        let early = crossings(&stands, &passes, 50.0, at(0.0), at(6.0));
        assert_eq!(early, Crossings { enters: whole.enters, leaves: None });
        for (range, now, until) in
            [(29.9, 0.0, 100.0), (50.0, 14.1, 100.0), (50.0, 0.0, 5.9), (50.0, 9.0, 9.0)]
        {
            assert_eq!(crossings(&stands, &passes, range, at(now), at(until)), Crossings::default());
        }
        assert_eq!(crossings(&stands, &stands, 50.0, at(0.0), Instant::FAR_FUTURE), Crossings::default());
    }

    #[test]
    fn crossings_are_searched_only_while_both_legs_last() {
        let waits = Leg { start: at(20.0), from: point(0.0, 0.0), end: at(30.0), to: point(0.0, 100.0) };
        let passes = Leg::trip(at(0.0), point(-100.0, 0.0), point(900.0, 0.0), 10.0);
        // The nodes are 50 m apart at 5 s, before the second leg starts, and again at 15 s.
        assert_eq!(crossings(&waits, &passes, 50.0, at(0.0), at(100.0)), Crossings::default());
        let enters = crossings(&waits, &passes, 150.0, at(0.0), at(100.0));
        assert_eq!((enters.enters, enters.leaves.is_some()), (None, true));
    }

    #[test]
    fn rounding_never_leads_outside_the_leg() {
        let mut rng = Rng::stream(3, "test", 0);
        for _ in 0..100_000 {
            let (a, b) = (rng.range(-1e3, 1e3), rng.range(-1e3, 1e3));
            // In a leg that lasts for years, the elapsed share rounds to 1 before the end.
            for share in [1.0, 1.0_f64.next_down(), 5e-324, rng.unit()] {
                assert!((a.min(b)..=a.max(b)).contains(&between(a, b, share)), "{a} {b} {share}");
            }
        }
    }

    #[test]
    fn crossings_are_exact_to_the_nanosecond() {
        let mut rng = Rng::stream(1, "test", 0);
        let (mut entered, mut left) = (0, 0);
        for _ in 0..2000 {
            let (a, b) = (random_leg(&mut rng), random_leg(&mut rng));
            let within = |at| a.at(at).distance(b.at(at)) <= 250.0;
            let found = crossings(&a, &b, 250.0, at(12.0), at(80.0));
            if let Some(enters) = found.enters {
                entered += 1;
                assert!(within(enters) && !within(enters - Duration::from_nanos(1)));
            }
            if let Some(leaves) = found.leaves {
                left += 1;
                assert!(!within(leaves) && within(leaves - Duration::from_nanos(1)));
            }
        }
        assert!(entered > 200 && left > 200, "{entered} {left}");
    }

    #[test]
    fn crossings_agree_with_dense_sampling() {
        let mut rng = Rng::stream(2, "test", 0);
        for _ in 0..500 {
            let (a, b) = (random_leg(&mut rng), random_leg(&mut rng));
            let end = a.end.min(b.end).as_secs_f64();
            let found = crossings(&a, &b, 250.0, at(10.0), Instant::FAR_FUTURE);
            for step in 0_i32..2000 {
                let now = at(10.0 + (end - 10.0) * f64::from(step) / 2000.0);
                let initially = a.at(at(10.0)).distance(b.at(at(10.0))) <= 250.0;
                let has_left = found.leaves.is_some_and(|leaves| leaves <= now);
                let has_entered = initially || found.enters.is_some_and(|enters| enters <= now);
                assert_eq!(a.at(now).distance(b.at(now)) <= 250.0, has_entered && !has_left, "at {now}");
            }
        }
    }

    #[test]
    fn a_bad_guess_does_not_change_the_result() {
        for (turn, guess) in
            [(1, 500), (700, 0), (700, 699), (700, 700), (700, 701), (1000, 1), (5, u64::MAX)]
        {
            assert_eq!(first(0, 1000, guess, |n| n >= turn), turn);
        }
    }
}
