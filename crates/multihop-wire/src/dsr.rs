//! DSR headers (RFC 4728 §6), without flow state.
//!
//! The header stands between the IP header and the payload: a fixed part of 4 bytes, then options. Padding is skipped
//! when parsed and never written, as §6.1 allows.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::reader::Reader;
use crate::{ParseError, Quoted};

mod addresses;
mod options;
pub use addresses::Addresses;

/// The IP protocol number of DSR.
pub const PROTOCOL: u8 = 48;

/// Value of [`Header::next_header`] if nothing follows.
pub const NO_NEXT_HEADER: u8 = 59;

/// A DSR header, which stands between the IP header and the payload (RFC 4728 §6).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Header {
    /// IP protocol number of what follows, or [`NO_NEXT_HEADER`].
    pub next_header: u8,
    /// Route Request option, if the header has one.
    pub request: Option<RouteRequest>,
    /// Route Reply options of the header.
    pub replies: Vec<RouteReply>,
    /// Route Error options of the header.
    pub errors: Vec<RouteError>,
    /// Identification of the acknowledgement that the next hop must send.
    pub ack_request: Option<u16>,
    /// Acknowledgement options of the header.
    pub acks: Vec<Ack>,
    /// The source route of the packet.
    pub source_route: Option<SourceRoute>,
}

/// The Route Request option (RFC 4728 §6.2). The IP source address is that of the initiator.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RouteRequest {
    /// Counts the requests of the initiator.
    pub id: u16,
    /// The target of the route discovery.
    pub target: Ipv4Addr,
    /// The nodes that have forwarded the request.
    pub route: Addresses,
}

/// The Route Reply option (RFC 4728 §6.3). The route begins at the IP destination address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RouteReply {
    /// Whether the last hop lies outside of the DSR network.
    pub last_hop_external: bool,
    /// The other nodes of the route, including its end.
    pub route: Addresses,
}

/// The Route Error option (RFC 4728 §6.4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RouteError {
    /// How often the packet that met the error had been salvaged, at most 15.
    pub salvage: u8,
    /// The node that detected the error.
    pub source: Ipv4Addr,
    /// The node to which the error is sent.
    pub destination: Ipv4Addr,
    /// Failure that the error reports, with the node that cannot be reached.
    pub fault: Fault,
    /// The start of the packet that met the error: our extension, which §6.4 allows.
    pub quoted: Option<Quoted>,
}

/// Failure that a route error reports, by its type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// The error's source cannot reach this node.
    NodeUnreachable(Ipv4Addr),
    /// The error's source has no flow state.
    FlowStateNotSupported,
    /// The error's source does not know this type of option.
    OptionNotSupported(u8),
}

/// The Acknowledgement option (RFC 4728 §6.6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ack {
    /// Identification, copied from the request.
    pub id: u16,
    /// The node that acknowledges.
    pub source: Ipv4Addr,
    /// The node whose packet is acknowledged.
    pub destination: Ipv4Addr,
}

/// The Source Route option (RFC 4728 §6.7).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SourceRoute {
    /// Whether the first hop lies outside of the DSR network.
    pub first_hop_external: bool,
    /// Whether the last hop lies outside of the DSR network.
    pub last_hop_external: bool,
    /// How often the packet has been salvaged, at most 15.
    pub salvage: u8,
    /// Number of nodes still to be visited.
    pub segments_left: u8,
    /// The nodes between the IP source and destination; for a salvaged packet, the node that salvaged it and those between
    /// it and the destination.
    pub route: Addresses,
}

impl Header {
    /// A header without options.
    pub const fn new(next_header: u8) -> Self {
        Self {
            next_header,
            request: None,
            replies: Vec::new(),
            errors: Vec::new(),
            ack_request: None,
            acks: Vec::new(),
            source_route: None,
        }
    }

    /// Parses the payload of an IP packet; also returns the bytes after the header.
    ///
    /// An unknown option is removed or makes the packet invalid, as its type says (§6.1). The packet is also invalid if an
    /// option that may occur only once occurs twice.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let mut r = Reader::new(bytes);
        let (next_header, flags) = (r.u8()?, r.u8()?);
        if flags & FLOW_STATE != 0 {
            return Err(ParseError::Field { name: "flow state header", found: 1, allowed: "0" });
        }
        let len = r.u16()?;
        let options = r.take(usize::from(len))?;
        let mut header = Self::new(next_header);
        header.parse_options(options)?;
        Ok((header, r.rest()))
    }

    /// Appends the bytes of the header.
    ///
    /// # Panics
    ///
    /// If a salvage count is above 15, a source route has more segments left than nodes, or the options are longer than
    /// 65535 bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let len = u16::try_from(self.wire_len() - FIXED_LEN).expect("options fit the 16-bit length");
        out.extend_from_slice(&[self.next_header, 0]);
        out.extend_from_slice(&len.to_be_bytes());
        self.emit_options(out);
    }

    /// Bytes that [`emit`](Self::emit) appends.
    pub fn wire_len(&self) -> usize {
        FIXED_LEN
            + self.request.map_or(0, |request| 8 + 4 * request.route.len())
            + self.replies.iter().map(|reply| 3 + 4 * reply.route.len()).sum::<usize>()
            + self.errors.iter().map(RouteError::option_len).sum::<usize>()
            + self.ack_request.map_or(0, |_| 4)
            + 12 * self.acks.len()
            + self.source_route.map_or(0, |route| 4 + 4 * route.route.len())
    }

    /// Bytes that ns-2 counts for this header (without the second IP header it also adds).
    ///
    /// For a reply this is more than on the wire: ns-2 adds the first node of the route and two more bytes, and rounds up
    /// to a multiple of 4. For a salvaged packet it is 4 less, since ns-2 counts the hops of a route. Quoted packets, which
    /// ns-2 does not have, count as on the wire.
    // DEVIATION dsr-9: The header of a request is counted once; ns-2 adds the whole header at each hop. Requests are
    // 0.4 ms shorter after three hops.
    pub fn accounted_len(&self) -> usize {
        let others = FIXED_LEN
            + self.request.map_or(0, |request| 8 + 4 * request.route.len())
            + self.replies.iter().map(|reply| 5 + 4 * (reply.route.len() + 1)).sum::<usize>()
            + self.errors.iter().map(RouteError::option_len).sum::<usize>();
        (others + self.source_route.map_or(0, |route| 4 * route.hops())).next_multiple_of(4)
    }
}

impl SourceRoute {
    /// Links between the node that chose the route and the destination.
    pub fn hops(&self) -> usize {
        self.route.len() + usize::from(self.salvage == 0)
    }

    /// The next node on the route; `None` if more segments are left than the route has.
    pub fn receiver(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        let index = self.route.len().checked_sub(usize::from(self.segments_left))?;
        Some(self.route.get(index).copied().unwrap_or(destination))
    }

    /// [`Header::wire_len`] of a header with only this route.
    pub fn wire_len(&self) -> usize {
        FIXED_LEN + 4 + 4 * self.route.len()
    }

    /// [`Header::accounted_len`] of a header with only this route.
    pub fn accounted_len(&self) -> usize {
        FIXED_LEN + 4 * self.hops()
    }
}

/// Length of the fixed part, bytes: next header, flags and length of the options.
const FIXED_LEN: usize = 4;
const FLOW_STATE: u8 = 0x80;

#[cfg(test)]
mod tests;
