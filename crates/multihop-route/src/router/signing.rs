//! Packets that only hosts with a common key can send: the last message of each is a signature, which other nodes of
//! OLSR ignore.
//!
//! HMAC-SHA256 over the sender's address and the packet, as RFC 7182 §12 does for the packets of later protocols, and a
//! time stamp against replays. Each hop signs what it forwards.

use std::fmt;

use hmac::{Hmac, Mac};
use multihop_wire::olsr::{Address, Body, Message, Opaque, Packet, TimeCode};
use sha2::Sha256;

/// A key that all hosts of a network have.
#[derive(Clone, Eq, PartialEq)]
pub struct Key([u8; 32]);

impl Key {
    /// A key of these bytes, which must be random and secret.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Appends the signature of a packet that leaves from an address; `stamp` grows from packet to packet.
    pub(super) fn sign<A: Address>(
        &self,
        packet: &mut Packet<A>,
        from: A,
        originator: A,
        stamp: u64,
    ) -> Vec<u8> {
        let mut body = stamp.to_be_bytes().to_vec();
        body.resize(STAMP + TAG, 0);
        let body = Body::Opaque(Opaque::new(SIGNATURE, body).expect("not a type of RFC 3626"));
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

    /// The time stamp of a packet whose last message is its signature, which is removed; `None` if it is not genuine.
    pub(super) fn verify<A: Address>(&self, packet: &mut Packet<A>, from: A, bytes: &[u8]) -> Option<u64> {
        // Bytes after the packet are not signed.
        let [a, b, ..] = *bytes else { return None };
        let bytes = bytes.get(..usize::from(u16::from_be_bytes([a, b])))?;
        let last = packet.messages.pop()?;
        let Body::Opaque(opaque) = last.body else { return None };
        if opaque.kind() != SIGNATURE || opaque.bytes().len() != STAMP + TAG {
            return None;
        }
        let (stamp, tag) = opaque.bytes().split_first_chunk::<STAMP>()?;
        let signed = bytes.len().checked_sub(TAG)?;
        self.mac(from, &bytes[..signed]).verify_truncated_left(tag).ok()?;
        Some(u64::from_be_bytes(*stamp))
    }

    fn mac<A: Address>(&self, from: A, bytes: &[u8]) -> Hmac<Sha256> {
        let mut address = Vec::with_capacity(A::LEN);
        from.emit(&mut address);
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("keys of HMAC have any length");
        mac.chain_update(LABEL).chain_update(address).chain_update(bytes)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Whether a stamp is newer than the last of its sender, or, of a sender that is not known, near this host's clock.
/// Stamps are microseconds since 1970.
pub(super) fn is_fresh(stamp: u64, last: Option<u64>, clock: u64) -> bool {
    match last {
        Some(last) => stamp > last,
        None => stamp.abs_diff(clock) <= WINDOW,
    }
}

/// Message type for private use (RFC 3626 §18.4).
const SIGNATURE: u8 = 146;
/// Bytes of the time stamp.
const STAMP: usize = 8;
/// Bytes of the signature.
const TAG: usize = 16;
/// Separates these signatures from other uses of the key.
const LABEL: &[u8] = b"multihop route 1";
/// A minute.
const WINDOW: u64 = 60_000_000;
