//! A user-defined routing protocol with a message format of its own: DSDV, destination-sequenced distance vectors.
//!
//! Every node broadcasts its routes about once a second. A newer sequence number of a destination replaces a route, an equal
//! one only a longer route, so that no loops form (Perkins and Bhagwat, SIGCOMM 1994).

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use multihop_core::settings::Settings;
use multihop_core::{DropReason, Duration, Instant, Machine, Rng};
use multihop_routing::agent::{Input, Output, RoutingAgent, Ticket};
use multihop_routing::message::{CustomMessage, Message};
use multihop_routing::network::{AgentConfig, AgentTable, Network};
use multihop_scenario::Extension;

/// The name of the protocol in scenarios.
pub(crate) const DSDV: Extension =
    Extension { name: "dsdv", version: "1", help: "Destination-sequenced distance vectors." };

/// The parameters of the protocol.
#[derive(Clone, Debug, Settings)]
pub(crate) struct Dsdv {
    /// Mean time between two broadcasts of a node, s.
    #[key(0.1..=100.0, default = Duration::from_secs(1))]
    interval: Duration,
}

impl AgentConfig for Dsdv {
    fn agents(&self, network: &Network<'_>) -> Box<dyn AgentTable> {
        network.agents("dsdv", |address, mut rng| {
            let due = Instant::ZERO + rng.duration_below(self.interval);
            let (routes, out) = (BTreeMap::new(), VecDeque::new());
            Agent { address, sequence: 0, interval: self.interval, routes, due, rng, out }
        })
    }
}

/// A route of 9 bytes in a message. Only a destination itself makes even numbers.
#[derive(Clone, Copy, Debug)]
struct Route {
    destination: Ipv4Addr,
    sequence: u32,
    hops: u8,
}

/// The only message: the routes of its sender, itself included.
#[derive(Debug)]
struct Routes(Vec<Route>);

impl CustomMessage for Routes {
    fn kind(&self) -> &'static str {
        "routes"
    }

    fn wire_len(&self) -> usize {
        9 * self.0.len()
    }

    fn emit(&self, out: &mut Vec<u8>) {
        for Route { destination, sequence, hops } in &self.0 {
            out.extend(destination.octets().into_iter().chain(sequence.to_be_bytes()).chain([*hops]));
        }
    }

    fn fields(&self, fields: &mut Vec<(&'static str, String)>) {
        let text = |route: &Route| format!("{}, {} hops", route.destination, route.hops);
        fields.extend(self.0.iter().map(|route| ("route", text(route))));
    }
}

/// The agent of one node.
struct Agent {
    address: Ipv4Addr,
    sequence: u32,
    interval: Duration,
    /// Routes by destination, each with the next hop.
    routes: BTreeMap<Ipv4Addr, (Route, Ipv4Addr)>,
    due: Instant,
    rng: Rng,
    out: VecDeque<Output>,
}

impl Agent {
    fn learn(&mut self, from: Ipv4Addr, heard: Route) {
        let new = Route { hops: heard.hops.saturating_add(1), ..heard };
        let is_better = |(old, _): &(Route, _)| (new.sequence, !new.hops) > (old.sequence, !old.hops);
        if new.destination != self.address && self.routes.get(&new.destination).is_none_or(is_better) {
            self.routes.insert(new.destination, (new, from));
        }
    }

    fn forward(&mut self, ticket: Ticket, destination: Ipv4Addr) {
        let route = self.routes.get(&destination).filter(|(route, _)| route.hops < BROKEN_HOPS);
        self.out.push_back(match route {
            Some(&(_, next_hop)) => Output::Forward { ticket, next_hop, route: None },
            None => Output::Drop { ticket, reason: DropReason::NoRoute, tell_source: true },
        });
    }
}

impl Machine for Agent {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, _now: Instant, input: Input) {
        match input {
            Input::Packet(packet) => self.forward(packet.ticket, packet.destination),
            Input::Message { from, message, .. } => {
                let heard = message.content::<Routes>().into_iter().flat_map(|routes| &routes.0);
                heard.for_each(|route| self.learn(from, *route));
            }
            Input::LinkFailed { next_hop, packet, .. } | Input::Purged { next_hop, packet } => {
                // An odd number is newer than the last one of the destination.
                for (route, _) in self.routes.values_mut().filter(|(_, via)| *via == next_hop) {
                    (route.sequence, route.hops) = (route.sequence | 1, BROKEN_HOPS);
                }
                self.forward(packet.ticket, packet.destination);
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.due = now + self.interval / 2 + self.rng.duration_below(self.interval);
        self.sequence += 2;
        let own = Route { destination: self.address, sequence: self.sequence, hops: 0 };
        let all: Vec<_> = [own].into_iter().chain(self.routes.values().map(|(route, _)| *route)).collect();
        // 150 routes fit in a packet of 1500 bytes.
        self.out.extend(all.chunks(150).map(|some| {
            let message = Message::custom(Routes(some.to_vec()));
            Output::Message { to: None, interface: None, ttl: 1, message }
        }));
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.due)
    }
}

impl RoutingAgent for Agent {}

/// Number of hops of a route that is broken.
const BROKEN_HOPS: u8 = u8::MAX;
