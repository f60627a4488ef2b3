use core::fmt;

use multihop_core::{Duration, Instant};

use super::leg::Leg;
use super::text::FARTHEST;
use crate::grid::Point;

/// A point of a path, and the instant at which the node is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// Instant at which the node is at this waypoint.
    pub at: Instant,
    /// Position of the waypoint on the plane.
    pub place: Point,
}

/// A given movement: straight and at constant speed from each waypoint to the next. The node waits at the
/// first waypoint until its time, and stays at the last one. Two paths are equal if the waypoints at which
/// speed or direction may change are equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Waypoints in ascending order of time, from time zero on. No three successive waypoints have the same
    /// position, and the last two have different positions.
    waypoints: Vec<Waypoint>,
    /// Highest speed between two waypoints, in m/s.
    speed_limit: f64,
}

/// Waypoint that makes a list of waypoints invalid, with the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BadWaypoint {
    /// Index of the waypoint in the list, from 0.
    pub index: usize,
    /// Value that was found and values that are allowed.
    pub message: String,
}

/// Movement of one node along its path.
#[derive(Clone, Debug)]
pub struct Follow {
    path: Path,
    next: usize,
}

impl Path {
    /// Creates the path through `waypoints`, which must be in ascending order of time. Repeated waypoints are
    /// allowed.
    pub fn new(waypoints: &[Waypoint]) -> Result<Self, BadWaypoint> {
        let bad = |index, message| Err(BadWaypoint { index, message });
        if waypoints.is_empty() {
            return bad(0, "found no waypoint, allowed: one or more".to_owned());
        }
        for (index, waypoint) in waypoints.iter().enumerate() {
            let Point { x, y } = waypoint.place;
            // The comparison is negated so that NaN fails.
            if !(x.abs() <= FARTHEST && y.abs() <= FARTHEST) {
                return bad(index, format!("found ({x}, {y}), allowed: -{FARTHEST:e} to {FARTHEST:e} m"));
            }
        }
        for (pair, index) in waypoints.windows(2).zip(1..) {
            if pair[0] == pair[1] {
                continue;
            }
            if pair[1].at <= pair[0].at {
                let message = format!("found {} after {}, allowed: a later time", pair[1].at, pair[0].at);
                return bad(index, message);
            }
            let distance = pair[0].place.distance(pair[1].place);
            let time = pair[1].at - pair[0].at;
            // Times have been rounded to a nanosecond, so one more is allowed.
            if distance > FASTEST * (time + Duration::from_nanos(1)).as_secs_f64() {
                let message = format!("found {distance} m in {time}, allowed: up to {FASTEST} m/s");
                return bad(index, message);
            }
        }
        Ok(Self::through(waypoints.iter().copied()))
    }

    /// The waypoints, the first at time zero.
    pub fn waypoints(&self) -> &[Waypoint] {
        &self.waypoints
    }

    /// The path through one or more valid waypoints in order of time; of several waypoints at one time only
    /// the first one counts.
    pub(super) fn through(waypoints: impl Iterator<Item = Waypoint>) -> Self {
        let mut kept: Vec<Waypoint> = Vec::new();
        for waypoint in waypoints {
            let start = Waypoint { at: Instant::ZERO, ..waypoint };
            match kept.as_mut_slice() {
                [] if waypoint.at > Instant::ZERO => kept.extend([start, waypoint]),
                [.., last] if waypoint.at <= last.at => (),
                [.., before, last] if before.place == last.place && last.place == waypoint.place => {
                    last.at = waypoint.at;
                }
                _ => kept.push(waypoint),
            }
        }
        if let [.., before, last] = kept.as_slice()
            && before.place == last.place
        {
            kept.pop();
        }
        let speeds = kept
            .windows(2)
            .map(|pair| pair[0].place.distance(pair[1].place) / (pair[1].at - pair[0].at).as_secs_f64());
        let speed_limit = speeds.fold(0.0, f64::max);
        Self { waypoints: kept, speed_limit }
    }
}

