//! Sending side of `mesh`: which segments are in flight, which are lost, and what leaves next.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use multihop_core::{Duration, Instant};
use multihop_wire::mesh::{Ack, Bitmap, Chunk, Data};

use super::channels::{STREAM, SendSide, URGENT};
use super::lost::{LossShare, Lost};
use super::numbers::{low, micros, widen};
use super::path::AHEAD;
use super::paths::PATHS;
use crate::sendq::SendQueue;

/// Data that the peer has not acknowledged.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) queue: SendQueue,
    /// Messages of channels, once there are any.
    pub(super) channels: Option<Box<SendSide>>,
    /// Class of the latest segment, if it has chunks of channels.
    pub(super) latest_class: Option<u8>,
    /// Buffer for the next payload, to save an allocation.
    pub(super) memory: Option<Vec<u8>>,
    /// Position in the send queue of the next new segment.
    position: u64,
    /// Number of the SYN; the first segment has the next one. Transmissions are counted from it too.
    initial: u64,
    /// Number of the first segment in `pieces`.
    base: u64,
    pub(super) pieces: VecDeque<Piece>,
    /// Segments of channels among `pieces`.
    of_channels: u64,
    /// Segments in `pieces` that are considered lost.
    pub(super) lost: Lost,
    /// Segments in `pieces` that wait for a chunk of the kind SKIP.
    pub(super) moot: usize,
    pub(super) tracks: [Track; PATHS],
    /// Whether there is a second path, so that an ACK may be older than one of the other path.
    is_split: bool,
    /// Number of the first segment beyond the peer's receive window.
    limit: u64,
    fin: Fin,
}

/// Transmissions over one path that wait for an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Track {
    /// Segments transmitted, and neither acknowledged nor considered lost.
    in_flight: usize,
    /// Number of the next transmission.
    next: u64,
    /// Largest transmission number that the peer has acknowledged; initially the number of the SYN.
    newest: u64,
    /// Share of first transmissions that were lost.
    pub(super) loss: LossShare,
}

/// The end of this side's stream: a segment without payload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fin {
    /// The application has not closed this side.
    Open,
    /// The FIN will follow the queued data.
    Due,
    /// The segment with this number is the FIN.
    Sent(u64),
}

/// A segment that was sent, with its place in the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Place in the stream at which the segment begins; of a segment of channels, where the next one of the stream begins.
    position: u64,
    pub(super) content: Content,
    /// Path of the piece's newest transmission.
    pub(super) path: usize,
    /// Number of the piece's newest transmission on its path.
    pub(super) transmission: u64,
    pub(super) is_retransmitted: bool,
    /// Whether the piece waited in vain for a segment that skips it.
    pub(super) is_unskipped: bool,
    /// Whether a transmission has skipped the piece, so that its arrival says nothing about its content.
    pub(super) was_skipped: bool,
    pub(super) sent: Instant,
    pub(super) state: State,
}

/// Content of a segment: data of the stream, its end, or chunks of channels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Content {
    /// This many bytes of the stream.
    Stream(u32),
    /// The end of the stream.
    Fin,
    /// Chunks of channels, of which the first one has this class.
    Chunks { class: u8, serial: u32 },
}

