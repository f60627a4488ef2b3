//! Messages of OLSRv2 (RFC 7181) and of its neighbourhood discovery (NHDP, RFC 6130), in packets of RFC 5444.
//!
//! Messages of other types, and those that lack what OLSRv2 requires, are ignored, and so are attributes of unknown types.
//!
//! Messages in memory refer to nodes by 32 bits: an IPv4 address, or the name of an IPv6 address on this host.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use multihop_core::Duration;
use multihop_routing::message::CustomMessage;
use multihop_wire::ParseError;

use crate::rfc5444;

pub(super) mod emit;
pub(super) mod parse;

pub use rfc5444::PORT;

/// An OLSRv2 packet with its messages (RFC 7181, in the format of RFC 5444).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Packet {
    /// Counts the packets of the sending interface.
    pub sequence: Option<u16>,
    /// Messages of this node, and forwarded messages of other nodes.
    pub messages: Vec<Message>,
}

/// An OLSRv2 message: about links for neighbours, or about topology for the network.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Message {
    /// HELLO with the sender's links, which only neighbours receive.
    Hello(Hello),
    /// Topology control (TC), flooded to the whole network.
    Tc(Tc),
}

/// A HELLO: the links and neighbours of a node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hello {
    /// Address of the node that sent the HELLO.
    pub originator: Ipv4Addr,
    /// Validity time of the information.
    pub validity: TimeCode,
    /// Time between HELLOs of the node.
    pub interval: Option<TimeCode>,
    /// Willingness of the node to be a relay.
    pub willingness: Willingness,
    /// The addresses of the sending interface; if empty, the source address of the packet.
    pub addresses: Vec<Ipv4Addr>,
    /// The addresses of the node's other interfaces.
    pub further: Vec<Ipv4Addr>,
    /// Links and neighbours of the node.
    pub neighbours: Vec<Neighbour>,
}

/// State and costs of a neighbour, as a HELLO reports them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Neighbour {
    /// Address of the neighbour.
    pub address: Ipv4Addr,
    /// State of the link to the neighbour.
    pub link: Option<LinkStatus>,
    /// Whether the node with this address is a neighbour over any interface; `Some(false)`: no longer.
    pub symmetric: Option<bool>,
    /// Whether the neighbour is to forward messages that the sender floods.
    pub floods: bool,
    /// Whether the neighbour is to announce the sender.
    pub routes: bool,
    /// Cost of the link to this address, in both directions.
    pub link_metrics: Metrics,
    /// Cost of the best link to the neighbour with this address, in both directions.
    pub metrics: Metrics,
}

/// The state of a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkStatus {
    /// The neighbour is no longer heard.
    Lost,
    /// The link works in both directions.
    Symmetric,
    /// The neighbour is heard; whether it hears this node is unknown.
    Heard,
}

/// Costs by the directional airtime metric.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Metrics {
    /// Cost of the direction to the sender of the message.
    pub incoming: Option<Metric>,
    /// Cost of the direction from the sender of the message.
    pub outgoing: Option<Metric>,
}

/// A cost, 1 to 16,776,960, in 12 bits: (257 + a) 2^b - 256 with b in the upper four (RFC 7181, section 6.2).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Metric(u16);

/// Willingness of a node to be a relay, 0 (never) to 15 (always).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Willingness {
    /// Willingness to forward flooded messages.
    pub flooding: u8,
    /// Willingness to forward data packets.
    pub routing: u8,
}

/// Neighbours that a node announces, with what a flooded message needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tc {
    /// Address of the node that created the message.
    pub originator: Ipv4Addr,
    /// Number of hops that the message may still travel.
    pub hop_limit: u8,
    /// Number of times that the message was forwarded.
    pub hop_count: u8,
    /// Counts the flooded messages of the originator.
    pub sequence: u16,
    /// Validity time of the information.
    pub validity: TimeCode,
    /// Time between TCs of the node.
    pub interval: Option<TimeCode>,
    /// Advertised neighbours, shared because all receivers store the TC.
    pub advertised: Arc<Advertised>,
}

