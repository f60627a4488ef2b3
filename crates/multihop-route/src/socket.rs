//! The UDP socket of one interface.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::libc;
use nix::sys::socket::sockopt::{Ipv4PacketInfo, Ipv4RecvTtl, RcvBufForce};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, sendmsg, setsockopt,
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::router::Arrival;

/// Sends to the neighbours of an interface, and receives what they send.
#[derive(Debug)]
pub(crate) struct PortSocket {
    socket: Socket,
    address: Ipv4Addr,
    port: u16,
}

impl PortSocket {
    /// `waits`: whether messages wait behind data, or go first.
    pub(crate) fn open(interface: &str, address: Ipv4Addr, port: u16, waits: bool) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        socket.set_reuse_address(true)?;
        socket.set_broadcast(true)?;
        socket.set_tos_v4(if waits { 0 } else { INTERNETWORK_CONTROL })?;
        socket.bind_device(Some(interface.as_bytes()))?;
        setsockopt(&socket, Ipv4PacketInfo, &true)?;
        setsockopt(&socket, Ipv4RecvTtl, &true)?;
        // Neighbours' messages must not be lost in a flood of others. It takes CAP_NET_ADMIN.
        setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER)?;
        socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
        Ok(Self { socket, address, port })
    }

    /// Sends a datagram to a neighbour, or to all, with this TTL.
    pub(crate) fn send(&self, to: Option<Ipv4Addr>, ttl: u8, bytes: &[u8]) -> io::Result<()> {
        self.socket.set_ttl_v4(ttl.into())?;
        let from = libc::in_addr { s_addr: u32::from_ne_bytes(self.address.octets()) };
        let info =
            libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: from, ipi_addr: libc::in_addr { s_addr: 0 } };
        let to = SockaddrIn::from(SocketAddrV4::new(to.unwrap_or(Ipv4Addr::BROADCAST), self.port));
        let source = [ControlMessage::Ipv4PacketInfo(&info)];
        sendmsg(self.socket.as_raw_fd(), &[IoSlice::new(bytes)], &source, MsgFlags::empty(), Some(&to))?;
        Ok(())
    }

    /// The next datagram that has come over `interface`, this one's number; `None` if there is none now.
    pub(crate) fn receive<'a>(
        &self,
        interface: u32,
        buffer: &'a mut [u8],
    ) -> io::Result<Option<(Arrival, &'a [u8])>> {
        loop {
            let mut control = cmsg_space!(libc::in_pktinfo, i32);
            let mut parts = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let received =
                recvmsg::<SockaddrIn>(self.socket.as_raw_fd(), &mut parts, Some(&mut control), flags);
            let received = match received {
                Ok(received) => received,
                Err(nix::errno::Errno::EAGAIN) => return Ok(None),
                Err(nix::errno::Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let (mut to_all, mut ttl) = (false, 0);
            for message in received.cmsgs()? {
                match message {
                    ControlMessageOwned::Ipv4PacketInfo(info) => {
                        to_all = is_broadcast(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()));
                    }
                    ControlMessageOwned::Ipv4Ttl(given) => ttl = u8::try_from(given).unwrap_or(0),
                    _ => {}
                }
            }
            let whole = !received.flags.contains(MsgFlags::MSG_TRUNC);
            if let Some(from) = received.address.filter(|_| whole) {
                let (from, length) = (from.ip(), received.bytes);
                return Ok(Some((Arrival { interface, from, to_all, ttl }, &buffer[..length])));
            }
        }
    }
}

/// Of the network or of this link. The kernel delivers no broadcasts of other networks.
fn is_broadcast(address: Ipv4Addr) -> bool {
    address.is_broadcast() || address.octets()[3] == 255
}

impl AsFd for PortSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The type of service of routing messages (RFC 2474, class selector 6).
const INTERNETWORK_CONTROL: u32 = 0xc0;
/// Bytes: a second of short messages at full load of a radio.
const RECEIVE_BUFFER: usize = 4 << 20;
