//! The layouts in figures of papers. Coordinates are in metres, with y downwards as in the figures.

use core::ops::Range;

use multihop_core::{Instant, NodeId};
use multihop_radio::grid::Point;
use multihop_radio::mobility::{self, Movement, Path};

use super::Layout;

/// A chain of `hops + 1` nodes; the first node sends to the last.
pub(crate) fn chain(hops: u32, spacing: f64) -> Layout {
    let mut layout = Layout::default();
    layout.add_chain([0.0, 0.0], [spacing, 0.0], hops);
    layout
}

/// Layout of TCP-AP Figure 1: two chains of five nodes share the middle node (nodes 0 to 4 from left to
/// right, then 5 to 8 from top to bottom without the middle node).
pub(crate) fn cross(spacing: f64) -> Layout {
    let mut layout = chain(4, spacing);
    for y in [-2.0, -1.0, 1.0, 2.0] {
        layout.add([2.0 * spacing, y * spacing], None);
    }
    layout.pair(5, 8);
    layout
}

/// Layout of TCP-AP Figure 2: two chains of five nodes, `gap` apart.
pub(crate) fn parallel(spacing: f64, gap: f64) -> Layout {
    let mut layout = chain(4, spacing);
    layout.add_chain([0.0, gap], [spacing, 0.0], 4);
    layout
}

/// Layout of TCP-AP section 5.1.3: the upper one of two chains is three hops longer at each end. The first
/// flow (nodes 0 to 4) uses the short chain, the second one (nodes 5 to 15) the long chain, like FTP 1 and 2
/// in the paper.
pub(crate) fn asymmetric_parallel(spacing: f64, gap: f64) -> Layout {
    let mut layout = Layout::default();
    layout.add_chain([3.0 * spacing, gap], [spacing, 0.0], 4);
    layout.add_chain([0.0, 0.0], [spacing, 0.0], 10);
    layout
}

/// `rows` times `columns` nodes, numbered row by row from the top left; TCP-AP Figure 19 has 5 x 5.
///
/// The first flows run left to right, one on each row between the first and the last, from the top; the others bottom to
/// top, one on each column between the first and the last, from the left. Of at most two rows each has a flow, and of at
/// most two columns as well, except that no flow runs along a single node.
pub(crate) fn grid(rows: u32, columns: u32, spacing: f64) -> Layout {
    let mut layout = Layout::default();
    for y in 0..rows {
        for x in 0..columns {
            layout.add([f64::from(x) * spacing, f64::from(y) * spacing], None);
        }
    }
    let index = |row, column| (row * columns + column) as usize;
    for row in inner(rows).filter(|_| columns > 1) {
        layout.pair(index(row, 0), index(row, columns - 1));
    }
    for column in inner(columns).filter(|_| rows > 1) {
        layout.pair(index(rows - 1, column), index(0, column));
    }
    layout
}

/// Indices of the lines between the first and the last of `count`; of at most two lines, all.
fn inner(count: u32) -> Range<u32> {
    if count > 2 { 1..count - 1 } else { 0..count }
}

/// Layout of TCP-AP section 5.1.4, end: six flows of four hops in symmetric positions.
///
/// On a square lattice six flows cannot be symmetric: its symmetries map a directed line to 1, 2, 4 or 8
/// others. On a triangular lattice they can: the six lines form a hexagram with 24 nodes. Each line crosses
/// two others at its second and fourth node, and a turn by 60 degrees maps every flow to the next.
// DEVIATION layout-2: The grid of TCP-AP (5.1.4) is a triangular lattice of 24 nodes, because a square lattice has no
// six equivalent flows. Every flow crosses two others.
pub(crate) fn grid_symmetric(spacing: f64) -> Layout {
    // Cube coordinates of the line q = 2; a turn maps (q, r) to (-r, q + r).
    let mut line: Vec<[i32; 2]> = (-3..=1).map(|r| [2, r]).collect();
    let mut lattice: Vec<[i32; 2]> = Vec::new();
    let mut layout = Layout::default();
    for _ in 0..6 {
        for &point in &line {
            if !lattice.contains(&point) {
                lattice.push(point);
                let [q, r] = point.map(f64::from);
                layout.add([(q + r / 2.0) * spacing, r * spacing * HALF_SQRT_3], None);
            }
        }
        let index = |point| lattice.iter().position(|&p| p == point).expect("added just above");
        let (from, to) = (index(line[0]), index(line[4]));
        layout.pair(from, to);
        line = line.iter().map(|&[q, r]| [-r, q + r]).collect();
    }
    layout
}

