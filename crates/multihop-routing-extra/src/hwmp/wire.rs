//! Path selection frames of HWMP (IEEE 802.11-2020): the body of a mesh action frame (9.6.16.3) with one element for a path
//! request, a path reply or a path error (9.4.2.112 to 9.4.2.114). Numbers are little-endian, as everywhere in 802.11.
//!
//! A node's MAC address ends with its IPv4 address. Requests have one target; external addresses are not
//! used.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_routing::message::CustomMessage;
use multihop_wire::ParseError;
use multihop_wire::aodv::Sequence;
use multihop_wire::reader::Reader;

/// UDP port, from the dynamic range, that represents the protocol in captures; action frames have no ports.
pub const PORT: u16 = 58_011;

/// The body of a path selection frame.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Message {
    /// Path request (PREQ): searches for a path to a target.
    Request(Request),
    /// Path reply (PREP): offers a path to the searched target.
    Reply(Reply),
    /// Path error (PERR): reports nodes that can no longer be reached.
    Error(Error),
}

/// Path request (PREQ), flooded to search for a path to a target.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request {
    /// Number of links that the request has crossed so far.
    pub hop_count: u8,
    /// Number of links that the request may still cross.
    pub ttl: u8,
    /// Counts the discoveries of the originator.
    pub id: u32,
    /// The node that searches for a path.
    pub originator: Ipv4Addr,
    /// Sequence number of the originator.
    pub originator_sequence: Sequence,
    /// Time for which the path to the originator is valid, time units of 1024 us.
    pub lifetime: u32,
    /// Sum of the costs of the links that the request has crossed.
    pub metric: u32,
    /// TO: whether only the target may reply.
    pub target_only: bool,
    /// Node to which a path is searched.
    pub target: Ipv4Addr,
    /// Last known sequence number of the target; `None` if unknown (USN).
    pub target_sequence: Option<Sequence>,
}

/// Path reply (PREP), sent along the reverse path to the originator of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reply {
    /// Number of links between the sender and the target.
    pub hop_count: u8,
    /// Number of links that the reply may still cross.
    pub ttl: u8,
    /// The node that was searched for.
    pub target: Ipv4Addr,
    /// Sequence number of the target.
    pub target_sequence: Sequence,
    /// Time for which the path to the target is valid, time units of 1024 us.
    pub lifetime: u32,
    /// Sum of the costs of the links between the sender and the target.
    pub metric: u32,
    /// The originator of the request, which is the destination of the reply.
    pub originator: Ipv4Addr,
    /// The originator's sequence number.
    pub originator_sequence: Sequence,
}

/// Path error (PERR), a list of nodes that the sender can no longer reach.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    /// Number of links that the error may still cross.
    pub ttl: u8,
    /// Nodes that cannot be reached, 1 to [`Error::MOST`].
    pub unreachable: Vec<Unreachable>,
}

/// A node that cannot be reached through the sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unreachable {
    /// Node that cannot be reached.
    pub destination: Ipv4Addr,
    /// Sequence number of the unreachable node, incremented by the node that found the path broken; 0 if
    /// unknown.
    pub sequence: Sequence,
    /// Cause of the failure of the path.
    pub reason: Reason,
}

/// Cause of the failure of a path (9.4.1.7).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// The sender has no path.
    NoForwardingInformation,
    /// The next hop of the path does not answer.
    DestinationUnreachable,
}

impl Message {
    /// Parses the body of an action frame.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        expect("category", r.u8()?, CATEGORY, "13")?;
        expect("action", r.u8()?, ACTION, "1")?;
        let (kind, length) = (r.u8()?, r.u8()?);
        let mut body = Reader::new(r.take(length.into())?);
        let body = &mut body;
        let message = match kind {
            REQUEST => Self::Request(Request::parse(body)?),
            REPLY => Self::Reply(Reply::parse(body)?),
            ERROR => Self::Error(Error::parse(body)?),
            found => return Err(field("element", found.into(), "130 to 132")),
        };
        if body.is_empty() && r.is_empty() {
            Ok(message)
        } else {
            Err(field("length", length.into(), "that of the fields"))
        }
    }

    /// Appends the frame body: category, action and the element of the message.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let length = u8::try_from(self.wire_len() - HEADER).expect("at most 19 destinations");
        let kind = match self {
            Self::Request(_) => REQUEST,
            Self::Reply(_) => REPLY,
            Self::Error(_) => ERROR,
        };
        out.extend([CATEGORY, ACTION, kind, length]);
        match self {
            Self::Request(request) => request.emit(out),
            Self::Reply(reply) => reply.emit(out),
            Self::Error(error) => error.emit(out),
        }
    }

    /// Number of bytes that [`emit`](Self::emit) appends.
    pub const fn wire_len(&self) -> usize {
        HEADER
            + match self {
                Self::Request(_) => 37,
                Self::Reply(_) => 31,
                Self::Error(error) => 2 + 13 * error.unreachable.len(),
            }
    }
}

