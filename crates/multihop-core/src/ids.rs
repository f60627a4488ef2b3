use core::fmt;
use core::net::Ipv4Addr;

/// A node: its index in the scenario's list, from 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId(pub u32);

/// A flow: its index in the scenario's list, from 0.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FlowId(pub u32);

impl NodeId {
    /// As an index into a table of nodes.
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
            Some(n) if n < 0x00ff_fffe => Some(Self(n)),
            _ => None,
        }
    }

    /// The node's MAC address: locally administered, 02:00 followed by the number.
    pub const fn mac(self) -> [u8; 6] {
        let n = self.0.to_be_bytes();
        [2, 0, n[0], n[1], n[2], n[3]]
    }

    /// 10.0.0.0/8.
    const NETWORK: u32 = 0x0a00_0000;
}

impl FlowId {
    /// As an index into a table of flows.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
    fn addresses_count_up_and_map_back_to_nodes() {
        assert_eq!(NodeId(0).addr(), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(NodeId(255).addr(), Ipv4Addr::new(10, 0, 1, 0));
        for n in [0, 1, 9_999, 0x00ff_fffd] {
            assert_eq!(NodeId::from_addr(NodeId(n).addr()), Some(NodeId(n)));
        }
        for outside in [[10, 0, 0, 0], [10, 255, 255, 255], [11, 0, 0, 1], [0, 0, 0, 0]] {
            assert_eq!(NodeId::from_addr(outside.into()), None);
        }
    }
}
