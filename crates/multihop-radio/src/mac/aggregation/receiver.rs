//! Receiving side of aggregation: reception reports for each neighbour, and packets that wait for earlier ones.

use std::collections::VecDeque;

use multihop_core::NodeId;

use super::block_ack::{BlockAck, after, ahead, back, is_older};
use crate::frame::{Category, PacketHandle};

/// Reception state for all neighbours and access categories.
#[derive(Clone, Debug)]
pub(super) struct Receivers {
    /// Largest number of sequence numbers in a block ACK, which also limits how many MPDUs wait for a missing
    /// one.
    window: u16,
    /// State for each neighbour and access category from which MPDUs arrived, in order of first contact.
    all: Vec<Receiver>,
    /// Packets for the layer above, in order.
    arrived: VecDeque<Passed>,
}

/// A packet for the layer above.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Passed {
    /// Neighbour that sent the packet.
    pub from: NodeId,
    /// Packet that is delivered to the network layer.
    pub packet: PacketHandle,
}

/// Sender and access category of received MPDUs: each such stream has its own sequence numbers.
type Stream = (NodeId, Category);

/// Reception state for one neighbour and access category.
#[derive(Clone, Debug)]
struct Receiver {
    from: Stream,
    report: BlockAck,
    /// Sequence number of the first MPDU that may still be missing: all earlier packets were passed on or will not
    /// arrive.
    next: u16,
    /// Packets received after a missing one, in order, from at most a window of MPDUs.
    held: Vec<(u16, PacketHandle)>,
}

impl Receivers {
    /// Creates the state of a stream from which nothing was received.
    pub(super) fn new(window: u16) -> Self {
        Self { window, all: Vec::new(), arrived: VecDeque::new() }
    }

    /// Processes a received MPDU; returns true if it is new.
    pub(super) fn accept(
        &mut self,
        from: Stream,
        sequence: u16,
        packets: impl Iterator<Item = PacketHandle>,
    ) -> bool {
        let window = self.window;
        let (receiver, arrived) = self.find(from);
        let is_known = receiver.report.contains(sequence) || is_older(sequence, receiver.next);
        receiver.report.note(sequence, window);
        if is_known {
            return false;
        }
        if ahead(receiver.next, sequence) >= window {
            receiver.pass_before(back(sequence, window - 1), arrived);
        }
        receiver.hold(sequence, packets);
        receiver.pass_complete(arrived);
        true
    }

    /// Handles the news that the neighbour will not send MPDUs older than `start` again.
    pub(super) fn move_to(&mut self, from: Stream, start: u16) {
        let (receiver, arrived) = self.find(from);
        if is_older(start, receiver.next) {
            return;
        }
        receiver.pass_before(start, arrived);
        if !is_older(start, receiver.report.start) {
            receiver.report.move_to(start);
        }
        receiver.pass_complete(arrived);
    }

    pub(super) fn report(&mut self, from: Stream) -> BlockAck {
        self.find(from).0.report
    }

    pub(super) fn poll(&mut self) -> Option<Passed> {
        self.arrived.pop_front()
    }

    /// Packets that wait for earlier packets.
    pub(super) fn held(&self) -> impl Iterator<Item = PacketHandle> {
        self.all.iter().flat_map(|receiver| receiver.held.iter().map(|&(_, packet)| packet))
    }

    /// Discards the packets that wait for missing ones. The missing packets are still expected.
    pub(super) fn drop_held(&mut self) {
        self.all.iter_mut().for_each(|receiver| receiver.held.clear());
    }

    fn find(&mut self, from: Stream) -> (&mut Receiver, &mut VecDeque<Passed>) {
        let known = self.all.iter().position(|receiver| receiver.from == from);
        let index = known.unwrap_or_else(|| {
            // Every station numbers the MPDUs of each stream from 0.
            self.all.push(Receiver { from, report: BlockAck::default(), next: 0, held: Vec::new() });
            self.all.len() - 1
        });
        (&mut self.all[index], &mut self.arrived)
    }
}

impl Receiver {
    fn hold(&mut self, sequence: u16, packets: impl Iterator<Item = PacketHandle>) {
        let at = self.held.partition_point(|&(held, _)| is_older(held, sequence));
        self.held.splice(at..at, packets.map(|packet| (sequence, packet)));
    }

