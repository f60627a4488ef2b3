//! Babel packets (RFC 8966, section 4) with the timestamps of RFC 9616, the data of UDP datagrams to and from port 6696.
//!
//! Only IPv4 addresses are kept. IPv6 addresses, unknown TLVs and unknown optional sub-TLVs are skipped; TLVs with an
//! unknown mandatory sub-TLV are ignored (section 4.4). Updates carry the router-id and the next hop that the TLVs
//! before them have set.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::ParseError;
use crate::reader::Reader;

mod parse;

/// The UDP port of Babel.
pub const PORT: u16 = 6696;
/// The metric of an unreachable destination.
pub const INFINITY: u16 = 0xffff;

/// A Babel packet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Packet {
    /// Its content, in order.
    pub tlvs: Vec<Tlv>,
}

/// One piece of information.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tlv {
    /// The receiver must return this number within the interval.
    AckRequest {
        /// The number.
        opaque: u16,
        /// How long the receiver may take.
        interval: Centis,
    },
    /// Answers a request.
    Ack {
        /// Its number.
        opaque: u16,
    },
    /// The sender exists.
    Hello(Hello),
    /// "I heard you": how well the sender hears a neighbour.
    Ihu(Ihu),
    /// A route of the sender, or its end.
    Update(Update),
    /// All routes of the sender end.
    RetractAll,
    /// The receiver is asked for its route; `None`: for all of its routes.
    RouteRequest(Option<Prefix>),
    /// A route with at least this sequence number is wanted.
    SeqnoRequest(SeqnoRequest),
}

/// Section 4.6.5.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hello {
    /// Whether it is counted apart from those for all neighbours.
    pub unicast: bool,
    /// Counts Hellos.
    pub seqno: Seqno,
    /// When the next one follows at the latest; zero if no promise is made.
    pub interval: Centis,
    /// The sender's clock, us (RFC 9616).
    pub timestamp: Option<u32>,
}

/// Section 4.6.6.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ihu {
    /// The neighbour; `None`: the receiver of this packet.
    pub address: Option<Ipv4Addr>,
    /// The cost of receiving from it.
    pub rxcost: u16,
    /// When the next one follows at the latest.
    pub interval: Centis,
    /// The timestamp of the neighbour's latest Hello (RFC 9616).
    pub echo: Option<Echo>,
}

/// A timestamp that comes back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Echo {
    /// The timestamp of the Hello, by its sender's clock, us.
    pub origin: u32,
    /// When it arrived, by this sender's clock, us.
    pub receive: u32,
}

/// Section 4.6.9.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Update {
    /// The destination.
    pub prefix: Prefix,
    /// Where its packets go; `None`: to the sender of this packet.
    pub next_hop: Option<Ipv4Addr>,
    /// When the next one follows at the latest.
    pub interval: Centis,
    /// The sequence number of the route.
    pub seqno: Seqno,
    /// The route; `None`: there is none any more (a retraction).
    pub offer: Option<Offer>,
}

/// A reachable destination.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Offer {
    /// The node that originates the route.
    pub router_id: RouterId,
    /// The sender's metric, less than [`INFINITY`].
    pub metric: u16,
}

/// Section 4.6.11.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SeqnoRequest {
    /// The destination.
    pub prefix: Prefix,
    /// The least sequence number that helps.
    pub seqno: Seqno,
    /// How many more times it may be forwarded, at least 1.
    pub hop_count: u8,
    /// The node that originates the route.
    pub router_id: RouterId,
}

/// The name of a node.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct RouterId(pub [u8; 8]);

/// Addresses that agree in their first bits.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Prefix {
    address: Ipv4Addr,
    len: u8,
}

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

    /// Appends the packet.
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

    /// Bytes that [`emit`](Self::emit) appends.
    pub fn wire_len(&self) -> usize {
        let mut state = State::default();
        HEADER + self.tlvs.iter().map(|tlv| tlv.wire_len(&mut state)).sum::<usize>()
    }
}

/// What earlier TLVs of a packet have set for updates.
#[derive(Clone, Copy, Default)]
struct State {
    router_id: Option<RouterId>,
    next_hop: Option<Ipv4Addr>,
}

impl State {
    /// Whether an update needs a Next Hop TLV and a Router-Id TLV before it.
    fn prepare(&mut self, update: &Update) -> [bool; 2] {
        let hop = update.next_hop != self.next_hop;
        self.next_hop = update.next_hop;
        let Some(Offer { router_id, .. }) = update.offer else { return [hop, false] };
        let id = self.router_id != Some(router_id) && !update.names_its_router();
        self.router_id = Some(router_id);
        [hop, id]
    }
}

