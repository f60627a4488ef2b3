//! Babel packets (RFC 8966, section 4) with the timestamps of RFC 9616 and the channels of draft-chroboczek-babel-diversity-routing,
//! the data of UDP datagrams to and from port 6696.
//!
//! Unknown TLVs, unknown optional sub-TLVs and TLVs that are too short are skipped; TLVs with an unknown
//! mandatory sub-TLV are ignored (section 4.4). Updates use the router-id and the next hop of earlier TLVs.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_routing::message::CustomMessage;
use multihop_wire::ParseError;
use multihop_wire::reader::Reader;

mod parse;
mod prefix;
mod trailer;

pub use prefix::Prefix;
use prefix::{WILDCARD, address_len, emit_address, encoding};
pub(super) use trailer::Trailer;

/// The UDP port of Babel.
pub const PORT: u16 = 6696;
/// The multicast group of Babel routers on a link.
pub const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 6);
/// The metric of an unreachable destination.
pub const INFINITY: u16 = 0xffff;
/// Channel number of a link that interferes with all others.
pub const INTERFERING: u8 = 255;
/// Largest number of a route's channels that are stored.
const MAX_CHANNELS: usize = 8;

/// A Babel packet: the data of one UDP datagram (RFC 8966, section 4.2).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Packet {
    /// TLVs of the packet, in order: later ones may rely on earlier ones.
    pub tlvs: Vec<Tlv>,
}

/// One type-length-value record of a Babel packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tlv {
    /// Acknowledgement request: the receiver must return this number within the interval.
    AckRequest {
        /// Number that the acknowledgement must return.
        opaque: u16,
        /// Time within which the receiver must answer.
        interval: Centis,
    },
    /// Answers an acknowledgement request (section 4.6.4).
    Ack {
        /// Number of the acknowledged request.
        opaque: u16,
    },
    /// Announces that the sender exists (section 4.6.5).
    Hello(Hello),
    /// "I heard you": cost of receiving from a neighbour.
    Ihu(Ihu),
    /// A route of the sender, or its retraction.
    Update(Update),
    /// Retracts all routes of the sender.
    RetractAll,
    /// Requests the receiver's route to a prefix; `None`: all of its routes.
    RouteRequest(Option<Prefix>),
    /// Requests a route with at least this sequence number.
    SeqnoRequest(SeqnoRequest),
}

/// A Hello, which announces its sender to neighbours (RFC 8966, section 4.6.5).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hello {
    /// Whether the Hello was sent to one neighbour. Unicast and multicast Hellos are counted separately.
    pub unicast: bool,
    /// Sequence number, increasing by one in each Hello, so that gaps show lost Hellos.
    pub seqno: Seqno,
    /// Upper bound of the time to the next Hello; zero if the sender promises none.
    pub interval: Centis,
    /// The sender's clock when the Hello left, us (RFC 9616).
    pub timestamp: Option<u32>,
}

/// An IHU ("I heard you"), which reports the cost of receiving from a neighbour (RFC 8966, section 4.6.6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ihu {
    /// The neighbour that the report is about; `None`: the receiver of this packet.
    pub address: Option<IpAddr>,
    /// Cost of receiving from that neighbour.
    pub rxcost: u16,
    /// Upper bound of the time to the next IHU.
    pub interval: Centis,
    /// The timestamp of the neighbour's latest Hello (RFC 9616).
    pub echo: Option<Echo>,
}

/// Timestamp of a Hello, returned to its sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Echo {
    /// The timestamp of the Hello, by its sender's clock, us.
    pub origin: u32,
    /// Arrival time of the Hello, by the clock of this packet's sender, us.
    pub receive: u32,
}

/// A route that the sender offers or retracts (RFC 8966, section 4.6.9).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Update {
    /// Destination of the route.
    pub prefix: Prefix,
    /// Router to which packets for the destination are sent; `None` for the sender of this packet.
    pub next_hop: Option<IpAddr>,
    /// Upper bound of the time to the next update of this route.
    pub interval: Centis,
    /// The sequence number of the route.
    pub seqno: Seqno,
    /// Route to the prefix; `None` for a retraction.
    pub offer: Option<Offer>,
    /// The channels of the route's links, from the sender's link on; `None` if the update contains none.
    pub channels: Option<Channels>,
}

/// The radio channels of consecutive links of a route, the nearest first. Links without interference, such as cables, are left out.
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub struct Channels {
    list: [u8; MAX_CHANNELS],
    len: u8,
}

/// Originator and metric of a destination that the sender can reach.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Offer {
    /// The node that originates the route.
    pub router_id: RouterId,
    /// The sender's metric, less than [`INFINITY`].
    pub metric: u16,
}

