use multihop_core::{Instant, NodeId, Rng};

use super::area::Area;
use super::leg::Leg;
use crate::grid::Point;

/// Movement along the streets of a town whose blocks are equal rectangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ManhattanParams {
    /// The town; streets run along its borders and between its blocks.
    pub area: Area,
    /// Number of blocks in a row and in a column, at least 1.
    pub blocks: [u32; 2],
    /// Lowest speed, m/s; more than 0.
    pub min_speed: f64,
    /// Highest speed of a node, in m/s.
    pub max_speed: f64,
    /// Probability of turning at a crossing, half of it to each side.
    pub turn: f64,
}

impl ManhattanParams {
    /// Distances between neighbouring crossings in metres, along x and along y.
    pub fn block(&self) -> [f64; 2] {
        let [columns, rows] = self.blocks.map(f64::from);
        [self.area.width / columns, self.area.height / rows]
    }

    /// Panics if the parameters are invalid.
    fn check(&self) {
        self.area.check();
        let (min, max) = (self.min_speed, self.max_speed);
        assert!(0.0 < min && min <= max && max.is_finite(), "no speed from {min} to {max} m/s");
        assert!(self.blocks.iter().all(|&count| count > 0), "no blocks");
        assert!((0.0..=1.0).contains(&self.turn), "a probability of {}", self.turn);
    }

    fn point(&self, crossing: [u32; 2]) -> Point {
        let [width, height] = self.block();
        // A crossing at the border has exactly the coordinate of the border.
        let along = |index: u32, count: u32, step: f64, whole: f64| {
            if index == count { whole } else { f64::from(index) * step }
        };
        Point {
            x: along(crossing[0], self.blocks[0], width, self.area.width),
            y: along(crossing[1], self.blocks[1], height, self.area.height),
        }
    }

    /// The next crossing in this direction; `None` at the end of the town.
    fn beyond(&self, crossing: [u32; 2], heading: Heading) -> Option<[u32; 2]> {
        let step = |index: u32, forward: bool, count: u32| {
            if forward { (index < count).then(|| index + 1) } else { index.checked_sub(1) }
        };
        let mut next = crossing;
        next[heading.axis] = step(crossing[heading.axis], heading.forward, self.blocks[heading.axis])?;
        Some(next)
    }
}

/// The direction of a street: along x (axis 0) or y (axis 1), towards larger coordinates or back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Heading {
    axis: usize,
    forward: bool,
}

/// One node on the streets.
#[derive(Clone, Debug)]
pub struct Manhattan {
    params: ManhattanParams,
    rng: Rng,
    now: Instant,
    place: Point,
    /// The crossing that the node reaches next.
    next: [u32; 2],
    heading: Heading,
    /// Speed until the next crossing, m/s.
    speed: f64,
}

impl Manhattan {
    /// Starts the movement of `node`. Panics on invalid parameters.
    pub fn new(params: ManhattanParams, seed: u64, node: NodeId) -> Self {
        params.check();
        let mut rng = Rng::stream(seed, "mobility", u64::from(node.0));
        let (from, heading) = street(&params, &mut rng);
        let next = params.beyond(from, heading).expect("streets end at crossings");
        let (a, b, done) = (params.point(from), params.point(next), rng.unit());
        let place = Point { x: a.x + (b.x - a.x) * done, y: a.y + (b.y - a.y) * done };
        // A slow node stays longer on its street, so that the density of speeds is proportional to 1/v.
        let ratio = params.max_speed / params.min_speed;
        let speed = (params.min_speed * libm::exp(rng.unit() * libm::log(ratio))).min(params.max_speed);
        Self { params, rng, now: Instant::ZERO, place, next, heading, speed }
    }

    pub(super) fn next_leg(&mut self) -> Leg {
        let leg = Leg::trip(self.now, self.place, self.params.point(self.next), self.speed);
        (self.now, self.place) = (leg.end, leg.to);
        if leg.to == self.params.point(self.next) {
            self.heading = self.turned();
            self.next = self.params.beyond(self.next, self.heading).expect("the way is open");
            self.speed = self.rng.range(self.params.min_speed, self.params.max_speed);
        }
        leg
    }

    pub(super) fn speed_limit(&self) -> f64 {
        self.params.max_speed
    }

    /// The direction in which the node leaves the crossing that it has reached. A turn that would leave the
    /// town becomes a turn to the other side. At the end of a street both sides are equally likely.
    fn turned(&mut self) -> Heading {
        let turns = self.rng.chance(self.params.turn);
        let side = Heading { axis: 1 - self.heading.axis, forward: self.rng.chance(0.5) };
        let is_open = |heading| self.params.beyond(self.next, heading).is_some();
        if !turns && is_open(self.heading) {
            self.heading
        } else if is_open(side) {
            side
        } else {
            Heading { forward: !side.forward, ..side }
        }
    }
}

