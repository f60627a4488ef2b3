//! Connections at both ends of each flow.

use std::collections::VecDeque;

use multihop_core::{Duration, FlowId, Instant, NodeId, Rng};
use multihop_radio::frame::PacketHandle;
use multihop_transport::connection::{self, Connection, Counters, Event, Output};
use multihop_transport::observe::{Side, Value};
use multihop_wire::dscp_of_priority;

use super::action::{Action, Loss};
use super::agenda::Owner;
use super::context::Context;
use super::flow::{Arrival, ClosedFlows, FlowStats, Windows};
use super::ids::EndId;
use super::ip::Ip;
use super::losses::LossMonitor;
use super::peers::Peers;
use super::relay::Relay;
use crate::engine::Rank;
use crate::oracle::Oracle;
use crate::packet::{Body, INITIAL_TTL, Trigger, port_of};
use crate::traffic::{Application, Messages, application};
use multihop_scenario::{App, Flow, Layout, Scenario};

/// All flows and their ends.
pub(super) struct Ends {
    /// Connections, two for each flow: sender, then receiver.
    pub(super) ends: Vec<Box<dyn Connection>>,
    pub(super) flows: Vec<FlowState>,
    pub(super) peers: Peers,
    pub(super) windows: Windows,
    pub(super) closed: ClosedFlows,
    /// Flows whose application has ended, in the order of their ends, while their packets may still exist.
    pub(super) ended: VecDeque<FlowId>,
    /// Shortest paths of the flows; `None` if they are not computed.
    pub(super) oracle: Option<Oracle>,
    pub(super) losses: Option<LossMonitor>,
}

/// The application of one flow, and its measurements.
pub(super) struct FlowState {
    pub(super) stats: FlowStats,
    /// Name of the transport in results.
    pub(super) transport: String,
    /// Instant of the application's next step.
    pub(super) next: Option<Instant>,
    pub(super) running: bool,
    /// Bytes of the current file that are not acknowledged yet.
    pub(super) unacked: u64,
    /// Number of round-trip samples recorded so far.
    rtt_samples: u64,
    pub(super) rng: Rng,
    /// State of an application that reacts to data at its receiver.
    pub(super) application: Option<Box<dyn Application>>,
    /// State of an application that sends messages in channels.
    pub(super) messages: Option<Box<Messages>>,
    /// Trigger of the newest data that the flow's receiver received.
    newest: Option<Trigger>,
    /// The relay that forwards arriving data, if there is one.
    pub(super) relay: Option<Relay>,
}

impl FlowState {
    /// Whether no relay forwards the flow's data.
    pub(super) fn ends_here(&self) -> bool {
        self.relay.is_none()
    }
}

impl Ends {
    /// Creates all flows of the scenario. `hops` returns the length of the route between two nodes, if it is
    /// known.
    pub(super) fn new(
        scenario: &Scenario,
        layout: &Layout,
        mut hops: impl FnMut(NodeId, NodeId) -> Option<u32>,
    ) -> Self {
        let mut ends = Vec::with_capacity(2 * scenario.flows.len());
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for (id, flow) in (0..).map(FlowId).zip(&scenario.flows) {
            ends.extend(connections(scenario, id, flow, &mut hops));
            flows.push(FlowState {
                stats: FlowStats::default(),
                transport: flow.transport.name.clone(),
                next: flow.begins_by_itself().then_some(Instant::ZERO + flow.start),
                running: false,
                unacked: 0,
                rtt_samples: 0,
                rng: Rng::stream(scenario.seed, "traffic", u64::from(id.0)),
                application: application(&flow.app),
                messages: (!flow.channels.is_empty()).then(|| Box::new(Messages::new(&flow.channels))),
                newest: None,
                relay: None,
            });
        }
        for (id, flow) in (0..).map(FlowId).zip(&scenario.flows) {
            if let App::Relay { of, buffer } = flow.app {
                flows[of.index()].relay = Some(Relay::new(id, buffer));
            }
        }
        let windows = Windows::new(flows.iter().map(FlowState::ends_here), Instant::ZERO);
        let losses = LossMonitor::new(scenario, layout, &ends);
        let oracle = Oracle::new(scenario, layout);
        Self {
            ends,
            flows,
            peers: Peers::new(scenario),
            windows,
            closed: ClosedFlows::default(),
            ended: VecDeque::new(),
            oracle,
            losses,
        }
    }

