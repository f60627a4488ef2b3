use alloc::vec::Vec;

use multihop_core::Payload;

use crate::bytes::ByteQueue;

/// The peer's data, by position in the stream (its SYN is at 0, the first byte at 1).
#[derive(Clone, Debug)]
pub(super) struct RecvQueue {
    /// Next position that is expected.
    next: u64,
    /// Data that arrived beyond `next`, sorted and without overlap.
    islands: Vec<Island>,
    /// Start positions of the newest out-of-order arrivals, one for each block, newest first.
    recent: Vec<u64>,
    /// Position of the peer's FIN; `None` before it arrives.
    fin: Option<u64>,
    /// Bytes in order that were not read yet.
    ready: ByteQueue,
    /// Whether data counts as read at once.
    sink: bool,
}

#[derive(Clone, Debug)]
struct Island {
    start: u64,
    data: Payload,
}

/// The classification of an arriving segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Arrival {
    /// The segment contained no new data.
    Duplicate,
    /// The segment contained the data expected next.
    InOrder {
        /// Number of bytes that became readable, including earlier arrivals.
        bytes: u64,
        /// Whether the segment is adjacent to data that had arrived before it.
        filled_hole: bool,
    },
    /// The segment lies behind missing data.
    OutOfOrder,
}

impl RecvQueue {
    pub(super) fn new(sink: bool) -> Self {
        Self {
            next: 0,
            islands: Vec::new(),
            recent: Vec::new(),
            fin: None,
            ready: ByteQueue::default(),
            sink,
        }
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Starts the queue after the SYN, which has position 0.
    pub(super) fn start(&mut self) {
        self.next = 1;
    }

    /// Bytes that wait to be read.
    pub(super) fn unread(&self) -> u64 {
        self.ready.len()
    }

    /// Whether the FIN has arrived while data before it is missing.
    pub(super) fn fin_waits(&self) -> bool {
        self.fin.is_some_and(|fin| self.next < fin)
    }

    /// Frees all data, because the connection is closed and data beyond a gap will never be read.
    pub(super) fn forget(&mut self) {
        (self.islands, self.recent) = (Vec::new(), Vec::new());
    }

    /// Takes at most `max` bytes that are in order.
    pub(super) fn read(&mut self, max: u32) -> Payload {
        self.ready.read(max)
    }

    /// Records the position of the FIN. False if the position contradicts earlier information.
    pub(super) fn set_fin(&mut self, position: u64) -> bool {
        if self.fin.is_some_and(|fin| fin != position) || self.furthest() > position {
            return false;
        }
        self.fin = Some(position);
        true
    }

    /// Processes the FIN if all data before it has arrived; returns whether it has.
    pub(super) fn take_fin(&mut self) -> bool {
        let due = self.fin == Some(self.next);
        if due {
            self.next += 1;
        }
        due
    }

    /// Takes `data`, whose first byte is at `start`.
    pub(super) fn insert(&mut self, start: u64, mut data: Payload) -> Arrival {
        let mut start = start;
        let mut end = start + data.len() as u64;
        if let Some(fin) = self.fin
            && end > fin
        {
            cut_back(&mut data, end - fin.max(start));
            end = fin.max(start);
        }
        if start < self.next {
            let known = (self.next - start).min(end - start);
            cut_front(&mut data, known);
            start += known;
        }
        if data.is_empty() {
            return Arrival::Duplicate;
        }
        if start > self.next {
            let is_new = self.store(start, data);
            self.note_recent(start);
            return if is_new { Arrival::OutOfOrder } else { Arrival::Duplicate };
        }
        let filled_hole = self.islands.first().is_some_and(|island| island.start <= end);
        let old = self.next;
        self.append(data);
        self.join_islands();
        Arrival::InOrder { bytes: self.next - old, filled_hole }
    }

    /// Blocks for the SACK option, the block with the newest arrival first (RFC 2018 §4).
    pub(super) fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.recent.iter().filter_map(|&start| self.block_at(start))
    }

    /// Position after the highest byte that has arrived.
    pub(super) fn furthest(&self) -> u64 {
        self.islands.last().map_or(self.next, Island::end)
    }

    /// Estimated number of missing segments below the highest data.
    pub(super) fn missing(&self, mss: u32) -> u32 {
        let (mut known, mut missing) = (self.next, 0);
        for island in &self.islands {
            missing += (island.start - known).div_ceil(u64::from(mss));
            known = island.end();
        }
        u32::try_from(missing).unwrap_or(u32::MAX)
    }

    pub(super) fn has_holes(&self) -> bool {
        !self.islands.is_empty()
    }

