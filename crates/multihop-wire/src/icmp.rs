//! ICMP (RFC 792): echo and error messages.

use alloc::vec::Vec;

use multihop_core::Payload;

use crate::checksum::Checksum;
use crate::ipv4;
use crate::reader::Reader;
use crate::{ParseError, Quoted};

/// The IP protocol number of ICMP.
pub const PROTOCOL: u8 = 1;

/// Code of [`Message::Unreachable`] without a route to the host.
pub const HOST_UNREACHABLE: u8 = 1;

/// Code of [`Message::TimeExceeded`] for a TTL that expired in transit.
pub const TTL_EXCEEDED: u8 = 0;

/// An ICMP message: an echo, or an error about a datagram (RFC 792).
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Message {
    /// Asks for an echo reply.
    EchoRequest(Echo),
    /// Answers an echo request.
    EchoReply(Echo),
    /// The datagram could not be delivered.
    Unreachable {
        /// The reason, for example [`HOST_UNREACHABLE`].
        code: u8,
        /// Start of the datagram that could not be delivered.
        quote: Quote,
    },
    /// The datagram exceeded a time limit.
    TimeExceeded {
        /// The limit, for example [`TTL_EXCEEDED`].
        code: u8,
        /// Start of the datagram that exceeded the limit.
        quote: Quote,
    },
}

/// The body of an echo request or reply.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Echo {
    /// Identifier of the process that asks.
    pub id: u16,
    /// Sequence number of the request, which its reply repeats.
    pub seq: u16,
    /// Data to be echoed.
    pub payload: Payload,
}

/// The start of a datagram, as an error quotes it.
///
/// Sent with 20 bytes of the datagram's payload (RFC 1812 §4.3.2.3 asks for more than the 8 of RFC 792). They include
/// TCP's acknowledgement number and all of TPA's header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quote {
    /// IP header of the quoted datagram.
    pub header: ipv4::Header,
    /// Length of the datagram's whole payload, bytes, which the quote may cut short.
    pub payload_len: u16,
    /// First bytes of the datagram's payload; zeros after the end of the datagram or of the quote.
    pub transport: [u8; 20],
}

impl Message {
    /// Parses the payload of an IP packet.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut r = Reader::new(bytes);
        let (kind, code) = (r.u8()?, r.u8()?);
        let _checksum = r.u16()?;
        let (id, seq) = (r.u16()?, r.u16()?);
        if Checksum::default().over(bytes).finish() != 0 {
            return Err(ParseError::Checksum);
        }
        match kind {
            ECHO_REQUEST => Ok(Self::EchoRequest(Echo { id, seq, payload: r.payload() })),
            ECHO_REPLY => Ok(Self::EchoReply(Echo { id, seq, payload: r.payload() })),
            UNREACHABLE => Ok(Self::Unreachable { code, quote: Quote::parse(r.rest())? }),
            TIME_EXCEEDED => Ok(Self::TimeExceeded { code, quote: Quote::parse(r.rest())? }),
            other => {
                let (name, found) = ("type", u32::from(other));
                Err(ParseError::Field { name, found, allowed: "0, 3, 8 or 11" })
            }
        }
    }

    /// Appends the bytes of the message.
    ///
    /// # Panics
    ///
    /// If a quote's payload is longer than [`ipv4::MAX_PAYLOAD`].
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            Self::EchoRequest(echo) => echo.emit(ECHO_REQUEST, out),
            Self::EchoReply(echo) => echo.emit(ECHO_REPLY, out),
            Self::Unreachable { code, quote } => quote.emit(UNREACHABLE, *code, out),
            Self::TimeExceeded { code, quote } => quote.emit(TIME_EXCEEDED, *code, out),
        }
        let checksum = Checksum::default().over(&out[start..]).finish();
        out[start + 2..start + 4].copy_from_slice(&checksum.to_be_bytes());
    }
}

impl Echo {
    fn emit(&self, kind: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(&[kind, 0, 0, 0]);
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&self.seq.to_be_bytes());
        self.payload.emit(out);
    }
}

impl Quote {
    /// Maximum number of bytes of payload in a quote.
    pub const TRANSPORT: usize = 20;

    /// The quote of a datagram with this header and payload.
    ///
    /// # Panics
    ///
    /// If `payload` is longer than 65535 bytes.
    pub fn new(header: ipv4::Header, payload: &[u8]) -> Self {
        let payload_len = u16::try_from(payload.len()).expect("a payload is at most MAX_PAYLOAD long");
        Self { header, payload_len, transport: padded(payload) }
    }

    fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        // The header's checksum is not verified: routers may have changed the fields.
        let start = ipv4::Start::parse(bytes)?;
        let mut r = Reader::new(bytes);
        r.take(start.header_len)?;
        // RFC 792: at least 8 bytes.
        let quoted = r.rest();
        Reader::new(quoted).take(start.payload_len.min(8))?;
        let payload_len = u16::try_from(start.payload_len).expect("the total length has 16 bits");
        let transport = padded(&quoted[..quoted.len().min(start.payload_len)]);
        Ok(Self { header: start.header, payload_len, transport })
    }

    fn emit(&self, kind: u8, code: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(&[kind, code, 0, 0, 0, 0, 0, 0]);
        let payload_len = usize::from(self.payload_len);
        self.header.emit_for(payload_len, out);
        out.extend_from_slice(&self.transport[..payload_len.min(Self::TRANSPORT)]);
    }
}

