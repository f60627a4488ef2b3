//! UDP sockets of a group, one for each interface.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Sockets of a group. Datagrams that arrive faster than they are read are dropped.
pub(super) struct Sockets {
    group: SocketAddr,
    sockets: Vec<Arc<UdpSocket>>,
    incoming: Receiver<Vec<u8>>,
    /// Ends the readers when it is dropped.
    _readers: JoinSet<()>,
}

impl Sockets {
    pub(super) fn open(group: SocketAddr, interfaces: &[String]) -> io::Result<Self> {
        let sockets: Vec<_> = if interfaces.is_empty() {
            vec![Arc::new(open(group, None)?)]
        } else {
            let open = |name: &String| {
                let opened = open(group, Some(name)).map(Arc::new);
                opened.map_err(|error| io::Error::new(error.kind(), format!("interface {name}: {error}")))
            };
            interfaces.iter().map(open).collect::<io::Result<_>>()?
        };
        let (sender, incoming) = channel(WAITING);
        let mut readers = JoinSet::new();
        for socket in &sockets {
            let (socket, sender) = (Arc::clone(socket), sender.clone());
            readers.spawn(async move {
                let mut buffer = [0; 2048];
                loop {
                    match socket.recv(&mut buffer).await {
                        // A full queue drops the datagram, as the kernel would.
                        Ok(length) => _ = sender.try_send(buffer[..length].to_vec()),
                        // An error of an earlier datagram, for example of an interface that is down.
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                }
            });
        }
        Ok(Self { group, sockets, incoming, _readers: readers })
    }

    /// Waits for the next datagram of any interface.
    pub(super) async fn receive(&mut self) -> Option<Vec<u8>> {
        self.incoming.recv().await
    }

    /// A datagram that has arrived already.
    pub(super) fn try_receive(&mut self) -> Option<Vec<u8>> {
        self.incoming.try_recv().ok()
    }

    /// Sends a datagram over all interfaces, when their queues have room. An interface that is down loses it.
    pub(super) async fn send(&self, datagram: &[u8]) {
        for socket in &self.sockets {
            _ = timeout(PAUSE, socket.send_to(datagram, self.group)).await;
        }
    }
}

fn open(group: SocketAddr, interface: Option<&str>) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(group), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    // Packets that wait in the kernel cannot be suppressed any more.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.set_recv_buffer_size(RECV_BUFFER)?;
    #[cfg(target_os = "linux")]
    if let Some(name) = interface {
        socket.bind_device(Some(name.as_bytes()))?;
    }
    let index =
        interface.map(|name| nix::net::if_::if_nametoindex(name).map_err(io::Error::from)).transpose()?;
    match group.ip() {
        IpAddr::V4(address) if address.is_multicast() => {
            let from = index.map_or(
                InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED),
                InterfaceIndexOrAddress::Index,
            );
            socket.join_multicast_v4_n(&address, &from)?;
            socket.set_multicast_ttl_v4(1)?;
            socket.set_multicast_loop_v4(true)?;
        }
        IpAddr::V4(_) => socket.set_broadcast(true)?,
        IpAddr::V6(address) => {
            socket.set_only_v6(true)?;
            socket.join_multicast_v6(&address, index.unwrap_or(0))?;
            socket.set_multicast_if_v6(index.unwrap_or(0))?;
            socket.set_multicast_hops_v6(1)?;
            socket.set_multicast_loop_v6(true)?;
        }
    }
    // A socket at the group's address gets no other datagrams.
    socket.bind(&group.into())?;
    UdpSocket::from_std(socket.into())
}

/// Datagrams that wait for the node: 1.4 MB.
const WAITING: usize = 1024;
/// Longest time for which a full interface holds the node up.
const PAUSE: Duration = Duration::from_millis(100);
const SEND_BUFFER: usize = 16 * 1024;
const RECV_BUFFER: usize = 1024 * 1024;
