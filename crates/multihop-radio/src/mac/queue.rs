//! The interface queue: drop-tail, routing messages first (ns-2's PriQueue and CMUPriQueue).

use std::collections::VecDeque;

use crate::frame::Outgoing;
use crate::params::QueueKind;

/// Packets that wait for the MAC.
#[derive(Clone, Debug)]
pub struct Queue {
    packets: VecDeque<Outgoing>,
    /// Routing messages, under [`QueueKind::ByPriority`].
    urgent: VecDeque<Outgoing>,
    kind: QueueKind,
    length: usize,
    /// Bytes of all packets that wait.
    bytes: u32,
}

impl Queue {
    /// A queue of nominal length `length`.
    pub fn new(kind: QueueKind, length: usize) -> Self {
        Self { packets: VecDeque::new(), urgent: VecDeque::new(), kind, length: length.max(2), bytes: 0 }
    }

    /// Queues a packet; returns the one that is dropped if the queue is full.
    pub fn push(&mut self, out: Outgoing) -> Option<Outgoing> {
        let limit = self.limit();
        let dropped = match self.kind {
            QueueKind::Single if out.urgent => {
                self.packets.push_front(out);
                if self.packets.len() >= self.length { self.packets.pop_back() } else { None }
            }
            QueueKind::ByPriority if out.urgent => push_back(&mut self.urgent, self.length, out),
            QueueKind::Single | QueueKind::ByPriority => push_back(&mut self.packets, limit, out),
        };
        self.bytes = self.bytes + out.bytes - dropped.map_or(0, |dropped| dropped.bytes);
        dropped
    }

    /// Number of further packets that the queue accepts, routing messages excluded.
    pub fn room(&self) -> usize {
        self.limit().saturating_sub(self.packets.len())
    }

    /// The largest number of waiting packets that are not urgent.
    fn limit(&self) -> usize {
        match self.kind {
            // ns-2 drops the packet that would fill the queue, so that one less fits.
            QueueKind::Single => self.length - 1,
            QueueKind::ByPriority => self.length,
        }
    }

    /// The next packet to serve.
    pub fn pop(&mut self) -> Option<Outgoing> {
        let next = self.urgent.pop_front().or_else(|| self.packets.pop_front())?;
        self.bytes -= next.bytes;
        Some(next)
    }

    /// Removes and returns every packet that `which` selects, in queue order.
    pub fn remove_if(&mut self, which: impl Fn(&Outgoing) -> bool) -> Vec<Outgoing> {
        let mut removed = Vec::new();
        self.take(|out| {
            let picked = which(out);
            removed.extend(picked.then_some(*out));
            picked
        });
        removed
    }

    /// Removes and returns every packet for which `takes` returns true, in queue order.
    pub(super) fn take(&mut self, mut takes: impl FnMut(&Outgoing) -> bool) {
        let Self { packets, urgent, bytes, .. } = self;
        for queue in [urgent, packets] {
            queue.retain(|out| {
                let taken = takes(out);
                *bytes -= if taken { out.bytes } else { 0 };
                !taken
            });
        }
    }

    /// Packets in the queue, next one first.
    pub fn iter(&self) -> impl Iterator<Item = &Outgoing> {
        self.urgent.iter().chain(&self.packets)
    }

    /// Total size of all packets in the queue, bytes; kept as a running sum.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Number of packets in the queue.
    pub fn len(&self) -> usize {
        self.urgent.len() + self.packets.len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.packets.is_empty()
    }
}

fn push_back(queue: &mut VecDeque<Outgoing>, limit: usize, out: Outgoing) -> Option<Outgoing> {
    if queue.len() >= limit {
        return Some(out);
    }
    queue.push_back(out);
    None
}

#[cfg(test)]
mod tests {
    use multihop_core::{Instant, NodeId};

    use super::*;
    use crate::frame::{Category, PacketHandle};

    fn packet(n: u32, to: u32, urgent: bool) -> Outgoing {
        Outgoing {
            packet: PacketHandle(n),
            to: NodeId(to),
            bytes: 100,
            urgent,
            category: Category::BestEffort,
            queued: Instant::ZERO,
        }
    }

    fn order(queue: &mut Queue) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).map(|p| p.packet.0).collect()
    }

    #[test]
    fn a_queue_of_fifty_holds_forty_nine() {
        let mut q = Queue::new(QueueKind::Single, 50);
        for n in 0..49 {
            assert_eq!(q.push(packet(n, 1, false)), None);
        }
        assert_eq!(q.push(packet(49, 1, false)).map(|p| p.packet.0), Some(49));
    }

    #[test]
    fn urgent_packets_go_first_and_drop_the_last_packet() {
        let mut q = Queue::new(QueueKind::Single, 4);
        for n in 0..3 {
            q.push(packet(n, 1, false));
        }
        assert_eq!(q.push(packet(3, 1, true)).map(|p| p.packet.0), Some(2));
        assert_eq!(order(&mut q), [3, 0, 1]);
    }

    #[test]
    fn by_priority_each_kind_has_its_own_queue_and_limit() {
        let mut q = Queue::new(QueueKind::ByPriority, 3);
        for n in 0..3 {
            assert_eq!(q.push(packet(n, 1, false)), None);
            assert_eq!(q.push(packet(10 + n, 1, true)), None);
        }
        assert_eq!(q.push(packet(3, 1, false)).map(|p| p.packet.0), Some(3));
        assert_eq!(q.push(packet(13, 1, true)).map(|p| p.packet.0), Some(13));
        assert_eq!(q.len(), 6);
        assert_eq!(order(&mut q), [10, 11, 12, 0, 1, 2]);
    }

    #[test]
    fn bytes_are_those_of_the_packets_that_wait() {
        for kind in [QueueKind::Single, QueueKind::ByPriority] {
            let mut q = Queue::new(kind, 4);
            for n in 0..40_u32 {
                q.push(Outgoing { bytes: 100 + n, ..packet(n, n % 3, n % 5 == 0) });
                match n % 7 {
                    2 => _ = q.pop(),
                    4 => _ = q.remove_if(|out| out.to == NodeId(1)),
                    6 => q.take(|out| out.to == NodeId(2)),
                    _ => {}
                }
                assert_eq!(
                    q.bytes(),
                    q.iter().map(|out| out.bytes).sum::<u32>(),
                    "{kind:?} after packet {n}"
                );
            }
        }
    }

    #[test]
    fn packets_for_a_lost_neighbour_are_removed_in_order() {
        let mut q = Queue::new(QueueKind::Single, 50);
        for n in 0..6 {
            q.push(packet(n, n % 2, false));
        }
        let removed: Vec<_> = q.remove_if(|p| p.to == NodeId(1)).iter().map(|p| p.packet.0).collect();
        assert_eq!(removed, [1, 3, 5]);
        assert_eq!(order(&mut q), [0, 2, 4]);
    }
}