    /// Restarts the measurements at the end of the warm-up.
    pub(super) fn restart(&mut self, now: Instant) {
        for flow in self.flow_ids() {
            let (counters, declared) = (self.counters(flow), self.declared_counters(flow));
            let declared = declared.map(|(_, count)| count).collect();
            let state = &mut self.flows[flow.index()];
            state.stats.restart(now, counters, declared);
            if let Some(application) = &mut state.application {
                application.restart(now);
            }
            if let Some(messages) = &mut state.messages {
                messages.restart(now);
            }
        }
        if let Some(oracle) = &mut self.oracle {
            oracle.restart(now);
        }
        if let Some(losses) = &mut self.losses {
            losses.restart();
        }
        self.windows = Windows::new(self.flows.iter().map(FlowState::ends_here), now);
        self.closed = ClosedFlows::default();
    }

    pub(super) fn end(&self, id: EndId) -> &dyn Connection {
        &*self.ends[id.index()]
    }

    /// Whether a flow's transport has ACKs.
    pub(super) fn acknowledges(&self, flow: FlowId) -> bool {
        self.end(EndId::sender(flow)).is_acknowledged()
    }

    /// Whether a flow's application has ended and both connections are closed.
    pub(super) fn is_over(&self, flow: FlowId) -> bool {
        let mut ends = [EndId::sender(flow), EndId::receiver(flow)].into_iter();
        self.flows[flow.index()].stats.ended.is_some() && ends.all(|end| self.end(end).is_closed())
    }

    /// Ends the measurement of flows that can have no more packets although one end still waits, such as a
    /// receiver whose sender has given up.
    pub(super) fn close_abandoned(&mut self, now: Instant) {
        for _ in 0..self.ended.len() {
            let ended = |flow: FlowId| self.flows[flow.index()].stats.ended.unwrap_or(now);
            let Some(flow) = self.ended.pop_front_if(|flow| now - ended(*flow) >= TWO_MSL) else { return };
            let mut ends = [EndId::sender(flow), EndId::receiver(flow)].into_iter();
            if ends.any(|end| self.end(end).poll_timeout().is_some()) {
                self.ended.push_back(flow);
            } else {
                self.flows[flow.index()].stats.close(&mut self.closed);
            }
        }
    }

    /// The counters of both ends of a flow.
    pub(super) fn counters(&self, flow: FlowId) -> Counters {
        let [sender, receiver] =
            [EndId::sender(flow), EndId::receiver(flow)].map(|end| self.end(end).counters());
        Counters { delivered: receiver.delivered, out_of_order: receiver.out_of_order, ..sender }
    }

    /// Counters that the transport of a flow declares for results: names and counts of the sender, then of the
    /// receiver.
    pub(super) fn declared_counters(&self, flow: FlowId) -> impl Iterator<Item = (&'static str, u64)> {
        let sides = [(EndId::sender(flow), Side::Sender), (EndId::receiver(flow), Side::Receiver)];
        sides.into_iter().flat_map(|(end, side)| {
            let end = self.end(end);
            let rows = (0..).map_while(|index| Some((index, end.quantity(index)?)));
            let wanted = rows.filter(move |(_, quantity)| quantity.in_results && quantity.side == side);
            wanted.filter_map(|(index, quantity)| match end.value(index)? {
                Value::Count(count) => Some((quantity.name, count)),
                _ => None,
            })
        })
    }
}

/// Time after which no packet of a connection exists any longer: 2 MSL (RFC 9293 §3.4.2).
const TWO_MSL: Duration = Duration::from_secs(240);

