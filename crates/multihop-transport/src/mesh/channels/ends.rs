//! Channels of an end of a connection.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::mem;

use multihop_core::{Duration, Instant, Payload};
use multihop_wire::control::{Cause, ChannelLimits, Control, Reset};
use multihop_wire::mesh::Chunk;

use super::Violation;
use super::receiver::{Place, ReceiveSide};
use super::scheduler::SendSide;
use crate::channel::{ChannelCounters, ChannelError, ChannelId, Channels, Options, Received};
use crate::event::{Data, Event};
use crate::lifecycle::State;
use crate::mesh::MeshEnd;

impl Channels for MeshEnd {
    fn open_channel(&mut self, options: Options) -> Result<ChannelId, ChannelError> {
        let wire = options.to_wire()?;
        self.check_channels()?;
        self.begin_channels();
        let (Some(send), Some(receive)) = (&mut self.send.channels, &mut self.received) else {
            return Err(ChannelError::Unsupported);
        };
        send.next_own()?;
        if !receive.reserve() {
            return Err(ChannelError::Memory);
        }
        let channel = send.open(wire)?;
        receive.add(channel, options);
        Ok(channel)
    }

    fn send_message(&mut self, now: Instant, channel: ChannelId, data: Data) -> Result<u64, ChannelError> {
        let half = self.send.channels.as_ref().and_then(|send| send.get(channel));
        if half.is_some_and(super::outgoing::Outgoing::is_unfinished) {
            return Err(ChannelError::Unfinished);
        }
        self.send_part(now, channel, data, true)
    }

    fn send_part(
        &mut self,
        now: Instant,
        channel: ChannelId,
        data: Data,
        is_last: bool,
    ) -> Result<u64, ChannelError> {
        self.check_channels()?;
        let buffer = self.channel_buffer();
        let Some(send) = &mut self.send.channels else { return Err(ChannelError::Unknown(channel)) };
        send.push(now, channel, (data, is_last), buffer)
    }

    fn writable(&self, channel: ChannelId) -> u64 {
        let half = self.send.channels.as_ref().and_then(|send| send.get(channel));
        half.map_or(0, |half| half.writable(self.channel_buffer()))
    }

    fn poll_message(&mut self, now: Instant) -> Option<Received> {
        let received = self.received.as_mut()?.read_any(now);
        self.announce_grants();
        received
    }

    fn poll_message_of(&mut self, now: Instant, channel: ChannelId) -> Option<Received> {
        let received = self.received.as_mut()?.read(now, channel);
        self.announce_grants();
        received
    }

    fn channel_options(&self, channel: ChannelId) -> Option<&Options> {
        self.received.as_ref()?.get(channel)?.options.as_ref()
    }

    fn channel_counters(&self, channel: ChannelId) -> Option<ChannelCounters> {
        let received = self.received.as_ref()?.get(channel)?.counters;
        let send = self.send.channels.as_ref()?.get(channel)?;
        Some(ChannelCounters { sent: send.sent(), given_up: send.given_up, ..received })
    }
}

impl MeshEnd {
    /// Priority of the channel whose messages the latest segment has; `None` for a segment without messages.
    pub fn segment_priority(&self) -> Option<u8> {
        self.send.latest_class.and_then(super::priority)
    }

    /// Bytes of messages that have arrived and were not read, with the cost of each message.
    pub fn kept_messages(&self) -> u64 {
        self.received.as_ref().map_or(0, |received| received.kept())
    }

    /// Whether messages can be sent.
    fn check_channels(&self) -> Result<(), ChannelError> {
        if !self.state().is_synchronised() || self.life.is_closing() || self.state() == State::Linger {
            return Err(ChannelError::NotOpen);
        }
        match self.config.channels {
            true if self.peer_limits().is_some() => Ok(()),
            true => Err(ChannelError::Unsupported),
            false => Err(ChannelError::Disabled),
        }
    }

    /// Limits of the peer if both ends have channels.
    fn peer_limits(&self) -> Option<ChannelLimits> {
        self.peer.channels.filter(|_| self.agrees_on_channels())
    }

    /// Prepares both sides for channels.
    fn begin_channels(&mut self) {
        let Some(limits) = self.peer_limits().filter(|_| self.received.is_none()) else { return };
        let may_skip = self.agrees_on_skips();
        self.send.channels = Some(Box::new(SendSide::new(limits, self.config.copies, may_skip)));
        let spare = u64::from(self.config.channel_growth);
        self.received =
            Some(Box::new(ReceiveSide::new(self.config.channel_limits(), spare, self.share.another())));
        self.update_one_way();
    }

