//! Prefixes of networks, of IPv4 or IPv6.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Family of addresses: IPv4 or IPv6.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Family {
    /// IPv4, with addresses of 32 bits.
    Ipv4,
    /// IPv6, with addresses of 128 bits.
    Ipv6,
}

impl Family {
    /// Family to which an address belongs.
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::Ipv4,
            IpAddr::V6(_) => Self::Ipv6,
        }
    }

    /// Parses an address of this family; the error is a text for the user.
    pub fn address(self, text: &str) -> Result<IpAddr, String> {
        let address = text.parse().ok().filter(|address| Self::of(*address) == self);
        address.ok_or_else(|| format!("allowed: an {self} address"))
    }

    /// Parses a network of this family: `ADDRESS/BITS`, an address, or `default`. The error is a text for the
    /// user.
    pub fn network(self, text: &str) -> Result<Prefix, String> {
        if text == "default" {
            return Ok(self.all());
        }
        let network = text.parse().ok().filter(|network: &Prefix| Self::of(network.address) == self);
        let wrong =
            || format!("allowed: ADDRESS/BITS of {self} whose other bits are zero, an address, or default");
        network.ok_or_else(wrong)
    }

    /// Prefix that contains all addresses of the family.
    pub(crate) const fn all(self) -> Prefix {
        let address = match self {
            Self::Ipv4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Self::Ipv6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Prefix { address, bits: 0 }
    }

    /// Bits of an address.
    const fn bits(self) -> u8 {
        match self {
            Self::Ipv4 => 32,
            Self::Ipv6 => 128,
        }
    }

    /// The address whose bits are the first bits of `bits`, 32 or 128 of them.
    fn with_bits(self, bits: u128) -> IpAddr {
        let all = Ipv6Addr::from_bits(bits);
        let [a, b, c, d, ..] = all.octets();
        match self {
            Self::Ipv4 => Ipv4Addr::new(a, b, c, d).into(),
            Self::Ipv6 => all.into(),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        })
    }
}

/// A network: its address, and the length of its prefix.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// Prefix that contains one address only.
    pub fn host(address: impl Into<IpAddr>) -> Self {
        let address = address.into();
        Self { address, bits: Family::of(address).bits() }
    }

    /// The network of an address and a mask; `None` if the mask has holes or the address is not that of a network.
    pub fn with_mask(address: IpAddr, mask: IpAddr) -> Option<Self> {
        if Family::of(address) != Family::of(mask) {
            return None;
        }
        let bits = u8::try_from(first_bits(mask).leading_ones()).expect("at most 128");
        let network = Self { address, bits };
        (network.mask() == mask && network.is_whole()).then_some(network)
    }

    /// The network of an address with this many bits.
    pub(crate) fn around(address: impl Into<IpAddr>, bits: u8) -> Self {
        let address = address.into();
        let network = first_bits(address) & mask_bits(bits);
        Self { address: Family::of(address).with_bits(network), bits }
    }

    /// Both halves of the prefix; `None` if it has one address.
    pub(crate) fn halves(self) -> Option<[Self; 2]> {
        let (bits, family) = (self.bits + 1, self.family());
        if bits >= family.bits() {
            return None;
        }
        let upper = first_bits(self.address) | 1 << (128 - u32::from(bits));
        Some([Self { bits, ..self }, Self { address: family.with_bits(upper), bits }])
    }

    /// Address of the prefix, and its number of bits.
    pub const fn parts(self) -> (IpAddr, u8) {
        (self.address, self.bits)
    }

    /// Network mask of the prefix.
    pub fn mask(self) -> IpAddr {
        self.family().with_bits(mask_bits(self.bits))
    }

    const fn family(self) -> Family {
        Family::of(self.address)
    }

    /// Whether the bits behind the prefix are zero.
    fn is_whole(self) -> bool {
        first_bits(self.address) & !mask_bits(self.bits) == 0
    }

    /// Whether this prefix contains the network `other`.
    pub fn contains(self, other: Self) -> bool {
        self.family() == other.family()
            && self.bits <= other.bits
            && (first_bits(self.address) ^ first_bits(other.address)) & mask_bits(self.bits) == 0
    }

    /// Whether packets can be routed to the whole network: it is no single-host, link-local, multicast or
    /// reserved network. The network of all addresses is the default route.
    pub fn is_routable(self) -> bool {
        let special = match self.address {
            IpAddr::V4(address) => {
                let [first, second, ..] = address.octets();
                first == 0 || first == 127 || first >= 224 || (first, second) == (169, 254)
            }
            // Loopback, IPv4-mapped addresses and all others that begin with eight zero bits are not routed.
            IpAddr::V6(address) => {
                let [first, ..] = address.octets();
                first == 0 || first == 0xff || is_of_link(self.address)
            }
        };
        self.bits == 0 || !special
    }
}

