//! A uniform grid over the plane that finds the nodes near a point.

use multihop_core::NodeId;

/// A place in the plane, metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Distance eastward from the origin, in metres.
    pub x: f64,
    /// Distance south of the origin, metres: y grows downwards, as layouts are drawn.
    pub y: f64,
}

impl Point {
    /// Distance to `other`, metres.
    pub fn distance(self, other: Self) -> f64 {
        self.distance_squared(other).sqrt()
    }

    /// Square of the distance to `other`, square metres.
    pub(crate) fn distance_squared(self, other: Self) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        x * x + y * y
    }
}

/// Uniform grid that finds nodes by position.
///
/// Cells have the requested size, or a larger one if there would be many more cells than nodes. The border cells
/// extend to infinity, so that nodes may leave the initial rectangle. Nodes are stored cell by cell, row by row, so
/// that a search reads contiguous memory.
#[derive(Clone, Debug)]
pub struct Grid {
    cells: Cells,
    /// Index of each cell's first node in `nodes` and `places`, followed by the number of all nodes.
    first: Vec<u32>,
    /// Nodes sorted by cell, in ascending order within a cell.
    nodes: Vec<NodeId>,
    /// Position of each node in `nodes`.
    places: Vec<Point>,
    /// Index in `nodes` of each node.
    indices: Vec<u32>,
}

/// Equal squares that divide the plane.
#[derive(Clone, Copy, Debug)]
struct Cells {
    corner: Point,
    /// Metres from one side of a cell to the other.
    width: f64,
    columns: usize,
    rows: usize,
}

impl Grid {
    /// Creates a grid with node n at `points[n]`, in cells of about `cell` metres. The usual radius of [`Self::within`] is
    /// a good size.
    pub fn new(cell: f64, points: &[Point]) -> Self {
        assert!(cell > 0.0, "cells of {cell} m have no size");
        let cells = Cells::around(points, cell);
        let mut grid = Self {
            first: vec![0; cells.columns * cells.rows + 1],
            cells,
            nodes: vec![NodeId(0); points.len()],
            places: vec![Point::default(); points.len()],
            indices: vec![0; points.len()],
        };
        grid.move_all(points);
        grid
    }

    /// Position of a node.
    pub fn place(&self, node: NodeId) -> Point {
        self.places[self.indices[node.index()] as usize]
    }

    /// Moves all nodes: node 0 to the first of `points`, and so on. Panics if their number differs.
    pub fn move_all(&mut self, points: &[Point]) {
        assert_eq!(points.len(), self.nodes.len(), "a place for each node");
        self.first.fill(0);
        for (index, &point) in self.indices.iter_mut().zip(points) {
            // The entry stores the cell until the second loop replaces it by an index.
            let (column, row) = self.cells.column_and_row(point.x, point.y);
            *index =
                u32::try_from(row * self.cells.columns + column).expect("at most four cells for each node");
            self.first[*index as usize] += 1;
        }
        let mut end = 0;
        for first in &mut self.first {
            end += *first;
            *first = end;
        }
        // Nodes are stored from the last to the first, so that each cell fills from its end to its beginning.
        for (node, &point) in points.iter().enumerate().rev() {
            let first = &mut self.first[self.indices[node] as usize];
            *first -= 1;
            self.indices[node] = *first;
            self.nodes[*first as usize] = NodeId(u32::try_from(node).expect("nodes are numbered by 32 bits"));
            self.places[*first as usize] = point;
        }
    }

    /// Number of nodes in the grid.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the grid contains no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Replaces `found` by the nodes no farther than `radius` from `centre`, in ascending order; a
    /// node at the centre is among them.
    pub fn within(&self, centre: Point, radius: f64, found: &mut Vec<NodeId>) {
        self.near(centre, radius, found);
        found.sort_unstable();
    }

    /// Replaces `found` by the nodes no farther than `radius` from `centre`, in no particular order; a node at the centre is
    /// among them.
    pub fn near(&self, centre: Point, radius: f64, found: &mut Vec<NodeId>) {
        found.clear();
        let (left, low) = self.cells.column_and_row(centre.x - radius, centre.y - radius);
        let (right, high) = self.cells.column_and_row(centre.x + radius, centre.y + radius);
        for row in low..=high {
            let [begin, end] =
                [left, right + 1].map(|column| self.first[row * self.cells.columns + column] as usize);
            for (&node, place) in self.nodes[begin..end].iter().zip(&self.places[begin..end]) {
                if place.distance_squared(centre) <= radius * radius {
                    if found.len() == found.capacity() {
                        // A list may exist for every node; doubling the capacity would waste half of the
                        // memory.
                        found.reserve_exact(8 + found.len() / 8);
                    }
                    found.push(node);
                }
            }
        }
    }
}

impl Cells {
    /// Cells around all points, of about `width` metres.
    fn around(points: &[Point], width: f64) -> Self {
        let (corner, wide, high) = extent(points);
        let most = CELLS_PER_NODE * points.len().max(1);
        let mut width = width;
        while cells(wide, width).saturating_mul(cells(high, width)) > most {
            width *= 2.0;
        }
        Self { corner, width, columns: cells(wide, width), rows: cells(high, width) }
    }

    /// Column and row of a point; a point outside of the grid belongs to the nearest border cell.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what lies outside saturates and is then clamped to the border"
    )]
    fn column_and_row(&self, x: f64, y: f64) -> (usize, usize) {
        let column = ((x - self.corner.x) / self.width) as usize;
        let row = ((y - self.corner.y) / self.width) as usize;
        (column.min(self.columns - 1), row.min(self.rows - 1))
    }
}

/// South-west corner, width and height of the smallest rectangle around all points.
fn extent(points: &[Point]) -> (Point, f64, f64) {
    let Some(&first) = points.first() else { return (Point::default(), 0.0, 0.0) };
    let (low, high) = points.iter().fold((first, first), |(low, high), p| {
        (Point { x: low.x.min(p.x), y: low.y.min(p.y) }, Point { x: high.x.max(p.x), y: high.y.max(p.y) })
    });
    (low, high.x - low.x, high.y - low.y)
}

/// Number of cells that cover a length.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length is not negative, and too many cells saturate"
)]
fn cells(length: f64, cell: f64) -> usize {
    ((length / cell) as usize).saturating_add(1)
}

/// Largest number of cells per node, which bounds the memory for a wide and empty plane.
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
            prop_assert!(grid.first.len() <= 4 * places.len().max(1) + 1);
            let mut found = Vec::new();
            for (which, to) in moves {
                if !places.is_empty() {
                    let node = which.index(places.len());
                    places[node] = scale(to);
                }
            }
            grid.move_all(&places);
            for (node, &place) in (0..).map(NodeId).zip(&places) {
                prop_assert_eq!(grid.place(node), place);
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
        assert!(grid.first.len() <= 9, "{} cells", grid.first.len());
    }
}
