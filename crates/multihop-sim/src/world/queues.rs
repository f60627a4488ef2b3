//! CoDel and FQ-CoDel queues in front of the stations' MACs, one for each access category.

use multihop_core::{DropReason, NodeId};
use multihop_radio::frame::{Category, Outgoing};
use multihop_radio::mac::{Mac, MacConfig};
use multihop_radio::params::MacParams;

use super::context::Context;
use super::fq_codel::{Decision, FqCodel};
use super::mac_stats::MacStats;

/// The queues of all stations; empty under drop-tail, where packets wait in the MACs.
pub(super) struct Queues {
    /// Queues sorted by station, then by access category.
    all: Vec<FqCodel>,
    categories: &'static [Category],
}

impl Queues {
    pub(super) fn new(mac: &MacParams, nodes: u32, config: &MacConfig) -> Self {
        let categories = config.categories();
        let count = nodes as usize * categories.len();
        let queue = |_| FqCodel::new(mac.codel, mac.queue);
        Self { all: (0..count).filter_map(queue).collect(), categories }
    }

    /// Queues of a station, one for each access category; empty without CoDel.
    pub(super) fn of(&self, node: NodeId) -> &[FqCodel] {
        let first = node.index() * self.categories.len();
        self.all.get(first..first + self.categories.len()).unwrap_or_default()
    }

    fn of_mut(&mut self, node: NodeId) -> &mut [FqCodel] {
        let first = node.index() * self.categories.len();
        self.all.get_mut(first..first + self.categories.len()).unwrap_or_default()
    }

    /// Queue of a station and access category; `None` if packets wait in the MAC.
    pub(super) fn get(&self, node: NodeId, category: Category) -> Option<&FqCodel> {
        self.of(node).get(self.place(category))
    }

    /// Queue of a station and access category, to change it; None without CoDel.
    pub(super) fn get_mut(&mut self, node: NodeId, category: Category) -> Option<&mut FqCodel> {
        let place = self.place(category);
        self.of_mut(node).get_mut(place)
    }

    fn place(&self, category: Category) -> usize {
        self.categories.iter().position(|&known| known == category).expect("one of the station's categories")
    }

    /// Whether stations have queues in front of their MACs.
    #[inline]
    pub(super) fn exist(&self) -> bool {
        !self.all.is_empty()
    }

    /// Passes the packets that a station's MAC may need next to the MAC.
    pub(super) fn refill(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        mac: &mut Mac,
        config: &MacConfig,
        stats: &mut MacStats,
    ) {
        for (&category, queue) in self.categories.iter().zip(self.of_mut(node)) {
            // Polling an empty queue ends the precedence of its new flows (RFC 8290 §4.2).
            while mac.needs(category, config) {
                let dropped = || stats.drops(node, category);
                let Some(out) = next(context, node, queue, dropped) else { break };
                mac.enqueue(out);
            }
        }
    }

    /// Removes and returns a station's packets that `which` selects.
    pub(super) fn remove_if(&mut self, node: NodeId, which: &impl Fn(&Outgoing) -> bool) -> Vec<Outgoing> {
        self.of_mut(node).iter_mut().flat_map(|queue| queue.remove_if(which)).collect()
    }
}

/// The next packet to serve; calls `dropped` for each packet dropped before it.
fn next(
    context: &mut Context<'_>,
    node: NodeId,
    queue: &mut FqCodel,
    mut dropped: impl FnMut(),
) -> Option<Outgoing> {
    loop {
        match queue.pop(context.now, &mut context.packets)? {
            Decision::Drop(packet) => {
                dropped();
                context.drop_packet(node, packet, DropReason::QueueFull);
            }
            Decision::Serve(out) => return Some(out),
        }
    }
}
