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
    /// Speeds are uniform up to here, m/s.
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
    place: Point,
    /// m/s.
    velocity: (f64, f64),
    /// The current spell ends here.
    turn: Instant,
}

impl RandomWalk {
    /// The movement of `node`. Panics on invalid parameters.
    pub fn new(params: RandomWalkParams, seed: u64, node: NodeId) -> Self {
        params.area.check();
        assert!(
            params.max_speed > 0.0 && params.max_speed.is_finite(),
            "no speed up to {} m/s",
            params.max_speed
        );
        assert!(params.mean_spell > Duration::ZERO, "spells of no length");
        let mut rng = Rng::stream(seed, "mobility", u64::from(node.0));
        let place = params.area.draw(&mut rng);
        Self { params, rng, now: Instant::ZERO, place, velocity: (0.0, 0.0), turn: Instant::ZERO }
    }

    pub(super) fn next_leg(&mut self) -> Leg {
        if self.now >= self.turn {
            self.begin_spell();
        }
        let Area { width, height } = self.params.area;
        self.velocity.0 = inward(self.place.x, self.velocity.0, width);
        self.velocity.1 = inward(self.place.y, self.velocity.1, height);
        let rest = (self.turn - self.now).as_secs_f64();
        let across = time_to_border(self.place.x, self.velocity.0, width);
        let along = time_to_border(self.place.y, self.velocity.1, height);
        let time = rest.min(across).min(along);
        let to = Point {
            x: advance(self.place.x, self.velocity.0, width, time, across),
            y: advance(self.place.y, self.velocity.1, height, time, along),
        };
        let end = (self.now + at_least_one(time)).min(self.turn);
        let leg = Leg { start: self.now, from: self.place, end, to };
        (self.now, self.place) = (end, to);
        leg
    }

    pub(super) fn speed_limit(&self) -> f64 {
        self.params.max_speed
    }

    fn begin_spell(&mut self) {
        let direction = self.rng.range(0.0, core::f64::consts::TAU);
        let speed = self.rng.range(0.0, self.params.max_speed);
        self.velocity = (speed * libm::cos(direction), speed * libm::sin(direction));
        let mean = self.params.mean_spell.as_secs_f64();
        self.turn = self.now + at_least_one(-mean * libm::log(1.0 - self.rng.unit()));
    }
}

/// The velocity after reflection, if the node is at a border and on its way out.
fn inward(place: f64, velocity: f64, border: f64) -> f64 {
    let leaves = (place <= 0.0 && velocity < 0.0) || (place >= border && velocity > 0.0);
    if leaves { -velocity } else { velocity }
}

/// Seconds.
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

fn at_least_one(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds).max(Duration::from_nanos(1))
}
