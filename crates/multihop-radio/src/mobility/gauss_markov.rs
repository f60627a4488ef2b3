use core::f64::consts::TAU;

use multihop_core::{Duration, Instant, NodeId, Rng};

use super::area::Area;
use super::leg::Leg;
use super::random_walk::{Reflected, at_least_one};
use crate::normal::normals;

/// Gauss-Markov mobility: speed and direction change at intervals and depend on their previous values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussMarkovParams {
    /// Share of the previous value in the next one, from 0 (no memory) to 1 (no change).
    pub area: Area,
    /// Share of the previous value in the next one, from 0 (no memory) to 1 (no change).
    pub alpha: f64,
    /// Mean speed of a node, in m/s.
    pub mean_speed: f64,
    /// Standard deviation of the speed, m/s.
    pub speed_deviation: f64,
    /// Mean direction, radians from the x axis to the y axis; `None`: drawn uniformly for each node.
    pub mean_direction: Option<f64>,
    /// Standard deviation of the direction, radians.
    pub direction_deviation: f64,
    /// Time between two changes.
    pub interval: Duration,
}

impl GaussMarkovParams {
    /// The highest speed: four standard deviations above the mean, m/s.
    pub fn max_speed(&self) -> f64 {
        self.mean_speed + 4.0 * self.speed_deviation
    }

    /// Panics if the parameters are invalid.
    fn check(&self) {
        self.area.check();
        assert!((0.0..=1.0).contains(&self.alpha), "a memory of {}", self.alpha);
        assert!(self.max_speed() > 0.0 && self.max_speed().is_finite(), "no speed");
        assert!(self.interval > Duration::ZERO, "intervals of no length");
    }
}

/// One node under Gauss-Markov mobility.
#[derive(Clone, Debug)]
pub struct GaussMarkov {
    params: GaussMarkovParams,
    rng: Rng,
    now: Instant,
    /// Position and velocity, reflected at the borders.
    node: Reflected,
    /// Deviation of the speed from its mean, in standard deviations.
    speed: f64,
    /// Deviation of the direction from its mean, in standard deviations.
    direction: f64,
    mean_direction: f64,
    /// Instant of the next change of speed and direction.
    turn: Instant,
}

impl GaussMarkov {
    /// Starts the movement of `node`. Panics on invalid parameters.
    pub fn new(params: GaussMarkovParams, seed: u64, node: NodeId) -> Self {
        params.check();
        let mut rng = Rng::stream(seed, "mobility", u64::from(node.0));
        let place = params.area.draw(&mut rng);
        let drawn = rng.range(0.0, TAU);
        let (speed, direction) = normals(&mut rng);
        // A random phase makes nodes change their movement at different times.
        let turn = Instant::ZERO + at_least_one(rng.unit() * params.interval.as_secs_f64());
        let node = Reflected { place, velocity: (0.0, 0.0) };
        let mean_direction = params.mean_direction.unwrap_or(drawn);
        let mut movement =
            Self { params, rng, now: Instant::ZERO, node, speed, direction, mean_direction, turn };
        movement.set_velocity();
        movement
    }

    pub(super) fn next_leg(&mut self) -> Leg {
        if self.now >= self.turn {
            self.change();
        }
        let mirrored = self.node.turn_inward(self.params.area);
        self.mirror(mirrored);
        let leg = self.node.leg(self.params.area, self.now, self.turn);
        self.now = leg.end;
        leg
    }

    pub(super) fn speed_limit(&self) -> f64 {
        self.params.max_speed()
    }

    /// Draws the next speed and direction.
    fn change(&mut self) {
        let (speed, direction) = normals(&mut self.rng);
        let alpha = self.params.alpha;
        let fresh = (1.0 - alpha * alpha).sqrt();
        self.speed = alpha * self.speed + fresh * speed;
        self.direction = alpha * self.direction + fresh * direction;
        self.turn = self.now + self.params.interval;
        self.set_velocity();
    }

