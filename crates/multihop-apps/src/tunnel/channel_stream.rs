//! A stream of bytes in a channel of a shared connection.
//!
//! # Bytes
//!
//! Channels last as long as their connection, and serve one stream after another. A message has a kind (1), then
//! data. Each end sends exactly one CLOSE or RESET in a stream, after which the channel is free.
//!
//! | kind | message | data |
//! |---|---|---|
//! | 0 DATA | bytes of the stream. The gateway confirms the first one with an empty DATA | at most 16,384 bytes |
//! | 1 END | no DATA follows | |
//! | 2 CLOSE | both directions have ended | |
//! | 3 RESET | the stream was aborted | |

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use multihop_net::{Channel, Content, PublicKey};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

use super::splice::Reset;

/// One end of a stream in a channel.
#[derive(Debug)]
pub(super) struct ChannelStream {
    /// State of the stream; `None` after it went back.
    state: Option<Use>,
    home: Option<oneshot::Sender<Use>>,
    peer: Option<PublicKey>,
}

/// Use of a channel by one stream.
#[derive(Debug)]
pub(super) struct Use {
    channel: Channel,
    /// Data that has arrived and was not read, from this index on.
    unread: (Vec<u8>, usize),
    has_sent_end: bool,
    received: Progress,
    /// Whether the first data of the peer is confirmed by an empty message.
    confirms: bool,
}

/// Messages of the peer in one use of a channel.
#[derive(Debug, Default)]
struct Progress {
    has_ended: bool,
    /// Last message of the peer: `CLOSE` or `RESET`.
    last: Option<u8>,
}

impl Progress {
    /// Takes the next message of the peer, or fails if the message breaks the rules of the tunnel.
    fn take(&mut self, message: &[u8]) -> io::Result<()> {
        match message {
            [DATA, ..] if !self.has_ended => {}
            [END] => self.has_ended = true,
            [kind @ (CLOSE | RESET)] => self.last = Some(*kind),
            _ => return Err(invalid()),
        }
        Ok(())
    }
}

impl Use {
    /// Ends the use at both ends; returns the channel for the next one.
    pub(super) async fn finish(mut self) -> io::Result<Channel> {
        let is_clean = self.has_sent_end && self.received.has_ended;
        self.channel.send(vec![if is_clean { CLOSE } else { RESET }]).await?;
        while self.received.last.is_none() {
            std::future::poll_fn(|cx| self.poll_message(cx)).await?;
        }
        Ok(self.channel)
    }

    /// The next message: its kind, and data.
    fn poll_message(&mut self, cx: &Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        let received = ready!(self.channel.poll_recv(cx))?;
        let Some(received) = received else {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        };
        let Content::Whole(payload) = received.content else { return Poll::Ready(Err(invalid())) };
        let mut bytes = Vec::new();
        payload.emit(&mut bytes);
        self.received.take(&bytes)?;
        if self.confirms && bytes.len() > 1 {
            self.confirms = false;
            // The channel is empty so far, and takes the message.
            let _ = self.channel.poll_send(&mut Some(vec![DATA]), cx);
        }
        Poll::Ready(Ok(bytes))
    }

