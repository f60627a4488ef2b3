use core::mem;

use multihop_core::Payload;
use multihop_wire::tpa::{Bitmap, BlockSeq, MAX_BLOCK};

use super::config::Config;
use crate::bytes::ByteQueue;

/// Data received from the peer: the open block, and bytes to read.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Number of the peer's SYN.
    pub(super) irs: BlockSeq,
    /// Number of the open block, counted from the SYN, which is block 0.
    pub(super) number: u64,
    pub(super) arrived: Bitmap,
    /// Position that ends the open block; `None` before it is known.
    last: Option<u8>,
    /// Bitmap of the previous block.
    pub(super) before: Bitmap,
    /// Number of positions of the open block that have been delivered.
    delivered: u8,
    /// Data of segments that arrived before earlier ones.
    stored: [Payload; MAX_BLOCK as usize],
    stored_bytes: u64,
    fin: Option<u8>,
    /// Whether everything up to the FIN has arrived.
    pub(super) finished: bool,
    ready: ByteQueue,
    sink: bool,
    capacity: u64,
    mss: u64,
    /// Window that was advertised last.
    pub(super) advertised: u16,
}

/// A segment with data or FIN.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) position: u8,
    pub(super) last: bool,
    pub(super) fin: bool,
    pub(super) payload: Payload,
}

/// The classification of an arriving segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Arrival {
    /// The segment was new.
    New {
        /// Number of bytes that the segment brings into order.
        bytes: u64,
        /// Whether no segment before the new one is missing.
        in_order: bool,
    },
    /// The segment had arrived before.
    Duplicate,
    /// The segment contradicts earlier segments, or the buffer is full.
    Impossible,
}

impl Receiver {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            irs: BlockSeq(0),
            number: 0,
            arrived: Bitmap::EMPTY,
            last: None,
            before: Bitmap::EMPTY,
            delivered: 0,
            stored: [const { Payload::EMPTY }; MAX_BLOCK as usize],
            stored_bytes: 0,
            fin: None,
            finished: false,
            ready: ByteQueue::default(),
            sink: config.sink,
            capacity: config.recv_capacity(),
            mss: u64::from(config.mss),
            advertised: 0,
        }
    }

    /// Bytes that wait to be read.
    pub(super) fn unread(&self) -> u64 {
        self.ready.len()
    }

    /// Receive window, in segments. One additional block is always kept free, so that the missing segments of a block
    /// can be stored.
    pub(super) fn window(&self) -> u16 {
        let room = self.capacity.saturating_sub(self.unread()) / self.mss;
        u16::try_from(room).unwrap_or(u16::MAX)
    }

    /// Takes at most `max` bytes that are in order.
    pub(super) fn read(&mut self, max: u32) -> Payload {
        self.ready.read(max)
    }

    /// Moves in-order data into the start of `into`; returns the number of bytes.
    pub(super) fn read_into(&mut self, into: &mut [u8]) -> usize {
        self.ready.read_into(into)
    }

    /// Whether all segments of the open block have arrived. Always true for block 0.
    pub(super) fn is_complete(&self) -> bool {
        self.number == 0 || self.last.is_some_and(|last| self.arrived == Bitmap::first(last + 1))
    }

    /// Whether a segment has arrived although an earlier one of the block is missing.
    pub(super) fn has_gap(&self) -> bool {
        self.arrived.len() > self.delivered
    }

    /// Opens the next block with the first of its segments that arrives, if the open block is complete.
    pub(super) fn insert_next(&mut self, piece: Piece, size: u8) -> Arrival {
        let Piece { position, last, .. } = piece;
        let next = self.is_complete() && !self.finished;
        if !next || !is_possible(position, last, size) || !self.has_room(&piece.payload) {
            return Arrival::Impossible;
        }
        self.number += 1;
        self.before = mem::take(&mut self.arrived);
        self.last = None;
        self.delivered = 0;
        self.insert(piece, size)
    }

    /// Stores a segment of the current block, which the peer divides into `size` segments.
    pub(super) fn insert(&mut self, piece: Piece, size: u8) -> Arrival {
        let Piece { position, last, fin, payload } = piece;
        if self.arrived.contains(position) {
            return Arrival::Duplicate;
        }
        if !is_possible(position, last, size) || !self.fits(position, last) || !self.has_room(&payload) {
            return Arrival::Impossible;
        }
        self.arrived |= Bitmap::one(position);
        if last {
            self.last = Some(position);
        }
        if fin {
            self.fin = Some(position);
        }
        let in_order = position == self.delivered;
        self.stored_bytes += payload.len() as u64;
        self.stored[usize::from(position)] = payload;
        let bytes = self.deliver();
        Arrival::New { bytes, in_order }
    }

    /// Whether a segment can be part of the open block, by the known part of the block.
    fn fits(&self, position: u8, last: bool) -> bool {
        match self.last {
            Some(end) => !last && position < end,
            None => !last || Bitmap::first(position).covers(self.arrived),
        }
    }

    fn has_room(&self, payload: &Payload) -> bool {
        let reserve = u64::from(MAX_BLOCK) * self.mss;
        let len = payload.len() as u64;
        len <= self.mss && self.unread() + self.stored_bytes + len <= self.capacity + reserve
    }

    /// Delivers data that is in order; returns the number of bytes.
    fn deliver(&mut self) -> u64 {
        let mut bytes = 0;
        while self.arrived.contains(self.delivered) {
            let data = mem::take(&mut self.stored[usize::from(self.delivered)]);
            bytes += data.len() as u64;
            if !self.sink {
                self.ready.push(data);
            }
            self.finished |= self.fin == Some(self.delivered);
            self.delivered += 1;
        }
        self.stored_bytes -= bytes;
        bytes
    }
}

/// Whether a block of `size` segments can have a segment at `position`: the last position must end the block.
const fn is_possible(position: u8, last: bool, size: u8) -> bool {
    position < size && (last || position + 1 < size)
}