/// Whether an address is an IPv6 link-local address.
pub(crate) const fn is_of_link(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// The bits of an address, padded with zeros on the right to 128 bits.
fn first_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Mask of 128 bits whose first `ones` bits are set.
fn mask_bits(ones: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(ones)).unwrap_or(0)
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// `ADDRESS/BITS`, or an address.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "allowed: ADDRESS/BITS whose other bits are zero, or an address".to_owned();
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let host = Self::host(address.parse::<IpAddr>().map_err(|_| wrong())?);
        let bits = bits.map_or(Ok(host.bits), str::parse).map_err(|_| wrong())?;
        let network = Self { bits, ..host };
        if bits <= host.bits && network.is_whole() { Ok(network) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn networks_are_read_and_shown() {
        for (family, text, shown) in [
            (Family::Ipv4, "default", "0.0.0.0/0"),
            (Family::Ipv4, "10.1.2.3", "10.1.2.3/32"),
            (Family::Ipv4, "10.0.0.0/8", "10.0.0.0/8"),
            (Family::Ipv4, "10.128.0.0/9", "10.128.0.0/9"),
            (Family::Ipv6, "default", "::/0"),
            (Family::Ipv6, "fd00::1", "fd00::1/128"),
            (Family::Ipv6, "fd00:8000::/17", "fd00:8000::/17"),
        ] {
            let network = family.network(text).unwrap();
            assert_eq!((network.to_string().as_str(), network.family()), (shown, family));
            assert_eq!(Prefix::with_mask(network.address, network.mask()), Some(network));
        }
        for text in ["", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::/0", "fd00::/129"] {
            assert!(Family::Ipv4.network(text).is_err(), "{text}");
        }
        for text in ["10.0.0.0/8", "fd00::/129", "fd00::1/64", "fe80::1%eth0", "/"] {
            assert!(Family::Ipv6.network(text).is_err(), "{text}");
        }
        let network: [IpAddr; 2] = [[10, 0, 0, 0].into(), "fd00::".parse().unwrap()];
        let holes: [IpAddr; 2] = [[255, 0, 255, 0].into(), "ffff:0:ffff::".parse().unwrap()];
        for (network, mask) in [(0, 0), (1, 1), (0, 1), (1, 0)].map(|(a, b)| (network[a], holes[b])) {
            assert_eq!(Prefix::with_mask(network, mask), None);
        }
        assert_eq!(Family::Ipv6.address("10.0.0.1"), Err("allowed: an IPv6 address".to_owned()));
    }

    #[test]
    fn a_network_contains_what_has_its_prefix() {
        let all = Family::Ipv4.all();
        assert!(all.contains(prefix("10.0.0.0/8")));
        assert!(prefix("10.0.0.0/8").contains(prefix("10.255.0.1")));
        assert!(!prefix("10.0.0.0/8").contains(prefix("11.0.0.1")));
        assert!(!prefix("10.0.0.0/8").contains(all));
        assert!(prefix("10.0.0.1").contains(prefix("10.0.0.1")));
        assert!(prefix("fd00::/8").contains(prefix("fd12::/64")));
        assert!(!prefix("fd00::/64").contains(prefix("fd00:0:0:1::1")));
        assert!(!all.contains(prefix("fd00::1")));
    }

    #[test]
    fn halves_cover_a_network() {
        let halves = |network: Prefix| network.halves().map(|halves| halves.map(|half| half.to_string()));
        assert_eq!(halves(prefix("10.0.1.0/24")), Some(["10.0.1.0/25".into(), "10.0.1.128/25".into()]));
        assert_eq!(halves(Family::Ipv4.all()), Some(["0.0.0.0/1".into(), "128.0.0.0/1".into()]));
        assert_eq!(halves(prefix("10.0.1.4/30")), Some(["10.0.1.4/31".into(), "10.0.1.6/31".into()]));
        assert_eq!((halves(prefix("10.0.1.4/31")), halves(prefix("10.0.1.4"))), (None, None));
        assert_eq!(Prefix::around([10, 0, 1, 77], 24), prefix("10.0.1.0/24"));
    }

    #[test]
    fn addresses_that_nobody_can_have_are_not_routable() {
        for text in ["127.0.0.1", "127.0.0.0/8", "224.0.0.5", "255.255.255.255", "0.0.0.1", "169.254.1.1"] {
            assert!(!prefix(text).is_routable(), "{text}");
        }
        for text in ["::1", "::", "::ffff:10.0.0.1", "fe80::1", "ff02::6d", "ff00::/8"] {
            assert!(!prefix(text).is_routable(), "{text}");
        }
        for text in ["10.0.0.1", "192.168.0.0/16", "fd00::1", "2001:db8::/32"] {
            assert!(prefix(text).is_routable(), "{text}");
        }
        assert!(Family::Ipv4.all().is_routable() && Family::Ipv6.all().is_routable());
    }
}
