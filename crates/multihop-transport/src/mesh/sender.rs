//! What has been sent: which segments are in flight, which are lost, and what leaves next.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use multihop_core::{Duration, Instant};
use multihop_wire::mesh::{Ack, Bitmap, Data};

use super::numbers::{low, micros, widen};
use crate::sendq::SendQueue;

/// Data that the peer has not acknowledged.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) queue: SendQueue,
    /// For the next payload.
    pub(super) memory: Option<Vec<u8>>,
    /// The place in the queue at which the next new segment begins.
    position: u64,
    /// Number of the SYN; the first segment has the next one. Transmissions are counted from it too.
    initial: u64,
    /// Number of the first segment in `pieces`.
    base: u64,
    pieces: VecDeque<Piece>,
    in_flight: usize,
    lost: usize,
    /// No segment before this one is lost.
    search: u64,
    /// Number of the next transmission.
    transmissions: u64,
    /// The largest transmission number that the peer has named; at first that of the SYN.
    newest: u64,
    /// Number of the first segment for which the peer has no room.
    limit: u64,
    fin: Fin,
}

/// The end of this side's stream: a segment without payload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fin {
    /// The application has not closed this side.
    Open,
    /// FIN follows the data.
    Due,
    /// The segment with this number is the FIN.
    Sent(u64),
}

/// One segment.
#[derive(Clone, Copy, Debug)]
struct Piece {
    position: u64,
    len: u32,
    /// Number of its newest transmission.
    transmission: u64,
    is_retransmitted: bool,
    sent: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    InFlight,
    Lost,
    Arrived,
}

/// What an ACK has changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct News {
    /// Segments acknowledged for the first time.
    pub(super) arrived: u64,
    /// Bytes that are no longer kept.
    pub(super) freed: u64,
    /// Round trip of the newest transmission, if the ACK names a newer one than before.
    pub(super) round_trip: Option<Duration>,
}

impl Sender {
    pub(super) fn new(initial: u32) -> Self {
        let (queue, initial) = (SendQueue::new(), u64::from(initial));
        let first = initial + 1;
        Self {
            position: queue.end(),
            queue,
            memory: None,
            initial,
            base: first,
            pieces: VecDeque::new(),
            in_flight: 0,
            lost: 0,
            search: first,
            transmissions: first,
            newest: initial,
            limit: u64::MAX,
            fin: Fin::Open,
        }
    }

    /// Number of the SYN.
    pub(super) fn initial(&self) -> u32 {
        low(self.initial)
    }

    /// The peer has room for this many segments.
    pub(super) fn open(&mut self, window: u16) {
        self.limit = self.initial + 1 + u64::from(window);
    }

    /// Segments transmitted and neither acknowledged nor considered lost.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Number of the next transmission.
    pub(super) fn transmissions(&self) -> u64 {
        self.transmissions
    }

    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Bytes queued and not acknowledged.
    pub(super) fn unacked(&self) -> u64 {
        self.queue.len()
    }

    /// Whether the peer has acknowledged this side's FIN.
    pub(super) fn is_fin_acked(&self) -> bool {
        matches!(self.fin, Fin::Sent(number) if number < self.base)
    }

    /// Whether a number is of a segment that is not acknowledged yet, or of the next one.
    pub(super) fn is_outstanding(&self, number: u32) -> bool {
        widen(number, self.base).is_some_and(|number| (self.base..=self.end()).contains(&number))
    }

    /// Whether nothing that was sent waits for an ACK.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether there is something to send, be it that the peer has no room for it.
    pub(super) fn has_data(&self) -> bool {
        self.lost > 0 || self.has_new()
    }

    /// Whether data or FIN was never sent.
    fn has_new(&self) -> bool {
        self.position < self.queue.end() || self.fin == Fin::Due
    }

    /// Whether there is something that the peer has room for.
    pub(super) fn can_send(&self) -> bool {
        self.has_data() && !(self.lost == 0 && self.is_held_back())
    }

    /// Whether there is new data or FIN, and the peer has no room for it.
    pub(super) fn is_held_back(&self) -> bool {
        self.has_new() && self.end() >= self.limit
    }

    /// FIN follows what is queued; an endless source ends after what has been sent.
    pub(super) fn finish(&mut self) {
        self.queue.finish(self.position);
        if self.fin == Fin::Open {
            self.fin = Fin::Due;
        }
    }

    /// Number of the next new segment, as on the wire.
    pub(super) fn next_number(&self) -> u32 {
        low(self.end())
    }

    /// Whether this is the number of the next new segment.
    pub(super) fn is_next(&self, number: u32) -> bool {
        number == self.next_number()
    }

    /// Number of the next new segment.
    fn end(&self) -> u64 {
        self.base + self.pieces.len() as u64
    }

    /// The next segment, and whether it is a retransmission: a lost one before new data, and FIN behind all data.
    pub(super) fn next(&mut self, now: Instant, mss: u32) -> Option<(Data, bool)> {
        if self.lost > 0 {
            return Some((self.retransmit(now)?, true));
        }
        if !self.has_new() || self.is_held_back() {
            return None;
        }
        let left = self.queue.end() - self.position;
        if left == 0 {
            self.fin = Fin::Sent(self.end());
        }
        let len = u32::try_from(left).unwrap_or(u32::MAX).min(mss);
        let (position, state) = (self.position, State::InFlight);
        let piece = Piece { position, len, transmission: 0, is_retransmitted: false, sent: now, state };
        self.pieces.push_back(piece);
        self.position += u64::from(len);
        self.in_flight += 1;
        let data = self.transmit(now, self.pieces.len() - 1);
        Some((data, false))
    }

