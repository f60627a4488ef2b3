//! All IP between two hosts: the packets of a TUN interface at each end, on one TPA connection.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use multihop_net::PublicKey;
use tokio::io::{AsyncRead, AsyncWriteExt, split};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::Refusal;
use super::dialer::Dialer;
use super::interface::{Interface, MTU, Net};
use super::request::{Request, message, read_message};
use super::splice::Reset;

/// Carries the packets of an interface to the gateway, again and again; ends if the gateway does not want any.
pub async fn packets(interface: Interface, dialer: Arc<Dialer>) -> io::Result<()> {
    loop {
        match dialer.request(&Request::Packets).await {
            Ok(far) => {
                tracing::info!("the connection for packets is open");
                let Err(error) = carry(&interface, far).await;
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

/// Carries packets in both directions until the connection is lost.
async fn carry(interface: &Interface, far: impl Reset) -> Result<std::convert::Infallible, io::Error> {
    let (mut reader, mut writer) = split(far);
    let up = async {
        let mut buffer = vec![0; MTU];
        loop {
            // While the connection is slow, packets wait in the interface's queue, and the kernel drops the rest.
            let length = interface.receive(&mut buffer).await?;
            writer.write_all(&message(&[&buffer[..length]])).await?;
        }
    };
    let down = async {
        let mut buffer = vec![0; MTU];
        loop {
            let packet = read_packet(&mut reader, &mut buffer).await?;
            interface.send(packet.bytes);
        }
    };
    tokio::select! {
        lost = up => lost,
        lost = down => lost,
    }
}

/// The interface of a gateway, which several near ends share.
#[derive(Debug)]
pub(super) struct Exchange {
    interface: Interface,
    routes: Mutex<BTreeMap<IpAddr, Route>>,
}

/// Where packets for an address go.
#[derive(Debug)]
struct Route {
    /// Number of the connection to which packets go.
    connection: u64,
    /// Key of the peer that has the address; `None` without keys.
    owner: Option<PublicKey>,
    packets: Sender<Vec<u8>>,
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
    /// Starts to hand out the packets of the interface.
    pub(super) fn start(interface: Interface) -> (Arc<Self>, Dispatcher) {
        let exchange = Arc::new(Self { interface, routes: Mutex::default() });
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
            let _ = route.packets.try_send(bytes.to_vec());
        }
    }

    /// Carries the packets of one near end, which gets the addresses from which it sends.
    pub(super) async fn serve(&self, near: impl Reset, connection: u64) -> io::Result<(u64, u64)> {
        let owner = near.peer_key();
        let (packets, waiting) = channel(QUEUE);
        let result = self.carry(
            near,
            |from| self.claim(from, Route { connection, owner, packets: packets.clone() }),
            waiting,
        );
        let result = result.await;
        self.lock().retain(|_, route| route.connection != connection);
        result
    }

    async fn carry(
        &self,
        near: impl Reset,
        claim: impl Fn(IpAddr) -> bool,
        mut waiting: Receiver<Vec<u8>>,
    ) -> io::Result<(u64, u64)> {
        let (mut reader, mut writer) = split(near);
        let up = async {
            let mut buffer = vec![0; MTU];
            loop {
                let packet = read_packet(&mut reader, &mut buffer).await?;
                if claim(packet.from) {
                    self.interface.send(packet.bytes);
                }
            }
        };
        let down = async {
            while let Some(packet) = waiting.recv().await {
                writer.write_all(&message(&[&packet])).await?;
            }
            Ok((0, 0))
        };
        tokio::select! {
            lost = up => lost,
            lost = down => lost,
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
        Some(route) if route.connection == new.connection => return true,
        Some(route) if route.owner != new.owner || route.connection > new.connection => return false,
        Some(_) => {}
        None => {
            let mine = routes.values().filter(|route| route.connection == new.connection).count();
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
        Route { connection, owner, packets: channel(1).0 }
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
