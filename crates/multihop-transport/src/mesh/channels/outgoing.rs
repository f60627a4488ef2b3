//! Sending half of a channel: its messages, from the oldest that is not acknowledged.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use multihop_core::{Duration, Instant, Payload};
use multihop_wire::mesh::{ChannelOptions, Chunk};

use super::copies::Estimate;
use super::{MESSAGE_COST, MIN_PART};
use crate::bytes::ByteQueue;
use crate::channel::{ChannelError, UNIT};
use crate::event::Data;

/// Messages that one end sends in a channel.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Number of the channel in segments of this end.
    channel: u16,
    /// Options that an OPEN has to announce.
    opening: Option<ChannelOptions>,
    pub(super) priority: u8,
    deadline: Option<Duration>,
    /// Time at which the newest message began.
    newest: Option<Instant>,
    /// Smoothed time between two messages.
    interval: Duration,
    /// Messages that are not acknowledged, in the order of their numbers.
    messages: VecDeque<Message>,
    /// Index of the first message that has not been sent to its end.
    cursor: usize,
    /// Number of the next message.
    next: u64,
    /// Number of the message that the application has not given to its end.
    unfinished: Option<u64>,
    /// Credit that the peer has granted since the channel was opened.
    limit: u64,
    /// Credit that was used.
    used: u64,
    /// Bytes of messages that are unsent or not acknowledged.
    queued: u64,
    /// Bytes that the channel may send before it is another channel's turn.
    pub(super) allowance: i64,
    /// Whether the channel is in the ring of its class.
    pub(super) is_scheduled: bool,
    pub(super) given_up: u64,
}

/// A message, or several messages that were given up before anything of them was sent.
#[derive(Debug)]
struct Message {
    number: u64,
    /// Number of messages; more than 1 only if all were given up.
    count: u64,
    /// Bytes from offset `kept` on.
    data: ByteQueue,
    kept: u64,
    /// Bytes that the application has given.
    len: u64,
    /// Whether the application has given all bytes.
    is_whole: bool,
    /// Bytes that were sent at least once.
    sent: u64,
    /// Credit that the message has used.
    used: u64,
    expires: Option<Instant>,
    is_given_up: bool,
    /// Whether one chunk took the whole message, so that a copy of that chunk is complete too.
    is_single: bool,
    /// Copies of the message that left in later segments.
    copies: u8,
    /// Whether a segment with the whole message has arrived.
    has_arrived: bool,
    /// Chunks of the message in segments that are not acknowledged.
    chunks: u32,
}

impl Outgoing {
    pub(super) fn new(channel: u16, options: &ChannelOptions, credit: u32) -> Self {
        Self {
            channel,
            opening: None,
            priority: options.priority,
            deadline: (options.deadline > 0).then(|| UNIT * u64::from(options.deadline)),
            newest: None,
            interval: Duration::ZERO,
            messages: VecDeque::new(),
            cursor: 0,
            next: 0,
            unfinished: None,
            limit: credit.into(),
            used: 0,
            queued: 0,
            allowance: 0,
            is_scheduled: false,
            given_up: 0,
        }
    }

    /// Lets the first segment of the channel announce its options.
    pub(super) fn announce(self, options: ChannelOptions) -> Self {
        Self { opening: Some(options), ..self }
    }

    /// Messages that the application has sent or begun to send.
    pub(super) fn sent(&self) -> u64 {
        self.next
    }

    /// Bytes of messages that are unsent or not acknowledged.
    pub(super) fn queued(&self) -> u64 {
        self.queued
    }

    /// Bytes that fit into a buffer of this size.
    pub(super) fn writable(&self, buffer: u64) -> u64 {
        if self.messages.len() >= MAX_MESSAGES { 0 } else { buffer.saturating_sub(self.queued) }
    }

    /// Whether something was not sent yet.
    pub(super) fn has_unsent(&self) -> bool {
        self.opening.is_some() || self.cursor < self.messages.len()
    }

