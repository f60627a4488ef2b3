//! Events of the kernel: changes of routes, and neighbours that do not answer.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{NetlinkAddr, SockFlag, bind};

use super::message::{Message, address, attributes, number, open, read, unspecified};

/// Socket that becomes readable when the kernel reports an event of the selected kinds.
#[derive(Debug)]
pub struct News(OwnedFd);

/// A route that was added, replaced or removed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RouteChange {
    /// Destination of the route: the network's address, and the bits of its prefix.
    pub destination: (IpAddr, u8),
    /// Whether the route exists after the change.
    pub is_there: bool,
}

impl News {
    /// Opens a socket with events of the routes of this thread's network namespace.
    pub fn of_routes() -> io::Result<Self> {
        Self::of(RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE)
    }

    /// Opens a socket with events of neighbours: link addresses that are known, searched or not found.
    pub fn of_neighbours() -> io::Result<Self> {
        Self::of(RTMGRP_NEIGH)
    }

    fn of(groups: u32) -> io::Result<Self> {
        let socket = open(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        Ok(Self(socket))
    }

    /// Passes the events since the last call to `each`. Returns false if the kernel dropped events for want of buffer
    /// space.
    pub fn take(&self, mut each: impl FnMut(&Message)) -> io::Result<bool> {
        let mut complete = true;
        loop {
            match read(&self.0) {
                Ok(messages) => messages.iter().for_each(&mut each),
                Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                    Some(Errno::ENOBUFS) => complete = false,
                    Some(Errno::EINTR) => {}
                    Some(Errno::EAGAIN) => return Ok(complete),
                    _ => return Err(error),
                },
            }
        }
    }
}

impl AsFd for News {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for News {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}

/// Reads a message about a route that packets can take; `None` for other messages.
pub fn route_change(message: &Message) -> Option<RouteChange> {
    // struct rtmsg: family, lengths of the prefixes of destination and source, type of service, table, protocol, scope,
    // type, flags.
    let [family, bits, _, _, _, _, _, kind, ..] = message.body[..] else { return None };
    let is_there = match message.kind {
        libc::RTM_NEWROUTE => true,
        libc::RTM_DELROUTE => false,
        _ => return None,
    };
    if kind != libc::RTN_UNICAST {
        return None;
    }
    let to = attributes(message.body.get(12..)?).find(|(kind, _)| *kind == libc::RTA_DST);
    let to = to.map_or_else(|| unspecified(family), |(_, bytes)| address(bytes))?;
    Some(RouteChange { destination: (to, bits), is_there })
}

/// Interface and address of a neighbour whose link address was not found, or that does not answer; `None` for other
/// messages.
pub fn failed_neighbour(message: &Message) -> Option<(u32, IpAddr)> {
    // struct ndmsg: family, padding, interface, state, flags, type.
    let (interface, state) = (number(message.body.get(4..8)?)?, message.body.get(8..10)?);
    let state = u16::from_ne_bytes(state.try_into().ok()?);
    if message.kind != libc::RTM_NEWNEIGH || state & libc::NUD_FAILED == 0 {
        return None;
    }
    let (_, bytes) = attributes(message.body.get(12..)?).find(|(kind, _)| *kind == libc::NDA_DST)?;
    Some((interface, address(bytes)?))
}

/// Multicast group of netlink messages about neighbours (linux/rtnetlink.h).
const RTMGRP_NEIGH: u32 = 4;
const RTMGRP_IPV4_ROUTE: u32 = 0x40;
const RTMGRP_IPV6_ROUTE: u32 = 0x400;

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, header: [u8; 12], attribute: u16, value: &[u8]) -> Message {
        let length = u16::try_from(4 + value.len()).unwrap();
        let attribute = [&length.to_ne_bytes(), &attribute.to_ne_bytes(), value].concat();
        Message { kind, body: [&header[..], &attribute].concat() }
    }

    #[test]
    fn routes_for_packets_are_told_from_others() {
        let header = |family: i32, bits, kind| {
            let mut header = [0; 12];
            (header[0], header[1], header[7]) = (u8::try_from(family).unwrap(), bits, kind);
            header
        };
        let network = |kind, family, bits, value: &[u8]| {
            route_change(&message(kind, header(family, bits, libc::RTN_UNICAST), libc::RTA_DST, value))
        };
        let of = |text: &str, bits, is_there| {
            Some(RouteChange { destination: (text.parse().unwrap(), bits), is_there })
        };
        let (new, gone) = (libc::RTM_NEWROUTE, libc::RTM_DELROUTE);
        assert_eq!(network(new, libc::AF_INET, 24, &[10, 0, 1, 0]), of("10.0.1.0", 24, true));
        assert_eq!(network(gone, libc::AF_INET, 32, &[10, 0, 1, 2]), of("10.0.1.2", 32, false));
        let six = "fd00::1".parse::<std::net::Ipv6Addr>().unwrap();
        assert_eq!(network(new, libc::AF_INET6, 128, &six.octets()), of("fd00::1", 128, true));
        let default = message(new, header(libc::AF_INET, 0, libc::RTN_UNICAST), libc::RTA_PRIORITY, &[0; 4]);
        assert_eq!(route_change(&default), of("0.0.0.0", 0, true));
        let hole =
            message(new, header(libc::AF_INET, 24, libc::RTN_BLACKHOLE), libc::RTA_DST, &[10, 0, 1, 0]);
        assert_eq!(route_change(&hole), None);
        assert_eq!(route_change(&Message { kind: libc::RTM_NEWADDR, ..default.clone() }), None);
        for length in 0..default.body.len() {
            let _ = route_change(&Message { kind: new, body: default.body[..length].to_vec() });
        }
    }

    #[test]
    fn neighbours_fail_when_they_are_in_the_state_for_it() {
        let header = |state: u16| {
            let mut header = [0; 12];
            header[4..8].copy_from_slice(&7_u32.to_ne_bytes());
            header[8..10].copy_from_slice(&state.to_ne_bytes());
            header
        };
        let neighbour = |state| message(libc::RTM_NEWNEIGH, header(state), libc::NDA_DST, &[10, 0, 0, 2]);
        assert_eq!(failed_neighbour(&neighbour(libc::NUD_FAILED)), Some((7, [10, 0, 0, 2].into())));
        assert_eq!(failed_neighbour(&neighbour(libc::NUD_REACHABLE)), None);
        assert_eq!(failed_neighbour(&neighbour(libc::NUD_STALE)), None);
        let whole = neighbour(libc::NUD_FAILED);
        for length in 0..whole.body.len() {
            let _ = failed_neighbour(&Message { body: whole.body[..length].to_vec(), ..whole });
        }
    }
}