impl Follow {
    pub(super) fn new(path: Path) -> Self {
        Self { path, next: 0 }
    }

    pub(super) fn next_leg(&mut self) -> Leg {
        let rest = &self.path.waypoints[self.next..];
        if let [from, to, ..] = rest {
            self.next += 1;
            return Leg { start: from.at, from: from.place, end: to.at, to: to.place };
        }
        Leg::pause(rest[0].at, rest[0].place, Instant::FAR_FUTURE)
    }

    pub(super) fn speed_limit(&self) -> f64 {
        self.path.speed_limit
    }
}

impl fmt::Display for BadWaypoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waypoint {}: {}", self.index, self.message)
    }
}

impl core::error::Error for BadWaypoint {}

/// Highest speed that a path may have, in m/s.
pub const FASTEST: f64 = 10_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn waypoint(&(seconds, x, y): &(f64, f64, f64)) -> Waypoint {
        let at = Instant::ZERO + Duration::from_secs_f64(seconds);
        Waypoint { at, place: Point { x, y } }
    }

    fn path(list: &[(f64, f64, f64)]) -> Result<Path, BadWaypoint> {
        Path::new(&list.iter().map(waypoint).collect::<Vec<_>>())
    }

    #[test]
    fn a_node_waits_at_the_first_waypoint_and_stays_at_the_last() {
        let path =
            path(&[(10.0, 0.0, 0.0), (20.0, 100.0, 0.0), (25.0, 100.0, 0.0), (30.0, 100.0, 50.0)]).unwrap();
        let mut movement = Follow::new(path);
        assert!((movement.speed_limit() - 10.0).abs() < 1e-12);
        let ends: Vec<_> = (0..6)
            .map(|_| movement.next_leg())
            .map(|leg| (leg.end.as_secs_f64(), leg.to.x, leg.to.y))
            .collect();
        let last = (Instant::FAR_FUTURE.as_secs_f64(), 100.0, 50.0);
        let moves = [(10.0, 0.0, 0.0), (20.0, 100.0, 0.0), (25.0, 100.0, 0.0), (30.0, 100.0, 50.0)];
        assert_eq!(ends, [&moves[..], &[last, last]].concat());
    }

    #[test]
    fn paths_of_the_same_movement_are_equal() {
        let short = path(&[(0.0, 1.0, 1.0), (9.0, 1.0, 1.0), (10.0, 2.0, 1.0)]).unwrap();
        let long = path(&[
            (3.0, 1.0, 1.0),
            (3.0, 1.0, 1.0),
            (5.0, 1.0, 1.0),
            (9.0, 1.0, 1.0),
            (10.0, 2.0, 1.0),
            (99.0, 2.0, 1.0),
        ]);
        assert_eq!(long.unwrap(), short);
    }

    #[test]
    fn impossible_waypoints_are_refused() {
        let refused = |list: &[(f64, f64, f64)]| path(list).unwrap_err().to_string();
        assert_eq!(refused(&[]), "waypoint 0: found no waypoint, allowed: one or more");
        assert_eq!(
            refused(&[(0.0, 0.0, 0.0), (0.0, 5.0, 0.0)]),
            "waypoint 1: found 0.000000000s after 0.000000000s, allowed: a later time"
        );
        assert_eq!(
            refused(&[(5.0, 0.0, 0.0), (4.0, 0.0, 0.0)]),
            "waypoint 1: found 4.000000000s after 5.000000000s, allowed: a later time"
        );
        assert_eq!(refused(&[(0.0, f64::NAN, 0.0)]), "waypoint 0: found (NaN, 0), allowed: -1e7 to 1e7 m");
        assert_eq!(
            refused(&[(0.0, 0.0, 0.0), (1.0, 10_001.0, 0.0)]),
            "waypoint 1: found 10001 m in 1.000000000s, allowed: up to 10000 m/s"
        );
    }
}
