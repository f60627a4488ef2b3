//! IPv4 headers (RFC 791). Options are skipped when parsed; fragments are refused.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::ParseError;
use crate::checksum::Checksum;
use crate::reader::Reader;

/// The EtherType of IPv4.
pub const ETHERTYPE: u16 = 0x0800;

/// The longest payload of one datagram without options.
pub const MAX_PAYLOAD: usize = 65_535 - Header::LEN;

/// An IPv4 header without options.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Header {
    /// Differentiated services and congestion notification (RFC 2474, RFC 3168).
    pub tos: u8,
    /// Identification field, which all fragments of one packet share.
    pub id: u16,
    /// Whether routers must not fragment the packet.
    pub dont_fragment: bool,
    /// Number of routers that may still forward the packet.
    pub ttl: u8,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Source address in the header.
    pub source: Ipv4Addr,
    /// Destination address in the header.
    pub destination: Ipv4Addr,
}

impl Header {
    /// Bytes of a header without options.
    pub const LEN: usize = 20;

    /// Splits a datagram into header and payload; bytes after its end (link-layer padding) are ignored.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let start = Start::parse(bytes)?;
        let (header, rest) = bytes.split_at(start.header_len);
        if Checksum::default().over(header).finish() != 0 {
            return Err(ParseError::Checksum);
        }
        Ok((start.header, Reader::new(rest).take(start.payload_len)?))
    }

    /// Appends the header and `payload`.
    ///
    /// # Panics
    ///
    /// If `payload` is longer than [`MAX_PAYLOAD`].
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) {
        self.emit_for(payload.len(), out);
        out.extend_from_slice(payload);
    }

    /// Appends the header of a datagram whose payload has `payload_len` bytes.
    pub(crate) fn emit_for(&self, payload_len: usize, out: &mut Vec<u8>) {
        let total = u16::try_from(Self::LEN + payload_len).expect("a payload is at most MAX_PAYLOAD long");
        let flags = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let start = out.len();
        out.extend_from_slice(&[VERSION_4 | 5, self.tos]);
        out.extend_from_slice(&total.to_be_bytes());
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&flags.to_be_bytes());
        out.extend_from_slice(&[self.ttl, self.protocol, 0, 0]);
        out.extend_from_slice(&self.source.octets());
        out.extend_from_slice(&self.destination.octets());
        let checksum = Checksum::default().over(&out[start..]).finish();
        out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The header of a datagram that may be cut short.
pub(crate) struct Start {
    pub(crate) header: Header,
    pub(crate) header_len: usize,
    pub(crate) payload_len: usize,
}

impl Start {
    /// Parses a header with options, without verifying its checksum.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let first = r.u8()?;
        let header_len = usize::from(first & 0x0f) * 4;
        if first & 0xf0 != VERSION_4 {
            return Err(ParseError::Field { name: "version", found: u32::from(first >> 4), allowed: "4" });
        }
        if header_len < Header::LEN {
            let found = u32::from(first & 0x0f);
            return Err(ParseError::Field { name: "internet header length", found, allowed: "5 to 15" });
        }
        let tos = r.u8()?;
        let total = r.u16()?;
        let Some(payload_len) = usize::from(total).checked_sub(header_len) else {
            let allowed = "no less than the header";
            return Err(ParseError::Field { name: "total length", found: u32::from(total), allowed });
        };
        let id = r.u16()?;
        let flags = r.u16()?;
        if flags & FRAGMENT != 0 {
            let found = u32::from(flags & FRAGMENT);
            return Err(ParseError::Field { name: "fragment", found, allowed: "0, the only fragment" });
        }
        let ttl = r.u8()?;
        let protocol = r.u8()?;
        let _checksum = r.u16()?;
        let (source, destination) = (r.u32()?.into(), r.u32()?.into());
        r.take(header_len - Header::LEN)?;
        let dont_fragment = flags & DONT_FRAGMENT != 0;
        let header = Header { tos, id, dont_fragment, ttl, protocol, source, destination };
        Ok(Self { header, header_len, payload_len })
    }
}

const VERSION_4: u8 = 0x40;
const DONT_FRAGMENT: u16 = 0x4000;
/// Bits of fragments: more fragments, and the offset.
const FRAGMENT: u16 = 0x3fff;

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{damage, set_checksum};

    pub(crate) fn header() -> impl Strategy<Value = Header> {
        any::<(u8, u16, bool, u8, u8, Ipv4Addr, Ipv4Addr)>().prop_map(
            |(tos, id, dont_fragment, ttl, protocol, source, destination)| Header {
                tos,
                id,
                dont_fragment,
                ttl,
                protocol,
                source,
                destination,
            },
        )
    }

    fn emitted(header: &Header, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        header.emit(payload, &mut out);
        out
    }

    fn header_checksum(packet: &[u8]) -> u16 {
        let len = usize::from(packet[0] & 0x0f) * 4;
        Checksum::default().over(&packet[..len.min(packet.len())]).finish()
    }

    const EXAMPLE: Header = Header {
        tos: 0,
        id: 0,
        dont_fragment: true,
        ttl: 64,
        protocol: 17,
        source: Ipv4Addr::new(192, 168, 0, 1),
        destination: Ipv4Addr::new(192, 168, 0, 199),
    };

    #[test]
    fn known_bytes() {
        let expected =
            [0x45, 0, 0, 22, 0, 0, 0x40, 0, 64, 17, 0xb8, 0xbe, 192, 168, 0, 1, 192, 168, 0, 199, b'h', b'i'];
        assert_eq!(emitted(&EXAMPLE, b"hi"), expected);
    }

    #[test]
    fn options_are_skipped_and_padding_after_the_end_dropped() {
        let mut packet = emitted(&EXAMPLE, b"hi");
        packet[0] = 0x46;
        packet[3] += 4;
        packet.splice(20..20, [1, 1, 1, 0]);
        packet.extend([9; 9]);
        set_checksum(&mut packet, 10, header_checksum);
        assert_eq!(Header::parse(&packet), Ok((EXAMPLE, &b"hi"[..])));
    }

    #[test]
    fn refusals_say_why() {
        let with = |at: usize, value: u8| {
            let mut packet = emitted(&EXAMPLE, b"hi");
            packet[at] = value;
            Header::parse(&packet).unwrap_err()
        };
        let field = |name, found, allowed| ParseError::Field { name, found, allowed };
        assert_eq!(with(0, 0x65), field("version", 6, "4"));
        assert_eq!(with(0, 0x44), field("internet header length", 4, "5 to 15"));
        assert_eq!(with(3, 19), field("total length", 19, "no less than the header"));
        assert_eq!(with(6, 0x20), field("fragment", 0x2000, "0, the only fragment"));
        assert_eq!(with(8, 63), ParseError::Checksum);
        let short = &emitted(&EXAMPLE, b"hi")[..21];
        assert_eq!(Header::parse(short), Err(ParseError::Truncated { found: 1, needed: 2 }));
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(header in header(), payload in any::<Vec<u8>>()) {
            let packet = emitted(&header, &payload);
            prop_assert_eq!(Header::parse(&packet), Ok((header, &payload[..])));
        }

        #[test]
        fn parse_never_panics(bytes in any::<Vec<u8>>(), header in header(), damage in damage()) {
            let _ = Header::parse(&bytes);
            let mut packet = emitted(&header, &bytes);
            damage.apply(&mut packet);
            set_checksum(&mut packet, 10, header_checksum);
            let _ = Header::parse(&packet);
        }
    }
}
