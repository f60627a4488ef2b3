//! Messages of routing protocols: their names in results, their IP payload and their length.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::net::Ipv4Addr;

use multihop_wire::{aodv, dsr, olsr, udp};

/// A message of a routing protocol.
///
/// All nodes that receive a broadcast read the same message, so a clone must be cheap.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Message {
    /// Message of AODV (RFC 3561).
    Aodv(aodv::Message),
    /// Packet of OLSR (RFC 3626).
    Olsr(Arc<olsr::Packet>),
    /// Message of DSR (RFC 4728).
    Dsr(Arc<DsrMessage>),
    /// Message of a protocol that this crate does not contain, in the protocol's own format.
    Custom(Arc<dyn CustomMessage>),
}

/// A message in the format of a user-defined protocol: the payload of a UDP datagram.
///
/// Simulated agents exchange the value itself; results, captures and the viewer show what these methods return.
pub trait CustomMessage: Any + fmt::Debug + Send + Sync {
    /// Name of the message in results and traces.
    fn kind(&self) -> &'static str;

    /// Number of bytes that [`emit`](Self::emit) appends. Their transmission takes time.
    fn wire_len(&self) -> usize;

    /// Appends the payload of the datagram.
    fn emit(&self, out: &mut Vec<u8>);

    /// UDP port of source and destination, by which programs that read captures recognise the format.
    fn port(&self) -> u16 {
        CUSTOM_PORT
    }

    /// Appends names and values of the fields that the viewer shows.
    fn fields(&self, _fields: &mut Vec<(&'static str, String)>) {}
}

/// Two messages are equal if they have the same type and the same bytes.
impl PartialEq for dyn CustomMessage {
    fn eq(&self, other: &Self) -> bool {
        let emitted = |message: &Self| {
            let mut bytes = Vec::with_capacity(message.wire_len());
            message.emit(&mut bytes);
            bytes
        };
        self.type_id() == other.type_id() && emitted(self) == emitted(other)
    }
}

impl Eq for dyn CustomMessage {}

/// A DSR message with the addresses of its IP header. It may cross several hops.
///
/// The IP packet has protocol number [`dsr::PROTOCOL`] and the header's bytes as payload.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DsrMessage {
    /// IP address of the message's source.
    pub source: Ipv4Addr,
    /// IP destination address; requests go to the broadcast address.
    pub destination: Ipv4Addr,
    /// The DSR header.
    pub header: dsr::Header,
}

impl Message {
    /// A message in the format of a user-defined protocol.
    pub fn custom(content: impl CustomMessage) -> Self {
        Self::Custom(Arc::new(content))
    }

    /// Content of a message of the format `M`; `None` for messages in another format.
    pub fn content<M: CustomMessage>(&self) -> Option<&M> {
        let Self::Custom(content) = self else { return None };
        let content: &dyn Any = &**content;
        content.downcast_ref()
    }

    /// Appends names and values of the fields that the viewer shows in addition to [`kind`](Self::kind).
    pub fn fields(&self, fields: &mut Vec<(&'static str, String)>) {
        if let Self::Custom(content) = self {
            content.fields(fields);
        }
    }

    /// Name of the message in results and traces. For an OLSR packet with several messages, the name of its
    /// first flooded message.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Aodv(aodv::Message::Request(_)) => "rreq",
            // Such a reply is a HELLO, because no node requests a route to itself.
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
            Self::Custom(content) => content.kind(),
        }
    }

    /// IP source and destination of a message that is addressed over several hops; `None` if it
    /// crosses a single link, from its sender to the next hop.
    pub fn endpoints(&self) -> Option<(Ipv4Addr, Ipv4Addr)> {
        match self {
            Self::Dsr(message) => Some((message.source, message.destination)),
            Self::Aodv(_) | Self::Olsr(_) | Self::Custom(_) => None,
        }
    }

    /// Bytes of the IP packet.
    pub fn packet_len(&self) -> usize {
        match self {
            Self::Aodv(message) => IP_AND_UDP + message.wire_len(),
            Self::Olsr(packet) => IP_AND_UDP + packet.len(),
            Self::Dsr(message) => IP + message.header.accounted_len(),
            Self::Custom(content) => IP_AND_UDP + content.wire_len(),
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
            Self::Custom(content) => {
                content.emit(&mut bytes);
                content.port()
            }
        };
        let datagram = udp::Datagram { source: port, destination: port, payload: bytes.into() };
        let mut out = Vec::with_capacity(self.packet_len());
        datagram.emit(source, destination, &mut out);
        (udp::PROTOCOL, out)
    }
}

const IP: usize = 20;
const IP_AND_UDP: usize = IP + 8;
/// UDP port of messages without a port of their own: an unassigned number near AODV's 654.
const CUSTOM_PORT: u16 = 650;