/// Layout of TPA Figure 12: the chains N1..N4 and N5..N8 cross at a right angle between their middle links; N1 sends to
/// N4, N8 to N5.
///
/// The figure gives no distances. Here neighbours are `spacing` apart. The ends of different
/// chains have 2.1 times that distance, out of each other's range as section 4.4 requires.
pub(crate) fn cross_testbed(spacing: f64) -> Layout {
    // DEVIATION layout-3: In TPA's Figure 12, which gives no distances, neighbours are `spacing` apart, and the ends
    // of different chains 2.1 `spacing`.
    let mut layout = Layout::default();
    let along = [-1.5, -0.5, 0.5, 1.5].map(|step| step * spacing);
    for (n, x) in along.into_iter().enumerate() {
        layout.add([x, 0.0], Some(format!("N{}", n + 1)));
    }
    for (n, y) in along.into_iter().enumerate() {
        layout.add([0.0, y], Some(format!("N{}", n + 5)));
    }
    layout.pair(0, 3);
    layout.pair(7, 4);
    layout
}

/// APDR Figure 2: from S to D over A, B, C or over E, F, G.
///
/// The paper gives 200 m between neighbours and 400 m from top to bottom. Here S and D lie half way
/// down the left and the right side of a square: no other links exist at 250 m, so that the two
/// routes are the only ones, as the paper says.
pub(crate) fn diamond(spacing: f64) -> Layout {
    // DEVIATION layout-1: In APDR's Figure 2, which gives no positions for S and D, they are at the middle of
    // opposite sides of a square. Only the figure's two routes exist.
    let mut layout = Layout::default();
    let places = [
        ("S", 0.0, 0.0),
        ("A", 0.0, -1.0),
        ("B", 1.0, -1.0),
        ("C", 2.0, -1.0),
        ("D", 2.0, 0.0),
        ("E", 0.0, 1.0),
        ("F", 1.0, 1.0),
        ("G", 2.0, 1.0),
    ];
    for (name, x, y) in places {
        layout.add([x * spacing, y * spacing], Some(name.to_owned()));
    }
    layout.pair(0, 4);
    layout
}

/// Layout of TPA section 4.5: N1, N2 and N3 stand in a row, N4 walks along them and back and sends to N1.
pub(crate) fn roaming(spacing: f64) -> (Layout, Vec<Path>) {
    let (row, walk) = mobility::roaming(spacing);
    let standing = row.map(|place| Movement::Still(place).recorded(Instant::ZERO));
    let paths: Vec<Path> = standing.into_iter().chain([walk]).collect();
    let mut layout = Layout::default();
    for (path, name) in paths.iter().zip(["N1", "N2", "N3", "N4"]) {
        let Point { x, y } = path.waypoints()[0].place;
        layout.add([x, y], Some(name.to_owned()));
    }
    layout.pair(3, 0);
    (layout, paths)
}

impl Layout {
    fn add(&mut self, position: [f64; 2], name: Option<String>) {
        self.positions.push(position);
        self.names.push(name);
    }

    /// Adds `hops + 1` nodes from `start` at distances of `step`; the first node sends to the last.
    fn add_chain(&mut self, start: [f64; 2], step: [f64; 2], hops: u32) {
        let first = self.positions.len();
        for n in (0..=hops).map(f64::from) {
            self.add([start[0] + n * step[0], start[1] + n * step[1]], None);
        }
        self.pair(first, first + hops as usize);
    }

    fn pair(&mut self, from: usize, to: usize) {
        let id = |index| NodeId(u32::try_from(index).expect("layouts are small"));
        self.pairs.push((id(from), id(to)));
    }
}

/// Height of an equilateral triangle of side 1.
const HALF_SQRT_3: f64 = 0.866_025_403_784_438_6;
