//! The datagrams of the encrypted protocol.
//!
//! # Bytes
//!
//! | byte | field |
//! |---|---|
//! | 0 | type |
//! | 1 | variant, by type |
//! | 2, 3 | 0xffff, which no plain segment has, because BitmapData has at most one bit |
//! | 4 to 7 | index: 32 random bits by which an end identifies the connection |
//!
//! | type | variant | index | then |
//! |---|---|---|---|
//! | 1 hello | 12 token, 13 keys, 14 keys and a shared key | the caller's own | 8 to 23: cookie or zeros; first Noise message, with keys the seal; or zeros. At least 160 bytes in all |
//! | 2 cookie | 1 | the caller's | 8 to 23: cookie; with keys 24 to 55: the listener's public key. 24 or 56 bytes in all |
//! | 3 answer | 0 | the caller's | 8 to 11: the listener's index; second Noise message |
//! | 5 data | number of the key, masked | the receiver's | 8 to 15: counter, masked; encrypted segment |
//! | 6 refusal | reason | the caller's | 8: version of the listener. 9 bytes in all |
//! | 7 challenge, 8 response | as 5 | the receiver's | as 5, around 8 bytes. 40 bytes in all |
//! | 9 offer, 10 accept | as 5 | the receiver's | as 5, around a message about *keys* (`docs/wire.md#keys`) |
//! | 11 request, 12 spare | as 5 | the receiver's | as 5, around a message about *indices* (`docs/wire.md#indices`). 40 and 60 bytes in all |
//! | 13 reset | 0 | that of the answered datagram | 8 to 23: *token* (`docs/wire.md#restarts`). 24 bytes in all |
//!
//! A datagram of another form is dropped without an answer.

use crate::keys::PublicKey;
use crate::protection::cookie::Cookie;
use crate::reason::Reason;
use crate::version::EARLIER;
use alloc::vec::Vec;

/// A datagram of the encrypted protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SecureDatagram<'a> {
    /// The first datagram of an initiator.
    Hello {
        /// Way in which the initiator proves its identity.
        pattern: Pattern,
        /// Connection index that the answer must contain as its receiver.
        sender: u32,
        /// Cookie of the listener, or zeros.
        cookie: Cookie,
        /// The first Noise message with a SYN; zeros if the initiator cannot create it yet.
        noise: &'a [u8],
    },
    /// The first datagram of an initiator of another version of this protocol.
    OtherHello {
        /// Index that the initiator has chosen.
        sender: u32,
        /// Version of the initiator, if it is earlier than this one.
        version: Option<u8>,
    },
    /// Hello of the previous protocol version. By it an initiator of this version detects a listener that
    /// supports only the previous one.
    VersionProbe {
        /// Index that the initiator has chosen.
        sender: u32,
    },
    /// A cookie or a refusal from a listener of the previous version.
    EarlierAnswer {
        /// Index that the initiator has chosen.
        receiver: u32,
    },
    /// Cookie for an initiator that has not returned a valid one; with keys, also the listener's key.
    CookieReply { receiver: u32, cookie: Cookie, key: Option<PublicKey> },
    /// The responder's part of the handshake: the second Noise message with a SYN ACK.
    Answer { receiver: u32, sender: u32, noise: &'a [u8] },
    /// A datagram of an open connection, encrypted.
    Data(EncryptedSegment<'a>),
    /// Reset: the sender has no connection with this index, and proves that it gave the index.
    Reset { index: u32, token: ResetToken },
    /// Refusal of the connection by a listener of this version.
    Refusal { receiver: u32, reason: Reason, version: u8 },
}

/// Token that proves that a reset comes from the host which gave an index.
pub(crate) type ResetToken = [u8; 16];

/// Kind of a datagram's encrypted content.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Content {
    Segment,
    /// Challenge: a random number, sent to an address from which the peer seems to send, that the peer must
    /// return.
    Challenge,
    /// Response: the number of a challenge, which shows that the peer receives datagrams at an address.
    Response,
    /// The first message of a handshake for new keys.
    Offer,
    /// The second message of a handshake for new keys.
    Accept,
    /// Request for an index that the sender can use on its next path.
    Request,
    /// An index for the next path of the peer, in answer to its request.
    Spare,
}

