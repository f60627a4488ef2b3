//! A network in virtual time: everything that exists in one run, and the loop that moves it on.
//!
//! The parts of a node are spread over the files by layer: `air` (frames in flight, receivers and
//! stations), `link` (between MAC and IP, with address resolution), `ip` (forwarding), `ends`
//! (transports) and `applications`. Each file adds its methods to [`World`].

mod air;
mod applications;
mod arp;
mod end;
mod ends;
mod flights;
mod flow;
mod ip;
mod link;
mod losses;
mod outcome;
mod relay;
mod routing;
mod wires;

use multihop_core::{DropReason, Instant, NodeId, Rng, earliest};
use multihop_radio::airtime::Airtime;
use multihop_radio::mac::MacConfig;
use multihop_radio::medium::Medium;

pub(crate) use self::end::{Measured, Progress};

use self::air::Air;
use self::ends::{EndId, Ends};
use self::flights::FlightId;
use self::link::{Node, Passages};
use self::losses::LossMonitor;
use self::routing::{Router, Turns};
use self::wires::Wire;
use crate::engine::{Deadlines, Key, Rank};
use crate::extension::Extensions;
use crate::observe::Observer;
use crate::oracle::Oracle;
use crate::packet::{Packet, Pool};
use multihop_scenario::{Layout, Scenario};

/// Everything that exists in one run.
pub(crate) struct World<'a> {
    scenario: &'a Scenario,
    now: Instant,
    /// Nothing from here on happens in the current call of `run_until`.
    horizon: Instant,
    events: u64,
    deadlines: Deadlines,
    /// Whom each deadline belongs to.
    owners: Vec<Owner>,
    air: Air,
    packets: Pool,
    next_uid: u64,
    nodes: Vec<Node>,
    passages: Passages,
    router: Router,
    /// By handle: the node whose agent has the packet, if one has.
    with_agents: Vec<Option<NodeId>>,
    /// Whether the routing protocol wants to hear of frames for others.
    taps: bool,
    /// Whether frames that no station hears both of need not take turns.
    overlap: bool,
    ends: Ends,
    wires: Vec<Wire>,
    /// If the shortest paths are known.
    oracle: Option<Oracle>,
    observer: Observer,
    losses: Option<LossMonitor>,
    /// When the warm-up ended.
    measured_from: Instant,
    /// Before that.
    turns_before: Turns,
}

/// What can have a deadline.
#[derive(Clone, Copy, Debug)]
enum Owner {
    /// A frame in flight: its next first or last bit arrives somewhere.
    Flight(FlightId),
    /// A station's MAC.
    Mac(NodeId),
    /// A packet between a node's MAC and IP, or its address resolution.
    Link(NodeId),
    /// A node's routing agent.
    Router(NodeId),
    /// One end of a flow.
    End(EndId),
    /// A flow's application.
    Application(u32),
    /// The next row of the recorded series.
    Recorder,
    /// One direction of a wire.
    Wire(u32),
}

