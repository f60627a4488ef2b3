//! Outputs of a routing agent: packets to forward or drop, messages, and notices about routes to this host's peers.

use alloc::collections::VecDeque;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Instant, Interface, Notice};

use crate::agent::{Output, Routable, RouteChanges};
use crate::message::Message;
use crate::usage::{Turn, Usage};
use crate::watch::{Reach, Watch};

/// Outputs of a routing agent that wait for its driver, with counts of route changes and notices about routes.
#[derive(Clone, Debug, Default)]
pub struct Forwarder {
    usage: Usage,
    changes: RouteChanges,
    watch: Watch,
    outputs: VecDeque<Output>,
}

impl Forwarder {
    /// Forwards a packet to a neighbour. A next hop that differs from that of the previous packet to the
    /// destination counts as a change.
    pub fn forward(&mut self, now: Instant, packet: &Routable, next_hop: Ipv4Addr) {
        self.count(now, packet.destination, next_hop);
        self.forward_uncounted(packet, next_hop);
    }

    /// Counts a packet to a destination over a next hop, which the driver forwards by itself.
    pub fn count(&mut self, now: Instant, destination: Ipv4Addr, next_hop: Ipv4Addr) {
        let turn = self.usage.note(now, destination, next_hop);
        self.changes.changes += u64::from(turn != Turn::Same);
        self.changes.oscillations += u64::from(turn == Turn::Back);
    }

    /// Forwards a packet to a neighbour, for agents that do not count route changes.
    pub fn forward_uncounted(&mut self, packet: &Routable, next_hop: Ipv4Addr) {
        self.outputs.push_back(Output::Forward { ticket: packet.ticket, next_hop, route: None });
    }

    /// Drops a packet; with `tell_source` its source receives an ICMP error.
    pub fn drop(&mut self, packet: &Routable, reason: DropReason, tell_source: bool) {
        self.outputs.push_back(Output::Drop { ticket: packet.ticket, reason, tell_source });
    }

    /// Sends a message over one link: to a neighbour, or to all neighbours of an interface or of all interfaces.
    pub fn send(&mut self, to: Option<Ipv4Addr>, interface: Option<Interface>, message: Message) {
        self.outputs.push_back(Output::Message { to, interface, ttl: 1, message });
    }

    /// Adds an output of any kind.
    pub fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// Reports events of a route to this host's connections with the peer at its end.
    pub fn notify(&mut self, peer: Ipv4Addr, notices: impl IntoIterator<Item = Notice>) {
        self.outputs.extend(notices.into_iter().map(|notice| Output::Notice { peer, notice }));
    }

    /// Watches the route to a destination from now on if this host originated the packet. The first packet reports the route.
    pub fn watch(&mut self, now: Instant, packet: &Routable, reach: Reach) {
        if packet.previous_hop.is_none() {
            self.watch_peer(now, packet.destination, reach);
        }
    }

    /// Watches the route to a peer of this host from now on, and reports it the first time.
    pub fn watch_peer(&mut self, now: Instant, peer: Ipv4Addr, reach: Reach) {
        let notice = self.watch.uses(now, peer, reach);
        self.notify(peer, notice);
    }

    /// Whether this host has peers whose routes are watched.
    pub fn is_watching(&self) -> bool {
        !self.watch.is_empty()
    }

    /// Compares the routes to peers with those at the last call, and reports changes to this host's
    /// connections.
    pub fn compare(&mut self, now: Instant, reach: impl Fn(Ipv4Addr) -> Reach) {
        let Self { watch, outputs, .. } = self;
        watch.compare(now, reach, |peer, notice| outputs.push_back(Output::Notice { peer, notice }));
    }

    /// Counts of route changes so far.
    pub const fn changes(&self) -> RouteChanges {
        self.changes
    }

    /// Takes the next output.
    pub fn poll(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        if output.is_none() {
            // Frees the memory, because most nodes have no outputs most of the time.
            self.outputs = VecDeque::new();
        }
        output
    }
}