/// A datagram of an open encrypted connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct EncryptedSegment<'a> {
    pub(crate) content: Content,
    /// The sixteen bytes before the ciphertext. The key number and the counter are masked.
    pub(crate) header: &'a [u8; DATA_HEADER],
    /// Index by which the receiver finds the connection.
    pub(crate) receiver: u32,
    /// Segment and its authentication tag, encrypted.
    pub(crate) ciphertext: &'a [u8],
}

/// Method by which the two ends prove their identity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pattern {
    /// Both ends have the same token: `Noise_NNpsk0`.
    Token,
    /// Each end has a key pair: `Noise_IK`.
    Keys,
    /// Each end has a key pair, and both share a secret: `Noise_IKpsk0`.
    KeysShared,
}

impl<'a> SecureDatagram<'a> {
    /// Parses a datagram; `None` if it does not belong to the encrypted protocol.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (&[kind, variant, MARK, MARK], rest) = bytes.split_first_chunk()? else { return None };
        match (kind, variant) {
            (HELLO, _) => parse_hello(variant, rest),
            (COOKIE, 0) => Some(Self::EarlierAnswer { receiver: index(rest)?.0 }),
            (COOKIE, 1) => {
                let (receiver, rest) = index(rest)?;
                let (&cookie, rest) = rest.split_first_chunk()?;
                let key =
                    if rest.is_empty() { None } else { Some(PublicKey::from_bytes(rest.try_into().ok()?)) };
                Some(Self::CookieReply { receiver, cookie, key })
            }
            (ANSWER, 0) => {
                let (receiver, rest) = index(rest)?;
                let (sender, noise) = index(rest)?;
                Some(Self::Answer { receiver, sender, noise })
            }
            (DATA | CHALLENGE..=SPARE, _) => {
                let content = Content::from_wire(kind)?;
                let (header, ciphertext) = bytes.split_first_chunk()?;
                let (receiver, _) = index(rest)?;
                Some(Self::Data(EncryptedSegment { content, header, receiver, ciphertext }))
            }
            (RESET, 0) => {
                let (index, rest) = index(rest)?;
                Some(Self::Reset { index, token: rest.try_into().ok()? })
            }
            (REFUSAL, reason) => {
                let (receiver, rest) = index(rest)?;
                match *rest {
                    [] => Some(Self::EarlierAnswer { receiver }),
                    [version] => {
                        Some(Self::Refusal { receiver, reason: Reason::from_wire(reason)?, version })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Appends the datagram to `out`.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Hello { pattern, sender, cookie, noise } => {
                put(out, HELLO, pattern.to_wire(), sender);
                out.extend_from_slice(&cookie);
                out.extend_from_slice(noise);
            }
            Self::OtherHello { sender, .. } => put(out, HELLO, FIRST - 1, sender),
            Self::VersionProbe { sender } => {
                let start = out.len();
                put(out, HELLO, FIRST - 1, sender);
                out.extend_from_slice(&Cookie::default());
                out.extend_from_slice(PROBE);
                out.resize(start + MIN_HELLO, 0);
            }
            // This is the refusal by which a listener of the previous version answers a hello of another
            // version.
            Self::EarlierAnswer { receiver } => put(out, REFUSAL, Reason::OtherVersion.to_wire(), receiver),
            Self::CookieReply { receiver, cookie, key } => {
                put(out, COOKIE, 1, receiver);
                out.extend_from_slice(&cookie);
                out.extend_from_slice(key.as_ref().map_or(&[][..], |key| key.as_bytes()));
            }
            Self::Answer { receiver, sender, noise } => {
                put(out, ANSWER, 0, receiver);
                out.extend_from_slice(&sender.to_be_bytes());
                out.extend_from_slice(noise);
            }
            Self::Data(EncryptedSegment { header, ciphertext, .. }) => {
                out.extend_from_slice(header);
                out.extend_from_slice(ciphertext);
            }
            Self::Reset { index, token } => {
                put(out, RESET, 0, index);
                out.extend_from_slice(&token);
            }
            Self::Refusal { receiver, reason, version } => {
                put(out, REFUSAL, reason.to_wire(), receiver);
                out.push(version);
            }
        }
    }
}

/// The header of an encrypted segment, before parts of it are masked.
pub(crate) fn data_header(content: Content, key: u8, receiver: u32, counter: u64) -> [u8; DATA_HEADER] {
    let mut header = [content.to_wire(), key, MARK, MARK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header[4..8].copy_from_slice(&receiver.to_be_bytes());
    header[8..].copy_from_slice(&counter.to_be_bytes());
    header
}

impl Content {
    const fn from_wire(byte: u8) -> Option<Self> {
        match byte {
            DATA => Some(Self::Segment),
            CHALLENGE => Some(Self::Challenge),
            RESPONSE => Some(Self::Response),
            OFFER => Some(Self::Offer),
            ACCEPT => Some(Self::Accept),
            REQUEST => Some(Self::Request),
            SPARE => Some(Self::Spare),
            _ => None,
        }
    }

    const fn to_wire(self) -> u8 {
        match self {
            Self::Segment => DATA,
            Self::Challenge => CHALLENGE,
            Self::Response => RESPONSE,
            Self::Offer => OFFER,
            Self::Accept => ACCEPT,
            Self::Request => REQUEST,
            Self::Spare => SPARE,
        }
    }
}

impl Pattern {
    const fn from_wire(byte: u8) -> Option<Self> {
        match byte {
            12 => Some(Self::Token),
            13 => Some(Self::Keys),
            14 => Some(Self::KeysShared),
            _ => None,
        }
    }

    const fn to_wire(self) -> u8 {
        match self {
            Self::Token => FIRST,
            Self::Keys => 13,
            Self::KeysShared => 14,
        }
    }
}

impl Reason {
    const fn from_wire(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::WantsToken),
            2 => Some(Self::WantsKeys),
            3 => Some(Self::WrongToken),
            4 => Some(Self::WantsPlain),
            5 => Some(Self::UnknownKey),
            6 => Some(Self::OtherVersion),
            7 => Some(Self::WantsShared),
            8 => Some(Self::WantsNoShared),
            9 => Some(Self::WrongShared),
            _ => None,
        }
    }

    const fn to_wire(self) -> u8 {
        match self {
            Self::WantsToken => 1,
            Self::WantsKeys => 2,
            Self::WrongToken => 3,
            Self::WantsPlain => 4,
            Self::UnknownKey => 5,
            Self::OtherVersion => 6,
            Self::WantsShared => 7,
            Self::WantsNoShared => 8,
            Self::WrongShared => 9,
        }
    }
}

/// Parses a hello after its first four bytes.
fn parse_hello(variant: u8, rest: &[u8]) -> Option<SecureDatagram<'_>> {
    let is_long = rest.len() >= MIN_HELLO - 4;
    let (sender, rest) = index(rest)?;
    match variant {
        0 => None,
        EARLIER_FIRST..FIRST if rest.get(size_of::<Cookie>()..)?.starts_with(PROBE) => {
            Some(SecureDatagram::VersionProbe { sender })
        }
        1..FIRST => Some(SecureDatagram::OtherHello { sender, version: Some(version_of(variant)) }),
        _ if !is_long => None,
        _ => Some(match Pattern::from_wire(variant) {
            Some(pattern) => {
                let (&cookie, noise) = rest.split_first_chunk()?;
                SecureDatagram::Hello { pattern, sender, cookie, noise }
            }
            None => SecureDatagram::OtherHello { sender, version: None },
        }),
    }
}

