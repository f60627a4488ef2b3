//! Link costs: measurement by HELLOs, and announcement with TCs.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::{Body, Costs, Message, Report, Tc};

use super::cheapest::{Order, Orders, Priced, Prices};
use super::config::Metric;
use super::gauges::Gauges;
use super::held::Held;
use super::routes::{Known, Routes};
use super::{Agent, Arrival};
use crate::agent::Routable;
use crate::link_state::search::Search;

/// Link costs and measurements of a node that chooses routes by cost.
#[derive(Clone, Debug)]
pub(super) struct Pricing {
    metric: Metric,
    gauges: Gauges,
    prices: Prices,
    orders: Orders,
    held: Held,
    /// The load of this node's packets on links, if costs exclude it.
    own_load: Vec<([Ipv4Addr; 2], u32)>,
    /// Routes at costs that exclude this node's own queue.
    unladen: Routes,
    search: Search,
    /// Number of the next HELLO.
    number: u16,
}

impl Pricing {
    pub(super) fn new(metric: Metric) -> Self {
        Self {
            metric,
            gauges: Gauges::new(),
            prices: Prices::new(),
            orders: Orders::new(),
            held: Held::default(),
            own_load: Vec::new(),
            unladen: Routes::default(),
            search: Search::default(),
            number: 0,
        }
    }

    /// The costs of links, equal for all nodes.
    pub(super) const fn priced(&self) -> Priced<'_> {
        let Self { metric, gauges, prices, orders, .. } = self;
        Priced { metric, gauges, prices, orders, own_load: &[] }
    }

    /// The costs without the load of this node's packets.
    const fn unladen_prices(&self) -> Priced<'_> {
        Priced { own_load: self.own_load.as_slice(), ..self.priced() }
    }

    /// Recomputes the routes of least cost.
    pub(super) fn find(&mut self, known: &Known<'_>, routes: &mut Routes) {
        let mut search = core::mem::take(&mut self.search);
        routes.find_cheapest(known, self.priced(), &mut search);
        if self.metric.switching.own_load {
            let mut unladen = core::mem::take(&mut self.unladen);
            unladen.find_cheapest(known, self.unladen_prices(), &mut search);
            self.unladen = unladen;
        }
        self.search = search;
    }

    /// The path of a packet, if that of the previous packet matters. Only downstream paths are kept or
    /// preferred (RFC 5286, inequality 3), whose cost after the first hop is below the cost of the cheapest
    /// route from this node. Each hop is then nearer to the destination, and there are no loops if all nodes
    /// have the same costs.
    fn choose<'a>(
        &self,
        now: Instant,
        held: &'a mut Held,
        destination: Ipv4Addr,
        known: &Known<'_>,
        routes: &Routes,
    ) -> Option<&'a [Ipv4Addr]> {
        let (from_here, hops) = (routes.cost(destination)?, routes.get(destination)?.hops);
        // DEVIATION apdr-2: A node keeps a path only while the rest of the path costs less than the cheapest route.
        // In the report a node keeps a path whatever relays do. The rule of multihop prevents loops and causes more
        // changes.
        let leads_on = |path: &[Ipv4Addr]| {
            let beyond = known.cost_beyond(path, self.priced());
            beyond.is_some_and(|beyond| (beyond, path.len()) <= (from_here, hops.into()))
        };
        let wanted = if self.metric.switching.own_load { &self.unladen } else { routes };
        let best = || wanted.path(destination).filter(|path| leads_on(path));
        let best = || best().or_else(|| routes.path(destination));
        let cost = |path: &[_]| known.cost_of(path, self.unladen_prices()).filter(|_| leads_on(path));
        held.choose(now, destination, &self.metric, wanted.cost(destination)?, best, cost)
    }

    /// The measurements for the next HELLO.
    pub(super) fn report(&mut self) -> Report {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.gauges.report(number, &self.metric)
    }

    /// Removes expired measurements; returns whether there were any.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        self.orders.expire(now);
        self.gauges.expire(now) | self.prices.expire(now)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.gauges.due().into_iter().chain(self.prices.due()).min()
    }
}

impl Agent {
    /// The cost of a path; `None` unless all of its links exist.
    pub fn cost_of(&self, path: &[Ipv4Addr]) -> Option<u64> {
        self.known().cost_of(path, self.pricing.as_ref()?.priced())
    }

