//! Sending side of all channels: classes, turns within a class, and the chunks of segments that are not acknowledged.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use multihop_core::{Duration, Instant, Payload};
use multihop_wire::control::ChannelLimits;
use multihop_wire::mesh::{ChannelOptions, Chunk, Segment};

use super::copies::Estimate;
use super::outgoing::Outgoing;
use crate::channel::{ChannelError, ChannelId};
use crate::event::Data;
use crate::mesh::paths::PATHS;

/// Class of data of the stream, between those of channels with priority 3 and 4.
pub(in super::super) const STREAM: u8 = 4;
/// Last class of urgent messages, which do not wait for the pace: those before the usual priority of 3.
pub(in super::super) const URGENT: u8 = 2;
/// Number of classes: those of channels and that of the stream.
pub(in super::super) const CLASSES: usize = 9;

/// The class of a priority.
const fn class(priority: u8) -> u8 {
    priority + (priority >= STREAM) as u8
}

/// The priority of channels of a class; `None` for the class of the stream.
pub(in super::super) const fn priority(class: u8) -> Option<u8> {
    match class {
        STREAM => None,
        class if class > STREAM => Some(class - 1),
        class => Some(class),
    }
}

/// Messages that one end sends.
#[derive(Debug)]
pub(in super::super) struct SendSide {
    /// Limits of the peer.
    limits: ChannelLimits,
    channels: BTreeMap<u16, Outgoing>,
    /// Channels that a segment can take something of, by class: the first one is next.
    rings: [VecDeque<u16>; CLASSES],
    /// Credit for the peer that no segment has announced yet, by channel.
    credits: BTreeMap<u16, u64>,
    /// Contents of the segments that are not acknowledged.
    contents: VecDeque<Content>,
    /// Serial number of the first entry of `contents`.
    first: u32,
    /// Measurements of the path.
    estimate: Estimate,
    /// Largest number of copies of a message.
    max_copies: u8,
    /// Whether the peer understands chunks of the kind SKIP.
    may_skip: bool,
    /// Largest transmission number that has arrived on each path, among segments of each class and those after it.
    newest: [[u64; CLASSES]; PATHS],
}

/// Content of a segment that is not acknowledged.
#[derive(Debug)]
struct Content {
    chunks: Vec<Chunk>,
    /// Copies of earlier messages in the only transmission of the segment; empty after a retransmission.
    copies: Vec<Chunk>,
    /// Bytes that the segment has left at its first transmission.
    room: usize,
    /// Whether the segment has left.
    has_left: bool,
}

impl SendSide {
    /// A sender to a peer with these limits, with at most this many copies of a message. `may_skip` is whether the peer
    /// understands chunks of the kind SKIP.
    pub(in super::super) fn new(limits: ChannelLimits, max_copies: u8, may_skip: bool) -> Self {
        Self {
            limits,
            channels: BTreeMap::new(),
            rings: Default::default(),
            credits: BTreeMap::new(),
            contents: VecDeque::new(),
            first: 0,
            estimate: Estimate::default(),
            max_copies,
            may_skip,
            newest: [[0; CLASSES]; PATHS],
        }
    }

    /// Sets the round trips of the path: the shortest one-way time, and the smoothed round trip.
    pub(in super::super) fn set_round_trip(&mut self, one_way: Duration, round: Duration) {
        (self.estimate.one_way, self.estimate.round) = (one_way, round);
    }

    /// Notes that a transmission of a class has arrived, or one without a segment.
    pub(in super::super) fn note_newest(&mut self, path: usize, class: Option<u8>, transmission: u64) {
        let classes = class.map_or(CLASSES, |class| usize::from(class) + 1);
        self.newest[path][..classes].iter_mut().for_each(|newest| *newest = transmission.max(*newest));
    }

    /// Largest transmission number that has arrived on a path, of a segment that no hop sends before one of `class`.
    pub(in super::super) const fn newest(&self, path: usize, class: u8) -> u64 {
        self.newest[path][class as usize]
    }

    /// Sets the share of segments that the path has lost.
    pub(in super::super) fn set_loss(&mut self, loss: f64) {
        self.estimate.loss = loss;
    }

    /// Whether the peer understands chunks of the kind SKIP.
    pub(in super::super) const fn may_skip(&self) -> bool {
        self.may_skip
    }

