//! Addresses and prefixes of both families, with their encodings (RFC 8966, section 4.1.4).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_wire::ParseError;
use multihop_wire::reader::Reader;

/// Addresses that agree in their first bits.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// The prefix of a single address.
    pub fn host(address: impl Into<IpAddr>) -> Self {
        let address = address.into();
        Self { address, len: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// The prefix of the addresses whose first `len` bits equal those of `address`; `None` if an address has
    /// fewer bits.
    pub fn new(address: impl Into<IpAddr>, len: u8) -> Option<Self> {
        let address = match address.into() {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32_u32.checked_sub(len.into())?).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128_u32.checked_sub(len.into())?).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        };
        Some(Self { address, len })
    }

    /// First address of the prefix, and its length in bits.
    pub const fn parts(&self) -> (IpAddr, u8) {
        (self.address, self.len)
    }

    /// The address of a single IPv4 host; `None` for other prefixes.
    pub const fn as_host(&self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(address) if self.len == 32 => Some(address),
            _ => None,
        }
    }

    /// Whether this prefix contains the prefix `other`.
    pub fn contains(&self, other: Self) -> bool {
        self.len <= other.len && Self::new(other.address, self.len) == Some(*self)
    }

    /// Whether packets can be routed to the whole prefix: it is no single-host, link-local, multicast or
    /// reserved prefix (RFC 8966, section 3.5.3). The prefix of all addresses is the default route.
    pub fn is_routable(&self) -> bool {
        let special = match self.address {
            IpAddr::V4(address) => {
                let [first, ..] = address.octets();
                first == 0 || first == 127 || first >= 224 || address.is_link_local()
            }
            IpAddr::V6(address) => {
                let [first, ..] = address.octets();
                first == 0 || first == 0xff || address.is_unicast_link_local()
            }
        };
        self.len == 0 || !special
    }

    /// Whether the prefix belongs to IPv6.
    pub const fn is_ipv6(&self) -> bool {
        self.address.is_ipv6()
    }

    pub(super) const fn encoding(&self) -> u8 {
        if self.is_ipv6() { IPV6 } else { IPV4 }
    }

    /// Number of bytes that contain the bits of the prefix.
    pub(super) fn byte_len(&self) -> usize {
        self.len.div_ceil(8).into()
    }

    /// Appends the bytes that contain the bits of the prefix, without the first `omitted` ones.
    pub(super) fn emit_from(&self, omitted: usize, out: &mut Vec<u8>) {
        match self.address {
            IpAddr::V4(address) => out.extend(&address.octets()[omitted..self.byte_len()]),
            IpAddr::V6(address) => out.extend(&address.octets()[omitted..self.byte_len()]),
        }
    }

    /// Number of first bytes that this prefix shares with an earlier IPv6 address.
    pub(super) fn shared_with(&self, earlier: Ipv6Addr) -> usize {
        let IpAddr::V6(address) = self.address else { return 0 };
        let (mine, other) = (address.octets(), earlier.octets());
        mine.iter().zip(other).take(self.byte_len()).take_while(|(a, b)| **a == *b).count()
    }

    /// Text for display: an address, or `ADDRESS/BITS`.
    pub(super) fn text(&self) -> String {
        if *self == Self::host(self.address) {
            self.address.to_string()
        } else {
            format!("{}/{}", self.address, self.len)
        }
    }
}

/// Parses a prefix of `len` bits; `None` if it is too long or its encoding is neither IPv4 nor IPv6.
pub(super) fn prefix(r: &mut Reader<'_>, encoding: u8, len: u8) -> Result<Option<Prefix>, ParseError> {
    let bytes = usize::from(len.div_ceil(8));
    let mut octets = [0; 16];
    match encoding {
        IPV4 if len <= 32 => {
            octets[..bytes].copy_from_slice(r.take(bytes)?);
            let [a, b, c, d, ..] = octets;
            Ok(Prefix::new(Ipv4Addr::new(a, b, c, d), len))
        }
        IPV6 if len <= 128 => {
            octets[..bytes].copy_from_slice(r.take(bytes)?);
            Ok(Prefix::new(Ipv6Addr::from(octets), len))
        }
        _ => Ok(None),
    }
}

/// Parses a whole address; `None` for encodings without one.
pub(super) fn address(r: &mut Reader<'_>, encoding: u8) -> Result<Option<IpAddr>, ParseError> {
    Ok(match encoding {
        IPV4 => Some(r.address()?.into()),
        IPV6 => Some(Ipv6Addr::from(r.array::<16>()?).into()),
        LINK_LOCAL => {
            let mut octets = [0; 16];
            octets[..8].copy_from_slice(&LINK_PREFIX);
            octets[8..].copy_from_slice(r.take(8)?);
            Some(Ipv6Addr::from(octets).into())
        }
        _ => None,
    })
}

/// Encoding number of an address; the encoding of link-local addresses omits their common prefix.
pub(super) fn encoding(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(address) if is_short(address) => LINK_LOCAL,
        IpAddr::V6(_) => IPV6,
    }
}

fn is_short(address: Ipv6Addr) -> bool {
    address.octets().starts_with(&LINK_PREFIX)
}

/// Number of bytes of a whole address in its encoding.
pub(super) fn address_len(address: IpAddr) -> u8 {
    match encoding(address) {
        IPV4 => 4,
        LINK_LOCAL => 8,
        _ => 16,
    }
}

/// Appends a whole address in its encoding.
pub(super) fn emit_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => out.extend(address.octets()),
        IpAddr::V6(v6) if is_short(v6) => out.extend(&v6.octets()[8..]),
        IpAddr::V6(address) => out.extend(address.octets()),
    }
}

/// Encoding number that stands for all addresses.
pub(super) const WILDCARD: u8 = 0;
pub(super) const IPV4: u8 = 1;
pub(super) const IPV6: u8 = 2;
pub(super) const LINK_LOCAL: u8 = 3;
/// First eight bytes of link-local addresses that are sent in the short encoding.
pub(super) const LINK_PREFIX: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];
