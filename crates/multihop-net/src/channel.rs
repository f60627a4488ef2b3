//! A channel of messages as tokio knows it.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use multihop_transport::channel::{ChannelCounters, ChannelError, ChannelId, Options, Received};
use multihop_transport::connection::Data;

use crate::driver::Side;
use crate::handle::{Handle, refused, unsupported};

/// Messages in both directions, beside the stream of a connection and its other channels.
///
/// Channels of a better class send first, and one whose application does not read stops no other one. Several tasks may
/// use a channel at once. The connection stays open as long as its stream or one of its channels exists.
#[derive(Debug)]
pub struct Channel {
    handle: Arc<Handle>,
    number: ChannelId,
}

impl Channel {
    pub(crate) fn new(handle: Arc<Handle>, number: ChannelId) -> Self {
        Self { handle, number }
    }

    /// Number of the channel at this end.
    pub fn number(&self) -> ChannelId {
        self.number
    }

    /// Options that the opener has chosen.
    pub fn options(&self) -> Options {
        let found = self.handle.with_channels(|channels| channels.channel_options(self.number).cloned());
        found.ok().flatten().unwrap_or_default()
    }

    /// Counters of the channel at this end; zeros after the connection has ended.
    pub fn counters(&self) -> ChannelCounters {
        let found = self.handle.with_channels(|channels| channels.channel_counters(self.number));
        found.ok().flatten().unwrap_or_default()
    }

    /// Queues a message and returns its number. Waits while the channel is full.
    ///
    /// Cancel safe: a cancelled call has queued nothing.
    pub async fn send(&self, message: Vec<u8>) -> io::Result<u64> {
        let mut message = Some(message);
        poll_fn(|cx| self.poll_send(&mut message, cx)).await
    }

    /// Queues a message as [`send`](Self::send) does, and wakes the task when the channel has room. The message is taken when the result is ready.
    pub fn poll_send(&self, message: &mut Option<Vec<u8>>, cx: &Context<'_>) -> Poll<io::Result<u64>> {
        let mut state = self.handle.shared.lock();
        let now = self.handle.shared.now();
        // A failed connection gives its own reason.
        state.hub.is_closed_by_peer(self.handle.id)?;
        let (number, taken) = (self.number, &mut *message);
        let sent = state.hub.with_channels(self.handle.id, |channels| match channels.writable(number) {
            0 => Err(ChannelError::Full),
            _ => channels.send_message(now, number, Data::Bytes(taken.take().unwrap_or_default())),
        })?;
        match sent.ok_or_else(unsupported)? {
            Err(ChannelError::Full) => self.handle.wait(&mut state, Side::Channel, cx),
            sent => {
                self.handle.shared.kick();
                Poll::Ready(sent.map_err(refused))
            }
        }
    }

    /// Waits for the next message, part of a long message, or gap; `None` after the peer has closed its side.
    ///
    /// Cancel safe: a cancelled call has taken nothing.
    pub async fn recv(&self) -> io::Result<Option<Received>> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Takes the next message as [`recv`](Self::recv) does, and wakes the task when there is one.
    pub fn poll_recv(&self, cx: &Context<'_>) -> Poll<io::Result<Option<Received>>> {
        let mut state = self.handle.shared.lock();
        let now = self.handle.shared.now();
        let poll = |channels: &mut dyn multihop_transport::channel::Channels| {
            channels.poll_message_of(now, self.number)
        };
        if let Some(received) = state.hub.with_channels(self.handle.id, poll)?.ok_or_else(unsupported)? {
            self.handle.shared.kick();
            return Poll::Ready(Ok(Some(received)));
        }
        if state.hub.is_closed_by_peer(self.handle.id)? {
            return Poll::Ready(Ok(None));
        }
        self.handle.wait(&mut state, Side::Channel, cx)
    }
}