    /// Deadline of the messages in a chunk's channel. Chunks that skip segments are as urgent as the messages beside them.
    pub(in super::super) fn deadline(&self, chunk: &Chunk) -> Option<Duration> {
        match chunk {
            Chunk::Data { channel, .. } | Chunk::Gap { channel, .. } => {
                self.channels.get(channel)?.deadline()
            }
            Chunk::Skip { .. } => Some(Duration::MAX),
            Chunk::Open { .. } | Chunk::Credit { .. } => None,
        }
    }

    /// The first class in which a channel with a deadline has something for a segment; credit belongs to class 0.
    pub(in super::super) fn first_class_with_deadline(&self) -> Option<u8> {
        if !self.credits.is_empty() {
            return Some(0);
        }
        let has_deadline = |id: &u16| self.channels.get(id).is_some_and(Outgoing::has_fresh);
        (0..).zip(&self.rings).find(|(_, ring)| ring.iter().any(has_deadline)).map(|(class, _)| class)
    }

    /// Number of the next channel of this end, unless the peer accepts no more.
    pub(super) fn next_own(&self) -> Result<u16, ChannelError> {
        let own = self.channels.range(..).filter(|(channel, _)| ChannelId(**channel).is_own()).count();
        let most = self.limits.channels.min(Chunk::MAX_CHANNEL / 2);
        u16::try_from(own).ok().filter(|&own| own < most).ok_or(ChannelError::TooMany(most))
    }

    /// Opens a channel of this end.
    pub(super) fn open(&mut self, options: ChannelOptions) -> Result<ChannelId, ChannelError> {
        let number = self.next_own()?;
        let channel = Outgoing::new(2 * number, &options, self.limits.credit).announce(options);
        self.channels.insert(2 * number, channel);
        self.settle(2 * number);
        Ok(ChannelId(2 * number))
    }

    /// Adds a channel that the peer has opened.
    pub(super) fn add(&mut self, channel: ChannelId, options: &ChannelOptions) {
        self.channels.insert(channel.0, Outgoing::new(channel.0, options, self.limits.credit));
    }

    /// A channel's half.
    pub(super) fn get(&self, channel: ChannelId) -> Option<&Outgoing> {
        self.channels.get(&channel.0)
    }

    /// Queues a message, or a part of one.
    pub(super) fn push(
        &mut self,
        now: Instant,
        id: ChannelId,
        (data, is_last): (Data, bool),
        buffer: u64,
    ) -> Result<u64, ChannelError> {
        let arrival = now + self.estimate.one_way;
        let Some(channel) = self.channels.get_mut(&id.0) else { return Err(ChannelError::Unknown(id)) };
        channel.expire(arrival);
        let pushed = match channel.writable(buffer) {
            0 => Err(ChannelError::Full),
            _ => channel.push(now, data, is_last, self.limits.message),
        };
        self.settle(id.0);
        pushed
    }

    /// Takes a credit of the peer; false for an unknown channel.
    pub(super) fn on_credit(&mut self, id: ChannelId, limit: u64) -> bool {
        let Some(channel) = self.channels.get_mut(&id.0) else { return false };
        channel.on_credit(limit);
        self.settle(id.0);
        true
    }

    /// Announces credit for the peer with the next segment.
    pub(super) fn grant(&mut self, channel: ChannelId, limit: u64) {
        self.credits.insert(channel.0, limit);
    }

    /// Ends all channels behind the messages that were given to their end.
    pub(in super::super) fn finish(&mut self) {
        self.channels.values_mut().for_each(Outgoing::finish);
        self.settle_all();
    }

    /// Gives up messages that cannot arrive before their deadline.
    pub(in super::super) fn expire(&mut self, now: Instant) {
        let arrival = now + self.estimate.one_way;
        self.channels.values_mut().for_each(|channel| channel.expire(arrival));
        self.settle_all();
    }

    /// Time at which the next message is to be given up, if it is not sent before.
    pub(in super::super) fn next_expiry(&self) -> Option<Instant> {
        let deadlines = self.channels.values().filter_map(Outgoing::first_deadline);
        let earliest = deadlines.min()?;
        Some(Instant::ZERO + earliest.saturating_since(Instant::ZERO + self.estimate.one_way))
    }

    /// Bytes of messages in all channels that are unsent or not acknowledged.
    pub(in super::super) fn queued(&self) -> u64 {
        self.channels.values().map(Outgoing::queued).sum()
    }

    /// Whether a message was not sent to its end.
    pub(in super::super) fn has_unsent(&self) -> bool {
        self.channels.values().any(Outgoing::has_unsent)
    }

    /// The most urgent class with data for the next segment. Credit for the peer counts as data of class 0, the most
    /// urgent one.
    pub(in super::super) fn first_class(&self) -> Option<u8> {
        if !self.credits.is_empty() {
            return Some(0);
        }
        (0..).zip(&self.rings).find(|(_, ring)| !ring.is_empty()).map(|(class, _)| class)
    }

