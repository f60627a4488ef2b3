//! UDP sockets of systems other than Linux: no TTL, no error queue, one datagram in each call.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::UdpSocket;

use super::{Inbox, Parcel};
use multihop_hub::{DeliveryFailure, IncomingDatagram};

/// Properties of the socket; other systems than Linux have none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities;

pub(super) fn prepare(_socket: &socket2::Socket, _local: SocketAddr) -> io::Result<Abilities> {
    Ok(Abilities)
}

pub(super) fn control() -> Vec<u8> {
    Vec::new()
}

pub(super) fn receive(
    udp: &UdpSocket,
    inbox: &mut Inbox,
    mut each: impl FnMut(IncomingDatagram<'_>),
) -> io::Result<()> {
    let (len, from) = udp.try_recv_from(&mut inbox.bytes)?;
    each(IncomingDatagram { from, local: None, ttl: None, bytes: &inbox.bytes[..len] });
    Ok(())
}

pub(super) fn failure(
    _udp: &UdpSocket,
    _inbox: &mut Inbox,
    _each: impl FnOnce(DeliveryFailure<'_>),
) -> io::Result<()> {
    Err(io::ErrorKind::WouldBlock.into())
}

pub(super) fn send(
    udp: &UdpSocket,
    _abilities: &mut Abilities,
    (parcel, _interface): (&Parcel, u32),
    bytes: &[u8],
) -> io::Result<()> {
    for datagram in bytes[parcel.range.clone()].chunks(parcel.each.max(1)) {
        udp.try_send_to(datagram, parcel.to)?;
    }
    Ok(())
}

/// Always returns `None`: only Linux sends by a chosen interface.
pub(super) fn interface(_address: IpAddr) -> Option<u32> {
    None
}

/// Always returns `None`: only Linux sends by a chosen interface.
pub(super) fn use_interface(_socket: &std::net::UdpSocket, _interface: u32) -> Option<()> {
    None
}

pub(super) fn mtu(_socket: &std::net::UdpSocket) -> Option<u16> {
    None
}
