//! IPv4 packets of real programs, and the ICMP errors that routers send about them.

use std::net::Ipv4Addr;
use std::sync::Arc;

use multihop_wire::checksum::Checksum;
use multihop_wire::{ParseError, Quoted, icmp, ipv4};

/// An IPv4 packet of a real program: bytes that were checked when it entered the simulated network.
///
/// Nodes that hold it share the bytes. The TTL in them is that of the entry.
#[derive(Clone, Debug)]
pub struct RealPacket(Arc<[u8]>);

/// An ICMP error about a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Trouble {
    /// There is no way to the destination.
    Unreachable,
    /// The TTL has expired.
    TimeExceeded,
}

impl RealPacket {
    /// The longest packet, bytes: the payload of an 802.11 frame without LLC/SNAP.
    pub const LONGEST: usize = 2304 - 8;

    /// Checks the header of a packet; bytes after its end are ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let &[first, _, a, b, ..] = bytes else { return Err(truncated(bytes, ipv4::Header::LEN)) };
        if first >> 4 != 4 {
            return Err(ParseError::Field { name: "version", found: u32::from(first >> 4), allowed: "4" });
        }
        let header = header_len(first);
        if header < ipv4::Header::LEN {
            let found = u32::from(first & 0x0f);
            return Err(ParseError::Field { name: "internet header length", found, allowed: "5 to 15" });
        }
        let total = usize::from(u16::from_be_bytes([a, b]));
        if !(header..=Self::LONGEST).contains(&total) {
            let (name, found) = ("total length", u32::from(u16::from_be_bytes([a, b])));
            return Err(ParseError::Field { name, found, allowed: "the header's length to 2296" });
        }
        let packet = bytes.get(..total).ok_or_else(|| truncated(bytes, total))?;
        if Checksum::default().over(&packet[..header]).finish() != 0 {
            return Err(ParseError::Checksum);
        }
        Ok(Self(packet.into()))
    }

    /// Bytes of the packet.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn ttl(&self) -> u8 {
        self.0[TTL]
    }

    pub(crate) fn destination(&self) -> Ipv4Addr {
        self.address(DESTINATION)
    }

    /// The packet as it is after some hops.
    pub(crate) fn with_ttl(&self, ttl: u8) -> Vec<u8> {
        self.with_header(ttl, None)
    }

    /// The same with another header between those of IP and of the payload: its protocol number and bytes.
    pub(crate) fn with_header(&self, ttl: u8, inserted: Option<(u8, &[u8])>) -> Vec<u8> {
        let header = header_len(self.0[0]);
        let (mut out, payload) = (self.0[..header].to_vec(), &self.0[header..]);
        out[TTL] = ttl;
        if let Some((protocol, bytes)) = inserted {
            out[PROTOCOL] = protocol;
            let total = u16::try_from(self.len() + bytes.len()).expect("both are short");
            out[2..4].copy_from_slice(&total.to_be_bytes());
        }
        out[CHECKSUM..CHECKSUM + 2].fill(0);
        let sum = Checksum::default().over(&out).finish();
        out[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        out.extend_from_slice(inserted.map_or(&[], |(_, bytes)| bytes));
        out.extend_from_slice(payload);
        out
    }

    /// The IP protocol number of the payload.
    pub(crate) fn protocol(&self) -> u8 {
        self.0[PROTOCOL]
    }

    /// The start of the packet, as route errors carry it.
    pub(crate) fn quoted(&self) -> Quoted {
        let payload = &self.0[header_len(self.0[0])..];
        let transport = core::array::from_fn(|n| payload.get(n).copied().unwrap_or(0));
        let (source, destination) = (self.address(SOURCE), self.destination());
        Quoted { source, destination, protocol: self.protocol(), transport }
    }

    /// The ICMP error that the node with the address `from` sends about the packet; `None` if there must be none
    /// (RFC 1122 §3.2.2).
    pub(crate) fn error(&self, trouble: Trouble, ttl: u8, from: Ipv4Addr) -> Option<Self> {
        let (source, destination) = (self.address(SOURCE), self.destination());
        let is_later_fragment = u16::from_be_bytes([self.0[6], self.0[7]]) & OFFSET != 0;
        let is_group = destination.is_multicast() || destination.is_broadcast();
        if self.is_icmp_error() || is_later_fragment || is_group || source.is_unspecified() {
            return None;
        }
        let (kind, code) = match trouble {
            Trouble::Unreachable => (ICMP_UNREACHABLE, icmp::HOST_UNREACHABLE),
            Trouble::TimeExceeded => (ICMP_TIME_EXCEEDED, icmp::TTL_EXCEEDED),
        };
        let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
        message.extend(self.with_ttl(ttl).into_iter().take(LONGEST_QUOTE));
        let sum = Checksum::default().over(&message).finish();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let header = ipv4::Header {
            tos: INTERNETWORK_CONTROL,
            id: 0,
            dont_fragment: false,
            ttl: crate::packet::INITIAL_TTL,
            protocol: icmp::PROTOCOL,
            source: from,
            destination: source,
        };
        let mut out = Vec::new();
        header.emit(&message, &mut out);
        Some(Self(out.into()))
    }

    fn is_icmp_error(&self) -> bool {
        let kind = self.0.get(header_len(self.0[0]));
        self.protocol() == icmp::PROTOCOL && kind.is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12))
    }

    fn address(&self, at: usize) -> Ipv4Addr {
        Ipv4Addr::new(self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3])
    }
}

