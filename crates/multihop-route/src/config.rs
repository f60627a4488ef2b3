//! What a daemon is told.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use multihop_core::Duration;
use multihop_routing::{aodv, olsr};

use crate::router::Key;

/// The configuration of a daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Names of the interfaces over which it talks to neighbours. One that does not exist yet is waited for.
    pub interfaces: Vec<String>,
    /// The protocol, by the name that scenarios have for it.
    pub protocol: &'static str,
    /// Its parameters.
    pub routing: Routing,
    /// Under AODV, the networks whose hosts are searched for when a packet needs a route; `None`: those of the
    /// interfaces, and all others for which this host has no default route.
    pub on_demand: Option<Vec<Prefix>>,
    /// Networks behind this host, which it announces to others.
    pub announce: Vec<Prefix>,
    /// Signs packets; packets without its signature are not used.
    pub key: Option<Key>,
    /// The only neighbours to which it listens, by the address of their interface; empty: all.
    pub neighbors: Vec<Ipv4Addr>,
    /// Routes lead only to destinations in one of these networks; empty: anywhere.
    pub within: Vec<Prefix>,
    /// The routing table for its routes.
    pub table: u32,
    /// Of several routes to the same network the kernel uses the one with the smallest number.
    pub priority: u32,
    /// Whether this host forwards packets of others.
    pub forward: bool,
    /// The user as whom it goes on after its start.
    pub user: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            protocol: "olsr",
            routing: Routing::Olsr(olsr::Config::rfc()),
            on_demand: None,
            announce: Vec::new(),
            key: None,
            neighbors: Vec::new(),
            within: Vec::new(),
            table: 254,
            priority: 698,
            forward: true,
            user: None,
        }
    }
}

/// The parameters of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// Of OLSR, and of routes of least delay.
    Olsr(olsr::Config),
    /// Of AODV.
    Aodv(aodv::Config),
}

impl Routing {
    /// The UDP port of the protocol.
    pub const fn port(&self) -> u16 {
        match self {
            Self::Olsr(_) => multihop_wire::olsr::PORT,
            Self::Aodv(_) => multihop_wire::aodv::PORT,
        }
    }

    /// Whether messages wait behind data: HELLOs that measure the delay of queues do.
    pub(crate) fn messages_wait(&self) -> bool {
        matches!(self, Self::Olsr(config) if config.metric.is_some_and(|metric| metric.hellos_wait))
    }

    /// How long routes are kept when the agent begins anew.
    pub(crate) const fn hold(&self) -> Duration {
        match self {
            Self::Olsr(config) => config.topology_hold,
            Self::Aodv(config) => config.active_route_timeout,
        }
    }

    pub(crate) const fn is_on_demand(&self) -> bool {
        matches!(self, Self::Aodv(_))
    }
}

/// A network: its address, and the length of its prefix.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Prefix {
    address: Ipv4Addr,
    bits: u8,
}

impl Prefix {
    /// All addresses.
    pub(crate) const ALL: Self = Self { address: Ipv4Addr::UNSPECIFIED, bits: 0 };

    /// One address.
    pub const fn host(address: Ipv4Addr) -> Self {
        Self { address, bits: 32 }
    }

    /// The network of an address and a mask; `None` if the mask has holes or the address is not that of a network.
    pub fn with_mask(address: Ipv4Addr, mask: Ipv4Addr) -> Option<Self> {
        let mask = mask.to_bits();
        let bits = u8::try_from(mask.leading_ones()).expect("at most 32");
        let whole = mask.checked_shl(bits.into()).unwrap_or(0) == 0 && address.to_bits() & !mask == 0;
        whole.then_some(Self { address, bits })
    }

    /// The network of an address with this many bits.
    pub(crate) fn around(address: Ipv4Addr, bits: u8) -> Self {
        let whole = Self { address, bits };
        Self { address: address & whole.mask(), bits }
    }

