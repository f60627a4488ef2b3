//! Receiving half of a channel: messages that have not been read, and the room for more.

use alloc::collections::{BTreeMap, BTreeSet};

use multihop_core::{Instant, Payload};

use super::outgoing::MAX_MESSAGES;
use super::ranges::Ranges;
use super::reassembly::Partial;
use super::{MESSAGE_COST, MIN_PART, Violation};
use crate::channel::{ChannelCounters, Content, Options};
use crate::pool::Share;

/// Messages that one end receives in a channel.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Options of the channel; `None` before the OPEN of the peer has arrived.
    pub(super) options: Option<Options>,
    /// Messages that take no more data: they have arrived as a whole, or were given up.
    closed: Ranges,
    /// Messages and gaps that were not read to their end, by the number of the message.
    items: BTreeMap<u64, Item>,
    /// Items of an unordered channel that can be read.
    ready: BTreeSet<u64>,
    /// Number of the next message to read in an ordered channel.
    next: u64,
    room: Room,
    /// Longest message that is delivered as a whole, bytes.
    whole: u64,
    pub(super) counters: ChannelCounters,
}

#[derive(Debug)]
enum Item {
    Message(Partial),
    /// This many messages that were given up.
    Gap(u64),
}

/// Credit of the peer. What it has used and this end has not freed is in memory.
#[derive(Debug)]
struct Room {
    size: u64,
    /// Credit granted since the channel was opened.
    limit: u64,
    /// Credit that the peer has used, as far as its chunks have arrived.
    used: u64,
    /// Credit of what was read or given up.
    freed: u64,
    /// Value of `freed` when the room grew.
    freed_at_growth: u64,
    /// Whether the peer has used almost all of its credit since the room grew.
    is_small: bool,
}

/// Memory beyond that of the first channels.
#[derive(Debug)]
pub(super) struct Growth {
    /// Bytes by which the rooms of all channels may grow.
    pub(super) spare: u64,
    /// Bytes taken from the memory that the connections of a socket share.
    pub(super) share: Share,
}

impl Growth {
    /// Lets a room grow by this many bytes, if memory permits it.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        let grows = self.spare >= bytes && self.share.reserve(bytes);
        self.spare -= if grows { bytes } else { 0 };
        grows
    }
}

impl Room {
    /// Notes that chunks have used more credit.
    fn take(&mut self, cost: u64) -> Result<(), Violation> {
        self.used = self.used.saturating_add(cost);
        self.is_small |= self.used + ALMOST > self.limit;
        if self.used > self.limit { Err("more than the credit") } else { Ok(()) }
    }

    /// New limit of the peer's credit, if the limit grows by at least 3/8 of the room, or by 1/16 if it shares a segment with
    /// other credit. A room that limits the peer, although the application keeps up, doubles as long as `growth` permits it.
    ///
    /// While a room is empty, the peer has credit for more than 5/8 of the room. A message that is delivered whole has at most
    /// half of the first room, and therefore never waits for credit while the room is empty.
    fn grant(&mut self, growth: &mut Growth, shares_segment: bool) -> Option<u64> {
        let keeps_up =
            self.freed - self.freed_at_growth >= self.size && self.used - self.freed <= self.size / 4;
        if self.is_small && keeps_up && growth.take(self.size) {
            self.size *= 2;
            (self.is_small, self.freed_at_growth) = (false, self.freed);
        }
        let limit = self.freed + self.size;
        let worth = if shares_segment { self.size / 16 } else { self.size * 3 / 8 };
        if limit - self.limit < worth {
            return None;
        }
        self.limit = limit;
        Some(limit)
    }
}

impl Incoming {
    /// A channel in which the peer has this credit.
    pub(super) fn new(credit: u32, options: Option<Options>) -> Self {
        let size = u64::from(credit);
        Self {
            options,
            closed: Ranges::default(),
            items: BTreeMap::new(),
            ready: BTreeSet::new(),
            next: 0,
            room: Room { size, limit: size, used: 0, freed: 0, freed_at_growth: 0, is_small: false },
            whole: size / 2,
            counters: ChannelCounters::default(),
        }
    }

    /// Takes the options of the channel.
    pub(super) fn open(&mut self, options: Options) -> Result<(), Violation> {
        if self.options.is_some() {
            return Err("opened twice");
        }
        self.options = Some(options);
        if !self.is_ordered() {
            let is_deliverable = |item: &Item| item.is_deliverable(self.whole);
            self.ready = self
                .items
                .iter()
                .filter(|(_, item)| is_deliverable(item))
                .map(|(&number, _)| number)
                .collect();
        }
        Ok(())
    }

    fn is_ordered(&self) -> bool {
        self.options.as_ref().is_some_and(|options| options.is_ordered)
    }

    /// Whether something can be read.
    pub(super) fn is_readable(&self) -> bool {
        match &self.options {
            None => false,
            Some(options) if options.is_ordered => self
                .items
                .first_key_value()
                .is_some_and(|(&number, item)| number == self.next && item.is_deliverable(self.whole)),
            Some(_) => !self.ready.is_empty(),
        }
    }

    /// Credit in use: what is in memory.
    pub(super) fn kept(&self) -> u64 {
        self.room.used - self.room.freed
    }

