use core::net::Ipv4Addr;

use multihop_core::{LostSegment, SegmentId};

use crate::{tcp, tpa, udp};

/// Start of a packet that could not be forwarded, quoted by an ICMP error or a route error of DSR.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quoted {
    /// Source address of the packet.
    pub source: Ipv4Addr,
    /// Destination address of the packet.
    pub destination: Ipv4Addr,
    /// IP protocol number of the transport, which says how to read `transport`.
    pub protocol: u8,
    /// The first 20 bytes of the IP payload: ports, and the sequence number of TCP or TPA.
    pub transport: [u8; 20],
}

impl Quoted {
    /// The segment that was lost. UDP is assumed to carry TPA.
    pub fn lost_segment(&self) -> LostSegment {
        let [a, b, c, d, header @ ..] = self.transport;
        let segment = match self.protocol {
            tcp::PROTOCOL => SegmentId::Tcp(u32::from_be_bytes([header[0], header[1], header[2], header[3]])),
            udp::PROTOCOL => tpa::Framing::Udp.quoted(&self.transport),
            PROTOCOL_EXPERIMENT => SegmentId::Custom(header),
            _ => SegmentId::Other,
        };
        LostSegment { source: u16::from_be_bytes([a, b]), destination: u16::from_be_bytes([c, d]), segment }
    }
}

/// The IP protocol number for experiments (RFC 3692), used by user-defined transports. TPA directly over IP has the same
/// number; its driver must parse quotes itself.
pub const PROTOCOL_EXPERIMENT: u8 = 253;
