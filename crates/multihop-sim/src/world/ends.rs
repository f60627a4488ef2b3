//! Transports: what sits at the two ends of each flow.

use std::collections::VecDeque;

use multihop_core::{Duration, FlowId, Instant, NodeId, Notice, Rng};
use multihop_transport::{tcp, tpa};
use multihop_wire::tcp::SeqNumber;
use multihop_wire::tpa::BlockSeq;

use super::World;
use super::end::{End, Said};
use super::flow::{Arrival, Counts, FlowStats, Windows};
use super::relay::Relay;
use crate::engine::Rank;
use crate::extension::Extensions;
use crate::packet::{Body, INITIAL_TTL, Packet, port_of};
use multihop_scenario::{App, Flow, Protocol, Scenario};

/// All flows and their ends.
pub(super) struct Ends {
    /// Two for each flow: its sender, then its receiver.
    pub(super) ends: Vec<End>,
    pub(super) flows: Vec<FlowState>,
    pub(super) windows: Windows,
    /// Those whose application has ended, in that order, for as long as something may still come of them.
    ended: VecDeque<FlowId>,
}

/// A place in the table of ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct EndId(pub(super) u32);

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
    /// Round-trip samples noted so far.
    rtt_samples: u64,
    pub(super) rng: Rng,
    /// How long the newest data took to the receiver.
    there: Option<Duration>,
    /// Who passes on what arrives, if somebody does.
    pub(super) relay: Option<Relay>,
}

impl FlowState {
    /// Whether what it delivers goes no further.
    pub(super) fn ends_here(&self) -> bool {
        self.relay.is_none()
    }
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
                Some(own) => (own.name, [own.sender, own.receiver].map(End::custom)),
                None => (flow.transport.name.clone(), built_in(scenario, id, flow, &mut hops)),
            };
            ends.extend(pair);
            flows.push(FlowState {
                stats: FlowStats::default(),
                transport,
                next: flow.begins_by_itself().then_some(Instant::ZERO + flow.start),
                running: false,
                unacked: 0,
                rtt_samples: 0,
                rng: Rng::stream(scenario.seed, "traffic", u64::from(id.0)),
                there: None,
                relay: None,
            });
        }
        for (id, flow) in (0..).map(FlowId).zip(&scenario.flows) {
            if let App::Relay { of, buffer } = flow.app {
                flows[of.index()].relay = Some(Relay::new(id, buffer));
            }
        }
        let windows = Windows::new(flows.iter().map(FlowState::ends_here), Instant::ZERO);
        Self { ends, flows, windows, ended: VecDeque::new() }
    }

    /// Forgets what was delivered so far in the windows of fairness.
    pub(super) fn restart_windows(&mut self, now: Instant) {
        self.windows = Windows::new(self.flows.iter().map(FlowState::ends_here), now);
    }

    pub(super) fn end(&self, id: EndId) -> &End {
        &self.ends[id.index()]
    }

    /// Whether a flow's sender learns what has arrived.
    pub(super) fn acknowledges(&self, flow: FlowId) -> bool {
        !matches!(self.ends[EndId::sender(flow).index()], End::UdpSender(_))
    }

    /// Whether a flow's application has ended, and neither end has a connection.
    fn is_over(&self, flow: FlowId) -> bool {
        let ends = || [EndId::sender(flow), EndId::receiver(flow)].map(|end| &self.ends[end.index()]);
        self.flows[flow.index()].stats.ended.is_some() && ends().into_iter().all(End::is_closed)
    }

    /// A flow's application has ended.
    pub(super) fn note_ended(&mut self, flow: FlowId) {
        self.ended.push_back(flow);
    }

    /// No more is measured of flows of which nothing can come any more, though one end was never told:
    /// a receiver waits for ever for a sender that gave up.
    pub(super) fn close_abandoned(&mut self, now: Instant) {
        for _ in 0..self.ended.len() {
            let ended = |flow: FlowId| self.flows[flow.index()].stats.ended.unwrap_or(now);
            let Some(flow) = self.ended.pop_front_if(|flow| now - ended(*flow) >= STRAY) else { return };
            let mut ends = [EndId::sender(flow), EndId::receiver(flow)].into_iter();
            if ends.any(|end| self.end(end).deadline().is_some()) {
                self.ended.push_back(flow);
            } else {
                self.flows[flow.index()].stats.close();
            }
        }
    }

    /// What a flow's ends have counted.
    pub(super) fn counts(&self, flow: FlowId) -> Counts {
        let [sender, receiver] =
            [EndId::sender(flow), EndId::receiver(flow)].map(|end| self.ends[end.index()].counts());
        Counts::of_flow(sender, receiver)
    }
}

/// By then packets of a connection are gone: 2 MSL (RFC 9293 §3.4.2).
const STRAY: Duration = Duration::from_secs(240);

