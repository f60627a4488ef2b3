//! Authentication of packets: an ICV packet TLV (RFC 7182) by each key, and counters against replays.
//!
//! RFC 7183 detects replays by time stamps of clocks that agree. Hosts of a mesh may have no clock, so the value of the
//! TIMESTAMP packet TLV, whose structure is up to the protocol with type extension 0, is a counter under a random index. A
//! neighbour proves a new index by a challenge, as in RFC 8967.

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use hmac::{Hmac, Mac};
use multihop_core::{Instant, Interface};
use multihop_routing::host::HostRefusal;
use multihop_wire::reader::Reader;
use sha2::Sha256;

use crate::authentication::Authentication;
use crate::replay::{Checked, Proof};
use crate::rfc5444::{self, Tlv};

/// Numbers and signs a packet that leaves from an address; returns its bytes.
pub(super) fn sign(by: &mut Authentication, from: Ipv6Addr, mut packet: rfc5444::Packet) -> Vec<u8> {
    packet.tlvs.push(tlv(TIMESTAMP, 0, by.counters.next().to_vec()));
    let mut content = Vec::new();
    packet.emit(&mut content);
    for tag in by.keys.tags(|key| mac(key, from, &content)) {
        packet.tlvs.push(tlv(ICV, SOURCE_SPECIFIC, [&METHOD[..], &tag].concat()));
    }
    let mut bytes = Vec::new();
    packet.emit(&mut bytes);
    bytes
}

/// Checks that a packet has an ICV by one of the keys. The check is cheap for any contents.
pub(super) fn admit(by: &Authentication, from: Ipv6Addr, bytes: &[u8]) -> Result<(), HostRefusal> {
    let (content, tags) = split(bytes).ok_or(HostRefusal::Unsigned)?;
    by.keys.admit(tags.into_iter(), |key| mac(key, from, &content))
}

/// Checks the counter of a packet that is [admitted](admit), and answers challenges.
pub(super) fn check(
    by: &mut Authentication,
    now: Instant,
    place: (Interface, Ipv6Addr),
    packet: &rfc5444::Packet,
) -> Checked {
    let of = |kind| packet.tlvs.iter().filter(move |tlv| (tlv.kind, tlv.extension) == (kind, 0));
    let values = |kind| of(kind).filter_map(|tlv| tlv.value.as_deref());
    let proof = Proof {
        counter: values(TIMESTAMP).next(),
        request: values(CHALLENGE).next(),
        replies: values(REPLY).collect(),
    };
    // The signature does not cover the destination. Only challenges and their answers are sent to one neighbour.
    let to_all = proof.request.is_none() && proof.replies.is_empty();
    by.counters.check(now, place, to_all, &proof)
}

/// Packet that returns a nonce, and challenges its receiver; `None` if there is nothing to send.
pub(super) fn answer(checked: &Checked) -> Option<rfc5444::Packet> {
    let reply = checked.reply.iter().map(|nonce| tlv(REPLY, 0, nonce.clone()));
    let challenge = checked.challenge.iter().map(|nonce| tlv(CHALLENGE, 0, nonce.to_vec()));
    let tlvs: Vec<_> = reply.chain(challenge).collect();
    (!tlvs.is_empty()).then(|| rfc5444::Packet { tlvs, ..rfc5444::Packet::default() })
}

fn tlv(kind: u8, extension: u8, value: Vec<u8>) -> Tlv {
    Tlv { kind, extension, value: Some(value) }
}

