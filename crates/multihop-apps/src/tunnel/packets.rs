//! All IP between two hosts: the packets of a TUN interface at each end, on one connection.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use multihop_net::PublicKey;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::Refusal;
use super::classes::{Classes, USUAL};
use super::dialer::Dialer;
use super::gateway_stream::GatewayStream;
use super::interface::{Interface, MTU, Net};
use super::request::{Request, message, read_message};
use super::splice::Reset;

/// Carries the packets of an interface to the gateway, again and again; ends if the gateway does not want any.
pub async fn packets(interface: Interface, dialer: Arc<Dialer>) -> io::Result<()> {
    let interface = Arc::new(interface);
    loop {
        match open(&dialer).await {
            Ok(streams) => {
                tracing::info!(classes = streams.len(), "the connection for packets is open");
                let error = match (dialer.classes(), streams.len()) {
                    (Some(classes), 2..) => carry_classes(&interface, streams, classes).await,
                    _ => carry(&interface, streams).await,
                };
                tracing::warn!("the connection for packets was lost and is being reopened: {error}");
            }
            Err(refusal @ (Refusal::NotAllowed | Refusal::AddressType)) => {
                return Err(io::Error::other(format!("this gateway forwards no IP packets: {refusal}")));
            }
            Err(refusal) => tracing::warn!("no connection for packets yet: {refusal}"),
        }
        sleep(PAUSE).await;
    }
}

/// A stream for the packets of each class, or one for all.
async fn open(dialer: &Dialer) -> Result<Vec<(u8, GatewayStream)>, Refusal> {
    let all = dialer.classes().map_or_else(|| [USUAL].into(), Classes::all);
    let mut streams = Vec::new();
    for class in all {
        let stream = dialer.request(&Request::Packets, class).await?;
        if matches!(stream, GatewayStream::Alone(_)) {
            return Ok(vec![(class, stream)]);
        }
        streams.push((class, stream));
    }
    Ok(streams)
}

/// Carries packets in both directions over one stream until it is lost.
async fn carry(interface: &Interface, streams: Vec<(u8, GatewayStream)>) -> io::Error {
    let Some((_, stream)) = streams.into_iter().next() else { return io::ErrorKind::NotConnected.into() };
    let (reader, mut writer) = split(stream);
    let up = async {
        let mut buffer = vec![0; MTU];
        loop {
            // While the connection is slow, packets wait in the interface's queue, and the kernel drops the rest.
            let length = interface.receive(&mut buffer).await?;
            writer.write_all(&message(&[&buffer[..length]])).await?;
        }
    };
    let lost: io::Result<Infallible> = tokio::select! {
        lost = up => lost,
        lost = deliver(interface, reader) => lost,
    };
    let Err(error) = lost;
    error
}

/// Carries packets in both directions over a stream for each class until one is lost.
async fn carry_classes(
    interface: &Arc<Interface>,
    streams: Vec<(u8, GatewayStream)>,
    classes: &Classes,
) -> io::Error {
    let (lanes, mut tasks) = (Lanes::new(0), JoinSet::new());
    for (class, stream) in streams {
        let (reader, writer) = split(stream);
        let waiting = lanes.open(class);
        tasks.spawn(async move { transmit(waiting, writer).await });
        let interface = Arc::clone(interface);
        tasks.spawn(async move { deliver(&interface, reader).await.map(|never| match never {}) });
    }
    let up = async {
        let mut buffer = vec![0; MTU];
        loop {
            let length = interface.receive(&mut buffer).await?;
            lanes.push(classes.of_packet(&buffer[..length]), &buffer[..length]);
        }
    };
    let lost: io::Result<Infallible> = tokio::select! {
        lost = up => lost,
        ended = tasks.join_next() => Err(match ended {
            Some(Ok(Err(error))) => error,
            _ => io::ErrorKind::UnexpectedEof.into(),
        }),
    };
    let Err(error) = lost;
    error
}

/// Delivers the packets of a stream to this host.
async fn deliver(interface: &Interface, mut reader: impl AsyncRead + Unpin) -> io::Result<Infallible> {
    let mut buffer = vec![0; MTU];
    loop {
        interface.send(read_packet(&mut reader, &mut buffer).await?.bytes);
    }
}

