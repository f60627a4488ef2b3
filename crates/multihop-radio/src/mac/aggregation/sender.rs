//! Sending side of aggregation: the packets in service for one neighbour, and the choice of packets for the
//! next frame.

use std::collections::VecDeque;

use multihop_core::{Instant, NodeId};

use super::bitmap::Bitmap;
use super::block_ack::{BlockAck, after, ahead, is_older};
use super::sizes::Fill;
use crate::frame::Outgoing;
use crate::mac::{Done, Queue};

/// A packet in an MPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packed {
    /// Packet to transmit, with its receiver.
    pub out: Outgoing,
    /// Sequence number of the packet's MPDU. Packets of one MPDU follow each other.
    pub sequence: u16,
    /// Number of transmissions of the MPDU.
    pub transmissions: u32,
    /// Departure of the packet from the interface queue.
    pub began: Instant,
}

impl Packed {
    /// Ends the service of the packet with this outcome.
    fn done(&self, delivered: bool) -> Done {
        let &Self { out, began, transmissions, .. } = self;
        Done { out, delivered, began, retries: transmissions.saturating_sub(1) }
    }
}

/// The packets in service for one neighbour. Each stays in service until it is acknowledged or given up.
#[derive(Clone, Debug, Default)]
pub(in crate::mac) struct Batch {
    /// Receiver of the packets in service; `None` if nothing or a broadcast is in service.
    to: Option<NodeId>,
    packets: Vec<Packed>,
    /// Whether this is the first frame of the service.
    is_fresh: bool,
    /// The frame that is transmitted next or being transmitted.
    frame: Composed,
    peers: Vec<Peer>,
    /// Whether the neighbour may delay packets, because an earlier packet was given up.
    holds_others_up: bool,
    /// Number of transmissions of the pending block ACK request.
    requests: u32,
}

/// Number of packets, MPDUs and bytes that the next frame takes from the batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Composed {
    /// Whether the frame only requests a block ACK.
    pub(super) is_request: bool,
    /// Number of packets of the frame, counted from the first packet in service.
    packets: usize,
    pub(super) mpdus: usize,
    pub(super) bytes: u32,
}

/// State of aggregation towards one neighbour.
#[derive(Clone, Debug)]
struct Peer {
    node: NodeId,
    /// The number of the next MPDU.
    next: u16,
    /// Sequence number of the newest MPDU that the neighbour has acknowledged.
    newest: Option<u16>,
    /// Whether the neighbour may still wait for an MPDU that was given up.
    is_behind: bool,
}

/// Result of one transmitted frame: its MPDUs by whether they were acknowledged or given up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub(super) mpdus: u32,
    /// Bitmap of acknowledged MPDUs: bit n stands for MPDU n of the frame.
    pub(super) delivered: Bitmap,
    /// Number of MPDUs that were given up.
    pub(super) dropped_mpdus: u64,
    pub(super) dropped_packets: u64,
}

impl Batch {
    pub(in crate::mac) fn is_active(&self) -> bool {
        self.to.is_some()
    }

    /// Starts a batch with its first packet.
    pub(in crate::mac) fn begin(&mut self, out: Outgoing, now: Instant) {
        self.to = Some(out.to);
        self.is_fresh = true;
        self.holds_others_up = false;
        self.requests = 0;
        self.append(out, now);
    }

    /// Whether the first frame of the service has not been composed.
    pub(in crate::mac) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Packets that are in service, oldest first.
    pub(in crate::mac) fn packets(&self) -> &[Packed] {
        &self.packets
    }

    /// The frame that is transmitted next or being transmitted.
    pub(super) fn frame(&self) -> Composed {
        self.frame
    }

    /// The packets of the frame that is transmitted next or being transmitted.
    pub(in crate::mac) fn transmitted(&self) -> &[Packed] {
        &self.packets[..self.frame.packets]
    }

    /// Selects the contents of the next frame: a due block ACK request, or MPDUs in service and further packets for
    /// the same neighbour.
    pub(super) fn compose(&mut self, now: Instant, queue: &mut Queue, mut fill: Fill<'_>) {
        let Some(to) = self.to else { return };
        if self.peer(to).is_behind {
            self.frame = Composed { is_request: true, ..Composed::default() };
            return;
        }
        let in_service = self.packets.len();
        let mut taken = 0;
        for mpdu in self.packets.chunk_by(|a, b| a.sequence == b.sequence) {
            if !fill.add(mpdu) {
                break;
            }
            taken += mpdu.len();
        }
        let may_take = self.is_fresh || queue.iter().next().is_some_and(|next| next.to == to);
        if taken == in_service && may_take {
            let mut has_room = true;
            queue.take(|out| {
                has_room = has_room && (out.to != to || self.add(*out, now, &mut fill));
                has_room && out.to == to
            });
            taken = self.packets.len();
        }
        self.is_fresh = false;
        self.frame = Composed { is_request: false, packets: taken, mpdus: fill.mpdus(), bytes: fill.bytes() };
    }

    /// The MPDU after the first `skipped` packets in service.
    pub(super) fn mpdu_after(&self, skipped: usize) -> Option<&[Packed]> {
        self.packets.get(skipped..)?.chunk_by(|a, b| a.sequence == b.sequence).next()
    }

    /// Whether the neighbour may still wait for an MPDU that was given up.
    pub(super) fn is_behind(&self) -> bool {
        self.peers.iter().any(|peer| Some(peer.node) == self.to && peer.is_behind)
    }

