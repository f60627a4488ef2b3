//! Originator messages of B.A.T.M.A.N. IV in the format of its daemon (version 5), in UDP datagrams to and
//! from port 4305. Several messages share a datagram.
//!
//! Fields about gateways are sent as zero and ignored. Announced networks are skipped.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_routing::message::CustomMessage;
use multihop_wire::ParseError;
use multihop_wire::reader::Reader;

/// UDP port of the B.A.T.M.A.N. daemon.
pub const PORT: u16 = 4305;

/// A UDP datagram with one or more originator messages.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Packet {
    /// Originator messages of the datagram, in order.
    pub ogms: Vec<Ogm>,
}

/// An originator message (OGM): announces that the originator exists and can be reached through the sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ogm {
    /// Whether the sender does not use the link to the node from which it received the message.
    pub unidirectional: bool,
    /// Whether the sender received the message from the originator itself.
    pub direct_link: bool,
    /// Number of links that the message may still cross.
    pub ttl: u8,
    /// Counts the messages of the originator.
    pub seqno: Seqno,
    /// The node that the message announces.
    pub originator: Ipv4Addr,
    /// The node from which the sender received the message; the originator in its own messages.
    pub previous: Ipv4Addr,
    /// Transmission quality of the path, 255 for one without losses.
    pub tq: u8,
}

/// The number of an originator message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Seqno(pub u16);

impl Packet {
    /// Parses the data of a UDP datagram.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let mut ogms = Vec::new();
        while !r.is_empty() {
            ogms.push(Ogm::parse(&mut r)?);
        }
        Ok(Self { ogms })
    }

    /// Appends the bytes of all messages.
    pub fn emit(&self, out: &mut Vec<u8>) {
        for ogm in &self.ogms {
            ogm.emit(out);
        }
    }

    /// Number of bytes that [`emit`](Self::emit) appends.
    pub const fn wire_len(&self) -> usize {
        Ogm::LEN * self.ogms.len()
    }
}

impl CustomMessage for Packet {
    fn kind(&self) -> &'static str {
        "ogm"
    }

    fn wire_len(&self) -> usize {
        self.wire_len()
    }

    fn emit(&self, out: &mut Vec<u8>) {
        self.emit(out);
    }

    fn port(&self) -> u16 {
        PORT
    }

    fn fields(&self, fields: &mut Vec<(&'static str, String)>) {
        let ogm = |ogm: &Ogm| format!("{} of {}, TQ {}", ogm.seqno.0, ogm.originator, ogm.tq);
        fields.extend(self.ogms.iter().map(|one| ("OGM", ogm(one))));
    }
}

impl Ogm {
    const LEN: usize = 18;

    fn parse(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        let version = r.u8()?;
        if version != VERSION {
            return Err(ParseError::Field { name: "version", found: version.into(), allowed: "5" });
        }
        let (flags, ttl) = (r.u8()?, r.u8()?);
        r.u8()?;
        let seqno = Seqno(r.u16()?);
        r.u16()?;
        let (originator, previous, tq) = (r.address()?, r.address()?, r.u8()?);
        let networks = usize::from(r.u8()?);
        r.take(networks * NETWORK)?;
        Ok(Self {
            unidirectional: flags & UNIDIRECTIONAL != 0,
            direct_link: flags & DIRECT_LINK != 0,
            ttl,
            seqno,
            originator,
            previous,
            tq,
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let flag = |set, bit| if set { bit } else { 0 };
        let flags = flag(self.unidirectional, UNIDIRECTIONAL) | flag(self.direct_link, DIRECT_LINK);
        out.extend([VERSION, flags, self.ttl, 0]);
        out.extend(self.seqno.0.to_be_bytes());
        out.extend([0, 0]);
        out.extend(self.originator.octets());
        out.extend(self.previous.octets());
        out.extend([self.tq, 0]);
    }
}

impl Seqno {
    /// The next sequence number; 0 follows the largest.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Distance to an earlier number; negative if that is newer (numbers may wrap).
    pub const fn since(self, other: Self) -> i16 {
        self.0.wrapping_sub(other.0).cast_signed()
    }
}

const VERSION: u8 = 5;
const UNIDIRECTIONAL: u8 = 0x80;
const DIRECT_LINK: u8 = 0x40;
/// Bytes of an announced network: address and length of its prefix.
const NETWORK: usize = 5;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use multihop_testkit::damage::damage;

    fn packet() -> impl Strategy<Value = Packet> {
        let ogm = (any::<(bool, bool, u8, u16, u8)>(), any::<(Ipv4Addr, Ipv4Addr)>()).prop_map(
            |((unidirectional, direct_link, ttl, seqno, tq), (originator, previous))| {
                let seqno = Seqno(seqno);
                Ogm { unidirectional, direct_link, ttl, seqno, originator, previous, tq }
            },
        );
        vec(ogm, 0..5).prop_map(|ogms| Packet { ogms })
    }

    fn emitted(packet: &Packet) -> Vec<u8> {
        let mut out = Vec::new();
        packet.emit(&mut out);
        out
    }

    #[test]
    fn known_bytes() {
        let ogm = Ogm {
            unidirectional: false,
            direct_link: true,
            ttl: 49,
            seqno: Seqno(0x0102),
            originator: Ipv4Addr::new(10, 0, 0, 1),
            previous: Ipv4Addr::new(10, 0, 0, 2),
            tq: 225,
        };
        let bytes = [5, 0x40, 49, 0, 1, 2, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 225, 0];
        let ogms = alloc::vec![ogm];
        assert_eq!(emitted(&Packet { ogms: ogms.clone() }), bytes);
        let with_network = [&bytes[..17], &[1, 10, 1, 0, 0, 16]].concat();
        assert_eq!(Packet::parse(&with_network), Ok(Packet { ogms }));
        assert_eq!(Packet::parse(&[4]), Err(ParseError::Field { name: "version", found: 4, allowed: "5" }));
        assert_eq!(Packet::parse(&bytes[..9]), Err(ParseError::Truncated { found: 9, needed: 12 }));
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(packet in packet()) {
            let bytes = emitted(&packet);
            prop_assert_eq!(bytes.len(), packet.wire_len());
            prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
        }

        #[test]
        fn no_input_panics(packet in packet(), damage in damage()) {
            let mut bytes = emitted(&packet);
            if !bytes.is_empty() {
                damage.apply(&mut bytes);
            }
            let _ = Packet::parse(&bytes);
        }
    }
}