    /// Start and end of each range of data behind a gap; adjacent islands are merged.
    fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut rest = self.islands.iter().peekable();
        core::iter::from_fn(move || {
            let first = rest.next()?;
            let mut end = first.end();
            while let Some(island) = rest.next_if(|island| island.start == end) {
                end = island.end();
            }
            Some((first.start, end))
        })
    }

    fn block_at(&self, position: u64) -> Option<(u64, u64)> {
        self.blocks().find(|&(start, end)| start <= position && position < end)
    }

    fn note_recent(&mut self, start: u64) {
        let block = self.block_at(start).unwrap_or((start, start + 1));
        self.recent.retain(|&other| other >= self.next && !(block.0..block.1).contains(&other));
        self.recent.insert(0, start);
        self.recent.truncate(MAX_BLOCKS);
    }

    /// Stores the parts of `data` that are new; false if there are none.
    fn store(&mut self, mut start: u64, mut data: Payload) -> bool {
        let mut kept = false;
        let mut at = self.islands.partition_point(|island| island.end() <= start);
        while !data.is_empty() {
            let end = start + data.len() as u64;
            let Some(island) = self.islands.get(at).filter(|island| island.start < end) else {
                self.islands.insert(at, Island { start, data });
                return true;
            };
            let (from, to) = (island.start, island.end());
            if start < from {
                let head = split_front(&mut data, from - start);
                self.islands.insert(at, Island { start, data: head });
                at += 1;
                start = from;
                kept = true;
            }
            let known = to.min(end) - start;
            cut_front(&mut data, known);
            start += known;
            at += 1;
        }
        kept
    }

    fn join_islands(&mut self) {
        while self.islands.first().is_some_and(|island| island.start <= self.next) {
            let Island { start, mut data } = self.islands.remove(0);
            let known = (self.next - start).min(data.len() as u64);
            cut_front(&mut data, known);
            self.append(data);
        }
    }

    fn append(&mut self, data: Payload) {
        self.next += data.len() as u64;
        if !self.sink {
            self.ready.push(data);
        }
    }
}

impl Island {
    fn end(&self) -> u64 {
        self.start + self.data.len() as u64
    }
}

/// Maximum number of SACK blocks that fit into a segment.
const MAX_BLOCKS: usize = 4;

#[expect(clippy::cast_possible_truncation, reason = "within one segment's payload")]
fn cut_front(data: &mut Payload, n: u64) {
    match data {
        Payload::Bytes(bytes) => drop(bytes.drain(..n as usize)),
        Payload::Virtual(len) => *len -= n as u32,
    }
}

/// Truncates `data` to at most `len` bytes.
pub(super) fn cut_to(data: &mut Payload, len: u64) {
    let excess = (data.len() as u64).saturating_sub(len);
    cut_back(data, excess);
}

#[expect(clippy::cast_possible_truncation, reason = "within one segment's payload")]
fn cut_back(data: &mut Payload, n: u64) {
    match data {
        Payload::Bytes(bytes) => bytes.truncate(bytes.len() - n as usize),
        Payload::Virtual(len) => *len -= n as u32,
    }
}

/// Removes the first `n` bytes of `data`.
#[expect(clippy::cast_possible_truncation, reason = "within one segment's payload")]
fn split_front(data: &mut Payload, n: u64) -> Payload {
    match data {
        Payload::Bytes(bytes) => Payload::Bytes(bytes.drain(..n as usize).collect()),
        Payload::Virtual(len) => {
            *len -= n as u32;
            Payload::Virtual(n as u32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started() -> RecvQueue {
        let mut queue = RecvQueue::new(false);
        queue.start();
        queue
    }

    fn bytes(range: core::ops::Range<u8>) -> Payload {
        Payload::Bytes(range.collect())
    }

    fn blocks(queue: &RecvQueue) -> Vec<(u64, u64)> {
        queue.sack_blocks().collect()
    }

    #[test]
    fn pieces_in_any_order_with_overlaps_read_as_sent() {
        let mut queue = started();
        assert_eq!(queue.insert(6, bytes(6..9)), Arrival::OutOfOrder);
        assert_eq!(queue.insert(11, bytes(11..13)), Arrival::OutOfOrder);
        assert_eq!(queue.insert(4, bytes(4..13)), Arrival::OutOfOrder);
        assert_eq!(queue.insert(5, bytes(5..12)), Arrival::Duplicate);
        assert_eq!(blocks(&queue), [(4, 13)]);
        assert_eq!(queue.insert(1, bytes(1..3)), Arrival::InOrder { bytes: 2, filled_hole: false });
        assert_eq!(queue.insert(1, bytes(1..7)), Arrival::InOrder { bytes: 10, filled_hole: true });
        assert_eq!(queue.insert(2, bytes(2..9)), Arrival::Duplicate);
        assert_eq!(queue.read(5), bytes(1..6));
        assert_eq!(queue.read(99), bytes(6..13));
        assert_eq!(queue.unread(), 0);
    }

    #[test]
    fn the_newest_block_is_reported_first() {
        let mut queue = started();
        for start in [31, 11, 21] {
            queue.insert(start, Payload::Virtual(5));
        }
        assert_eq!(blocks(&queue), [(21, 26), (11, 16), (31, 36)]);
        queue.insert(16, Payload::Virtual(5));
        assert_eq!(blocks(&queue), [(11, 26), (31, 36)]);
    }

    #[test]
    fn the_fin_waits_for_all_data_and_bounds_it() {
        let mut queue = started();
        assert!(queue.set_fin(6));
        assert!(!queue.set_fin(7) && !queue.take_fin() && queue.fin_waits());
        assert_eq!(queue.insert(3, Payload::Virtual(100)), Arrival::OutOfOrder);
        assert_eq!(queue.insert(1, Payload::Virtual(2)), Arrival::InOrder { bytes: 5, filled_hole: true });
        assert!(queue.take_fin() && !queue.fin_waits());
        assert_eq!(queue.next(), 7);
        assert_eq!(queue.insert(7, Payload::Virtual(1)), Arrival::Duplicate);
    }
}
