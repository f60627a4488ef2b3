//! Authentication of packets (RFC 8967): a MAC by each key, packet counters, and challenges.

use alloc::vec::Vec;
use core::net::Ipv6Addr;

use hmac::{Hmac, Mac};
use multihop_core::{Instant, Interface};
use multihop_routing::host::HostRefusal;
use sha2::Sha256;

use super::wire::{PORT, Trailer};
use crate::authentication::Authentication;
use crate::replay::{Checked, Proof};

/// Source and destination address of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) from: Ipv6Addr,
    pub(super) to: Ipv6Addr,
}

/// Numbers a packet with a PC TLV, and appends a MAC TLV by each key.
pub(super) fn sign(by: &mut Authentication, ends: Ends, bytes: &mut Vec<u8>) {
    Trailer::append(bytes, COUNTER, &by.counters.next());
    let packet = bytes.len();
    let tags: Vec<_> = by.keys.tags(|key| mac(key, ends, &bytes[..packet])).collect();
    for tag in tags {
        bytes.extend([MAC, TAG]);
        bytes.extend(tag);
    }
}

/// Checks that a packet has a MAC by one of the keys. The check is cheap for any contents.
pub(super) fn admit(by: &Authentication, ends: Ends, bytes: &[u8]) -> Result<(), HostRefusal> {
    let (packet, trailer) = Trailer::split(bytes).ok_or(HostRefusal::Malformed)?;
    let tags = trailer.values(MAC).filter(|tag| tag.len() == usize::from(TAG));
    by.keys.admit(tags, |key| mac(key, ends, packet))
}

/// Checks the counter of a packet that is [admitted](admit), and answers challenges. `to_all`: the packet was sent to all
/// neighbours.
pub(super) fn check(
    by: &mut Authentication,
    now: Instant,
    place: (Interface, Ipv6Addr),
    to_all: bool,
    bytes: &[u8],
) -> Checked {
    let body = Trailer::body(bytes);
    let values = |kind| body.iter().flat_map(move |body| body.values(kind));
    let proof = Proof {
        counter: values(COUNTER).next(),
        request: values(CHALLENGE_REQUEST).next(),
        replies: values(CHALLENGE_REPLY).collect(),
    };
    by.counters.check(now, place, to_all, &proof)
}

/// HMAC-SHA256 over the pseudo-header of section 4.1 and a packet.
fn mac(key: &[u8; 32], ends: Ends, packet: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    for address in [ends.from, ends.to] {
        mac.update(&address.octets());
        mac.update(&PORT.to_be_bytes());
    }
    mac.update(packet);
    mac
}

/// TLV type of a MAC, from the registry of RFC 8967.
pub(super) const MAC: u8 = 16;
pub(super) const COUNTER: u8 = 17;
pub(super) const CHALLENGE_REQUEST: u8 = 18;
pub(super) const CHALLENGE_REPLY: u8 = 19;
/// Bytes of a MAC.
const TAG: u8 = 32;

#[cfg(test)]
mod tests {
    use multihop_core::Duration;

    use super::super::wire::{GROUP, Packet, Tlv};
    use super::*;
    use crate::authentication::tests::host;

    const A: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    const B: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
    const ENDS: Ends = Ends { from: A, to: B };
    const PLACE: (Interface, Ipv6Addr) = (Interface(0), A);