/// Protocol version of an earlier hello.
const fn version_of(variant: u8) -> u8 {
    if variant < EARLIER_FIRST { 1 } else { EARLIER }
}

fn put(out: &mut Vec<u8>, kind: u8, variant: u8, index: u32) {
    out.extend_from_slice(&[kind, variant, MARK, MARK]);
    out.extend_from_slice(&index.to_be_bytes());
}

fn index(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(index, rest)| (u32::from_be_bytes(*index), rest))
}

/// Smallest length of a hello, bytes: the length of an answer, so that a listener never amplifies.
pub(crate) const MIN_HELLO: usize = 160;
/// Length of a hello before its Noise message, bytes.
pub(crate) const HELLO_HEADER: usize = 24;
/// Length of the header before the ciphertext of a segment, bytes.
pub(crate) const DATA_HEADER: usize = 16;

/// Value of bytes 2 and 3 in protected datagrams. A plain segment has at most one bit of BitmapData set
/// there, and never all flags.
const MARK: u8 = 0xff;

const HELLO: u8 = 1;
const COOKIE: u8 = 2;
const ANSWER: u8 = 3;
/// Type of a data message. Type 4 was the third message of version 1.
const DATA: u8 = 5;
const REFUSAL: u8 = 6;
const CHALLENGE: u8 = 7;
const RESPONSE: u8 = 8;
const OFFER: u8 = 9;
const ACCEPT: u8 = 10;
const REQUEST: u8 = 11;
const SPARE: u8 = 12;
const RESET: u8 = 13;

