//! The interface queue: drop-tail, routing messages at the head (ns-2's PriQueue).

use std::collections::VecDeque;

use crate::frame::Outgoing;

/// Packets that wait for the MAC.
#[derive(Clone, Debug)]
pub struct Queue {
    packets: VecDeque<Outgoing>,
    /// One less than the nominal length: ns-2 drops when the queue *would become* full.
    limit: usize,
}

impl Queue {
    /// A queue of nominal length `length`, of which one place is the packet in service.
    pub fn new(length: usize) -> Self {
        let limit = length.saturating_sub(1).max(1);
        Self { packets: VecDeque::with_capacity(limit + 1), limit }
    }

    /// Takes a packet in; gives back the one that finds no room.
    pub fn push(&mut self, out: Outgoing) -> Option<Outgoing> {
        if out.urgent {
            self.packets.push_front(out);
            if self.packets.len() > self.limit { self.packets.pop_back() } else { None }
        } else if self.packets.len() >= self.limit {
            Some(out)
        } else {
            self.packets.push_back(out);
            None
        }
    }

    /// The next packet to serve.
    pub fn pop(&mut self) -> Option<Outgoing> {
        self.packets.pop_front()
    }

    /// Takes out every packet that `which` picks, the next one first.
    pub fn remove_if(&mut self, which: impl Fn(&Outgoing) -> bool) -> Vec<Outgoing> {
        let (out, keep) = self.packets.drain(..).partition(which);
        self.packets = keep;
        let out: VecDeque<_> = out;
        out.into()
    }

    /// Packets waiting, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = &Outgoing> {
        self.packets.iter()
    }

    /// Packets waiting.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use multihop_core::NodeId;

    use super::*;
    use crate::frame::PacketHandle;

    fn packet(n: u32, to: u32, urgent: bool) -> Outgoing {
        Outgoing { packet: PacketHandle(n), to: NodeId(to), bytes: 100, urgent }
    }

    fn order(queue: &mut Queue) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).map(|p| p.packet.0).collect()
    }

    #[test]
    fn a_queue_of_fifty_holds_forty_nine() {
        let mut q = Queue::new(50);
        for n in 0..49 {
            assert_eq!(q.push(packet(n, 1, false)), None);
        }
        assert_eq!(q.push(packet(49, 1, false)).map(|p| p.packet.0), Some(49));
    }

    #[test]
    fn urgent_packets_go_first_and_push_out_the_last() {
        let mut q = Queue::new(4);
        for n in 0..3 {
            q.push(packet(n, 1, false));
        }
        assert_eq!(q.push(packet(3, 1, true)).map(|p| p.packet.0), Some(2));
        assert_eq!(order(&mut q), [3, 0, 1]);
    }

    #[test]
    fn packets_for_a_lost_neighbour_come_out_in_order() {
        let mut q = Queue::new(50);
        for n in 0..6 {
            q.push(packet(n, n % 2, false));
        }
        let removed: Vec<_> = q.remove_if(|p| p.to == NodeId(1)).iter().map(|p| p.packet.0).collect();
        assert_eq!(removed, [1, 3, 5]);
        assert_eq!(order(&mut q), [0, 2, 4]);
    }
}
