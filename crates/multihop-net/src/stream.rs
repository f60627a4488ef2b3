//! A connection as a tokio stream.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::channel::Channel;
use crate::config::Config;
use crate::driver::{HubState, SharedHub, Side};
use crate::handle::{Handle, refused, unsupported};
use crate::keys::PublicKey;
use multihop_hub::Error;
use multihop_hub::Id;
use multihop_hub::Stats;
use multihop_transport::channel::{self, ChannelId, Channels};

/// One end of a connection, as a tokio stream of bytes in both directions.
///
/// [`shutdown`](tokio::io::AsyncWriteExt::shutdown) closes this side and returns once the peer has everything
/// that was written. A stream that is dropped closes in the background, as a TCP socket does: written data is
/// still delivered, and the peer gets a reset if data from it was not read.
#[derive(Debug)]
pub struct Stream {
    handle: Arc<Handle>,
    peer: SocketAddr,
    /// Number of the channel that is accepted next.
    accepted: AtomicU16,
}

/// Reads the statistics of a stream that another task reads and writes.
#[derive(Clone, Debug)]
pub struct StatsReader {
    shared: Arc<SharedHub>,
    id: Id,
}

impl StatsReader {
    /// The statistics; `None` when the stream has been dropped.
    pub fn stats(&self) -> Option<Stats> {
        self.shared.lock().hub.stats(self.id)
    }
}

impl Stream {
    /// Opens a connection to a listener that is known by its address, from a port that the system chooses.
    pub async fn connect(addr: SocketAddr, config: &Config) -> io::Result<Self> {
        Self::connect_as(&addr.to_string(), addr, config).await
    }

    /// Opens a connection to a listener that is known by this name, from a port that the system chooses.
    pub async fn connect_as(name: &str, addr: SocketAddr, config: &Config) -> io::Result<Self> {
        config.security.check_initiator()?;
        config.security.check_name(name)?;
        config.check_local(addr)?;
        let any: IpAddr = match addr {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let (shared, id) = SharedHub::start(SocketAddr::new(any, 0), config, |hub| {
            let id = hub.connect_as(name, addr)?;
            hub.send_from(id, &config.local)?;
            Ok(id)
        })?;
        let stream = Self::of(Handle { shared, id }, addr);
        let connected = poll_fn(|cx| stream.poll_connected(cx)).await;
        connected.map_err(|error| config.security.explain(name, error))?;
        config.security.remember(name, stream.peer_key())?;
        Ok(stream)
    }

    pub(crate) fn new(shared: Arc<SharedHub>, state: &HubState, id: Id) -> Self {
        let peer = state.hub.peer(id).unwrap_or(shared.local);
        Self::of(Handle { shared, id }, peer)
    }

    fn of(handle: Handle, peer: SocketAddr) -> Self {
        let first = ChannelId(0).at_peer().0;
        Self { handle: Arc::new(handle), peer, accepted: AtomicU16::new(first) }
    }

    /// Opens a channel of messages beside the stream. The transport must be `mesh`, with channels in the configuration of both ends.
    pub fn open_channel(&self, options: channel::Options) -> io::Result<Channel> {
        let number =
            self.handle.with_channels(|channels| channels.open_channel(options))?.map_err(refused)?;
        Ok(Channel::new(Arc::clone(&self.handle), number))
    }

    /// Waits for the next channel that the peer opens; `None` if the peer has closed the connection before.
    pub async fn accept_channel(&self) -> io::Result<Option<Channel>> {
        poll_fn(|cx| self.poll_accept_channel(cx)).await
    }

    fn poll_accept_channel(&self, cx: &Context<'_>) -> Poll<io::Result<Option<Channel>>> {
        let mut state = self.handle.shared.lock();
        let number = ChannelId(self.accepted.load(Ordering::Relaxed));
        let is_open = |channels: &mut dyn Channels| channels.channel_options(number).is_some();
        if state.hub.with_channels(self.handle.id, is_open)?.ok_or_else(unsupported)? {
            // Ends number the channels that they open by 2, and the lock is held.
            self.accepted.store(number.0 + 2, Ordering::Relaxed);
            return Poll::Ready(Ok(Some(Channel::new(Arc::clone(&self.handle), number))));
        }
        if state.hub.is_closed_by_peer(self.handle.id)? {
            return Poll::Ready(Ok(None));
        }
        self.handle.wait(&mut state, Side::Channel, cx)
    }

    /// Address and port of the peer, which change when the peer moves.
    pub fn peer_addr(&self) -> SocketAddr {
        self.handle.shared.lock().hub.peer(self.handle.id).unwrap_or(self.peer)
    }

    /// The address of the socket.
    pub fn local_addr(&self) -> SocketAddr {
        self.handle.shared.local
    }

    /// The key that the peer has proved; `None` without keys.
    pub fn peer_key(&self) -> Option<PublicKey> {
        self.handle.shared.lock().hub.peer_key(self.handle.id)
    }

    /// The channel binding of an encrypted connection: a value that both ends share, and no other connection has. A protocol
    /// above the stream proves with it that nobody sits between the ends. `None` for a plain connection.
    pub fn binding(&self) -> Option<[u8; 32]> {
        self.handle.shared.lock().hub.binding(self.handle.id)
    }

    /// The statistics of the connection.
    pub fn stats(&self) -> Stats {
        self.handle.shared.lock().hub.stats(self.handle.id).expect("the hub keeps what a stream holds")
    }

    /// A reader of the statistics, for a task that does not own the stream.
    pub fn stats_reader(&self) -> StatsReader {
        StatsReader { shared: Arc::clone(&self.handle.shared), id: self.handle.id }
    }

    /// Ends the connection now, with a reset to the peer. Reads and writes fail from now on.
    pub fn abort(&self) {
        self.handle.with(|hub| hub.abort(self.handle.id));
    }

    /// Closes this side, and waits until the peer has everything. Like
    /// [`shutdown`](tokio::io::AsyncWriteExt::shutdown), for a stream that several tasks share.
    pub async fn finish(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_finish(cx)).await
    }

    fn poll_finish(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.handle.shared.lock();
        if state.hub.shutdown(self.handle.shared.now(), self.handle.id)? {
            return Poll::Ready(Ok(()));
        }
        self.handle.shared.kick();
        self.handle.wait(&mut state, Side::Write, cx)
    }

    fn poll_connected(&self, cx: &Context<'_>) -> Poll<Result<(), Error>> {
        let mut state = self.handle.shared.lock();
        if state.hub.is_connected(self.handle.id)? {
            return Poll::Ready(Ok(()));
        }
        self.handle.wait(&mut state, Side::Write, cx)
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut state = self.handle.shared.lock();
        let Some(n) = state.hub.read(self.handle.id, buf.initialize_unfilled())? else {
            return self.handle.wait(&mut state, Side::Read, cx);
        };
        buf.advance(n);
        self.handle.shared.kick();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.handle.shared.lock();
        let n = state.hub.write(self.handle.shared.now(), self.handle.id, data)?;
        if n == 0 && !data.is_empty() {
            return self.handle.wait(&mut state, Side::Write, cx);
        }
        self.handle.shared.kick();
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_finish(cx)
    }
}
