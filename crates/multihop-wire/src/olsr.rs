//! OLSR packets (RFC 3626): a header and messages. Messages of the core protocol are parsed, others kept as bytes.
//!
//! Their addresses are those of IPv4, which is the default of the types, or of IPv6: the packet does not say which.
//!
//! Reserved fields are sent as zero and ignored when received. Links of a HELLO whose code is invalid (RFC 3626 §6.1.1)
//! or unknown (above 15, except those of `metric`) are ignored, so that extensions do no harm.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use multihop_core::Duration;

use crate::ParseError;
use crate::reader::Reader;

mod address;
mod metric;

pub use address::Address;
pub use metric::{Costs, Echo, Quantity, Report};

/// The UDP port of OLSR.
pub const PORT: u16 = 698;

/// The routers of a mesh on the same link (RFC 5498), to which packets with addresses of IPv6 go.
pub const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x6d);

/// An OLSR packet, the data of one UDP datagram (RFC 3626, section 3.3).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Packet<A = Ipv4Addr> {
    /// Counts the packets of the sending interface.
    pub sequence: u16,
    /// Messages of this node, and of others that it forwards.
    pub messages: Vec<Message<A>>,
}

/// A message and its header.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message<A = Ipv4Addr> {
    /// Time for which the information in the message is valid.
    pub validity: TimeCode,
    /// The main address of the originator.
    pub originator: A,
    /// Number of hops that the message may still travel.
    pub ttl: u8,
    /// Number of times that the message was forwarded.
    pub hop_count: u8,
    /// Counts the messages of the originator.
    pub sequence: u16,
    /// Content of the message, by its type.
    pub body: Body<A>,
}

/// The content of a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Body<A = Ipv4Addr> {
    /// The links and neighbours of the originator.
    Hello(Hello<A>),
    /// Nodes that can be reached through the originator. Shared, because all receivers keep it.
    Tc(Arc<Tc<A>>),
    /// Addresses of the originator's other interfaces.
    Mid(Mid<A>),
    /// Networks that are reached through the originator.
    Hna(Hna<A>),
    /// Costs of the links in the originator's last TC.
    Costs(Arc<Costs>),
    /// A message of another type, which is only forwarded.
    Opaque(Opaque),
}

/// The links and neighbours of a node; sent to its neighbours only.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hello<A = Ipv4Addr> {
    /// Time between HELLOs of the node.
    pub interval: TimeCode,
    /// Willingness of the node to forward messages and packets of others.
    pub willingness: Willingness,
    /// Links of the node; consecutive links with the same code share four bytes of header.
    pub links: Vec<HelloLink<A>>,
    /// Measurements of the HELLOs of neighbours, an extension of the protocol; `None` if the node sends none.
    pub report: Option<Box<Report<A>>>,
}

/// A link in a HELLO.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HelloLink<A = Ipv4Addr> {
    /// State of the link and type of the neighbour.
    pub code: LinkCode,
    /// The address of the neighbour's interface.
    pub address: A,
}

/// State of a link and type of the neighbour, in a HELLO.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum LinkCode {
    /// Unspecified link; type of the neighbour.
    Unspecified(NeighbourType),
    /// HELLOs of the neighbour arrive; whether it receives this node's HELLOs is unknown.
    Asymmetric(NeighbourType),
    /// Works in both directions; the neighbour is symmetric.
    Symmetric {
        /// Whether the neighbour is a multipoint relay of the sender.
        mpr: bool,
    },
    /// HELLOs of the neighbour no longer arrive.
    Lost(NeighbourType),
}

/// The type of a neighbour, in a HELLO.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum NeighbourType {
    /// The sender has no symmetric link to the neighbour.
    Not,
    /// The sender has at least one symmetric link to the neighbour.
    Symmetric,
    /// A symmetric neighbour that the sender has chosen as multipoint relay.
    Mpr,
}

/// Willingness of a node to forward traffic of other nodes, 0 (never) to 7 (always).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Willingness(pub u8);

/// The advertised neighbours of a node; sent to the whole network.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tc<A = Ipv4Addr> {
    /// Sequence number of the set of neighbours, which counts its changes (ANSN).
    pub sequence: u16,
    /// Main addresses of the announced neighbours.
    pub neighbours: Vec<A>,
}

/// The interfaces of a node other than that of its main address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mid<A = Ipv4Addr> {
    /// Addresses of the node's further interfaces.
    pub interfaces: Vec<A>,
}