    /// Delivers all packets older than `start`, even if earlier ones are missing.
    fn pass_before(&mut self, start: u16, arrived: &mut VecDeque<Passed>) {
        let older = self.held.partition_point(|&(held, _)| is_older(held, start));
        let (from, _) = self.from;
        arrived.extend(self.held.drain(..older).map(|(_, packet)| Passed { from, packet }));
        self.next = start;
    }

    /// Delivers the packets before the first missing one.
    fn pass_complete(&mut self, arrived: &mut VecDeque<Passed>) {
        let mut start = self.next;
        while self.report.contains(start) {
            start = after(start);
        }
        self.pass_before(start, arrived);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::Bitmap;

    const PEER: Stream = (NodeId(1), Category::BestEffort);

    fn accept(receivers: &mut Receivers, sequence: u16) -> (bool, Vec<u32>) {
        let is_new = receivers.accept(PEER, sequence, [PacketHandle(u32::from(sequence))].into_iter());
        (is_new, passed(receivers))
    }

    fn passed(receivers: &mut Receivers) -> Vec<u32> {
        std::iter::from_fn(|| receivers.poll()).map(|arrival| arrival.packet.0).collect()
    }

    #[test]
    fn packets_wait_for_the_missing_one_and_come_once() {
        let mut r = Receivers::new(64);
        assert_eq!(accept(&mut r, 0), (true, vec![0]));
        assert_eq!(accept(&mut r, 3), (true, vec![]));
        assert_eq!(accept(&mut r, 2), (true, vec![]));
        assert_eq!(accept(&mut r, 3), (false, vec![]));
        assert_eq!(r.held().map(|packet| packet.0).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(accept(&mut r, 1), (true, vec![1, 2, 3]));
        assert_eq!(accept(&mut r, 0), (false, vec![]), "its ACK was lost");
        assert_eq!(r.report(PEER), BlockAck { start: 0, received: Bitmap::first(4) });
    }

    #[test]
    fn all_packets_of_an_mpdu_come_together() {
        let mut r = Receivers::new(64);
        assert!(r.accept(PEER, 1, [10, 11].map(PacketHandle).into_iter()));
        assert!(r.accept(PEER, 0, [8, 9].map(PacketHandle).into_iter()));
        assert_eq!(passed(&mut r), [8, 9, 10, 11]);
    }

    #[test]
    fn a_packet_beyond_the_window_moves_it_past_what_is_missing() {
        let mut r = Receivers::new(64);
        for sequence in [1, 2, 5] {
            assert_eq!(accept(&mut r, sequence), (true, vec![]));
        }
        // The window now ends with 66, so that it begins with 3.
        assert_eq!(accept(&mut r, 66), (true, vec![1, 2]));
        assert_eq!(accept(&mut r, 0), (false, vec![]), "too late");
        assert_eq!(accept(&mut r, 3), (true, vec![3]));
        assert_eq!(accept(&mut r, 4), (true, vec![4, 5]));
    }

    #[test]
    fn a_request_moves_the_window() {
        let mut r = Receivers::new(64);
        for sequence in [1, 2, 4] {
            accept(&mut r, sequence);
        }
        r.move_to(PEER, 1);
        assert_eq!(passed(&mut r), [1, 2]);
        assert_eq!(r.report(PEER), BlockAck { start: 1, received: Bitmap([0b1011, 0, 0, 0]) });
        r.move_to(PEER, 0);
        assert_eq!(accept(&mut r, 3), (true, vec![3, 4]), "never backwards");
    }

    #[test]
    fn numbers_wrap() {
        let mut r = Receivers::new(64);
        r.move_to(PEER, 2000);
        r.move_to(PEER, 4000);
        r.move_to(PEER, 4094);
        assert_eq!(accept(&mut r, 4094), (true, vec![4094]));
        assert_eq!(accept(&mut r, 1), (true, vec![]));
        assert_eq!(accept(&mut r, 0), (true, vec![]));
        assert_eq!(accept(&mut r, 4095), (true, vec![4095, 0, 1]));
        assert_eq!(accept(&mut r, 4095), (false, vec![]));
    }
}
