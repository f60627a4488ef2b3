//! Changes to a network during a run.

use multihop_core::NodeId;
use multihop_radio::channel_error::Lost;
use multihop_radio::grid::Point;
use multihop_radio::params::Model;
use multihop_scenario::{Radio, Scenario};
use serde::{Deserialize, Serialize};

/// Change of a network that a person or a test requests during a run. A recording contains it as JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Cuts the link between two nodes: neither receives frames of the other or senses its carrier.
    Cut([u32; 2]),
    /// Restores the link between two nodes after [`Change::Cut`].
    Mend([u32; 2]),
    /// A node jumps to a position and stays there.
    Move {
        /// Number of the node that jumps.
        node: u32,
        /// Position of the node afterwards, m.
        to: [f64; 2],
    },
    /// Sets the probability of losses on a link, or on all links.
    Loss {
        /// Kind of object that a loss destroys.
        of: LossKind,
        /// Probability of a loss on a link.
        chance: f64,
        /// Link whose probability changes, in both directions; `None` changes all links.
        link: Option<[u32; 2]>,
    },
    /// The radios of a node neither transmit nor receive. Packets in its queues are dropped.
    Freeze(u32),
    /// The radios of a frozen node transmit and receive again.
    Thaw(u32),
}

/// Kind of object that a loss destroys.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// A frame: its sender gets no acknowledgement, and transmits it again.
    Frames,
    /// A packet that the MAC has delivered and acknowledged: only transports notice its loss.
    Packets,
}

impl Change {
    /// Checks whether a run of the scenario can change in this way; the error names the allowed values.
    pub fn check(&self, scenario: &Scenario) -> Result<(), String> {
        self.nodes().try_for_each(|node| is_node(scenario, node))?;
        match *self {
            Self::Cut([a, b]) | Self::Mend([a, b]) | Self::Loss { link: Some([a, b]), .. } if a == b => {
                Err(format!("found a link from node {a} to itself, allowed: two different nodes"))
            }
            Self::Loss { chance, .. } if !(0.0..=1.0).contains(&chance) => {
                Err(format!("found a chance of {chance}, allowed: 0 to 1"))
            }
            Self::Move { to, .. } if to.iter().any(|metres| !(-FARTHEST..=FARTHEST).contains(metres)) => Err(
                format!("found the position [{}, {}], allowed: -{FARTHEST} to {FARTHEST} m", to[0], to[1]),
            ),
            Self::Move { .. } if scenario.radios.iter().any(is_measured) => Err(
                "found measured links (radio.measured), allowed: moves of nodes whose links depend on places"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Reads a change from a recording.
    pub(crate) fn recorded(bytes: &[u8], scenario: &Scenario) -> Result<Self, String> {
        let change: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        change.check(scenario)?;
        Ok(change)
    }

    /// All nodes that the change names.
    fn nodes(&self) -> impl Iterator<Item = u32> {
        let (first, second) = match *self {
            Self::Cut([a, b]) | Self::Mend([a, b]) | Self::Loss { link: Some([a, b]), .. } => {
                (Some(a), Some(b))
            }
            Self::Move { node, .. } | Self::Freeze(node) | Self::Thaw(node) => (Some(node), None),
            Self::Loss { link: None, .. } => (None, None),
        };
        first.into_iter().chain(second)
    }
}

impl From<LossKind> for Lost {
    fn from(kind: LossKind) -> Self {
        match kind {
            LossKind::Frames => Self::Frame,
            LossKind::Packets => Self::Packet,
        }
    }
}

/// Point of a position.
pub(crate) fn point([x, y]: [f64; 2]) -> Point {
    Point { x, y }
}

fn is_measured(radio: &Radio) -> bool {
    matches!(&radio.params.model, Model::Sinr(sinr) if sinr.measured.is_some())
}

fn is_node(scenario: &Scenario, node: u32) -> Result<(), String> {
    let nodes = scenario.topology.nodes();
    if NodeId(node).index() < nodes {
        return Ok(());
    }
    Err(format!("found node {node}, allowed: 0 to {}", nodes - 1))
}

/// Largest coordinate to which a node may be moved, m.
const FARTHEST: f64 = 1e7;