/// First variant number of hellos of this version.
const FIRST: u8 = 12;
const EARLIER_FIRST: u8 = 9;
/// Contents that replace the Noise message in a hello of the previous version by an initiator of this
/// version.
const PROBE: &[u8] = b"version 3";

#[cfg(test)]
mod tests {
    use multihop_wire::tpa::Segment;
    use proptest::prelude::*;

    use super::*;

    fn bytes(message: &SecureDatagram<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        message.emit(&mut out);
        out
    }

    #[test]
    fn datagrams_have_the_documented_bytes() {
        let data = |ciphertext| EncryptedSegment {
            content: Content::Segment,
            header: &[5, 0x12, 255, 255, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8],
            receiver: 7,
            ciphertext,
        };
        let encrypted = [5, 0x12, 255, 255, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9];
        assert_eq!(SecureDatagram::parse(&encrypted), Some(SecureDatagram::Data(data(&[9, 9]))));
        assert_eq!(bytes(&SecureDatagram::Data(data(&[9, 9]))), encrypted);
        let refusal =
            SecureDatagram::Refusal { receiver: 0x0a0b_0c0d, reason: Reason::WrongToken, version: 3 };
        assert_eq!(bytes(&refusal), [6, 3, 255, 255, 10, 11, 12, 13, 3]);
    }

    #[test]
    fn a_cookie_comes_with_or_without_a_key() {
        for (key, len) in [(None, 24), (Some(PublicKey::from_bytes([9; 32])), 56)] {
            let reply = SecureDatagram::CookieReply { receiver: 7, cookie: [3; 16], key };
            assert_eq!(bytes(&reply).len(), len);
            assert_eq!(SecureDatagram::parse(&bytes(&reply)), Some(reply));
            assert_eq!(SecureDatagram::parse(&bytes(&reply)[..len - 1]), None);
        }
    }

    #[test]
    fn a_hello_of_another_version_is_recognised() {
        for (variants, version) in [(1..=8, Some(1)), (9..=11, Some(2)), (15..=255, None)] {
            for variant in variants {
                let other = [&[1, variant, 255, 255, 0, 0, 0, 7][..], &[0; 152]].concat();
                let expected = SecureDatagram::OtherHello { sender: 7, version };
                assert_eq!(SecureDatagram::parse(&other), Some(expected), "variant {variant}");
            }
        }
    }

    #[test]
    fn a_short_hello_is_rejected() {
        let noise = [1; MIN_HELLO - HELLO_HEADER];
        let hello =
            |noise| SecureDatagram::Hello { pattern: Pattern::Keys, sender: 7, cookie: [3; 16], noise };
        assert_eq!(SecureDatagram::parse(&bytes(&hello(&noise))), Some(hello(&noise)));
        assert_eq!(SecureDatagram::parse(&bytes(&hello(&noise[1..]))), None);
    }

    proptest! {
        #[test]
        fn a_parsed_datagram_emits_the_same_bytes_and_is_no_plain_segment(mut datagram: Vec<u8>, kind in 0_u8..15, variant: u8) {
            datagram.splice(0..0, [kind, variant, 255, 255]);
            match SecureDatagram::parse(&datagram) {
                None | Some(SecureDatagram::OtherHello { .. } | SecureDatagram::EarlierAnswer { .. }) => {}
                Some(SecureDatagram::VersionProbe { .. }) => {}
                Some(message) => prop_assert_eq!(&bytes(&message), &datagram),
            }
            prop_assert!(Segment::parse_in_udp(&datagram, 1, 2).is_err());
        }

        #[test]
        fn a_plain_segment_is_no_encrypted_datagram(datagram: Vec<u8>) {
            if Segment::parse_in_udp(&datagram, 1, 2).is_ok() {
                prop_assert_eq!(SecureDatagram::parse(&datagram), None);
            }
        }
    }
}
