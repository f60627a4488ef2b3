//! Houses and other obstacles: polygons that attenuate signals passing through them.

use crate::grid::Point;

/// Obstacle with a polygon as its outline, and its attenuation in dB.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// Outlines of the obstacle and of its holes, each without repeating the first point.
    pub rings: Vec<Vec<Point>>,
    /// Loss at each crossing of an outline, dB.
    pub wall_db: f64,
    /// Loss inside, dB per metre.
    pub metre_db: f64,
}

/// Obstacles, indexed by place.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacles {
    obstacles: Vec<Obstacle>,
    /// Bounding rectangle of each obstacle.
    boxes: Vec<Rectangle>,
    /// Bounding rectangle of all obstacles, which the cells divide.
    all: Rectangle,
    cell: f64,
    columns: usize,
    rows: usize,
    /// Index of each cell's first entry in `members`, followed by the number of entries.
    first: Vec<u32>,
    /// For each cell, the obstacles whose bounding rectangle touches it.
    members: Vec<u32>,
}

/// Crossing of one obstacle by a straight path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Crossing {
    walls: u32,
    /// Part of the path that is inside the obstacle, from 0 to 1.
    inside: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rectangle {
    low: Point,
    high: Point,
}

impl Obstacles {
    /// Creates the search index for these obstacles.
    pub fn new(obstacles: Vec<Obstacle>) -> Self {
        let boxes: Vec<_> = obstacles.iter().map(|obstacle| Rectangle::around(obstacle.points())).collect();
        let all = Rectangle::around(boxes.iter().flat_map(|each| [each.low, each.high]));
        let (width, height) = (all.high.x - all.low.x, all.high.y - all.low.y);
        // There are about as many square cells as obstacles.
        let cell = (width * height / obstacles.len().max(1) as f64).sqrt().max(width.max(height) / MAX_CELLS);
        let cell = cell.max(1e-3);
        let mut index = Self {
            columns: whole(width / cell) + 1,
            rows: whole(height / cell) + 1,
            obstacles,
            boxes,
            all,
            cell,
            first: Vec::new(),
            members: Vec::new(),
        };
        index.fill();
        index
    }

    /// All obstacles, in the order given to [`Obstacles::new`].
    pub fn all(&self) -> &[Obstacle] {
        &self.obstacles
    }

    /// The loss on the straight path between two points, dB; equal in both directions up to rounding.
    pub fn loss_db(&self, from: Point, to: Point) -> f64 {
        let length = from.distance(to);
        let mut loss = 0.0;
        for number in self.near(from, to) {
            let obstacle = &self.obstacles[number as usize];
            let crossing = obstacle.crossing(from, to);
            loss +=
                obstacle.wall_db * f64::from(crossing.walls) + obstacle.metre_db * crossing.inside * length;
        }
        loss
    }