/// Networks for which a node is a gateway.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hna<A = Ipv4Addr> {
    /// Address and mask of each network.
    pub networks: Vec<(A, A)>,
}

/// A message of an unknown type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Opaque {
    kind: u8,
    bytes: Vec<u8>,
}

/// A time in one byte: C (1 + a/16) 2^b with C = 1/16 s, a in the upper and b in the lower four bits (RFC 3626 §18.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TimeCode(pub u8);

impl<A> Default for Packet<A> {
    fn default() -> Self {
        Self { sequence: 0, messages: Vec::new() }
    }
}

impl<A> Default for Tc<A> {
    fn default() -> Self {
        Self { sequence: 0, neighbours: Vec::new() }
    }
}

impl<A: Address> Packet<A> {
    /// Length of a packet's header, bytes.
    pub const HEADER_LEN: usize = 4;

    /// Parses the data of a UDP datagram; bytes after the packet's length are ignored.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let len = usize::from(r.u16()?);
        let sequence = r.u16()?;
        let body = sized(&mut r, "packet length", len, Self::HEADER_LEN, "4 or more")?;
        let mut messages = Vec::new();
        let mut rest = body;
        while !rest.is_empty() {
            let (message, len) = Message::parse(rest)?;
            messages.push(message);
            rest = &rest[len..];
        }
        Ok(Self { sequence, messages })
    }

    /// Appends the bytes of the packet.
    ///
    /// # Panics
    ///
    /// If it is longer than 65535 bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&length(self.len()));
        out.extend_from_slice(&self.sequence.to_be_bytes());
        for message in &self.messages {
            message.emit(out);
        }
    }

    /// Length of the packet, bytes.
    #[expect(clippy::len_without_is_empty, reason = "there is always a header")]
    pub fn len(&self) -> usize {
        Self::HEADER_LEN + self.messages.iter().map(Message::len).sum::<usize>()
    }
}

impl<A: Address> Message<A> {
    /// Length of a message's header, bytes.
    pub const HEADER_LEN: usize = 8 + A::LEN;

    /// Length of the message, bytes.
    #[expect(clippy::len_without_is_empty, reason = "there is always a header")]
    pub fn len(&self) -> usize {
        Self::HEADER_LEN
            + match &self.body {
                Body::Hello(hello) => hello.len(),
                Body::Tc(tc) => 4 + A::LEN * tc.neighbours.len(),
                Body::Mid(mid) => A::LEN * mid.interfaces.len(),
                Body::Hna(hna) => 2 * A::LEN * hna.networks.len(),
                Body::Costs(costs) => costs.len(),
                Body::Opaque(opaque) => opaque.bytes.len(),
            }
    }

    /// Parses the first message and returns its length.
    fn parse(bytes: &[u8]) -> Result<(Self, usize), ParseError> {
        let mut r = Reader::new(bytes);
        let kind = r.u8()?;
        let validity = TimeCode(r.u8()?);
        let len = usize::from(r.u16()?);
        let originator = A::read(r.take(A::LEN)?);
        let (ttl, hop_count, sequence) = (r.u8()?, r.u8()?, r.u16()?);
        let body = sized(&mut r, "message size", len, Self::HEADER_LEN, A::MESSAGE)?;
        let body = match kind {
            HELLO => Body::Hello(Hello::parse(body)?),
            TC => Body::Tc(Arc::new(Tc::parse(body)?)),
            MID => Body::Mid(Mid { interfaces: addresses(body)? }),
            HNA => Body::Hna(Hna::parse(body)?),
            metric::COSTS => match Costs::parse(body) {
                Some(costs) => Body::Costs(Arc::new(costs)),
                None => opaque(kind, body),
            },
            kind => opaque(kind, body),
        };
        Ok((Self { validity, originator, ttl, hop_count, sequence, body }, len))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let kind = match &self.body {
            Body::Hello(_) => HELLO,
            Body::Tc(_) => TC,
            Body::Mid(_) => MID,
            Body::Hna(_) => HNA,
            Body::Costs(_) => metric::COSTS,
            Body::Opaque(opaque) => opaque.kind,
        };
        out.extend_from_slice(&[kind, self.validity.0]);
        out.extend_from_slice(&length(self.len()));
        self.originator.emit(out);
        out.extend_from_slice(&[self.ttl, self.hop_count]);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        match &self.body {
            Body::Hello(hello) => hello.emit(out),
            Body::Tc(tc) => {
                out.extend_from_slice(&tc.sequence.to_be_bytes());
                out.extend_from_slice(&[0, 0]);
                emit_addresses(&tc.neighbours, out);
            }
            Body::Mid(mid) => emit_addresses(&mid.interfaces, out),
            Body::Hna(hna) => {
                for (network, mask) in &hna.networks {
                    emit_addresses(&[*network, *mask], out);
                }
            }
            Body::Costs(costs) => costs.emit(out),
            Body::Opaque(opaque) => out.extend_from_slice(&opaque.bytes),
        }
    }
}

