//! Types exchanged between a UDP socket and a [`Hub`](crate::hub::Hub): datagrams, failures, routes and
//! randomness.

use alloc::boxed::Box;
use core::net::{IpAddr, SocketAddr};

/// Fills a slice with unpredictable random bytes.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// Length of the longest IP packet that reaches a peer without fragmentation, bytes, by the peer and the local
/// address (`None`: the address that the system chooses). `None` if the path MTU is unknown.
pub type PathMtu = Box<dyn FnMut(SocketAddr, Option<IpAddr>) -> Option<u16> + Send>;

/// Function that returns the local address from which the system sends to a peer; `None` if it is unknown.
pub type LocalAddressTo = Box<dyn FnMut(SocketAddr) -> Option<IpAddr> + Send>;

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct IncomingDatagram<'a> {
    /// Source address of the datagram, which may be spoofed.
    pub from: SocketAddr,
    /// Destination address of the datagram, if the system reports it.
    pub local: Option<IpAddr>,
    /// Remaining TTL or hop limit of the datagram, if the system reports it.
    pub ttl: Option<u8>,
    /// Payload of the UDP datagram.
    pub bytes: &'a [u8],
}

/// A datagram to send; its bytes have been appended to the buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transmit {
    /// Address and port of the destination.
    pub to: SocketAddr,
    /// Source address that the datagram must have; `None` if any address is allowed.
    pub source: Option<IpAddr>,
    /// DSCP of the datagram (RFC 2474).
    pub dscp: u8,
    /// Length of the datagram in the buffer, bytes.
    pub len: usize,
}

/// A route of this host that was added, replaced or removed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RouteChange {
    /// Destination of the route: the network's address, and the bits of its prefix.
    pub network: (IpAddr, u8),
    /// Whether the route exists after the change.
    pub is_there: bool,
}

impl RouteChange {
    /// Whether packets to an address may take the route.
    pub(crate) fn concerns(&self, address: IpAddr) -> bool {
        let (all, differing) = match (self.network.0, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => (32, u128::from(a.to_bits() ^ b.to_bits())),
            (IpAddr::V6(a), IpAddr::V6(b)) => (128, a.to_bits() ^ b.to_bits()),
            _ => return false,
        };
        let below = all - u32::from(self.network.1).min(all);
        differing.checked_shr(below).unwrap_or(0) == 0
    }
}

/// Report of a router, of the peer's host or of this system that a sent datagram was not delivered.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryFailure<'a> {
    /// The destination of the datagram.
    pub to: SocketAddr,
    /// Address of the router or host that reports the failure; `None` for this system.
    pub reporter: Option<IpAddr>,
    /// Cause of the failure in the report.
    pub cause: FailureCause,
    /// First bytes of the datagram, as quoted by the report.
    pub quoted: &'a [u8],
}

/// Cause for which a datagram was not delivered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FailureCause {
    /// A router, or this host, has no route to the peer.
    Unreachable,
    /// The port is closed at the peer's host.
    PortClosed,
    /// The datagram is longer than a link of the path allows; the value is the MTU of that link, bytes.
    TooLong(u16),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_concerns_the_addresses_in_its_network() {
        let concerns = |network: &str, bits, address: &str| {
            let change = RouteChange { network: (network.parse().unwrap(), bits), is_there: true };
            change.concerns(address.parse().unwrap())
        };
        for (network, bits) in [("0.0.0.0", 0), ("10.0.0.0", 8), ("10.1.0.0", 16), ("10.1.2.3", 32)] {
            assert!(concerns(network, bits, "10.1.2.3"), "{network}/{bits}");
            assert!(concerns(network, bits, "::ffff:10.1.2.3"), "{network}/{bits}");
            assert_eq!(concerns(network, bits, "11.1.2.3"), bits == 0, "{network}/{bits}");
            assert!(!concerns(network, bits, "fd00::1"));
        }
        assert!(!concerns("10.1.2.3", 32, "10.1.2.2"));
        assert!(concerns("::", 0, "fd00::1") && !concerns("::", 0, "10.1.2.3"));
        assert!(concerns("fd00::", 64, "fd00::1") && !concerns("fd00::", 64, "fd00:0:0:1::1"));
        assert!(concerns("fd00::1", 128, "fd00::1") && !concerns("fd00::1", 128, "fd00::2"));
    }
}