/// A request for a route with a newer sequence number (RFC 8966, section 4.6.11).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SeqnoRequest {
    /// Destination of the requested route.
    pub prefix: Prefix,
    /// Lowest sequence number that satisfies the request.
    pub seqno: Seqno,
    /// Number of times that the request may still be forwarded, at least 1.
    pub hop_count: u8,
    /// The node that originates the route.
    pub router_id: RouterId,
}

/// Identifier of a node, 8 bytes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct RouterId(pub [u8; 8]);

/// A sequence number, which orders the routes of one originator by age.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Seqno(pub u16);

/// A time in hundredths of a second.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Centis(pub u16);

impl Packet {
    /// Parses the data of a UDP datagram. What follows the body (the packet trailer) is ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        for (name, expected, allowed) in [("magic", MAGIC, "42"), ("version", VERSION, "2")] {
            let found = r.u8()?;
            if found != expected {
                return Err(ParseError::Field { name, found: found.into(), allowed });
            }
        }
        let len = r.u16()?;
        Ok(Self { tlvs: parse::body(r.take(len.into())?)? })
    }

    /// Whether the data of a UDP datagram begins like a Babel packet.
    pub fn has_header(bytes: &[u8]) -> bool {
        bytes.len() >= HEADER && bytes.starts_with(&[MAGIC, VERSION])
    }

    /// Appends the bytes of the packet.
    ///
    /// # Panics
    ///
    /// If it is longer than a UDP datagram, an offer has an infinite metric, or an update without a next hop follows one
    /// with a next hop.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend([MAGIC, VERSION, 0, 0]);
        let start = out.len();
        let mut state = State::default();
        for tlv in &self.tlvs {
            tlv.emit(&mut state, out);
        }
        let len = u16::try_from(out.len() - start).expect("a packet fits in a UDP datagram");
        out[start - 2..start].copy_from_slice(&len.to_be_bytes());
    }

    /// Number of bytes that [`emit`](Self::emit) appends.
    pub fn wire_len(&self) -> usize {
        let mut state = State::default();
        HEADER + self.tlvs.iter().map(|tlv| tlv.wire_len(&mut state)).sum::<usize>()
    }
}

impl CustomMessage for Packet {
    /// Kind of a packet: one with a Hello counts as a Hello, one with updates as an update.
    fn kind(&self) -> &'static str {
        let has = |is: fn(&Tlv) -> bool| self.tlvs.iter().any(is);
        if has(|tlv| matches!(tlv, Tlv::Hello(_))) {
            "hello"
        } else if has(|tlv| matches!(tlv, Tlv::Update(_) | Tlv::RetractAll)) {
            "update"
        } else {
            "request"
        }
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
        fields.extend(self.tlvs.iter().map(Tlv::field));
    }
}

/// Router-id, next hops and prefix that earlier TLVs of a packet have set for its updates.
#[derive(Clone, Copy, Default)]
struct State {
    router_id: Option<RouterId>,
    /// Next hops for IPv4 and for IPv6.
    next_hops: [Option<IpAddr>; 2],
    /// Address whose first bytes later IPv6 updates may omit.
    shared: Option<Ipv6Addr>,
}

/// Parts of an update that depend on earlier TLVs.
struct Compressed {
    /// Whether a Next Hop TLV must precede the update.
    hop: bool,
    /// Whether a Router-Id TLV must precede the update.
    id: bool,
    /// Number of bytes of the prefix that are left out.
    omitted: usize,
    /// Whether later updates may omit the first bytes of this one's address.
    is_shared: bool,
}

impl State {
    fn prepare(&mut self, update: &Update) -> Compressed {
        let current = &mut self.next_hops[usize::from(update.prefix.is_ipv6())];
        let hop = update.next_hop != *current;
        *current = update.next_hop;
        let omitted = self.shared.map_or(0, |earlier| update.prefix.shared_with(earlier));
        // DEVIATION babel-4: Updates of IPv4 always contain the whole prefix. RFC 8966 (4.6.9) permits to leave out
        // first bytes that an earlier prefix has, which multihop reads, and writes for IPv6. Each prefix of IPv4 has
        // up to three bytes more.
        let is_shared = match update.prefix.parts() {
            (IpAddr::V6(address), 64..) => {
                self.shared = Some(address);
                true
            }
            _ => false,
        };
        let id = update.offer.is_some_and(|Offer { router_id, .. }| {
            let id = self.router_id != Some(router_id) && !update.names_its_router();
            self.router_id = Some(router_id);
            id
        });
        Compressed { hop, id, omitted, is_shared }
    }
}