    /// Bytes that each channel may queue: its share of some round trips, as for the stream.
    fn channel_buffer(&self) -> u64 {
        self.send_buffer.max(MIN_SEND_BUFFER)
    }

    /// Sets the shortest time in which a segment arrives: half of the shortest round trip.
    pub(in super::super) fn update_one_way(&mut self) {
        if let Some(channels) = &mut self.send.channels {
            let shortest = self.paths.iter().filter_map(|path| path.control.base()).min();
            let smoothed = self.paths.iter().filter_map(|path| path.rtt.srtt()).min();
            channels.set_round_trip(shortest.unwrap_or_default() / 2, smoothed.unwrap_or_default());
        }
    }

    /// Takes the chunks of a new segment, whose queueing delay was measured.
    pub(in super::super) fn on_chunks(
        &mut self,
        now: Instant,
        chunks: Vec<Chunk>,
        data: Payload,
        queueing: Duration,
    ) {
        self.begin_channels();
        if self.received.is_none() {
            return self.refuse_channels(0, "without the feature");
        }
        let mut data = Pieces { is_whole: chunks.len() == 1, data, at: 0 };
        for chunk in chunks {
            let channel = ChannelId(chunk.channel()).at_peer();
            let bytes = data.take(chunk.data_len());
            if let Err(violation) = self.on_chunk(now, channel, chunk, bytes, queueing) {
                return self.refuse_channels(channel.0, violation);
            }
        }
        self.announce_grants();
        if self.received.as_ref().is_some_and(|received| received.is_readable()) {
            if !self.reads {
                self.send_reset();
                return self.finish(Event::Reset);
            }
            self.emit(Event::Channels);
        }
    }

    fn on_chunk(
        &mut self,
        now: Instant,
        channel: ChannelId,
        chunk: Chunk,
        data: Payload,
        queueing: Duration,
    ) -> Result<(), Violation> {
        let (Some(send), Some(receive)) = (&mut self.send.channels, &mut self.received) else {
            return Ok(());
        };
        match chunk {
            Chunk::Open { options, .. } => {
                receive.open(channel, options.clone())?;
                send.add(channel, &options);
                Ok(())
            }
            Chunk::Data { message, offset, is_last, slack, .. } => {
                if send.is_urgent(channel.0) {
                    (self.urgent, self.urgent_arrival) = (Some(now), Some(now));
                }
                let slack = slack.map(|slack| (slack, queueing));
                receive.take_data(now, Place { channel, message, offset }, (data, is_last), slack)
            }
            Chunk::Gap { first, count, used, .. } => receive.take_gap(channel, (first, count, used)),
            Chunk::Credit { limit, .. } if send.on_credit(channel, limit) => Ok(()),
            Chunk::Credit { .. } => Err("credit for a channel that was never opened"),
            Chunk::Skip { .. } => Ok(()),
        }
    }

    /// Lets the next segment announce new credit for the peer.
    fn announce_grants(&mut self) {
        if let (Some(send), Some(receive)) = (&mut self.send.channels, &mut self.received) {
            receive.take_grants().into_iter().for_each(|(channel, limit)| send.grant(channel, limit));
        }
    }

    /// Resets the connection because the peer has broken a rule of channels.
    fn refuse_channels(&mut self, channel: u16, violation: Violation) {
        let (number, text) = (self.recv.next(), format!("channel {channel}: {violation}"));
        self.emit_control(Control::Reset(Reset { cause: Cause::CHANNEL, number, text, is_expected: false }));
        self.finish(Event::Reset);
    }
}

/// Data of the chunks of a segment.
struct Pieces {
    data: Payload,
    at: usize,
    /// Whether one chunk has all data.
    is_whole: bool,
}

impl Pieces {
    fn take(&mut self, len: u16) -> Payload {
        if self.is_whole {
            return mem::take(&mut self.data);
        }
        let end = self.at + usize::from(len);
        let piece = match &self.data {
            Payload::Bytes(bytes) => {
                bytes.get(self.at..end).map_or(Payload::EMPTY, |piece| piece.to_vec().into())
            }
            Payload::Virtual(_) => Payload::Virtual(len.into()),
        };
        self.at = end;
        piece
    }
}

/// Bytes that a channel may queue at least.
const MIN_SEND_BUFFER: u64 = 256 * 1024;
