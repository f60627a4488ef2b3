use multihop_core::Instant;
use multihop_wire::tpa::{Bitmap, MAX_BLOCK};

/// The current block, and the state of its segments (§3.2).
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Number of the block, counted from the SYN, which is block 0.
    pub(super) number: u64,
    /// Length of all segments of the block, bytes.
    pub(super) bytes: u64,
    /// Payload of a full segment.
    pub(super) mss: u32,
    pieces: [Piece; MAX_BLOCK as usize],
    /// Segments that have been sent at least once.
    count: u8,
    /// Whether the last segment so far ends the block.
    ended: bool,
    pub(super) acked: Bitmap,
    /// Positions of segments in flight, whose timer runs.
    pub(super) in_flight: Bitmap,
    /// Positions of segments that timed out and are retransmitted in this round.
    current: Bitmap,
    /// Positions of segments that timed out in this round and are retransmitted in the next one.
    next: Bitmap,
}

/// A segment of the block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Offset of the segment's data in the block.
    pub(super) offset: u64,
    /// Bytes of data; 0 for the FIN.
    pub(super) len: u32,
    /// Number of the segment's newest transmission, counted over the whole connection.
    pub(super) transmission: u64,
    /// Number of the oldest transmission that may have delivered the segment: the first one, until an ACK
    /// names a later one.
    pub(super) arrived: u64,
    /// Time at which the segment's timer expires.
    pub(super) due: Instant,
}

impl Block {
    /// Block 0, a placeholder that contains no segments.
    pub(super) fn none() -> Self {
        Self { ended: true, ..Self::new(0, 0) }
    }

    /// Creates block `number` without segments.
    pub(super) fn new(number: u64, mss: u32) -> Self {
        let piece = Piece { offset: 0, len: 0, transmission: 0, arrived: u64::MAX, due: Instant::ZERO };
        Self {
            number,
            bytes: 0,
            mss,
            pieces: [piece; MAX_BLOCK as usize],
            count: 0,
            ended: false,
            acked: Bitmap::EMPTY,
            in_flight: Bitmap::EMPTY,
            current: Bitmap::EMPTY,
            next: Bitmap::EMPTY,
        }
    }

    /// Number of segments sent at least once, and index of the next new one.
    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// Whether no segment can be added.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the peer has the whole block.
    pub(super) fn is_complete(&self) -> bool {
        self.ended && self.acked == self.sent()
    }

    /// All positions that have been sent.
    pub(super) fn sent(&self) -> Bitmap {
        Bitmap::first(self.count)
    }

    pub(super) fn piece(&self, position: u8) -> Piece {
        self.pieces[usize::from(position)]
    }

    /// Whether `position` ends the block.
    pub(super) fn is_last(&self, position: u8) -> bool {
        self.ended && position + 1 == self.count
    }

    /// Adds a segment of `len` bytes; returns its position.
    pub(super) fn add(&mut self, len: u32, last: bool) -> u8 {
        let position = self.count;
        let piece = &mut self.pieces[usize::from(position)];
        (piece.offset, piece.len) = (self.bytes, len);
        self.bytes += u64::from(len);
        self.count += 1;
        self.ended = last;
        position
    }

    /// Records that a segment has left.
    pub(super) fn on_sent(&mut self, position: u8, transmission: u64, due: Instant) {
        let piece = &mut self.pieces[usize::from(position)];
        (piece.transmission, piece.due) = (transmission, due);
        piece.arrived = piece.arrived.min(transmission);
        self.in_flight |= Bitmap::one(position);
        self.current -= Bitmap::one(position);
    }

    /// Records that an ACK names this transmission of the segment.
    pub(super) fn on_named(&mut self, position: u8, transmission: u64) {
        let arrived = &mut self.pieces[usize::from(position)].arrived;
        *arrived = transmission.max(*arrived);
    }

    /// Marks a segment as lost; it is retransmitted in the next round.
    pub(super) fn on_lost(&mut self, position: u8) {
        self.in_flight -= Bitmap::one(position);
        self.next |= Bitmap::one(position);
    }

    /// Records the positions that the peer has received; returns the number of newly acknowledged bytes.
    pub(super) fn on_acked(&mut self, news: Bitmap) -> u64 {
        self.acked |= news;
        self.in_flight -= news;
        self.current -= news;
        self.next -= news;
        news.positions().map(|position| u64::from(self.piece(position).len)).sum()
    }

    /// The next segment to retransmit in this round.
    pub(super) fn current(&self) -> Option<u8> {
        self.current.positions().next()
    }

    /// The first segment to retransmit in the next round.
    pub(super) fn upcoming(&self) -> Option<u8> {
        self.next.positions().next()
    }

    /// Begins the next round of transmissions of the block.
    pub(super) fn start_round(&mut self) {
        (self.current, self.next) = (self.next, Bitmap::EMPTY);
    }

    /// Extends the timers of all segments in flight, so that none expires before `due`.
    pub(super) fn postpone(&mut self, due: Instant) {
        for position in self.in_flight.positions() {
            let piece = &mut self.pieces[usize::from(position)];
            piece.due = piece.due.max(due);
        }
    }

    /// The segment in flight whose timer expires first.
    pub(super) fn first_due(&self) -> Option<(Instant, u8)> {
        self.in_flight.positions().map(|position| (self.piece(position).due, position)).min()
    }
}
