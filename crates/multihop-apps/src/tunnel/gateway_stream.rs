//! A stream to a gateway: a connection, or a channel of a shared one.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use multihop_net::{PublicKey, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::channel_stream::ChannelStream;
use super::splice::Reset;

/// A stream to a gateway.
#[derive(Debug)]
pub(super) enum GatewayStream {
    /// A connection of its own.
    Alone(Box<Stream>),
    /// A channel of a shared connection.
    Channel(ChannelStream),
}

impl AsyncRead for GatewayStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Alone(stream) => Pin::new(&mut **stream).poll_read(cx, buf),
            Self::Channel(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for GatewayStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Alone(stream) => Pin::new(&mut **stream).poll_write(cx, data),
            Self::Channel(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Alone(stream) => Pin::new(&mut **stream).poll_flush(cx),
            Self::Channel(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Alone(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
            Self::Channel(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

impl Reset for GatewayStream {
    fn reset(self) {
        match self {
            Self::Alone(stream) => stream.abort(),
            Self::Channel(stream) => stream.reset(),
        }
    }

    fn peer_key(&self) -> Option<PublicKey> {
        match self {
            Self::Alone(stream) => Reset::peer_key(&**stream),
            Self::Channel(stream) => stream.peer_key(),
        }
    }
}