fn header_len(first: u8) -> usize {
    usize::from(first & 0x0f) * 4
}

fn truncated(bytes: &[u8], needed: usize) -> ParseError {
    ParseError::Truncated { found: bytes.len(), needed }
}

const TTL: usize = 8;
const PROTOCOL: usize = 9;
const CHECKSUM: usize = 10;
const SOURCE: usize = 12;
const DESTINATION: usize = 16;
/// The fragment offset in the field that also has the flags.
const OFFSET: u16 = 0x1fff;
const ICMP_UNREACHABLE: u8 = 3;
const ICMP_TIME_EXCEEDED: u8 = 11;
/// Precedence of ICMP errors (RFC 1812 §4.3.2.5).
const INTERNETWORK_CONTROL: u8 = 0xc0;
/// An error has at most 576 bytes (RFC 1812 §4.3.2.3).
const LONGEST_QUOTE: usize = 576 - ipv4::Header::LEN - 8;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A UDP datagram between two addresses.
    pub(crate) fn datagram(source: [u8; 4], destination: [u8; 4], ttl: u8, payload: &[u8]) -> Vec<u8> {
        let [source, destination] = [source, destination].map(Ipv4Addr::from);
        let header =
            ipv4::Header { tos: 0, id: 7, dont_fragment: true, ttl, protocol: 17, source, destination };
        let mut out = Vec::new();
        header.emit(payload, &mut out);
        out
    }

    fn parsed(bytes: &[u8]) -> RealPacket {
        RealPacket::parse(bytes).unwrap()
    }

    #[test]
    fn a_packet_leaves_with_its_new_ttl_and_a_right_checksum() {
        let entered = datagram([10, 0, 0, 1], [10, 0, 0, 4], 64, b"payload");
        let left = parsed(&entered).with_ttl(61);
        let (header, payload) = ipv4::Header::parse(&left).unwrap();
        assert_eq!((header.ttl, header.id, payload), (61, 7, &b"payload"[..]));
    }

    #[test]
    fn an_error_quotes_the_packet_and_none_answers_an_error() {
        let lost = parsed(&datagram([10, 0, 0, 1], [10, 0, 0, 4], 64, &[9; 1000]));
        let error = lost.error(Trouble::TimeExceeded, 1, [10, 0, 0, 2].into()).unwrap();
        assert_eq!(error.len(), 576);
        let bytes = error.with_ttl(64);
        let (header, payload) = ipv4::Header::parse(&bytes).unwrap();
        assert_eq!((header.source, header.destination), ([10, 0, 0, 2].into(), [10, 0, 0, 1].into()));
        let Ok(icmp::Message::TimeExceeded { code: 0, quote }) = icmp::Message::parse(payload) else {
            panic!("not time exceeded")
        };
        assert_eq!((quote.header.ttl, quote.payload_len, quote.transport), (1, 1000, [9; 20]));
        assert!(error.error(Trouble::Unreachable, 60, [10, 0, 0, 3].into()).is_none());
    }

    #[test]
    fn no_error_answers_broadcasts_and_later_fragments() {
        let to = |destination| parsed(&datagram([10, 0, 0, 1], destination, 64, b"x"));
        for group in [[255; 4], [224, 0, 0, 251]] {
            assert!(to(group).error(Trouble::Unreachable, 1, [10, 0, 0, 2].into()).is_none());
        }
        let mut fragment = datagram([10, 0, 0, 1], [10, 0, 0, 4], 64, b"x");
        fragment[7] = 1;
        fragment[CHECKSUM..CHECKSUM + 2].fill(0);
        let sum = Checksum::default().over(&fragment[..20]).finish();
        fragment[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        assert!(parsed(&fragment).error(Trouble::Unreachable, 1, [10, 0, 0, 2].into()).is_none());
    }

    #[test]
    fn damaged_packets_are_refused_with_the_reason() {
        let good = datagram([10, 0, 0, 1], [10, 0, 0, 4], 64, b"payload");
        let with = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            RealPacket::parse(&bytes).unwrap_err().to_string()
        };
        assert_eq!(with(0, 0x65), "version is 6, allowed: 4");
        assert_eq!(with(0, 0x44), "internet header length is 4, allowed: 5 to 15");
        assert_eq!(with(2, 0x40), "total length is 16411, allowed: the header's length to 2296");
        assert_eq!(with(3, 28), "27 bytes where at least 28 are needed");
        assert_eq!(with(8, 63), "checksum does not match");
        assert_eq!(RealPacket::parse(&[]).unwrap_err().to_string(), "0 bytes where at least 20 are needed");
        for n in 0..good.len() {
            assert!(RealPacket::parse(&good[..n]).is_err(), "{n} bytes");
        }
    }
}
