//! The near end of a tunnel: accepts TCP connections.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::address::Address;
use super::datagrams::associate;
use super::gateway::{connect_any, ready};
use super::request::Request;
use super::socks::Wanted;
use super::splice::{Reset, splice};
use super::{CONNECT, REQUEST, Refusal, socks as words, within};
use crate::config::Config;
use crate::error::Error;
use crate::stream::TpaStream;

/// How the near end reaches targets.
#[derive(Debug)]
pub struct Dialer {
    /// The name by which the gateway is known.
    name: String,
    gateway: SocketAddr,
    config: Config,
    /// Whether targets may be reached by TCP from here if the gateway does not answer.
    falls_back: bool,
    /// The time until which the gateway is not tried again.
    silent: Mutex<Option<Instant>>,
}

impl Dialer {
    /// By TPA to a gateway; with `falls_back`, by unprotected TCP if the gateway does not answer.
    pub fn new(name: &Address, gateway: SocketAddr, config: Config, falls_back: bool) -> Arc<Self> {
        Arc::new(Self { name: name.to_string(), gateway, config, falls_back, silent: Mutex::new(None) })
    }

    /// A connection to a target, or why there is none.
    async fn open(&self, wanted: &Address) -> Result<Far, Refusal> {
        if !self.is_silent() {
            match self.reach().await {
                Ok(stream) => {
                    return self.ask(stream, &Request::Tcp(wanted.clone())).await.map(Far::Tpa);
                }
                Err(error) => self.on_failure(&error)?,
            }
        }
        let mut found = within(REQUEST, wanted.look_up()).await.map_err(|_| Refusal::Host)?;
        // A loopback target means the gateway's loopback.
        found.retain(|address| !is_loopback(address.ip()));
        if found.is_empty() {
            tracing::warn!(%wanted, "the target is a loopback address of the gateway: not reachable without the gateway");
            return Err(Refusal::Network);
        }
        tracing::warn!(%wanted, "connecting by TCP, unprotected");
        connect_any(&found).await.map(Far::Tcp).map_err(|error| Refusal::of(&error))
    }

    /// A connection to the gateway, which has granted this request. There is no fallback.
    pub(super) async fn request(&self, request: &Request) -> Result<TpaStream, Refusal> {
        match self.reach().await {
            Ok(stream) => self.ask(stream, request).await,
            Err(error) => {
                tracing::warn!(gateway = %self.gateway, "{error}");
                Err(Refusal::Network)
            }
        }
    }

    async fn reach(&self) -> io::Result<TpaStream> {
        within(self.limit(), TpaStream::connect_as(&self.name, self.gateway, &self.config)).await
    }

    /// Requests something of the gateway.
    async fn ask(&self, mut stream: TpaStream, request: &Request) -> Result<TpaStream, Refusal> {
        let answer = within(CONNECT + 2 * REQUEST, async {
            stream.write_all(&request.emit()).await?;
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

    /// The gateway was not reached: `Ok` if TCP may be used instead.
    fn on_failure(&self, error: &io::Error) -> Result<(), Refusal> {
        tracing::warn!(gateway = %self.gateway, "{error}");
        // A refusal by the gateway is no reason to give up protection.
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

    /// The time for the gateway to answer: shorter with a fallback.
    fn limit(&self) -> Duration {
        if self.falls_back { FALL_BACK } else { 3 * CONNECT }
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback() || ip.is_unspecified()
}

/// The far stream of a connection.
#[derive(Debug)]
enum Far {
    Tpa(TpaStream),
    Tcp(TcpStream),
}

/// Carries every connection of a listener to one target.
pub async fn forward(listener: TcpListener, target: Address, dialer: Arc<Dialer>) -> io::Result<()> {
    accept(listener, move |near| {
        let (target, dialer) = (target.clone(), dialer.clone());
        async move {
            match dialer.open(&target).await {
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

/// Serves SOCKS5: carries every connection of a listener to the target that its client names, and datagrams.
pub async fn socks(listener: TcpListener, dialer: Arc<Dialer>) -> io::Result<()> {
    accept(listener, move |mut near| {
        let dialer = dialer.clone();
        async move {
            match within(REQUEST, words::request(&mut near)).await? {
                Wanted::Connect(target) => connect(near, &target, &dialer).await,
                Wanted::Associate => carry_datagrams(near, &dialer).await,
            }
        }
    })
    .await
}

async fn connect(mut near: TcpStream, target: &Address, dialer: &Dialer) -> io::Result<(u64, u64)> {
    let met = dialer.open(target).await;
    let told = met.as_ref().map(|_| words::NOWHERE).map_err(|refusal| *refusal);
    within(REQUEST, words::reply(&mut near, told)).await?;
    match met {
        Ok(far) => join(near, far).await,
        Err(refusal) => Err(io::Error::other(format!("no connection to {target}: {refusal}"))),
    }
}

async fn carry_datagrams(mut near: TcpStream, dialer: &Dialer) -> io::Result<(u64, u64)> {
    let socket = UdpSocket::bind((near.local_addr()?.ip(), 0)).await?;
    let local = socket.local_addr()?;
    let met = dialer.request(&Request::Datagrams).await;
    let told = met.as_ref().map(|_| local).map_err(|refusal| *refusal);
    within(REQUEST, words::reply(&mut near, told)).await?;
    match met {
        Ok(far) => associate(near, socket, far).await,
        Err(refusal) => Err(io::Error::other(format!("no datagrams: {refusal}"))),
    }
}

async fn join(near: TcpStream, far: Far) -> io::Result<(u64, u64)> {
    match far {
        Far::Tpa(far) => splice(near, far).await,
        Far::Tcp(far) => splice(near, far).await,
    }
}

/// Serves every connection, at most [`CONNECTIONS`] at a time; others wait.
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
                // Too many open files, or a client that is already gone.
                tracing::warn!("cannot accept a connection: {error}");
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
/// Pause after an error that is likely to persist for a moment.
const BREATH: Duration = Duration::from_millis(100);
/// Time for the gateway to answer if there is a fallback.
const FALL_BACK: Duration = Duration::from_secs(5);
/// How long a gateway that has not answered is not tried again.
const SILENCE: Duration = Duration::from_secs(60);