impl From<Quote> for Quoted {
    fn from(quote: Quote) -> Self {
        let ipv4::Header { source, destination, protocol, .. } = quote.header;
        Self { source, destination, protocol, transport: quote.transport }
    }
}

fn padded(payload: &[u8]) -> [u8; Quote::TRANSPORT] {
    let mut transport = [0; Quote::TRANSPORT];
    let len = payload.len().min(Quote::TRANSPORT);
    transport[..len].copy_from_slice(&payload[..len]);
    transport
}

const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const ECHO_REQUEST: u8 = 8;
const TIME_EXCEEDED: u8 = 11;

#[cfg(test)]
mod tests {
    use multihop_core::{LostSegment, SegmentId};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{damage, payload, set_checksum};

    fn quote() -> impl Strategy<Value = Quote> {
        (ipv4::tests::header(), vec(any::<u8>(), 0..40)).prop_map(|(header, data)| Quote::new(header, &data))
    }

    fn message() -> impl Strategy<Value = Message> {
        let echo =
            || (any::<(u16, u16)>(), payload()).prop_map(|((id, seq), payload)| Echo { id, seq, payload });
        prop_oneof![
            echo().prop_map(Message::EchoRequest),
            echo().prop_map(Message::EchoReply),
            (any::<u8>(), quote()).prop_map(|(code, quote)| Message::Unreachable { code, quote }),
            (any::<u8>(), quote()).prop_map(|(code, quote)| Message::TimeExceeded { code, quote }),
        ]
    }

    fn emitted(message: &Message) -> Vec<u8> {
        let mut out = Vec::new();
        message.emit(&mut out);
        out
    }

    fn checksum(packet: &[u8]) -> u16 {
        Checksum::default().over(packet).finish()
    }

    fn unreachable(payload: &[u8]) -> Message {
        let header = ipv4::Header {
            tos: 0,
            id: 7,
            dont_fragment: true,
            ttl: 61,
            protocol: 6,
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 9].into(),
        };
        Message::Unreachable { code: HOST_UNREACHABLE, quote: Quote::new(header, payload) }
    }

    #[test]
    fn known_bytes() {
        // Sum by hand: 0800 + 1234+0001 + 6162 = 7b97.
        let echo = Echo { id: 0x1234, seq: 1, payload: b"ab".to_vec().into() };
        let expected = [8, 0, 0x84, 0x68, 0x12, 0x34, 0, 1, b'a', b'b'];
        assert_eq!(emitted(&Message::EchoRequest(echo)), expected);
    }

    #[test]
    fn a_quote_identifies_the_connection() {
        let mut payload = [0; 100];
        payload[..8].copy_from_slice(&[0x04, 0x00, 0x00, 0x50, 0, 0, 0, 42]);
        let packet = emitted(&unreachable(&payload));
        assert_eq!(packet.len(), 8 + 20 + 20);
        let Ok(Message::Unreachable { code: HOST_UNREACHABLE, quote }) = Message::parse(&packet) else {
            panic!("not the message sent")
        };
        assert_eq!(quote.payload_len, 100);
        let quoted: Quoted = quote.into();
        assert_eq!((quoted.source, quoted.destination), ([10, 0, 0, 1].into(), [10, 0, 0, 9].into()));
        let expected = LostSegment { source: 1024, destination: 80, segment: SegmentId::Tcp(42) };
        assert_eq!(quoted.lost_segment(), expected);
    }

    #[test]
    fn eight_quoted_bytes_are_enough_and_seven_are_not() {
        let mut packet = emitted(&unreachable(&[5; 100]));
        packet.truncate(8 + 20 + 8);
        set_checksum(&mut packet, 2, checksum);
        let Ok(Message::Unreachable { quote, .. }) = Message::parse(&packet) else {
            panic!("refused a quote of 8 bytes")
        };
        assert_eq!(quote.transport[..8], [5; 8]);
        assert_eq!(quote.transport[8..], [0; 12]);
        packet.pop();
        set_checksum(&mut packet, 2, checksum);
        assert_eq!(Message::parse(&packet), Err(ParseError::Truncated { found: 7, needed: 8 }));
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(message in message()) {
            prop_assert_eq!(Message::parse(&emitted(&message)), Ok(message));
        }

        #[test]
        fn parse_never_panics(bytes in any::<Vec<u8>>(), message in message(), damage in damage()) {
            let _ = Message::parse(&bytes);
            let mut packet = emitted(&message);
            damage.apply(&mut packet);
            let _ = Message::parse(&packet);
            set_checksum(&mut packet, 2, checksum);
            let _ = Message::parse(&packet);
        }
    }
}
