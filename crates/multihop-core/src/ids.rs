use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// A node: its index in the scenario's list, from 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId(pub u32);

/// A flow: its index in the scenario's list, from 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FlowId(pub u32);

/// A network interface of a node, numbered from 0.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Interface(pub u8);

impl Interface {
    /// Number of the interface as an index into a table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeId {
    /// All nodes: the broadcast address of packets and frames.
    pub const BROADCAST: Self = Self(u32::MAX);

    /// Number of the node as an index into a table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The node's IPv4 address: 10.0.0.1 for node 0, counting up.
    pub const fn addr(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(Self::NETWORK + 1 + self.0)
    }

    /// The node with address `addr`, if it is in the simulated network.
    pub const fn from_addr(addr: Ipv4Addr) -> Option<Self> {
        match addr.to_bits().checked_sub(Self::NETWORK + 1) {
            Some(n) if n < Self::MAX_NODES => Some(Self(n)),
            _ => None,
        }
    }

    /// The node's IPv6 address: fd00::1 for node 0, counting up.
    pub const fn addr6(self) -> Ipv6Addr {
        Ipv6Addr::from_bits(Self::NETWORK6 + 1 + self.0 as u128)
    }

    /// The node's IPv6 address on its links: fe80::1 for node 0, counting up.
    pub const fn link_local(self) -> Ipv6Addr {
        Ipv6Addr::from_bits(Self::LINK_LOCAL + 1 + self.0 as u128)
    }

    /// The node with the IPv6 address `addr`, in the network or on its links.
    pub fn from_addr6(addr: Ipv6Addr) -> Option<Self> {
        let bits = addr.to_bits();
        [Self::NETWORK6, Self::LINK_LOCAL].into_iter().find_map(|network| {
            let n = u32::try_from(bits.checked_sub(network + 1)?).ok()?;
            (n < Self::MAX_NODES).then_some(Self(n))
        })
    }

    /// The node's MAC address: locally administered, 02:00 followed by the number.
    pub const fn mac(self) -> [u8; 6] {
        let n = self.0.to_be_bytes();
        [2, 0, n[0], n[1], n[2], n[3]]
    }

    /// The node with this MAC address.
    pub const fn from_mac(mac: [u8; 6]) -> Option<Self> {
        let [2, 0, a, b, c, d] = mac else { return None };
        let n = u32::from_be_bytes([a, b, c, d]);
        if n < Self::MAX_NODES { Some(Self(n)) } else { None }
    }

    /// Network 10.0.0.0/8, in which node `n` has the IPv4 address with host part `n + 1`.
    const NETWORK: u32 = 0x0a00_0000;
    /// Prefix fd00::/64 of the nodes' unique local IPv6 addresses.
    const NETWORK6: u128 = 0xfd00 << 112;
    /// Prefix fe80::/64 of the nodes' link-local IPv6 addresses.
    const LINK_LOCAL: u128 = 0xfe80 << 112;
    /// Number of nodes that can have an address: the host parts of 10.0.0.0/8 without the first and the last.
    const MAX_NODES: u32 = 0x00ff_fffe;
}

impl FlowId {
    /// Number of the flow as an index into a table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number, or `all` for the broadcast address ([`NodeId::BROADCAST`]).
impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::BROADCAST { f.pad("all") } else { self.0.fmt(f) }
    }
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_broadcast_address_is_no_number() {
        assert_eq!(format!("{} {}", NodeId(7), NodeId::BROADCAST), "7 all");
    }

    #[test]
    fn addresses_count_up_and_map_back_to_nodes() {
        assert_eq!(NodeId(0).addr(), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(NodeId(255).addr(), Ipv4Addr::new(10, 0, 1, 0));
        for n in [0, 1, 9_999, 0x00ff_fffd] {
            let node = NodeId(n);
            assert_eq!(NodeId::from_addr(node.addr()), Some(node));
            assert_eq!(NodeId::from_addr6(node.addr6()), Some(node));
            assert_eq!(NodeId::from_addr6(node.link_local()), Some(node));
            assert_eq!(NodeId::from_mac(node.mac()), Some(node));
        }
        assert_eq!(NodeId(9).addr6().to_string(), "fd00::a");
        assert_eq!(NodeId(0).link_local().to_string(), "fe80::1");
        for outside in [[10, 0, 0, 0], [10, 255, 255, 255], [11, 0, 0, 1], [0, 0, 0, 0]] {
            assert_eq!(NodeId::from_addr(outside.into()), None);
        }
        for outside in ["fd00::", "fd00::ff:ffff", "fd00::1:0:0:1", "fe80::", "2001:db8::1", "::"] {
            assert_eq!(NodeId::from_addr6(outside.parse().unwrap()), None, "{outside}");
        }
        for outside in [[0xff; 6], [2, 0, 0, 0xff, 0xff, 0xfe], [2, 1, 0, 0, 0, 0]] {
            assert_eq!(NodeId::from_mac(outside), None, "{outside:?}");
        }
    }
}
