//! The signature of a packet: its last message, which other nodes of OLSR ignore.
//!
//! HMAC-SHA256 over the sender's address and the packet, as RFC 7182 §12 does for the packets of later
//! protocols. Each hop signs the packets that it forwards.
//!
//! The message has type 146 and TTL 1. Its body:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | version: 2 |
//! | 1 | number of challenges, at most 8 |
//! | 1 | number of answers, at most 8 |
//! | 1 | reserved: 0 when sent, ignored when received |
//! | 8 | index: random number of this start |
//! | 8 | counter: 1 for the first packet with this index, then one more |
//! | 12 each (IPv6: 24) | challenges: address of a neighbour's interface, nonce (8) |
//! | 12 each (IPv6: 24) | answers: address of the challenger, its nonce |
//! | 16 | tag: first 16 bytes of HMAC-SHA256 over `multihop route 2`, the sender's address, and the packet up to the tag |

use std::fmt;

use hmac::{Hmac, Mac};
use multihop_wire::olsr::{Address, Body, Message, Opaque, Packet, TimeCode};
use sha2::Sha256;

use super::refusals::Reason;

/// A key that all hosts of a network have.
#[derive(Clone, Eq, PartialEq)]
pub struct Key([u8; 32]);

/// The body of a signature message, without version and tag.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Signature<A> {
    /// A random number that the sender chooses at its start.
    pub(super) index: u64,
    /// Counts the packets that the sender has signed with this index.
    pub(super) counter: u64,
    /// Challenges to neighbours, by the address of their interface.
    pub(super) challenges: Vec<Nonce<A>>,
    /// Nonces of challenges to the sender, with the address of the neighbour that sent each.
    pub(super) answers: Vec<Nonce<A>>,
}

/// A random number of a challenge or an answer, and the neighbour that receives it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Nonce<A> {
    pub(super) to: A,
    pub(super) value: u64,
}

impl Key {
    /// Creates a key from these bytes, which must be random and secret.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Secret bytes of the key, for protocols with signatures of their own and for other programs.
    pub const fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// Appends the signature of a packet that leaves from an address.
    pub(super) fn sign<A: Address>(
        &self,
        packet: &mut Packet<A>,
        from: A,
        originator: A,
        signature: &Signature<A>,
    ) -> Vec<u8> {
        let body = Body::Opaque(Opaque::new(SIGNATURE, signature.emit()).expect("not a type of RFC 3626"));
        let sequence = packet.sequence;
        let validity = TimeCode(0);
        packet.messages.push(Message { validity, originator, ttl: 1, hop_count: 0, sequence, body });
        let mut bytes = Vec::with_capacity(packet.len());
        packet.emit(&mut bytes);
        let signed = bytes.len() - TAG;
        let tag = self.mac(from, &bytes[..signed]).finalize().into_bytes();
        bytes[signed..].copy_from_slice(&tag[..TAG]);
        bytes
    }

    /// Removes the signature from a packet and returns it, if it was made with this key for a packet from
    /// this address.
    pub(super) fn verify<A: Address>(
        &self,
        packet: &mut Packet<A>,
        from: A,
        bytes: &[u8],
    ) -> Result<Signature<A>, Reason> {
        // The signature covers no bytes behind the end of the packet.
        let length = bytes.first_chunk().map_or(0, |length| u16::from_be_bytes(*length).into());
        let bytes = bytes.get(..length).ok_or(Reason::Unsigned)?;
        let last = packet.messages.pop().ok_or(Reason::Unsigned)?;
        let Body::Opaque(opaque) = last.body else { return Err(Reason::Unsigned) };
        if opaque.kind() != SIGNATURE {
            return Err(Reason::Unsigned);
        }
        let (version, rest) = opaque.bytes().split_first().ok_or(Reason::OtherVersion)?;
        let (body, tag) = rest.split_last_chunk::<TAG>().ok_or(Reason::OtherVersion)?;
        let signature = Signature::parse(body).filter(|_| *version == VERSION).ok_or(Reason::OtherVersion)?;
        let signed = bytes.len().checked_sub(TAG).ok_or(Reason::Unsigned)?;
        let verified = self.mac(from, &bytes[..signed]).verify_truncated_left(tag);
        // A fuzzer cannot compute tags; without this exception it would never test the code behind the check.
        if verified.is_err() && !cfg!(fuzzing) {
            return Err(Reason::WrongKey);
        }
        Ok(signature)
    }

    /// A number that nobody without the key can guess, and that differs for each pair of `salt` and `number`.
    pub(super) fn draw(&self, salt: u64, number: u64) -> u64 {
        let mac = self.hmac(DRAW).chain_update(salt.to_be_bytes()).chain_update(number.to_be_bytes());
        let drawn = mac.finalize().into_bytes();
        u64::from_be_bytes(*drawn.first_chunk().expect("a tag of 32 bytes"))
    }

    fn mac<A: Address>(&self, from: A, bytes: &[u8]) -> Hmac<Sha256> {
        let mut address = Vec::with_capacity(A::LEN);
        from.emit(&mut address);
        self.hmac(LABEL).chain_update(address).chain_update(bytes)
    }

    fn hmac(&self, label: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("keys of HMAC have any length");
        mac.chain_update(label)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl<A: Address> Signature<A> {
    /// The body of the message, with zeros in place of the tag.
    fn emit(&self) -> Vec<u8> {
        let count = |list: &[_]| u8::try_from(list.len()).expect("at most MAX_NONCES");
        let mut out = vec![VERSION, count(&self.challenges), count(&self.answers), 0];
        out.extend(self.index.to_be_bytes());
        out.extend(self.counter.to_be_bytes());
        for nonce in self.challenges.iter().chain(&self.answers) {
            nonce.to.emit(&mut out);
            out.extend(nonce.value.to_be_bytes());
        }
        out.resize(out.len() + TAG, 0);
        out
    }

    /// Parses the content between version and tag.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (&[challenges, answers, _reserved], rest) = bytes.split_first_chunk()?;
        let counts = [challenges, answers].map(usize::from);
        let (index, rest) = rest.split_first_chunk()?;
        let (counter, rest) = rest.split_first_chunk()?;
        if counts.iter().any(|count| *count > MAX_NONCES)
            || rest.len() != counts.iter().sum::<usize>() * (A::LEN + 8)
        {
            return None;
        }
        let mut nonces = rest.chunks_exact(A::LEN + 8).map(|chunk| {
            let (address, value) = chunk.split_at(A::LEN);
            let value = value.try_into().expect("8 bytes are left of the chunk");
            Nonce { to: A::read(address), value: u64::from_be_bytes(value) }
        });
        let challenges = nonces.by_ref().take(counts[0]).collect();
        let answers = nonces.collect();
        let [index, counter] = [index, counter].map(|number| u64::from_be_bytes(*number));
        Some(Self { index, counter, challenges, answers })
    }
}

/// Largest number of challenges in one packet, and of answers.
pub(super) const MAX_NONCES: usize = 8;
/// Message type for private use (RFC 3626 §18.4).
const SIGNATURE: u8 = 146;
/// Version of the signature format. Version 1 had a time stamp instead of index and counter.
const VERSION: u8 = 2;
/// Length of the tag, bytes.
const TAG: usize = 16;
/// Prefix of signed data, which separates signatures from other uses of the key.
const LABEL: &[u8] = b"multihop route 2";
/// Prefix of the input of random numbers drawn with the key, which separates them from signatures.
const DRAW: &[u8] = b"multihop route draw";
