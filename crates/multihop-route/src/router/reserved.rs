//! Reserved paths: each flow of this host keeps the path that had the least delay at its first packet.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use multihop_core::Instant;
use multihop_routing::apdr::Reservations;

use super::{Agent, Protocol, Router};
use crate::flows::Flow;
use crate::prefix::Prefix;

/// A flow with its reserved path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReservedPath {
    /// Flow that follows the path.
    pub flow: Flow,
    /// Main addresses of the routers of the path, from the first hop to the last router.
    pub routers: Vec<Ipv4Addr>,
    /// Instant at which the last packet of the flow was observed.
    pub used: Instant,
}

impl Router {
    /// Notes a packet that this host has transmitted. A packet of a new flow reserves the path that has the least delay
    /// now. Returns whether the path of the flow has changed.
    pub fn on_flow(&mut self, now: Instant, flow: Flow) -> bool {
        if !self.own.contains(&flow.source.into()) || self.own.contains(&flow.destination.into()) {
            return false;
        }
        let Some(to) = self.router_of(flow.destination) else { return false };
        let Some(Agent { protocol: Protocol::Olsr(agent), .. }) = &mut self.agent else { return false };
        let Some(reservations) = &mut self.reservations else { return false };
        let before = reservations.path(&flow);
        if before.is_none() && reservations.len() >= MAX_FLOWS {
            return false;
        }
        reservations.use_path(now, agent, flow, to) != before
    }

    /// Main address of the router behind which an address lies, or that has the address.
    fn router_of(&mut self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        let Some(Agent { protocol: Protocol::Olsr(agent), .. }) = &mut self.agent else { return None };
        if agent.route(destination).is_some() {
            return Some(destination);
        }
        let around = agent.networks().iter().filter_map(|network| {
            let prefix = Prefix::with_mask(network.address.into(), network.mask.into())?;
            prefix.contains(Prefix::host(destination)).then_some((prefix.parts().1, network.gateway))
        });
        let all: Vec<_> = around.collect();
        let longest = all.iter().map(|(bits, _)| *bits).max()?;
        let gateways = all.into_iter().filter(|(bits, _)| *bits == longest).map(|(_, gateway)| gateway);
        gateways.min_by_key(|gateway| agent.cost(*gateway).unwrap_or(u64::MAX))
    }

    /// Releases the paths of flows that have ended, and returns the others.
    pub fn reserved(&mut self, now: Instant) -> Vec<ReservedPath> {
        let Some(reservations) = &mut self.reservations else { return Vec::new() };
        reservations.release(now);
        let paths = reservations.paths();
        let path =
            |(flow, path, used): (Flow, &[Ipv4Addr], _)| ReservedPath { flow, routers: path.to_vec(), used };
        paths.map(path).collect()
    }

    /// Instant at which the next path is released, unless its flow sends a packet.
    pub fn release_due(&self) -> Option<Instant> {
        self.reservations.as_ref().and_then(Reservations::due)
    }

    /// Main addresses of the symmetric neighbours, each with the number of the interface that reaches the neighbour;
    /// empty unless paths are reserved.
    pub fn direct(&mut self) -> BTreeMap<Ipv4Addr, u32> {
        let Some(Agent { protocol: Protocol::Olsr(agent), .. }) = &self.agent else { return BTreeMap::new() };
        if self.reservations.is_none() {
            return BTreeMap::new();
        }
        let with_interface = |main: Ipv4Addr| {
            let link = agent.interface_of(main).unwrap_or(main);
            Some((main, self.neighbours.interface(link)?))
        };
        agent.neighbours().filter_map(with_interface).collect()
    }

    /// Main address of this host if it takes part in reserved paths.
    pub fn reserving(&self) -> Option<Ipv4Addr> {
        match self.main()? {
            IpAddr::V4(main) => self.reservations.is_some().then_some(main),
            IpAddr::V6(_) => None,
        }
    }
}

/// Largest number of flows with a reserved path. Packets of further flows are routed hop by hop.
const MAX_FLOWS: usize = 256;
