//! Packets and frames of real programs, and the ICMP errors that routers send about them.

mod ethernet;
mod v4;
mod v6;
mod wifi;

use std::net::IpAddr;
use std::sync::Arc;

use multihop_core::NodeId;
use multihop_wire::{ParseError, dscp};

pub use self::ethernet::EthernetFrame;
pub use self::wifi::{Attempts, WifiFrame};

/// An IP packet of a real program: bytes that were checked when it entered the simulated network. Nodes that
/// hold the packet share its bytes, whose TTL is that of the entry.
#[derive(Clone, Debug)]
pub struct RealPacket {
    version: Version,
    bytes: Arc<[u8]>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Version {
    V4,
    V6,
}

/// Cause of an ICMP error about a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Trouble {
    /// No route to the destination exists.
    Unreachable,
    /// Error for a packet whose TTL has expired.
    TimeExceeded,
    /// The packet is longer than this MTU of the next link, and may not be fragmented.
    TooBig(u16),
}

impl RealPacket {
    /// The longest packet, bytes: the payload of an 802.11 frame without LLC/SNAP.
    pub const LONGEST: usize = 2304 - 8;

    /// Checks the header of a packet; bytes after its end are ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let first = *bytes.first().ok_or(ParseError::Truncated { found: 0, needed: 1 })?;
        let (version, length) = match first >> 4 {
            4 => (Version::V4, v4::check(bytes)?),
            6 => (Version::V6, v6::check(bytes)?),
            other => {
                let (name, found) = ("version", u32::from(other));
                return Err(ParseError::Field { name, found, allowed: "4 or 6" });
            }
        };
        Ok(Self { version, bytes: bytes[..length].into() })
    }

    /// Bytes of the packet.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The TTL, or hop limit.
    pub(crate) fn ttl(&self) -> u8 {
        match self.version {
            Version::V4 => v4::ttl(&self.bytes),
            Version::V6 => v6::hop_limit(&self.bytes),
        }
    }

    pub(crate) fn destination(&self) -> IpAddr {
        match self.version {
            Version::V4 => v4::destination(&self.bytes).into(),
            Version::V6 => v6::destination(&self.bytes).into(),
        }
    }

    /// DSCP of the packet.
    pub(crate) fn dscp(&self) -> u8 {
        dscp(&self.bytes).unwrap_or(0)
    }

    /// Whether the packet must not leave its first link.
    pub(crate) fn is_for_neighbours(&self) -> bool {
        match self.destination() {
            IpAddr::V4(_) => false,
            IpAddr::V6(address) => address.is_unicast_link_local(),
        }
    }

    /// EtherType of the packet's IP version.
    pub(crate) fn ethertype(&self) -> u16 {
        match self.version {
            Version::V4 => multihop_wire::ipv4::ETHERTYPE,
            Version::V6 => v6::ETHERTYPE,
        }
    }

    /// Bytes of the packet with a lower TTL, as after some hops.
    pub(crate) fn with_ttl(&self, ttl: u8) -> Vec<u8> {
        self.with_header(ttl, None)
    }

    /// Bytes of the packet with this TTL and, if given, an inserted header (protocol number and bytes) between the IP
    /// header and the payload.
    pub(crate) fn with_header(&self, ttl: u8, inserted: Option<(u8, &[u8])>) -> Vec<u8> {
        match self.version {
            Version::V4 => v4::with_header(&self.bytes, ttl, inserted),
            Version::V6 => v6::with_header(&self.bytes, ttl, inserted),
        }
    }

    /// The protocol number after the IP header.
    pub(crate) fn next_header(&self) -> u8 {
        match self.version {
            Version::V4 => v4::protocol(&self.bytes),
            Version::V6 => v6::next_header(&self.bytes),
        }
    }

    /// Protocol number and first bytes of the payload, as route errors quote them.
    pub(crate) fn transport(&self) -> (u8, [u8; 20]) {
        let (protocol, payload) = match self.version {
            Version::V4 => v4::payload(&self.bytes),
            Version::V6 => v6::payload(&self.bytes),
        };
        (protocol, core::array::from_fn(|n| payload.get(n).copied().unwrap_or(0)))
    }

    /// The ICMP error that the node `from` sends about the packet; `None` if there must be none (RFC 1122 §3.2.2,
    /// RFC 4443 §2.4).
    pub(crate) fn error(&self, trouble: Trouble, ttl: u8, from: NodeId) -> Option<Self> {
        let bytes = match self.version {
            Version::V4 => v4::error(&self.bytes, trouble, ttl, from.addr())?,
            Version::V6 => v6::error(&self.bytes, trouble, ttl, from.addr6())?,
        };
        Some(Self { version: self.version, bytes: bytes.into() })
    }

    /// The fragments of the packet for a link with this MTU; `None` if routers must not fragment it.
    pub(crate) fn fragments(&self, mtu: usize) -> Option<Vec<Self>> {
        if self.version == Version::V6 {
            return None;
        }
        let fragments = v4::fragments(&self.bytes, mtu)?.into_iter();
        Some(fragments.map(|bytes| Self { version: Version::V4, bytes: bytes.into() }).collect())
    }
}

fn truncated(bytes: &[u8], needed: usize) -> ParseError {
    ParseError::Truncated { found: bytes.len(), needed }
}

/// Precedence of ICMP errors (RFC 1812 §4.3.2.5), in the field of the type of service or traffic class.
const INTERNETWORK_CONTROL: u8 = 0xc0;

#[cfg(test)]
mod tests;
