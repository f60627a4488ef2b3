//! A network in virtual time: all state of one run, and the event loop.
//!
//! The parts own their state: [`Air`] (stations of one radio and frames in flight), [`Ip`] (routing,
//! forwarding, address resolution) and [`Ends`] (transports and applications). Every call of a part gets the
//! shared [`Context`]. A part requests an [`Action`] from other parts; the loop passes it on.

mod action;
mod agenda;
mod air;
mod airs;
mod applications;
mod arp;
mod border;
mod changes;
mod context;
mod ends;
mod flights;
mod flow;
mod fq_codel;
mod ids;
mod ip;
mod leaks;
mod link;
mod losses;
mod mac_stats;
mod messages;
mod notices;
mod outcome;
mod passing;
mod peers;
mod power;
mod queues;
mod real;
mod relay;
mod routing;
mod spread;
mod wifi;
mod wires;

use multihop_core::{Instant, Interface, NodeId};
use multihop_radio::frame::PacketHandle;
use multihop_routing::agent::LinkRates;

use self::action::Action;
use self::agenda::{Agenda, Direction, Owner};
use self::air::Air;
use self::airs::Airs;
use self::context::{Context, Incoming};
pub use self::context::{Exit, WifiEvent};
use self::ends::Ends;
use self::ids::FlightId;
pub(crate) use self::ids::InterfaceAddresses;
use self::ip::Ip;
use self::leaks::Leaks;
use self::link::AddressResolution;
use self::power::Power;
use self::routing::Router;
pub(crate) use self::routing::routed_from_start;
use self::spread::Spread;
use self::wires::Wires;
use crate::engine::{Key, Rank};
use crate::observe::Observer;
use crate::packet::Body;
use multihop_scenario::{Layout, Scenario};

/// All state of one run.
pub(crate) struct World<'a> {
    context: Context<'a>,
    airs: Airs,
    ip: Ip,
    ends: Ends,
    /// Nodes of files to everybody, if the scenario has any.
    spread: Option<Box<Spread>>,
    /// Instant at which the warm-up ended.
    measured_from: Instant,
    /// Batteries and sleeping radios.
    power: Power,
}

impl<'a> World<'a> {
    pub(crate) fn new(scenario: &'a Scenario, layout: &Layout, observer: Observer) -> Self {
        let mut tracks = scenario.tracks(layout);
        let positions: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
        let wires = Wires::new(scenario);
        let (nodes, power) = (count(tracks.len()), Power::new(scenario, tracks.len()));
        let spread = Spread::new(scenario).map(Box::new);
        let agenda = Agenda::new(
            nodes,
            scenario.radios.len(),
            count(scenario.flows.len()),
            count(wires.len()),
            power.has_batteries(),
            spread.is_some(),
        );
        let interfaces = (0..).map(Interface).zip(&scenario.radios);
        let arp: Vec<_> =
            interfaces.clone().map(|(interface, radio)| (radio.arp, scenario.seed_of(interface))).collect();
        let mut ip = Ip::new(
            Router::new(scenario, &positions),
            AddressResolution::new(nodes, arp.into_iter()),
            wires,
            InterfaceAddresses::new(scenario),
        );
        let ends = Ends::new(scenario, layout, |from, to| ip.router.hops(from, to));
        let has_lists = !observer.omits_lists;
        let air = |(interface, _): (Interface, _)| {
            let slots = agenda.mac_slots(interface);
            let leaks = Leaks::new(scenario, interface, &tracks);
            let is_last = interface.index() + 1 == scenario.radios.len();
            let own = if is_last { std::mem::take(&mut tracks) } else { tracks.clone() };
            let mut air = Air::new((scenario, interface), own, slots, ip.router.wants_overheard(), has_lists);
            air.leaks = leaks;
            air
        };
        let mut world = Self {
            airs: Airs::new(interfaces.map(air)),
            context: Context::new(scenario, agenda, observer),
            ip,
            ends,
            spread,
            measured_from: Instant::ZERO,
            power,
        };
        world.context.reports_losses = world.ends.losses.is_some();
        world.context.has_spread = world.spread.is_some();
        world.context.reports_rates = world.ip.router.wants_rates();
        let interfere = world.airs.iter().any(|air| !air.leaks.are_none());
        for air in world.airs.iter_mut() {
            air.reorders = !interfere && air.may_reorder(&world.context);
        }
        world.start();
        world
    }

