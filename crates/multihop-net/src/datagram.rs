//! What passes between a UDP socket and a [`Hub`](crate::hub::Hub).

use std::net::{IpAddr, SocketAddr};

/// Fills a slice with unpredictable random bytes.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// The longest IP packet that the path to a peer carries unfragmented; `None` if it is not known.
pub type PathMtu = Box<dyn FnMut(SocketAddr) -> Option<u16> + Send>;

/// The address of this host from which the system sends to a peer; `None` if it is not known.
pub type LocalAddressTo = Box<dyn FnMut(SocketAddr) -> Option<IpAddr> + Send>;

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct IncomingDatagram<'a> {
    /// Its source address, which may be spoofed.
    pub from: SocketAddr,
    /// Its destination address, if the system reports it.
    pub local: Option<IpAddr>,
    /// Its remaining TTL or hop limit, if the system reports it.
    pub ttl: Option<u8>,
    /// Its payload.
    pub bytes: &'a [u8],
}

/// A datagram to send; its bytes have been appended to the buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transmit {
    /// Destination.
    pub to: SocketAddr,
    /// The source address, if it matters.
    pub source: Option<IpAddr>,
    /// Bytes.
    pub len: usize,
}

/// A sent datagram that was not delivered, as a router, the peer's host or this system reports.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryFailure<'a> {
    /// The destination of the datagram.
    pub to: SocketAddr,
    /// Who reports it; `None` for this system.
    pub reporter: Option<IpAddr>,
    /// What went wrong.
    pub cause: FailureCause,
    /// The start of the datagram, as far as it is quoted.
    pub quoted: &'a [u8],
}

/// Why a datagram was not delivered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FailureCause {
    /// A router, or this host, has no route to the peer.
    Unreachable,
    /// The port is closed at the peer's host.
    PortClosed,
    /// It is longer than a link of the path carries; the value is that link's MTU.
    TooLong(u16),
}