/// Applications read whatever arrives, but for those that pass it on.
fn built_in(
    scenario: &Scenario,
    id: FlowId,
    flow: &Flow,
    hops: &mut impl FnMut(NodeId, NodeId) -> Option<u32>,
) -> [End; 2] {
    match &flow.transport.protocol {
        Protocol::Udp => {
            let counts = Counts::default();
            [End::UdpSender(counts), End::UdpReceiver { expected: 0, counts }]
        }
        Protocol::Tcp { config } => {
            let mut config = tcp::Config { sink: !scenario.is_relayed(id), ..config.as_ref().clone() };
            if config.window_by_hops
                && let Some(hops) = hops(scenario.in_mesh(flow.from), scenario.in_mesh(flow.to))
            {
                config.window_max = tcp::window_for_hops(hops);
            }
            if let Some(pacing) = &mut config.pacing {
                pacing.pacer.bandwidth = scenario.radio.rate;
            }
            tcp_pair(scenario.seed, id, &config)
        }
        Protocol::Tpa { config } => {
            let sink = !scenario.is_relayed(id);
            let mut config = tpa::Config { sink, initial_ttl: INITIAL_TTL, ..config.as_ref().clone() };
            if let Some(pacing) = &mut config.pacing {
                pacing.bandwidth = scenario.radio.rate;
            }
            tpa_pair(scenario.seed, id, &config)
        }
    }
}

fn tcp_pair(seed: u64, id: FlowId, config: &tcp::Config) -> [End; 2] {
    [EndId::sender(id), EndId::receiver(id)].map(|end| {
        let iss = Rng::stream(seed, "tcp/iss", u64::from(end.0)).next_u64() >> 32;
        let iss = SeqNumber(u32::try_from(iss).expect("32 bits are left"));
        End::Tcp(Box::new(tcp::Endpoint::new(config.clone(), ports(id), iss)))
    })
}

fn tpa_pair(seed: u64, id: FlowId, config: &tpa::Config) -> [End; 2] {
    [EndId::sender(id), EndId::receiver(id)].map(|end| {
        let iss = Rng::stream(seed, "tpa/iss", u64::from(end.0)).next_u64() >> 48;
        let iss = BlockSeq(u16::try_from(iss).expect("16 bits are left"));
        End::Tpa(Box::new(tpa::Endpoint::new(config.clone(), ports(id), iss)))
    })
}

fn ports(id: FlowId) -> tcp::Ports {
    tcp::Ports { local: port_of(id), remote: port_of(id) }
}

