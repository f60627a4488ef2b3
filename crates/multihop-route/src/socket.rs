//! The UDP socket of one interface.

use std::cell::Cell;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{SystemTime, UNIX_EPOCH};

use multihop_core::Duration;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{
    IpTransparent, Ipv4PacketInfo, Ipv4RecvTtl, Ipv6RecvPacketInfo, Priority, RcvBufForce, ReceiveTimestampns,
};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrIn, SockaddrIn6, SockaddrStorage, recvmsg,
    sendmsg, setsockopt,
};
use nix::sys::time::TimeSpec;
use socket2::{Domain, Protocol, Socket, Type};

use crate::config::Config;
use crate::router::Arrival;

/// Socket that sends to the neighbours of an interface and receives from them.
#[derive(Debug)]
pub(crate) struct PortSocket {
    socket: Socket,
    /// The number of the interface.
    interface: u32,
    address: IpAddr,
    port: u16,
    /// Whether datagrams from other ports are ignored (RFC 8966, section 4).
    is_exact: bool,
    /// Multicast group of all neighbours under IPv6.
    group: Ipv6Addr,
    /// Whether messages wait behind data.
    waits: bool,
    /// Instant at which the socket was last empty: datagrams that are read later arrived after it.
    drained: Cell<std::time::Instant>,
}

