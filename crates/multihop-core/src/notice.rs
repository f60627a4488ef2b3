use core::net::{Ipv4Addr, SocketAddrV4};

/// News from the layers below that a transport may use or ignore. Delivered by the driver, so that
/// routing never names transport nor transport routing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Notice {
    /// A packet of this connection met a broken link.
    LinkFailed(Quoted),
    /// This host has no route to the peer any more.
    RouteLost,
    /// This host has a route to the peer again.
    RouteRestored,
    /// The path to the peer is this many hops long.
    PathInfo {
        /// Links between here and the peer.
        hops: u8,
    },
}

/// The start of a packet that met a failure, as an ICMP error or a route error carries it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quoted {
    /// Who sent the packet.
    pub source: Ipv4Addr,
    /// Where it was going.
    pub destination: Ipv4Addr,
    /// IP protocol number.
    pub protocol: u8,
    /// The first 20 bytes of what IP carried: ports, and the sequence number of TCP or TPA.
    pub transport: [u8; 20],
}

impl Quoted {
    /// Source address and port.
    pub const fn from(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.source, u16::from_be_bytes([self.transport[0], self.transport[1]]))
    }

    /// Destination address and port.
    pub const fn to(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.destination, u16::from_be_bytes([self.transport[2], self.transport[3]]))
    }
}