impl<A: Address> Hello<A> {
    fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let _reserved = r.u16()?;
        let (interval, willingness) = (TimeCode(r.u8()?), Willingness(r.u8()?));
        let (mut links, mut report, mut echoes) = (Vec::new(), None, Vec::new());
        let mut rest = r.rest();
        while !rest.is_empty() {
            let mut r = Reader::new(rest);
            let (code, _reserved, len) = (r.u8()?, r.u8()?, usize::from(r.u16()?));
            let group = sized(&mut r, "link message size", len, LINK_HEADER_LEN, "4 or more")?;
            match (code, LinkCode::parse(code)) {
                (metric::REPORT, _) => report = Report::parse(group),
                (metric::ECHOES, _) => echoes = Report::parse_echoes(group).unwrap_or_default(),
                (_, Some(code)) => {
                    links.extend(addresses(group)?.into_iter().map(|address| HelloLink { code, address }));
                }
                (_, None) => {}
            }
            rest = &rest[len..];
        }
        let report = report.map(|report| Box::new(Report { echoes, ..report }));
        Ok(Self { interval, willingness, links, report })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0, 0, self.interval.0, self.willingness.0]);
        for group in self.groups() {
            emit_group(group[0].code.byte(), A::LEN * group.len(), out);
            group.iter().for_each(|link| link.address.emit(out));
        }
        if let Some(report) = &self.report {
            let [size, echoes] = report.sizes();
            emit_group(metric::REPORT, size, out);
            report.emit(out);
            if echoes > 0 {
                emit_group(metric::ECHOES, echoes, out);
                report.emit_echoes(out);
            }
        }
    }

    fn len(&self) -> usize {
        let links: usize = self.groups().map(|group| LINK_HEADER_LEN + A::LEN * group.len()).sum();
        let group = |size: usize| if size > 0 { LINK_HEADER_LEN + size } else { 0 };
        let report: usize =
            self.report.as_ref().map_or(0, |report| report.sizes().into_iter().map(group).sum());
        4 + links + report
    }

    fn groups(&self) -> impl Iterator<Item = &[HelloLink<A>]> {
        self.links.chunk_by(|a, b| a.code == b.code)
    }
}

impl LinkCode {
    /// The type of the neighbour.
    pub const fn neighbour(self) -> NeighbourType {
        match self {
            Self::Symmetric { mpr: true } => NeighbourType::Mpr,
            Self::Symmetric { mpr: false } => NeighbourType::Symmetric,
            Self::Unspecified(neighbour) | Self::Asymmetric(neighbour) | Self::Lost(neighbour) => neighbour,
        }
    }

    fn parse(byte: u8) -> Option<Self> {
        let neighbour = match byte >> 2 {
            0 => NeighbourType::Not,
            1 => NeighbourType::Symmetric,
            2 => NeighbourType::Mpr,
            _ => return None,
        };
        match (byte & 3, neighbour) {
            (0, neighbour) => Some(Self::Unspecified(neighbour)),
            (1, neighbour) => Some(Self::Asymmetric(neighbour)),
            (2, NeighbourType::Not) => None,
            (2, neighbour) => Some(Self::Symmetric { mpr: neighbour == NeighbourType::Mpr }),
            (_, neighbour) => Some(Self::Lost(neighbour)),
        }
    }

    const fn byte(self) -> u8 {
        let link = match self {
            Self::Unspecified(_) => 0,
            Self::Asymmetric(_) => 1,
            Self::Symmetric { .. } => 2,
            Self::Lost(_) => 3,
        };
        let neighbour = match self.neighbour() {
            NeighbourType::Not => 0,
            NeighbourType::Symmetric => 1,
            NeighbourType::Mpr => 2,
        };
        neighbour << 2 | link
    }
}