    fn retransmit(&mut self, now: Instant) -> Option<Data> {
        let from = usize::try_from(self.search.saturating_sub(self.base)).ok()?;
        let index = (from..self.pieces.len()).find(|&index| self.pieces[index].state == State::Lost)?;
        self.search = self.base + index as u64 + 1;
        self.pieces[index].state = State::InFlight;
        self.lost -= 1;
        self.in_flight += 1;
        Some(self.repeat(now, index))
    }

    /// A probe: the oldest segment once more if it may have data and there is one, otherwise no data.
    pub(super) fn probe(&mut self, now: Instant, with_data: bool) -> Data {
        match self.pieces.front().map(|piece| piece.state).filter(|_| with_data) {
            None => Data { ask: true, ..self.head(now, self.end()) },
            Some(state) => {
                if state == State::Lost {
                    self.pieces[0].state = State::InFlight;
                    self.lost -= 1;
                    self.in_flight += 1;
                }
                Data { ask: true, ..self.repeat(now, 0) }
            }
        }
    }

    fn repeat(&mut self, now: Instant, index: usize) -> Data {
        self.pieces[index].is_retransmitted = true;
        self.transmit(now, index)
    }

    fn transmit(&mut self, now: Instant, index: usize) -> Data {
        let head = self.head(now, self.base + index as u64);
        let piece = &mut self.pieces[index];
        (piece.transmission, piece.sent) = (self.transmissions - 1, now);
        if piece.len == 0 {
            return Data { is_fin: true, ..head };
        }
        let payload = self.queue.payload_in(piece.position, piece.len, &mut self.memory);
        Data { payload, ..head }
    }

    /// The header of a transmission.
    fn head(&mut self, now: Instant, number: u64) -> Data {
        let transmission = self.transmissions;
        self.transmissions += 1;
        Data { number: low(number), transmission: low(transmission), sent: micros(now), ..Data::default() }
    }

    /// Takes an ACK; `None` if it is impossible or older than one before.
    pub(super) fn on_ack(&mut self, now: Instant, ack: &Ack) -> Option<News> {
        let next = widen(ack.next, self.base).filter(|&next| (self.base..=self.end()).contains(&next))?;
        let newest = widen(ack.newest, self.transmissions).filter(|&newest| newest < self.transmissions)?;
        let is_newer = newest > self.newest;
        if newest < self.newest {
            return None;
        }
        self.newest = newest;
        self.limit = next + u64::from(ack.window);
        let arrived = self.mark(next, &ack.bitmap);
        let under_way = Duration::from_micros(u64::from(micros(now).wrapping_sub(ack.echo)));
        let round_trip = under_way.saturating_sub(Duration::from_micros(ack.held.into()));
        Some(News { arrived, freed: self.release(), round_trip: is_newer.then_some(round_trip) })
    }

    /// Marks what has arrived; returns how many segments that are.
    fn mark(&mut self, next: u64, bitmap: &Bitmap) -> u64 {
        let before = next - self.base;
        let mut arrived = 0;
        for (offset, piece) in (0..=before + bitmap.end()).zip(&mut self.pieces) {
            if offset >= before && !bitmap.contains(offset - before) {
                continue;
            }
            match piece.state {
                State::Arrived => continue,
                State::Lost => self.lost -= 1,
                State::InFlight => self.in_flight -= 1,
            }
            piece.state = State::Arrived;
            arrived += 1;
        }
        arrived
    }

    /// Drops what need not be kept; returns how many bytes.
    fn release(&mut self) -> u64 {
        while self.pieces.front().is_some_and(|piece| piece.state == State::Arrived) {
            self.pieces.pop_front();
            self.base += 1;
        }
        self.queue.release(self.pieces.front().map_or(self.position, |piece| piece.position))
    }

    /// Considers segments lost if later transmissions have arrived: `REORDERED` of them, or one that left
    /// so much later that the path would have to be that much slower. Returns when to look again.
    pub(super) fn find_losses(&mut self, now: Instant, patience: Duration) -> Option<Instant> {
        let newest = self.newest;
        let mut again: Option<Instant> = None;
        for (number, piece) in (self.base..).zip(&mut self.pieces) {
            // What follows left later still, or again.
            if piece.transmission > newest && !piece.is_retransmitted {
                break;
            }
            if piece.state != State::InFlight || piece.transmission >= newest {
                continue;
            }
            let at = piece.sent + patience;
            if piece.transmission + REORDERED <= newest || at <= now {
                piece.state = State::Lost;
                self.in_flight -= 1;
                self.lost += 1;
                self.search = self.search.min(number);
            } else {
                again = Some(again.map_or(at, |again| again.min(at)));
            }
        }
        again
    }

    /// A link failed with this transmission of this segment; returns whether it was in flight.
    pub(super) fn on_link_failed(&mut self, number: u32, transmission: u32) -> bool {
        let Some(index) = widen(number, self.base).and_then(|number| number.checked_sub(self.base)) else {
            return false;
        };
        let Some(piece) = usize::try_from(index).ok().and_then(|index| self.pieces.get_mut(index)) else {
            return false;
        };
        if piece.state != State::InFlight || low(piece.transmission) != transmission {
            return false;
        }
        piece.state = State::Lost;
        self.in_flight -= 1;
        self.lost += 1;
        self.search = self.search.min(self.base + index);
        true
    }
}

/// Later transmissions that arrive before an earlier one counts as lost.
const REORDERED: u64 = 3;