    /// Whether a class after this one has data for a segment.
    pub(in super::super) fn has_later_than(&self, class: u8) -> bool {
        self.rings[usize::from(class) + 1..].iter().any(|ring| !ring.is_empty())
    }

    /// Whether a channel of either end, by its number at this end, is of an urgent class.
    pub(in super::super) fn is_urgent(&self, channel: u16) -> bool {
        self.channels.get(&channel).is_some_and(|channel| channel.priority <= URGENT)
    }

    /// Gives the turn in a class to a channel with a deadline.
    pub(in super::super) fn turn_to_deadline(&mut self, class: u8) {
        let ring = &mut self.rings[usize::from(class)];
        let has_deadline = |id: &u16| self.channels.get(id).is_some_and(Outgoing::has_fresh);
        if let Some(at) = ring.iter().position(has_deadline) {
            ring.rotate_left(at);
        }
    }

    /// Adds a channel to the round robin of its class if it has something to send, otherwise removes it.
    fn settle(&mut self, id: u16) {
        let Some(channel) = self.channels.get_mut(&id) else { return };
        let (is_ready, ring) = (channel.is_ready(), &mut self.rings[usize::from(class(channel.priority))]);
        if is_ready == channel.is_scheduled {
            return;
        }
        channel.is_scheduled = is_ready;
        if is_ready {
            channel.allowance = QUANTUM;
            ring.push_back(id);
        } else {
            ring.retain(|&other| other != id);
        }
    }

    fn settle_all(&mut self) {
        let ids: Vec<u16> = self.channels.keys().copied().collect();
        ids.into_iter().for_each(|id| self.settle(id));
    }

    /// Fills a new segment of a class; returns its serial number, or `None` if nothing fits.
    pub(in super::super) fn fill(&mut self, now: Instant, class: u8, mss: u32) -> Option<u32> {
        let mut room = (mss as usize).max(MIN_SEGMENT) - usize::from(Segment::SECTION_LENGTH);
        let mut chunks = Vec::new();
        while let Some((&channel, &limit)) = self.credits.first_key_value() {
            let chunk = Chunk::Credit { channel, limit };
            let Some(rest) = room.checked_sub(chunk.header_len()) else { break };
            room = rest;
            self.credits.pop_first();
            chunks.push(chunk);
        }
        while let Some(&id) = self.rings[usize::from(class)].front()
            && let Some(channel) = self.channels.get_mut(&id)
        {
            let Some(chunk) = channel.next_chunk(now, self.estimate.one_way, room) else { break };
            let len = chunk.header_len() + usize::from(chunk.data_len());
            room -= len;
            chunks.push(chunk);
            channel.allowance -= i64::try_from(len).unwrap_or(i64::MAX);
            if channel.allowance <= 0 {
                channel.allowance += QUANTUM;
                self.rings[usize::from(class)].rotate_left(1);
            }
            self.settle(id);
        }
        if chunks.is_empty() {
            return None;
        }
        self.contents.push_back(Content { chunks, copies: Vec::new(), room, has_left: false });
        Some(self.first.wrapping_add(u32::try_from(self.contents.len() - 1).ok()?))
    }

    /// Place of the content with a serial number.
    fn place(&self, serial: u32) -> Option<usize> {
        usize::try_from(serial.wrapping_sub(self.first)).ok().filter(|&at| at < self.contents.len())
    }

    /// Chunks and data of a segment that leaves now: gaps in place of messages that are worthless. At its first
    /// transmission a segment also has `further` chunks, and copies of earlier messages.
    pub(in super::super) fn content(
        &mut self,
        now: Instant,
        serial: u32,
        further: Vec<Chunk>,
        memory: &mut Option<Vec<u8>>,
    ) -> (Vec<Chunk>, Payload) {
        let (arrival, mut data) = (now + self.estimate.one_way, Payload::EMPTY);
        let Some(at) = self.place(serial) else { return (Vec::new(), data) };
        let content = &mut self.contents[at];
        for chunk in &mut content.chunks {
            let Some(channel) = self.channels.get_mut(&chunk.channel()) else { continue };
            let (repeated, bytes) = channel.repeat(chunk, arrival, memory);
            *chunk = repeated;
            append(&mut data, bytes);
        }
        let mut chunks = content.chunks.clone();
        // A channel may have a gap to announce now, and nothing else.
        chunks.iter().for_each(|chunk| self.settle(chunk.channel()));
        let used = further.iter().map(Chunk::header_len).sum();
        chunks.extend(further);
        let copies = self.copies(at, arrival, used);
        for copy in &copies {
            let Some(channel) = self.channels.get_mut(&copy.channel()) else { continue };
            append(&mut data, channel.repeat(copy, arrival, memory).1);
        }
        chunks.extend_from_slice(&copies);
        (self.contents[at].copies, self.contents[at].has_left) = (copies, true);
        (chunks, data)
    }

