//! Applications that send messages: over channels, a byte stream or datagrams, depending on the transport.

use multihop_core::FlowId;
use multihop_transport::connection::{Data, State};

use super::context::Context;
use super::ends::Ends;
use super::ids::EndId;
use super::ip::Ip;
use crate::traffic::Messages;

impl Ends {
    /// Opens the connection, or sends the messages that are due.
    pub(super) fn step_messages(&mut self, context: &mut Context<'_>, ip: &mut Ip, id: FlowId, first: bool) {
        let sender = EndId::sender(id);
        self.flows[id.index()].unacked = u64::MAX;
        if first {
            let end = &mut self.ends[sender.index()];
            end.connect();
            let is_open = end.state() == State::Established;
            self.drain(context, ip, sender);
            if is_open {
                self.begin_messages(context, id);
            }
            return;
        }
        self.send_due(context, id);
        self.drain(context, ip, sender);
    }

    /// Starts sending messages after the connection has opened.
    pub(super) fn begin_messages(&mut self, context: &mut Context<'_>, id: FlowId) {
        let state = &mut self.flows[id.index()];
        let Some(messages) = &mut state.messages else { return };
        if let Some(channels) = self.ends[EndId::sender(id).index()].channels() {
            for options in messages.options() {
                let opened = channels.open_channel(options);
                debug_assert!(opened.is_ok(), "a checked channel: {opened:?}");
            }
        }
        messages.begin(context.now);
        state.next = Some(context.now);
        self.arm_application(context, id);
    }

    /// Queues the messages that are due, and messages of saturating channels.
    fn send_due(&mut self, context: &Context<'_>, id: FlowId) {
        let now = context.now;
        let state = &mut self.flows[id.index()];
        let Some(messages) = &mut state.messages else { return };
        let end = &mut self.ends[EndId::sender(id).index()];
        let is_datagram = !end.is_acknowledged();
        for (channel, bytes) in messages.take_due(now) {
            match end.channels() {
                Some(channels) => {
                    match channels.send_message(now, Messages::id(channel), Data::Virtual(bytes)) {
                        Ok(_) => {
                            messages.sent(now, channel);
                        }
                        Err(_) => messages.refused(channel),
                    }
                }
                None if is_datagram => {
                    if end.send(now, Data::Virtual(bytes)).is_ok() {
                        messages.sent_in_datagram(now, channel, bytes);
                    }
                }
                None => {
                    if end.send(now, Data::Virtual(bytes)).is_ok() {
                        messages.sent_in_stream(now, channel, bytes);
                    }
                }
            }
        }
        state.next = messages.next();
        self.fill_channels(context, id);
    }

    /// Queues messages of saturating channels while there is room.
    fn fill_channels(&mut self, context: &Context<'_>, id: FlowId) {
        let now = context.now;
        let Some(messages) = &mut self.flows[id.index()].messages else { return };
        let end = &mut self.ends[EndId::sender(id).index()];
        for (channel, bytes) in messages.saturating() {
            if let Some(channels) = end.channels() {
                let id = Messages::id(channel);
                while channels.writable(id) > 0
                    && channels.send_message(now, id, Data::Virtual(bytes)).is_ok()
                {
                    messages.sent(now, channel);
                }
            } else {
                while messages.under_way() < QUEUED && end.send(now, Data::Virtual(bytes)).is_ok() {
                    messages.sent_in_stream(now, channel, bytes);
                }
            }
        }
    }

    /// Handles free room in the byte stream of a flow.
    pub(super) fn refill_messages(&mut self, context: &Context<'_>, id: FlowId) {
        if self.flows[id.index()].running {
            self.fill_channels(context, id);
        }
    }

    /// Reads the deliveries of channels, or fills channels that have room.
    pub(super) fn use_channels(&mut self, context: &mut Context<'_>, end: EndId) {
        let id = end.flow();
        if end.is_sender() {
            return self.refill_messages(context, id);
        }
        while let Some(received) =
            self.ends[end.index()].channels().and_then(|channels| channels.poll_message(context.now))
        {
            let messages = &mut self.flows[id.index()].messages;
            let bytes = messages.as_mut().map_or(0, |messages| messages.received(context.now, &received));
            if bytes > 0 {
                self.delivered(context, id, bytes);
            }
        }
    }
}

/// Bytes of messages that the application keeps in a byte stream, from the sender's queue to the receiver.
const QUEUED: u64 = 256 * 1024;