impl<'a> World<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        layout: &Layout,
        extensions: &Extensions<'_>,
        observer: Observer,
    ) -> Self {
        let mut tracks = scenario.tracks(layout);
        let positions: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
        let nodes = positions.len();
        let config =
            MacConfig { params: scenario.mac.clone(), airtime: Airtime::new(&scenario.radio, &scenario.mac) };
        let medium = Medium::new(&scenario.radio, tracks, scenario.seed);
        let mut router = Router::new(scenario, &positions, extensions);
        let ends = Ends::new(scenario, extensions, |from, to| router.hops(from, to));
        let mut world = Self {
            scenario,
            now: Instant::ZERO,
            horizon: Instant::ZERO,
            events: 0,
            deadlines: Deadlines::default(),
            owners: Vec::new(),
            taps: router.wants_tap(),
            overlap: false,
            router,
            with_agents: Vec::new(),
            losses: LossMonitor::new(scenario, layout, &ends),
            ends,
            wires: Wire::all(scenario),
            oracle: Oracle::new(scenario, layout),
            air: Air::new(scenario, config, medium),
            packets: Pool::default(),
            next_uid: 0,
            nodes: (0..nodes).map(|_| Node::new(scenario.arp)).collect(),
            passages: Passages::default(),
            observer,
            measured_from: Instant::ZERO,
            turns_before: Turns::default(),
        };
        world.overlap = world.passes_may_overlap();
        world.add_owners();
        world.schedule_applications();
        world.start_router();
        world.schedule_recorder();
        world
    }

    /// Runs everything that happens before `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        self.horizon = end;
        loop {
            let (passing, passage) = (self.air.flights.first(), self.passages.first());
            let Some(key) = earliest(passing, self.first_to_wait()).filter(|key| key.at() < end) else {
                break;
            };
            self.now = key.at();
            self.events += 1;
            match self.owners[key.slot() as usize] {
                Owner::Flight(flight) => {
                    if passing == Some(key) {
                        self.air.flights.take_first();
                    } else {
                        self.deadlines.clear(key.slot());
                    }
                    self.advance_flight(flight);
                }
                Owner::Mac(node) => self.handle_mac_timeout(node),
                Owner::Link(_) if passage == Some(key) => self.handle_passages(key),
                Owner::Link(node) => self.handle_link_timeout(node),
                Owner::Router(node) => self.handle_router_timeout(node),
                Owner::End(end) => self.handle_end_timeout(end),
                Owner::Application(flow) => self.handle_application(flow),
                Owner::Recorder => self.record_row(),
                Owner::Wire(wire) => self.handle_wire(wire as usize),
            }
        }
        self.now = end;
    }

    /// What comes next but for frames that are just passing.
    #[inline]
    fn first_to_wait(&self) -> Option<Key> {
        earliest(self.deadlines.first(), self.passages.first())
    }

    /// Differs from before if that may do.
    #[inline]
    fn version(&self) -> u64 {
        self.deadlines.version() + self.passages.version()
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// The fixed slots: by kind, then by number. Flights add theirs when they are first needed.
    fn add_owners(&mut self) {
        let nodes = self.nodes.len();
        let flows = self.scenario.flows.len();
        let ids =
            |n: usize| (0..n).map(|i| u32::try_from(i).expect("checked numbers of nodes, flows and hosts"));
        self.owners.extend(ids(nodes).map(|n| Owner::Mac(NodeId(n))));
        self.owners.extend(ids(nodes).map(|n| Owner::Link(NodeId(n))));
        self.owners.extend(ids(nodes).map(|n| Owner::Router(NodeId(n))));
        self.owners.extend(ids(2 * flows).map(|n| Owner::End(EndId(n))));
        self.owners.extend(ids(flows).map(Owner::Application));
        self.owners.push(Owner::Recorder);
        self.owners.extend(ids(self.wires.len()).map(Owner::Wire));
        self.deadlines = Deadlines::with_slots(self.owners.len());
    }

    fn mac_slot(node: NodeId) -> u32 {
        node.0
    }

    fn link_slot(&self, node: NodeId) -> u32 {
        self.node_count() + node.0
    }

    fn router_slot(&self, node: NodeId) -> u32 {
        2 * self.node_count() + node.0
    }

    fn end_slot(&self, end: EndId) -> u32 {
        3 * self.node_count() + end.0
    }

    fn application_slot(&self, flow: u32) -> u32 {
        3 * self.node_count() + 2 * self.flow_count() + flow
    }

    fn recorder_slot(&self) -> u32 {
        3 * self.node_count() + 3 * self.flow_count()
    }

    fn wire_slot(&self, wire: usize) -> u32 {
        self.recorder_slot() + 1 + u32::try_from(wire).expect("a checked number of hosts")
    }

    fn node_count(&self) -> u32 {
        u32::try_from(self.nodes.len()).expect("a checked number of nodes")
    }

    fn flow_count(&self) -> u32 {
        u32::try_from(self.scenario.flows.len()).expect("a checked number of flows")
    }

    /// Sets, moves or (with `None`) takes back the deadline of a slot.
    fn set_deadline(&mut self, slot: u32, rank: Rank, node: NodeId, at: Option<Instant>) {
        match at {
            Some(at) => self.deadlines.set(Key::new(at, rank, node, slot)),
            None => self.deadlines.clear(slot),
        }
    }

    fn new_uid(&mut self) -> u64 {
        self.next_uid += 1;
        self.next_uid
    }

    /// A packet goes no further.
    fn drop_packet(&mut self, node: NodeId, packet: &Packet, reason: DropReason) {
        self.observer.dropped(self.now, node, packet, reason);
        self.note_loss(packet, reason);
    }
}

/// The stream of one purpose and node.
fn stream(scenario: &Scenario, purpose: &str, node: NodeId) -> Rng {
    Rng::stream(scenario.seed, purpose, u64::from(node.0))
}