    fn start(&mut self) {
        self.ends.start(&mut self.context, &mut self.ip);
        self.act();
        for node in (0..self.node_count()).map(NodeId) {
            self.context.actions.request(Action::DrainRouter(node));
        }
        self.act();
        self.schedule_recorder();
        self.start_power();
        if self.spread.is_some() {
            self.start_spread();
        }
    }

    /// Handles all events before `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        self.context.horizon = end;
        loop {
            let passing = self.airs.first_passing();
            let agenda = &self.context.agenda;
            let is_passing = passing.at() < agenda.next_at() || passing < agenda.next();
            let key = if is_passing { passing } else { agenda.next() };
            if key.at() >= end {
                break;
            }
            self.context.now = key.at();
            self.context.events += 1;
            let flight = if is_passing { Some(self.airs.take_first_passing(key)) } else { self.handle(key) };
            if let Some(flight) = flight {
                self.advance_flight(flight);
            }
            self.act();
        }
        self.context.now = end;
    }

    /// Handles the event of the agenda at `key`. If the event is the arrival of a frame's last bit at its first station,
    /// returns the frame, which must be advanced, and moves its radio to the front.
    // Called in one place. Without inlining, this function costs 3% of all instructions on a chain.
    #[inline(always)]
    fn handle(&mut self, key: Key) -> Option<FlightId> {
        if self.context.is_large {
            self.prefetch_next();
        }
        let context = &mut self.context;
        match context.agenda.owner(key) {
            Owner::Flight(interface, flight) => {
                self.airs.move_to_front(interface);
                context.agenda.clear(key);
                return Some(flight);
            }
            Owner::Mac(interface, node) => {
                self.airs.move_to_front(interface);
                self.airs.front.handle_mac_timeout(context, node);
            }
            Owner::Link(_) if context.agenda.is_passage(key) => self.handle_passages(key),
            Owner::Link(node) => self.ip.links.handle_timeout(context, node),
            Owner::Router(node) => self.ip.handle_router_timeout(context, node),
            Owner::End(end) => self.ends.handle_timeout(context, &mut self.ip, end),
            Owner::Application(flow) => self.ends.handle_application(context, &mut self.ip, flow),
            Owner::Recorder => self.record_row(),
            Owner::Wire(wire) => self.ip.wires.handle_timeout(context, wire),
            Owner::Sleep => self.handle_sleep(),
            Owner::Battery(node) => self.check_battery(node),
            Owner::Spread(node) => self.handle_spread(node),
        }
        None
    }

    /// Prefetches the state of the MACs and routing agents with the next deadlines after the current one. A station leads to
    /// the state of its own traffic, so that the station is prefetched one deadline earlier.
    #[inline(never)]
    fn prefetch_next(&self) {
        let Self { context: Context { agenda, .. }, airs, ip, .. } = self;
        match agenda.owner_ahead(2) {
            Some(Owner::Mac(interface, node)) => airs[interface].prefetch(node),
            Some(Owner::Router(node)) => ip.router.prefetch(node),
            _ => {}
        }
        if let Some(Owner::Mac(interface, node)) = agenda.owner_ahead(1) {
            airs[interface].stations[node.index()].mac.prefetch_own();
        }
    }

    /// Advances a frame of the radio at the front; when it pauses, the other parts act.
    #[inline]
    fn advance_flight(&mut self, flight: FlightId) {
        let mut resumes = false;
        loop {
            let Self { context, airs: Airs { front, others }, ip, .. } = self;
            if !front.advance_flight(context, ip, flight, resumes, others) {
                return;
            }
            self.act_in_order();
            resumes = true;
        }
    }

    /// Applies the requested actions and those that result from them.
    #[inline]
    fn act(&mut self) {
        if self.context.actions.has_new() {
            self.act_in_order();
        }
    }

    #[inline(never)]
    fn act_in_order(&mut self) {
        while let Some(action) = self.context.actions.next() {
            self.apply(action);
        }
    }

    /// Passes an action to the part that applies it.
    fn apply(&mut self, action: Action) {
        let Self { context, airs, ip, ends, .. } = self;
        match action {
            Action::Leak(interface) => airs.leak(context, interface),
            Action::Serve { interface, node } => airs[interface].serve(context, node),
            Action::Deliver { node, from, is_unicast, packet } => {
                airs[from.interface].deliver(context, node, from.node, is_unicast, packet);
            }
            Action::Discard { node, next_hop, destination } => {
                airs[next_hop.interface].discard(context, node, next_hop.node, destination);
            }
            Action::Purge { node, next_hop } => {
                let air = &mut airs[next_hop.interface];
                let queued = air.take_queued(node, |out| out.to == next_hop.node);
                ip.take_back(context, node, next_hop, queued);
            }
            Action::Arrive { node, packet, direction } => self.arrive(node, packet, direction),
            Action::Unreachable { node, next_hop, packet, reason } => {
                ip.unreachable(context, node, next_hop, packet, reason);
            }
            Action::DrainRouter(node) => ip.drain_router(context, node),
            Action::NotifySource { node, packet } => ends.notify_source(context, ip, node, packet),
            Action::Notify { node, peer, notice } => ends.notify(context, node, peer, notice),
            Action::NotifyEnd { end, notice } => ends.notify_end(context, ip, end, notice),
            Action::DrainEnd(end) => ends.drain(context, ip, end),
            Action::Relay(flow) => ends.relay(context, flow),
            Action::Lost(loss) => ends.note_loss(context, &loss),
            Action::Offer(flow) => self.offer_spread(flow),
            Action::SpreadLeft { node, packet, airtime } => self.spread_left(node, packet, airtime),
        }
    }

    /// Passes packets that arrive at a node's IP or MAC to that layer.
    fn handle_passages(&mut self, key: Key) {
        if self.context.is_large
            && let Some(node) = self.context.agenda.passage_ahead(PASSAGES_AHEAD)
        {
            self.ip.router.prefetch(node);
        }
        while let Some(passage) = self.context.agenda.pop_passage(key) {
            self.arrive(key.node(), passage.packet, passage.direction);
            self.act();
        }
    }

    fn arrive(&mut self, node: NodeId, packet: PacketHandle, direction: Direction) {
        let Self { context, airs, ip, ends, .. } = self;
        match direction {
            Direction::Up { from } => {
                let rates = || {
                    let (air, there) = (&airs[from.interface], from.node);
                    LinkRates { incoming: air.bit_rate(there, node), outgoing: air.bit_rate(node, there) }
                };
                if let Some(packet) = ip.arrive(context, Incoming { node, from, packet }, rates) {
                    if context.has_spread && matches!(context.packets.get(packet).body, Body::Spread { .. }) {
                        self.receive_spread(node, packet);
                    } else {
                        ends.receive(context, ip, node, packet);
                    }
                }
            }
            Direction::Down { next_hop } => {
                airs[next_hop.interface].enqueue(context, node, next_hop.node, packet);
            }
        }
    }

    fn schedule_recorder(&mut self) {
        if let Some(every) = self.context.observer.record_every() {
            let at = self.context.now + every;
            self.context.agenda.arm(Owner::Recorder, Rank::Application, NodeId(0), Some(at));
        }
    }

    fn record_row(&mut self) {
        // A recorded series must not change the result.
        self.context.events -= 1;
        for node in (0..self.node_count()).map(NodeId) {
            let len = self.airs.iter().map(|air| air.queue_len(node)).sum();
            self.context.observer.queue_of_node(self.context.now, node, || len);
        }
        self.context.observer.record_rows(self.context.now);
        self.schedule_recorder();
    }

    fn node_count(&self) -> u32 {
        count(self.context.scenario.topology.nodes())
    }

    pub(crate) fn now(&self) -> Instant {
        self.context.now
    }

    pub(crate) fn observer(&self) -> &Observer {
        &self.context.observer
    }

    pub(crate) fn observer_mut(&mut self) -> &mut Observer {
        &mut self.context.observer
    }
}

/// Number of transfers between IP and MAC by which the prefetch of routing agents is ahead. All receivers of
/// a broadcast receive it within microseconds.
const PASSAGES_AHEAD: usize = 8;

fn count(n: usize) -> u32 {
    u32::try_from(n).expect("checked numbers of nodes, flows and hosts")
}

#[cfg(test)]
mod tests;
