use multihop_core::settings::Field;
use multihop_core::{Duration, Instant, NodeId, Rng};

use super::area::Area;
use super::leg::Leg;
use crate::grid::Point;

/// Random waypoint: a trip to a uniformly drawn point at a uniformly drawn speed, then a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWaypointParams {
    /// The area of movement.
    pub area: Area,
    /// Lowest speed, m/s; may be 0 only with a classic start.
    pub min_speed: f64,
    /// Highest speed of a trip, in m/s.
    pub max_speed: f64,
    /// How long a node pauses after each trip.
    pub pause: Duration,
    /// Distribution of the initial positions and speeds.
    pub start: Start,
}

/// How random waypoint begins.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Start {
    /// In the steady state (random trip): the distributions of speed, position and pauses are the same at all times.
    Stationary,
    /// As CMU's setdest does: positions are uniform and all nodes pause first. The mean speed then decays, and the nodes
    /// concentrate in the middle.
    Classic,
}

/// One node under random waypoint.
#[derive(Clone, Debug)]
pub struct RandomWaypoint {
    params: RandomWaypointParams,
    rng: Rng,
    now: Instant,
    place: Point,
    next: Next,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    Pause(Duration),
    Trip { to: Point, speed: f64 },
}

impl RandomWaypointParams {
    /// A mobility pattern of Holland and Vaidya: no pauses, speeds uniform within a tenth of
    /// `mean_speed`.
    ///
    /// With the same seed (the number of the pattern), another mean speed gives the same points in the same order, and
    /// times scale with the ratio of the speeds.
    pub fn pattern(area: Area, mean_speed: f64, start: Start) -> Self {
        let (min_speed, max_speed) = (0.9 * mean_speed, 1.1 * mean_speed);
        Self { area, min_speed, max_speed, pause: Duration::ZERO, start }
    }

    /// Panics if the parameters are invalid.
    fn check(&self) {
        self.area.check();
        let (min, max) = (self.min_speed, self.max_speed);
        assert!(0.0 <= min && min <= max && max > 0.0 && max.is_finite(), "no speed from {min} to {max} m/s");
        assert!(min > 0.0 || self.start == Start::Classic, "a stationary start needs a lowest speed above 0");
    }
}

impl RandomWaypoint {
    /// Starts the movement of `node`. Panics on invalid parameters.
    pub fn new(params: RandomWaypointParams, seed: u64, node: NodeId) -> Self {
        Self::drawn(params, Rng::stream(seed, "mobility", u64::from(node.0)))
    }

    /// A movement that is drawn from `rng`. Panics on invalid parameters.
    pub(super) fn drawn(params: RandomWaypointParams, mut rng: Rng) -> Self {
        params.check();
        let (place, next) = match params.start {
            Start::Classic => {
                let place = params.area.draw(&mut rng);
                (place, after_trip(&params, &mut rng))
            }
            Start::Stationary => stationary(&params, &mut rng),
        };
        Self { params, rng, now: Instant::ZERO, place, next }
    }

    pub(super) fn next_leg(&mut self) -> Leg {
        let leg = match self.next {
            Next::Pause(time) => {
                self.next = trip(&self.params, &mut self.rng);
                Leg::pause(self.now, self.place, self.now + time)
            }
            Next::Trip { to, speed } => {
                self.next = after_trip(&self.params, &mut self.rng);
                Leg::trip(self.now, self.place, to, speed)
            }
        };
        (self.now, self.place) = (leg.end, leg.to);
        leg
    }

    pub(super) fn speed_limit(&self) -> f64 {
        self.params.max_speed
    }
}

fn after_trip(params: &RandomWaypointParams, rng: &mut Rng) -> Next {
    if params.pause > Duration::ZERO { Next::Pause(params.pause) } else { trip(params, rng) }
}

fn trip(params: &RandomWaypointParams, rng: &mut Rng) -> Next {
    let to = params.area.draw(rng);
    // The draw is subtracted from the maximum, so that a speed of 0 is never drawn.
    let speed = params.max_speed - (params.max_speed - params.min_speed) * rng.unit();
    Next::Trip { to, speed }
}

/// Position and first leg of a node at a random time of a long run (Navidi and Camp 2004).
fn stationary(params: &RandomWaypointParams, rng: &mut Rng) -> (Point, Next) {
    if rng.chance(pause_share(params)) {
        let place = params.area.draw(rng);
        let rest = rng.duration_below(params.pause).max(Duration::from_nanos(1));
        return (place, Next::Pause(rest));
    }
    let (from, to) = long_trip(params.area, rng);
    let done = rng.unit();
    let place = Point { x: from.x + (to.x - from.x) * done, y: from.y + (to.y - from.y) * done };
    // A slow trip lasts longer, so that the density of speeds is proportional to 1/v.
    let ratio = params.max_speed / params.min_speed;
    let speed = params.min_speed * libm::exp(rng.unit() * libm::log(ratio));
    (place, Next::Trip { to, speed: speed.min(params.max_speed) })
}

/// Draws start and end of a trip with a probability proportional to its length.
fn long_trip(area: Area, rng: &mut Rng) -> (Point, Point) {
    let diagonal = Point::default().distance(Point { x: area.width, y: area.height });
    loop {
        let (from, to) = (area.draw(rng), area.draw(rng));
        if rng.chance(from.distance(to) / diagonal) {
            return (from, to);
        }
    }
}

/// The fraction of time in which a node pauses.
pub(super) fn pause_share(params: &RandomWaypointParams) -> f64 {
    let pause = params.pause.as_secs_f64();
    pause / (pause + mean_trip(params.area) * mean_slowness(params.min_speed, params.max_speed))
}

/// Mean over the trips of the time per metre, s/m.
pub(super) fn mean_slowness(min: f64, max: f64) -> f64 {
    // For nearly equal speeds the quotient would be 0/0.
    if max - min <= 1e-6 * max { 2.0 / (min + max) } else { libm::log(max / min) / (max - min) }
}

/// Mean distance between two uniformly drawn points, metres.
pub(super) fn mean_trip(area: Area) -> f64 {
    let (a, b) = (area.width, area.height);
    let d = (a * a + b * b).sqrt();
    let (wide, high) = (a * a / (b * b), b * b / (a * a));
    let polynomial = a * wide + b * (b / a) * (b / a) + d * (3.0 - wide - high);
    let logarithms = b * (b / a) * libm::log((a + d) / b) + a * (a / b) * libm::log((b + d) / a);
    polynomial / 15.0 + logarithms / 6.0
}
