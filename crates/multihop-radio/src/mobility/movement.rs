//! The movement of one node by any model, and the node's current position.

use multihop_core::Instant;

use super::gauss_markov::GaussMarkov;
use super::group::Group;
use super::leg::Leg;
use super::manhattan::Manhattan;
use super::path::{Follow, Path, Waypoint};
use super::random_walk::RandomWalk;
use super::random_waypoint::RandomWaypoint;
use super::walk::Walking;
use crate::grid::Point;

/// Generates the legs of one node, without end.
#[derive(Clone, Debug)]
pub enum Movement {
    /// The node stays at this point for the whole run.
    Still(Point),
    /// The node travels from one random point to the next.
    RandomWaypoint(RandomWaypoint),
    /// The node travels in random directions and is reflected at the borders.
    RandomWalk(RandomWalk),
    /// Changes speed and direction at intervals, with memory of both.
    GaussMarkov(GaussMarkov),
    /// The node follows the streets of a town.
    Manhattan(Manhattan),
    /// The node stays near the reference point of its group.
    Group(Group),
    /// The node follows a given path.
    Path(Follow),
    /// The node goes from one given place to the next.
    Walk(Walking),
}

/// The position of a node over time: its current leg, advanced on request. Time must not decrease. The struct
/// fills one cache line, because each frame needs the positions of all nodes nearby.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Track {
    leg: Leg,
    /// The movement model, boxed so that the current legs of many nodes fit into the cache.
    movement: Box<Movement>,
}

impl Movement {
    /// Follows `path` and stays at its end.
    pub fn along(path: Path) -> Self {
        Self::Path(Follow::new(path))
    }

    /// The path that this movement takes until `until`, where the path ends.
    pub fn recorded(mut self, until: Instant) -> Path {
        let mut waypoints = Vec::new();
        loop {
            let leg = self.next_leg();
            waypoints.push(Waypoint { at: leg.start, place: leg.from });
            if leg.end >= until {
                waypoints.push(Waypoint { at: until, place: leg.at(until) });
                return Path::through(waypoints.into_iter());
            }
        }
    }

    /// Advances to the next leg and returns it. The first leg starts at [`Instant::ZERO`], each other leg
    /// where and when the previous one ended. A leg without end is returned again and again.
    pub fn next_leg(&mut self) -> Leg {
        match self {
            Self::Still(place) => Leg::pause(Instant::ZERO, *place, Instant::FAR_FUTURE),
            Self::RandomWaypoint(movement) => movement.next_leg(),
            Self::RandomWalk(movement) => movement.next_leg(),
            Self::GaussMarkov(movement) => movement.next_leg(),
            Self::Manhattan(movement) => movement.next_leg(),
            Self::Group(movement) => movement.next_leg(),
            Self::Path(movement) => movement.next_leg(),
            Self::Walk(movement) => movement.next_leg(),
        }
    }

    /// Upper bound of the speed, m/s. Times are rounded to a nanosecond and positions to a double: in any
    /// interval the node moves no farther than this speed allows, plus a micrometre.
    pub fn speed_limit(&self) -> f64 {
        match self {
            Self::Still(_) => 0.0,
            Self::RandomWaypoint(movement) => movement.speed_limit(),
            Self::RandomWalk(movement) => movement.speed_limit(),
            Self::GaussMarkov(movement) => movement.speed_limit(),
            Self::Manhattan(movement) => movement.speed_limit(),
            Self::Group(movement) => movement.speed_limit(),
            Self::Path(movement) => movement.speed_limit(),
            Self::Walk(movement) => movement.speed_limit(),
        }
    }
}

impl Track {
    /// A track at the start of `movement`.
    pub fn new(mut movement: Movement) -> Self {
        let leg = movement.next_leg();
        Self { leg, movement: Box::new(movement) }
    }

    /// Position of the node.
    // Called for each frame and station. Without inlining, runs with moving nodes took up to a third longer.
    #[inline(always)]
    pub fn at(&mut self, now: Instant) -> Point {
        if self.leg.end <= now {
            self.advance(now);
            return self.leg.at(now);
        }
        self.leg.on_the_way(now)
    }

    /// The leg at `now`; at the boundary of two legs, the second one.
    #[inline]
    pub fn leg(&mut self, now: Instant) -> &Leg {
        if self.leg.end <= now {
            self.advance(now);
        }
        &self.leg
    }

    /// Upper bound of the node's speed over the whole run, in m/s ([`Movement::speed_limit`]).
    pub fn speed_limit(&self) -> f64 {
        self.movement.speed_limit()
    }

    #[cold]
    fn advance(&mut self, now: Instant) {
        while self.leg.end <= now && self.leg.end != Instant::FAR_FUTURE {
            self.leg = self.movement.next_leg();
        }
    }
}