impl PortSocket {
    /// Opens the socket of an interface, which is given by its number and name.
    pub(crate) fn open((interface, name): (u32, &str), address: IpAddr, config: &Config) -> io::Result<Self> {
        let (port, group, waits) = (config.routing.port(), config.group(), config.routing.messages_wait());
        let is_exact = config.has_both_families();
        let domain = if address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        socket.set_reuse_address(true)?;
        socket.bind_device(Some(name.as_bytes()))?;
        let (class, priority) = if waits { (0, 0) } else { (INTERNETWORK_CONTROL, TC_PRIO_CONTROL) };
        let any = match address {
            IpAddr::V4(_) => {
                socket.set_broadcast(true)?;
                socket.set_tos_v4(class)?;
                setsockopt(&socket, Ipv4PacketInfo, &true)?;
                setsockopt(&socket, Ipv4RecvTtl, &true)?;
                Ipv4Addr::UNSPECIFIED.into()
            }
            IpAddr::V6(_) => {
                socket.set_only_v6(true)?;
                socket.set_tclass_v6(class)?;
                socket.set_multicast_if_v6(interface)?;
                socket.set_multicast_loop_v6(false)?;
                socket.join_multicast_v6(&group, interface)?;
                setsockopt(&socket, Ipv6RecvPacketInfo, &true)?;
                IpAddr::from(Ipv6Addr::UNSPECIFIED)
            }
        };
        setsockopt(&socket, ReceiveTimestampns, &true)?;
        // Setting the IPv4 type of service changes the socket's priority, by which queues of the kernel sort.
        // Setting the priority and the buffer size takes CAP_NET_ADMIN.
        setsockopt(&socket, Priority, &priority)?;
        // Neighbours' messages must not be lost in a flood from other senders.
        setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER)?;
        socket.bind(&SocketAddr::new(any, port).into())?;
        let drained = Cell::new(std::time::Instant::now());
        Ok(Self { socket, interface, address, port, is_exact, group, waits, drained })
    }

    /// Whether a socket opened with this configuration would equal this one.
    pub(crate) fn suits(&self, config: &Config) -> bool {
        let port = config.routing.port();
        (self.group, self.waits, self.port) == (config.group(), config.routing.messages_wait(), port)
    }

    /// Sends a datagram with this TTL to a neighbour, or to all neighbours if `to` is `None`.
    pub(crate) fn send(&self, to: Option<IpAddr>, ttl: u8, bytes: &[u8]) -> io::Result<()> {
        match self.address {
            IpAddr::V4(address) => {
                self.socket.set_ttl_v4(ttl.into())?;
                let from = libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) };
                let any = libc::in_addr { s_addr: 0 };
                let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: from, ipi_addr: any };
                let to = to.unwrap_or(Ipv4Addr::BROADCAST.into());
                self.transmit(to, &ControlMessage::Ipv4PacketInfo(&info), bytes)
            }
            IpAddr::V6(address) => {
                self.socket.set_multicast_hops_v6(ttl.into())?;
                let from = libc::in6_addr { s6_addr: address.octets() };
                let info = libc::in6_pktinfo { ipi6_addr: from, ipi6_ifindex: self.interface };
                let to = to.unwrap_or(self.group.into());
                self.transmit(to, &ControlMessage::Ipv6PacketInfo(&info), bytes)
            }
        }
    }

    /// Sends a last datagram to all neighbours from the interface's address, even if the interface has lost
    /// the address.
    pub(crate) fn send_last(&self, bytes: &[u8]) -> io::Result<()> {
        // Setting IP_TRANSPARENT takes CAP_NET_ADMIN.
        setsockopt(&self.socket, IpTransparent, &true)?;
        self.send(None, 1, bytes)
    }

    fn transmit(&self, to: IpAddr, source: &ControlMessage<'_>, bytes: &[u8]) -> io::Result<()> {
        let to = SockaddrStorage::from(SocketAddr::new(to, self.port));
        let parts = [IoSlice::new(bytes)];
        sendmsg(self.socket.as_raw_fd(), &parts, &[*source], MsgFlags::empty(), Some(&to))?;
        Ok(())
    }

    /// The next datagram that has arrived over the interface; `None` if none waits.
    pub(crate) fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<(Arrival, &'a [u8])>> {
        loop {
            let mut control = cmsg_space!(libc::in6_pktinfo, i32, libc::timespec);
            let mut parts = [IoSliceMut::new(buffer)];
            let flags = MsgFlags::MSG_DONTWAIT;
            let received =
                recvmsg::<SockaddrStorage>(self.socket.as_raw_fd(), &mut parts, Some(&mut control), flags);
            let received = match received {
                Ok(received) => received,
                Err(Errno::EAGAIN) => {
                    self.drained.set(std::time::Instant::now());
                    return Ok(None);
                }
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let (mut to_all, mut ttl, mut ago) = (false, 0, Duration::ZERO);
            for message in received.cmsgs()? {
                match message {
                    ControlMessageOwned::Ipv4PacketInfo(info) => {
                        to_all = is_broadcast(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()));
                    }
                    ControlMessageOwned::Ipv6PacketInfo(info) => {
                        to_all = info.ipi6_addr.s6_addr == self.group.octets();
                    }
                    ControlMessageOwned::Ipv4Ttl(given) => ttl = u8::try_from(given).unwrap_or(0),
                    ControlMessageOwned::ScmTimestampns(at) => {
                        ago = since(at).min(self.drained.get().elapsed().into());
                    }
                    _ => {}
                }
            }
            let whole = !received.flags.contains(MsgFlags::MSG_TRUNC);
            let of_port = |from: &&SockaddrStorage| !self.is_exact || port(from) == Some(self.port);
            let from = received.address.as_ref().filter(|_| whole).filter(of_port);
            if let Some(from) = from.and_then(address) {
                let (interface, length) = (self.interface, received.bytes);
                return Ok(Some((Arrival { interface, from, to_all, ttl, ago }, &buffer[..length])));
            }
        }
    }
}

fn address(of: &SockaddrStorage) -> Option<IpAddr> {
    let four = || of.as_sockaddr_in().map(|address| address.ip().into());
    let six = || of.as_sockaddr_in6().map(|address| address.ip().into());
    four().or_else(six)
}

fn port(of: &SockaddrStorage) -> Option<u16> {
    let four = || of.as_sockaddr_in().map(SockaddrIn::port);
    four().or_else(|| of.as_sockaddr_in6().map(SockaddrIn6::port))
}

