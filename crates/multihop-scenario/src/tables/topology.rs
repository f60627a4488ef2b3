//! Keys of the table `[topology]`.

use multihop_core::settings::{Settings, Visitor};

use super::{LONGEST_TEXT, METRES, METRES_AWAY};
use crate::positions::MAX_NODES;

/// Layout of the nodes: one of a paper, a random one, or positions from the scenario or a file.
#[derive(Default, Settings)]
#[settings(tag = "kind", required, check = Self::check)]
pub(crate) enum TopologyTable {
    /// Nodes in a row; the first sends to the last.
    Chain {
        /// Number of links; there is one node more.
        #[key(1..=99_999, required, default = 1)]
        hops: u32,
        /// Distance between neighbours of the layout.
        #[key(flatten)]
        spacing: Spacing,
    },
    /// Two chains of five nodes that share the middle one.
    Cross(Spacing),
    /// Two chains of four nodes that cross between their middle links; nodes N1 to N8.
    CrossTestbed(Spacing),
    /// Two chains of five nodes side by side.
    Parallel(TwoChains),
    /// The upper chain is three hops longer at each end.
    AsymmetricParallel(TwoChains),
    /// Rows and columns of nodes, numbered row by row; flows run left to right on the inner rows, then bottom to top on the inner columns.
    Grid {
        /// Distance between neighbours of the layout.
        #[key(flatten)]
        spacing: Spacing,
        /// Number of rows. Without from and to, the first flows run along the rows from left to right, one on each row from the top down.
        /// The first and the last row have no flow unless there are only one or two rows.
        #[key(1..=MAX_NODES as u64, default = 5)]
        rows: u32,
        /// Number of columns. Without from and to, the flows after those on rows run along the columns from bottom to top, one on each
        /// column from left to right. The first and the last column have no flow unless there are only one or two columns.
        #[key(1..=MAX_NODES as u64, default = 5)]
        columns: u32,
    },
    /// Six crossing flows in symmetric positions: the lines of a hexagram.
    GridSymmetric(Spacing),
    /// Two disjoint routes of four hops from S to D.
    Diamond(Spacing),
    /// Three nodes in a row and a fourth, N4, that walks along them and back, and sends to N1.
    Roaming(Spacing),
    /// Uniform in a rectangle, drawn anew for each seed.
    Random {
        /// Number of nodes.
        #[key(1..=MAX_NODES as u64, required, default = 1)]
        nodes: u32,
        /// Width and height, m.
        #[key(METRES, required, default = [1.0; 2])]
        area: [f64; 2],
        /// Whether to draw again until every node can reach every other at the decode range; true if not given and the nodes stand
        /// still, never if they move.
        #[key]
        connected: Option<bool>,
    },
    /// Positions in the scenario.
    List {
        /// Position of each node as [x, y], m; y grows downwards.
        #[key(METRES_AWAY, required)]
        positions: Vec<[f64; 2]>,
        /// Whether each position is a latitude and a longitude in degrees; needs origin.
        #[key]
        degrees: bool,
    },
    /// Positions in another file.
    File {
        /// A CSV file with columns x and y, or latitude and longitude with an origin (and name), or a GraphML file (ending .graphml or
        /// .xml) whose nodes have data x and y; relative to the scenario's folder.
        #[key(LONGEST_TEXT, required)]
        file: String,
    },
    /// The nodes of the movement, which must be waypoints or those of a file.
    #[default]
    Mobility,
}

/// Distance between neighbours of a layout.
#[derive(Settings)]
pub(crate) struct Spacing {
    /// Distance between neighbours, m.
    #[key(METRES, name = "spacing", default = 200.0)]
    pub(crate) metres: f64,
}

/// Distances of two chains side by side.
#[derive(Settings)]
pub(crate) struct TwoChains {
    /// Distance between neighbours, m.
    #[key(METRES, default = 200.0)]
    pub(crate) spacing: f64,
    /// Distance between the chains, m.
    #[key(METRES, default = 400.0)]
    pub(crate) gap: f64,
}

impl TopologyTable {
    fn check(&self, keys: &mut dyn Visitor) {
        if let Self::Grid { rows, columns, .. } = self
            && u64::from(*rows) * u64::from(*columns) > MAX_NODES as u64
        {
            keys.refuse("rows", format!("found {rows} x {columns} nodes, allowed: at most {MAX_NODES}"));
        }
    }
}
