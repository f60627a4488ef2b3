//! Link between AODV and this host: packets without a route, a way to send them later, and reports of whether
//! routes work.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use multihop_core::Instant;
use multihop_linux::netlink::{Interface, News, Route, add_route, failed_neighbour, remove_route};
use multihop_linux::netns::interface::{InterfaceSettings, set_up};
use multihop_linux::tun::Tun;
use multihop_wire::{icmp, ipv4};
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrIn, sendmsg};
use socket2::{Domain, Protocol, Socket, Type};

use crate::config::Config;
use crate::kernel::PROTOCOL;
use crate::observer::Observer;
use crate::prefix::{Family, Prefix};
use crate::usage::Pair;

/// A TUN interface that catches packets without a route, and the sockets for resending packets and observing
/// routes.
#[derive(Debug)]
pub(crate) struct Catcher {
    tun: Tun,
    index: u32,
    mtu: Option<u16>,
    /// Raw socket that sends whole IP packets.
    raw: Socket,
    usage: Observer<Pair>,
    neighbours: News,
    /// Routes into the TUN interface.
    routes: BTreeSet<Route>,
    refusals: Refusals,
}

impl Catcher {
    /// Opens the TUN interface and the sockets, which takes `CAP_NET_ADMIN` and `CAP_NET_RAW`. No packet is
    /// caught before [`set`](Self::set).
    pub(crate) fn open() -> io::Result<Self> {
        let tun = Tun::open("multihop%d")?;
        // Received packets include their IP headers.
        let raw = Protocol::from(libc::IPPROTO_RAW);
        let raw = Socket::new(Domain::IPV4, Type::RAW.nonblocking().cloexec(), Some(raw))?;
        Ok(Self {
            index: if_nametoindex(tun.name())?,
            tun,
            mtu: None,
            raw,
            usage: Observer::open()?,
            neighbours: News::of_neighbours()?,
            routes: BTreeSet::new(),
            refusals: Refusals::default(),
        })
    }

    /// Catches packets to the destinations of the configuration, for a router with these interfaces and this main
    /// address.
    pub(crate) fn set(
        &mut self,
        now: Instant,
        interfaces: &[&Interface],
        main: Option<IpAddr>,
        config: &Config,
    ) -> io::Result<()> {
        // A packet that the TUN interface accepts must fit into the MTU of every other interface.
        let mtu = interfaces.iter().map(|interface| interface.mtu).min();
        let mtu = mtu.map(|mtu| u16::try_from(mtu).unwrap_or(u16::MAX));
        if let Some(mtu) = mtu.filter(|mtu| self.mtu != Some(*mtu)) {
            set_up(self.tun.name(), InterfaceSettings { mtu: Some(mtu), ..InterfaceSettings::default() })?;
            self.mtu = Some(mtu);
        }
        self.usage.set(now, interfaces.iter().map(|interface| interface.index).collect(), ())?;
        let wanted: BTreeSet<_> = match main {
            None => BTreeSet::new(),
            Some(main) => {
                networks(interfaces, config).map(|network| self.route(network, main, config)).collect()
            }
        };
        for old in self.routes.difference(&wanted) {
            remove_route(old, PROTOCOL)?;
        }
        for new in wanted.difference(&self.routes) {
            add_route(new, PROTOCOL)?;
        }
        self.routes = wanted;
        Ok(())
    }

    fn route(&self, network: Prefix, main: IpAddr, config: &Config) -> Route {
        Route {
            destination: network.parts(),
            via: None,
            interface: self.index,
            table: config.table,
            priority: LAST,
            source: Some(main),
        }
    }

    /// Descriptors to poll: caught packets, pairs of communicating hosts, and neighbours that do not answer.
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 3] {
        [self.tun.as_fd(), self.usage.as_fd(), self.neighbours.as_fd()]
    }

    /// The next packet without a route; `None` if there is none now.
    pub(crate) fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        Ok(self.tun.receive(buffer)?.map(|length| &buffer[..length]))
    }

    /// Pairs of hosts between which packets have left.
    pub(crate) fn used(&mut self, now: Instant) -> io::Result<Vec<Pair>> {
        self.usage.take(now)
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.usage.deadline()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> io::Result<()> {
        self.usage.handle_timeout(now)
    }

    /// Neighbours that do not answer, each with the number of the interface.
    pub(crate) fn failed(&self) -> io::Result<Vec<(u32, IpAddr)>> {
        let mut failed = Vec::new();
        // Missing HELLOs reveal the failures that overflow the kernel's buffer.
        self.neighbours.take(|message| {
            if let Some((interface, address @ IpAddr::V4(_))) = failed_neighbour(message) {
                failed.push((interface, address));
            }
        })?;
        Ok(failed)
    }

    /// Sends a packet over this interface only, so that it is not routed back into the TUN interface.
    pub(crate) fn send(&self, interface: u32, packet: &[u8]) -> io::Result<()> {
        let Ok(interface) = interface.try_into() else { return Ok(()) };
        let any = libc::in_addr { s_addr: 0 };
        let info = libc::in_pktinfo { ipi_ifindex: interface, ipi_spec_dst: any, ipi_addr: any };
        self.transmit(packet, &[ControlMessage::Ipv4PacketInfo(&info)])
    }

    /// Sends an ICMP error to the source of a packet whose destination cannot be reached.
    pub(crate) fn refuse(&mut self, now: Instant, main: Option<IpAddr>, packet: &[u8]) -> io::Result<()> {
        let Some(IpAddr::V4(main)) = main else { return Ok(()) };
        match answer(main, packet).filter(|_| self.refusals.allow(now)) {
            Some(answer) => self.transmit(&answer, &[]),
            None => Ok(()),
        }
    }

    fn transmit(&self, packet: &[u8], control: &[ControlMessage<'_>]) -> io::Result<()> {
        let Some(to) = packet.get(16..20).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()) else {
            return Ok(());
        };
        let to = SockaddrIn::from(SocketAddrV4::new(to.into(), 0));
        let flags = MsgFlags::MSG_DONTWAIT;
        sendmsg(self.raw.as_raw_fd(), &[IoSlice::new(packet)], control, flags, Some(&to))?;
        Ok(())
    }
}

