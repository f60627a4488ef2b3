//! Uniformly random placement, redrawn until the network is connected.

use std::collections::BTreeMap;

use multihop_core::Rng;

use super::Layout;

/// No placement gave a connected network.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "{tries} draws of {nodes} nodes in {} x {} m gave no connected network at {range} m; \
     use more nodes, a smaller area, or connected = false",
    area[0], area[1]
)]
pub struct NotConnected {
    /// Number of placements drawn before giving up.
    pub tries: u64,
    /// Number of nodes that were placed.
    pub nodes: u32,
    /// Width and height, m.
    pub area: [f64; 2],
    /// Length of the longest link, in metres.
    pub range: f64,
}

/// Places nodes uniformly in `area`; with `connected_at`, returns the first placement that is connected.
pub(super) fn place(
    seed: u64,
    nodes: u32,
    area: [f64; 2],
    connected_at: Option<f64>,
) -> Result<Layout, NotConnected> {
    let tries = (DRAWN_NODES / u64::from(nodes.max(1))).clamp(10, 1000);
    for attempt in 0..tries {
        let mut rng = Rng::stream(seed, "placement", attempt);
        let positions: Vec<_> =
            (0..nodes).map(|_| [rng.range(0.0, area[0]), rng.range(0.0, area[1])]).collect();
        if connected_at.is_none_or(|range| is_connected(&positions, range)) {
            return Ok(Layout { names: vec![None; positions.len()], positions, pairs: Vec::new() });
        }
    }
    Err(NotConnected { tries, nodes, area, range: connected_at.unwrap_or(f64::INFINITY) })
}

/// Whether every node can reach every other over links of at most `range` metres.
pub(super) fn is_connected(positions: &[[f64; 2]], range: f64) -> bool {
    // Cells are one range wide, so that the neighbours of a node are in its cell or the eight adjacent ones.
    let width = range.max(0.001);
    let mut unseen: BTreeMap<[i64; 2], Vec<usize>> = BTreeMap::new();
    for (node, position) in positions.iter().enumerate().skip(1) {
        unseen.entry(cell(*position, width)).or_default().push(node);
    }
    let mut frontier: Vec<usize> = (0..positions.len().min(1)).collect();
    while let Some(node) = frontier.pop() {
        let [x, y] = cell(positions[node], width);
        for around in (x - 1..=x + 1).flat_map(|x| (y - 1..=y + 1).map(move |y| [x, y])) {
            if let Some(nodes) = unseen.get_mut(&around) {
                frontier.extend(
                    nodes.extract_if(.., |other| distance(positions[node], positions[*other]) <= range),
                );
                if nodes.is_empty() {
                    unseen.remove(&around);
                }
            }
        }
    }
    unseen.is_empty()
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [dx, dy] = [a[0] - b[0], a[1] - b[1]];
    (dx * dx + dy * dy).sqrt()
}

#[expect(clippy::cast_possible_truncation, reason = "saturates; only neighbouring cells are compared")]
fn cell(position: [f64; 2], width: f64) -> [i64; 2] {
    position.map(|metres| (metres / width).floor() as i64)
}

/// Largest number of nodes drawn in all tries, which bounds the time: a thousand tries for networks of up to 2000
/// nodes.
const DRAWN_NODES: u64 = 2_000_000;
