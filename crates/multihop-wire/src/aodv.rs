//! AODV messages (RFC 3561, section 5), the data of UDP datagrams to and from port 654.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::ParseError;
use crate::reader::Reader;

/// The UDP port of AODV.
pub const PORT: u16 = 654;

/// An AODV message, the data of a UDP datagram to port [`PORT`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Message {
    /// Route request (RREQ): searches for a route to a destination.
    Request(Request),
    /// Route reply; with a TTL of 1 and its sender as destination, a HELLO.
    Reply(Reply),
    /// Route error: destinations that have become unreachable.
    Error(Error),
    /// Acknowledges a reply with [`Reply::ack_required`].
    ReplyAck,
}

/// Route request, RREQ (section 5.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request {
    /// J: joins a multicast group.
    pub join: bool,
    /// R: repairs a multicast tree.
    pub repair: bool,
    /// G: an intermediate node that replies also sends a gratuitous reply to the destination.
    pub gratuitous: bool,
    /// D: only the destination may reply.
    pub destination_only: bool,
    /// Number of links that the request has crossed so far.
    pub hop_count: u8,
    /// Number that distinguishes the requests of one originator.
    pub id: u32,
    /// The destination of the route discovery.
    pub destination: Ipv4Addr,
    /// The latest known sequence number of the destination; `None` sets U.
    pub destination_sequence: Option<Sequence>,
    /// The node that searches for a route.
    pub originator: Ipv4Addr,
    /// The originator's own sequence number.
    pub originator_sequence: Sequence,
}

/// Route reply, RREP (section 5.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reply {
    /// R: repairs a multicast tree.
    pub repair: bool,
    /// A: the receiver must answer with [`Message::ReplyAck`].
    pub ack_required: bool,
    /// Prefix length of the subnet that the destination represents, below 32; 0 for the destination alone.
    pub prefix_size: u8,
    /// Links between the sender and the destination.
    pub hop_count: u8,
    /// Destination of the route that the reply offers.
    pub destination: Ipv4Addr,
    /// The destination's sequence number.
    pub destination_sequence: Sequence,
    /// The originator of the request.
    pub originator: Ipv4Addr,
    /// Lifetime of the route, milliseconds.
    pub lifetime_ms: u32,
}

/// Route error, RERR (section 5.3).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    /// N: the link has been repaired; the receiver must keep the routes.
    pub no_delete: bool,
    /// Destinations that have become unreachable, 1 to 255.
    pub unreachable: Vec<Unreachable>,
}

/// A destination in a route error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unreachable {
    /// Destination that can no longer be reached through the sender.
    pub destination: Ipv4Addr,
    /// Sequence number of the destination, one higher than that of the broken route; 0 if unknown.
    pub sequence: Sequence,
}

/// A sequence number, which orders routing information about a destination by age.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sequence(pub u32);

impl Sequence {
    /// Whether this sequence number is newer (section 6.1: signed difference, so that numbers may wrap).
    pub const fn newer_than(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0).cast_signed() > 0
    }

    /// The newer of this number and another.
    #[must_use]
    pub const fn newest(self, other: Self) -> Self {
        if other.newer_than(self) { other } else { self }
    }

    /// The next sequence number; 0 follows the largest.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// The previous sequence number; the largest precedes 0.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }
}

impl Message {
    /// Parses the data of a UDP datagram. Skips extensions that may be skipped (section 9).
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let message = match r.u8()? {
            REQUEST => Self::Request(Request::parse(&mut r)?),
            REPLY => Self::Reply(Reply::parse(&mut r)?),
            ERROR => Self::Error(Error::parse(&mut r)?),
            REPLY_ACK => {
                r.u8()?;
                Self::ReplyAck
            }
            found => {
                return Err(ParseError::Field { name: "type", found: found.into(), allowed: "1 to 4" });
            }
        };
        skip_extensions(r.rest())?;
        Ok(message)
    }

    /// Appends the bytes of the message.
    ///
    /// # Panics
    ///
    /// If a route error has no destination or more than 255, or a prefix size is above 31.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Request(request) => request.emit(out),
            Self::Reply(reply) => reply.emit(out),
            Self::Error(error) => error.emit(out),
            Self::ReplyAck => out.extend([REPLY_ACK, 0]),
        }
    }

    /// Number of bytes that [`emit`](Self::emit) appends.
    pub const fn wire_len(&self) -> usize {
        match self {
            Self::Request(_) => 24,
            Self::Reply(_) => 20,
            Self::Error(error) => 4 + 8 * error.unreachable.len(),
            Self::ReplyAck => 2,
        }
    }
}

