//! APDR with path reservation: the first packet of a flow fixes the path of all that follow.
//!
//! The agent contains an OLSR agent with a metric. The source writes the path into each packet as a source
//! route, which nodes on the path follow regardless of their own routing tables.

mod config;
mod reservations;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::net::Ipv4Addr;

use multihop_core::{DropReason, Instant, Machine};
use multihop_wire::dsr::{Addresses, SourceRoute};

use crate::agent::{Input, Output, Routable, RouteChanges, RoutingAgent, Ticket};
use crate::message::Message;
use crate::network::{AgentConfig, AgentTable, Network, STREAM};
use crate::olsr;

pub use config::{Config, OnBreak, Reservation};
pub use reservations::Reservations;

/// An agent with a reserved path for each flow.
#[derive(Clone, Debug)]
pub struct Agent {
    olsr: olsr::Agent,
    address: Ipv4Addr,
    /// Reserved paths by destination and flow label.
    reservations: Reservations<(Ipv4Addr, u32)>,
    outputs: VecDeque<Output>,
}

/// Counters of an APDR agent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Number of paths reserved for new flows.
    pub reserved: u64,
    /// Number of reserved paths replaced by another path.
    pub reselected: u64,
}

impl Agent {
    /// Wraps the OLSR agent of the node with this address; the OLSR agent must have a metric.
    pub const fn new(address: Ipv4Addr, olsr: olsr::Agent, config: Reservation) -> Self {
        Self { olsr, address, reservations: Reservations::new(config), outputs: VecDeque::new() }
    }

    /// The OLSR agent inside this agent.
    pub const fn olsr(&self) -> &olsr::Agent {
        &self.olsr
    }

    /// Counters since the start of the agent.
    pub const fn counters(&self) -> Counters {
        self.reservations.counters()
    }

    fn send(&mut self, now: Instant, packet: Routable) {
        self.olsr.expect_use(now, packet.destination);
        let flow = (packet.destination, packet.flow);
        match self.reservations.use_path(now, &mut self.olsr, flow, packet.destination) {
            Some(path) => {
                let (ticket, route) = (packet.ticket, Some(Arc::new(source_route(&path))));
                let next_hop = self.olsr.interface_of(path[0]).unwrap_or(path[0]);
                self.outputs.push_back(Output::Forward { ticket, next_hop, route });
            }
            // Without a path, or with too many hops for a source route, the packet is routed hop by hop.
            None => self.olsr.handle(now, Input::Packet(packet)),
        }
    }

    /// Forwards a packet along its source route.
    fn forward(&mut self, ticket: Ticket, destination: Ipv4Addr, route: &SourceRoute) {
        let place = route.route.len().checked_sub(usize::from(route.segments_left));
        let output = match place.filter(|&at| route.route.get(at) == Some(&self.address)) {
            Some(at) => {
                let next_hop = route.route.get(at + 1).copied().unwrap_or(destination);
                let route = SourceRoute { segments_left: route.segments_left - 1, ..*route };
                Output::Forward { ticket, next_hop, route: Some(Arc::new(route)) }
            }
            None => Output::Drop { ticket, reason: DropReason::NoRoute, tell_source: false },
        };
        self.outputs.push_back(output);
    }
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Packet(Routable { route: Some(ref route), ticket, destination, .. }) => {
                self.forward(ticket, destination, route);
            }
            Input::Packet(packet) if packet.previous_hop.is_none() => self.send(now, packet),
            input => self.olsr.handle(now, input),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.olsr.handle_timeout(now);
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        self.outputs.pop_front().or_else(|| self.olsr.poll_output(now))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.olsr.poll_timeout()
    }
}

impl RoutingAgent for Agent {
    fn overtakes_data(&self, message: &Message) -> bool {
        self.olsr.overtakes_data(message)
    }

    fn route_changes(&self) -> Option<RouteChanges> {
        let changes = self.olsr.route_changes()?;
        Some(RouteChanges { changes: changes.changes + self.counters().reselected, ..changes })
    }
}

impl AgentConfig for Config {
    fn agents(&self, network: &Network<'_>) -> Box<dyn AgentTable> {
        let olsr = Arc::new(self.olsr.clone());
        let olsr = |address, rng| olsr::Agent::new(network.start, address, Arc::clone(&olsr), rng);
        match self.reservation {
            None => network.agents(STREAM, olsr),
            Some(reservation) => {
                network.agents(STREAM, |address, rng| Agent::new(address, olsr(address, rng), reservation))
            }
        }
    }
}

fn source_route(path: &[Ipv4Addr]) -> SourceRoute {
    let between = path[..path.len() - 1].iter().copied();
    let route = Addresses::collect(between).expect("one address less than the path");
    let segments_left = u8::try_from(route.len()).expect("at most 16");
    SourceRoute { first_hop_external: false, last_hop_external: false, salvage: 0, segments_left, route }
}

#[cfg(test)]
mod tests;
