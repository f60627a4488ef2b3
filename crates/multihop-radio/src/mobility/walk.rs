use multihop_core::{Duration, Instant};

use super::leg::Leg;
use crate::grid::Point;

/// A walk from place to place at constant speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// Destinations of the node, in this order; at least one.
    pub places: Vec<Point>,
    /// Speed of the walk, in m/s.
    pub speed: f64,
    /// Time for which the node stays at its first position.
    pub start: Duration,
    /// Time for which the node stays at each destination.
    pub pause: Duration,
    /// Whether the node returns to the first destination after the last one, instead of staying there.
    pub repeat: bool,
}

/// Movement of one node on its walk.
#[derive(Clone, Debug)]
pub struct Walking {
    walk: Walk,
    now: Instant,
    place: Point,
    /// Index of the next place.
    next: usize,
    /// Time for which the node still stays at `place`.
    stay: Duration,
}

impl Walk {
    /// Legs per second in one round of a repeated walk; infinite if a round takes no time.
    pub fn legs_per_second(&self) -> f64 {
        let last = self.places.last().copied().unwrap_or_default();
        let from = core::iter::once(last).chain(self.places.iter().copied());
        let length: f64 = from.zip(&self.places).map(|(from, to)| from.distance(*to)).sum();
        let places = self.places.len() as f64;
        2.0 * places / (length / self.speed + places * self.pause.as_secs_f64())
    }
}

impl Walking {
    /// Starts the walk of a node at `place`.
    pub fn new(walk: Walk, place: Point) -> Self {
        let stay = walk.start;
        Self { walk, now: Instant::ZERO, place, next: 0, stay }
    }

    pub(super) fn next_leg(&mut self) -> Leg {
        if self.next == self.walk.places.len() && self.walk.repeat {
            self.next = 0;
        }
        let leg = match self.walk.places.get(self.next) {
            None => return Leg::pause(self.now, self.place, Instant::FAR_FUTURE),
            Some(_) if self.stay > Duration::ZERO => {
                Leg::pause(self.now, self.place, self.now + core::mem::take(&mut self.stay))
            }
            Some(&to) => {
                self.next += 1;
                self.stay = self.walk.pause;
                Leg::trip(self.now, self.place, to, self.walk.speed)
            }
        };
        (self.now, self.place) = (leg.end, leg.to);
        leg
    }

    pub(super) fn speed_limit(&self) -> f64 {
        self.walk.speed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobility::{Movement, Track};

    fn point(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    fn walk(repeat: bool) -> Walk {
        let places = vec![point(100.0, 0.0), point(100.0, 50.0)];
        Walk { places, speed: 10.0, start: Duration::from_secs(5), pause: Duration::from_secs(2), repeat }
    }

    fn places(walk: Walk, seconds: &[u64]) -> Vec<Point> {
        let mut track = Track::new(Movement::Walk(Walking::new(walk, point(0.0, 0.0))));
        seconds.iter().map(|&at| track.at(Instant::ZERO + Duration::from_secs(at))).collect()
    }

    #[test]
    fn a_node_waits_walks_pauses_and_stays_at_the_last_place() {
        let expected = [(0.0, 0.0), (50.0, 0.0), (100.0, 0.0), (100.0, 0.0), (100.0, 20.0), (100.0, 50.0)];
        assert_eq!(places(walk(false), &[5, 10, 15, 17, 19, 1000]), expected.map(|(x, y)| point(x, y)));
    }

    #[test]
    fn a_repeated_walk_goes_from_the_last_place_to_the_first() {
        // The node arrives at the second place after 22 s, leaves it after 24 s, and is at the first place
        // after 29 s.
        let expected = [(100.0, 50.0), (100.0, 30.0), (100.0, 0.0), (100.0, 40.0)];
        assert_eq!(places(walk(true), &[23, 26, 30, 35]), expected.map(|(x, y)| point(x, y)));
        assert!((walk(true).legs_per_second() - 4.0 / 14.0).abs() < 1e-12);
    }

    #[test]
    fn a_round_without_length_and_pauses_takes_no_time() {
        let still = Walk { places: vec![point(1.0, 1.0)], pause: Duration::ZERO, ..walk(true) };
        assert!(still.legs_per_second().is_infinite());
    }
}
