//! ARP between IPv4 and IEEE 802 addresses (RFC 826).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::ParseError;
use crate::ipv4;
use crate::reader::Reader;

/// The EtherType of ARP.
pub const ETHERTYPE: u16 = 0x0806;

/// An ARP packet for IPv4 over MAC addresses of 6 bytes (RFC 826).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Packet {
    /// Whether the packet requests a MAC address or answers a request.
    pub operation: Operation,
    /// MAC address of the sender.
    pub sender_mac: [u8; 6],
    /// IP address of the sender.
    pub sender: Ipv4Addr,
    /// MAC address of the target; zeros in a request.
    pub target_mac: [u8; 6],
    /// IP address of the target.
    pub target: Ipv4Addr,
}

/// Purpose of an ARP packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operation {
    /// Asks for the MAC address of the target.
    Request,
    /// Gives the MAC address of the sender.
    Reply,
}

impl Packet {
    /// Length of a packet, bytes.
    pub const LEN: usize = 28;

    /// Reads a packet; bytes after its end (link-layer padding) are dropped.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        expect("hardware type", r.u16()?, HARDWARE_IEEE802, "1")?;
        expect("protocol type", r.u16()?, ipv4::ETHERTYPE, "2048, IPv4")?;
        expect("address lengths", r.u16()?, ADDRESS_LENGTHS, "1540, 6 and 4 bytes")?;
        let operation = match r.u16()? {
            REQUEST => Operation::Request,
            REPLY => Operation::Reply,
            other => {
                let (name, found) = ("operation", u32::from(other));
                return Err(ParseError::Field { name, found, allowed: "1 or 2" });
            }
        };
        Ok(Self {
            operation,
            sender_mac: r.array()?,
            sender: r.u32()?.into(),
            target_mac: r.array()?,
            target: r.u32()?.into(),
        })
    }

    /// Appends the bytes of the packet.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let operation = match self.operation {
            Operation::Request => REQUEST,
            Operation::Reply => REPLY,
        };
        for field in [HARDWARE_IEEE802, ipv4::ETHERTYPE, ADDRESS_LENGTHS, operation] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        out.extend_from_slice(&self.sender_mac);
        out.extend_from_slice(&self.sender.octets());
        out.extend_from_slice(&self.target_mac);
        out.extend_from_slice(&self.target.octets());
    }
}

fn expect(name: &'static str, found: u16, value: u16, allowed: &'static str) -> Result<(), ParseError> {
    if found == value { Ok(()) } else { Err(ParseError::Field { name, found: u32::from(found), allowed }) }
}

const HARDWARE_IEEE802: u16 = 1;
/// Lengths of the addresses in the header: 6 for MAC, 4 for IP.
const ADDRESS_LENGTHS: u16 = 0x0604;
const REQUEST: u16 = 1;
const REPLY: u16 = 2;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::damage;

    fn packet() -> impl Strategy<Value = Packet> {
        any::<(bool, [u8; 6], Ipv4Addr, [u8; 6], Ipv4Addr)>().prop_map(
            |(request, sender_mac, sender, target_mac, target)| Packet {
                operation: if request { Operation::Request } else { Operation::Reply },
                sender_mac,
                sender,
                target_mac,
                target,
            },
        )
    }

    fn emitted(packet: &Packet) -> Vec<u8> {
        let mut out = Vec::new();
        packet.emit(&mut out);
        out
    }

    #[test]
    fn known_bytes() {
        let packet = Packet {
            operation: Operation::Reply,
            sender_mac: [2, 0, 0, 0, 0, 1],
            sender: Ipv4Addr::new(10, 0, 0, 2),
            target_mac: [2, 0, 0, 0, 0, 0],
            target: Ipv4Addr::new(10, 0, 0, 1),
        };
        let expected = [0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 1, 10, 0, 0, 2, 2, 0, 0, 0, 0, 0, 10, 0, 0, 1];
        assert_eq!(emitted(&packet), expected);
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(packet in packet()) {
            let bytes = emitted(&packet);
            prop_assert_eq!(bytes.len(), Packet::LEN);
            prop_assert_eq!(Packet::parse(&bytes), Ok(packet));
        }

        #[test]
        fn each_fixed_field_is_checked(packet in packet(), at in 0..8_usize, by in 4..=255_u8) {
            let mut bytes = emitted(&packet);
            bytes[at] ^= by;
            let error = Packet::parse(&bytes);
            prop_assert!(matches!(error, Err(ParseError::Field { .. })), "{:?}", error);
        }

        #[test]
        fn parse_never_panics(bytes in any::<Vec<u8>>(), packet in packet(), damage in damage()) {
            let _ = Packet::parse(&bytes);
            let mut bytes = emitted(&packet);
            damage.apply(&mut bytes);
            let _ = Packet::parse(&bytes);
        }
    }
}
