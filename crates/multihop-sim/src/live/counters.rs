//! Counters of a node that can be read during a run.

use serde::Serialize;

/// Counters of the radios of a node, since the warm-up.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct NodeCounters {
    /// Packets in the interface queues of the node now.
    pub queue: usize,
    /// Largest length of an interface queue of the node so far.
    pub longest_queue: usize,
    /// Number of packets that entered the interface queues, dropped ones included.
    pub queued: u64,
    /// Packets dropped because a queue was full, or by its active queue management.
    pub queue_drops: u64,
    /// Counters of unicast transmissions to each neighbour.
    pub links: Vec<LinkCounters>,
}

/// Counters of the transmissions from a node to a neighbour, since the warm-up.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct LinkCounters {
    /// Number of the neighbour.
    pub to: u32,
    /// Packets that the neighbour acknowledged.
    pub delivered: u64,
    /// Number of packets dropped at the MAC's retry limit.
    pub dropped: u64,
    /// Number of data frames transmitted, retries included.
    pub frames: u64,
    /// Number of retries for packets that were delivered or given up.
    pub retries: u64,
}