/// Serial number of a datagram; `None` for other packets.
fn serial(body: &Body) -> Option<u64> {
    match body {
        Body::Segment { segment: connection::Segment::Datagram(datagram), .. } => Some(datagram.serial),
        _ => None,
    }
}

/// Connections at both ends of a flow. Applications except relays read data immediately.
fn connections(
    scenario: &Scenario,
    id: FlowId,
    flow: &Flow,
    hops: &mut impl FnMut(NodeId, NodeId) -> Option<u32>,
) -> [Box<dyn Connection>; 2] {
    let first = EndId::sender(id).0;
    flow.transport.protocol.connections().ends(&mut connection::FlowSetup {
        lifecycle: None,
        pool: None,
        port: port_of(id),
        sink: !scenario.is_relayed(id),
        channels: !flow.channels.is_empty(),
        bandwidth: scenario.bit_rate(),
        initial_ttl: INITIAL_TTL,
        hops: &mut || hops(scenario.in_mesh(flow.from), scenario.in_mesh(flow.to)),
        rng: &|purpose, end| Rng::stream(scenario.seed, purpose, u64::from(first + end)),
    })
}

impl Ends {
    /// Sets receivers to listen, and schedules the start of applications.
    pub(super) fn start(&mut self, context: &mut Context<'_>, ip: &mut Ip) {
        for flow in self.flow_ids() {
            self.ends[EndId::receiver(flow).index()].listen();
            self.arm_application(context, flow);
            if self.acknowledges(flow) {
                self.announce_known_path(context, ip, flow);
            }
        }
    }