/// Writes packets that wait into a stream.
async fn transmit(mut waiting: Receiver<Vec<u8>>, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
    while let Some(packet) = waiting.recv().await {
        writer.write_all(&message(&[&packet])).await?;
    }
    Ok(())
}

/// Queues of packets for one host, by class.
#[derive(Debug)]
pub(super) struct Lanes {
    /// Number of the connection, which differs from that of every other connection.
    connection: u64,
    queues: Mutex<BTreeMap<u8, Sender<Vec<u8>>>>,
}

impl Lanes {
    /// Creates the queues of a connection, which get their classes later.
    pub(super) fn new(connection: u64) -> Self {
        Self { connection, queues: Mutex::default() }
    }

    /// Adds the queue of a class.
    fn open(&self, class: u8) -> Receiver<Vec<u8>> {
        let (packets, waiting) = channel(QUEUE);
        self.lock().insert(class, packets);
        waiting
    }

    /// Removes the queue of a class; returns whether there are others.
    fn close(&self, class: u8) -> bool {
        let mut queues = self.lock();
        queues.remove(&class);
        !queues.is_empty()
    }

    /// Adds a packet to the queue of its class, or else of the next one, or the last. A full queue drops it.
    fn push(&self, class: u8, packet: &[u8]) {
        let queues = self.lock();
        if let Some((_, queue)) = queues.range(class..).next().or_else(|| queues.last_key_value()) {
            let _ = queue.try_send(packet.to_vec());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u8, Sender<Vec<u8>>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The interface of a gateway, which several near ends share.
#[derive(Debug)]
pub(super) struct Exchange {
    interface: Interface,
    classes: Classes,
    routes: Mutex<BTreeMap<IpAddr, Route>>,
}

/// Where packets for an address go.
#[derive(Debug)]
struct Route {
    /// Key of the peer that has the address; `None` without keys.
    owner: Option<PublicKey>,
    /// Queues of the connection to which packets go.
    lanes: Arc<Lanes>,
}

impl Route {
    fn connection(&self) -> u64 {
        self.lanes.connection
    }
}

/// The task that hands out packets; it ends with this value.
#[derive(Debug)]
pub(super) struct Dispatcher(JoinHandle<()>);

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Exchange {
    /// Starts to hand out the packets of the interface, by class.
    pub(super) fn start(interface: Interface, classes: Classes) -> (Arc<Self>, Dispatcher) {
        let exchange = Arc::new(Self { interface, classes, routes: Mutex::default() });
        let task = tokio::spawn({
            let exchange = Arc::clone(&exchange);
            async move { exchange.dispatch().await }
        });
        (exchange, Dispatcher(task))
    }

    async fn dispatch(&self) {
        let mut buffer = vec![0; MTU];
        loop {
            match self.interface.receive(&mut buffer).await {
                Ok(length) => self.hand_out(&buffer[..length]),
                Err(error) => {
                    tracing::warn!("cannot read packets: {error}");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Passes a packet to its queue. A packet for nobody, or for a full queue, is dropped.
    fn hand_out(&self, packet: &[u8]) {
        if let Some(Packet { to, bytes, .. }) = Packet::parse(packet)
            && let Some(route) = self.lock().get(&to)
        {
            route.lanes.push(self.classes.of_packet(bytes), bytes);
        }
    }

    /// Carries the packets of one near end, or those of one class, to and from the addresses from which it sends.
    pub(super) async fn serve(
        &self,
        near: impl Reset,
        lanes: &Arc<Lanes>,
        class: u8,
    ) -> io::Result<(u64, u64)> {
        let owner = near.peer_key();
        let waiting = lanes.open(class);
        let claim = |from| self.claim(from, Route { owner, lanes: Arc::clone(lanes) });
        let result = self.carry(near, claim, waiting).await;
        if !lanes.close(class) {
            self.lock().retain(|_, route| route.connection() != lanes.connection);
        }
        result
    }

    async fn carry(
        &self,
        near: impl Reset,
        claim: impl Fn(IpAddr) -> bool,
        waiting: Receiver<Vec<u8>>,
    ) -> io::Result<(u64, u64)> {
        let (mut reader, writer) = split(near);
        let up = async {
            let mut buffer = vec![0; MTU];
            loop {
                let packet = read_packet(&mut reader, &mut buffer).await?;
                if claim(packet.from) {
                    self.interface.send(packet.bytes);
                }
            }
        };
        tokio::select! {
            lost = up => lost,
            ended = transmit(waiting, writer) => ended.map(|()| (0, 0)),
        }
    }

    /// Whether the connection may send from this address. A later connection of the same owner takes an address over.
    fn claim(&self, address: IpAddr, new: Route) -> bool {
        may_claim(&mut self.lock(), self.interface.net(), address, new)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Route>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn may_claim(routes: &mut BTreeMap<IpAddr, Route>, net: Net, address: IpAddr, new: Route) -> bool {
    match routes.get(&address) {
        Some(route) if route.connection() == new.connection() => return true,
        Some(route) if route.owner != new.owner || route.connection() > new.connection() => return false,
        Some(_) => {}
        None => {
            let mine = routes.values().filter(|route| route.connection() == new.connection()).count();
            if !net.has_other(address) || mine >= ADDRESSES {
                return false;
            }
        }
    }
    routes.insert(address, new);
    true
}

/// An IP packet with its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    from: IpAddr,
    to: IpAddr,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the addresses of a packet; the kernel checks the rest.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (from, to) = match bytes.first()? >> 4 {
            4 => {
                let addresses = bytes.get(12..20)?.as_chunks::<4>().0;
                (Ipv4Addr::from(addresses[0]).into(), Ipv4Addr::from(addresses[1]).into())
            }
            6 => {
                let addresses = bytes.get(8..40)?.as_chunks::<16>().0;
                (Ipv6Addr::from(addresses[0]).into(), Ipv6Addr::from(addresses[1]).into())
            }
            _ => return None,
        };
        Some(Self { from, to, bytes })
    }
}

async fn read_packet<'a>(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &'a mut [u8],
) -> io::Result<Packet<'a>> {
    let bytes = read_message(stream, buffer).await?;
    Packet::parse(bytes).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "received a message that is not an IP packet")
    })
}

/// Number of packets for one near end that may wait while its connection is slow.
const QUEUE: usize = 100;
/// Maximum number of addresses of one near end.
const ADDRESSES: usize = 16;
/// Pause before a lost connection is opened again.
const PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn route(connection: u64, owner: Option<u8>) -> Route {
        let owner = owner.map(|n| PublicKey::from_bytes([n; 32]));
        Route { owner, lanes: Arc::new(Lanes::new(connection)) }
    }

    #[test]
    fn an_address_belongs_to_one_near_end() {
        let net = "10.9.0.1/24".parse().unwrap();
        let mut routes = BTreeMap::new();
        let mut claim = |address: &str, connection, owner| {
            may_claim(&mut routes, net, address.parse().unwrap(), route(connection, owner))
        };
        assert!(claim("10.9.0.2", 1, Some(1)));
        assert!(claim("10.9.0.2", 1, Some(1)), "its next packet");
        assert!(!claim("10.9.0.2", 2, Some(2)), "somebody else");
        assert!(claim("10.9.0.2", 3, Some(1)), "the same owner has connected again");
        assert!(!claim("10.9.0.2", 1, Some(1)), "the connection before");
        assert!(!claim("10.9.0.1", 4, None), "the gateway itself");
        assert!(!claim("192.0.2.1", 4, None), "outside of the network");
        for n in 0..16 {
            assert!(claim(&format!("10.9.0.{}", 100 + n), 5, None));
        }
        assert!(!claim("10.9.0.200", 5, None), "too many");
        assert!(claim("10.9.0.100", 6, None), "all who know a token are equal");
    }

    #[test]
    fn packets_have_addresses() {
        let mut four = vec![0x45; 20];
        four[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let packet = Packet::parse(&four).unwrap();
        assert_eq!((packet.from.to_string(), packet.to.to_string()), ("10.0.0.1".into(), "10.0.0.2".into()));
        assert_eq!(Packet::parse(&[0x60; 40]).unwrap().from, IpAddr::from([0x60; 16]));
        for bytes in [&[][..], &[0x45; 19], &[0x60; 39], &[0x55; 40]] {
            assert!(Packet::parse(bytes).is_none());
        }
    }
}
