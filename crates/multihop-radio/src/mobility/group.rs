use multihop_core::{Duration, Instant, NodeId, Rng};

use super::area::Area;
use super::leg::Leg;
use super::random_waypoint::{RandomWaypoint, RandomWaypointParams};
use crate::grid::Point;

/// Reference point group mobility: a reference point moves by random waypoint, and the nodes of its group stay near it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupParams {
    /// The movement of the reference point. It has the same area as the nodes; the reference point keeps
    /// `radius` away from the borders.
    pub reference: RandomWaypointParams,
    /// Largest distance of a node from the reference point of its group, m.
    pub radius: f64,
    /// Time of a node's movement between two places relative to the reference point.
    pub interval: Duration,
}

impl GroupParams {
    /// Highest speed of a node, m/s.
    pub fn max_speed(&self) -> f64 {
        self.reference.max_speed + 2.0 * self.radius / self.interval.as_secs_f64()
    }

    /// The area of the reference point, from the corner at `(radius, radius)`.
    pub fn inner_area(&self) -> Area {
        let Area { width, height } = self.reference.area;
        Area { width: width - 2.0 * self.radius, height: height - 2.0 * self.radius }
    }

    /// The movement of the reference point of the group whose first node is `group`, relative to the corner
    /// of its inner area.
    fn reference(&self, seed: u64, group: NodeId) -> RandomWaypoint {
        let inner = RandomWaypointParams { area: self.inner_area(), ..self.reference };
        RandomWaypoint::drawn(inner, Rng::stream(seed, "mobility/group", u64::from(group.0)))
    }
}

/// Movement of one node of a group.
#[derive(Clone, Debug)]
pub struct Group {
    params: GroupParams,
    rng: Rng,
    now: Instant,
    place: Point,
    reference: RandomWaypoint,
    /// The current leg of the reference point, relative to the corner of its inner area.
    reference_leg: Leg,
    /// The current leg relative to the reference point.
    relative_leg: Leg,
}

impl Group {
    /// Starts the movement of `node` in the group whose first node is `group`. Panics on invalid parameters.
    pub fn new(params: GroupParams, seed: u64, group: NodeId, node: NodeId) -> Self {
        assert!(params.radius > 0.0 && params.interval > Duration::ZERO, "a group without room");
        let mut rng = Rng::stream(seed, "mobility", u64::from(node.0));
        let mut reference = params.reference(seed, group);
        let reference_leg = reference.next_leg();
        // Nodes turn at different times, because their first movement is already in progress at the start.
        let (from, to, done) = (offset(&params, &mut rng), offset(&params, &mut rng), rng.unit());
        let from = Point { x: from.x + (to.x - from.x) * done, y: from.y + (to.y - from.y) * done };
        let rest = Duration::from_secs_f64((1.0 - done) * params.interval.as_secs_f64());
        let end = Instant::ZERO + rest.max(Duration::from_nanos(1));
        let relative_leg = Leg { start: Instant::ZERO, from, end, to };
        let place = sum(&params, reference_leg.from, from);
        Self { params, rng, now: Instant::ZERO, place, reference, reference_leg, relative_leg }
    }

    pub(super) fn next_leg(&mut self) -> Leg {
        if self.reference_leg.end <= self.now {
            self.reference_leg = self.reference.next_leg();
        }
        if self.relative_leg.end <= self.now {
            let (start, from) = (self.now, self.relative_leg.to);
            let to = offset(&self.params, &mut self.rng);
            self.relative_leg = Leg { start, from, end: start + self.params.interval, to };
        }
        let end = self.reference_leg.end.min(self.relative_leg.end);
        let to = sum(&self.params, self.reference_leg.at(end), self.relative_leg.at(end));
        let leg = Leg { start: self.now, from: self.place, end, to };
        (self.now, self.place) = (end, to);
        leg
    }

    pub(super) fn speed_limit(&self) -> f64 {
        self.params.max_speed()
    }
}

/// A place drawn uniformly from the circle around the reference point, relative to the reference point.
fn offset(params: &GroupParams, rng: &mut Rng) -> Point {
    loop {
        let (x, y) = (rng.range(-1.0, 1.0), rng.range(-1.0, 1.0));
        if x * x + y * y <= 1.0 {
            return Point { x: x * params.radius, y: y * params.radius };
        }
    }
}

/// Position of a node: reference point plus relative position, clamped to the area against rounding errors.
fn sum(params: &GroupParams, reference: Point, relative: Point) -> Point {
    let Area { width, height } = params.reference.area;
    Point {
        x: (reference.x + params.radius + relative.x).clamp(0.0, width),
        y: (reference.y + params.radius + relative.y).clamp(0.0, height),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobility::{Movement, Start, Track};

    fn params() -> GroupParams {
        let area = Area { width: 1000.0, height: 600.0 };
        let pause = Duration::from_secs(10);
        let reference =
            RandomWaypointParams { area, min_speed: 2.0, max_speed: 10.0, pause, start: Start::Stationary };
        GroupParams { reference, radius: 50.0, interval: Duration::from_secs(20) }
    }

    fn at(tenths: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(100 * tenths)
    }

    fn places(node: u32, times: u64) -> Vec<Point> {
        let mut track = Track::new(Movement::Group(Group::new(params(), 5, NodeId(0), NodeId(node))));
        (0..times).map(|n| track.at(at(n))).collect()
    }

    #[test]
    fn nodes_are_never_farther_from_the_reference_point_than_the_radius() {
        let mut reference = Track::new(Movement::RandomWaypoint(params().reference(5, NodeId(0))));
        let times = 50_000;
        let centre = |n| {
            let Point { x, y } = reference.at(at(n));
            Point { x: x + 50.0, y: y + 50.0 }
        };
        let centres: Vec<_> = (0..times).map(centre).collect();
        for node in 0..5 {
            let distances = places(node, times).into_iter().zip(&centres).map(|(a, b)| a.distance(*b));
            let farthest = distances.fold(0.0, f64::max);
            assert!(farthest <= 50.0 + 1e-6, "node {node}: {farthest} m");
            assert!(farthest > 40.0, "node {node} uses the circle: {farthest} m");
        }
    }

    #[test]
    fn groups_have_different_reference_points_and_nodes_different_places() {
        let begin = |group, node| {
            Track::new(Movement::Group(Group::new(params(), 5, NodeId(group), NodeId(node)))).at(at(0))
        };
        assert!(begin(0, 0).distance(begin(0, 1)) <= 100.0);
        assert_ne!(begin(0, 0), begin(0, 1));
        assert_ne!(begin(0, 1), begin(2, 1));
    }

    #[test]
    fn a_node_is_within_its_circle_as_at_the_start() {
        // The mean distance of a moving node from the reference point is the same at all times.
        let mean = |n: u64| {
            let distance = |node| {
                let mut reference = Track::new(Movement::RandomWaypoint(params().reference(5, NodeId(node))));
                let centre = reference.at(at(n));
                let group = Group::new(params(), 5, NodeId(node), NodeId(node));
                let place = Track::new(Movement::Group(group)).at(at(n));
                place.distance(Point { x: centre.x + 50.0, y: centre.y + 50.0 })
            };
            (0..4000).map(distance).sum::<f64>() / 4000.0
        };
        let (early, late) = (mean(0), mean(6000));
        // The standard deviation of a distance is about 12 m, and that of the mean 0.19 m.
        assert!((early - late).abs() < 4.0 * 0.27, "{early} and {late}");
    }
}
