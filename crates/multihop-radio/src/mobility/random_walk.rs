use multihop_core::{Duration, Instant, NodeId, Rng};

use super::area::Area;
use super::leg::Leg;
use crate::grid::Point;

/// Random walk: intervals ("spells") of exponential length, each in one direction and at one speed, reflected at the
/// borders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWalkParams {
    /// The area of movement.
    pub area: Area,
    /// Highest speed, m/s; speeds are uniform from 0 to this value.
    pub max_speed: f64,
    /// The mean length of a spell.
    pub mean_spell: Duration,
}

/// One node under random walk.
#[derive(Clone, Debug)]
pub struct RandomWalk {
    params: RandomWalkParams,
    rng: Rng,
    now: Instant,
    node: Reflected,
    /// Instant at which the current spell ends.
    turn: Instant,
}

impl RandomWalk {
    /// Starts the movement of `node`. Panics on invalid parameters.
    pub fn new(params: RandomWalkParams, seed: u64, node: NodeId) -> Self {
        params.area.check();
        assert!(
            params.max_speed > 0.0 && params.max_speed.is_finite(),
            "no speed up to {} m/s",
            params.max_speed
        );
        assert!(params.mean_spell > Duration::ZERO, "spells of no length");
        let mut rng = Rng::stream(seed, "mobility", u64::from(node.0));
        let node = Reflected { place: params.area.draw(&mut rng), velocity: (0.0, 0.0) };
        Self { params, rng, now: Instant::ZERO, node, turn: Instant::ZERO }
    }

    pub(super) fn next_leg(&mut self) -> Leg {
        if self.now >= self.turn {
            self.begin_spell();
        }
        self.node.turn_inward(self.params.area);
        let leg = self.node.leg(self.params.area, self.now, self.turn);
        self.now = leg.end;
        leg
    }

    pub(super) fn speed_limit(&self) -> f64 {
        self.params.max_speed
    }

    fn begin_spell(&mut self) {
        let direction = self.rng.range(0.0, core::f64::consts::TAU);
        let speed = self.rng.range(0.0, self.params.max_speed);
        self.node.velocity = (speed * libm::cos(direction), speed * libm::sin(direction));
        let mean = self.params.mean_spell.as_secs_f64();
        self.turn = self.now + at_least_one(-mean * libm::log(1.0 - self.rng.unit()));
    }
}

/// A place in an area, and a velocity that is reflected at the borders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reflected {
    pub(super) place: Point,
    /// Velocity (east, south) in m/s.
    pub(super) velocity: (f64, f64),
}

impl Reflected {
    /// Reflects the velocity of a node that is at a border and moves outwards. Returns whether the x and y components
    /// were reflected.
    pub(super) fn turn_inward(&mut self, area: Area) -> (bool, bool) {
        let mirrored = (
            leaves(self.place.x, self.velocity.0, area.width),
            leaves(self.place.y, self.velocity.1, area.height),
        );
        if mirrored.0 {
            self.velocity.0 = -self.velocity.0;
        }
        if mirrored.1 {
            self.velocity.1 = -self.velocity.1;
        }
        mirrored
    }

    /// The leg from `now` to `turn` or to the border, whichever comes first.
    pub(super) fn leg(&mut self, area: Area, now: Instant, turn: Instant) -> Leg {
        let Area { width, height } = area;
        let rest = (turn - now).as_secs_f64();
        let across = time_to_border(self.place.x, self.velocity.0, width);
        let along = time_to_border(self.place.y, self.velocity.1, height);
        let time = rest.min(across).min(along);
        let to = Point {
            x: advance(self.place.x, self.velocity.0, width, time, across),
            y: advance(self.place.y, self.velocity.1, height, time, along),
        };
        let end = (now + at_least_one(time)).min(turn);
        let leg = Leg { start: now, from: self.place, end, to };
        self.place = to;
        leg
    }
}

/// Whether a node at a border moves outwards.
fn leaves(place: f64, velocity: f64, border: f64) -> bool {
    (place <= 0.0 && velocity < 0.0) || (place >= border && velocity > 0.0)
}

/// Time in seconds until the coordinate `place` reaches the border at 0 or at `border`; infinite without
/// movement.
fn time_to_border(place: f64, velocity: f64, border: f64) -> f64 {
    if velocity > 0.0 {
        (border - place) / velocity
    } else if velocity < 0.0 {
        place / -velocity
    } else {
        f64::INFINITY
    }
}

/// The coordinate after `time`; exactly the border if the node reaches it then.
fn advance(place: f64, velocity: f64, border: f64, time: f64, to_border: f64) -> f64 {
    if time >= to_border {
        return if velocity > 0.0 { border } else { 0.0 };
    }
    (place + velocity * time).clamp(0.0, border)
}

pub(super) fn at_least_one(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds).max(Duration::from_nanos(1))
}
