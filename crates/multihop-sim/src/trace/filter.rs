//! Filter that selects the frames of a capture file.

use multihop_core::{Instant, NodeId};
use multihop_scenario::{Scenario, find_station};

/// Selection of frames for a capture file, and of the captured length. The default selects all frames.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CaptureFilter {
    /// Nodes whose interfaces are in the file. An empty list selects every node.
    pub nodes: Vec<NodeId>,
    /// The first instant of the capture.
    pub from: Instant,
    /// Instant at which the capture ends; `None` captures until the end of the run.
    pub until: Option<Instant>,
    /// Number of bytes captured of each frame, radiotap header included (the snap length); `None` captures
    /// whole frames.
    pub length: Option<u32>,
}

impl CaptureFilter {
    /// The nodes with these numbers or names, for [`Self::nodes`]. The error names an unknown one.
    pub fn find_nodes(scenario: &Scenario, wanted: &[String]) -> Result<Vec<NodeId>, String> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let layout = scenario.topology.place(scenario.seed).map_err(|error| error.to_string())?;
        let names: Vec<_> = (0..layout.positions.len()).map(|n| layout.interface_name(n)).collect();
        let numbers = wanted.iter().map(|text| find_station(&names, text));
        numbers.map(|number| Ok(NodeId(u32::try_from(number?).expect("a checked number of nodes")))).collect()
    }

    /// Smallest snap length, which has room for the longest radiotap header.
    pub const MIN_LENGTH: u32 = 64;

    /// Whether a frame that a node transmits or receives at this instant is captured.
    pub(crate) fn selects(&self, at: Instant, node: NodeId) -> bool {
        at >= self.from && self.until.is_none_or(|until| at < until) && self.has_node(node)
    }

    /// Whether the file has the interfaces of a node.
    pub(crate) fn has_node(&self, node: NodeId) -> bool {
        self.nodes.is_empty() || self.nodes.contains(&node)
    }
}

#[cfg(test)]
mod tests {
    use multihop_core::Duration;

    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn an_empty_list_selects_every_node() {
        let all = CaptureFilter::default();
        assert!(all.has_node(NodeId(7)));
        let some = CaptureFilter { nodes: vec![NodeId(7), NodeId(3)], ..all };
        assert_eq!([3, 7, 4].map(|n| some.has_node(NodeId(n))), [true, true, false]);
    }

    #[test]
    fn the_end_of_the_selected_time_is_left_out() {
        let filter = CaptureFilter { from: at(2), until: Some(at(4)), ..CaptureFilter::default() };
        assert_eq!(
            [1, 2, 3, 4].map(|second| filter.selects(at(second), NodeId(0))),
            [false, true, true, false]
        );
    }
}
