//! UDP sockets on Linux: GSO, GRO, TTL, error queue and path MTU.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    self, ControlMessage, ControlMessageOwned, MsgFlags, RecvMsg, SockaddrStorage, setsockopt, sockopt,
};
use tokio::net::UdpSocket;

use super::{Inbox, Parcel};
use multihop_hub::{DeliveryFailure, FailureCause, IncomingDatagram};

/// Whether datagrams may be fragmented (`ip(7)`).
#[derive(Clone, Copy, Debug)]
struct MtuDiscover;

nix::setsockopt_impl!(
    MtuDiscover,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    libc::c_int,
    sockopt::SetStruct<'_, libc::c_int>
);

/// The interface by which unicast datagrams leave (`ip(7)`), in network byte order.
#[derive(Clone, Copy, Debug)]
struct UnicastInterface;

nix::setsockopt_impl!(
    UnicastInterface,
    libc::IPPROTO_IP,
    IP_UNICAST_IF,
    libc::c_int,
    sockopt::SetStruct<'_, libc::c_int>
);

/// Number of the option, as `linux/in.h` has it.
const IP_UNICAST_IF: libc::c_int = 50;

/// Properties of the socket and of its system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    /// Whether one system call can send several datagrams.
    gso: bool,
    /// Whether the socket is bound to a wildcard address: answers must then be sent from the address that the peer
    /// used.
    is_wild: bool,
}

pub(super) fn prepare(socket: &socket2::Socket, local: SocketAddr) -> io::Result<Abilities> {
    setsockopt(socket, sockopt::Ipv4RecvErr, &true)?;
    setsockopt(socket, sockopt::Ipv4RecvTtl, &true)?;
    // The default lets routers fragment batches. IPv6 routers never fragment.
    setsockopt(socket, MtuDiscover, &libc::IP_PMTUDISC_DO)?;
    let is_wild = local.ip().is_unspecified();
    setsockopt(socket, sockopt::Ipv4PacketInfo, &is_wild)?;
    if local.is_ipv6() {
        setsockopt(socket, sockopt::Ipv6RecvErr, &true)?;
        setsockopt(socket, sockopt::Ipv6RecvHopLimit, &true)?;
        setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &is_wild)?;
    }
    // The option does not exist before Linux 5.0.
    let _ = setsockopt(socket, sockopt::UdpGroSegment, &true);
    Ok(Abilities { gso: true, is_wild })
}

/// Room for all control messages of a datagram or an error, of IPv4 and IPv6: an IPv6 socket receives both.
pub(super) fn control() -> Vec<u8> {
    nix::cmsg_space!(
        i32,
        i32,
        i32,
        libc::in_pktinfo,
        libc::in6_pktinfo,
        [u8; size_of::<libc::sock_extended_err>() + size_of::<libc::sockaddr_in6>()]
    )
}

