//! A uniform grid over the plane that finds the nodes near a point.

use multihop_core::NodeId;

/// A place in the plane, metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Eastward.
    pub x: f64,
    /// Southward: down, as layouts are drawn.
    pub y: f64,
}

impl Point {
    /// Metres from here to `other`.
    pub fn distance(self, other: Self) -> f64 {
        self.distance_squared(other).sqrt()
    }

    fn distance_squared(self, other: Self) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        x * x + y * y
    }
}

/// Nodes, indexed by position.
///
/// Cells have the requested size, or a larger one if a wide and sparse plane would need many more cells than there
/// are nodes. The border cells reach to infinity, so that a node may leave the rectangle in which all started.
#[derive(Clone, Debug)]
pub struct Grid {
    corner: Point,
    cell: f64,
    columns: usize,
    rows: usize,
    /// The first node of each cell.
    first: Vec<u32>,
    /// The other nodes of its cell, for each node.
    links: Vec<ListEntry>,
    places: Vec<Point>,
}

impl Grid {
    /// Nodes 0, 1, ... at `points`, in cells of about `cell` metres. The usual radius of [`Self::within`] is a good size.
    pub fn new(cell: f64, points: &[Point]) -> Self {
        assert!(cell > 0.0, "cells of {cell} m have no size");
        let (corner, width, height) = extent(points);
        let most = CELLS_PER_NODE * points.len().max(1);
        let mut cell = cell;
        while cells(width, cell).saturating_mul(cells(height, cell)) > most {
            cell *= 2.0;
        }
        let (columns, rows) = (cells(width, cell), cells(height, cell));
        let mut grid = Self {
            corner,
            cell,
            columns,
            rows,
            first: vec![NOBODY; columns * rows],
            links: vec![ListEntry { before: NOBODY, after: NOBODY }; points.len()],
            places: points.to_vec(),
        };
        for node in 0..points.len() {
            grid.insert(node);
        }
        grid
    }

    /// Where a node is.
    pub fn place(&self, node: NodeId) -> Point {
        self.places[node.index()]
    }

    /// Moves a node.
    pub fn move_to(&mut self, node: NodeId, to: Point) {
        let from = self.cell_of(self.places[node.index()]);
        if from == self.cell_of(to) {
            self.places[node.index()] = to;
            return;
        }
        self.remove(node.index());
        self.places[node.index()] = to;
        self.insert(node.index());
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Replaces `found` by the nodes no farther than `radius` from `centre`, in ascending order; a
    /// node at the centre is among them.
    pub fn within(&self, centre: Point, radius: f64, found: &mut Vec<NodeId>) {
        found.clear();
        let (left, low) = self.cell_at(centre.x - radius, centre.y - radius);
        let (right, high) = self.cell_at(centre.x + radius, centre.y + radius);
        for row in low..=high {
            for column in left..=right {
                let mut next = self.first[row * self.columns + column];
                while next != NOBODY {
                    if self.places[next as usize].distance_squared(centre) <= radius * radius {
                        if found.len() == found.capacity() {
                            // There may be a list for every node; doubling the capacity would leave half of it empty.
                            found.reserve_exact(8 + found.len() / 8);
                        }
                        found.push(NodeId(next));
                    }
                    next = self.links[next as usize].after;
                }
            }
        }
        found.sort_unstable();
    }

    fn insert(&mut self, node: usize) {
        let cell = self.cell_of(self.places[node]);
        let number = u32::try_from(node).expect("nodes are numbered by 32 bits");
        let after = std::mem::replace(&mut self.first[cell], number);
        self.links[node] = ListEntry { before: NOBODY, after };
        if after != NOBODY {
            self.links[after as usize].before = number;
        }
    }

    fn remove(&mut self, node: usize) {
        let ListEntry { before, after } = self.links[node];
        if before == NOBODY {
            let cell = self.cell_of(self.places[node]);
            self.first[cell] = after;
        } else {
            self.links[before as usize].after = after;
        }
        if after != NOBODY {
            self.links[after as usize].before = before;
        }
    }

    fn cell_of(&self, place: Point) -> usize {
        let (column, row) = self.cell_at(place.x, place.y);
        row * self.columns + column
    }

    /// Column and row of a point; the nearest ones if it is outside.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what lies outside saturates and is then clamped to the border"
    )]
    fn cell_at(&self, x: f64, y: f64) -> (usize, usize) {
        let column = ((x - self.corner.x) / self.cell) as usize;
        let row = ((y - self.corner.y) / self.cell) as usize;
        (column.min(self.columns - 1), row.min(self.rows - 1))
    }
}

