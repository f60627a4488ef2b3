//! Interface to real hosts, whose kernels forward packets without the agent.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::aodv::{Message, Sequence};

use super::Agent;
use super::table::Table;

impl Agent {
    /// Starts sequence numbers at `seconds` of a clock that continues across restarts, so that other nodes do
    /// not mistake messages of a restarted node for old ones. RFC 3561 §6.13 makes a restarted node wait
    /// instead.
    #[must_use]
    pub fn on_host(mut self, seconds: u64) -> Self {
        let number = seconds.wrapping_mul(NUMBERS_PER_SECOND) & u64::from(u32::MAX);
        self.last_request = u32::try_from(number).expect("32 bits");
        self.sequence = Sequence(self.last_request);
        self
    }

    /// Sets the addresses of this node's other interfaces, for which the agent answers requests, too.
    pub fn set_aliases(&mut self, aliases: Vec<Ipv4Addr>) {
        self.aliases = aliases;
    }

    /// Extends the lifetime of a route along which the driver has transmitted a packet itself. `source` is
    /// `None` if this node originated the packet.
    pub fn on_use(&mut self, now: Instant, source: Option<Ipv4Addr>, destination: Ipv4Addr) {
        if let Some(next_hop) = self.next_hop(destination) {
            self.refresh(now, source, destination, next_hop);
        }
    }

    /// Ends the routes through a neighbour that no longer answers.
    pub fn on_neighbour_lost(&mut self, now: Instant, neighbour: Ipv4Addr) {
        if self.neighbours.knows(neighbour) || self.table.uses(neighbour) {
            self.break_link(now, neighbour);
        }
    }

    /// Processes a message that arrived before now, for example because the host was busy. Does nothing if
    /// the table has no room for the destinations in the message.
    pub fn receive_late(
        &mut self,
        now: Instant,
        arrived: Instant,
        from: Ipv4Addr,
        ttl: u8,
        message: &Message,
    ) {
        if self.has_room(from, message) {
            self.hear(now, arrived.min(now), from, ttl, message);
        }
    }

    /// Time after the arrival of a message during which processing it is still useful.
    pub fn validity(&self, message: &Message) -> Duration {
        match message {
            Message::Request(_) => self.config.reverse_route_life,
            Message::Reply(reply) if reply.originator == reply.destination => self.config.neighbour_life,
            Message::Reply(reply) => Duration::from_millis(reply.lifetime_ms.into()),
            Message::Error(_) | Message::ReplyAck => self.config.active_route_timeout,
        }
    }

    /// Number of destinations that the agent remembers.
    pub fn destinations(&self) -> usize {
        self.table.len()
    }

    /// Whether the table has room for the destinations that a message from a neighbour names. One neighbour may be
    /// the next hop of at most half of all entries; known destinations always have room.
    fn has_room(&mut self, from: Ipv4Addr, message: &Message) -> bool {
        let named = match message {
            Message::Request(request) => request.originator,
            Message::Reply(reply) => reply.destination,
            Message::Error(_) | Message::ReplyAck => from,
        };
        let is_new = |of: Ipv4Addr| usize::from(self.table.get(of).is_none());
        let new = is_new(from) + if named == from { 0 } else { is_new(named) };
        if new == 0 || self.table.len() + new <= MAX_DESTINATIONS / 2 {
            return true;
        }
        let has_room = |table: &Table| {
            table.len() + new <= MAX_DESTINATIONS && table.over(from) + new <= MAX_DESTINATIONS / 2
        };
        if !has_room(&self.table) {
            self.forget();
        }
        has_room(&self.table)
    }

    /// Deletes entries that contain only a sequence number, and the state of notices to this host's
    /// connections.
    ///
    /// RFC 3561 deletes sequence numbers, too; deviation aodv-1 describes the risk of loops.
    fn forget(&mut self) {
        self.table.forget();
        self.peers = super::Peers::default();
    }

    /// Whether an address is one of this node's.
    pub(super) fn has(&self, address: Ipv4Addr) -> bool {
        address == self.address || self.aliases.contains(&address)
    }
}

/// Largest number of destinations that a host remembers.
const MAX_DESTINATIONS: usize = 8_192;
/// Largest number of sequence numbers per second over long periods: the range of 2^31 then lasts for four
/// years.
const NUMBERS_PER_SECOND: u64 = 16;