impl Tlv {
    /// Name and value of the TLV, for display.
    fn field(&self) -> (&'static str, String) {
        match self {
            Self::AckRequest { opaque, .. } => ("acknowledgement request", opaque.to_string()),
            Self::Ack { opaque } => ("acknowledgement", opaque.to_string()),
            Self::Hello(hello) => ("Hello", hello.seqno.0.to_string()),
            Self::Ihu(ihu) => {
                let neighbour = ihu.address.map_or("the receiver".into(), |address| address.to_string());
                ("IHU", format!("{neighbour}, cost {}", ihu.rxcost))
            }
            Self::Update(update) => {
                let offer =
                    update.offer.map_or("retracted".into(), |offer| format!("metric {}", offer.metric));
                ("update", format!("{}, {offer}", update.prefix.text()))
            }
            Self::RetractAll => ("update", "all routes retracted".into()),
            Self::RouteRequest(prefix) => {
                let wanted = prefix.map_or("all routes".into(), |prefix| prefix.text());
                ("route request", wanted)
            }
            Self::SeqnoRequest(request) => {
                ("seqno request", format!("{}, at least {}", request.prefix.text(), request.seqno.0))
            }
        }
    }

    fn wire_len(&self, state: &mut State) -> usize {
        match self {
            Self::AckRequest { .. } => 8,
            Self::Ack { .. } => 4,
            Self::Hello(hello) => 8 + hello.timestamp.map_or(0, |_| 6),
            Self::Ihu(ihu) => {
                8 + usize::from(ihu.address.map_or(0, address_len)) + ihu.echo.map_or(0, |_| 10)
            }
            Self::Update(update) => {
                let Compressed { hop, id, omitted, .. } = state.prepare(update);
                let channels = update.channels.map_or(0, |channels| 2 + usize::from(channels.len));
                let hop = update.next_hop.filter(|_| hop).map_or(0, |hop| 4 + usize::from(address_len(hop)));
                12 + update.prefix.byte_len() - omitted + channels + hop + usize::from(id) * 12
            }
            Self::RetractAll => 12,
            Self::RouteRequest(prefix) => 4 + prefix.as_ref().map_or(0, Prefix::byte_len),
            Self::SeqnoRequest(request) => 16 + request.prefix.byte_len(),
        }
    }

    fn emit(&self, state: &mut State, out: &mut Vec<u8>) {
        match self {
            Self::AckRequest { opaque, interval } => {
                out.extend([ACK_REQUEST, 6, 0, 0]);
                out.extend(opaque.to_be_bytes());
                out.extend(interval.0.to_be_bytes());
            }
            Self::Ack { opaque } => {
                out.extend([ACK, 2]);
                out.extend(opaque.to_be_bytes());
            }
            Self::Hello(hello) => hello.emit(out),
            Self::Ihu(ihu) => ihu.emit(out),
            Self::Update(update) => update.emit(state, out),
            Self::RetractAll => {
                let end = INFINITY.to_be_bytes();
                out.extend([UPDATE, 10, WILDCARD, 0, 0, 0, 0, 0, 0, 0, end[0], end[1]]);
            }
            Self::RouteRequest(None) => out.extend([ROUTE_REQUEST, 2, WILDCARD, 0]),
            Self::RouteRequest(Some(prefix)) => {
                let len = prefix.parts().1;
                out.extend([ROUTE_REQUEST, 2 + short(prefix.byte_len()), prefix.encoding(), len]);
                prefix.emit_from(0, out);
            }
            Self::SeqnoRequest(request) => request.emit(out),
        }
    }
}

impl Hello {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend([HELLO, 6 + self.timestamp.map_or(0, |_| 6)]);
        out.extend(if self.unicast { UNICAST } else { 0 }.to_be_bytes());
        out.extend(self.seqno.0.to_be_bytes());
        out.extend(self.interval.0.to_be_bytes());
        if let Some(timestamp) = self.timestamp {
            out.extend([TIMESTAMP, 4]);
            out.extend(timestamp.to_be_bytes());
        }
    }
}

impl Ihu {
    fn emit(&self, out: &mut Vec<u8>) {
        let (kind, len) =
            self.address.map_or((WILDCARD, 0), |address| (encoding(address), address_len(address)));
        out.extend([IHU, 6 + len + self.echo.map_or(0, |_| 10), kind, 0]);
        out.extend(self.rxcost.to_be_bytes());
        out.extend(self.interval.0.to_be_bytes());
        if let Some(address) = self.address {
            emit_address(address, out);
        }
        if let Some(Echo { origin, receive }) = self.echo {
            out.extend([TIMESTAMP, 8]);
            out.extend(origin.to_be_bytes());
            out.extend(receive.to_be_bytes());
        }
    }
}