    /// Receives a packet at its destination.
    pub(super) fn receive(
        &mut self,
        context: &mut Context<'_>,
        ip: &mut Ip,
        node: NodeId,
        packet: PacketHandle,
    ) {
        let packet = context.packets.take(packet);
        if let Body::Unreachable(lost) = &packet.body {
            return self.notify_link_failed(context, ip, lost);
        }
        let Some(id) = packet.flow() else { return };
        let flow = &context.scenario.flows[id.index()];
        let end = if node == flow.to { EndId::receiver(id) } else { EndId::sender(id) };
        let arrival = Arrival::of(&packet);
        if !end.is_sender() && packet.carries_data() {
            self.flows[id.index()].newest = Some(Trigger { sent: packet.created, arrived: context.now });
        }
        let serial = serial(&packet.body);
        let connection = &mut self.ends[end.index()];
        let delivered = connection.counters().delivered;
        if let Body::Segment { segment, .. } = packet.body {
            connection.receive(context.now, segment, arrival.trip(context.now));
        }
        if connection.counters().delivered > delivered {
            let shortest = self.oracle.as_mut().and_then(|oracle| oracle.hops(context.now, id));
            self.flows[id.index()].stats.arrived(context.now, arrival, shortest);
            if let Some(application) = &mut self.flows[id.index()].application {
                application.arrived(context.now, arrival.created);
            }
            if let (Some(messages), Some(serial)) = (&mut self.flows[id.index()].messages, serial) {
                messages.arrived_in_datagram(context.now, serial);
            }
        }
        self.drain(context, ip, end);
    }

    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_>, ip: &mut Ip, end: EndId) {
        self.ends[end.index()].handle_timeout(context.now);
        self.drain(context, ip, end);
    }

    /// Sends a packet of IP from an end to the other end of its flow.
    fn transmit(&self, context: &mut Context<'_>, ip: &mut Ip, end: EndId, body: Body) {
        let flow = &context.scenario.flows[end.flow().index()];
        let (source, destination) = if end.is_sender() { (flow.from, flow.to) } else { (flow.to, flow.from) };
        let packet = context.packet(source, destination, body);
        let leaving = context.packets.get_mut(packet);
        leaving.ip_extra = context.scenario.routing.ip_extra;
        if flow.dscp {
            let priority = self.ends[end.index()].segment_priority();
            leaving.dscp = Some(priority.map_or(0, dscp_of_priority));
        }
        leaving.trigger = self.flows[end.flow().index()].newest.filter(|_| !end.is_sender());
        ip.send(context, source, packet);
    }

    /// Processes the outputs of an end, and its next deadline. Pauses if other parts must act first.
    pub(super) fn drain(&mut self, context: &mut Context<'_>, ip: &mut Ip, end: EndId) {
        let id = end.flow();
        while let Some(output) = self.ends[end.index()].poll_output(context.now) {
            match output {
                Output::Segment(segment) => {
                    self.transmit(context, ip, end, Body::Segment { flow: id, segment });
                }
                Output::Event(event) => self.handle_event(context, end, event),
            }
            if context.actions.has_new() {
                context.actions.request(Action::DrainEnd(end));
                return;
            }
        }
        if end.is_sender() {
            self.note_progress(context, end);
        } else {
            context.observer.observed(context.now, id, Side::Receiver, &*self.ends[end.index()]);
        }
        if self.is_over(id) {
            self.flows[id.index()].stats.close(&mut self.closed);
        }
        let flow = &context.scenario.flows[id.index()];
        let node = if end.is_sender() { flow.from } else { flow.to };
        context.agenda.arm(Owner::End(end), Rank::Timer, node, self.end(end).poll_timeout());
    }

    fn handle_event(&mut self, context: &mut Context<'_>, end: EndId, event: Event) {
        let id = end.flow();
        match event {
            Event::Delivered(bytes) => self.delivered(context, id, bytes),
            Event::Acked(bytes) => self.acked(context, id, bytes),
            Event::PeerClosed => {
                self.ends[end.index()].shutdown(context.now);
                self.nothing_more_to_relay(context, id);
            }
            Event::Reset | Event::TimedOut if end.is_sender() => {
                self.end_application(context, id);
                self.arm_application(context, id);
            }
            Event::Reset | Event::TimedOut => self.nothing_more_to_relay(context, id),
            Event::Connected if end.is_sender() => self.begin_messages(context, id),
            Event::Channels => self.use_channels(context, end),
            Event::Connected | Event::Closed => {}
        }
    }

    /// Records the loss of a packet in the measurements of its flow.
    pub(super) fn note_loss(&mut self, context: &Context<'_>, loss: &Loss) {
        let is_segment = loss.carries_data && loss.source == context.scenario.flows[loss.flow.index()].from;
        if let Some(losses) = self.losses.as_mut().filter(|_| is_segment) {
            let receiver = &*self.ends[EndId::receiver(loss.flow).index()];
            let oracle = self.oracle.as_mut().filter(|oracle| oracle.knows(loss.flow));
            let connected = oracle.is_none_or(|oracle| oracle.hops(context.now, loss.flow).is_some());
            losses.note_loss(context.now, loss, connected, receiver);
        }
    }

    /// Measures data that has arrived in order, and passes it to the flow's relay and application.
    pub(super) fn delivered(&mut self, context: &mut Context<'_>, id: FlowId, bytes: u64) {
        self.flows[id.index()].stats.delivered_bytes += bytes;
        self.windows.add(context.now, id.index(), bytes);
        context.observer.delivered(context.now, id, bytes);
        self.relay_arrival(context, id, bytes);
        self.received(context, id, bytes);
    }

    /// Measures new round-trip samples, and records series.
    fn note_progress(&mut self, context: &mut Context<'_>, sender: EndId) {
        let end = &self.ends[sender.index()];
        let state = &mut self.flows[sender.flow().index()];
        if let Some(trip) = end.round_trip().filter(|trip| trip.samples > state.rtt_samples) {
            state.rtt_samples = trip.samples;
            state.stats.rtt.add(trip.latest);
        }
        context.observer.observed(context.now, sender.flow(), Side::Sender, &**end);
        context.observer.timeouts(context.now, sender.flow(), || end.counters().timeouts);
        if let Some(losses) = &mut self.losses {
            losses.note_action(sender.flow(), &**end);
        }
    }

    pub(super) fn flow_ids(&self) -> impl Iterator<Item = FlowId> + use<> {
        let flows = u32::try_from(self.flows.len()).expect("a checked number of flows");
        (0..flows).map(FlowId)
    }
}
