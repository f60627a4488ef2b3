//! Authentication of packets on real hosts: keys, the packet counter of this host, and the counters of neighbours.
//!
//! Babel (RFC 8967) and OLSRv2 (RFC 7182) place tags, counters and nonces in different fields of their packets; their modules `mac`
//! read and write these fields.

use alloc::vec::Vec;
use core::fmt;

use hmac::{Hmac, Mac};
use multihop_core::Rng;
use multihop_routing::host::HostRefusal;
use sha2::Sha256;

use crate::replay::Counters;

/// Keys of this host, its packet counter, and the counters of neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Authentication {
    pub(crate) keys: Keys,
    pub(crate) counters: Counters,
}

/// Keys of a host. Debug output has their number only.
#[derive(Clone)]
pub(crate) struct Keys(Vec<[u8; 32]>);

impl Authentication {
    /// Creates the authentication with these keys, each of which signs all packets; `None` without keys.
    pub(crate) fn new(keys: Vec<[u8; 32]>, rng: Rng) -> Option<Self> {
        (!keys.is_empty()).then(|| Self { keys: Keys(keys), counters: Counters::new(rng) })
    }
}

impl Keys {
    /// The tags of a packet, one by each key. `mac` begins a MAC with a key and adds the signed bytes.
    pub(crate) fn tags(&self, mac: impl Fn(&[u8; 32]) -> Hmac<Sha256>) -> impl Iterator<Item = [u8; 32]> {
        self.0.iter().map(move |key| mac(key).finalize().into_bytes().into())
    }

    /// Checks that one of the first [`MAX_TAGS`] tags of a packet was made with one of the keys. The check is cheap for any
    /// number of tags.
    pub(crate) fn admit<'a>(
        &self,
        tags: impl Iterator<Item = &'a [u8]>,
        mac: impl Fn(&[u8; 32]) -> Hmac<Sha256>,
    ) -> Result<(), HostRefusal> {
        let mut tags = tags.take(MAX_TAGS).peekable();
        if tags.peek().is_none() {
            return Err(HostRefusal::Unsigned);
        }
        let is_valid = |tag: &[u8]| self.0.iter().any(|key| mac(key).verify_slice(tag).is_ok());
        if tags.any(is_valid) { Ok(()) } else { Err(HostRefusal::WrongKey) }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

/// Largest number of tags that are checked per packet.
const MAX_TAGS: usize = 4;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The authentication of a host with these keys, each of which repeats a byte.
    pub(crate) fn host(seed: u64, keys: &[u8]) -> Authentication {
        let keys = keys.iter().map(|key| [*key; 32]).collect();
        Authentication::new(keys, Rng::stream(seed, "mac", 0)).expect("there are keys")
    }

    #[test]
    fn only_the_first_four_tags_of_a_packet_are_checked() {
        let mac = |key: &[u8; 32]| Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
        let keys = host(1, &[7]).keys;
        let genuine = keys.tags(mac).next().expect("a tag");
        let admit = |false_tags| {
            let tags = core::iter::repeat_n(&[0; 32][..], false_tags).chain([&genuine[..]]);
            keys.admit(tags, mac)
        };
        assert_eq!([admit(3), admit(4)], [Ok(()), Err(HostRefusal::WrongKey)]);
        assert_eq!(keys.admit(core::iter::empty(), mac), Err(HostRefusal::Unsigned));
    }
}
