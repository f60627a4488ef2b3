//! Positions of the nodes: layouts of papers, random placement, positions from a list.

pub(crate) mod layouts;
mod random;

use multihop_core::NodeId;

pub use random::NotConnected;

/// A rule that places nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Positions that are the same for every seed.
    Fixed(Layout),
    /// Uniformly random positions in a rectangle, drawn again for each seed.
    Random {
        /// Number of nodes that are placed.
        nodes: u32,
        /// Width and height, m.
        area: [f64; 2],
        /// Range in metres: placements are redrawn until every node can reach every other over links of this
        /// length.
        connected_at: Option<f64>,
    },
}

/// Positions of the nodes, and pairs of sender and receiver for flows that give neither.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Position of each node, m; x grows to the right, y downwards as in the figures.
    pub positions: Vec<[f64; 2]>,
    /// The names of the nodes, if a paper or a file gives names; as long as `positions`.
    pub names: Vec<Option<String>>,
    /// Sender and receiver of the n-th flow that names neither.
    pub pairs: Vec<(NodeId, NodeId)>,
}

impl Layout {
    /// The name of a node's interface: the name of the node, or `node` with its number.
    pub fn interface_name(&self, number: usize) -> String {
        self.names.get(number).cloned().flatten().unwrap_or_else(|| format!("node{number}"))
    }
}

/// Finds the node or host with this number or name. The error names what is allowed.
pub fn find_station(names: &[String], text: &str) -> Result<usize, String> {
    let named = names.iter().position(|name| name == text);
    let number = text.parse().ok().filter(|n| *n < names.len());
    named.or(number).ok_or_else(|| {
        let shown: Vec<_> = names.iter().take(20).map(String::as_str).collect();
        let (last, shown) = (names.len() - 1, shown.join(", "));
        format!("found node {text:?}, allowed: 0 to {last}, or a name: {shown}")
    })
}

impl Topology {
    /// Number of nodes in the topology.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Fixed(layout) => layout.positions.len(),
            Self::Random { nodes, .. } => *nodes as usize,
        }
    }

    /// Places the nodes; equal seeds give equal positions.
    pub fn place(&self, seed: u64) -> Result<Layout, NotConnected> {
        match self {
            Self::Fixed(layout) => Ok(layout.clone()),
            Self::Random { nodes, area, connected_at } => random::place(seed, *nodes, *area, *connected_at),
        }
    }
}
