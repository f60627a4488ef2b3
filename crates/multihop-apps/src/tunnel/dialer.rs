//! The way of a near end to its targets: through a gateway, or without one.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use multihop_net::{Config, Error, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::address::Address;
use super::request::Request;
use super::targets::connect_any;
use super::{CONNECT, REQUEST, Refusal, within};

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
    /// A list of gateways, of which the first one that answers is used.
    Listed(Vec<Gateway>),
    /// The host of each target, at this port.
    OfTargets(u16),
}

/// A gateway: the far end of a tunnel.
#[derive(Debug)]
pub struct Gateway {
    /// Name of the gateway in messages.
    name: String,
    at: SocketAddr,
    /// The time until which others are tried first.
    silent: Mutex<Option<Instant>>,
}

/// Why no gateway was reached.
enum Unreached {
    /// Outcome if none of the gateways answers.
    Absent,
    /// A gateway answers and refuses, which is no reason to give up protection.
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

    async fn reach(&self, config: &Config, limit: Duration) -> Result<Stream, Unreached> {
        let error = match within(limit, Stream::connect_as(&self.name, self.at, config)).await {
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
    /// Dials by TPA to a gateway; with `falls_back`, by unprotected TCP if no gateway answers.
    pub fn new(gateways: Gateways, config: Config, falls_back: bool) -> Arc<Self> {
        Arc::new(Self { gateways, config, falls_back })
    }

    /// A connection to a target, or why there is none.
    pub(super) async fn open(&self, wanted: &Address) -> Result<Far, Refusal> {
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
    pub(super) async fn request(&self, request: &Request) -> Result<Stream, Refusal> {
        // Only TCP has a target to which it could go.
        let Gateways::Listed(gateways) = &self.gateways else { return Err(Refusal::Command) };
        match self.reach(gateways).await {
            Ok(stream) => self.ask(stream, request).await,
            Err(_) => Err(Refusal::Network),
        }
    }

    /// A connection to the first gateway that answers. Those that have not answered lately are tried last, and not at
    /// all if targets can be reached without them.
    async fn reach(&self, gateways: &[Gateway]) -> Result<Stream, Unreached> {
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

    /// Sends a request to the gateway and waits for the answer.
    async fn ask(&self, mut stream: Stream, request: &Request) -> Result<Stream, Refusal> {
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
pub(super) enum Far {
    Tpa(Stream),
    Tcp(TcpStream),
}

/// Time for a gateway to answer if there is another way.
const OTHER_WAY: Duration = Duration::from_secs(5);
/// Time for which other gateways are tried before one that has not answered.
const SILENCE: Duration = Duration::from_secs(60);
