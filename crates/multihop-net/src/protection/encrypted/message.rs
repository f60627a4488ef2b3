//! The datagrams of the encrypted protocol. `docs/wire.md` gives their bytes.

use crate::keys::PublicKey;
use crate::protection::cookie::Cookie;

/// A datagram of the encrypted protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SecureDatagram<'a> {
    /// The first datagram of an initiator.
    Hello {
        /// How it proves its identity.
        pattern: Pattern,
        /// The index by which the answer must name the connection.
        sender: u32,
        /// The listener's cookie, or zeros.
        cookie: Cookie,
        /// The first Noise message, around a SYN; zeros if the initiator cannot create it yet.
        noise: &'a [u8],
    },
    /// The first datagram of an initiator of another version of this protocol.
    OtherHello {
        /// Its index.
        sender: u32,
    },
    /// To an initiator that has not shown a valid cookie; with keys, also the listener's key.
    CookieReply { receiver: u32, cookie: Cookie, key: Option<PublicKey> },
    /// The responder's part of the handshake: the second Noise message, around a SYN ACK.
    Answer { receiver: u32, sender: u32, noise: &'a [u8] },
    /// Something encrypted.
    Data(EncryptedSegment<'a>),
    /// The listener refuses the connection.
    Refusal { receiver: u32, reason: Reason },
}

/// What is encrypted in a datagram.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Content {
    Segment,
    /// A random number, sent to an address from which the peer seems to send.
    Challenge,
    /// The same number, which shows that the peer receives what is sent to that address.
    Response,
    /// The first message of a handshake for new keys.
    Offer,
    /// Its second message.
    Accept,
    /// The sender asks for an index to use on its next path.
    Request,
    /// That index.
    Spare,
}

/// Something encrypted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct EncryptedSegment<'a> {
    pub(crate) content: Content,
    /// The sixteen bytes in front of the ciphertext. Number of the key and counter are masked.
    pub(crate) header: &'a [u8; DATA_HEADER],
    /// The receiver's index.
    pub(crate) receiver: u32,
    /// The segment and its tag.
    pub(crate) ciphertext: &'a [u8],
}

/// How the two ends prove their identity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pattern {
    /// Both know a token: `Noise_NNpsk0`.
    Token,
    /// Both have keys: `Noise_IK`.
    Keys,
    /// Both have keys, and a secret that they share: `Noise_IKpsk0`.
    KeysShared,
}

/// Why a listener refuses a connection. It is not authenticated, so it counts only while there is no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Reason {
    /// Only peers with a token are accepted.
    #[error("the listener requires a token")]
    WantsToken,
    /// Only peers with a key are accepted.
    #[error("the listener requires a key, not a token")]
    WantsKeys,
    /// The two tokens differ.
    #[error("the listener has another token")]
    WrongToken,
    /// Only the plain protocol is accepted.
    #[error("the listener accepts only plain connections, without encryption")]
    WantsPlain,
    /// The initiator's key is not authorised.
    #[error("the listener does not accept this end's key")]
    UnknownKey,
    /// The initiator uses another version of the encrypted protocol.
    #[error("the listener uses another version of the protocol")]
    OtherVersion,
    /// Only peers that also have the shared key are accepted.
    #[error("the listener also requires a shared key")]
    WantsShared,
    /// The listener has no shared key.
    #[error("the listener has no shared key")]
    WantsNoShared,
    /// The two shared keys differ.
    #[error("the listener has another shared key")]
    WrongShared,
}

impl Reason {
    /// The name of this reason in logs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::WantsToken => "wants_token",
            Self::WantsKeys => "wants_keys",
            Self::WrongToken => "wrong_token",
            Self::WantsPlain => "wants_plain",
            Self::UnknownKey => "unknown_key",
            Self::OtherVersion => "other_version",
            Self::WantsShared => "wants_shared_key",
            Self::WantsNoShared => "wants_no_shared_key",
            Self::WrongShared => "wrong_shared_key",
        }
    }
}