    /// Its two halves; `None` if each of its addresses stands for itself.
    pub(crate) fn halves(self) -> Option<[Self; 2]> {
        let bits = self.bits + 1;
        let size = 32_u32.checked_sub(bits.into()).filter(|size| *size > 0)?;
        let address = Ipv4Addr::from_bits(self.address.to_bits() | 1 << size);
        Some([Self { bits, ..self }, Self { address, bits }])
    }

    /// Its address, and the bits of its prefix.
    pub const fn parts(self) -> (Ipv4Addr, u8) {
        (self.address, self.bits)
    }

    /// Its mask.
    pub fn mask(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0))
    }

    /// Whether another network is in this one.
    pub fn contains(self, other: Self) -> bool {
        self.bits <= other.bits
            && (self.address.to_bits() ^ other.address.to_bits()) & self.mask().to_bits() == 0
    }

    /// Whether packets can be routed to all of it: it is not for one host or link, for groups, or reserved. The network
    /// of all addresses is the default route.
    pub fn is_routable(self) -> bool {
        let [first, second, ..] = self.address.octets();
        let special = first == 0 || first == 127 || first >= 224 || (first, second) == (169, 254);
        self.bits == 0 || !special
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// `ADDRESS/BITS`, an address, or `default`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "allowed: ADDRESS/BITS whose other bits are zero, an address, or default".to_owned();
        if text == "default" {
            return Ok(Self::ALL);
        }
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        let (address, bits) = (address.parse().map_err(|_| wrong())?, bits.parse().map_err(|_| wrong())?);
        if bits > 32 {
            return Err(wrong());
        }
        Self::with_mask(address, Self { address, bits }.mask()).ok_or_else(wrong)
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
        for (text, shown) in [
            ("default", "0.0.0.0/0"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.128.0.0/9", "10.128.0.0/9"),
        ] {
            assert_eq!(prefix(text).to_string(), shown);
            assert_eq!(Prefix::with_mask(prefix(text).address, prefix(text).mask()), Some(prefix(text)));
        }
        for text in ["", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::/0"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
        let holes = Ipv4Addr::new(255, 0, 255, 0);
        assert_eq!(Prefix::with_mask(Ipv4Addr::new(10, 0, 0, 0), holes), None);
    }

    #[test]
    fn a_network_contains_what_has_its_prefix() {
        assert!(prefix("default").contains(prefix("10.0.0.0/8")));
        assert!(prefix("10.0.0.0/8").contains(prefix("10.255.0.1")));
        assert!(!prefix("10.0.0.0/8").contains(prefix("11.0.0.1")));
        assert!(!prefix("10.0.0.0/8").contains(prefix("default")));
        assert!(prefix("10.0.0.1").contains(prefix("10.0.0.1")));
    }

    #[test]
    fn halves_cover_a_network() {
        let halves = |text: &str| prefix(text).halves().map(|halves| halves.map(|half| half.to_string()));
        assert_eq!(halves("10.0.1.0/24"), Some(["10.0.1.0/25".into(), "10.0.1.128/25".into()]));
        assert_eq!(halves("default"), Some(["0.0.0.0/1".into(), "128.0.0.0/1".into()]));
        assert_eq!(halves("10.0.1.4/30"), Some(["10.0.1.4/31".into(), "10.0.1.6/31".into()]));
        assert_eq!((halves("10.0.1.4/31"), halves("10.0.1.4")), (None, None));
        assert_eq!(Prefix::around(Ipv4Addr::new(10, 0, 1, 77), 24), prefix("10.0.1.0/24"));
    }

    #[test]
    fn addresses_that_nobody_can_have_are_not_routable() {
        for text in ["127.0.0.1", "127.0.0.0/8", "224.0.0.5", "255.255.255.255", "0.0.0.1", "169.254.1.1"] {
            assert!(!prefix(text).is_routable(), "{text}");
        }
        for text in ["default", "10.0.0.1", "192.168.0.0/16"] {
            assert!(prefix(text).is_routable(), "{text}");
        }
    }
}