/// The neighbours that a TC announces.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Advertised {
    /// Number of the advertised set, which counts its changes (ANSN).
    pub sequence: u16,
    /// Whether the message lists all neighbours that the node announces.
    pub complete: bool,
    /// Announced neighbours, each with the cost of the direction to the neighbour, if measured.
    pub links: Vec<(Ipv4Addr, Option<Metric>)>,
    /// Networks behind the node, and its further addresses.
    pub networks: Vec<Attached>,
}

/// A network behind a node (RFC 7181, section 7.2).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Attached {
    /// Address of the network.
    pub network: IpAddr,
    /// Length of the network's prefix in bits.
    pub prefix: u8,
    /// Number of hops from the node to the network.
    pub distance: u8,
    /// Cost from the node to the network.
    pub metric: Metric,
}

/// Conversion between addresses on the wire and their names in memory.
pub(super) trait Names {
    /// Name of an address; `None` if there is no room for another name.
    fn name(&mut self, address: IpAddr) -> Option<Ipv4Addr>;

    /// Address with a name; `None` if the name is unknown.
    fn address(&mut self, name: Ipv4Addr) -> Option<IpAddr>;

    /// Whether addresses have sixteen bytes.
    fn is_ipv6(&self) -> bool;
}

/// IPv4 addresses, which are their own names.
pub(super) struct Same;

impl Names for Same {
    fn name(&mut self, address: IpAddr) -> Option<Ipv4Addr> {
        if let IpAddr::V4(address) = address { Some(address) } else { None }
    }

    fn address(&mut self, name: Ipv4Addr) -> Option<IpAddr> {
        Some(name.into())
    }

    fn is_ipv6(&self) -> bool {
        false
    }
}

/// A time in one byte: (1 + a/8) 2^b / 1024 s with b in the upper five bits (RFC 5497).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct TimeCode(pub u8);

impl Packet {
    /// Parses the data of a UDP datagram.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let rfc5444::Packet { sequence, messages, .. } = rfc5444::Packet::parse(bytes)?;
        let messages = messages.iter().filter_map(|message| parse::message(message, &mut Same)).collect();
        Ok(Self { sequence, messages })
    }

    /// Appends the bytes of the packet.
    ///
    /// # Panics
    ///
    /// If a message lists more than [`MAX_ADDRESSES`].
    pub fn emit(&self, out: &mut Vec<u8>) {
        let messages = self.messages.iter().filter_map(|message| emit::message(message, &mut Same)).collect();
        rfc5444::Packet { sequence: self.sequence, tlvs: Vec::new(), messages }.emit(out);
    }

    /// Number of bytes that [`emit`](Self::emit) appends.
    pub fn wire_len(&self) -> usize {
        let mut out = Vec::new();
        self.emit(&mut out);
        out.len()
    }
}

impl CustomMessage for Packet {
    fn kind(&self) -> &'static str {
        let floods = self.messages.iter().any(|message| matches!(message, Message::Tc(_)));
        if floods { "tc" } else { "hello" }
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
        fields.extend(self.messages.iter().map(|message| match message {
            Message::Hello(hello) => {
                ("HELLO", format!("of {}, {} neighbours", hello.originator, hello.neighbours.len()))
            }
            Message::Tc(tc) => {
                let links = tc.advertised.links.len();
                ("TC", format!("{} of {}, {links} links", tc.sequence, tc.originator))
            }
        }));
    }
}

impl Message {
    /// Bytes of the message in a packet.
    pub fn wire_len(&self) -> usize {
        let mut out = Vec::new();
        let messages = emit::message(self, &mut Same).into_iter().collect();
        rfc5444::Packet { messages, ..rfc5444::Packet::default() }.emit(&mut out);
        out.len() - 1
    }
}

impl Neighbour {
    /// Entry of an address without attributes.
    pub const fn new(address: Ipv4Addr) -> Self {
        let unknown = Metrics { incoming: None, outgoing: None };
        Self {
            address,
            link: None,
            symmetric: None,
            floods: false,
            routes: false,
            link_metrics: unknown,
            metrics: unknown,
        }
    }