impl Willingness {
    /// Willingness of a node that forwards nothing for others, 0.
    pub const NEVER: Self = Self(0);
    /// Willingness of a node that should forward little for others, 1.
    pub const LOW: Self = Self(1);
    /// Usual willingness of a node, 3.
    pub const DEFAULT: Self = Self(3);
    /// Willingness of a node that is preferred as a relay, 6.
    pub const HIGH: Self = Self(6);
    /// Willingness of a node that is always a multipoint relay, 7.
    pub const ALWAYS: Self = Self(7);
}

impl<A: Address> Tc<A> {
    fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let (sequence, _reserved) = (r.u16()?, r.u16()?);
        Ok(Self { sequence, neighbours: addresses(r.rest())? })
    }
}

impl<A: Address> Hna<A> {
    fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        whole(bytes, 2 * A::LEN, "size of networks", A::PAIRS)?;
        let network = |pair: &[u8]| {
            let (network, mask) = pair.split_at(A::LEN);
            (A::read(network), A::read(mask))
        };
        Ok(Self { networks: bytes.chunks_exact(2 * A::LEN).map(network).collect() })
    }
}

impl Opaque {
    /// A message of this type; `None` for the types of RFC 3626 (1 to 4) and that of [`Costs`].
    pub fn new(kind: u8, bytes: Vec<u8>) -> Option<Self> {
        (!matches!(kind, HELLO..=HNA | metric::COSTS)).then_some(Self { kind, bytes })
    }

    /// Type of the message, unknown to this implementation.
    pub const fn kind(&self) -> u8 {
        self.kind
    }

    /// Content of the message after its header.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl TimeCode {
    /// The code of the shortest time that is not below `time`; at most 3968 s.
    #[expect(clippy::cast_possible_truncation, reason = "a and b are below 16 by then")]
    pub const fn at_least(time: Duration) -> Self {
        let units = time.as_nanos().div_ceil(UNIT.as_nanos());
        if units <= 16 {
            return Self(0);
        }
        let mut b = units.ilog2() - 4;
        let mut a = units.div_ceil(1 << b) - 16;
        if a == 16 {
            (a, b) = (0, b + 1);
        }
        if b > 15 { Self(u8::MAX) } else { Self((a << 4) as u8 | b as u8) }
    }

    /// Length of time that the code stands for.
    pub const fn time(self) -> Duration {
        let (a, b) = (self.0 >> 4, self.0 & 15);
        Duration::from_nanos((UNIT.as_nanos() * (16 + a as u64)) << b)
    }
}

fn opaque<A>(kind: u8, body: &[u8]) -> Body<A> {
    Body::Opaque(Opaque { kind, bytes: body.to_vec() })
}

/// The bytes after a parsed header, of an item of `len` bytes that includes the header.
fn sized<'a>(
    r: &mut Reader<'a>,
    name: &'static str,
    len: usize,
    header: usize,
    allowed: &'static str,
) -> Result<&'a [u8], ParseError> {
    match len.checked_sub(header) {
        Some(body) => r.take(body),
        None => Err(field(name, len, allowed)),
    }
}

fn addresses<A: Address>(bytes: &[u8]) -> Result<Vec<A>, ParseError> {
    whole(bytes, A::LEN, "size of addresses", A::WHOLE)?;
    Ok(bytes.chunks_exact(A::LEN).map(A::read).collect())
}

fn emit_addresses<A: Address>(addresses: &[A], out: &mut Vec<u8>) {
    addresses.iter().for_each(|address| address.emit(out));
}

fn emit_group(code: u8, size: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&[code, 0]);
    out.extend_from_slice(&length(LINK_HEADER_LEN + size));
}

fn whole(bytes: &[u8], part: usize, name: &'static str, allowed: &'static str) -> Result<(), ParseError> {
    if bytes.len().is_multiple_of(part) { Ok(()) } else { Err(field(name, bytes.len(), allowed)) }
}

fn field(name: &'static str, len: usize, allowed: &'static str) -> ParseError {
    let found = u32::try_from(len).expect("lengths have 16 bits");
    ParseError::Field { name, found, allowed }
}

fn length(len: usize) -> [u8; 2] {
    u16::try_from(len).expect("an OLSR packet has at most 65535 bytes").to_be_bytes()
}

const HELLO: u8 = 1;
const TC: u8 = 2;
const MID: u8 = 3;
const HNA: u8 = 4;
const LINK_HEADER_LEN: usize = 4;
/// Scaling factor C of RFC 3626, 1/16 s, divided by 16.
const UNIT: Duration = Duration::from_nanos(3_906_250);

#[cfg(test)]
mod tests;
