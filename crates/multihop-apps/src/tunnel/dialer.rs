//! The way of a near end to its targets: through a gateway, or without one.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use multihop_net::{Config, Error, Stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::address::Address;
use super::classes::Classes;
use super::gateway_stream::GatewayStream;
use super::request::Request;
use super::targets::connect_any;
use super::trunk::Trunk;
use super::{CONNECT, REQUEST, Refusal, within};

/// How the near end reaches targets.
#[derive(Debug)]
pub struct Dialer {
    gateways: Gateways,
    config: Config,
    /// Whether targets may be reached by TCP from here if no gateway answers.
    falls_back: bool,
    /// Classes of the connections, which share one connection to each gateway; without them each has its own.
    classes: Option<Classes>,
    /// Gateways of targets to which there are shared connections.
    of_targets: Mutex<BTreeMap<(String, SocketAddr), Arc<Gateway>>>,
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
    shared: tokio::sync::Mutex<Shared>,
}

/// The connection to a gateway that streams of all classes share.
#[derive(Debug, Default)]
struct Shared {
    trunk: Option<Arc<Trunk>>,
    /// The time until which the gateway is not asked for channels again.
    refused: Option<Instant>,
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
        Self { name: name.to_string(), at, silent: Mutex::new(None), shared: tokio::sync::Mutex::default() }
    }

    fn is_silent(&self) -> bool {
        let silent = *self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.is_some_and(|until| Instant::now() < until)
    }

    /// A stream to the gateway, which was sent the request: of this class if the gateway has channels.
    async fn reach(
        &self,
        config: &Config,
        (request, class): (&Request, Option<u8>),
        limit: Duration,
    ) -> Result<GatewayStream, Unreached> {
        let reached = match class {
            Some(class) => self.share(config, (request, class), limit).await,
            None => within(limit, self.connect(config, request)).await,
        };
        let error = match reached {
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

    /// A connection of its own with this request.
    async fn connect(&self, config: &Config, request: &Request) -> io::Result<GatewayStream> {
        let mut stream = Stream::connect_as(&self.name, self.at, config).await?;
        stream.write_all(&request.emit()).await?;
        Ok(GatewayStream::Alone(Box::new(stream)))
    }

    /// A channel of the shared connection with this request; a connection of its own if there is no channel for it.
    async fn share(
        &self,
        config: &Config,
        (request, class): (&Request, u8),
        limit: Duration,
    ) -> io::Result<GatewayStream> {
        loop {
            let trunk = within(limit, self.trunk(config)).await?;
            let Some((trunk, is_new)) = trunk else { break };
            match within(limit, ask_in_channel(&trunk, request, class)).await {
                Ok(Some(stream)) => return Ok(stream),
                Ok(None) => break,
                Err(error) => {
                    self.forget(&trunk).await;
                    // A gateway that has restarted has reset the connection.
                    if is_new || error.kind() == io::ErrorKind::TimedOut {
                        return Err(error);
                    }
                }
            }
        }
        within(limit, self.connect(config, request)).await
    }

    /// The shared connection, and whether it is new; `None` if the gateway has no channels.
    async fn trunk(&self, config: &Config) -> io::Result<Option<(Arc<Trunk>, bool)>> {
        let mut shared = self.shared.lock().await;
        if let Some(trunk) = shared.trunk.as_ref().filter(|trunk| !trunk.is_lost()) {
            return Ok(Some((Arc::clone(trunk), false)));
        }
        if shared.refused.is_some_and(|until| Instant::now() < until) {
            return Ok(None);
        }
        shared.trunk = Trunk::over(Stream::connect_as(&self.name, self.at, config).await?).await?;
        shared.refused = None;
        if shared.trunk.is_none() {
            shared.refused = Some(Instant::now() + SILENCE);
            tracing::warn!(gateway = %self.at, "the gateway has no classes: each connection is separate");
        }
        Ok(shared.trunk.clone().map(|trunk| (trunk, true)))
    }

    /// Opens another shared connection for the next stream.
    async fn forget(&self, trunk: &Arc<Trunk>) {
        let mut shared = self.shared.lock().await;
        if shared.trunk.as_ref().is_some_and(|known| Arc::ptr_eq(known, trunk)) {
            shared.trunk = None;
        }
    }

    fn be_silent_until(&self, until: Option<Instant>) {
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

impl Dialer {
    /// Dials by TPA to a gateway; with `falls_back`, by unprotected TCP if no gateway answers.
    /// With classes, the streams to a gateway share one connection if the transport and the gateway have channels.
    pub fn new(gateways: Gateways, config: Config, falls_back: bool, classes: Option<Classes>) -> Arc<Self> {
        let config = Config { channels: config.channels || classes.is_some(), ..config };
        Arc::new(Self { gateways, config, falls_back, classes, of_targets: Mutex::default() })
    }

    /// Classes of packets and connections.
    pub(super) fn classes(&self) -> Option<&Classes> {
        self.classes.as_ref()
    }

    /// A connection to a target, or why there is none.
    pub(super) async fn open(&self, wanted: &Address) -> Result<Far, Refusal> {
        let request = Request::Tcp(wanted.clone());
        let what = (&request, self.classes.as_ref().map(|classes| classes.of_port(wanted.port)));
        let reached = match &self.gateways {
            Gateways::Listed(gateways) => self.reach(&gateways.iter().collect::<Vec<_>>(), what).await,
            Gateways::OfTargets(port) => {
                let gateways = self.at_target(wanted, *port).await?;
                self.reach(&gateways.iter().map(|gateway| &**gateway).collect::<Vec<_>>(), what).await
            }
        };
        match reached {
            Ok(stream) => return answer(stream).await.map(Far::Gateway),
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

    /// A stream to the gateway, which has granted this request: of this class, if there are classes. There is no fallback.
    pub(super) async fn request(&self, request: &Request, class: u8) -> Result<GatewayStream, Refusal> {
        // Only TCP has a target to which it could go.
        let Gateways::Listed(gateways) = &self.gateways else { return Err(Refusal::Command) };
        let what = (request, self.classes.as_ref().map(|_| class));
        match self.reach(&gateways.iter().collect::<Vec<_>>(), what).await {
            Ok(stream) => answer(stream).await,
            Err(_) => Err(Refusal::Network),
        }
    }

    /// A stream to the first gateway that answers. Those that have not answered lately are tried last, and not at
    /// all if targets can be reached without them.
    async fn reach(
        &self,
        gateways: &[&Gateway],
        what: (&Request, Option<u8>),
    ) -> Result<GatewayStream, Unreached> {
        let (silent, awake): (Vec<&Gateway>, Vec<_>) =
            gateways.iter().copied().partition(|gateway| gateway.is_silent());
        let last = if self.falls_back { Vec::new() } else { silent };
        let mut unreached = Unreached::Absent;
        for gateway in awake.into_iter().chain(last) {
            match gateway.reach(&self.config, what, self.limit(gateways.len())).await {
                Ok(stream) => return Ok(stream),
                Err(Unreached::Absent) => {}
                Err(Unreached::Declined) => unreached = Unreached::Declined,
            }
        }
        Err(unreached)
    }

    /// The gateways that are hosts of the target themselves.
    async fn at_target(&self, wanted: &Address, port: u16) -> Result<Vec<Arc<Gateway>>, Refusal> {
        let found = within(REQUEST, wanted.look_up()).await.map_err(|_| Refusal::Host)?;
        let name = Address { host: wanted.host.clone(), port };
        let mut known = self.of_targets.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TARGETS {
            known.clear();
        }
        let mut gateway = |address: &SocketAddr| {
            let at = SocketAddr::new(address.ip(), port);
            let new = || Arc::new(Gateway::new(&name, at));
            match &self.classes {
                // The keys of hosts are known by their names.
                Some(_) => known.entry((name.to_string(), at)).or_insert_with(new).clone(),
                None => new(),
            }
        };
        Ok(found.iter().map(&mut gateway).collect())
    }

    /// The time for one of so many gateways to answer: shorter where there is another way.
    fn limit(&self, gateways: usize) -> Duration {
        if self.falls_back || gateways > 1 { OTHER_WAY } else { 3 * CONNECT }
    }
}

/// Sends a request in a channel of a shared connection, and waits until the gateway has it; `None` if all channels are
/// in use.
async fn ask_in_channel(
    trunk: &Arc<Trunk>,
    request: &Request,
    class: u8,
) -> io::Result<Option<GatewayStream>> {
    let Some(mut stream) = trunk.open(class)? else { return Ok(None) };
    stream.write_all(&request.emit()).await?;
    stream.confirmed().await?;
    Ok(Some(GatewayStream::Channel(stream)))
}

/// Waits for the answer of a gateway to a request.
async fn answer(mut stream: GatewayStream) -> Result<GatewayStream, Refusal> {
    match within(CONNECT + 2 * REQUEST, stream.read_u8()).await {
        Ok(number) => Refusal::parse(number).map(|()| stream),
        Err(error) => {
            tracing::warn!("no answer of the gateway: {error}");
            Err(Refusal::Network)
        }
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback() || ip.is_unspecified()
}

/// The far stream of a connection.
#[derive(Debug)]
pub(super) enum Far {
    Gateway(GatewayStream),
    Tcp(TcpStream),
}

/// Time for a gateway to answer if there is another way.
const OTHER_WAY: Duration = Duration::from_secs(5);
/// Time for which a gateway that has not answered comes last in the order of attempts.
const SILENCE: Duration = Duration::from_secs(60);
/// Number of gateways of targets whose shared connections are kept.
const TARGETS: usize = 256;