    /// Adds a part of a message; returns the message's number.
    pub(super) fn push(
        &mut self,
        now: Instant,
        data: Data,
        is_last: bool,
        longest: u64,
    ) -> Result<u64, ChannelError> {
        let len = match &data {
            Data::Bytes(bytes) => bytes.len() as u64,
            Data::Virtual(len) => *len,
            Data::Endless => return Err(ChannelError::Endless),
        };
        let begun = self.unfinished.and_then(|number| self.index(number)).map(|at| &self.messages[at]);
        if len > longest.min(Chunk::MAX_NUMBER).saturating_sub(begun.map_or(0, |message| message.len)) {
            return Err(ChannelError::TooLong(longest));
        }
        let number = self.unfinished.unwrap_or(self.next);
        if number == self.next {
            let expires = self.deadline.map(|deadline| now + deadline);
            self.note_begin(now);
            self.messages.push_back(Message::new(number, expires));
            self.next += 1;
        }
        self.unfinished = (!is_last).then_some(number);
        // A message that was given up before its end takes no more data.
        let Some(message) = self.index(number).map(|at| &mut self.messages[at]) else { return Ok(number) };
        if !message.is_given_up {
            message.len += len;
            self.queued += len;
            match data {
                Data::Bytes(bytes) => message.data.push(Payload::Bytes(bytes)),
                Data::Virtual(len) => message.data.push_virtual(len),
                Data::Endless => {}
            }
        }
        message.is_whole = is_last;
        Ok(number)
    }

    /// Notes that a message begins. Messages that begin together count as one for the interval.
    fn note_begin(&mut self, now: Instant) {
        let since = self.newest.map(|newest| now.saturating_since(newest));
        if since != Some(Duration::ZERO) {
            self.newest = Some(now);
            self.interval = since.map_or(Duration::ZERO, |since| match self.interval {
                Duration::ZERO => since,
                interval => (interval * 7 + since.min(LONGEST_INTERVAL)) / 8,
            });
        }
    }

    /// Time after which a message of the channel is worthless; `None` for reliable messages.
    pub(super) const fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Whether a message with a deadline waits that can still arrive in time. Gaps alone are not urgent.
    pub(super) fn has_fresh(&self) -> bool {
        let newest = self.messages.back().filter(|_| self.cursor < self.messages.len());
        self.deadline.is_some() && newest.is_some_and(|message| !message.is_given_up)
    }

