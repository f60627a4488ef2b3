//! Ethernet frames that enter and leave a simulated network, and their addresses.

use std::sync::Arc;

use multihop_core::NodeId;
use multihop_radio::frame::BROADCAST;
use multihop_wire::{ParseError, dscp};

use super::{RealPacket, truncated};

/// An Ethernet frame of a real kernel: bytes that were checked when it entered the simulated network.
#[derive(Clone, Debug)]
pub struct EthernetFrame(Arc<[u8]>);

impl EthernetFrame {
    /// Parses and checks a frame from the interface with this MAC address.
    pub(crate) fn parse(mac: [u8; 6], bytes: &[u8]) -> Result<Self, ParseError> {
        let payload = bytes.len().checked_sub(HEADER).ok_or_else(|| truncated(bytes, HEADER))?;
        if payload > RealPacket::LONGEST {
            let found = u32::try_from(payload).unwrap_or(u32::MAX);
            return Err(ParseError::Field { name: "payload length", found, allowed: "0 to 2296" });
        }
        let frame = Self(bytes.into());
        let found = u32::from(frame.ethertype());
        if found < SMALLEST_TYPE {
            return Err(ParseError::Field { name: "EtherType", found, allowed: "1536 to 65535" });
        }
        // An 802.11 frame of an ad hoc network has one address field for both transmitter and source.
        if bytes[6..12] != mac {
            let found = u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
            return Err(ParseError::Field {
                name: "source",
                found,
                allowed: "the interface's own MAC address",
            });
        }
        Ok(frame)
    }

    /// The [number](crate::world::InterfaceAddresses::number) of the interface with the destination address,
    /// or the broadcast number for all neighbours; `None` if no interface can have that address.
    pub(crate) fn destination(&self) -> Option<NodeId> {
        let address = self.destination_mac();
        if address[0] & GROUP != 0 { Some(BROADCAST) } else { NodeId::from_mac(address) }
    }

    /// MAC address of the receiver.
    pub(crate) fn destination_mac(&self) -> [u8; 6] {
        core::array::from_fn(|n| self.0[n])
    }

    pub(crate) fn ethertype(&self) -> u16 {
        u16::from_be_bytes([self.0[12], self.0[13]])
    }

    /// DSCP of the IP packet in the frame; `None` for frames of other protocols.
    pub(crate) fn dscp(&self) -> Option<u8> {
        let is_ip = matches!(self.ethertype(), multihop_wire::ipv4::ETHERTYPE | super::v6::ETHERTYPE);
        dscp(self.payload()).filter(|_| is_ip)
    }

    /// Bytes after the Ethernet header.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.0[HEADER..]
    }

    /// Bytes of the whole frame, with its header.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

const HEADER: usize = 14;
/// Bit in the first byte of a multicast address.
const GROUP: u8 = 1;
/// Smallest EtherType; smaller values are lengths of 802.3 frames.
const SMALLEST_TYPE: u32 = 0x600;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(destination: [u8; 6], source: NodeId, ethertype: u16) -> Vec<u8> {
        [&destination[..], &source.mac(), &ethertype.to_be_bytes(), b"payload"].concat()
    }

    #[test]
    fn a_frame_goes_to_a_node_to_all_neighbours_or_nowhere() {
        let own = NodeId(3).mac();
        let to = |mac| EthernetFrame::parse(own, &frame(mac, NodeId(3), 0x0800)).unwrap().destination();
        assert_eq!(to(NodeId(7).mac()), Some(NodeId(7)));
        for group in [[0xff; 6], [0x01, 0, 0x5e, 0, 0, 5], [0x33, 0x33, 0, 0, 0, 1]] {
            assert_eq!(to(group), Some(BROADCAST));
        }
        assert_eq!(to([0x52, 0x54, 0, 1, 2, 3]), None);
    }

    #[test]
    fn damaged_frames_are_refused_with_the_reason() {
        let refused = |bytes: &[u8]| EthernetFrame::parse(NodeId(3).mac(), bytes).unwrap_err().to_string();
        let good = frame([0xff; 6], NodeId(3), 0x0800);
        assert_eq!(refused(&good[..13]), "13 bytes where at least 14 are needed");
        assert_eq!(refused(&[]), "0 bytes where at least 14 are needed");
        let long = [&good[..], &[0; 2290]].concat();
        assert_eq!(refused(&long), "payload length is 2297, allowed: 0 to 2296");
        let short = frame([0xff; 6], NodeId(3), 7);
        assert_eq!(refused(&short), "EtherType is 7, allowed: 1536 to 65535");
        let foreign = frame([0xff; 6], NodeId(4), 0x0800);
        assert_eq!(refused(&foreign), "source is 4, allowed: the interface's own MAC address");
    }
}
