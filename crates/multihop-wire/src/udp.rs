//! UDP datagrams (RFC 768).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Payload;

use crate::ParseError;
use crate::checksum::Checksum;
use crate::reader::Reader;

/// The IP protocol number of UDP.
pub const PROTOCOL: u8 = 17;

/// A UDP datagram without its checksum, which [`emit`](Self::emit) computes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Datagram {
    /// Source port in the UDP header.
    pub source: u16,
    /// Destination port in the UDP header.
    pub destination: u16,
    /// Application data of the datagram.
    pub payload: Payload,
}

impl Datagram {
    /// Length of the UDP header, bytes.
    pub const HEADER_LEN: usize = 8;

    /// Parses the payload of an IP packet between these addresses; a checksum of 0 means that none was computed.
    pub fn parse(bytes: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let ports = (r.u16()?, r.u16()?);
        let len = r.u16()?;
        let sent = r.u16()?;
        if usize::from(len) < Self::HEADER_LEN {
            return Err(ParseError::Field { name: "length", found: u32::from(len), allowed: "8 or more" });
        }
        let bytes = Reader::new(bytes).take(usize::from(len))?;
        if sent != 0 && checksum(bytes, source, destination) != 0 {
            return Err(ParseError::Checksum);
        }
        let mut r = Reader::new(bytes);
        r.take(Self::HEADER_LEN)?;
        Ok(Self { source: ports.0, destination: ports.1, payload: r.payload() })
    }

    /// Appends the datagram, with the checksum for these addresses.
    ///
    /// # Panics
    ///
    /// If the payload is longer than 65527 bytes.
    pub fn emit(&self, source: Ipv4Addr, destination: Ipv4Addr, out: &mut Vec<u8>) {
        let len = Self::HEADER_LEN + self.payload.len();
        let len = u16::try_from(len).expect("a UDP payload is at most 65527 bytes long");
        let start = out.len();
        for field in [self.source, self.destination, len, 0] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        self.payload.emit(out);
        let sum =
            Checksum::pseudo_header(source, destination, PROTOCOL, out.len() - start).over(&out[start..]);
        out[start + 6..start + 8].copy_from_slice(&checksum_field(sum));
    }
}

/// Field for a checksum of UDP, in which 0 means that there is no checksum (RFC 768).
pub(crate) fn checksum_field(sum: Checksum) -> [u8; 2] {
    match sum.finish() {
        0 => [0xff; 2],
        sum => sum.to_be_bytes(),
    }
}

fn checksum(bytes: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> u16 {
    Checksum::pseudo_header(source, destination, PROTOCOL, bytes.len()).over(bytes).finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{damage, payload, set_checksum};

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn datagram() -> impl Strategy<Value = Datagram> {
        (any::<(u16, u16)>(), payload()).prop_map(|((source, destination), payload)| Datagram {
            source,
            destination,
            payload,
        })
    }

    fn emitted(datagram: &Datagram) -> Vec<u8> {
        let mut out = Vec::new();
        datagram.emit(A, B, &mut out);
        out
    }

    #[test]
    fn known_bytes() {
        // The sum by hand: 0a00+0001+0a00+0002 + 0011+000c + 0001+0002+000c + 6162+6364 = d8f5.
        let datagram = Datagram { source: 1, destination: 2, payload: b"abcd".to_vec().into() };
        assert_eq!(emitted(&datagram), [0, 1, 0, 2, 0, 12, 0x27, 0x0a, b'a', b'b', b'c', b'd']);
    }

    #[test]
    fn a_computed_checksum_of_zero_is_sent_as_ones() {
        // The two bytes of data bring the sum to ffff: 1400+0003 + 0011+000a + 0000+0000+000a + ebd7.
        let datagram = Datagram { source: 0, destination: 0, payload: vec![0xeb, 0xd7].into() };
        let mut packet = emitted(&datagram);
        assert_eq!(packet[6..8], [0xff, 0xff]);
        assert_eq!(Datagram::parse(&packet, A, B), Ok(datagram.clone()));
        packet[6..8].fill(0);
        assert_eq!(Datagram::parse(&packet, B, B), Ok(datagram));
    }

    #[test]
    fn other_addresses_and_short_lengths_are_refused() {
        let mut packet = emitted(&Datagram { source: 1, destination: 2, payload: Payload::Virtual(3) });
        assert_eq!(Datagram::parse(&packet, A, A), Err(ParseError::Checksum));
        assert_eq!(
            Datagram::parse(&packet[..10], A, B),
            Err(ParseError::Truncated { found: 10, needed: 11 })
        );
        packet[5] = 7;
        let error = ParseError::Field { name: "length", found: 7, allowed: "8 or more" };
        assert_eq!(Datagram::parse(&packet, A, B), Err(error));
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(datagram in datagram()) {
            prop_assert_eq!(Datagram::parse(&emitted(&datagram), A, B), Ok(datagram));
        }

        #[test]
        fn parse_never_panics(bytes in any::<Vec<u8>>(), datagram in datagram(), damage in damage()) {
            let _ = Datagram::parse(&bytes, A, B);
            let mut packet = emitted(&datagram);
            damage.apply(&mut packet);
            let _ = Datagram::parse(&packet, A, B);
            set_checksum(&mut packet, 6, |packet| checksum(packet, A, B));
            let _ = Datagram::parse(&packet, A, B);
        }
    }
}