    /// Adds a packet to the frame that is being filled, if it fits. The packet may extend the last MPDU, if
    /// that MPDU is new.
    fn add(&mut self, out: Outgoing, now: Instant, fill: &mut Fill<'_>) -> bool {
        let &Packed { sequence: last, transmissions, .. } =
            self.packets.last().expect("a service begins with a packet");
        if transmissions == 0 {
            let begins = self.packets.partition_point(|packed| is_older(packed.sequence, last));
            self.packets.push(Packed { out, sequence: last, transmissions, began: now });
            if fill.extend(&self.packets[begins..]) {
                return true;
            }
            self.packets.pop();
        }
        let next = self.peer(out.to).next;
        if ahead(self.packets[0].sequence, next) >= fill.window() {
            return false;
        }
        let packed = Packed { out, sequence: next, transmissions: 0, began: now };
        let has_room = fill.add(&[packed]);
        if has_room {
            self.append(out, now);
        }
        has_room
    }

    /// Adds a packet as an MPDU of its own.
    fn append(&mut self, out: Outgoing, now: Instant) {
        let peer = self.peer(out.to);
        let sequence = peer.next;
        peer.next = after(sequence);
        self.packets.push(Packed { out, sequence, transmissions: 0, began: now });
    }

    /// Lowest sequence number that the station may still send. The neighbour need not wait for MPDUs before
    /// it.
    pub(super) fn oldest(&mut self) -> u16 {
        match (self.packets.first(), self.to) {
            (Some(first), _) => first.sequence,
            (None, Some(to)) => self.peer(to).next,
            (None, None) => 0,
        }
    }

    /// Processes the response to a frame, or its absence (`None`). MPDUs that were not received stay in service until
    /// they reach the retry limit.
    pub(super) fn resolve(
        &mut self,
        answer: Option<BlockAck>,
        limit: Option<u32>,
        finished: &mut VecDeque<Done>,
    ) -> Outcome {
        let (sent, mut outcome, mut place) = (self.frame.packets, Outcome::default(), 0);
        let Some(to) = self.to else { return outcome };
        let (mut mpdu, mut newest, mut oldest_drop) = (None, None, None);
        self.packets.retain_mut(|packed| {
            place += 1;
            if place > sent {
                return true;
            }
            let delivered = answer.is_some_and(|answer| answer.contains(packed.sequence));
            let is_first = mpdu.replace(packed.sequence) != Some(packed.sequence);
            if is_first {
                outcome.delivered.set(outcome.mpdus as usize, delivered);
                outcome.mpdus += 1;
            }
            packed.transmissions += 1;
            let dropped = !delivered && limit.is_some_and(|limit| packed.transmissions >= limit);
            if delivered {
                newest = Some(packed.sequence);
            } else if dropped {
                outcome.dropped_packets += 1;
                outcome.dropped_mpdus += u64::from(is_first);
                oldest_drop.get_or_insert(packed.sequence);
            }
            if delivered || dropped {
                finished.push_back(packed.done(delivered));
            }
            !delivered && !dropped
        });
        self.learn(to, newest, oldest_drop);
        outcome
    }

    fn learn(&mut self, to: NodeId, newest: Option<u16>, oldest_drop: Option<u16>) {
        let peer = self.peer(to);
        if let Some(newest) = newest
            && peer.newest.is_none_or(|known| is_older(known, newest))
        {
            peer.newest = Some(newest);
        }
        let Some(dropped) = oldest_drop else { return };
        peer.is_behind = true;
        let holds = peer.newest.is_some_and(|newest| is_older(dropped, newest));
        self.holds_others_up |= holds;
    }

    /// Processes the response to a block ACK request, or its absence. Returns whether the retry limit is reached.
    pub(super) fn request_ended(&mut self, answered: bool, limit: Option<u32>) -> bool {
        let Some(to) = self.to else { return false };
        self.requests += 1;
        if answered {
            self.peer(to).is_behind = false;
            self.holds_others_up = false;
            self.requests = 0;
        }
        !answered && limit.is_some_and(|limit| self.requests >= limit)
    }

    /// Gives up all packets in service, which are `finished` now; returns their number.
    pub(super) fn give_up(&mut self, finished: &mut VecDeque<Done>) -> u64 {
        let Some(to) = self.to else { return 0 };
        self.peer(to).is_behind |= !self.packets.is_empty();
        let dropped = self.packets.len() as u64;
        finished.extend(self.packets.drain(..).map(|packed| packed.done(false)));
        self.holds_others_up = false;
        dropped
    }

    /// Ends the service and drops its packets.
    pub(super) fn drop_packets(&mut self) {
        self.give_up(&mut VecDeque::new());
        self.end();
    }

    /// Ends the service if all its packets are done; returns whether it ended.
    pub(super) fn end(&mut self) -> bool {
        let is_over = self.packets.is_empty() && !self.holds_others_up;
        if is_over {
            self.to = None;
        }
        is_over
    }

    fn peer(&mut self, node: NodeId) -> &mut Peer {
        let known = self.peers.iter().position(|peer| peer.node == node);
        let index = known.unwrap_or_else(|| {
            self.peers.push(Peer { node, next: 0, newest: None, is_behind: false });
            self.peers.len() - 1
        });
        &mut self.peers[index]
    }
}