    fn signed(by: &mut Authentication, more: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Packet { tlvs: vec![Tlv::Ack { opaque: 7 }] }.emit(&mut bytes);
        for (kind, value) in more {
            Trailer::append(&mut bytes, *kind, value);
        }
        sign(by, ENDS, &mut bytes);
        bytes
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn only_an_unchanged_packet_with_a_key_of_both_is_admitted() {
        let (mut sender, receiver) = (host(1, &[7, 8]), host(2, &[8]));
        let bytes = signed(&mut sender, &[]);
        assert_eq!(admit(&receiver, ENDS, &bytes), Ok(()));
        assert!(format!("{receiver:?}").contains("Keys(1)"), "without the key");
        assert_eq!(admit(&host(3, &[9]), ENDS, &bytes), Err(HostRefusal::WrongKey));
        let other = Ends { from: B, to: A };
        assert_eq!(admit(&receiver, other, &bytes), Err(HostRefusal::WrongKey), "other addresses");
        for place in 0..bytes.len() - 34 - 34 {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert!(admit(&receiver, ENDS, &changed).is_err(), "byte {place}");
        }
        let plain = &bytes[..bytes.len() - 68];
        assert_eq!(admit(&receiver, ENDS, plain), Err(HostRefusal::Unsigned));
    }

    #[test]
    fn a_sender_is_used_after_it_has_returned_the_nonce_and_replays_are_refused() {
        let (mut sender, mut receiver) = (host(1, &[7]), host(2, &[7]));
        let first = signed(&mut sender, &[]);
        let checked = check(&mut receiver, at(0), PLACE, true, &first);
        assert_eq!(checked.refusal, Some(HostRefusal::Unproven));
        let nonce = checked.challenge.expect("a challenge");
        assert_eq!(
            check(&mut receiver, at(100), PLACE, true, &first).challenge,
            None,
            "not again within 300 ms"
        );
        let reply = signed(&mut sender, &[(CHALLENGE_REPLY, &nonce)]);
        assert_eq!(check(&mut receiver, at(200), PLACE, false, &reply).refusal, None);
        assert_eq!(check(&mut receiver, at(200), PLACE, false, &reply).refusal, Some(HostRefusal::Replayed));
        let early = check(&mut receiver, at(200), PLACE, true, &first).refusal;
        assert_eq!(early, Some(HostRefusal::Replayed), "from before the proof");
        let [late, next] = [(); 2].map(|()| signed(&mut sender, &[]));
        assert_eq!(check(&mut receiver, at(200), PLACE, false, &next).refusal, None);
        assert_eq!(check(&mut receiver, at(200), PLACE, true, &late).refusal, None, "late, but for all");
        assert_eq!(check(&mut receiver, at(200), PLACE, true, &late).refusal, Some(HostRefusal::Replayed));
        let mut restarted = host(3, &[7]);
        let again = signed(&mut restarted, &[(CHALLENGE_REPLY, &nonce)]);
        let checked = check(&mut receiver, at(400), PLACE, false, &again);
        assert_eq!(checked.refusal, Some(HostRefusal::Unproven), "a nonce is good for one proof");
    }

    #[test]
    fn a_challenge_is_answered_once_in_300_ms_and_only_with_a_short_nonce() {
        let (mut sender, mut receiver) = (host(1, &[7]), host(2, &[7]));
        let request = signed(&mut sender, &[(CHALLENGE_REQUEST, b"nonce")]);
        let mut reply = |ms: u64, packet: &[u8]| check(&mut receiver, at(ms), PLACE, false, packet).reply;
        assert_eq!(reply(0, &request), Some(b"nonce".to_vec()));
        assert_eq!([reply(299, &request), reply(300, &request)], [None, Some(b"nonce".to_vec())]);
        let [long, longest] =
            [193, 192].map(|len| signed(&mut sender, &[(CHALLENGE_REQUEST, &[1; 193][..len])]));
        assert_eq!([reply(1000, &long), reply(1000, &longest)], [None, Some(vec![1; 192])]);
        let mut plain = Vec::new();
        Packet::default().emit(&mut plain);
        Trailer::append(&mut plain, CHALLENGE_REQUEST, b"nonce");
        assert_eq!(reply(2000, &plain), None, "a packet without a counter");
    }

    #[test]
    fn a_nonce_is_valid_for_thirty_seconds() {
        let (mut sender, mut receiver) = (host(1, &[7]), host(2, &[7]));
        let nonce =
            check(&mut receiver, at(0), PLACE, true, &signed(&mut sender, &[])).challenge.expect("one");
        let reply = signed(&mut sender, &[(CHALLENGE_REPLY, &nonce)]);
        assert!(check(&mut receiver, at(30_001), PLACE, false, &reply).refusal.is_some());
    }

    #[test]
    fn a_packet_of_babeld_is_genuine() {
        let from = "fe80::ff:fe00:2".parse().expect("an address");
        let ends = Ends { from, to: GROUP };
        assert_eq!(admit(&host(1, &[0xa5]), ends, &BABELD), Ok(()));
        assert_eq!(admit(&host(1, &[0xa6]), ends, &BABELD), Err(HostRefusal::WrongKey));
        let checked = check(&mut host(1, &[0xa5]), at(0), PLACE, true, &BABELD);
        assert_eq!(checked.refusal, Some(HostRefusal::Unproven), "its counter is found");
    }

    /// Hello of babeld 1.12.1 with the key `a5a5...` of 32 bytes.
    #[rustfmt::skip]
    const BABELD: [u8; 66] = [
        0x2a, 0x02, 0x00, 0x1c, 0x04, 0x0c, 0x00, 0x00, 0xa6, 0x95, 0x00, 0x1e, 0x03, 0x04, 0xe3, 0x5e,
        0xc5, 0xb0, 0x11, 0x0c, 0x00, 0x00, 0x00, 0x04, 0xff, 0x81, 0x52, 0xfd, 0x38, 0xaa, 0x1b, 0x76,
        0x10, 0x20, 0x21, 0x5c, 0x66, 0x72, 0x62, 0xe1, 0x47, 0xe5, 0x52, 0x66, 0x93, 0xa3, 0x15, 0xc2,
        0x5f, 0x64, 0x76, 0xf8, 0x18, 0x4a, 0xda, 0xcb, 0xad, 0x55, 0xb5, 0x11, 0x6a, 0x28, 0x41, 0xdb,
        0x9f, 0x0c,
    ];
}