impl Content {
    /// Class of the segment among those that are to be sent.
    const fn class(self) -> u8 {
        match self {
            Self::Stream(_) | Self::Fin => STREAM,
            Self::Chunks { class, .. } => class,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    InFlight,
    Lost,
    /// Lost, and not worth a retransmission: a later segment will skip it.
    Moot,
    /// Skipped by the transmission with the number of the piece.
    Skipped,
    Arrived,
}

/// Changes that an ACK has made to the sender.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct News {
    /// Segments acknowledged for the first time, by the path of their newest transmission.
    pub(super) arrived: [u64; PATHS],
    /// Number of bytes of the stream that have left the send buffer, because they are acknowledged.
    pub(super) freed: u64,
    /// Whether messages of channels have left the send buffer.
    pub(super) has_freed_messages: bool,
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
            channels: None,
            latest_class: None,
            memory: None,
            initial,
            base: first,
            pieces: VecDeque::new(),
            of_channels: 0,
            lost: Lost::new(first),
            moot: 0,
            tracks: [Track { in_flight: 0, next: first, newest: initial, loss: LossShare::default() }; PATHS],
            is_split: false,
            limit: u64::MAX,
            fin: Fin::Open,
        }
    }

    /// Number of this end's SYN.
    pub(super) fn initial(&self) -> u32 {
        low(self.initial)
    }

    /// Starts with the peer's initial receive window, in segments.
    pub(super) fn open(&mut self, window: u16) {
        self.limit = self.initial + 1 + u64::from(window);
    }

    /// Prepares the sender for a second path.
    pub(super) fn split(&mut self) {
        self.is_split = true;
    }

    /// Segments transmitted on a path and neither acknowledged nor considered lost.
    pub(super) fn in_flight(&self, path: usize) -> usize {
        self.tracks[path].in_flight
    }

    /// Number of the next transmission on a path.
    pub(super) fn transmissions(&self, path: usize) -> u64 {
        self.tracks[path].next
    }

    /// The largest transmission number of a path that the peer has named.
    pub(super) fn newest(&self, path: usize) -> u64 {
        self.tracks[path].newest
    }

    /// Number of segments that remain to be sent and may overtake each other: all lost ones, otherwise those never
    /// sent.
    pub(super) fn left(&self, mss: u32) -> u64 {
        match self.lost.len() as u64 {
            0 => {
                let queued = self.channels.as_ref().map_or(0, |channels| channels.queued());
                (self.queue.end() - self.position + queued).div_ceil(mss.into())
            }
            lost => lost,
        }
    }

    /// Marks all segments in flight on a path as lost, so that they are retransmitted on the other path.
    pub(super) fn move_from(&mut self, path: usize) {
        for (number, piece) in (self.base..).zip(&mut self.pieces) {
            if piece.path == path && matches!(piece.state, State::InFlight | State::Skipped) {
                piece.state = State::Lost;
                self.lost.add(number, piece.content.class());
            }
        }
        self.tracks[path].in_flight = 0;
    }

    /// Bytes queued and not acknowledged.
    pub(super) fn unacked(&self) -> u64 {
        self.queue.len() + self.channels.as_ref().map_or(0, |channels| channels.queued())
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

    /// Whether there is something to send, even if the receive window does not permit it.
    pub(super) fn has_data(&self) -> bool {
        self.has_lost() || self.has_new() || self.has_unsent_messages()
    }

    /// Whether data of the stream or FIN was never sent. FIN follows all messages.
    fn has_new(&self) -> bool {
        self.position < self.queue.end() || (self.fin == Fin::Due && !self.has_unsent_messages())
    }

    /// Whether a message was not sent to its end.
    fn has_unsent_messages(&self) -> bool {
        self.channels.as_ref().is_some_and(|channels| channels.has_unsent())
    }

    /// The first class of channels that has something for a segment for which the peer has room.
    pub(super) fn next_class(&self) -> Option<u8> {
        let class = self.channels.as_ref()?.first_class()?;
        (self.end() < self.limit.max(self.base + RESERVED)).then_some(class)
    }

    /// Whether the next segment may leave before its turn: it is of a class up to [`URGENT`], and everything without an ACK
    /// fits into three segments.
    pub(super) fn is_urgent(&self, mss: u32) -> bool {
        let longest = u64::from(mss) * (AHEAD as u64 + 1);
        self.next_class().is_some_and(|class| class <= URGENT) && self.unacked() <= longest
    }

    /// Whether a chunk has data of an urgent class, of this end or the peer.
    pub(super) fn has_urgent(&self, chunks: &[Chunk]) -> bool {
        let Some(channels) = &self.channels else { return false };
        chunks.iter().any(|chunk| match chunk {
            Chunk::Data { channel, .. } => channels.is_urgent(*channel),
            _ => false,
        })
    }

    /// Whether something that is not urgent waits to be sent.
    pub(super) fn has_later_than_urgent(&self) -> bool {
        self.has_new() || self.channels.as_ref().is_some_and(|channels| channels.has_later_than(URGENT))
    }

    /// Whether there is something to send that the receive window permits.
    pub(super) fn can_send(&self) -> bool {
        self.has_lost() || (self.has_new() && !self.is_held_back()) || self.next_class().is_some()
    }

    /// Whether new data of the stream, or the FIN, waits only for the receive window.
    pub(super) fn is_held_back(&self) -> bool {
        self.has_new() && self.end() >= self.stream_limit()
    }

    /// Number of the first segment for which the peer has no room if it is of the stream: those of channels take none.
    fn stream_limit(&self) -> u64 {
        match self.of_channels {
            0 => self.limit,
            others => self.limit.max((self.limit + others).min(self.base + RESERVED)),
        }
    }

    /// Whether a segment that was sent is considered lost.
    pub(super) fn has_lost(&self) -> bool {
        self.lost.len() > 0
    }

    /// Number of further segments that the receive window permits.
    pub(super) fn room(&self) -> u64 {
        self.limit.saturating_sub(self.end())
    }

    /// Puts FIN behind the queued data; an endless source ends after the data already sent.
    pub(super) fn finish(&mut self) {
        self.queue.finish(self.position);
        if let Some(channels) = &mut self.channels {
            channels.finish();
        }
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

    /// The next segment, and whether it is a retransmission: a lost one before new data of its class or a later one, and
    /// FIN behind all data.
    pub(super) fn next(&mut self, now: Instant, path: usize, mss: u32) -> Option<(Data, bool)> {
        let class = self.next_class();
        while let Some(lost) = self.lost.first_class()
            && class.is_none_or(|class| lost <= class || self.is_overdue())
        {
            if let Some(data) = self.retransmit(now, path, lost) {
                return Some((data, true));
            }
        }
        let has_new = self.has_new() && !self.is_held_back();
        let class = class.filter(|&class| class < STREAM || !has_new);
        let content = match class {
            Some(class) => self.next_chunks(now, class, mss)?,
            None if has_new => self.next_of_stream(mss),
            None => return None,
        };
        Some((self.add(now, path, content), false))
    }

    /// Transmits a new segment.
    pub(super) fn add(&mut self, now: Instant, path: usize, content: Content) -> Data {
        let (position, state) = (self.position, State::InFlight);
        let piece = Piece {
            position,
            content,
            path,
            transmission: 0,
            is_retransmitted: false,
            is_unskipped: false,
            was_skipped: false,
            sent: now,
            state,
        };
        self.pieces.push_back(piece);
        match content {
            Content::Stream(len) => self.position += u64::from(len),
            Content::Fin => {}
            Content::Chunks { .. } => self.of_channels += 1,
        }
        self.tracks[path].in_flight += 1;
        self.transmit(now, path, self.pieces.len() - 1)
    }

    /// Whether a lost segment must be retransmitted before messages of a more urgent class. It blocks the receive
    /// window, which advances only past the oldest missing segment.
    fn is_overdue(&self) -> bool {
        self.pieces.len() as u64 >= RESERVED / 2
    }

    pub(super) fn next_chunks(&mut self, now: Instant, class: u8, mss: u32) -> Option<Content> {
        let serial = self.channels.as_mut()?.fill(now, class, mss)?;
        Some(Content::Chunks { class, serial })
    }

    fn next_of_stream(&mut self, mss: u32) -> Content {
        let left = self.queue.end() - self.position;
        if left == 0 {
            self.fin = Fin::Sent(self.end());
            return Content::Fin;
        }
        Content::Stream(u32::try_from(left).unwrap_or(u32::MAX).min(mss))
    }

    /// Retransmits the next lost segment of a class; `None` if it is not worth a retransmission.
    pub(super) fn retransmit(&mut self, now: Instant, path: usize, class: u8) -> Option<Data> {
        let from = usize::try_from(self.lost.search(class).saturating_sub(self.base)).ok()?;
        let is_next = |piece: &Piece| piece.state == State::Lost && piece.content.class() == class;
        let index = (from..self.pieces.len()).find(|&index| is_next(&self.pieces[index]))?;
        self.lost.set_search(class, self.base + index as u64 + 1);
        self.lost.remove(class);
        if self.is_moot(now, index) {
            self.set_moot(now, index);
            return None;
        }
        self.pieces[index].state = State::InFlight;
        self.tracks[path].in_flight += 1;
        Some(self.repeat(now, path, index))
    }

    /// Builds a probe: a copy of the oldest segment if `with_data` and there is one, otherwise a segment without
    /// data.
    pub(super) fn probe(&mut self, now: Instant, path: usize, with_data: bool) -> Data {
        let oldest = self.pieces.front_mut().filter(|piece| with_data && piece.state != State::Arrived);
        let Some(piece) = oldest else {
            return Data { ask: true, ..self.head(now, path, self.end()) };
        };
        match piece.state {
            State::Lost => self.lost.remove(piece.content.class()),
            State::Moot => self.moot -= 1,
            State::InFlight => self.tracks[piece.path].in_flight -= 1,
            State::Skipped | State::Arrived => {}
        }
        piece.state = State::InFlight;
        self.tracks[path].in_flight += 1;
        Data { ask: true, ..self.repeat(now, path, 0) }
    }

    fn repeat(&mut self, now: Instant, path: usize, index: usize) -> Data {
        self.pieces[index].is_retransmitted = true;
        self.transmit(now, path, index)
    }

    fn transmit(&mut self, now: Instant, path: usize, index: usize) -> Data {
        let head = self.head(now, path, self.base + index as u64);
        let piece = &mut self.pieces[index];
        (piece.path, piece.transmission, piece.sent) = (path, self.tracks[path].next - 1, now);
        match piece.content {
            Content::Stream(len) => {
                let payload = self.queue.payload_in(piece.position, len, &mut self.memory);
                Data { payload, ..head }
            }
            Content::Fin => Data { is_fin: true, ..head },
            Content::Chunks { serial, class } => {
                self.latest_class = Some(class);
                let skips =
                    if piece.is_retransmitted { Vec::new() } else { self.skip(now, path, index, serial) };
                let Some(channels) = &mut self.channels else { return head };
                channels.set_loss(self.tracks[path].loss.share());
                let (chunks, payload) = channels.content(now, serial, skips, &mut self.memory);
                Data { chunks, payload, ..head }
            }
        }
    }

    /// Makes the header of the next transmission of segment `number`.
    fn head(&mut self, now: Instant, path: usize, number: u64) -> Data {
        let transmission = self.tracks[path].next;
        self.tracks[path].next += 1;
        Data {
            second_path: path > 0,
            number: low(number),
            transmission: low(transmission),
            sent: micros(now),
            ..Data::default()
        }
    }

    /// Processes an ACK; returns `None` if it is impossible, or older than an earlier ACK of its path.
    pub(super) fn on_ack(&mut self, now: Instant, ack: &Ack) -> Option<News> {
        let track = &mut self.tracks[usize::from(ack.second_path)];
        // The other path may have been faster.
        let oldest = if self.is_split { self.base.saturating_sub(Bitmap::LEN) } else { self.base };
        let end = self.base + self.pieces.len() as u64;
        let next = widen(ack.next, self.base).filter(|&next| (oldest..=end).contains(&next))?;
        let newest = widen(ack.newest, track.next).filter(|&newest| newest < track.next)?;
        let is_newer = newest > track.newest;
        if newest < track.newest {
            return None;
        }
        track.newest = newest;
        let limit = next + u64::from(ack.window);
        self.limit = if self.is_split { self.limit.max(limit) } else { limit };
        if let (true, Some(channels)) = (is_newer, &mut self.channels) {
            let path = usize::from(ack.second_path);
            let is_newest = |piece: &&Piece| piece.path == path && piece.transmission == newest;
            let class = self.pieces.iter().find(is_newest).map(|piece| piece.content.class());
            channels.note_newest(path, class, newest);
        }
        let arrived = self.mark(next, &ack.bitmap);
        let under_way = Duration::from_micros(u64::from(micros(now).wrapping_sub(ack.echo)));
        let round_trip = under_way.saturating_sub(Duration::from_micros(ack.held.into()));
        let (freed, has_freed_messages) = self.release();
        let round_trip = is_newer.then_some(round_trip);
        Some(News { arrived, freed, has_freed_messages, round_trip })
    }

    /// Marks segments as arrived by an ACK's bitmap; returns their number on each path.
    fn mark(&mut self, next: u64, bitmap: &Bitmap) -> [u64; PATHS] {
        let mut arrived = [0; PATHS];
        let end = (next + bitmap.end()).saturating_sub(self.base);
        for (number, piece) in (self.base..=self.base + end).zip(&mut self.pieces) {
            if number >= next && !bitmap.contains(number - next) {
                continue;
            }
            let was = core::mem::replace(&mut piece.state, State::Arrived);
            match was {
                State::Arrived | State::Skipped => continue,
                State::Moot => self.moot -= 1,
                State::Lost => self.lost.remove(piece.content.class()),
                State::InFlight => self.tracks[piece.path].in_flight -= 1,
            }
            if was == State::InFlight && !piece.is_retransmitted {
                self.tracks[piece.path].loss.add(false);
            }
            if let Some(channels) = &mut self.channels {
                if was == State::InFlight && !piece.is_retransmitted {
                    channels.note_newest(piece.path, Some(piece.content.class()), piece.transmission);
                }
                if let Content::Chunks { serial, .. } = piece.content
                    && !piece.was_skipped
                {
                    channels.note_arrival(serial);
                }
            }
            arrived[piece.path] += 1;
        }
        arrived
    }

    /// Drops data that is acknowledged; returns the number of bytes of the stream, and whether messages were dropped.
    fn release(&mut self) -> (u64, bool) {
        let mut has_freed_messages = false;
        while let Some(piece) = self.pieces.front().filter(|piece| piece.state == State::Arrived) {
            if let (Content::Chunks { .. }, Some(channels)) = (piece.content, &mut self.channels) {
                channels.release();
                self.of_channels -= 1;
                has_freed_messages = true;
            }
            self.pieces.pop_front();
            self.base += 1;
        }
        let first = self.pieces.front().map_or(self.position, |piece| piece.position);
        (self.queue.release(first), has_freed_messages)
    }

    /// Marks segments of a path as lost if later transmissions have arrived: [`REORDERED`] of them, or at least one
    /// and `patience` has passed since the segment left. Returns when to check again.
    ///
    /// Hops with EDCA send segments of some classes before those of others. A segment that only such segments have overtaken
    /// is lost after twice the patience.
    pub(super) fn find_losses(&mut self, now: Instant, path: usize, patience: Duration) -> Option<Instant> {
        let track = &mut self.tracks[path];
        let newest = track.newest;
        let mut again: Option<Instant> = None;
        for (number, piece) in (self.base..).zip(&mut self.pieces) {
            if piece.path != path {
                continue;
            }
            // What follows left later still, or again.
            if piece.transmission > newest && !piece.is_retransmitted {
                break;
            }
            let is_under_way = matches!(piece.state, State::InFlight | State::Skipped);
            let is_overtaken = is_under_way && piece.transmission < newest;
            if !is_overtaken && piece.state != State::Moot {
                continue;
            }
            let class = piece.content.class();
            let newest = self.channels.as_ref().map_or(newest, |channels| channels.newest(path, class));
            let is_preceded = piece.transmission > newest && piece.state != State::Moot;
            let at = piece.sent + if is_preceded { patience * 2 } else { patience };
            if (is_overtaken && piece.transmission + REORDERED <= newest) || at <= now {
                match piece.state {
                    State::InFlight => track.in_flight -= 1,
                    // No new segment has skipped it.
                    State::Moot => (self.moot, piece.is_unskipped) = (self.moot - 1, true),
                    _ => {}
                }
                if piece.state == State::InFlight && !piece.is_retransmitted {
                    track.loss.add(true);
                }
                piece.state = State::Lost;
                self.lost.add(number, piece.content.class());
            } else {
                again = Some(again.map_or(at, |again| again.min(at)));
            }
        }
        again
    }

    /// Marks a segment as lost whose transmission met a failed link; returns whether the segment was in flight.
    pub(super) fn on_link_failed(&mut self, path: usize, number: u32, transmission: u32) -> bool {
        let Some(index) = widen(number, self.base).and_then(|number| number.checked_sub(self.base)) else {
            return false;
        };
        let Some(piece) = usize::try_from(index).ok().and_then(|index| self.pieces.get_mut(index)) else {
            return false;
        };
        if piece.state != State::InFlight || piece.path != path || low(piece.transmission) != transmission {
            return false;
        }
        piece.state = State::Lost;
        self.tracks[path].in_flight -= 1;
        self.lost.add(self.base + index, piece.content.class());
        true
    }
}

/// Number of segments, from the oldest missing one on, within which a receiver accepts segments of channels even if it has no room
/// for more of the stream.
pub(super) const RESERVED: u64 = 256;
/// Number of later transmissions that arrive before an earlier one counts as lost.
const REORDERED: u64 = 3;
