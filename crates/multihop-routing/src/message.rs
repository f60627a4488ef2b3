//! Messages of routing protocols: their names in results, their IP payload and their length.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_wire::{aodv, babel, batman, dsr, hwmp, olsr, olsrv2, udp};

/// A message of a routing protocol.
///
/// All nodes that receive a broadcast read the same message, so a clone must be cheap.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Message {
    /// RFC 3561.
    Aodv(aodv::Message),
    /// RFC 3626.
    Olsr(Arc<olsr::Packet>),
    /// RFC 7181.
    Olsrv2(Arc<olsrv2::Packet>),
    /// RFC 8966.
    Babel(Arc<babel::Packet>),
    /// B.A.T.M.A.N. IV.
    Batman(Arc<batman::Packet>),
    /// IEEE 802.11-2020, 14.10.
    Hwmp(Arc<hwmp::Message>),
    /// RFC 4728.
    Dsr(Arc<DsrMessage>),
    /// Any other protocol.
    Custom {
        /// What results and traces call it.
        kind: &'static str,
        /// The UDP payload.
        bytes: Arc<[u8]>,
    },
}

/// A DSR message with the addresses of its IP header. It may cross several hops.
///
/// The IP header carries [`dsr::PROTOCOL`] and the header's bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DsrMessage {
    /// IP source address.
    pub source: Ipv4Addr,
    /// IP destination address; requests go to the broadcast address.
    pub destination: Ipv4Addr,
    /// The DSR header.
    pub header: dsr::Header,
}

impl Message {
    /// What results and traces call it.
    ///
    /// The name of an OLSR packet with several messages is that of its first flooded one. A Babel packet with a Hello is a
    /// Hello, one with updates an update.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Aodv(aodv::Message::Request(_)) => "rreq",
            // No node requests a route to itself.
            Self::Aodv(aodv::Message::Reply(reply)) if reply.originator == reply.destination => "hello",
            Self::Aodv(aodv::Message::Reply(_)) => "rrep",
            Self::Aodv(aodv::Message::Error(_)) => "rerr",
            Self::Aodv(aodv::Message::ReplyAck) => "rrep-ack",
            Self::Olsr(packet) => {
                let flooded = packet.messages.iter().find(|m| !matches!(m.body, olsr::Body::Hello(_)));
                match flooded.map(|message| &message.body) {
                    None => "hello",
                    Some(olsr::Body::Tc(_) | olsr::Body::Costs(_)) => "tc",
                    Some(_) => "olsr",
                }
            }
            Self::Dsr(message) if message.header.request.is_some() => "rreq",
            Self::Dsr(message) if !message.header.replies.is_empty() => "rrep",
            Self::Dsr(_) => "rerr",
            Self::Olsrv2(packet) => {
                let floods = packet.messages.iter().any(|message| matches!(message, olsrv2::Message::Tc(_)));
                if floods { "tc" } else { "hello" }
            }
            Self::Babel(packet) => babel_kind(packet),
            Self::Batman(_) => "ogm",
            Self::Hwmp(message) => match **message {
                hwmp::Message::Request(_) => "preq",
                hwmp::Message::Reply(_) => "prep",
                hwmp::Message::Error(_) => "perr",
            },
            Self::Custom { kind, .. } => kind,
        }
    }

    /// IP source and destination of a message that is addressed over several hops; `None` if it
    /// crosses a single link, from its sender to the next hop.
    pub fn endpoints(&self) -> Option<(Ipv4Addr, Ipv4Addr)> {
        match self {
            Self::Dsr(message) => Some((message.source, message.destination)),
            Self::Aodv(_)
            | Self::Olsr(_)
            | Self::Olsrv2(_)
            | Self::Babel(_)
            | Self::Batman(_)
            | Self::Hwmp(_)
            | Self::Custom { .. } => None,
        }
    }

    /// Bytes of the IP packet.
    pub fn packet_len(&self) -> usize {
        match self {
            Self::Aodv(message) => IP_AND_UDP + message.wire_len(),
            Self::Olsr(packet) => IP_AND_UDP + packet.len(),
            Self::Olsrv2(packet) => IP_AND_UDP + packet.wire_len(),
            Self::Babel(packet) => IP_AND_UDP + packet.wire_len(),
            Self::Batman(packet) => IP_AND_UDP + packet.wire_len(),
            Self::Hwmp(message) => IP_AND_UDP + message.wire_len(),
            Self::Dsr(message) => IP + message.header.accounted_len(),
            Self::Custom { bytes, .. } => IP_AND_UDP + bytes.len(),
        }
    }

    /// Protocol number and payload of the IP packet between these addresses.
    pub fn ip_payload(&self, source: Ipv4Addr, destination: Ipv4Addr) -> (u8, Vec<u8>) {
        let mut bytes = Vec::with_capacity(self.packet_len());
        let port = match self {
            Self::Dsr(message) => {
                message.header.emit(&mut bytes);
                return (dsr::PROTOCOL, bytes);
            }
            Self::Aodv(message) => {
                message.emit(&mut bytes);
                aodv::PORT
            }
            Self::Olsr(packet) => {
                packet.emit(&mut bytes);
                olsr::PORT
            }
            Self::Olsrv2(packet) => {
                packet.emit(&mut bytes);
                olsrv2::PORT
            }
            Self::Babel(packet) => {
                packet.emit(&mut bytes);
                babel::PORT
            }
            Self::Batman(packet) => {
                packet.emit(&mut bytes);
                batman::PORT
            }
            Self::Hwmp(message) => {
                message.emit(&mut bytes);
                hwmp::PORT
            }
            Self::Custom { bytes: payload, .. } => {
                bytes.extend_from_slice(payload);
                CUSTOM_PORT
            }
        };
        let datagram = udp::Datagram { source: port, destination: port, payload: bytes.into() };
        let mut out = Vec::with_capacity(self.packet_len());
        datagram.emit(source, destination, &mut out);
        (udp::PROTOCOL, out)
    }
}

fn babel_kind(packet: &babel::Packet) -> &'static str {
    let has = |is: fn(&babel::Tlv) -> bool| packet.tlvs.iter().any(is);
    if has(|tlv| matches!(tlv, babel::Tlv::Hello(_))) {
        "hello"
    } else if has(|tlv| matches!(tlv, babel::Tlv::Update(_) | babel::Tlv::RetractAll)) {
        "update"
    } else {
        "request"
    }
}

const IP: usize = 20;
const IP_AND_UDP: usize = IP + 8;
/// UDP port of user-defined protocols: an unassigned number near AODV's 654.
const CUSTOM_PORT: u16 = 650;