/// A node's neighbours in the list of its cell.
#[derive(Clone, Copy, Debug)]
struct ListEntry {
    before: u32,
    after: u32,
}

/// South-west corner, width and height of the smallest rectangle around all points.
fn extent(points: &[Point]) -> (Point, f64, f64) {
    let Some(&first) = points.first() else { return (Point::default(), 0.0, 0.0) };
    let (low, high) = points.iter().fold((first, first), |(low, high), p| {
        (Point { x: low.x.min(p.x), y: low.y.min(p.y) }, Point { x: high.x.max(p.x), y: high.y.max(p.y) })
    });
    (low, high.x - low.x, high.y - low.y)
}

/// How many cells cover a length.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length is not negative, and too many cells saturate"
)]
fn cells(length: f64, cell: f64) -> usize {
    ((length / cell) as usize).saturating_add(1)
}

/// The end of a list.
const NOBODY: u32 = u32::MAX;

/// Bounds the memory of a wide and empty plane.
const CELLS_PER_NODE: usize = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn brute_force(places: &[Point], centre: Point, radius: f64) -> Vec<NodeId> {
        (0..)
            .zip(places)
            .filter(|(_, place)| place.distance_squared(centre) <= radius * radius)
            .map(|(n, _)| NodeId(n))
            .collect()
    }

    fn point(side: f64) -> impl Strategy<Value = Point> {
        (-side..side, -side..side).prop_map(|(x, y)| Point { x, y })
    }

    proptest! {
        #[test]
        fn finds_what_brute_force_finds(
            side in prop::sample::select(vec![1.0, 1e3, 1e5, 1e9]),
            places in prop::collection::vec(point(1.0), 0..60),
            moves in prop::collection::vec((any::<prop::sample::Index>(), point(3.0)), 0..60),
            centres in prop::collection::vec(point(4.0), 1..8),
            reach in 0.0..2.0,
        ) {
            let scale = |p: Point| Point { x: p.x * side, y: p.y * side };
            let mut places: Vec<Point> = places.into_iter().map(scale).collect();
            let mut grid = Grid::new(550.0, &places);
            prop_assert!(grid.first.len() <= 4 * places.len().max(1));
            let mut found = Vec::new();
            for (which, to) in moves {
                if !places.is_empty() {
                    let node = which.index(places.len());
                    places[node] = scale(to);
                    grid.move_to(NodeId(u32::try_from(node).unwrap()), scale(to));
                }
            }
            for centre in centres {
                grid.within(scale(centre), reach * side, &mut found);
                prop_assert_eq!(&found, &brute_force(&places, scale(centre), reach * side));
            }
        }
    }

    #[test]
    fn a_chain_finds_two_hops_in_each_direction() {
        let places: Vec<Point> =
            (0..10).map(|i| Point { x: f64::from(i) * 200.0 - 1000.0, y: 0.0 }).collect();
        let grid = Grid::new(550.0, &places);
        let mut found = Vec::with_capacity(10);
        grid.within(grid.place(NodeId(4)), 550.0, &mut found);
        assert_eq!(found, [2, 3, 4, 5, 6].map(NodeId));
        grid.within(grid.place(NodeId(0)), 400.0, &mut found);
        assert_eq!(found, [0, 1, 2].map(NodeId));
    }

    #[test]
    fn two_nodes_a_light_year_apart_need_few_cells() {
        let grid = Grid::new(550.0, &[Point::default(), Point { x: 9.46e15, y: -9.46e15 }]);
        assert!(grid.first.len() <= 8, "{} cells", grid.first.len());
    }
}