    /// Bytes that a new segment has left for further chunks.
    pub(in super::super) fn room(&self, serial: u32) -> usize {
        self.place(serial).map_or(0, |at| self.contents[at].room)
    }

    /// Copies of messages before those of a new segment, in its channels, if `used` bytes of its room are taken.
    fn copies(&mut self, at: usize, arrival: Instant, used: usize) -> Vec<Chunk> {
        let Content { chunks, room, has_left, .. } = &self.contents[at];
        let mut copies: Vec<Chunk> = Vec::new();
        if *has_left || self.max_copies == 0 {
            return copies;
        }
        let mut room = room.saturating_sub(used);
        let mut last = None;
        for chunk in chunks {
            let Chunk::Data { channel: id, message, .. } = chunk else { continue };
            // Chunks of one channel follow each other.
            if last.replace(*id) == Some(*id) {
                continue;
            }
            let Some(channel) = self.channels.get_mut(id) else { continue };
            let more = channel.copy(*message, arrival, (&self.estimate, self.max_copies), room);
            let len = |chunk: &Chunk| chunk.header_len() + usize::from(chunk.data_len());
            room -= more.iter().map(len).sum::<usize>();
            copies.extend(more);
        }
        copies
    }

    /// Notes that a segment has arrived, with the copies in it.
    pub(in super::super) fn note_arrival(&mut self, serial: u32) {
        let Some(at) = self.place(serial) else { return };
        let Content { chunks, copies, .. } = &self.contents[at];
        for chunk in chunks.iter().chain(copies) {
            if let Some(channel) = self.channels.get_mut(&chunk.channel()) {
                channel.note_arrival(chunk);
            }
        }
    }

    /// Whether nothing of a lost segment need be retransmitted, except for gaps.
    pub(in super::super) fn is_moot(&self, now: Instant, serial: u32) -> bool {
        let arrival = now + self.estimate.one_way;
        let is_moot = |chunk: &Chunk| {
            self.channels.get(&chunk.channel()).is_some_and(|channel| channel.is_moot(chunk, arrival))
        };
        self.place(serial).is_some_and(|at| self.contents[at].chunks.iter().all(is_moot))
    }

    /// Gaps to announce in place of a lost segment whose messages need no retransmission.
    pub(in super::super) fn gaps(&mut self, serial: u32) -> Vec<Chunk> {
        let Some(at) = self.place(serial) else { return Vec::new() };
        let mut gaps: Vec<Chunk> = Vec::new();
        for chunk in &self.contents[at].chunks {
            let gap = self.channels.get_mut(&chunk.channel()).and_then(|channel| channel.gap_of(chunk));
            gaps.extend(gap.filter(|gap| !gaps.contains(gap)));
        }
        gaps
    }

    /// Frees the content of the oldest segment, which has arrived.
    pub(in super::super) fn release(&mut self) {
        let Some(content) = self.contents.pop_front() else { return };
        self.first = self.first.wrapping_add(1);
        for chunk in content.chunks {
            if let Some(channel) = self.channels.get_mut(&chunk.channel()) {
                channel.release(&chunk);
            }
        }
    }
}

/// Adds data behind other data.
fn append(data: &mut Payload, more: Payload) {
    match (&mut *data, more) {
        (_, more) if more.is_empty() => {}
        (data, more) if data.is_empty() => *data = more,
        (Payload::Virtual(len), Payload::Virtual(more)) => *len += more,
        (Payload::Bytes(bytes), more) => more.emit(bytes),
        (Payload::Virtual(_), more) => {
            let mut bytes = Vec::new();
            data.emit(&mut bytes);
            more.emit(&mut bytes);
            *data = Payload::Bytes(bytes);
        }
    }
}

/// Bytes that a channel sends in its turn.
const QUANTUM: i64 = 1500;
/// Bytes behind the header that a segment of channels may have on any path, so that the longest chunk header and the
/// shortest part fit.
const MIN_SEGMENT: usize = 128;

#[cfg(test)]
#[path = "tests/scheduler.rs"]
mod tests;