    /// Sets additional costs of transmissions to neighbours, as measured by the host: interface address of the
    /// neighbour, and cost in the unit of the metric. Neighbours that are not listed have no additional cost.
    pub fn set_local_delays(&mut self, costs: &[(Ipv4Addr, u32)]) {
        if let Some(pricing) = &mut self.pricing {
            self.stale.costs |= pricing.gauges.set_local_delays(costs);
        }
    }

    /// Measured cost of the link to a neighbour's interface, in the unit of the metric.
    pub fn measured(&self, to: Ipv4Addr) -> Option<u32> {
        let Pricing { gauges, metric, .. } = &**self.pricing.as_ref()?;
        gauges.measured(to, metric)
    }

    /// The interface address of a neighbour.
    pub fn interface_of(&self, neighbour: Ipv4Addr) -> Option<Ipv4Addr> {
        self.neighbours.get(neighbour)?.via
    }

    /// The next hop of a packet, if paths are kept or costs exclude this node's load.
    pub(super) fn kept_next_hop(&mut self, now: Instant, packet: &Routable) -> Option<Ipv4Addr> {
        let metric = self.config.metric.filter(Metric::keeps_paths)?;
        let destination = self.interfaces.main(packet.destination);
        let mut pricing = self.pricing.take()?;
        let (known, mut held) = (self.known(), core::mem::take(&mut pricing.held));
        let path = pricing.choose(now, &mut held, destination, &known, &self.routes);
        let first = path.and_then(|path| path.first().copied());
        let next_hop = first.and_then(|first| self.interface_of(first));
        let counts = metric.switching.own_load && packet.previous_hop.is_none();
        if counts && held.count(now, destination) {
            pricing.own_load = held.own_load(self.address);
            self.stale.costs = true;
        }
        pricing.held = held;
        self.pricing = Some(pricing);
        next_hop
    }

    pub(super) fn known(&self) -> Known<'_> {
        let Self { address: own, neighbours, two_hops, topology, .. } = self;
        Known { own: *own, neighbours, two_hops, topology }
    }

    pub(super) fn hear_report(&mut self, arrival: Arrival, report: &Report, until: Instant) {
        let own = self.address_of(arrival.interface);
        if let Some(pricing) = &mut self.pricing {
            let Pricing { metric, gauges, .. } = &mut **pricing;
            self.stale.costs |= gauges.hear(arrival.at, [arrival.from, own], report, metric, until);
        }
    }

    /// Stores the order of neighbours in a TC, which is also the order of the costs announced with the TC.
    pub(super) fn learn_order(&mut self, originator: Ipv4Addr, tc: &Tc, until: Instant) {
        let Some(pricing) = &mut self.pricing else { return };
        match Order::of(tc) {
            Some(order) => {
                pricing.orders.put(originator, order, until);
            }
            None => {
                pricing.orders.remove(originator);
            }
        }
    }

    pub(super) fn learn_costs(&mut self, message: &Message, costs: &Arc<Costs>, until: Instant) {
        let Some(pricing) = &mut self.pricing else { return };
        if costs.quantity == pricing.metric.kind.quantity {
            let before = pricing.prices.get(message.originator);
            self.stale.costs |= before != Some(costs);
            pricing.prices.put(message.originator, costs.clone(), until);
        }
    }

    /// Nodes that announce costs of their links, with the number of these links.
    pub(super) fn priced(&self) -> impl Iterator<Item = (Ipv4Addr, usize)> {
        let prices = self.pricing.iter().map(|pricing| &pricing.prices);
        prices.flat_map(|prices| {
            prices.keys().iter().zip(prices.values()).map(|(of, costs)| (*of, costs.costs.len()))
        })
    }

    /// The costs of the links in this node's TC.
    pub(super) fn costs_of(&self, tc: &Tc) -> Option<Body> {
        let Pricing { metric, gauges, .. } = &**self.pricing.as_ref()?;
        let via = |main| self.neighbours.get(main).and_then(|neighbour| neighbour.via).unwrap_or(main);
        let costs = tc.neighbours.iter().map(|&main| gauges.cost(via(main), metric)).collect();
        Some(Body::Costs(Arc::new(Costs { sequence: tc.sequence, quantity: metric.kind.quantity, costs })))
    }
}
