//! What a driver on real interfaces needs, where kernels forward packets by themselves.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::aodv::Sequence;

use super::Agent;

impl Agent {
    /// Lets numbers begin where a clock says that goes on between two starts, so that other nodes do not take the
    /// messages of a restarted node for old ones. RFC 3561 §6.13 has it wait instead.
    #[must_use]
    pub fn on_host(mut self, seconds: u64) -> Self {
        let number = seconds.wrapping_mul(NUMBERS_PER_SECOND) & u64::from(u32::MAX);
        self.last_request = u32::try_from(number).expect("32 bits");
        self.sequence = Sequence(self.last_request);
        self
    }

    /// Further addresses of this node, those of its other interfaces: it answers requests for them.
    pub fn set_aliases(&mut self, aliases: Vec<Ipv4Addr>) {
        self.aliases = aliases;
    }

    /// The driver has transmitted a packet along a route by itself; `source` is `None` if it is this node's.
    pub fn on_use(&mut self, now: Instant, source: Option<Ipv4Addr>, destination: Ipv4Addr) {
        if let Some(next_hop) = self.next_hop(destination) {
            self.refresh(now, source, destination, next_hop);
        }
    }

    /// The driver knows that a neighbour does not answer any more.
    pub fn on_neighbour_lost(&mut self, now: Instant, neighbour: Ipv4Addr) {
        if self.neighbours.knows(neighbour) || self.table.uses(neighbour) {
            self.break_link(now, neighbour);
        }
    }

    /// How many destinations it remembers.
    pub fn destinations(&self) -> usize {
        self.table.len()
    }

    /// Forgets destinations of which only the number was left, and all that it has reported.
    ///
    /// RFC 3561 forgets the numbers, too; see deviation aodv-1 for what that can cost.
    pub fn forget(&mut self) {
        self.table.forget();
        self.peers = super::Peers::default();
    }

    /// Whether an address is one of this node's.
    pub(super) fn has(&self, address: Ipv4Addr) -> bool {
        address == self.address || self.aliases.contains(&address)
    }
}

/// More than a node uses in the long run; the range of 2^31 then lasts for four years.
const NUMBERS_PER_SECOND: u64 = 16;
