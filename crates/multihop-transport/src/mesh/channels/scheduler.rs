//! Sending side of all channels: classes, turns within a class, and the chunks of segments that are not acknowledged.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use multihop_core::{Duration, Instant, Payload};
use multihop_wire::control::ChannelLimits;
use multihop_wire::mesh::{ChannelOptions, Chunk, Segment};

use super::outgoing::Outgoing;
use crate::channel::{ChannelError, ChannelId};
use crate::event::Data;

/// Class of data of the stream, between those of channels with priority 3 and 4.
pub(in super::super) const STREAM: u8 = 4;
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
    /// Chunks of the segments that are not acknowledged.
    contents: VecDeque<Vec<Chunk>>,
    /// Serial number of the first entry of `contents`.
    first: u32,
    /// Shortest time in which a segment arrives.
    one_way: Duration,
}

impl SendSide {
    /// A sender to a peer with these limits.
    pub(in super::super) fn new(limits: ChannelLimits) -> Self {
        Self {
            limits,
            channels: BTreeMap::new(),
            rings: Default::default(),
            credits: BTreeMap::new(),
            contents: VecDeque::new(),
            first: 0,
            one_way: Duration::ZERO,
        }
    }

    /// Sets the shortest time in which a segment arrives.
    pub(in super::super) fn set_one_way(&mut self, one_way: Duration) {
        self.one_way = one_way;
    }

    /// Opens a channel of this end.
    pub(super) fn open(&mut self, options: ChannelOptions) -> Result<ChannelId, ChannelError> {
        let own = self.channels.range(..).filter(|(channel, _)| ChannelId(**channel).is_own()).count();
        let most = self.limits.channels.min(Chunk::MAX_CHANNEL / 2);
        let Some(number) = u16::try_from(own).ok().filter(|&own| own < most) else {
            return Err(ChannelError::TooMany(most));
        };
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
        let arrival = now + self.one_way;
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
        let arrival = now + self.one_way;
        self.channels.values_mut().for_each(|channel| channel.expire(arrival));
        self.settle_all();
    }

    /// Time at which the next message is to be given up, if it is not sent before.
    pub(in super::super) fn next_expiry(&self) -> Option<Instant> {
        let deadlines = self.channels.values().filter_map(Outgoing::first_deadline);
        let earliest = deadlines.min()?;
        Some(Instant::ZERO + earliest.saturating_since(Instant::ZERO + self.one_way))
    }

    /// Bytes of messages in all channels that are unsent or not acknowledged.
    pub(in super::super) fn queued(&self) -> u64 {
        self.channels.values().map(Outgoing::queued).sum()
    }

    /// Whether a message was not sent to its end.
    pub(in super::super) fn has_unsent(&self) -> bool {
        self.channels.values().any(Outgoing::has_unsent)
    }

    /// The first class that has something for a segment; credit belongs to class 0.
    pub(in super::super) fn first_class(&self) -> Option<u8> {
        if !self.credits.is_empty() {
            return Some(0);
        }
        (0..).zip(&self.rings).find(|(_, ring)| !ring.is_empty()).map(|(class, _)| class)
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
            let Some(chunk) = channel.next_chunk(now, self.one_way, room) else { break };
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
        self.contents.push_back(chunks);
        Some(self.first.wrapping_add(u32::try_from(self.contents.len() - 1).ok()?))
    }

    /// Chunks and data of a segment that leaves now: gaps in place of messages that are worthless.
    pub(in super::super) fn content(
        &mut self,
        now: Instant,
        serial: u32,
        memory: &mut Option<Vec<u8>>,
    ) -> (Vec<Chunk>, Payload) {
        let (arrival, mut data) = (now + self.one_way, Payload::EMPTY);
        let Some(at) =
            usize::try_from(serial.wrapping_sub(self.first)).ok().filter(|&at| at < self.contents.len())
        else {
            return (Vec::new(), data);
        };
        for chunk in &mut self.contents[at] {
            let Some(channel) = self.channels.get_mut(&chunk.channel()) else { continue };
            let (repeated, bytes) = channel.repeat(chunk, arrival, memory);
            *chunk = repeated;
            append(&mut data, bytes);
        }
        let chunks = self.contents[at].clone();
        // A channel may have a gap to announce now, and nothing else.
        chunks.iter().for_each(|chunk| self.settle(chunk.channel()));
        (chunks, data)
    }

    /// Frees the content of the oldest segment, which has arrived.
    pub(in super::super) fn release(&mut self) {
        let Some(chunks) = self.contents.pop_front() else { return };
        self.first = self.first.wrapping_add(1);
        for chunk in chunks {
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