impl World<'_> {
    pub(super) fn schedule_applications(&mut self) {
        for flow in (0..self.flow_count()).map(FlowId) {
            self.ends.ends[EndId::receiver(flow).index()].listen();
            self.arm_application(flow);
            if self.ends.acknowledges(flow) {
                self.tell_known_paths(flow);
            }
        }
    }

    /// Routes that never change are as long as they are from the start.
    fn tell_known_paths(&mut self, id: FlowId) {
        let flow = &self.scenario.flows[id.index()];
        for (node, peer) in [(flow.from, flow.to), (flow.to, flow.from)] {
            let [here, there] = [node, peer].map(|end| self.scenario.in_mesh(end));
            if let Some(hops) = self.router.hops(here, there) {
                let hops = u8::try_from(hops).unwrap_or(u8::MAX);
                self.notify_flow(id, node, peer, Notice::PathInfo { hops });
            }
        }
    }

    /// Something arrived for this node.
    pub(super) fn deliver(&mut self, node: NodeId, packet: Packet) {
        let Some(id) = packet.flow() else { return };
        let Some(flow) = self.scenario.flows.get(id.index()) else { return };
        let end = if node == flow.to { EndId::receiver(id) } else { EndId::sender(id) };
        let arrival = Arrival::of(&packet);
        if !end.is_sender() && packet.carries_data() {
            self.ends.flows[id.index()].there = Some(self.now - packet.created);
        }
        let before = self.ends.ends[end.index()].counts().delivered;
        if let Some(said) = self.ends.ends[end.index()].receive(self.now, arrival, packet.body) {
            self.obey_end(end, said);
        }
        self.drain_end(end);
        if self.ends.ends[end.index()].counts().delivered > before {
            let shortest = self.oracle.as_mut().and_then(|oracle| oracle.hops(self.now, id));
            self.ends.flows[id.index()].stats.arrived(self.now, arrival, shortest);
        }
    }

    /// Whether a flow's transport makes use of notices.
    pub(super) fn listens(&self, flow: FlowId) -> bool {
        self.ends.ends.get(EndId::sender(flow).index()).is_some_and(End::takes_notices)
    }

    /// News for the end of a flow at `node`, if the other end is at `peer`.
    pub(super) fn notify_flow(&mut self, id: FlowId, node: NodeId, peer: NodeId, notice: Notice) {
        let flow = &self.scenario.flows[id.index()];
        // To routing, a host is its gateway.
        let is_peer = |end| self.scenario.in_mesh(end) == self.scenario.in_mesh(peer);
        let end = if flow.from == node && is_peer(flow.to) {
            EndId::sender(id)
        } else if flow.to == node && is_peer(flow.from) {
            EndId::receiver(id)
        } else {
            return;
        };
        // DSR tells of every link, whoever listens.
        if let Notice::LinkFailed(lost) = &notice
            && (lost.source != port_of(id) || !self.listens(id))
        {
            return;
        }
        self.ends.ends[end.index()].notice(self.now, notice);
        self.drain_end(end);
    }

    pub(super) fn handle_end_timeout(&mut self, end: EndId) {
        self.ends.ends[end.index()].handle_timeout(self.now);
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
            there: self.ends.flows[end.flow().index()].there.filter(|_| !end.is_sender()),
            route: None,
            body,
        };
        self.send_ip(source, packet);
    }

    /// Takes everything that an end has to say, and its next deadline.
    pub(super) fn drain_end(&mut self, end: EndId) {
        while let Some(said) = self.ends.ends[end.index()].poll(self.now, end.flow()) {
            self.obey_end(end, said);
        }
        if end.is_sender() {
            self.note_progress(end);
        } else {
            let receiver = &self.ends.ends[end.index()];
            self.observer.measured(self.now, end.flow(), || receiver.measured());
        }
        if self.ends.is_over(end.flow()) {
            self.ends.flows[end.flow().index()].stats.close();
        }
        let at = self.ends.ends[end.index()].deadline();
        let flow = &self.scenario.flows[end.flow().index()];
        let node = if end.is_sender() { flow.from } else { flow.to };
        self.set_deadline(self.end_slot(end), Rank::Timer, node, at);
    }

    fn obey_end(&mut self, end: EndId, said: Said) {
        let id = end.flow();
        match said {
            Said::Send(body) => self.send_body(end, body),
            Said::Delivered(bytes) => self.delivered(id, bytes),
            Said::Acked(bytes) => self.acked(id, bytes),
            Said::RoundTrip(time) => self.ends.flows[id.index()].stats.rtt.add(time.as_secs_f64()),
            Said::PeerClosed => {
                self.ends.ends[end.index()].close(self.now);
                self.nothing_more_to_relay(id);
            }
            Said::Broken if end.is_sender() => {
                self.end_application(id);
                self.arm_application(id);
            }
            Said::Broken => self.nothing_more_to_relay(id),
        }
    }

    fn delivered(&mut self, id: FlowId, bytes: u64) {
        self.ends.flows[id.index()].stats.delivered_bytes += bytes;
        self.ends.windows.add(self.now, id.index(), bytes);
        self.observer.delivered(self.now, id, bytes);
        self.relay(id, bytes);
    }

    /// New round-trip samples, and the recorded series.
    fn note_progress(&mut self, sender: EndId) {
        let end = &self.ends.ends[sender.index()];
        let state = &mut self.ends.flows[sender.flow().index()];
        if let Some((latest, samples)) = end.round_trip().filter(|&(_, n)| n > state.rtt_samples) {
            state.rtt_samples = samples;
            state.stats.rtt.add(latest.as_secs_f64());
        }
        self.observer.progress(self.now, sender.flow(), || end.progress());
        self.note_action(sender.flow());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Observer;
    use multihop_scenario::Source;

    /// Node 1 leaves while the first file is on its way; nodes 0 and 2 go on.
    const LEFT: &str = "duration = 9000.0\n\
        topology = { kind = \"list\", positions = [[0.0, 0.0], [200.0, 0.0], [0.0, 200.0]] }\n\
        [mobility]\nkind = \"waypoints\"\n\
        waypoints = [[], [[0.0, 200.0, 0.0], [5.0, 200.0, 0.0], [6.0, 5000.0, 0.0]], []]\n\
        [[flow]]\nfrom = 0\nto = 1\napp = \"file\"\nbytes = 50_000_000\n\
        transport = { kind = \"newreno\", preset = \"rfc\", max_retries = 5 }\n\
        [[flow]]\nfrom = 0\nto = 2\napp = \"file\"\nbytes = 10_000\ntransport = \"newreno\"\nstart = 300.0\n\
        [[flow]]\nfrom = 0\nto = 2\napp = \"file\"\nbytes = 10_000\ntransport = \"newreno\"\nstart = 1000.0\n";

    #[test]
    fn a_receiver_whose_sender_gave_up_measures_no_more() {
        let source = Source::Toml { text: LEFT.to_owned(), name: "x.toml".to_owned() };
        let scenario = Scenario::load(&source, &[]).unwrap();
        let layout = scenario.topology.place(scenario.seed).unwrap();
        let mut world = World::new(&scenario, &layout, &Extensions::default(), Observer::default());
        world.run_until(Instant::ZERO + Duration::from_secs(400));
        let stats = |world: &World<'_>| world.ends.flows[0].stats.clone();
        let before = stats(&world);
        assert!(before.ended.is_some() && !world.ends.is_over(FlowId(0)));
        assert!(before.delay.is_coming(), "packets may still be under way");
        world.run_until(Instant::ZERO + Duration::from_secs(2000));
        let after = stats(&world);
        assert!(!after.delay.is_coming() && !after.rtt.is_coming() && !world.ends.is_over(FlowId(0)));
        assert_eq!(after.delay.summary_ms(), before.delay.summary_ms());
        assert!(world.ends.ended.len() <= 1);
    }
}
