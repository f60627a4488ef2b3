//! A connection as a tokio stream.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::config::Config;
use crate::driver::{HubState, SharedHub, Side};
use crate::keys::PublicKey;
use multihop_hub::Error;
use multihop_hub::Id;
use multihop_hub::Stats;

/// One end of a connection, as a tokio stream of bytes in both directions.
///
/// [`shutdown`](tokio::io::AsyncWriteExt::shutdown) closes our side and returns once the peer has everything
/// that was written. A stream that is dropped closes in the background, as a TCP socket does: written data
/// is still delivered, and the peer gets a reset if data from it was not read.
#[derive(Debug)]
pub struct Stream {
    shared: Arc<SharedHub>,
    id: Id,
    peer: SocketAddr,
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
        let stream = Self { shared, id, peer: addr };
        let connected = poll_fn(|cx| stream.poll_connected(cx)).await;
        connected.map_err(|error| config.security.explain(name, error))?;
        config.security.remember(name, stream.peer_key())?;
        Ok(stream)
    }

    pub(crate) fn new(shared: Arc<SharedHub>, state: &HubState, id: Id) -> Self {
        let peer = state.hub.peer(id).unwrap_or(shared.local);
        Self { shared, id, peer }
    }

    /// Address and port of the peer, which change when the peer moves.
    pub fn peer_addr(&self) -> SocketAddr {
        self.shared.lock().hub.peer(self.id).unwrap_or(self.peer)
    }

    /// The address of the socket.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.local
    }

    /// The key that the peer has proved; `None` without keys.
    pub fn peer_key(&self) -> Option<PublicKey> {
        self.shared.lock().hub.peer_key(self.id)
    }

    /// The channel binding of an encrypted connection: a value that both ends share, and no other connection has. A protocol
    /// above the stream proves with it that nobody sits between the ends. `None` for a plain connection.
    pub fn binding(&self) -> Option<[u8; 32]> {
        self.shared.lock().hub.binding(self.id)
    }

    /// The statistics of the connection.
    pub fn stats(&self) -> Stats {
        self.shared.lock().hub.stats(self.id).expect("the hub keeps what a stream holds")
    }

    /// A reader of the statistics, for a task that does not own the stream.
    pub fn stats_reader(&self) -> StatsReader {
        StatsReader { shared: Arc::clone(&self.shared), id: self.id }
    }

    /// Ends the connection now, with a reset to the peer. Reads and writes fail from now on.
    pub fn abort(&self) {
        self.with(|state| state.hub.abort(self.id));
    }

    fn with<R>(&self, action: impl FnOnce(&mut HubState) -> R) -> R {
        let result = action(&mut self.shared.lock());
        self.shared.kick();
        result
    }

    fn poll_connected(&self, cx: &Context<'_>) -> Poll<Result<(), Error>> {
        let mut state = self.shared.lock();
        if state.hub.is_connected(self.id)? {
            return Poll::Ready(Ok(()));
        }
        self.wait(&mut state, Side::Write, cx)
    }

    /// Pending until something happens to the connection.
    fn wait<R, E: From<Error>>(
        &self,
        state: &mut HubState,
        side: Side,
        cx: &Context<'_>,
    ) -> Poll<Result<R, E>> {
        if state.is_dead {
            return Poll::Ready(Err(Error::Aborted.into()));
        }
        state.wait(self.id, side, cx.waker());
        Poll::Pending
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut state = self.shared.lock();
        let Some(n) = state.hub.read(self.id, buf.initialize_unfilled())? else {
            return self.wait(&mut state, Side::Read, cx);
        };
        buf.advance(n);
        self.shared.kick();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.shared.lock();
        let n = state.hub.write(self.shared.now(), self.id, data)?;
        if n == 0 && !data.is_empty() {
            return self.wait(&mut state, Side::Write, cx);
        }
        self.shared.kick();
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.shared.lock();
        if state.hub.shutdown(self.shared.now(), self.id)? {
            return Poll::Ready(Ok(()));
        }
        self.shared.kick();
        self.wait(&mut state, Side::Write, cx)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let now = self.shared.now();
        self.with(|state| state.hub.release(now, self.id));
    }
}