    /// Whether the application has queued the begin of a message and not its end.
    pub(super) fn is_unfinished(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Gives up a message that the application has not given to its end.
    pub(super) fn finish(&mut self) {
        if let Some(at) = self.unfinished.take().and_then(|number| self.index(number)) {
            self.give_up(at);
        }
    }

    /// Index of the record with this message.
    fn index(&self, number: u64) -> Option<usize> {
        let after = self.messages.partition_point(|message| message.number <= number);
        let at = after.checked_sub(1)?;
        (number < self.messages[at].number + self.messages[at].count).then_some(at)
    }

    /// Takes a credit of the peer; an older one, which a newer one has overtaken, changes nothing.
    pub(super) fn on_credit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// The deadline of the first message that was not sent.
    pub(super) fn first_deadline(&self) -> Option<Instant> {
        self.messages.get(self.cursor).filter(|message| !message.is_given_up)?.expires
    }

    /// Gives up unsent messages whose deadline is not after `arrival`, when a segment that leaves now can arrive.
    pub(super) fn expire(&mut self, arrival: Instant) {
        let mut at = self.cursor;
        while self.messages.get(at).is_some_and(|message| message.is_worthless(arrival)) {
            self.give_up(at);
            let is_unsent = |at: usize| self.messages[at].used == 0;
            if at > self.cursor && is_unsent(at - 1) && is_unsent(at) {
                self.messages[at - 1].count += self.messages[at].count;
                self.messages.remove(at);
            } else {
                at += 1;
            }
        }
    }

    fn give_up(&mut self, at: usize) {
        let message = &mut self.messages[at];
        if !message.is_given_up {
            message.is_given_up = true;
            self.queued -= message.data.len();
            message.data = ByteQueue::default();
            self.given_up += 1;
        }
    }

    /// Whether a segment can take something of the channel.
    pub(super) fn is_ready(&self) -> bool {
        self.opening.is_some()
            || self
                .messages
                .get(self.cursor)
                .is_some_and(|message| message.is_given_up || self.takes(message, u64::MAX).is_some())
    }

    /// Bytes of a message that the next chunk takes, at most `room`; `None` if it must wait.
    fn takes(&self, message: &Message, room: u64) -> Option<u64> {
        let cost = if message.used == 0 { MESSAGE_COST } else { 0 };
        let credit = self.limit.saturating_sub(self.used).checked_sub(cost)?;
        let left = message.len - message.sent;
        let takes = left.min(credit).min(room);
        let is_end = takes == left && message.is_whole;
        (is_end || takes >= MIN_PART).then_some(takes)
    }

    /// The next chunk, if it fits into this many bytes with its data.
    pub(super) fn next_chunk(&mut self, now: Instant, one_way: Duration, room: usize) -> Option<Chunk> {
        self.expire(now + one_way);
        let chunk = match &self.opening {
            Some(options) => Chunk::Open { channel: self.channel, options: options.clone() },
            None => self.next_of_message(now + one_way, room)?,
        };
        if chunk.header_len() + usize::from(chunk.data_len()) > room {
            return None;
        }
        match &chunk {
            Chunk::Open { .. } => self.opening = None,
            Chunk::Data { len, is_last, .. } => self.advance(u64::from(*len), *is_last),
            _ => self.advance(0, true),
        }
        Some(chunk)
    }

    /// Notes that the next chunk of the current message is part of a segment.
    fn advance(&mut self, bytes: u64, is_end: bool) {
        let message = &mut self.messages[self.cursor];
        message.chunks += 1;
        message.is_single = is_end && message.sent == 0;
        if !message.is_given_up {
            let cost = bytes + if message.used == 0 { MESSAGE_COST } else { 0 };
            message.sent += bytes;
            message.used += cost;
            self.used += cost;
        }
        self.cursor += usize::from(is_end);
    }

    fn next_of_message(&self, arrival: Instant, room: usize) -> Option<Chunk> {
        let message = self.messages.get(self.cursor)?;
        if message.is_given_up {
            return Some(message.gap(self.channel));
        }
        let most = u16::try_from(room).unwrap_or(u16::MAX);
        let header = message.chunk(self.channel, message.sent, most, false, arrival).header_len();
        let room = usize::from(most).checked_sub(header)?;
        let takes = self.takes(message, room as u64)?;
        let is_last = message.is_whole && message.sent + takes == message.len;
        Some(message.chunk(self.channel, message.sent, u16::try_from(takes).ok()?, is_last, arrival))
    }

    /// The chunk of an earlier segment as it leaves again, and its data: a gap if the message is worthless by now.
    pub(super) fn repeat(
        &mut self,
        chunk: &Chunk,
        arrival: Instant,
        memory: &mut Option<Vec<u8>>,
    ) -> (Chunk, Payload) {
        let Chunk::Data { message: number, offset, len, is_last, .. } = *chunk else {
            return (chunk.clone(), Payload::EMPTY);
        };
        let Some(at) = self.index(number) else { return (chunk.clone(), Payload::Virtual(len.into())) };
        if self.messages[at].is_worthless(arrival) {
            self.give_up(at);
            return (self.messages[at].gap(self.channel), Payload::EMPTY);
        }
        let message = &self.messages[at];
        let data = message.data.slice_in(offset - message.kept, len.into(), memory);
        (message.chunk(self.channel, offset, len, is_last, arrival), data)
    }

    /// Copies of messages before message `first`, newest first, with headers and data of at most `room` bytes. A message has
    /// at most `limit` copies.
    pub(super) fn copy(
        &mut self,
        first: u64,
        arrival: Instant,
        (estimate, limit): (&Estimate, u8),
        mut room: usize,
    ) -> Vec<Chunk> {
        let mut copies = Vec::new();
        let most = self.deadline.map_or(0, |deadline| estimate.copies(deadline, self.interval)).min(limit);
        let end = if most > 0 { self.index(first).unwrap_or(self.cursor) } else { 0 };
        for message in self.messages.range_mut(..end).rev().take(MAX_COPIED) {
            // Messages before one that is too old are older still.
            if message.is_worthless(arrival) {
                break;
            }
            let Ok(len) = u16::try_from(message.len) else { continue };
            let may_be_copied = message.is_single && !message.has_arrived && message.copies < most;
            let chunk = message.chunk(self.channel, 0, len, true, arrival);
            let Some(rest) = room.checked_sub(chunk.header_len() + usize::from(len)) else { continue };
            if may_be_copied {
                message.copies += 1;
                room = rest;
                copies.push(chunk);
            }
        }
        copies
    }

    /// Notes that a segment with this chunk, or with a copy of it, has arrived.
    pub(super) fn note_arrival(&mut self, chunk: &Chunk) {
        if let Chunk::Data { message, .. } = chunk
            && let Some(at) = self.index(*message)
        {
            self.messages[at].has_arrived = self.messages[at].is_single;
        }
    }

    /// Whether a chunk of a lost segment need not be retransmitted: its message has arrived in another segment, or is
    /// worthless. A chunk of the kind GAP then takes its place in any segment.
    pub(super) fn is_moot(&self, chunk: &Chunk, arrival: Instant) -> bool {
        let number = match chunk {
            Chunk::Data { message, .. } => *message,
            Chunk::Gap { first, .. } => *first,
            _ => return false,
        };
        self.index(number).is_none_or(|at| {
            let message = &self.messages[at];
            message.has_arrived || message.is_worthless(arrival)
        })
    }

    /// The gap in place of a moot chunk, unless its message has arrived.
    pub(super) fn gap_of(&mut self, chunk: &Chunk) -> Option<Chunk> {
        let (Chunk::Data { message: number, .. } | Chunk::Gap { first: number, .. }) = chunk else {
            return None;
        };
        let at = self.index(*number).filter(|&at| !self.messages[at].has_arrived)?;
        self.give_up(at);
        Some(self.messages[at].gap(self.channel))
    }

    /// Frees what a chunk has held: its segment and all before it have arrived.
    pub(super) fn release(&mut self, chunk: &Chunk) {
        let (number, end) = match *chunk {
            Chunk::Data { message, offset, len, .. } => (message, offset + u64::from(len)),
            Chunk::Gap { first, .. } => (first, 0),
            Chunk::Open { .. } | Chunk::Credit { .. } | Chunk::Skip { .. } => return,
        };
        let Some(message) = self.index(number).map(|at| &mut self.messages[at]) else { return };
        message.chunks -= 1;
        if !message.is_given_up {
            let freed = end.saturating_sub(message.kept);
            message.data.discard(freed);
            message.kept += freed;
            self.queued -= freed;
        }
        while self.cursor > 0 && self.messages.front().is_some_and(|message| message.chunks == 0) {
            self.messages.pop_front();
            self.cursor -= 1;
        }
    }
}

impl Message {
    fn new(number: u64, expires: Option<Instant>) -> Self {
        Self {
            number,
            count: 1,
            data: ByteQueue::default(),
            kept: 0,
            len: 0,
            is_whole: false,
            sent: 0,
            used: 0,
            expires,
            is_given_up: false,
            is_single: false,
            copies: 0,
            has_arrived: false,
            chunks: 0,
        }
    }

    /// Whether data that arrives at this time is of no use.
    fn is_worthless(&self, arrival: Instant) -> bool {
        self.is_given_up || self.expires.is_some_and(|expires| expires <= arrival)
    }

    fn chunk(&self, channel: u16, offset: u64, len: u16, is_last: bool, arrival: Instant) -> Chunk {
        let slack = self
            .expires
            .map(|expires| u32::try_from(expires.saturating_since(arrival).whole(UNIT)).unwrap_or(u32::MAX));
        Chunk::Data { channel, message: self.number, offset, len, is_last, slack }
    }

    fn gap(&self, channel: u16) -> Chunk {
        Chunk::Gap { channel, first: self.number, count: self.count, used: self.used }
    }
}

/// Messages of a channel that may be queued or wait for an ACK: the receiver has at most as many gaps between those that
/// have arrived.
pub(super) const MAX_MESSAGES: usize = 4096;
/// Earlier messages among which a segment chooses those that it copies.
const MAX_COPIED: usize = 64;
/// Longest time between two messages that counts for the mean.
const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);

#[cfg(test)]
#[path = "tests/outgoing.rs"]
mod tests;