impl Update {
    fn emit(&self, state: &mut State, out: &mut Vec<u8>) {
        let Compressed { hop, id, omitted, is_shared } = state.prepare(self);
        if hop {
            let next_hop = self.next_hop.expect("the sender is the next hop of the first updates only");
            out.extend([NEXT_HOP, 2 + address_len(next_hop), encoding(next_hop), 0]);
            emit_address(next_hop, out);
        }
        if let Some(Offer { router_id, metric }) = self.offer {
            assert!(metric < INFINITY, "an offer has a finite metric");
            if id {
                out.extend([ROUTER_ID, 10, 0, 0]);
                out.extend(router_id.0);
            }
        }
        let router = if self.names_its_router() { ROUTER_FLAG } else { 0 };
        let flags = router | if is_shared { PREFIX_FLAG } else { 0 };
        let channels = self.channels.map_or(0, |channels| 2 + channels.len);
        let len = short(self.prefix.byte_len() - omitted);
        out.extend([UPDATE, 10 + len + channels, self.prefix.encoding(), flags]);
        out.extend([self.prefix.parts().1, short(omitted)]);
        out.extend(self.interval.0.to_be_bytes());
        out.extend(self.seqno.0.to_be_bytes());
        out.extend(self.offer.map_or(INFINITY, |offer| offer.metric).to_be_bytes());
        self.prefix.emit_from(omitted, out);
        if let Some(channels) = self.channels {
            out.extend([DIVERSITY, channels.len]);
            out.extend(channels.iter());
        }
    }

    /// Whether the router-id follows from the address (flag R).
    fn names_its_router(&self) -> bool {
        let named = self.prefix.as_host().map(RouterId::of);
        self.offer.is_some_and(|offer| named == Some(offer.router_id))
    }
}

impl SeqnoRequest {
    fn emit(&self, out: &mut Vec<u8>) {
        let (encoding, len) = (self.prefix.encoding(), self.prefix.parts().1);
        out.extend([SEQNO_REQUEST, 14 + short(self.prefix.byte_len()), encoding, len]);
        out.extend(self.seqno.0.to_be_bytes());
        out.extend([self.hop_count, 0]);
        out.extend(self.router_id.0);
        self.prefix.emit_from(0, out);
    }
}

impl Channels {
    /// Creates the list of these channels, from 1 to 255; [`INTERFERING`] interferes with all. Only the first
    /// `MAX_CHANNELS` are kept.
    pub fn new(channels: impl IntoIterator<Item = u8>) -> Self {
        let mut all = Self::default();
        for (place, channel) in all.list.iter_mut().zip(channels) {
            *place = channel;
            all.len += 1;
        }
        all
    }

    /// The channels of a route whose first link, on this channel, precedes the links of this list.
    #[must_use]
    pub fn after(&self, first: u8) -> Self {
        Self::new(core::iter::once(first).chain(self.iter()))
    }

    /// The channels in their order.
    pub fn iter(&self) -> impl Iterator<Item = u8> {
        self.list.into_iter().take(self.len.into())
    }
}

impl core::fmt::Debug for Channels {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl RouterId {
    /// Router-id that updates for a host imply (section 4.6.9): four zero bytes and the address.
    pub const fn of(host: Ipv4Addr) -> Self {
        let [a, b, c, d] = host.octets();
        Self([0, 0, 0, 0, a, b, c, d])
    }
}

impl Seqno {
    /// Whether this number is newer than the other one (section 3.2.1: numbers wrap around).
    pub const fn newer_than(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0).cast_signed() > 0
    }

    /// The next sequence number; 0 follows 65,535.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// Number of bytes of an address.
fn short(len: usize) -> u8 {
    u8::try_from(len).expect("an address has at most 16 bytes")
}

/// Length of a packet's header, bytes: magic, version and length of the body.
const HEADER: usize = 4;
const MAGIC: u8 = 42;
const VERSION: u8 = 2;

const PAD_1: u8 = 0;
const ACK_REQUEST: u8 = 2;
const ACK: u8 = 3;
const HELLO: u8 = 4;
const IHU: u8 = 5;
const ROUTER_ID: u8 = 6;
const NEXT_HOP: u8 = 7;
const UPDATE: u8 = 8;
const ROUTE_REQUEST: u8 = 9;
const SEQNO_REQUEST: u8 = 10;

/// Type of the sub-TLV of updates with the channels of a route (draft-chroboczek-babel-diversity-routing).
const DIVERSITY: u8 = 2;
/// Type of the sub-TLV of Hellos and IHUs with timestamps (RFC 9616, section 5).
const TIMESTAMP: u8 = 3;
/// First mandatory sub-TLV type: a node that does not support the type ignores the whole TLV (section 4.4).
const FIRST_MANDATORY: u8 = 128;

/// Flag of a unicast Hello.
const UNICAST: u16 = 0x8000;
/// Flag of an update that sets the prefix for later updates.
const PREFIX_FLAG: u8 = 0x80;
const ROUTER_FLAG: u8 = 0x40;

#[cfg(test)]
mod tests;
