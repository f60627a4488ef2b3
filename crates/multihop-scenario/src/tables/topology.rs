//! Keys of the table `[topology]`.

use multihop_core::settings::{Settings, Visitor};

use super::{LONGEST_TEXT, METRES, METRES_AWAY};
use crate::positions::MAX_NODES;
use crate::topology::{Layout, layouts};

/// Where the nodes are.
pub(crate) enum TopologyTable {
    /// The layout of a paper.
    Fixed(Layout),
    /// TPA's roaming node; the distance between neighbours.
    Roaming(f64),
    Random {
        nodes: u32,
        area: [f64; 2],
        connected: Option<bool>,
    },
    /// Positions, and whether they are in degrees.
    List(Vec<[f64; 2]>, bool),
    /// The file, relative to the scenario's folder.
    File(String),
    /// The nodes of the movement.
    Mobility,
}

impl Default for TopologyTable {
    fn default() -> Self {
        Self::Fixed(Layout::default())
    }
}

impl Settings for TopologyTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.kinds("kind", None, &KINDS, &mut |kind, keys| {
            *self = match kind {
                0 => Self::Fixed(chain(keys)),
                1 => Self::Fixed(layouts::cross(spacing(keys))),
                2 => Self::Fixed(layouts::cross_testbed(spacing(keys))),
                3 => Self::Fixed(two_chains(layouts::parallel, keys)),
                4 => Self::Fixed(two_chains(layouts::asymmetric_parallel, keys)),
                5 => Self::Fixed(grid(keys)),
                6 => Self::Fixed(layouts::grid_symmetric(spacing(keys))),
                7 => Self::Fixed(layouts::diamond(spacing(keys))),
                8 => Self::Roaming(spacing(keys)),
                9 => random(keys),
                10 => Self::List(positions(keys), degrees(keys)),
                11 => Self::File(file(keys)),
                _ => Self::Mobility,
            }
        });
    }
}

const KINDS: [(&str, &str); 13] = [
    ("chain", "Nodes in a row; the first sends to the last."),
    ("cross", "Two chains of five nodes that share the middle one."),
    ("cross-testbed", "Two chains of four nodes that cross between their middle links; nodes N1 to N8."),
    ("parallel", "Two chains of five nodes side by side."),
    ("asymmetric-parallel", "The upper chain is three hops longer at each end."),
    (
        "grid",
        "Rows and columns of nodes, numbered row by row; flows run left to right on the inner rows, then bottom to top on the inner columns.",
    ),
    ("grid-symmetric", "Six crossing flows in symmetric positions: the lines of a hexagram."),
    ("diamond", "Two disjoint routes of four hops from S to D."),
    ("roaming", "Three nodes in a row and a fourth, N4, that walks along them and back, and sends to N1."),
    ("random", "Uniform in a rectangle, drawn anew for each seed."),
    ("list", "Positions in the scenario."),
    ("file", "Positions in another file."),
    ("mobility", "The nodes of the movement, which must be waypoints or those of a file."),
];

fn spacing(keys: &mut dyn Visitor) -> f64 {
    let mut spacing = 200.0;
    keys.about("Distance between neighbours, m.").field("spacing", &mut spacing, METRES);
    spacing
}

fn chain(keys: &mut dyn Visitor) -> Layout {
    let mut hops = 1;
    keys.about("Number of links; there is one node more.").required().field("hops", &mut hops, 1..=99_999);
    layouts::chain(hops, spacing(keys))
}

fn grid(keys: &mut dyn Visitor) -> Layout {
    let spacing = spacing(keys);
    let (mut rows, mut columns) = (5, 5);
    let about = "Number of rows. Without from and to the first flows take the rows between the first and the last, \
                 from the top, each from its left end to its right end; of one or two rows all have a flow.";
    keys.about(about).field("rows", &mut rows, 1..=MAX_NODES as u64);
    let about = "Number of columns. The flows after those of the rows take the columns between the first and the last, \
                 from the left, each from its lower end to its upper end; of one or two columns all have a flow.";
    keys.about(about).field("columns", &mut columns, 1..=MAX_NODES as u64);
    if u64::from(rows) * u64::from(columns) > MAX_NODES as u64 {
        let message = format!("found {rows} x {columns} nodes, allowed: at most {MAX_NODES}");
        keys.refuse("rows", message);
        return Layout::default();
    }
    layouts::grid(rows, columns, spacing)
}

fn two_chains(layout: fn(f64, f64) -> Layout, keys: &mut dyn Visitor) -> Layout {
    let spacing = spacing(keys);
    let mut gap = 400.0;
    keys.about("Distance between the chains, m.").field("gap", &mut gap, METRES);
    layout(spacing, gap)
}

fn random(keys: &mut dyn Visitor) -> TopologyTable {
    let (mut nodes, mut area) = (1, [1.0; 2]);
    keys.about("Number of nodes.").required().field("nodes", &mut nodes, 1..=MAX_NODES as u64);
    keys.about("Width and height, m.").required().field("area", &mut area, METRES);
    let about = "Whether to draw again until every node can reach every other at the decode range; true if not \
                 given and the nodes stand still, never if they move.";
    let mut connected = None;
    keys.about(about).field("connected", &mut connected, ());
    TopologyTable::Random { nodes, area, connected }
}

fn positions(keys: &mut dyn Visitor) -> Vec<[f64; 2]> {
    let mut positions = Vec::new();
    let about = "Position of each node as [x, y], m; y grows downwards.";
    keys.about(about).required().field("positions", &mut positions, METRES_AWAY);
    positions
}

fn degrees(keys: &mut dyn Visitor) -> bool {
    let mut degrees = false;
    let about = "Whether each position is a latitude and a longitude in degrees; needs origin.";
    keys.about(about).field("degrees", &mut degrees, ());
    degrees
}

fn file(keys: &mut dyn Visitor) -> String {
    let mut file = String::new();
    let about = "A CSV file with columns x and y, or latitude and longitude with an origin (and name), or a \
                 GraphML file (ending .graphml or .xml) whose nodes have data x and y; relative to the scenario's \
                 folder.";
    keys.about(about).required().field("file", &mut file, LONGEST_TEXT);
    file
}