/// A packet without its ICV TLVs, and their tags (RFC 7182). `None` if the packet is malformed.
fn split(bytes: &[u8]) -> Option<(Vec<u8>, Vec<&[u8]>)> {
    let block = rfc5444::tlv_block(bytes)?;
    let (mut kept, mut tags) = (Vec::<u8>::new(), Vec::new());
    let mut rest = &bytes[block.clone()];
    while !rest.is_empty() {
        let mut reader = Reader::new(rest);
        let tlv = rfc5444::next_tlv(&mut reader).ok()?;
        let after = reader.rest();
        let this = &rest[..rest.len() - after.len()];
        rest = after;
        if tlv.kind != ICV {
            kept.extend(this);
        } else if let Some(value) = tlv.value
            && tlv.extension == SOURCE_SPECIFIC
            && let Some(tag) = value.strip_prefix(&METHOD)
        {
            tags.push(tag);
        }
    }
    let len = u16::try_from(kept.len()).ok()?;
    let mut content = bytes[..block.start - 2].to_vec();
    content.extend(len.to_be_bytes());
    content.extend(kept);
    content.extend(&bytes[block.end..]);
    Some((content, tags))
}

/// HMAC-SHA256 over the first fields of the ICV TLV, the source address, and a packet without ICV TLVs.
fn mac(key: &[u8; 32], from: Ipv6Addr, content: &[u8]) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.chain_update(METHOD).chain_update(from.octets()).chain_update(content)
}

/// Type of the packet TLV with an integrity check value.
const ICV: u8 = 5;
/// Type of the packet TLV with a time stamp.
const TIMESTAMP: u8 = 6;
/// Type extension of ICVs that cover the source address of the datagram.
const SOURCE_SPECIFIC: u8 = 2;
/// Hash function SHA-256, cryptographic function HMAC, and the length of the key's identifier.
const METHOD: [u8; 3] = [3, 3, 0];
/// Type of the packet TLV with a nonce that the receiver must return, for experimental use (RFC 5444).
const CHALLENGE: u8 = 224;
/// Type of the packet TLV with a returned nonce, for experimental use.
const REPLY: u8 = 225;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::tests::host;

    const A: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    const B: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);

    fn packet() -> rfc5444::Packet {
        let message = rfc5444::Message { kind: 1, ..rfc5444::Message::default() };
        rfc5444::Packet { sequence: Some(7), tlvs: Vec::new(), messages: vec![message] }
    }

    #[test]
    fn only_an_unchanged_packet_with_a_key_of_both_is_admitted() {
        let (mut sender, receiver) = (host(1, &[7, 8]), host(2, &[8]));
        let bytes = sign(&mut sender, A, packet());
        assert_eq!(admit(&receiver, A, &bytes), Ok(()));
        assert!(format!("{receiver:?}").contains("Keys(1)"), "without the key");
        assert_eq!(admit(&host(3, &[9]), A, &bytes), Err(HostRefusal::WrongKey));
        assert_eq!(admit(&receiver, B, &bytes), Err(HostRefusal::WrongKey), "another source");
        let signed = sign(&mut host(1, &[8]), A, packet());
        // Reserved bits in the flags of the ICV TLV are not signed.
        for place in (0..signed.len()).filter(|place| *place != 21) {
            let mut changed = signed.clone();
            changed[place] ^= 1;
            assert!(admit(&receiver, A, &changed).is_err(), "byte {place}");
        }
        let mut plain = Vec::new();
        packet().emit(&mut plain);
        assert_eq!(admit(&receiver, A, &plain), Err(HostRefusal::Unsigned));
    }

    #[test]
    fn a_sender_is_used_after_it_has_returned_the_nonce_and_replays_are_refused() {
        let (mut sender, mut receiver) = (host(1, &[7]), host(2, &[7]));
        let mut check = |packet: rfc5444::Packet| {
            let bytes = sign(&mut sender, A, packet);
            let packet = rfc5444::Packet::parse(&bytes).expect("a packet");
            let again = packet.clone();
            let place = (Interface(0), A);
            (
                check(&mut receiver, Instant::ZERO, place, &packet),
                check(&mut receiver, Instant::ZERO, place, &again),
            )
        };
        let nonce = check(packet()).0.challenge.expect("a challenge").to_vec();
        let reply =
            answer(&Checked { refusal: None, reply: Some(nonce), challenge: None }).expect("a packet");
        let (first, again) = check(reply);
        assert_eq!((first.refusal, again.refusal), (None, Some(HostRefusal::Replayed)));
    }
}
