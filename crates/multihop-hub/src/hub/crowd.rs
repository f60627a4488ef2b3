//! Fairness among addresses: detects the addresses and prefixes from which most entries of a table come.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, SocketAddr};

/// Number of entries from each address, and from the prefixes around it.
#[derive(Debug, Default)]
pub(super) struct Crowd(BTreeMap<(u8, u128), u32>);

/// Numbers of entries from one /16, one /24 and one address; under IPv6 from one /32, /48 and /64, because a
/// host owns all addresses of a /64. Counts are compared in this order, so that crowded wide prefixes come
/// first.
pub(super) type Counts = [u32; 3];

impl Crowd {
    pub(super) fn add(&mut self, from: SocketAddr) {
        for prefix in prefixes(from) {
            *self.0.entry(prefix).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, from: SocketAddr) {
        for prefix in prefixes(from) {
            if let Some(count) = self.0.get_mut(&prefix) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&prefix);
                }
            }
        }
    }

    pub(super) fn counts(&self, from: SocketAddr) -> Counts {
        prefixes(from).map(|prefix| self.0.get(&prefix).copied().unwrap_or(0))
    }
}

/// The prefixes around an address, widest first, as lengths and bits.
fn prefixes(address: SocketAddr) -> [(u8, u128); 3] {
    let (bits, lengths) = match address.ip().to_canonical() {
        // IPv4 addresses are counted as IPv4-mapped IPv6 addresses.
        IpAddr::V4(ip) => (ip.to_ipv6_mapped().to_bits(), [96 + 16, 96 + 24, 96 + 32]),
        IpAddr::V6(ip) => (ip.to_bits(), [32, 48, 64]),
    };
    lengths.map(|length: u8| (length, bits >> (128 - length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> usize {
        let [one, other] = [one, other].map(|text| prefixes(text.parse().unwrap()));
        one.iter().zip(other).filter(|(one, other)| **one == *other).count()
    }

    #[test]
    fn a_host_with_many_addresses_or_ports_is_one() {
        assert_eq!(same("10.0.0.1:1", "10.0.0.1:2"), 3);
        assert_eq!(same("10.0.0.1:1", "[::ffff:10.0.0.1]:1"), 3);
        assert_eq!(same("[2001:db8::1]:1", "[2001:db8::ffff:ffff:ffff:ffff]:1"), 3);
    }

    #[test]
    fn neighbours_share_the_wider_prefixes() {
        assert_eq!(same("10.0.0.1:1", "10.0.0.2:1"), 2);
        assert_eq!(same("10.0.0.1:1", "10.0.1.1:1"), 1);
        assert_eq!(same("10.0.0.1:1", "10.1.0.1:1"), 0);
        assert_eq!(same("[2001:db8::1]:1", "[2001:db8:0:1::1]:1"), 2);
        assert_eq!(same("[2001:db8::1]:1", "[2001:db8:1::1]:1"), 1);
        assert_eq!(same("[2001:db8::1]:1", "[2001:db9::1]:1"), 0);
    }

    #[test]
    fn counts_follow_what_is_added_and_removed() {
        let [one, two]: [SocketAddr; 2] = ["10.0.0.1:1", "10.0.0.2:1"].map(|text| text.parse().unwrap());
        let mut crowd = Crowd::default();
        crowd.add(one);
        crowd.add(two);
        crowd.add(two);
        assert_eq!((crowd.counts(one), crowd.counts(two)), ([3, 3, 1], [3, 3, 2]));
        (0..2).for_each(|_| crowd.remove(two));
        assert_eq!((crowd.counts(one), crowd.counts(two)), ([1, 1, 1], [1, 1, 0]));
        crowd.remove(one);
        assert!(crowd.0.is_empty());
    }
}
