//! The UDP socket of a hub: batches in and out, path MTU, and the error queue.
//!
//! Linux reports the TTL of received datagrams, sends several datagrams in one call, and reports ICMP errors.
//! Other systems only send and receive.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

mod outbox;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(not(target_os = "linux"))]
use portable as system;

pub(crate) use outbox::{Outbox, Parcel};

use crate::config::SocketOptions;
use multihop_hub::{DeliveryFailure, IncomingDatagram};

/// A UDP socket that sends and receives many datagrams in one call where the system can.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: UdpSocket,
    local: SocketAddr,
    abilities: system::Abilities,
    /// Local addresses with the indices of their interfaces. A datagram sent from one of these addresses leaves
    /// through its interface, whatever the routing table prefers.
    interfaces: Vec<(IpAddr, u32)>,
}

/// The buffers of one receive call.
#[derive(Debug)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    control: Vec<u8>,
}

/// The result of [`Socket::send`].
#[derive(Debug)]
pub(crate) enum SendResult {
    /// The datagram was sent, or counts as lost.
    Done,
    /// The kernel's buffer is full; try later.
    Later,
    /// This host has no route to the destination.
    Unreachable,
}

impl Socket {
    /// Binds a socket whose datagrams start with this TTL.
    pub(crate) fn open(local: SocketAddr, ttl: u8, options: &SocketOptions) -> io::Result<Self> {
        let socket = socket2::Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        // The kernel silently limits the size of the buffer.
        socket.set_recv_buffer_size(options.receive_buffer)?;
        socket.set_send_buffer_size(options.send_buffer)?;
        match local {
            SocketAddr::V4(_) => socket.set_ttl_v4(u32::from(ttl))?,
            SocketAddr::V6(_) => socket.set_unicast_hops_v6(u32::from(ttl))?,
        }
        let abilities = system::prepare(&socket, local)?;
        socket.bind(&local.into())?;
        let udp = UdpSocket::from_std(socket.into())?;
        Ok(Self { local: udp.local_addr()?, udp, abilities, interfaces: Vec::new() })
    }

    /// From now on, sends datagrams from these addresses through the interfaces that have them. Fails if this
    /// host has no such address.
    pub(crate) fn use_addresses(&mut self, addresses: &[IpAddr]) -> io::Result<()> {
        let missing = |address| {
            let text = format!("no interface of this host has the address {address}");
            io::Error::new(io::ErrorKind::AddrNotAvailable, text)
        };
        let of = |&address| Ok((address, system::interface(address).ok_or_else(|| missing(address))?));
        self.interfaces = addresses.iter().map(of).collect::<io::Result<_>>()?;
        Ok(())
    }

    /// Local address of the socket.
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Waits until a datagram or an error has arrived.
    pub(crate) async fn ready(&self) {
        let interest = Interest::READABLE.add(Interest::ERROR);
        // An error of the reactor recurs at the next call.
        let _ = self.udp.ready(interest).await;
    }

    /// Waits until there is room to send.
    pub(crate) async fn writable(&self) {
        let _ = self.udp.writable().await;
    }

    /// Receives the datagrams that one system call returns; returns false if there were none.
    pub(crate) fn receive(&self, inbox: &mut Inbox, each: impl FnMut(IncomingDatagram<'_>)) -> bool {
        match self.udp.try_io(Interest::READABLE, || system::receive(&self.udp, inbox, each)) {
            Ok(()) => true,
            // The error concerns an earlier datagram; details are in the error queue.
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// Reads one error about a datagram sent earlier from the error queue; returns false if there was none.
    pub(crate) fn failure(&self, inbox: &mut Inbox, each: impl FnOnce(DeliveryFailure<'_>)) -> bool {
        let taken = self.udp.try_io(Interest::ERROR, || system::failure(&self.udp, inbox, each));
        taken.is_ok()
    }

    /// Sends the datagrams of a parcel.
    pub(crate) fn send(&mut self, parcel: &Parcel, bytes: &[u8]) -> SendResult {
        let mut tries = 0;
        let listed = self.interfaces.iter().find(|(address, _)| parcel.source == Some(*address));
        let interface = listed.map_or(0, |&(_, interface)| interface);
        loop {
            tries += 1;
            let sent = self.udp.try_io(Interest::WRITABLE, || {
                system::send(&self.udp, &mut self.abilities, (parcel, interface), bytes)
            });
            let Err(error) = sent else { return SendResult::Done };
            // The first call may return a pending error about another destination; the second returns its own.
            match error.kind() {
                io::ErrorKind::WouldBlock => return SendResult::Later,
                _ if tries < 2 => {}
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                    return SendResult::Unreachable;
                }
                _ => {
                    tracing::debug!(to = %parcel.to, %error, "datagram not sent");
                    return SendResult::Done;
                }
            }
        }
    }
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; usize::from(u16::MAX)], control: system::control() }
    }
}

/// The path MTU to `peer` from this local address, if the system knows it.
pub(crate) fn path_mtu(peer: SocketAddr, from: Option<IpAddr>) -> Option<u16> {
    system::mtu(&connected(peer, from)?)
}

/// The address of this host from which the system sends to `peer`, if it has a route.
pub(crate) fn local_address(peer: SocketAddr) -> Option<IpAddr> {
    connected(peer, None)?.local_addr().ok().map(|local| local.ip())
}

/// UDP socket connected to `peer`, so that the system chooses a route, without sending anything; `None` if there is
/// no route.
fn connected(peer: SocketAddr, from: Option<IpAddr>) -> Option<std::net::UdpSocket> {
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = std::net::UdpSocket::bind(SocketAddr::new(from.unwrap_or(any), 0)).ok()?;
    if let Some(interface) = from.and_then(system::interface) {
        system::use_interface(&socket, interface)?;
    }
    socket.connect(peer).ok()?;
    Some(socket)
}