    /// Takes data of a message. A message of which nothing is missing, or that was given up, takes no more.
    pub(super) fn take_data(
        &mut self,
        (message, offset): (u64, u64),
        data: Payload,
        is_last: bool,
        expires: Option<Instant>,
    ) -> Result<(), Violation> {
        if self.closed.contains(message) {
            return Ok(());
        }
        if !is_last && (data.len() as u64) < MIN_PART {
            return Err("a short chunk");
        }
        let is_new = !self.items.contains_key(&message);
        let item = self.items.entry(message).or_insert_with(|| Item::Message(Partial::default()));
        let Item::Message(partial) = item else { return Ok(()) };
        let end = partial.end();
        let added = partial.add(offset, data, is_last);
        let cost = (partial.end() - end) + if is_new { MESSAGE_COST } else { 0 };
        partial.expires = partial.expires.into_iter().chain(expires).min();
        let (is_complete, is_deliverable) = (partial.is_complete(), partial.is_deliverable(self.whole));
        self.room.take(cost)?;
        added?;
        if is_complete {
            self.close(message, 1)?;
        }
        self.set_ready(message, is_deliverable);
        Ok(())
    }

    /// Takes the news that the peer has given up messages.
    pub(super) fn take_gap(&mut self, first: u64, count: u64, used: u64) -> Result<(), Violation> {
        let end = first + count;
        if self.closed.covers(first, end) {
            return Ok(());
        }
        if count > 1 && (self.closed.intersects(first, end) || self.items.range(first..end).next().is_some())
        {
            return Err("a gap over messages that were sent");
        }
        self.ready.remove(&first);
        let (charged, was_read) = match self.items.remove(&first) {
            Some(Item::Message(partial)) => (MESSAGE_COST + partial.end(), partial.was_read()),
            _ => (0, 0),
        };
        let Some(cost) = used.checked_sub(charged) else {
            return Err("a gap with less credit than was used");
        };
        self.room.take(cost)?;
        self.room.freed += used - was_read;
        self.close(first, count)?;
        self.add_gap(first, count);
        Ok(())
    }

    /// Adds a gap that the application has not read, as part of a gap beside it if there is one.
    fn add_gap(&mut self, mut first: u64, mut count: u64) {
        self.counters.missed += count;
        if let Some(Item::Gap(after)) = self.items.get(&(first + count)) {
            count += after;
            self.remove(first + (count - after));
        }
        if let Some((&before, Item::Gap(other))) = self.items.range(..first).next_back()
            && before + other == first
        {
            count += other;
            first = before;
        }
        self.items.insert(first, Item::Gap(count));
        self.set_ready(first, true);
    }

    fn close(&mut self, first: u64, count: u64) -> Result<(), Violation> {
        self.closed.insert(first, first + count);
        if self.closed.len() > MAX_MESSAGES + 1 {
            Err("too many messages that are not complete")
        } else {
            Ok(())
        }
    }

    fn set_ready(&mut self, number: u64, is_ready: bool) {
        if is_ready && self.options.is_some() && !self.is_ordered() {
            self.ready.insert(number);
        } else {
            self.ready.remove(&number);
        }
    }

    fn remove(&mut self, number: u64) {
        self.items.remove(&number);
        self.ready.remove(&number);
    }

    /// Reads the next message, part or gap: its number, and whether it is late.
    pub(super) fn read(&mut self, now: Instant) -> Option<(u64, Content, bool)> {
        if !self.is_readable() {
            return None;
        }
        let number = if self.is_ordered() { self.next } else { *self.ready.first()? };
        let (content, expires) = match self.items.get_mut(&number)? {
            Item::Gap(count) => (Content::Gap(*count), None),
            Item::Message(partial) => {
                let is_whole = partial.is_complete() && partial.contiguous() <= self.whole;
                let (offset, data, is_last) = partial.take();
                self.room.freed += data.len() as u64;
                let content =
                    if is_whole { Content::Whole(data) } else { Content::Part { offset, data, is_last } };
                (content, partial.expires)
            }
        };
        let is_late = expires.is_some_and(|expires| now > expires);
        match content {
            Content::Part { is_last: false, .. } => self.set_ready(number, false),
            Content::Gap(count) => self.pass(number, count),
            Content::Whole(_) | Content::Part { .. } => {
                self.room.freed += MESSAGE_COST;
                self.counters.delivered += 1;
                self.counters.late += u64::from(is_late);
                self.pass(number, 1);
            }
        }
        Some((number, content, is_late))
    }

    /// Removes an item that was read to its end.
    fn pass(&mut self, number: u64, count: u64) {
        self.remove(number);
        self.next = number + count;
    }

    /// New limit of the peer's credit, if it is worth a segment, or with `shares_segment` if it is worth a part of one.
    pub(super) fn grant(&mut self, growth: &mut Growth, shares_segment: bool) -> Option<u64> {
        self.room.grant(growth, shares_segment)
    }
}

impl Item {
    fn is_deliverable(&self, whole: u64) -> bool {
        match self {
            Self::Gap(_) => true,
            Self::Message(partial) => partial.is_deliverable(whole),
        }
    }
}

/// Credit below which the peer may have to wait, bytes: that of a full segment.
const ALMOST: u64 = 2048;

#[cfg(test)]
#[path = "tests/incoming.rs"]
mod tests;
