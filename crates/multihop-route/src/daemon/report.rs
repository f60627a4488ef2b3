//! Status reports of the daemon, from the state of its router.

use std::collections::BTreeMap;
use std::net::IpAddr;

use multihop_core::{Duration, Instant};
use multihop_routing::agent::{RouteChanges, RoutingAgent as _};
use multihop_routing::host::HostNeighbour;

use super::Daemon;
use crate::kernel::Installed;
use crate::prefix::Prefix;
use crate::router::{NeighbourInterface, ReservedPath};
use crate::status::{
    DelayStatus, InterfaceStatus, MessageCounts, Messages, NeighbourStatus, OnDemandStatus, RefusalStatus,
    ReservedStatus, RouteStatus, Status,
};

impl Daemon {
    /// Status of the interface with this name in the configuration.
    fn interface(&self, name: &str) -> InterfaceStatus {
        let port = self.sockets.iter().find(|open| open.name == name).map(|open| &open.port);
        let of_port = self.links.as_ref().zip(port);
        InterfaceStatus {
            name: name.to_owned(),
            address: port.map(|port| port.address),
            queue: of_port.and_then(|(links, port)| links.queue(port.index)),
            channel_busy: of_port.and_then(|(links, port)| links.busy(port.index)),
        }
    }

    /// The parts of the delay of a link.
    fn delay(&self, to: &NeighbourInterface) -> Option<DelayStatus> {
        let local = self.links.as_ref()?.local_delay(to.interface, to.address);
        let hellos = self.router.measured(to).map(|micros| f64::from(micros) / 1e6);
        let seconds = |part: Option<Duration>| part.map(Duration::as_secs_f64);
        let (queue, transmission) = (seconds(local.queue), seconds(local.transmission));
        Some(DelayStatus { hellos, queue, transmission })
    }

    /// The neighbours of a registered protocol.
    fn extension_neighbours(&self, now: Instant) -> Vec<NeighbourStatus> {
        let neighbour = |(index, one): (u32, HostNeighbour)| NeighbourStatus {
            address: one.address.into(),
            main_address: one.address.into(),
            interface: self.name(index),
            heard_ago: now.saturating_since(one.heard).as_secs_f64(),
            received: Some(one.received),
            symmetric: one.cost.is_some(),
            relay: false,
            selector: false,
            delay: one.round_trip.map(|trip| DelayStatus {
                hellos: Some(trip.as_secs_f64() / 2.0),
                queue: None,
                transmission: None,
            }),
            radio: None,
            cost: one.cost,
        };
        self.router.extension_neighbours().into_iter().map(neighbour).collect()
    }

    /// The name of an interface with this number.
    pub(super) fn name(&self, index: u32) -> String {
        let open = self.sockets.iter().find(|open| open.port.index == index);
        open.map_or_else(|| index.to_string(), |open| open.name.clone())
    }

    /// Flows with a reserved path.
    fn reserved(&mut self, now: Instant) -> Vec<ReservedStatus> {
        let path = |path: ReservedPath| ReservedStatus {
            flow: path.flow.to_string(),
            routers: path.routers,
            used_ago: now.saturating_since(path.used).as_secs_f64(),
        };
        self.router.reserved(now).into_iter().map(path).collect()
    }

    pub(super) fn status(&mut self, now: Instant) -> Status {
        let names: BTreeMap<_, _> =
            self.sockets.iter().map(|open| (open.port.index, open.name.clone())).collect();
        let name = |index: u32| names.get(&index).cloned().unwrap_or_default();
        let routes = self.router.routes(now);
        let config = self.router.config();
        let routes = routes.into_iter().map(|(to, path)| {
            let (via, hops, cost) = (path.via, path.hops, path.cost);
            let installed = self.installed.has(to, &path, config);
            (to.to_string(), RouteStatus { via, interface: name(path.interface), hops, cost, installed })
        });
        let interfaces = self.router.config().interfaces.iter().map(|name| self.interface(name)).collect();
        let routes: BTreeMap<_, _> = routes.collect();
        let heard: Vec<_> = self.router.heard(now).collect();
        let (mut datagrams, main_address) = (self.router.counters(), self.router.main());
        datagrams.too_frequent = self.load.inbox.dropped();
        let (protocol, seconds) = (self.router.config().protocol, self.router.age(now).as_secs_f64());
        let on_demand = self.router.on_demand();
        let mut messages = match (on_demand, self.router.extension()) {
            (Some((counts, waiting)), _) => Messages::Aodv(OnDemandStatus { counts, waiting }),
            (None, Some(agent)) => Messages::Extension(agent.counts().into_iter().collect()),
            (None, None) => Messages::Olsr(MessageCounts::default()),
        };
        let (mut refused, mut turns) = (self.router.refused(), RouteChanges::default());
        let (mut symmetric, mut relays, mut selectors) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(agent) = self.router.olsr_mut() {
            (symmetric, relays) = (agent.neighbours().collect(), agent.mprs().to_vec());
            selectors = agent.selectors().collect();
            let counters = agent.counters();
            let (hellos, tcs, forwarded) = (counters.hellos, counters.tcs, counters.forwarded);
            let (duplicates, strangers) = (counters.duplicates, counters.strangers);
            messages = Messages::Olsr(MessageCounts { hellos, tcs, forwarded, duplicates, strangers });
            refused += agent.refused();
            turns = agent.route_changes().unwrap_or_default();
        }
        // AODV has a route to every neighbour that hears this host.
        let is_reached = |address: IpAddr| {
            let route: Option<&RouteStatus> = routes.get(&Prefix::host(address).to_string());
            on_demand.is_some() && route.is_some_and(|route| route.via.is_none())
        };
        let heard = heard.into_iter().map(|heard| NeighbourStatus {
            address: heard.address,
            main_address: heard.main,
            interface: name(heard.interface),
            heard_ago: now.saturating_since(heard.at).as_secs_f64(),
            received: heard.received,
            symmetric: symmetric.contains(&heard.name) || is_reached(heard.address),
            relay: relays.contains(&heard.name),
            selector: selectors.contains(&heard.name),
            delay: self.delay(&heard),
            radio: self.links.as_ref().and_then(|links| links.radio(heard.interface, heard.address)),
            cost: None,
        });
        let neighbours: Vec<_> = heard.chain(self.extension_neighbours(now)).collect();
        let refusals = self.router.refusals().map(|one| RefusalStatus {
            address: one.from,
            reason: one.reason,
            count: one.count,
            last_ago: now.saturating_since(one.last).as_secs_f64(),
        });
        let refusals = refusals.collect();
        let reserved = self.reserved(now);
        let Installed { changes, refused: not_changed, .. } = self.installed;
        Status {
            protocol,
            main_address,
            seconds,
            interfaces,
            neighbours,
            routes,
            reserved,
            installed: self.installed.len(),
            kernel_changes: [changes, not_changed],
            refused,
            route_changes: turns.changes,
            oscillations: turns.oscillations,
            datagrams,
            refusals,
            messages,
        }
    }
}
