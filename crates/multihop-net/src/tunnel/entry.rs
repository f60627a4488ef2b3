//! The end that takes the TCP connections.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::address::Address;
use super::gateway::{connect_any, ready};
use super::splice::{Reset, splice};
use super::{CONNECT, MAGIC, REQUEST, Refusal, socks as words, within};
use crate::config::Config;
use crate::error::Error;
use crate::stream::TpaStream;

/// The way to the targets.
#[derive(Debug)]
pub struct Way {
    gateway: SocketAddr,
    config: Config,
    /// Whether targets may be reached by plain TCP from here where the gateway does not answer.
    falls_back: bool,
    /// Until when the gateway need not be asked.
    silent: Mutex<Option<Instant>>,
}

impl Way {
    /// By TPA to a gateway; with `falls_back`, where that does not answer, by plain TCP, which
    /// nothing protects.
    pub fn new(gateway: SocketAddr, config: Config, falls_back: bool) -> Arc<Self> {
        Arc::new(Self { gateway, config, falls_back, silent: Mutex::new(None) })
    }

    /// A connection to a target, or why there is none.
    async fn open(&self, wanted: &Address) -> Result<Far, Refusal> {
        if !self.is_silent() {
            match within(self.limit(), TpaStream::connect(self.gateway, &self.config)).await {
                Ok(stream) => return self.ask(stream, wanted).await.map(Far::Tpa),
                Err(error) => self.on_failure(&error)?,
            }
        }
        let mut found = within(REQUEST, wanted.look_up()).await.map_err(|_| Refusal::Host)?;
        // The loopback that was meant is the gateway's.
        found.retain(|address| !is_loopback(address.ip()));
        if found.is_empty() {
            tracing::warn!(%wanted, "means the gateway's own host, and cannot be reached from here");
            return Err(Refusal::Network);
        }
        tracing::warn!(%wanted, "by plain TCP: nothing protects this connection");
        connect_any(&found).await.map(Far::Tcp).map_err(|error| Refusal::of(&error))
    }

    /// Says where to go.
    async fn ask(&self, mut stream: TpaStream, wanted: &Address) -> Result<TpaStream, Refusal> {
        let answer = within(CONNECT + 2 * REQUEST, async {
            let mut request = MAGIC.to_vec();
            wanted.emit(&mut request);
            stream.write_all(&request).await?;
            stream.flush().await?;
            stream.read_u8().await
        });
        match answer.await {
            Ok(number) => Refusal::parse(number).map(|()| stream),
            Err(error) => {
                tracing::warn!(gateway = %self.gateway, "{error}");
                Err(Refusal::Network)
            }
        }
    }

    /// The gateway was not reached: goes on if there is another way.
    fn on_failure(&self, error: &io::Error) -> Result<(), Refusal> {
        tracing::warn!(gateway = %self.gateway, "{error}");
        // Somebody who is there and declines is no reason to do without protection.
        let ours = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        let is_absent = error.kind() == io::ErrorKind::TimedOut
            || matches!(ours, Some(Error::Refused | Error::TimedOut | Error::Unreachable));
        if !self.falls_back || !is_absent {
            return Err(Refusal::Network);
        }
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + SILENCE);
        Ok(())
    }

    fn is_silent(&self) -> bool {
        let silent = *self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.is_some_and(|until| Instant::now() < until)
    }

    /// For the gateway to answer: shorter where there is another way.
    fn limit(&self) -> Duration {
        if self.falls_back { FALL_BACK } else { 3 * CONNECT }
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback() || ip.is_unspecified()
}

/// The other stream of a pair.
#[derive(Debug)]
enum Far {
    Tpa(TpaStream),
    Tcp(TcpStream),
}

/// Carries every connection that comes to one target.
pub async fn forward(listener: TcpListener, target: Address, way: Arc<Way>) -> io::Result<()> {
    accept(listener, move |near| {
        let (target, way) = (target.clone(), way.clone());
        async move {
            match way.open(&target).await {
                Ok(far) => join(near, far).await,
                Err(refusal) => {
                    near.reset();
                    Err(io::Error::other(format!("no connection to {target}: {refusal}")))
                }
            }
        }
    })
    .await
}

/// Carries every connection that comes to where its client says, in the words of SOCKS5.
pub async fn socks(listener: TcpListener, way: Arc<Way>) -> io::Result<()> {
    accept(listener, move |mut near| {
        let way = way.clone();
        async move {
            let target = within(REQUEST, words::request(&mut near)).await?;
            let met = way.open(&target).await;
            let told = met.as_ref().map(|_| ()).map_err(|refusal| *refusal);
            within(REQUEST, words::reply(&mut near, told)).await?;
            match met {
                Ok(far) => join(near, far).await,
                Err(refusal) => Err(io::Error::other(format!("no connection to {target}: {refusal}"))),
            }
        }
    })
    .await
}

async fn join(near: TcpStream, far: Far) -> io::Result<(u64, u64)> {
    match far {
        Far::Tpa(far) => splice(near, far).await,
        Far::Tcp(far) => splice(near, far).await,
    }
}

/// Serves every connection that comes, so many at a time; the others wait.
async fn accept<F, W>(listener: TcpListener, serve: F) -> io::Result<()>
where
    F: Fn(TcpStream) -> W,
    W: Future<Output = io::Result<(u64, u64)>> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let place = room.clone().acquire_owned().await.expect("it is never closed");
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many open files, or a client that is gone by now.
                tracing::warn!("no connection taken: {error}");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        ready(&stream);
        let work = serve(stream);
        connections.spawn(async move {
            match work.await {
                Ok((up, down)) => tracing::info!(%from, up, down, "connection ended"),
                Err(error) => tracing::warn!(%from, "{error}"),
            }
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Connections at a time at one local port.
const CONNECTIONS: usize = 512;
/// After an error that will not go away by itself at once.
const BREATH: Duration = Duration::from_millis(100);
/// How long a gateway may take to answer where there is another way.
const FALL_BACK: Duration = Duration::from_secs(5);
/// How long a gateway that has not answered is left alone.
const SILENCE: Duration = Duration::from_secs(60);