    fn set_velocity(&mut self) {
        let GaussMarkovParams { mean_speed, speed_deviation, direction_deviation, .. } = self.params;
        let speed = (mean_speed + self.speed * speed_deviation).clamp(0.0, self.params.max_speed());
        let direction = self.mean_direction + self.direction * direction_deviation;
        self.node.velocity = (speed * libm::cos(direction), speed * libm::sin(direction));
    }

    /// Mirrors mean and deviation of the direction after a reflection, so that the node does not turn back to
    /// the border.
    fn mirror(&mut self, (across, along): (bool, bool)) {
        if across {
            self.mean_direction = TAU / 2.0 - self.mean_direction;
            self.direction = -self.direction;
        }
        if along {
            self.mean_direction = -self.mean_direction;
            self.direction = -self.direction;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Point;

    fn params(alpha: f64) -> GaussMarkovParams {
        GaussMarkovParams {
            area: Area { width: 1e7, height: 1e7 },
            alpha,
            mean_speed: 10.0,
            speed_deviation: 2.0,
            mean_direction: Some(1.0),
            direction_deviation: 0.4,
            interval: Duration::from_secs(1),
        }
    }

    /// Speed and direction in each interval, for a node that reaches no border.
    fn history(params: GaussMarkovParams, node: u32, intervals: usize) -> Vec<(f64, f64)> {
        let mut movement = GaussMarkov::new(params, 3, NodeId(node));
        movement.node.place = Point { x: 5e6, y: 5e6 };
        movement.next_leg();
        let mut velocity = || {
            let (x, y) = movement.next_leg().velocity();
            ((x * x + y * y).sqrt(), libm::atan2(y, x))
        };
        (0..intervals).map(|_| velocity()).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let lagged =
            values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / (n - 1.0);
        (mean, variance.sqrt(), lagged / variance)
    }

    #[test]
    fn speed_and_direction_have_the_given_mean_deviation_and_autocorrelation() {
        for alpha in [0.0, 0.5, 0.9] {
            let history = history(params(alpha), 0, 200_000);
            let (speeds, directions): (Vec<_>, Vec<_>) = history.into_iter().unzip();
            // The standard error of the mean grows with the memory: 200,000 values with a memory of 0.9 count
            // like 10,000 independent ones.
            for (values, mean, deviation) in [(speeds, 10.0, 2.0), (directions, 1.0, 0.4)] {
                let (found, spread, correlation) = moments(&values);
                assert!((found - mean).abs() < 0.05 * deviation, "mean {found} with alpha {alpha}");
                assert!((spread / deviation - 1.0).abs() < 0.03, "deviation {spread} with alpha {alpha}");
                assert!((correlation - alpha).abs() < 0.01, "{correlation} with alpha {alpha}");
            }
        }
    }

    #[test]
    fn with_full_memory_a_node_never_changes() {
        let history = history(params(1.0), 2, 100);
        assert!(history.iter().all(|now| (now.0 - history[0].0).abs() < 1e-6));
        assert!(history.iter().all(|now| (now.1 - history[0].1).abs() < 1e-6));
    }

    #[test]
    fn at_a_border_the_mean_direction_is_mirrored() {
        let area = Area { width: 100.0, height: 100.0 };
        let towards = GaussMarkovParams {
            area,
            mean_direction: Some(0.0),
            direction_deviation: 0.0,
            speed_deviation: 0.0,
            ..params(0.5)
        };
        let mut movement = GaussMarkov::new(towards, 1, NodeId(0));
        let mut velocities = Vec::new();
        for _ in 0..200 {
            let leg = movement.next_leg();
            if leg.end - leg.start > Duration::from_millis(1) {
                velocities.push((leg.to.x, leg.velocity().0));
            }
        }
        let turns = velocities.windows(2).filter(|pair| (pair[0].1 > 0.0) != (pair[1].1 > 0.0)).count();
        // In 200 s at 10 m/s a node crosses the area 20 times, and each leg ends at a border.
        assert!((15..=20).contains(&turns), "{turns}");
        assert!(velocities.windows(2).all(|pair| {
            (pair[0].1 > 0.0) == (pair[1].1 > 0.0) || pair[0].0 <= 0.0 || pair[0].0 >= 100.0
        }));
    }
}