/// Draws a street with a probability proportional to its length: its first crossing, and its direction.
fn street(params: &ManhattanParams, rng: &mut Rng) -> ([u32; 2], Heading) {
    let [columns, rows] = params.blocks;
    let along = f64::from(rows + 1) * params.area.width;
    let across = f64::from(columns + 1) * params.area.height;
    let axis = usize::from(!rng.chance(along / (along + across)));
    let mut from = [0, 0];
    from[axis] = rng.below(params.blocks[axis]);
    from[1 - axis] = rng.below(params.blocks[1 - axis] + 1);
    let forward = rng.chance(0.5);
    if !forward {
        from[axis] += 1;
    }
    (from, Heading { axis, forward })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> ManhattanParams {
        let area = Area { width: 600.0, height: 400.0 };
        ManhattanParams { area, blocks: [6, 4], min_speed: 5.0, max_speed: 15.0, turn: 0.5 }
    }

    fn legs(params: ManhattanParams, node: u32, count: usize) -> Vec<Leg> {
        let mut movement = Manhattan::new(params, 7, NodeId(node));
        (0..count).map(|_| movement.next_leg()).collect()
    }

    fn is_on_a_street(place: Point) -> bool {
        let near = |x: f64| (x / 100.0 - (x / 100.0).round()).abs() < 1e-9;
        near(place.x) || near(place.y)
    }

    fn heading(leg: &Leg) -> (i32, i32) {
        let sign = |x: f64| i32::from(x > 1e-9) - i32::from(x < -1e-9);
        (sign(leg.to.x - leg.from.x), sign(leg.to.y - leg.from.y))
    }

    #[test]
    fn nodes_are_always_on_streets_and_within_the_speeds() {
        for node in 0..20 {
            for leg in legs(params(), node, 2000) {
                let middle = leg.at(leg.start + (leg.end - leg.start) / 2);
                assert!([leg.from, middle, leg.to].into_iter().all(is_on_a_street), "{leg:?}");
                let (across, along) = heading(&leg);
                assert!(across == 0 || along == 0, "{leg:?}");
                let (x, y) = leg.velocity();
                assert!((4.99..=15.01).contains(&(x.abs() + y.abs())), "{leg:?}");
            }
        }
    }

    #[test]
    fn at_inner_crossings_nodes_turn_to_either_side_with_half_the_probability() {
        for turn in [0.2, 0.5, 1.0] {
            let legs = legs(ManhattanParams { turn, ..params() }, 0, 100_000);
            let (mut left, mut right, mut straight) = (0_u32, 0_u32, 0_u32);
            let inner = |place: Point| (50.0..550.0).contains(&place.x) && (50.0..350.0).contains(&place.y);
            for pair in legs.windows(2).filter(|pair| inner(pair[0].to)) {
                let ((a, b), (c, d)) = (heading(&pair[0]), heading(&pair[1]));
                match a * d - b * c {
                    0 => {
                        assert_eq!((a, b), (c, d), "nodes do not go back");
                        straight += 1;
                    }
                    1 => right += 1,
                    _ => left += 1,
                }
            }
            let all = f64::from(left + right + straight);
            let error = 4.0 * (0.25 / all).sqrt();
            for (count, expected) in [(left, turn / 2.0), (right, turn / 2.0), (straight, 1.0 - turn)] {
                assert!((f64::from(count) / all - expected).abs() <= error, "{count} of {all}, turn {turn}");
            }
        }
    }

    /// With `turn = 0.5` as many nodes enter each street as leave it, so that they stay uniform on the streets.
    #[test]
    fn the_density_on_the_streets_is_uniform_at_all_times() {
        // Five streets along x have 600 m each, seven along y 400 m. The outer streets have 2000 of 5800 m.
        for seconds in [0_u64, 1000] {
            let at = Instant::ZERO + multihop_core::Duration::from_secs(seconds);
            let nodes = 20_000_u32;
            let is_outer = |node| {
                let mut movement = Manhattan::new(params(), 1, NodeId(node));
                let mut leg = movement.next_leg();
                while leg.end <= at {
                    leg = movement.next_leg();
                }
                let Point { x, y } = leg.at(at);
                x <= 1e-9 || y <= 1e-9 || x >= 600.0 - 1e-9 || y >= 400.0 - 1e-9
            };
            let outer = (0..nodes).filter(|&node| is_outer(node)).count() as f64 / f64::from(nodes);
            let expected = 2000.0 / 5800.0;
            let error = 4.0 * (expected * (1.0 - expected) / f64::from(nodes)).sqrt();
            assert!((outer - expected).abs() < error, "{outer} after {seconds} s");
        }
    }

    #[test]
    fn in_a_single_block_nodes_go_round() {
        let round = ManhattanParams { blocks: [1, 1], turn: 0.0, ..params() };
        let legs = legs(round, 3, 100);
        assert!(legs.windows(2).all(|pair| heading(&pair[0]) != heading(&pair[1])));
    }
}