/// Time since the kernel received a datagram, by the realtime clock.
fn since(stamp: TimeSpec) -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH + stamp.into()).unwrap_or_default().into()
}

/// Whether an address is the broadcast address of a network or of the link. The kernel delivers no broadcasts of other
/// networks.
fn is_broadcast(address: Ipv4Addr) -> bool {
    address.is_broadcast() || address.octets()[3] == 255
}

impl AsFd for PortSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Type of service of routing messages (RFC 2474, class selector 6); with IPv6, their traffic class.
const INTERNETWORK_CONTROL: u32 = 0xc0;
/// Priority by which the kernel's usual queue (`pfifo_fast`) sends a packet first, from linux/pkt_sched.h.
const TC_PRIO_CONTROL: i32 = 7;
/// Size of the receive buffer, bytes. The kernel reserves twice as many and counts 768 or more for each
/// datagram, so that the buffer holds 2700 short datagrams. These are several seconds of the messages of 256
/// neighbours, or a tenth of a second of the fastest flood that the daemon has time to read (25,000 datagrams
/// a second). A larger buffer would only delay later messages.
const RECEIVE_BUFFER: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::thread;

    use multihop_linux::netns::Namespace;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    #[test]
    fn messages_have_the_priority_of_control() {
        let lo = nix::net::if_::if_nametoindex("lo").unwrap();
        let opened = PortSocket::open((lo, "lo"), Ipv4Addr::LOCALHOST.into(), &Config::default());
        match opened {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                println!("skipped: messages_have_the_priority_of_control: CAP_NET_ADMIN is missing");
            }
            opened => {
                let found = nix::sys::socket::getsockopt(&opened.unwrap().socket, Priority).unwrap();
                assert_eq!(found, TC_PRIO_CONTROL);
            }
        }
    }
    fn open(namespace: &Namespace, name: &str, address: IpAddr) -> PortSocket {
        let open = || {
            let index = nix::net::if_::if_nametoindex(name).unwrap();
            PortSocket::open((index, name), address, &Config::default()).unwrap()
        };
        namespace.run(open).unwrap()
    }

    #[test]
    fn a_datagram_has_arrived_when_the_kernel_took_it() {
        let new = || Namespace::new().and_then(|made| made.ip("link show lo").map(|()| made));
        let (Ok(left), Ok(right)) = (new(), new()) else {
            println!("skipped: network namespaces need root and the command ip");
            return;
        };
        left.join(("veth-a", "10.0.1.1/24"), &right, ("veth-b", "10.0.1.2/24")).unwrap();
        left.ip("addr add fd00::1/64 dev veth-a nodad").unwrap();
        right.ip("addr add fd00::2/64 dev veth-b nodad").unwrap();
        let four = [[10, 0, 1, 1], [10, 0, 1, 2]].map(IpAddr::from);
        let six = [1, 2].map(|host| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host).into());
        for [from, to] in [four, six] {
            let (sender, receiver) = (open(&left, "veth-a", from), open(&right, "veth-b", to));
            let late = std::time::Duration::from_millis(30);
            let mut buffer = [0; 16];
            let mut ago_of_next = || {
                sender.send(None, 1, b"hello").unwrap();
                let mut ready = [PollFd::new(receiver.as_fd(), PollFlags::POLLIN)];
                poll(&mut ready, PollTimeout::from(100_u8)).unwrap();
                thread::sleep(late);
                let (arrival, bytes) = receiver.receive(&mut buffer).unwrap()?;
                assert_eq!((arrival.from, arrival.to_all, bytes), (from, true, &b"hello"[..]));
                Some(arrival.ago)
            };
            // A link that has just come up may lose the first datagrams. The kernel also needs a moment to
            // begin with timestamps; until then, the time of reading counts.
            assert!((0..100).any(|_| ago_of_next() >= Some(late.into())), "no time of arrival at {to}");
        }
    }
}
