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
    /// Uniform in a rectangle, drawn anew for each seed.
    Random {
        /// Number of nodes that are placed.
        nodes: u32,
        /// Width and height, m.
        area: [f64; 2],
        /// Redraws until every node can reach every other over links of this many metres.
        connected_at: Option<f64>,
    },
}

/// Nodes, and the pairs of sender and receiver for flows that name neither.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Position of each node, m; x grows to the right, y downwards as in the figures.
    pub positions: Vec<[f64; 2]>,
    /// The name of each node, where a paper or a file gives one; as long as `positions`.
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
    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Fixed(layout) => layout.positions.len(),
            Self::Random { nodes, .. } => *nodes as usize,
        }
    }

    /// Places the nodes; the same seed gives the same places.
    pub fn place(&self, seed: u64) -> Result<Layout, NotConnected> {
        match self {
            Self::Fixed(layout) => Ok(layout.clone()),
            Self::Random { nodes, area, connected_at } => random::place(seed, *nodes, *area, *connected_at),
        }
    }
}
