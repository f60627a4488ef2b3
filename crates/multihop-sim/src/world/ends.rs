//! Transports: what sits at the two ends of each flow.

use multihop_core::{FlowId, Instant, Machine, NodeId, Notice, Rng};
use multihop_transport::tcp;
use multihop_wire::tcp::SeqNumber;

use super::World;
use super::flow::{Arrival, FlowStats, Windows};
use crate::engine::Rank;
use crate::extension::{Extensions, Transport, TransportInput, TransportOutput};
use crate::packet::{Body, INITIAL_TTL, Packet, port_of};
use crate::scenario::{Flow, Protocol, Scenario, window_for_hops};

/// All flows and their ends.
pub(super) struct Ends {
    /// Two for each flow: its sender, then its receiver.
    pub(super) ends: Vec<End>,
    pub(super) flows: Vec<FlowState>,
    pub(super) windows: Windows,
}

/// A place in the table of ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EndId(pub(super) u32);

/// One end of a flow.
pub(super) enum End {
    Tcp(Box<tcp::Endpoint>),
    /// Datagrams are sent by the application itself.
    UdpSender,
    UdpReceiver {
        expected: u64,
    },
    Custom(Box<dyn Transport>),
}

/// One flow's application, and what is measured.
pub(super) struct FlowState {
    pub(super) stats: FlowStats,
    /// What results call the transport.
    pub(super) transport: String,
    /// What the application does next.
    pub(super) next: Option<Instant>,
    pub(super) running: bool,
    /// Bytes of the file in transfer that are not acknowledged yet.
    pub(super) unacked: u64,
    pub(super) next_serial: u64,
    /// Round-trip samples noted so far.
    rtt_samples: u64,
    pub(super) rng: Rng,
}

impl EndId {
    pub(super) fn sender(flow: FlowId) -> Self {
        Self(2 * flow.0)
    }

    pub(super) fn receiver(flow: FlowId) -> Self {
        Self(2 * flow.0 + 1)
    }

    pub(super) fn flow(self) -> FlowId {
        FlowId(self.0 / 2)
    }

