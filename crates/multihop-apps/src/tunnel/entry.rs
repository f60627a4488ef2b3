//! The near end of a tunnel: accepts TCP connections.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use multihop_net::{Config, Error, TpaStream};
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
use super::{CONNECT, REQUEST, Refusal, redirected, socks as words, within};

/// How the near end reaches targets.
#[derive(Debug)]
pub struct Dialer {
    gateways: Gateways,
    config: Config,
    /// Whether targets may be reached by TCP from here if no gateway answers.
    falls_back: bool,
}

/// The far ends of a near end.
#[derive(Debug)]
pub enum Gateways {
    /// The first of these that answers.
    Listed(Vec<Gateway>),
    /// The host of each target, at this port.
    OfTargets(u16),
}

/// A far end.
#[derive(Debug)]
pub struct Gateway {
    /// The name by which it is known.
    name: String,
    at: SocketAddr,
    /// The time until which others are tried first.
    silent: Mutex<Option<Instant>>,
}

/// Why no gateway was reached.
enum Unreached {
    /// None answers.
    Absent,
    /// One answers, and refuses: no reason to give up protection.
    Declined,
}

impl Gateway {
    /// A gateway with this name at this address.
    pub fn new(name: &Address, at: SocketAddr) -> Self {
        Self { name: name.to_string(), at, silent: Mutex::new(None) }
    }

    fn is_silent(&self) -> bool {
        let silent = *self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.is_some_and(|until| Instant::now() < until)
    }

    async fn reach(&self, config: &Config, limit: Duration) -> Result<TpaStream, Unreached> {
        let error = match within(limit, TpaStream::connect_as(&self.name, self.at, config)).await {
            Ok(stream) => {
                self.be_silent_until(None);
                return Ok(stream);
            }
            Err(error) => error,
        };
        tracing::warn!(gateway = %self.at, "{error}");
        let ours = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        let is_absent = error.kind() == io::ErrorKind::TimedOut
            || matches!(ours, Some(Error::Refused | Error::TimedOut | Error::Unreachable));
        if !is_absent {
            return Err(Unreached::Declined);
        }
        self.be_silent_until(Some(Instant::now() + SILENCE));
        Err(Unreached::Absent)
    }

    fn be_silent_until(&self, until: Option<Instant>) {
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

impl Dialer {
    /// By TPA to a gateway; with `falls_back`, by unprotected TCP if no gateway answers.
    pub fn new(gateways: Gateways, config: Config, falls_back: bool) -> Arc<Self> {
        Arc::new(Self { gateways, config, falls_back })
    }

    /// A connection to a target, or why there is none.
    async fn open(&self, wanted: &Address) -> Result<Far, Refusal> {
        let reached = match &self.gateways {
            Gateways::Listed(gateways) => self.reach(gateways).await,
            Gateways::OfTargets(port) => self.reach(&at_target(wanted, *port).await?).await,
        };
        match reached {
            Ok(stream) => return self.ask(stream, &Request::Tcp(wanted.clone())).await.map(Far::Tpa),
            Err(Unreached::Absent) if self.falls_back => {}
            Err(_) => return Err(Refusal::Network),
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
        // Only TCP has a target to which it could go.
        let Gateways::Listed(gateways) = &self.gateways else { return Err(Refusal::Command) };
        match self.reach(gateways).await {
            Ok(stream) => self.ask(stream, request).await,
            Err(_) => Err(Refusal::Network),
        }
    }

    /// A connection to the first gateway that answers. Those that have not answered lately are tried last, and not at
    /// all if targets can be reached without them.
    async fn reach(&self, gateways: &[Gateway]) -> Result<TpaStream, Unreached> {
        let (silent, awake): (Vec<_>, Vec<_>) = gateways.iter().partition(|gateway| gateway.is_silent());
        let last = if self.falls_back { Vec::new() } else { silent };
        let mut unreached = Unreached::Absent;
        for gateway in awake.into_iter().chain(last) {
            match gateway.reach(&self.config, self.limit(gateways.len())).await {
                Ok(stream) => return Ok(stream),
                Err(Unreached::Absent) => {}
                Err(Unreached::Declined) => unreached = Unreached::Declined,
            }
        }
        Err(unreached)
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
                tracing::warn!(gateway = %stream.peer_addr(), "{error}");
                Err(Refusal::Network)
            }
        }
    }

    /// The time for one of so many gateways to answer: shorter where there is another way.
    fn limit(&self, gateways: usize) -> Duration {
        if self.falls_back || gateways > 1 { OTHER_WAY } else { 3 * CONNECT }
    }
}

/// The gateways that are hosts of the target themselves.
async fn at_target(wanted: &Address, port: u16) -> Result<Vec<Gateway>, Refusal> {
    let found = within(REQUEST, wanted.look_up()).await.map_err(|_| Refusal::Host)?;
    let name = Address { host: wanted.host.clone(), port };
    Ok(found.iter().map(|address| Gateway::new(&name, SocketAddr::new(address.ip(), port))).collect())
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
        async move { carry(near, &target, &dialer).await }
    })
    .await
}

/// Carries every connection that the firewall has redirected to a listener to where it was going.
pub async fn transparent(listener: TcpListener, dialer: Arc<Dialer>) -> io::Result<()> {
    let own = listener.local_addr()?;
    accept(listener, move |near| {
        let dialer = dialer.clone();
        async move {
            match redirected::target(&near, own) {
                Ok(target) => carry(near, &Address::from_addr(target), &dialer).await,
                Err(error) => {
                    near.reset();
                    Err(error)
                }
            }
        }
    })
    .await
}

async fn carry(near: TcpStream, target: &Address, dialer: &Dialer) -> io::Result<(u64, u64)> {
    match dialer.open(target).await {
        Ok(far) => join(near, far).await,
        Err(refusal) => {
            near.reset();
            Err(io::Error::other(format!("no connection to {target}: {refusal}")))
        }
    }
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
                Ok((up, down)) => tracing::info!(peer = %from, up, down, "connection ended"),
                Err(error) => tracing::warn!(limit = 60_u64, peer = %from, %error, "connection failed"),
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
/// Time for a gateway to answer if there is another way.
const OTHER_WAY: Duration = Duration::from_secs(5);
/// How long others are tried before a gateway that has not answered.
const SILENCE: Duration = Duration::from_secs(60);
