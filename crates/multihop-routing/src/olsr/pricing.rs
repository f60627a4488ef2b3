//! Costs of links: what HELLOs measure, and what the network is told of it.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::olsr::{Body, Costs, Message, Report, Tc};

use super::Agent;
use super::cheapest::{Priced, Prices, Search};
use super::config::Metric;
use super::gauges::Gauges;
use super::held::Held;
use super::routes::{Known, Routes};
use crate::agent::Routable;

/// What a node that chooses routes by cost knows of costs.
#[derive(Clone, Debug)]
pub(super) struct Pricing {
    metric: Metric,
    gauges: Gauges,
    prices: Prices,
    held: Held,
    /// What this node's own packets load links with, where that is left out of costs.
    own_load: Vec<([Ipv4Addr; 2], u32)>,
    /// The routes that it would choose without them.
    unladen: Routes,
    search: Search,
    /// Of the next HELLO.
    number: u16,
}

impl Pricing {
    pub(super) fn new(metric: Metric) -> Self {
        Self {
            metric,
            gauges: Gauges::new(),
            prices: Prices::new(),
            held: Held::default(),
            own_load: Vec::new(),
            unladen: Routes::default(),
            search: Search::default(),
            number: 0,
        }
    }

    /// What links cost, for all nodes alike.
    pub(super) const fn priced(&self) -> Priced<'_> {
        let Self { metric, gauges, prices, .. } = self;
        Priced { metric, gauges, prices, own_load: &[] }
    }

    /// What they would cost without this node's own packets.
    const fn unladen_prices(&self) -> Priced<'_> {
        Priced { own_load: self.own_load.as_slice(), ..self.priced() }
    }

    /// Finds the routes of least cost anew.
    pub(super) fn find(&mut self, known: &Known<'_>, routes: &mut Routes) {
        let mut search = core::mem::take(&mut self.search);
        routes.find_cheapest(known, self.priced(), &mut search);
        if self.metric.own_load {
            let mut unladen = core::mem::take(&mut self.unladen);
            unladen.find_cheapest(known, self.unladen_prices(), &mut search);
            self.unladen = unladen;
        }
        self.search = search;
    }

    /// The path of a packet, where the one of the last packet matters.
    ///
    /// Only paths whose rest, from the first hop on, costs less than the cheapest route from here are
    /// kept or preferred (RFC 5286, inequality 3: downstream paths): then each node is nearer than the
    /// one before it, and where nodes know the same costs no packet goes in a circle.
    fn choose<'a>(
        &self,
        now: Instant,
        held: &'a mut Held,
        destination: Ipv4Addr,
        known: &Known<'_>,
        routes: &Routes,
    ) -> Option<&'a [Ipv4Addr]> {
        let (from_here, hops) = (routes.cost(destination)?, routes.get(destination)?.hops);
        // DEVIATION apdr-2: neither the hold time nor a small gain keeps a path that may lead back.
        let leads_on = |path: &[Ipv4Addr]| {
            let beyond = known.cost_beyond(path, self.priced());
            beyond.is_some_and(|beyond| (beyond, path.len()) <= (from_here, hops.into()))
        };
        let wanted = if self.metric.own_load { &self.unladen } else { routes };
        let best = || wanted.path(destination).filter(|path| leads_on(path));
        let best = || best().or_else(|| routes.path(destination));
        let cost = |path: &[_]| known.cost_of(path, self.unladen_prices()).filter(|_| leads_on(path));
        held.choose(now, destination, &self.metric, wanted.cost(destination)?, best, cost)
    }

    /// What the next HELLO says.
    pub(super) fn report(&mut self) -> Report {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.gauges.report(number, &self.metric)
    }

    /// Says whether something was forgotten.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        self.gauges.expire(now) | self.prices.expire(now)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.gauges.due().into_iter().chain(self.prices.due()).min()
    }
}

impl Agent {
    /// What a path costs, if all its links exist.
    pub fn cost_of(&self, path: &[Ipv4Addr]) -> Option<u64> {
        self.known().cost_of(path, self.pricing.as_ref()?.priced())
    }

    /// The interface at which a neighbour is reached.
    pub(crate) fn interface_of(&self, neighbour: Ipv4Addr) -> Option<Ipv4Addr> {
        self.neighbours.get(neighbour)?.via
    }

    /// The next hop of a packet where paths are kept, or own packets leave out their load.
    pub(super) fn kept_next_hop(&mut self, now: Instant, packet: &Routable) -> Option<Ipv4Addr> {
        let metric = self.config.metric.filter(Metric::keeps_paths)?;
        let destination = self.interfaces.main(packet.destination);
        let mut pricing = self.pricing.take()?;
        let (known, mut held) = (self.known(), core::mem::take(&mut pricing.held));
        let path = pricing.choose(now, &mut held, destination, &known, &self.routes);
        let first = path.and_then(|path| path.first().copied());
        let next_hop = first.and_then(|first| self.interface_of(first));
        let counts = metric.own_load && packet.previous_hop.is_none();
        if counts && held.count(now, destination) {
            pricing.own_load = held.own_load(self.address);
            self.stale.routes = true;
        }
        pricing.held = held;
        self.pricing = Some(pricing);
        next_hop
    }

    pub(super) fn known(&self) -> Known<'_> {
        let Self { address: own, neighbours, two_hops, topology, .. } = self;
        Known { own: *own, neighbours, two_hops, topology }
    }

    pub(super) fn hear_report(&mut self, now: Instant, from: Ipv4Addr, report: &Report, validity: Duration) {
        let own = self.address;
        if let Some(pricing) = &mut self.pricing {
            let Pricing { metric, gauges, .. } = &mut **pricing;
            self.stale.routes |= gauges.hear(now, [from, own], report, metric, now + validity);
        }
    }

    pub(super) fn learn_costs(&mut self, message: &Message, costs: &Arc<Costs>, until: Instant) {
        let Some(pricing) = &mut self.pricing else { return };
        if costs.quantity == pricing.metric.quantity {
            let before = pricing.prices.get(message.originator);
            self.stale.routes |= before != Some(costs);
            pricing.prices.put(message.originator, costs.clone(), until);
        }
    }

    /// What the links of this node's TC cost.
    pub(super) fn costs_of(&self, tc: &Tc) -> Option<Body> {
        let Pricing { metric, gauges, .. } = &**self.pricing.as_ref()?;
        let via = |main| self.neighbours.get(main).and_then(|neighbour| neighbour.via).unwrap_or(main);
        let costs = tc.neighbours.iter().map(|&main| gauges.cost(via(main), metric)).collect();
        Some(Body::Costs(Arc::new(Costs { sequence: tc.sequence, quantity: metric.quantity, costs })))
    }
}