impl<'a> SecureDatagram<'a> {
    /// Reads a datagram; `None` if it is not one of the encrypted protocol.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (&[kind, variant, MARK, MARK], rest) = bytes.split_first_chunk()? else { return None };
        match (kind, variant) {
            (HELLO, OLDEST..=OLD) => Some(Self::OtherHello { sender: index(rest)?.0 }),
            (HELLO, _) if bytes.len() >= MIN_HELLO => {
                let (sender, rest) = index(rest)?;
                let (&cookie, noise) = rest.split_first_chunk()?;
                Some(Self::Hello { pattern: Pattern::from_wire(variant)?, sender, cookie, noise })
            }
            (COOKIE, 0) => {
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
            (REFUSAL, reason) => {
                let (receiver, []) = index(rest)? else { return None };
                Some(Self::Refusal { receiver, reason: Reason::from_wire(reason)? })
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
            // Whatever else it says, nobody reads it.
            Self::OtherHello { sender } => put(out, HELLO, OLD, sender),
            Self::CookieReply { receiver, cookie, key } => {
                put(out, COOKIE, 0, receiver);
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
            Self::Refusal { receiver, reason } => put(out, REFUSAL, reason.to_wire(), receiver),
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
            9 => Some(Self::Token),
            10 => Some(Self::Keys),
            11 => Some(Self::KeysShared),
            _ => None,
        }
    }

    const fn to_wire(self) -> u8 {
        match self {
            Self::Token => 9,
            Self::Keys => 10,
            Self::KeysShared => 11,
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

fn put(out: &mut Vec<u8>, kind: u8, variant: u8, index: u32) {
    out.extend_from_slice(&[kind, variant, MARK, MARK]);
    out.extend_from_slice(&index.to_be_bytes());
}

fn index(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(index, rest)| (u32::from_be_bytes(*index), rest))
}

/// Bytes of a hello at least: as long as an answer, so that a listener never amplifies.
pub(crate) const MIN_HELLO: usize = 160;
/// Bytes in front of a hello's Noise message.
pub(crate) const HELLO_HEADER: usize = 24;
/// Bytes in front of the ciphertext of a segment.
pub(crate) const DATA_HEADER: usize = 16;

/// Bytes 2 and 3: a plain segment has at most one bit of BitmapData set there, and never all flags.
const MARK: u8 = 0xff;

const HELLO: u8 = 1;
const COOKIE: u8 = 2;
const ANSWER: u8 = 3;
/// 4 was the third message of version 1.
const DATA: u8 = 5;
const REFUSAL: u8 = 6;
const CHALLENGE: u8 = 7;
const RESPONSE: u8 = 8;
const OFFER: u8 = 9;
const ACCEPT: u8 = 10;
const REQUEST: u8 = 11;
const SPARE: u8 = 12;

/// The variants of hellos of versions 1 to 3.
const OLDEST: u8 = 1;
const OLD: u8 = 8;

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
        let refusal = SecureDatagram::Refusal { receiver: 0x0a0b_0c0d, reason: Reason::WrongToken };
        assert_eq!(bytes(&refusal), [6, 3, 255, 255, 10, 11, 12, 13]);
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
    fn a_hello_of_an_earlier_version_is_recognised() {
        for variant in 1..=8 {
            let old = [&[1, variant, 255, 255, 0, 0, 0, 7][..], &[0; 152]].concat();
            assert_eq!(SecureDatagram::parse(&old), Some(SecureDatagram::OtherHello { sender: 7 }));
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
        fn a_parsed_datagram_emits_the_same_bytes_and_is_no_plain_segment(mut datagram: Vec<u8>, kind in 0_u8..14, variant: u8) {
            datagram.splice(0..0, [kind, variant, 255, 255]);
            match SecureDatagram::parse(&datagram) {
                None | Some(SecureDatagram::OtherHello { .. }) => {}
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