    fn is_sender(self) -> bool {
        self.0.is_multiple_of(2)
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Ends {
    /// `hops` gives the length of the route between two nodes, if there is one.
    pub(super) fn new(
        scenario: &Scenario,
        extensions: &Extensions<'_>,
        mut hops: impl FnMut(NodeId, NodeId) -> Option<u32>,
    ) -> Self {
        let mut ends = Vec::with_capacity(2 * scenario.flows.len());
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for (id, flow) in (0..).map(FlowId).zip(&scenario.flows) {
            let datagrams = matches!(flow.transport.protocol, Protocol::Udp);
            let custom = extensions.transport.filter(|_| !datagrams).and_then(|make| make(id));
            let (transport, pair) = match custom {
                Some(own) => (own.name, [End::Custom(own.sender), End::Custom(own.receiver)]),
                None => (flow.transport.name.clone(), built_in(scenario.seed, id, flow, &mut hops)),
            };
            ends.extend(pair);
            flows.push(FlowState {
                stats: FlowStats::default(),
                transport,
                next: Some(Instant::ZERO + flow.start),
                running: false,
                unacked: 0,
                next_serial: 0,
                rtt_samples: 0,
                rng: Rng::stream(scenario.seed, "traffic", u64::from(id.0)),
            });
        }
        let windows = Windows::new(flows.len(), Instant::ZERO);
        Self { ends, flows, windows }
    }

    /// Whether a flow's sender learns what has arrived.
    pub(super) fn acknowledges(&self, flow: FlowId) -> bool {
        !matches!(self.ends[EndId::sender(flow).index()], End::UdpSender)
    }

    /// The TCP endpoint of an end, if it has one.
    pub(super) fn tcp(&self, end: EndId) -> Option<&tcp::Endpoint> {
        match &self.ends[end.index()] {
            End::Tcp(endpoint) => Some(endpoint),
            _ => None,
        }
    }
}

fn built_in(
    seed: u64,
    id: FlowId,
    flow: &Flow,
    hops: &mut impl FnMut(NodeId, NodeId) -> Option<u32>,
) -> [End; 2] {
    match &flow.transport.protocol {
        Protocol::Udp => [End::UdpSender, End::UdpReceiver { expected: 0 }],
        Protocol::Tcp { config, window_by_hops } => {
            // Applications read whatever arrives.
            let mut config = tcp::Config { sink: true, ..config.as_ref().clone() };
            if *window_by_hops && let Some(hops) = hops(flow.from, flow.to) {
                config.window_max = window_for_hops(hops);
            }
            let port = port_of(id);
            let endpoint = |end: EndId| {
                let ports = tcp::Ports { local: port, remote: port };
                let iss = Rng::stream(seed, "tcp/iss", u64::from(end.0)).next_u64() >> 32;
                let iss = SeqNumber(u32::try_from(iss).expect("32 bits are left"));
                End::Tcp(Box::new(tcp::Endpoint::new(config.clone(), ports, iss)))
            };
            [endpoint(EndId::sender(id)), endpoint(EndId::receiver(id))]
        }
    }
}

impl World<'_> {
    pub(super) fn schedule_applications(&mut self) {
        for flow in 0..self.flow_count() {
            if let End::Tcp(endpoint) = &mut self.ends.ends[EndId::receiver(FlowId(flow)).index()] {
                endpoint.listen();
            }
            self.arm_application(FlowId(flow));
        }
    }

    /// Something arrived for this node.
    pub(super) fn deliver(&mut self, node: NodeId, packet: Packet) {
        let Some(id) = packet.flow() else { return };
        let Some(flow) = self.scenario.flows.get(id.index()) else { return };
        let end = if node == flow.to { EndId::receiver(id) } else { EndId::sender(id) };
        let arrival = Arrival::of(&packet);
        match (&mut self.ends.ends[end.index()], packet.body) {
            (End::Tcp(endpoint), Body::Tcp(segment)) => {
                let before = endpoint.counters().delivered;
                endpoint.handle(self.now, tcp::Input::Segment(segment));
                if endpoint.counters().delivered > before {
                    self.ends.flows[id.index()].stats.arrived(self.now, arrival.created, arrival.hops);
                }
                self.drain_end(end);
            }
            (End::UdpReceiver { expected }, Body::Udp(datagram)) => {
                let stats = &mut self.ends.flows[id.index()].stats;
                stats.datagrams_out_of_order += u64::from(datagram.serial > *expected);
                *expected = (*expected).max(datagram.serial + 1);
                stats.arrived(self.now, arrival.created, arrival.hops);
                self.delivered(id, u64::from(datagram.size));
            }
            (End::Custom(machine), Body::Custom { message, .. }) => {
                let before = self.ends.flows[id.index()].stats.delivered_bytes;
                machine.handle(self.now, TransportInput::Message(message));
                self.drain_end(end);
                let stats = &mut self.ends.flows[id.index()].stats;
                if stats.delivered_bytes > before {
                    stats.arrived(self.now, arrival.created, arrival.hops);
                }
            }
            _ => {}
        }
    }

    /// Whether a flow's transport makes use of notices.
    pub(super) fn listens(&self, flow: FlowId) -> bool {
        let end = self.ends.ends.get(EndId::sender(flow).index());
        matches!(end, Some(End::Custom(_)))
    }

    /// News for the end of a flow at `node`, if the other end is at `peer`.
    pub(super) fn notify_flow(&mut self, id: FlowId, node: NodeId, peer: NodeId, notice: Notice) {
        let flow = &self.scenario.flows[id.index()];
        let end = match (flow.from, flow.to) {
            (from, to) if (from, to) == (node, peer) => EndId::sender(id),
            (from, to) if (to, from) == (node, peer) => EndId::receiver(id),
            _ => return,
        };
        if let Notice::LinkFailed(quoted) = &notice
            && quoted.from().port() != port_of(id)
        {
            return;
        }
        match &mut self.ends.ends[end.index()] {
            End::Tcp(endpoint) => endpoint.handle(self.now, tcp::Input::Notice(notice)),
            End::Custom(machine) => machine.handle(self.now, TransportInput::Notice(notice)),
            End::UdpSender | End::UdpReceiver { .. } => return,
        }
        self.drain_end(end);
    }

    pub(super) fn handle_end_timeout(&mut self, end: EndId) {
        match &mut self.ends.ends[end.index()] {
            End::Tcp(endpoint) => endpoint.handle_timeout(self.now),
            End::Custom(machine) => machine.handle_timeout(self.now),
            End::UdpSender | End::UdpReceiver { .. } => {}
        }
        self.drain_end(end);
    }

    pub(super) fn send_body(&mut self, end: EndId, body: Body) {
        let flow = &self.scenario.flows[end.flow().index()];
        let (source, destination) = if end.is_sender() { (flow.from, flow.to) } else { (flow.to, flow.from) };
        let packet = Packet {
            uid: self.new_uid(),
            created: self.now,
            source,
            destination,
            ttl: INITIAL_TTL,
            hops: 0,
            ip_extra: self.scenario.routing.ip_extra,
            route: None,
            body,
        };
        self.send_ip(source, packet);
    }

    /// Takes everything that an end has to say, and its next deadline.
    pub(super) fn drain_end(&mut self, end: EndId) {
        let id = end.flow();
        loop {
            let said = match &mut self.ends.ends[end.index()] {
                End::Tcp(endpoint) => endpoint.poll_output(self.now).map(|output| match output {
                    tcp::Output::Segment(segment) => Said::Send(Body::Tcp(segment)),
                    tcp::Output::Event(event) => Said::Event(event),
                }),
                End::Custom(machine) => machine.poll_output(self.now).map(Said::Custom),
                End::UdpSender | End::UdpReceiver { .. } => return,
            };
            match said {
                None => break,
                Some(Said::Send(body)) => self.send_body(end, body),
                Some(Said::Event(event)) => self.handle_event(end, event),
                Some(Said::Custom(output)) => self.handle_custom(end, output),
            }
        }
        self.note_progress(end);
        let at = match &self.ends.ends[end.index()] {
            End::Tcp(endpoint) => endpoint.poll_timeout(),
            End::Custom(machine) => machine.poll_timeout(),
            End::UdpSender | End::UdpReceiver { .. } => None,
        };
        let flow = &self.scenario.flows[id.index()];
        let node = if end.is_sender() { flow.from } else { flow.to };
        self.set_deadline(self.end_slot(end), Rank::Timer, node, at);
    }

    fn handle_event(&mut self, end: EndId, event: tcp::Event) {
        let id = end.flow();
        match event {
            tcp::Event::Delivered(bytes) => self.delivered(id, bytes),
            tcp::Event::Acked(bytes) => self.acked(id, bytes),
            tcp::Event::PeerClosed => {
                if let End::Tcp(endpoint) = &mut self.ends.ends[end.index()] {
                    endpoint.close();
                }
            }
            tcp::Event::Reset | tcp::Event::TimedOut if end.is_sender() => {
                self.end_application(id);
                self.arm_application(id);
            }
            tcp::Event::Connected | tcp::Event::Closed | tcp::Event::Reset | tcp::Event::TimedOut => {}
        }
    }

    fn handle_custom(&mut self, end: EndId, output: TransportOutput) {
        let flow = end.flow();
        let stats = &mut self.ends.flows[flow.index()].stats;
        match output {
            TransportOutput::Send(message) => {
                stats.datagrams_sent += u64::from(message.data > 0);
                stats.repeats += u64::from(message.data > 0 && message.again);
                self.send_body(end, Body::Custom { flow, message });
            }
            TransportOutput::Delivered(bytes) => self.delivered(flow, bytes),
            TransportOutput::Acked(bytes) => self.acked(flow, bytes),
            TransportOutput::RoundTrip(time) => stats.rtt.add(time.as_secs_f64()),
            TransportOutput::TimedOut => stats.timeouts += 1,
        }
    }

    fn delivered(&mut self, id: FlowId, bytes: u64) {
        self.ends.flows[id.index()].stats.delivered_bytes += bytes;
        self.ends.windows.add(self.now, id.index(), bytes);
        self.observer.delivered(self.now, id, bytes);
    }

    /// New round-trip samples, and the recorded series.
    fn note_progress(&mut self, end: EndId) {
        let End::Tcp(endpoint) = &self.ends.ends[end.index()] else { return };
        if !end.is_sender() {
            return;
        }
        let state = &mut self.ends.flows[end.flow().index()];
        let samples = endpoint.rtt().samples();
        if let Some(latest) = endpoint.rtt().latest().filter(|_| samples > state.rtt_samples) {
            state.rtt_samples = samples;
            state.stats.rtt.add(latest.as_secs_f64());
        }
        self.observer.progress(self.now, end.flow(), endpoint);
    }
}

/// What an end says, in one vocabulary.
enum Said {
    Send(Body),
    Event(tcp::Event),
    Custom(TransportOutput),
}