impl Request {
    fn parse(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        let flags = r.u8()?;
        r.u8()?;
        let hop_count = r.u8()?;
        let id = r.u32()?;
        let destination = address(r)?;
        let sequence = Sequence(r.u32()?);
        Ok(Self {
            join: flags & JOIN != 0,
            repair: flags & REPAIR != 0,
            gratuitous: flags & GRATUITOUS != 0,
            destination_only: flags & DESTINATION_ONLY != 0,
            hop_count,
            id,
            destination,
            destination_sequence: (flags & UNKNOWN_SEQUENCE == 0).then_some(sequence),
            originator: address(r)?,
            originator_sequence: Sequence(r.u32()?),
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let flags = [
            (self.join, JOIN),
            (self.repair, REPAIR),
            (self.gratuitous, GRATUITOUS),
            (self.destination_only, DESTINATION_ONLY),
            (self.destination_sequence.is_none(), UNKNOWN_SEQUENCE),
        ];
        out.extend([REQUEST, bits(&flags), 0, self.hop_count]);
        out.extend(self.id.to_be_bytes());
        out.extend(self.destination.octets());
        out.extend(self.destination_sequence.unwrap_or_default().0.to_be_bytes());
        out.extend(self.originator.octets());
        out.extend(self.originator_sequence.0.to_be_bytes());
    }
}

impl Reply {
    fn parse(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        let flags = r.u8()?;
        Ok(Self {
            repair: flags & REPLY_REPAIR != 0,
            ack_required: flags & ACK_REQUIRED != 0,
            prefix_size: r.u8()? & MAX_PREFIX,
            hop_count: r.u8()?,
            destination: address(r)?,
            destination_sequence: Sequence(r.u32()?),
            originator: address(r)?,
            lifetime_ms: r.u32()?,
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        assert!(self.prefix_size <= MAX_PREFIX, "prefix size is {}, allowed: 0 to 31", self.prefix_size);
        let flags = bits(&[(self.repair, REPLY_REPAIR), (self.ack_required, ACK_REQUIRED)]);
        out.extend([REPLY, flags, self.prefix_size, self.hop_count]);
        out.extend(self.destination.octets());
        out.extend(self.destination_sequence.0.to_be_bytes());
        out.extend(self.originator.octets());
        out.extend(self.lifetime_ms.to_be_bytes());
    }
}

impl Error {
    /// Maximum number of destinations in one message.
    pub const MAX_UNREACHABLE: usize = 255;

    fn parse(r: &mut Reader<'_>) -> Result<Self, ParseError> {
        let flags = r.u8()?;
        r.u8()?;
        let count = r.u8()?;
        if count == 0 {
            return Err(ParseError::Field { name: "DestCount", found: 0, allowed: "1 to 255" });
        }
        let unreachable =
            (0..count).map(|_| Ok(Unreachable { destination: address(r)?, sequence: Sequence(r.u32()?) }));
        Ok(Self { no_delete: flags & NO_DELETE != 0, unreachable: unreachable.collect::<Result<_, _>>()? })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let count = u8::try_from(self.unreachable.len()).ok().filter(|&count| count > 0);
        let count = count.expect("a route error names 1 to 255 destinations");
        out.extend([ERROR, bits(&[(self.no_delete, NO_DELETE)]), 0, count]);
        for entry in &self.unreachable {
            out.extend(entry.destination.octets());
            out.extend(entry.sequence.0.to_be_bytes());
        }
    }
}

fn address(r: &mut Reader<'_>) -> Result<Ipv4Addr, ParseError> {
    Ok(Ipv4Addr::from_bits(r.u32()?))
}

fn bits(flags: &[(bool, u8)]) -> u8 {
    flags.iter().filter(|(set, _)| *set).fold(0, |all, (_, bit)| all | bit)
}

fn skip_extensions(mut bytes: &[u8]) -> Result<(), ParseError> {
    while let [kind, rest @ ..] = bytes {
        if *kind >= FIRST_ESSENTIAL_EXTENSION {
            let found = u32::from(*kind);
            return Err(ParseError::Field { name: "extension type", found, allowed: "0 to 127" });
        }
        let mut r = Reader::new(rest);
        let len = r.u8()?;
        r.take(len.into())?;
        bytes = r.rest();
    }
    Ok(())
}

const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ERROR: u8 = 3;
const REPLY_ACK: u8 = 4;

const JOIN: u8 = 0x80;
const REPAIR: u8 = 0x40;
const GRATUITOUS: u8 = 0x20;
const DESTINATION_ONLY: u8 = 0x10;
const UNKNOWN_SEQUENCE: u8 = 0x08;

const REPLY_REPAIR: u8 = 0x80;
const ACK_REQUIRED: u8 = 0x40;
const MAX_PREFIX: u8 = 31;

const NO_DELETE: u8 = 0x80;

/// First extension type that a node may not skip (section 9).
const FIRST_ESSENTIAL_EXTENSION: u8 = 128;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::damage;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn sequence() -> impl Strategy<Value = Sequence> {
        any::<u32>().prop_map(Sequence)
    }

    prop_compose! {
        fn request()(
            flags in any::<(bool, bool, bool, bool)>(),
            hop_count in any::<u8>(),
            id in any::<u32>(),
            addresses in any::<(Ipv4Addr, Ipv4Addr)>(),
            destination_sequence in prop::option::of(sequence()),
            originator_sequence in sequence(),
        ) -> Message {
            let (join, repair, gratuitous, destination_only) = flags;
            let (destination, originator) = addresses;
            Message::Request(Request {
                join, repair, gratuitous, destination_only, hop_count, id, destination,
                destination_sequence, originator, originator_sequence,
            })
        }
    }

    prop_compose! {
        fn reply()(
            (repair, ack_required) in any::<(bool, bool)>(),
            prefix_size in 0_u8..32,
            hop_count in any::<u8>(),
            (destination, originator) in any::<(Ipv4Addr, Ipv4Addr)>(),
            destination_sequence in sequence(),
            lifetime_ms in any::<u32>(),
        ) -> Message {
            Message::Reply(Reply {
                repair, ack_required, prefix_size, hop_count, destination, destination_sequence,
                originator, lifetime_ms,
            })
        }
    }

    fn error() -> impl Strategy<Value = Message> {
        let unreachable = (any::<Ipv4Addr>(), sequence())
            .prop_map(|(destination, sequence)| Unreachable { destination, sequence });
        (any::<bool>(), vec(unreachable, 1..=255))
            .prop_map(|(no_delete, unreachable)| Message::Error(Error { no_delete, unreachable }))
    }

    fn message() -> impl Strategy<Value = Message> {
        prop_oneof![request(), reply(), error(), Just(Message::ReplyAck)]
    }

    fn emitted(message: &Message) -> Vec<u8> {
        let mut out = Vec::new();
        message.emit(&mut out);
        out
    }

    #[test]
    fn known_bytes() {
        let request = Message::Request(Request {
            join: false,
            repair: false,
            gratuitous: true,
            destination_only: false,
            hop_count: 3,
            id: 0x0102_0304,
            destination: B,
            destination_sequence: None,
            originator: A,
            originator_sequence: Sequence(7),
        });
        assert_eq!(
            emitted(&request),
            [1, 0x28, 0, 3, 1, 2, 3, 4, 10, 0, 0, 2, 0, 0, 0, 0, 10, 0, 0, 1, 0, 0, 0, 7]
        );
        let reply = Message::Reply(Reply {
            repair: false,
            ack_required: true,
            prefix_size: 24,
            hop_count: 2,
            destination: B,
            destination_sequence: Sequence(0xffff_fffe),
            originator: A,
            lifetime_ms: 10_000,
        });
        assert_eq!(
            emitted(&reply),
            [2, 0x40, 24, 2, 10, 0, 0, 2, 0xff, 0xff, 0xff, 0xfe, 10, 0, 0, 1, 0, 0, 0x27, 0x10]
        );
        let unreachable = alloc::vec![Unreachable { destination: B, sequence: Sequence(9) }];
        let error = Message::Error(Error { no_delete: true, unreachable });
        assert_eq!(emitted(&error), [3, 0x80, 0, 1, 10, 0, 0, 2, 0, 0, 0, 9]);
        assert_eq!(emitted(&Message::ReplyAck), [4, 0]);
    }

    #[test]
    fn reserved_bits_and_skippable_extensions_do_not_matter() {
        let hello_interval = [1, 4, 0, 0, 3, 0xe8];
        let packet = [&[4, 0xff][..], &hello_interval, &[127, 0]].concat();
        assert_eq!(Message::parse(&packet), Ok(Message::ReplyAck));
        assert_eq!(
            Message::parse(&[4, 0, 128, 0]),
            Err(ParseError::Field { name: "extension type", found: 128, allowed: "0 to 127" })
        );
        assert_eq!(Message::parse(&[4, 0, 1, 4, 0]), Err(ParseError::Truncated { found: 2, needed: 5 }));
    }

    #[test]
    fn other_types_and_empty_errors_are_refused() {
        let field = |name, found, allowed| Err(ParseError::Field { name, found, allowed });
        assert_eq!(Message::parse(&[5, 0]), field("type", 5, "1 to 4"));
        assert_eq!(Message::parse(&[3, 0, 0, 0]), field("DestCount", 0, "1 to 255"));
        assert_eq!(Message::parse(&[1, 0, 0]), Err(ParseError::Truncated { found: 3, needed: 4 }));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let last = Sequence(u32::MAX);
        assert_eq!(last.next(), Sequence(0));
        assert_eq!(Sequence(0).previous(), last);
        assert!(Sequence(0).newer_than(last) && !last.newer_than(Sequence(0)));
        assert!(!last.newer_than(last));
        assert!(Sequence(0x7fff_ffff).newer_than(Sequence(0)));
        assert_eq!(last.newest(Sequence(3)), Sequence(3));
        assert_eq!(Sequence(3).newest(last), Sequence(3));
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(message in message()) {
            let packet = emitted(&message);
            prop_assert_eq!(packet.len(), message.wire_len());
            prop_assert_eq!(Message::parse(&packet), Ok(message));
        }

        #[test]
        fn parse_never_panics(bytes in any::<Vec<u8>>(), message in message(), damage in damage()) {
            let _ = Message::parse(&bytes);
            let mut packet = emitted(&message);
            damage.apply(&mut packet);
            if let Ok(parsed) = Message::parse(&packet) {
                prop_assert_eq!(Message::parse(&emitted(&parsed)), Ok(parsed));
            }
        }
    }
}