/// Receives one datagram, or several of equal length from one peer that the kernel has coalesced.
pub(super) fn receive(
    udp: &UdpSocket,
    inbox: &mut Inbox,
    mut each: impl FnMut(IncomingDatagram<'_>),
) -> io::Result<()> {
    let Inbox { bytes, control } = inbox;
    let (len, from, about) = {
        let mut parts = [IoSliceMut::new(bytes)];
        let message = socket::recvmsg(udp.as_raw_fd(), &mut parts, Some(control), MsgFlags::empty())?;
        (message.bytes, address(&message), About::of(&message))
    };
    let Some(from) = from else { return Ok(()) };
    let About { ttl, local, each: size } = about;
    // An empty datagram counts too.
    for bytes in bytes[..len].chunks(size.unwrap_or(len).max(1)) {
        each(IncomingDatagram { from, local, ttl, bytes });
    }
    Ok(())
}

/// The control messages of a datagram.
#[derive(Default)]
struct About {
    ttl: Option<u8>,
    /// Destination address of the datagram.
    local: Option<IpAddr>,
    /// Length of each coalesced datagram.
    each: Option<usize>,
}

impl About {
    fn of(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Self {
        let mut about = Self::default();
        let Ok(all) = message.cmsgs() else { return about };
        for control in all {
            match control {
                ControlMessageOwned::Ipv4Ttl(ttl) | ControlMessageOwned::Ipv6HopLimit(ttl) => {
                    about.ttl = u8::try_from(ttl).ok();
                }
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    about.local = Some(Ipv4Addr::from_bits(u32::from_be(info.ipi_addr.s_addr)).into());
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    about.local = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                ControlMessageOwned::UdpGroSegments(size) => about.each = usize::try_from(size).ok(),
                _ => {}
            }
        }
        about
    }
}

/// Reads one entry of the socket's error queue and passes it to `each`.
pub(super) fn failure(
    udp: &UdpSocket,
    inbox: &mut Inbox,
    each: impl FnOnce(DeliveryFailure<'_>),
) -> io::Result<()> {
    let Inbox { bytes, control } = inbox;
    let (len, to, what) = {
        let mut parts = [IoSliceMut::new(bytes)];
        let message = socket::recvmsg(udp.as_raw_fd(), &mut parts, Some(control), MsgFlags::MSG_ERRQUEUE)?;
        (message.bytes, address(&message), error(&message))
    };
    if let (Some(to), Some((cause, reporter))) = (to, what) {
        each(DeliveryFailure { to, reporter, cause, quoted: &bytes[..len] });
    }
    Ok(())
}

/// The cause in an entry of the error queue, and the host that reported it.
fn error(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Option<(FailureCause, Option<IpAddr>)> {
    message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::Ipv4RecvErr(error, reporter) => {
            let reporter = reporter.map(|at| Ipv4Addr::from_bits(u32::from_be(at.sin_addr.s_addr)).into());
            Some((cause(error)?, reporter))
        }
        ControlMessageOwned::Ipv6RecvErr(error, reporter) => {
            let reporter = reporter.map(|at| Ipv6Addr::from(at.sin6_addr.s6_addr).into());
            Some((cause(error)?, reporter))
        }
        _ => None,
    })
}

fn cause(error: libc::sock_extended_err) -> Option<FailureCause> {
    match Errno::from_raw(i32::try_from(error.ee_errno).ok()?) {
        // The kernel reports closed ports and missing protocols alike.
        Errno::ECONNREFUSED => Some(FailureCause::PortClosed),
        Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::EACCES | Errno::EPERM => {
            Some(FailureCause::Unreachable)
        }
        Errno::EMSGSIZE => Some(FailureCause::TooLong(u16::try_from(error.ee_info).unwrap_or(u16::MAX))),
        _ => None,
    }
}

pub(super) fn send(
    udp: &UdpSocket,
    abilities: &mut Abilities,
    (parcel, interface): (&Parcel, u32),
    bytes: &[u8],
) -> io::Result<()> {
    let to = Way { abilities: *abilities, parcel, interface };
    let all = &bytes[parcel.range.clone()];
    if parcel.count() > 1 && abilities.gso {
        let size = u16::try_from(parcel.each).unwrap_or(u16::MAX);
        match send_one(udp, to, all, Some(&size)) {
            // The device does not support GSO, or the datagrams exceed the path MTU.
            Err(Errno::EIO) => abilities.gso = false,
            Err(Errno::EINVAL | Errno::EMSGSIZE) => {}
            sent => return Ok(sent?),
        }
    }
    for datagram in all.chunks(parcel.each.max(1)) {
        match send_one(udp, to, datagram, None) {
            Err(Errno::EMSGSIZE) => send_in_fragments(udp, to, datagram)?,
            sent => sent?,
        }
    }
    Ok(())
}

/// Sends in IP fragments a datagram that was built before the path MTU shrank and is now too long.
fn send_in_fragments(udp: &UdpSocket, way: Way<'_>, bytes: &[u8]) -> Result<(), Errno> {
    setsockopt(udp, MtuDiscover, &libc::IP_PMTUDISC_DONT)?;
    let sent = send_one(udp, way, bytes, None);
    setsockopt(udp, MtuDiscover, &libc::IP_PMTUDISC_DO)?;
    sent
}

/// Source, destination and interface of a parcel of datagrams.
#[derive(Clone, Copy)]
struct Way<'a> {
    abilities: Abilities,
    parcel: &'a Parcel,
    /// Index of the interface through which the parcel must leave; 0 if the system chooses.
    interface: u32,
}

fn send_one(udp: &UdpSocket, way: Way<'_>, bytes: &[u8], each: Option<&u16>) -> Result<(), Errno> {
    let Way { abilities, parcel, interface } = way;
    let mut control = Vec::new();
    let (four, six);
    match parcel.source.filter(|_| abilities.is_wild) {
        Some(IpAddr::V4(ip)) => {
            let ipi_spec_dst = libc::in_addr { s_addr: ip.to_bits().to_be() };
            four = libc::in_pktinfo {
                ipi_ifindex: interface.cast_signed(),
                ipi_spec_dst,
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            control.push(ControlMessage::Ipv4PacketInfo(&four));
        }
        // A link-local address needs an interface, which the peer's address names.
        Some(IpAddr::V6(ip)) if !ip.is_unicast_link_local() => {
            let ipi6_addr = libc::in6_addr { s6_addr: ip.octets() };
            six = libc::in6_pktinfo { ipi6_addr, ipi6_ifindex: interface };
            control.push(ControlMessage::Ipv6PacketInfo(&six));
        }
        _ => {}
    }
    let (class, wide) = (parcel.dscp << 2, i32::from(parcel.dscp << 2));
    if parcel.dscp > 0 {
        // A socket of IPv6 reads the first kind for IPv4 destinations.
        let is_v4 = parcel.to.ip().to_canonical().is_ipv4();
        control.push(if is_v4 { ControlMessage::Ipv4Tos(&class) } else { ControlMessage::Ipv6TClass(&wide) });
    }
    if let Some(each) = each {
        control.push(ControlMessage::UdpGsoSegments(each));
    }
    let to = SockaddrStorage::from(parcel.to);
    let parts = [IoSlice::new(bytes)];
    socket::sendmsg(udp.as_raw_fd(), &parts, &control, MsgFlags::empty(), Some(&to)).map(drop)
}

/// Number of the interface that has this address.
pub(super) fn interface(address: IpAddr) -> Option<u32> {
    let has = |storage: SockaddrStorage| {
        let four = storage.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        four.or_else(|| storage.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip()))) == Some(address)
    };
    let found = nix::ifaddrs::getifaddrs().ok()?.find(|interface| interface.address.is_some_and(has))?;
    nix::net::if_::if_nametoindex(found.interface_name.as_str()).ok()
}

/// Selects the interface over which the socket sends.
pub(super) fn use_interface(socket: &std::net::UdpSocket, interface: u32) -> Option<()> {
    setsockopt(socket, UnicastInterface, &interface.to_be().cast_signed()).ok()
}

pub(super) fn mtu(socket: &std::net::UdpSocket) -> Option<u16> {
    let mtu = socket::getsockopt(&socket.as_fd(), sockopt::IpMtu).ok()?;
    Some(u16::try_from(mtu).unwrap_or(u16::MAX))
}

fn address(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Option<SocketAddr> {
    let address = message.address.as_ref()?;
    let four = address.as_sockaddr_in().map(|four| SocketAddr::V4((*four).into()));
    four.or_else(|| address.as_sockaddr_in6().map(|six| SocketAddr::V6((*six).into())))
}
