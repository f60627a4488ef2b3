//! The interface association set (RFC 3626 §4.1 and §5): interfaces, and the nodes to which they belong.

use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::Mid;

use crate::link_state::table::Table;

/// Main addresses by interface address.
pub(super) type Interfaces = Table<Ipv4Addr, Ipv4Addr>;

impl Interfaces {
    /// Processes a MID message; returns whether anything has changed.
    pub(super) fn learn(&mut self, originator: Ipv4Addr, mid: &Mid, until: Instant) -> bool {
        let mut changed = false;
        for &interface in &mid.interfaces {
            changed |= self.main(interface) != originator;
            self.put(interface, originator, until);
        }
        changed
    }

    /// The main address of the node with this interface (RFC 3626 §5.5).
    pub(super) fn main(&self, interface: Ipv4Addr) -> Ipv4Addr {
        self.get(interface).copied().unwrap_or(interface)
    }
}