/// The networks whose packets are caught. The kernel prefers its own route to the network of an interface;
/// the routes to the two halves of that network are more specific and win.
fn networks<'a>(interfaces: &'a [&Interface], config: &'a Config) -> impl Iterator<Item = Prefix> + 'a {
    let of = |interface: &&'a Interface| {
        let four = interface.addresses.iter().filter(|one| one.address.is_ipv4());
        four.map(|one| Prefix::around(one.address, one.prefix)).collect::<Vec<_>>()
    };
    let own: BTreeSet<_> = interfaces.iter().flat_map(of).collect();
    let wanted = match &config.on_demand {
        Some(networks) => networks.clone(),
        None => own.iter().copied().chain([Family::Ipv4.all()]).collect(),
    };
    wanted.into_iter().flat_map(move |network| match network.halves() {
        Some(halves) if own.contains(&network) => halves.to_vec(),
        None if own.contains(&network) => Vec::new(),
        _ => vec![network],
    })
}

/// The ICMP error for a packet; `None` if RFC 1122 §3.2.2 forbids an error for this packet.
fn answer(main: Ipv4Addr, packet: &[u8]) -> Option<Vec<u8>> {
    let (header, payload) = ipv4::Header::parse(packet).ok()?;
    let is_error = header.protocol == icmp::PROTOCOL && payload.first() != Some(&ECHO_REQUEST);
    if is_error || !Prefix::host(header.source).is_routable() {
        return None;
    }
    let quote = icmp::Quote::new(header, payload);
    let mut error = Vec::new();
    icmp::Message::Unreachable { code: icmp::HOST_UNREACHABLE, quote }.emit(&mut error);
    let header = ipv4::Header {
        tos: 0,
        id: 0,
        dont_fragment: false,
        ttl: 64,
        protocol: icmp::PROTOCOL,
        source: main,
        destination: header.source,
    };
    let mut answer = Vec::new();
    header.emit(&error, &mut answer);
    Some(answer)
}

/// Limits ICMP errors (RFC 1812 §4.3.2.8).
#[derive(Debug, Default)]
struct Refusals {
    second: u64,
    sent: u32,
}

impl Refusals {
    fn allow(&mut self, now: Instant) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            *self = Self { second, sent: 0 };
        }
        self.sent += 1;
        self.sent <= MAX_REFUSALS
    }
}

const ECHO_REQUEST: u8 = 8;
/// Largest number of ICMP errors sent in one second.
const MAX_REFUSALS: u32 = 100;
/// Route priority (metric) that the kernel uses only if it has no other route.
const LAST: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use multihop_linux::netlink::Address;

    use super::*;

    const MAIN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

    fn packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let header = ipv4::Header {
            tos: 0,
            id: 1,
            dont_fragment: true,
            ttl: 64,
            protocol,
            source: Ipv4Addr::new(10, 0, 0, 7),
            destination: Ipv4Addr::new(10, 0, 0, 9),
        };
        let mut packet = Vec::new();
        header.emit(payload, &mut packet);
        packet
    }

    #[test]
    fn sources_are_told_by_an_error_that_quotes_their_packet_but_not_of_errors() {
        let told = answer(MAIN, &packet(17, &[5; 40])).unwrap();
        let (header, error) = ipv4::Header::parse(&told).unwrap();
        assert_eq!((header.source, header.destination), (MAIN, Ipv4Addr::new(10, 0, 0, 7)));
        let Ok(icmp::Message::Unreachable { code: icmp::HOST_UNREACHABLE, quote }) =
            icmp::Message::parse(error)
        else {
            panic!("not the error for a host: {error:?}")
        };
        assert_eq!((quote.header.destination, quote.payload_len), (Ipv4Addr::new(10, 0, 0, 9), 40));
        assert!(answer(MAIN, &packet(icmp::PROTOCOL, &[ECHO_REQUEST, 0, 0, 0, 0, 0, 0, 0])).is_some());
        assert!(answer(MAIN, &packet(icmp::PROTOCOL, &[3, 1, 0, 0, 0, 0, 0, 0])).is_none());
        assert!(answer(MAIN, &[]).is_none());
    }

    #[test]
    fn networks_of_interfaces_are_caught_by_halves() {
        let interface = |prefix| Interface {
            index: 1,
            name: "radio0".to_owned(),
            is_up: true,
            mtu: 1500,
            addresses: vec![Address { address: MAIN.into(), prefix }],
        };
        let caught = |prefix, on_demand: Option<&[&str]>| {
            let network = |text: &&str| Family::Ipv4.network(text).unwrap();
            let on_demand = on_demand.map(|texts| texts.iter().map(network).collect());
            let config = Config { on_demand, ..Config::default() };
            networks(&[&interface(prefix)], &config).map(|network| network.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(caught(24, None), ["10.0.0.0/25", "10.0.0.128/25", "0.0.0.0/0"]);
        assert_eq!(caught(32, None), ["0.0.0.0/0"]);
        assert_eq!(caught(24, Some(&["10.0.0.0/24"])), ["10.0.0.0/25", "10.0.0.128/25"]);
        assert_eq!(caught(24, Some(&["10.0.0.0/8"])), ["10.0.0.0/8"]);
        assert!(caught(24, Some(&[])).is_empty());
    }
}