impl CustomMessage for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "preq",
            Self::Reply(_) => "prep",
            Self::Error(_) => "perr",
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
        match self {
            Self::Request(request) => fields.extend([
                ("originator", request.originator.to_string()),
                ("target", request.target.to_string()),
                ("hops", request.hop_count.to_string()),
                ("airtime metric", request.metric.to_string()),
            ]),
            Self::Reply(reply) => fields.extend([
                ("originator", reply.originator.to_string()),
                ("target", reply.target.to_string()),
                ("hops", reply.hop_count.to_string()),
                ("airtime metric", reply.metric.to_string()),
            ]),
            Self::Error(error) => {
                let lost = error.unreachable.iter().map(|lost| lost.destination.to_string());
                fields.extend(lost.map(|destination| ("unreachable", destination)));
            }
        }
    }
}

impl Request {
    fn parse(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        no_extension(r.u8()?)?;
        let (hop_count, ttl, id) = (r.u8()?, r.u8()?, number(r)?);
        let (originator, originator_sequence) = (address(r)?, Sequence(number(r)?));
        let (lifetime, metric) = (number(r)?, number(r)?);
        expect("target count", r.u8()?, 1, "1")?;
        let flags = r.u8()?;
        let (target, sequence) = (address(r)?, Sequence(number(r)?));
        Ok(Self {
            hop_count,
            ttl,
            id,
            originator,
            originator_sequence,
            lifetime,
            metric,
            target_only: flags & TARGET_ONLY != 0,
            target,
            target_sequence: (flags & UNKNOWN_SEQUENCE == 0).then_some(sequence),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend([0, self.hop_count, self.ttl]);
        out.extend(self.id.to_le_bytes());
        emit_node(self.originator, self.originator_sequence, out);
        out.extend(self.lifetime.to_le_bytes());
        out.extend(self.metric.to_le_bytes());
        let flag = |set, bit| if set { bit } else { 0 };
        let unknown = flag(self.target_sequence.is_none(), UNKNOWN_SEQUENCE);
        out.extend([1, flag(self.target_only, TARGET_ONLY) | unknown]);
        emit_node(self.target, self.target_sequence.unwrap_or_default(), out);
    }
}

impl Reply {
    fn parse(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        no_extension(r.u8()?)?;
        Ok(Self {
            hop_count: r.u8()?,
            ttl: r.u8()?,
            target: address(r)?,
            target_sequence: Sequence(number(r)?),
            lifetime: number(r)?,
            metric: number(r)?,
            originator: address(r)?,
            originator_sequence: Sequence(number(r)?),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend([0, self.hop_count, self.ttl]);
        emit_node(self.target, self.target_sequence, out);
        out.extend(self.lifetime.to_le_bytes());
        out.extend(self.metric.to_le_bytes());
        emit_node(self.originator, self.originator_sequence, out);
    }
}

impl Error {
    /// Largest number of destinations in one element.
    pub const MOST: usize = 19;

    fn parse(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        let (ttl, count) = (r.u8()?, r.u8()?);
        let unreachable = (0..count).map(|_| Unreachable::parse(r));
        Ok(Self { ttl, unreachable: unreachable.collect::<Result<_, _>>()? })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let count = u8::try_from(self.unreachable.len()).expect("at most 19 destinations");
        out.extend([self.ttl, count]);
        for entry in &self.unreachable {
            out.push(0);
            emit_node(entry.destination, entry.sequence, out);
            out.extend(entry.reason.code().to_le_bytes());
        }
    }
}

impl Unreachable {
    fn parse(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        no_extension(r.u8()?)?;
        let (destination, sequence) = (address(r)?, Sequence(number(r)?));
        let reason = match u16::from_le_bytes(r.array()?) {
            NO_FORWARDING_INFORMATION => Reason::NoForwardingInformation,
            DESTINATION_UNREACHABLE => Reason::DestinationUnreachable,
            found => return Err(field("reason code", found.into(), "62, 63")),
        };
        Ok(Self { destination, sequence, reason })
    }
}

impl Reason {
    const fn code(self) -> u16 {
        match self {
            Self::NoForwardingInformation => NO_FORWARDING_INFORMATION,
            Self::DestinationUnreachable => DESTINATION_UNREACHABLE,
        }
    }
}

fn number(r: &mut Reader<'_>) -> Result<u32, ParseError> {
    Ok(u32::from_le_bytes(r.array()?))
}

// DEVIATION hwmp-1: Messages are UDP datagrams, in which an address is 02:00 and the IPv4 address. 802.11-2020
// (9.6.16.3) has action frames with MAC addresses, which are 36 bytes shorter.
fn address(r: &mut Reader<'_>) -> Result<Ipv4Addr, ParseError> {
    match r.u16()? {
        LOCAL => r.address(),
        found => Err(field("address", found.into(), "02:00 and an IPv4 address")),
    }
}

fn emit_node(address: Ipv4Addr, sequence: Sequence, out: &mut Vec<u8>) {
    out.extend(LOCAL.to_be_bytes());
    out.extend(address.octets());
    out.extend(sequence.0.to_le_bytes());
}

fn no_extension(flags: u8) -> Result<(), ParseError> {
    if flags & EXTENSION == 0 { Ok(()) } else { Err(field("flags", flags.into(), "no external address")) }
}

fn expect(name: &'static str, found: u8, wanted: u8, allowed: &'static str) -> Result<(), ParseError> {
    if found == wanted { Ok(()) } else { Err(field(name, found.into(), allowed)) }
}

const fn field(name: &'static str, found: u32, allowed: &'static str) -> ParseError {
    ParseError::Field { name, found, allowed }
}

/// Length of the header before an element's content, bytes: category, action, number and length of the element.
const HEADER: usize = 4;
/// Category number of action frames for mesh networks.
const CATEGORY: u8 = 13;
/// Mesh action of HWMP's path selection frames.
const ACTION: u8 = 1;
const REQUEST: u8 = 130;
const REPLY: u8 = 131;
const ERROR: u8 = 132;
/// Flag AE: an external address follows in the element.
const EXTENSION: u8 = 0x40;
const TARGET_ONLY: u8 = 0x01;
const UNKNOWN_SEQUENCE: u8 = 0x04;
const NO_FORWARDING_INFORMATION: u16 = 62;
const DESTINATION_UNREACHABLE: u16 = 63;
/// The first two bytes of locally administered addresses.
const LOCAL: u16 = 0x0200;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use multihop_testkit::damage::damage;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn message() -> impl Strategy<Value = Message> {
        type Numbers = (u8, u8, u32, u32);
        let sequence = || any::<u32>().prop_map(Sequence);
        let known = || prop_oneof![Just(None), sequence().prop_map(Some)];
        let nodes = || any::<(Ipv4Addr, Ipv4Addr)>();
        let request = (any::<Numbers>(), nodes(), sequence(), known(), any::<(u32, bool)>()).prop_map(
            |((hop_count, ttl, id, lifetime), nodes, originator_sequence, target_sequence, rest)| {
                let ((originator, target), (metric, target_only)) = (nodes, rest);
                Message::Request(Request {
                    hop_count,
                    ttl,
                    id,
                    originator,
                    originator_sequence,
                    lifetime,
                    metric,
                    target_only,
                    target,
                    target_sequence,
                })
            },
        );
        let reply = (any::<Numbers>(), nodes(), sequence(), sequence()).prop_map(
            |(numbers, (target, originator), target_sequence, originator_sequence)| {
                let (hop_count, ttl, lifetime, metric) = numbers;
                Message::Reply(Reply {
                    hop_count,
                    ttl,
                    target,
                    target_sequence,
                    lifetime,
                    metric,
                    originator,
                    originator_sequence,
                })
            },
        );
        let reason = prop_oneof![Just(Reason::NoForwardingInformation), Just(Reason::DestinationUnreachable)];
        let unreachable = (any::<Ipv4Addr>(), sequence(), reason)
            .prop_map(|(destination, sequence, reason)| Unreachable { destination, sequence, reason });
        let error = (any::<u8>(), vec(unreachable, 0..=Error::MOST))
            .prop_map(|(ttl, unreachable)| Message::Error(Error { ttl, unreachable }));
        prop_oneof![request, reply, error]
    }

    fn emitted(message: &Message) -> Vec<u8> {
        let mut out = Vec::new();
        message.emit(&mut out);
        out
    }

    fn check(message: &Message, bytes: &[u8]) {
        assert_eq!(emitted(message), bytes);
        assert_eq!(Message::parse(bytes).as_ref(), Ok(message));
    }

    #[test]
    fn known_bytes_of_a_request() {
        let request = Request {
            hop_count: 2,
            ttl: 29,
            id: 0x0102_0304,
            originator: A,
            originator_sequence: Sequence(5),
            lifetime: 5000,
            metric: 0x300,
            target_only: true,
            target: B,
            target_sequence: None,
        };
        let start = [
            13, 1, 130, 37, 0, 2, 29, 4, 3, 2, 1, 2, 0, 10, 0, 0, 1, 5, 0, 0, 0, 0x88, 0x13, 0, 0, 0, 3, 0, 0,
        ];
        let target = [1, 5, 2, 0, 10, 0, 0, 2, 0, 0, 0, 0];
        check(&Message::Request(request), &[&start[..], &target].concat());
        let target = [1, 0, 2, 0, 10, 0, 0, 2, 7, 0, 0, 0];
        let known = Request { target_only: false, target_sequence: Some(Sequence(7)), ..request };
        check(&Message::Request(known), &[&start[..], &target].concat());
    }

    #[test]
    fn known_bytes_of_a_reply_and_an_error() {
        let reply = Reply {
            hop_count: 1,
            ttl: 30,
            target: B,
            target_sequence: Sequence(9),
            lifetime: 5000,
            metric: 70,
            originator: A,
            originator_sequence: Sequence(5),
        };
        let bytes = [
            13, 1, 131, 31, 0, 1, 30, 2, 0, 10, 0, 0, 2, 9, 0, 0, 0, 0x88, 0x13, 0, 0, 70, 0, 0, 0, 2, 0, 10,
            0, 0, 1, 5, 0, 0, 0,
        ];
        check(&Message::Reply(reply), &bytes);
        let reason = Reason::DestinationUnreachable;
        let unreachable = alloc::vec![Unreachable { destination: B, sequence: Sequence(10), reason }];
        let bytes = [13, 1, 132, 15, 31, 1, 0, 2, 0, 10, 0, 0, 2, 10, 0, 0, 0, 63, 0];
        check(&Message::Error(Error { ttl: 31, unreachable }), &bytes);
    }

    #[test]
    fn foreign_frames_are_refused() {
        let good = emitted(&Message::Error(Error { ttl: 31, unreachable: Vec::new() }));
        let refused = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            match Message::parse(&bytes) {
                Err(ParseError::Field { name, .. }) => name,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([refused(0, 15), refused(1, 0), refused(2, 133)], ["category", "action", "element"]);
        assert_eq!(Message::parse(&good[..5]), Err(ParseError::Truncated { found: 5, needed: 6 }));
        let more = [&good[..], &[0]].concat();
        assert_eq!(Message::parse(&more), Err(field("length", 2, "that of the fields")));
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(message in message()) {
            let bytes = emitted(&message);
            prop_assert_eq!(bytes.len(), message.wire_len());
            prop_assert_eq!(Message::parse(&bytes), Ok(message));
        }

        #[test]
        fn no_input_panics(message in message(), damage in damage()) {
            let mut bytes = emitted(&message);
            damage.apply(&mut bytes);
            let _ = Message::parse(&bytes);
        }
    }
}