impl Tlv {
    fn wire_len(&self, state: &mut State) -> usize {
        match self {
            Self::AckRequest { .. } => 8,
            Self::Ack { .. } => 4,
            Self::Hello(hello) => 8 + hello.timestamp.map_or(0, |_| 6),
            Self::Ihu(ihu) => 8 + ihu.address.map_or(0, |_| 4) + ihu.echo.map_or(0, |_| 10),
            Self::Update(update) => {
                let [hop, id] = state.prepare(update);
                12 + update.prefix.octets().len() + usize::from(hop) * 8 + usize::from(id) * 12
            }
            Self::RetractAll => 12,
            Self::RouteRequest(prefix) => 4 + prefix.as_ref().map_or(0, |prefix| prefix.octets().len()),
            Self::SeqnoRequest(request) => 16 + request.prefix.octets().len(),
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
                let octets = prefix.octets();
                out.extend([ROUTE_REQUEST, 2 + short(octets.len()), IPV4, prefix.len]);
                out.extend(octets);
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
        let (encoding, address) = self.address.map_or((WILDCARD, 0), |_| (IPV4, 4));
        out.extend([IHU, 6 + address + self.echo.map_or(0, |_| 10), encoding, 0]);
        out.extend(self.rxcost.to_be_bytes());
        out.extend(self.interval.0.to_be_bytes());
        out.extend(self.address.iter().flat_map(Ipv4Addr::octets));
        if let Some(Echo { origin, receive }) = self.echo {
            out.extend([TIMESTAMP, 8]);
            out.extend(origin.to_be_bytes());
            out.extend(receive.to_be_bytes());
        }
    }
}

impl Update {
    fn emit(&self, state: &mut State, out: &mut Vec<u8>) {
        let [hop, id] = state.prepare(self);
        if hop {
            let next_hop = self.next_hop.expect("the sender is the next hop of the first updates only");
            out.extend([NEXT_HOP, 6, IPV4, 0]);
            out.extend(next_hop.octets());
        }
        if let Some(Offer { router_id, metric }) = self.offer {
            assert!(metric < INFINITY, "an offer has a finite metric");
            if id {
                out.extend([ROUTER_ID, 10, 0, 0]);
                out.extend(router_id.0);
            }
        }
        let octets = self.prefix.octets();
        let flags = if self.names_its_router() { ROUTER_FLAG } else { 0 };
        out.extend([UPDATE, 10 + short(octets.len()), IPV4, flags, self.prefix.len, 0]);
        out.extend(self.interval.0.to_be_bytes());
        out.extend(self.seqno.0.to_be_bytes());
        out.extend(self.offer.map_or(INFINITY, |offer| offer.metric).to_be_bytes());
        out.extend(octets);
    }

    /// Whether the router-id follows from the address (flag R).
    fn names_its_router(&self) -> bool {
        let named = self.prefix.as_host().map(RouterId::of);
        self.offer.is_some_and(|offer| named == Some(offer.router_id))
    }
}

impl SeqnoRequest {
    fn emit(&self, out: &mut Vec<u8>) {
        let octets = self.prefix.octets();
        out.extend([SEQNO_REQUEST, 14 + short(octets.len()), IPV4, self.prefix.len]);
        out.extend(self.seqno.0.to_be_bytes());
        out.extend([self.hop_count, 0]);
        out.extend(self.router_id.0);
        out.extend(octets);
    }
}

impl RouterId {
    /// The one that updates for a host imply (section 4.6.9): four zeros and the address.
    pub const fn of(host: Ipv4Addr) -> Self {
        let [a, b, c, d] = host.octets();
        Self([0, 0, 0, 0, a, b, c, d])
    }
}

impl Prefix {
    /// A single address.
    pub const fn host(address: Ipv4Addr) -> Self {
        Self { address, len: 32 }
    }

    /// The addresses that agree with this one in the first `len` bits; `None` if that is above 32.
    pub fn new(address: Ipv4Addr, len: u8) -> Option<Self> {
        let mask = u32::MAX.checked_shl(32_u32.checked_sub(len.into())?).unwrap_or(0);
        Some(Self { address: Ipv4Addr::from_bits(address.to_bits() & mask), len })
    }

    /// The address, if it is a single one.
    pub const fn as_host(&self) -> Option<Ipv4Addr> {
        if self.len == 32 { Some(self.address) } else { None }
    }

    fn octets(&self) -> impl ExactSizeIterator<Item = u8> {
        self.address.octets().into_iter().take(usize::from(self.len.div_ceil(8)))
    }
}

impl Seqno {
    /// Whether this one is newer (section 3.2.1: numbers may wrap).
    pub const fn newer_than(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0).cast_signed() > 0
    }

    /// The next number.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// Bytes of a TLV with an address of at most four.
fn short(len: usize) -> u8 {
    u8::try_from(len).expect("at most four bytes")
}

/// Magic, version and length of the body.
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

/// Sub-TLV of Hellos and IHUs (RFC 9616, section 5).
const TIMESTAMP: u8 = 3;
/// Sub-TLVs from this type on may not be skipped (section 4.4).
const FIRST_MANDATORY: u8 = 128;

/// Encodings of addresses (section 4.1.4).
const WILDCARD: u8 = 0;
const IPV4: u8 = 1;
const IPV6: u8 = 2;
const LINK_LOCAL: u8 = 3;

/// Flag of a Hello.
const UNICAST: u16 = 0x8000;
/// Flags of an update.
const PREFIX_FLAG: u8 = 0x80;
const ROUTER_FLAG: u8 = 0x40;

#[cfg(test)]
mod tests;
