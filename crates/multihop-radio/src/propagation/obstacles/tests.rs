use proptest::prelude::*;

use super::*;

fn ring(points: &[(f64, f64)]) -> Vec<Point> {
    points.iter().map(|&(x, y)| Point { x, y }).collect()
}

fn house(left: f64, low: f64, side: f64) -> Vec<Point> {
    ring(&[(left, low), (left + side, low), (left + side, low + side), (left, low + side)])
}

fn loss(obstacles: &Obstacles, from: (f64, f64), to: (f64, f64)) -> f64 {
    obstacles.loss_db(Point { x: from.0, y: from.1 }, Point { x: to.0, y: to.1 })
}

fn close(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-9, "{got}, {want}");
}

#[test]
fn a_house_costs_its_walls_and_the_metres_inside() {
    let obstacle = Obstacle { rings: vec![house(10.0, 0.0, 10.0)], wall_db: 9.0, metre_db: 0.4 };
    let town = Obstacles::new(vec![obstacle]);
    close(loss(&town, (0.0, 5.0), (30.0, 5.0)), 2.0 * 9.0 + 10.0 * 0.4);
    close(loss(&town, (30.0, 5.0), (0.0, 5.0)), 2.0 * 9.0 + 10.0 * 0.4);
    close(loss(&town, (0.0, 5.0), (13.0, 5.0)), 9.0 + 3.0 * 0.4);
    close(loss(&town, (12.0, 2.0), (12.0, 8.0)), 6.0 * 0.4);
    close(loss(&town, (0.0, 11.0), (30.0, 11.0)), 0.0);
    close(loss(&town, (0.0, 5.0), (9.0, 5.0)), 0.0);
    close(loss(&town, (15.0, 5.0), (15.0, 5.0)), 0.0);
    // The path leads through two opposite corners and crosses the outline twice.
    close(loss(&town, (5.0, -5.0), (25.0, 15.0)), 2.0 * 9.0 + 200.0_f64.sqrt() * 0.4);
    // A path along a wall is inside or outside, and never crosses half of the outline.
    let along = loss(&town, (0.0, 0.0), (30.0, 0.0));
    assert!((along - 22.0).abs() < 1e-9 || along < 1e-9, "{along}");
}

#[test]
fn a_courtyard_is_not_inside() {
    let rings = vec![house(0.0, 0.0, 30.0), house(10.0, 10.0, 10.0)];
    let town = Obstacles::new(vec![Obstacle { rings, wall_db: 5.0, metre_db: 1.0 }]);
    close(loss(&town, (-10.0, 15.0), (40.0, 15.0)), 4.0 * 5.0 + 20.0);
    close(loss(&town, (15.0, 15.0), (40.0, 15.0)), 2.0 * 5.0 + 10.0);
}

#[test]
fn nothing_weakens_nothing() {
    close(loss(&Obstacles::new(Vec::new()), (0.0, 0.0), (1e6, 1e6)), 0.0);
}

fn obstacle() -> impl Strategy<Value = Obstacle> {
    let corner = (-60.0..60.0, -60.0..60.0);
    let centre = (-1000.0..1000.0, -1000.0..1000.0);
    (centre, prop::collection::vec(corner, 3..8)).prop_map(|((x, y), corners)| {
        let corners: Vec<_> = corners.into_iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        Obstacle { rings: vec![ring(&corners)], wall_db: 1.0, metre_db: 0.01 }
    })
}

/// Whether a ray to the right of a point crosses the outline an odd number of times.
fn contains(obstacle: &Obstacle, p: Point) -> bool {
    let corners = &obstacle.rings[0];
    let edges = corners.iter().zip(corners.iter().cycle().skip(1));
    let right = |(a, b): &(&Point, &Point)| {
        (a.y > p.y) != (b.y > p.y) && p.x < a.x + (b.x - a.x) * (p.y - a.y) / (b.y - a.y)
    };
    edges.filter(right).count() % 2 == 1
}

proptest! {
    #[test]
    fn the_index_misses_no_obstacle(
        obstacles in prop::collection::vec(obstacle(), 0..40),
        ends in prop::collection::vec((-1500.0..1500.0, -1500.0..1500.0, -1500.0..1500.0, -1500.0..1500.0), 1..20),
    ) {
        let town = Obstacles::new(obstacles.clone());
        for (x, y, u, v) in ends {
            let (from, to) = (Point { x, y }, Point { x: u, y: v });
            let each = |obstacle: &Obstacle| {
                let crossing = obstacle.crossing(from, to);
                f64::from(crossing.walls) * obstacle.wall_db
                    + crossing.inside * from.distance(to) * obstacle.metre_db
            };
            let all: f64 = obstacles.iter().map(each).sum();
            prop_assert!((town.loss_db(from, to) - all).abs() < 1e-9, "{} {all}", town.loss_db(from, to));
        }
    }

    #[test]
    fn the_part_inside_is_that_of_points_on_the_way(
        obstacle in obstacle(),
        ends in (-100.0..100.0, -100.0..100.0, -100.0..100.0, -100.0..100.0),
    ) {
        let centre = obstacle.rings[0][0];
        let from = Point { x: centre.x + ends.0, y: centre.y + ends.1 };
        let to = Point { x: centre.x + ends.2, y: centre.y + ends.3 };
        let points = 2000;
        let inside = (0..points).filter(|&n| {
            let share = (f64::from(n) + 0.5) / f64::from(points);
            contains(&obstacle, Point { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share })
        });
        let share = inside.count() as f64 / f64::from(points);
        let crossing = obstacle.crossing(from, to);
        let rounding = f64::from(crossing.walls + 1) / f64::from(points);
        prop_assert!((crossing.inside - share).abs() <= rounding, "{crossing:?} {share}");
    }
}