    /// Fails if the peer has left.
    fn check(&self) -> io::Result<()> {
        if self.received.last.is_some() { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
}

impl ChannelStream {
    /// A stream in a channel that no other stream uses. The receiver gets the channel when the stream has ended. The
    /// end that `confirms` answers the first data of the peer with a message without data.
    pub(super) fn new(
        channel: Channel,
        peer: Option<PublicKey>,
        confirms: bool,
    ) -> (Self, oneshot::Receiver<Use>) {
        let (home, returned) = oneshot::channel();
        let state = Use {
            channel,
            unread: (Vec::new(), 0),
            has_sent_end: false,
            received: Progress::default(),
            confirms,
        };
        (Self { state: Some(state), home: Some(home), peer }, returned)
    }

    /// Waits for the first message of the peer, which has no data.
    pub(super) async fn confirmed(&mut self) -> io::Result<()> {
        let state = self.state();
        let message = std::future::poll_fn(|cx| state.poll_message(cx)).await?;
        state.unread = (message, 1);
        state.check()
    }

    /// Waits until data of the peer has arrived.
    pub(super) async fn readable(&mut self) -> io::Result<()> {
        let state = self.state();
        while state.unread.1 == state.unread.0.len() {
            state.check()?;
            state.unread = (std::future::poll_fn(|cx| state.poll_message(cx)).await?, 1);
        }
        Ok(())
    }

    fn state(&mut self) -> &mut Use {
        self.state.as_mut().expect("the state leaves when the stream is dropped")
    }
}

impl Drop for ChannelStream {
    fn drop(&mut self) {
        if let (Some(state), Some(home)) = (self.state.take(), self.home.take()) {
            // Nobody waits for the channel once the connection has ended.
            let _ = home.send(state);
        }
    }
}

impl AsyncRead for ChannelStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let state = self.get_mut().state();
        loop {
            let (data, from) = &mut state.unread;
            if *from < data.len() {
                let taken = buf.remaining().min(data.len() - *from);
                buf.put_slice(&data[*from..*from + taken]);
                *from += taken;
                return Poll::Ready(Ok(()));
            }
            if state.received.has_ended {
                return Poll::Ready(Ok(()));
            }
            state.check()?;
            state.unread = (ready!(state.poll_message(cx))?, 1);
        }
    }
}

impl AsyncWrite for ChannelStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let state = self.get_mut().state();
        // After the end of its data, the peer reports with the next message that it has left.
        if state.received.has_ended && state.received.last.is_none() {
            let _ = state.poll_message(cx)?;
        }
        state.check()?;
        let taken = data.len().min(LONGEST);
        let mut message = Some([&[DATA], &data[..taken]].concat());
        ready!(state.channel.poll_send(&mut message, cx))?;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let state = self.get_mut().state();
        if !state.has_sent_end && state.received.last.is_none() {
            ready!(state.channel.poll_send(&mut Some(vec![END]), cx))?;
            state.has_sent_end = true;
        }
        Poll::Ready(Ok(()))
    }
}

impl Reset for ChannelStream {
    fn reset(mut self) {
        // Without its end, the stream ends with a reset.
        self.state().has_sent_end = false;
    }

    fn peer_key(&self) -> Option<PublicKey> {
        self.peer
    }
}

/// Takes these bytes as the messages of a peer: a length of one byte before each message. Messages that are accepted are data,
/// then at most one end of the data unless it is repeated, then one message that frees the channel.
#[cfg(fuzzing)]
pub(super) fn check(mut bytes: &[u8]) {
    let (mut progress, mut has_ended) = (Progress::default(), false);
    while let Some((&length, rest)) = bytes.split_first() {
        let (message, after) = rest.split_at(rest.len().min(length.into()));
        bytes = after;
        if progress.take(message).is_err() {
            return;
        }
        let kind = *message.first().expect("an empty message is refused");
        assert!(kind == DATA && !has_ended || message.len() == 1 && kind <= RESET && kind != DATA);
        has_ended |= kind == END;
        assert_eq!(progress.has_ended, has_ended);
        if progress.last.is_some() {
            assert!(kind == CLOSE || kind == RESET);
            return;
        }
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "received a message that breaks the rules of the tunnel")
}

/// Longest data of a message, bytes: a quarter of the usual credit of a channel.
const LONGEST: usize = 16 * 1024;
/// Data of the stream.
const DATA: u8 = 0;
/// End of the data of this direction.
const END: u8 = 1;
/// Both directions have ended, and the channel is free.
const CLOSE: u8 = 2;
/// The stream was aborted, and the channel is free.
const RESET: u8 = 3;