    /// Obstacles whose bounding rectangle intersects that of the path, from the grid cells that the path crosses; in
    /// ascending order.
    fn near(&self, from: Point, to: Point) -> Vec<u32> {
        let mut found = Vec::new();
        let path = Rectangle::around([from, to]);
        if !path.meets(&self.all) {
            return found;
        }
        for row in self.row(path.low.y)..=self.row(path.high.y) {
            let (left, right) = self.part_in_row(row, from, to);
            for column in self.column(left)..=self.column(right) {
                let cell = row * self.columns + column;
                let members = self.first[cell] as usize..self.first[cell + 1] as usize;
                let met = |&&number: &&u32| self.boxes[number as usize].meets(&path);
                found.extend(self.members[members].iter().filter(met));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The smallest and the greatest x of a path within a row of cells; border rows extend to infinity.
    fn part_in_row(&self, row: usize, from: Point, to: Point) -> (f64, f64) {
        let rise = to.y - from.y;
        if rise.abs() < self.cell {
            return (from.x.min(to.x), from.x.max(to.x));
        }
        // The part is a hundredth wider, to allow for rounding errors.
        let edge = |rows: f64| self.all.low.y + self.cell * (row as f64 + rows);
        let bottom = if row == 0 { f64::NEG_INFINITY } else { edge(-0.01) };
        let top = if row + 1 == self.rows { f64::INFINITY } else { edge(1.01) };
        let at = |y: f64| from.x + (to.x - from.x) * ((y - from.y) / rise).clamp(0.0, 1.0);
        let (one, other) = (at(bottom), at(top));
        (one.min(other), one.max(other))
    }

    fn fill(&mut self) {
        let cells = self.columns * self.rows;
        let of = |each: &Rectangle| {
            let (columns, rows) = (
                self.column(each.low.x)..=self.column(each.high.x),
                self.row(each.low.y)..=self.row(each.high.y),
            );
            let width = self.columns;
            rows.flat_map(move |row| columns.clone().map(move |column| row * width + column))
        };
        let mut first = vec![0_u32; cells + 1];
        self.boxes.iter().flat_map(of).for_each(|cell| first[cell + 1] += 1);
        for cell in 0..cells {
            first[cell + 1] += first[cell];
        }
        let mut next = first.clone();
        let mut members = vec![0; first[cells] as usize];
        for (number, each) in (0..).zip(&self.boxes) {
            for cell in of(each) {
                members[next[cell] as usize] = number;
                next[cell] += 1;
            }
        }
        (self.first, self.members) = (first, members);
    }

    fn column(&self, x: f64) -> usize {
        whole((x - self.all.low.x) / self.cell).min(self.columns - 1)
    }

    fn row(&self, y: f64) -> usize {
        whole((y - self.all.low.y) / self.cell).min(self.rows - 1)
    }
}

impl Obstacle {
    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.rings.iter().flatten().copied()
    }

    /// How the path crosses the obstacle, by the even-odd rule: a point is inside if a line from it crosses
    /// the outlines an odd number of times.
    fn crossing(&self, from: Point, to: Point) -> Crossing {
        let mut crossed = self.crossed(from, to);
        crossed.sort_unstable_by(f64::total_cmp);
        let mut crossing = Crossing { walls: 0, inside: 0.0 };
        let (mut is_inside, mut last) = (false, 0.0);
        for at in crossed {
            if at >= 1.0 {
                break;
            }
            if at > 0.0 {
                crossing.walls += 1;
                crossing.inside += if is_inside { at - last } else { 0.0 };
                last = at;
            }
            is_inside = !is_inside;
        }
        crossing.inside += if is_inside { 1.0 - last } else { 0.0 };
        crossing
    }

    /// Positions at which the line through two points crosses the outlines: 0 at `from`, 1 at `to`. Each
    /// corner counts as being on one side of the line. A line through a corner therefore crosses both or none
    /// of its edges, or changes sides once.
    fn crossed(&self, from: Point, to: Point) -> Vec<f64> {
        let (x, y) = (to.x - from.x, to.y - from.y);
        let squared = x * x + y * y;
        let mut crossed = Vec::new();
        if squared <= 0.0 {
            return crossed;
        }
        let aside = |p: Point| x * (p.y - from.y) - y * (p.x - from.x);
        for ring in &self.rings {
            let Some(mut before) = ring.last().copied() else { continue };
            let mut side = aside(before);
            for &point in ring {
                let next = aside(point);
                if (side >= 0.0) != (next >= 0.0) {
                    let share = side / (side - next);
                    let dx = before.x + (point.x - before.x) * share - from.x;
                    let dy = before.y + (point.y - before.y) * share - from.y;
                    crossed.push((dx * x + dy * y) / squared);
                }
                (before, side) = (point, next);
            }
        }
        crossed
    }
}

impl Rectangle {
    fn around(points: impl IntoIterator<Item = Point>) -> Self {
        let mut points = points.into_iter();
        let first = points.next().unwrap_or_default();
        points.fold(Self { low: first, high: first }, |all, p| Self {
            low: Point { x: all.low.x.min(p.x), y: all.low.y.min(p.y) },
            high: Point { x: all.high.x.max(p.x), y: all.high.y.max(p.y) },
        })
    }

    fn meets(&self, other: &Self) -> bool {
        self.low.x <= other.high.x
            && other.low.x <= self.high.x
            && self.low.y <= other.high.y
            && other.low.y <= self.high.y
    }
}

/// Rounds down; values below 0 or too large saturate.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn whole(x: f64) -> usize {
    x as usize
}

/// Largest number of cells along one side of the search grid.
const MAX_CELLS: f64 = 1000.0;

#[cfg(test)]
mod tests;
