//! Receiving side of all channels.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use multihop_core::{Duration, Instant, Payload};
use multihop_wire::control::ChannelLimits;
use multihop_wire::mesh::ChannelOptions;

use super::Violation;
use super::incoming::{Growth, Incoming};
use crate::channel::{ChannelId, Options, Received, UNIT};
use crate::pool::Share;

/// Messages that one end receives.
#[derive(Debug)]
pub(in super::super) struct ReceiveSide {
    /// Limits for the peer.
    limits: ChannelLimits,
    channels: BTreeMap<u16, Incoming>,
    /// Channels that can be read: priority and number.
    readable: BTreeSet<(u8, u16)>,
    growth: Growth,
    /// New credit for the peer.
    grants: Vec<(ChannelId, u64)>,
}

/// Position of a chunk's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) channel: ChannelId,
    pub(super) message: u64,
    pub(super) offset: u64,
}

impl ReceiveSide {
    /// A receiver with these limits, whose rooms may grow by `spare` bytes in total as far as the `share` permits.
    pub(in super::super) fn new(limits: ChannelLimits, spare: u64, share: Share) -> Self {
        let growth = Growth { spare, share };
        Self { limits, channels: BTreeMap::new(), readable: BTreeSet::new(), growth, grants: Vec::new() }
    }

    /// Adds a channel that this end has opened, after [`reserve`](Self::reserve).
    pub(super) fn add(&mut self, channel: ChannelId, options: Options) {
        self.channels.insert(channel.0, Incoming::new(self.limits.credit, Some(options)));
    }

    /// Takes the memory of a new channel from the share, except for the first [`GUARANTEED`] channels. Returns false if there
    /// is too little.
    pub(super) fn reserve(&mut self) -> bool {
        self.channels.len() < GUARANTEED || self.growth.share.reserve(self.limits.credit.into())
    }

    /// A channel's half that the peer may use; its data may arrive before its OPEN.
    fn of_peer(&mut self, channel: ChannelId) -> Result<&mut Incoming, Violation> {
        let is_allowed = !channel.is_own() && channel.0 / 2 < self.limits.channels;
        if is_allowed {
            if !self.channels.contains_key(&channel.0) && !self.reserve() {
                return Err("no memory for another channel, limits.memory of the receiver is reached");
            }
            let credit = self.limits.credit;
            return Ok(self.channels.entry(channel.0).or_insert_with(|| Incoming::new(credit, None)));
        }
        self.channels.get_mut(&channel.0).ok_or("a number above the limit, or never opened")
    }

    /// Takes the options of a channel that the peer has opened.
    pub(super) fn open(&mut self, channel: ChannelId, options: ChannelOptions) -> Result<(), Violation> {
        self.of_peer(channel)?.open(Options::of_wire(options))?;
        self.settle(channel);
        Ok(())
    }

    /// Takes data of a message. With `slack`, the time until its deadline, less the queueing delay of its segment.
    pub(super) fn take_data(
        &mut self,
        now: Instant,
        place: Place,
        (data, is_last): (Payload, bool),
        slack: Option<(u32, Duration)>,
    ) -> Result<(), Violation> {
        let expires = slack.map(|(slack, queueing)| {
            let expires = now + UNIT * u64::from(slack);
            Instant::ZERO + expires.saturating_since(Instant::ZERO + queueing)
        });
        let Place { channel, message, offset } = place;
        if offset + data.len() as u64 > self.limits.message {
            return Err("a message above the limit");
        }
        self.of_peer(channel)?.take_data((message, offset), data, is_last, expires)?;
        self.settle(channel);
        Ok(())
    }

    /// Takes the news that the peer has given up messages.
    pub(super) fn take_gap(
        &mut self,
        channel: ChannelId,
        (first, count, used): (u64, u64, u64),
    ) -> Result<(), Violation> {
        self.of_peer(channel)?.take_gap(first, count, used)?;
        self.settle(channel);
        Ok(())
    }

    /// Updates the set of readable channels and the credit of the peer.
    fn settle(&mut self, id: ChannelId) {
        let Some(channel) = self.channels.get_mut(&id.0) else { return };
        let priority = channel.options.as_ref().map_or(0, |options| options.priority);
        if channel.is_readable() {
            self.readable.insert((priority, id.0));
        } else {
            self.readable.remove(&(priority, id.0));
        }
        if let Some(limit) = channel.grant(&mut self.growth, false) {
            self.grants.push((id, limit));
        }
    }

    /// Reads from the first class that has something.
    pub(super) fn read_any(&mut self, now: Instant) -> Option<Received> {
        let &(_, channel) = self.readable.first()?;
        self.read(now, ChannelId(channel))
    }

    /// Reads from one channel.
    pub(super) fn read(&mut self, now: Instant, channel: ChannelId) -> Option<Received> {
        let (message, content, is_late) = self.channels.get_mut(&channel.0)?.read(now)?;
        self.settle(channel);
        Some(Received { channel, message, content, is_late })
    }

    /// New credit for the peer since the last call. When one channel has new credit, smaller amounts of other channels leave in
    /// the same segment, because a segment with credit costs the path as much as any short segment.
    pub(super) fn take_grants(&mut self) -> Vec<(ChannelId, u64)> {
        let mut grants = core::mem::take(&mut self.grants);
        if !grants.is_empty() {
            for (&id, channel) in &mut self.channels {
                let limit = channel.grant(&mut self.growth, true);
                grants.extend(limit.map(|limit| (ChannelId(id), limit)));
            }
        }
        grants
    }

    /// Whether something can be read.
    pub(in super::super) fn is_readable(&self) -> bool {
        !self.readable.is_empty()
    }

    /// Bytes in memory, with the cost of each message.
    pub(super) fn kept(&self) -> u64 {
        self.channels.values().map(Incoming::kept).sum()
    }

    /// A channel's half.
    pub(super) fn get(&self, channel: ChannelId) -> Option<&Incoming> {
        self.channels.get(&channel.0)
    }
}

/// Channels of a connection whose memory is counted as if it were in use.
pub(crate) const GUARANTEED: usize = 2;