    /// Whether the message reports the node as a symmetric neighbour.
    pub fn is_symmetric(&self) -> bool {
        self.link == Some(LinkStatus::Symmetric) || self.symmetric == Some(true)
    }
}

impl Metric {
    /// The lowest metric, a cost of 1.
    pub const MIN: Self = Self(0);
    /// The highest metric, a cost of 16,776,960.
    pub const MAX: Self = Self(0xfff);

    /// Smallest metric that is not below a cost, or the largest metric.
    pub fn at_least(cost: u32) -> Self {
        let fits = |&bits: &u16| Self(bits).value() >= cost;
        // Values ascend, so that a binary search finds the metric.
        let (mut low, mut high) = (0, Self::MAX.0);
        while low < high {
            let middle = u16::midpoint(low, high);
            if fits(&middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Self(low)
    }

    /// Cost that the 12 bits encode.
    pub const fn value(self) -> u32 {
        ((257 + (self.0 & 0xff) as u32) << (self.0 >> 8)) - 256
    }
}

impl Willingness {
    /// Willingness of a node that is never a relay.
    pub const NEVER: u8 = 0;
    /// Willingness of a node that is always a relay.
    pub const ALWAYS: u8 = 15;
}

impl Default for Willingness {
    fn default() -> Self {
        Self { flooding: 7, routing: 7 }
    }
}

impl TimeCode {
    /// Smallest code for at least this time, or the largest code.
    pub fn at_least(time: Duration) -> Self {
        let code = (0..=u8::MAX).find(|&code| Self(code).time() >= time);
        Self(code.unwrap_or(u8::MAX))
    }

    /// Duration that the code encodes.
    pub fn time(self) -> Duration {
        let eighths = u128::from(8 + (self.0 & 7)) << (self.0 >> 3);
        let nanos = eighths * 1_000_000_000 / (8 * 1024);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Largest number of addresses in a message. It exceeds a radio's number of neighbours, and such a message is
/// shorter than 65,536 bytes.
pub const MAX_ADDRESSES: usize = 1000;

/// Type of HELLO messages (RFC 6130).
const HELLO: u8 = 0;
const TC: u8 = 1;

/// Type of the message TLV with an interval (RFC 5497, section 8).
const INTERVAL_TIME: u8 = 0;
const VALIDITY_TIME: u8 = 1;
const MPR_WILLING: u8 = 7;
const CONT_SEQ_NUM: u8 = 8;
/// Type extension of a complete TC, which lists all of its originator's neighbours.
const COMPLETE: u8 = 0;
const INCOMPLETE: u8 = 1;

/// Type of the address TLV for interfaces of the originator (RFC 6130, section 18.3).
const LOCAL_IF: u8 = 2;
const THIS_IF: u8 = 0;
const OTHER_IF: u8 = 1;
const LINK_STATUS: u8 = 3;
const LOST: u8 = 0;
const SYMMETRIC: u8 = 1;
const HEARD: u8 = 2;
const OTHER_NEIGHB: u8 = 4;
const LINK_METRIC: u8 = 7;
/// Type extension for private use by agreement (RFC 7181, section 24.5), because RFC 7779 registers none for
/// its metric.
const AGREED: u8 = 0;
/// Bit of a metric that applies to the link, in the direction to the sender.
const INCOMING_LINK: u8 = 0x80;
const OUTGOING_LINK: u8 = 0x40;
const INCOMING_NEIGHBOUR: u8 = 0x20;
const OUTGOING_NEIGHBOUR: u8 = 0x10;
const MPR: u8 = 8;
const FLOODING: u8 = 1;
const ROUTING: u8 = 2;
const NBR_ADDR_TYPE: u8 = 9;
const ORIGINATOR: u8 = 1;
const ROUTABLE_ORIGINATOR: u8 = 3;
/// Type of the address TLV of networks behind the originator.
const GATEWAY: u8 = 10;

#[cfg(test)]
mod tests;
