//! The agenda: deadlines, and packets between IP and MAC.

use std::collections::VecDeque;

use multihop_core::{FlowId, Instant, Interface, NodeId};
use multihop_radio::frame::PacketHandle;

use super::ids::{EndId, FlightId, Neighbour};
use crate::engine::{Deadlines, Key, Rank};

/// All future events, except the arrivals of frames at stations (see [`Flights`]).
///
/// [`Flights`]: super::flights::Flights
#[derive(Debug)]
pub(super) struct Agenda {
    deadlines: Deadlines,
    /// Owners of the slots that follow the slots of the first radio's MACs, of links and of routing agents.
    others: Vec<Owner>,
    /// Index at which the slots of the second radio's MACs would begin if they followed those of the first
    /// radio.
    first_macs: u32,
    /// Slot of the machine of node 0 for files to everybody.
    first_spread: u32,
    passages: VecDeque<Passage>,
    /// Key of the first transfer of a packet between IP and MAC, or [`Key::NEVER`].
    next_passage: Key,
    /// Instant of the next event, or [`Instant::FAR_FUTURE`].
    next_at: Instant,
    nodes: u32,
    flows: u32,
    wires: u32,
}

/// Objects that have deadlines; each has a slot of the agenda.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// A frame in flight to stations of a radio, whose first or last bit arrives next at one of them.
    Flight(Interface, FlightId),
    /// The MAC of one station of a radio.
    Mac(Interface, NodeId),
    /// A packet between a node's MAC and IP, or its address resolution.
    Link(NodeId),
    /// A node's routing agent.
    Router(NodeId),
    /// One end of a flow.
    End(EndId),
    /// The application of one flow.
    Application(FlowId),
    /// The next row of the recorded series.
    Recorder,
    /// One direction of a wire.
    Wire(u32),
    /// The radio that falls asleep or wakes next.
    Sleep,
    /// The next check of a node's battery.
    Battery(NodeId),
    /// A node's machine for files to everybody.
    Spread(NodeId),
}

/// Transfer of a packet between a node's IP and MAC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    key: Key,
    /// Packet on its way between IP and MAC. On the way up, other nodes that received it may also hold it.
    pub(super) packet: PacketHandle,
    pub(super) direction: Direction,
}

/// The direction of a packet between IP and MAC.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    Up { from: Neighbour },
    Down { next_hop: Neighbour },
}

impl Agenda {
    /// Creates slots for all objects that exist from the start, by kind, then by number. Slots for flights
    /// are added on demand.
    pub(super) fn new(
        nodes: u32,
        radios: usize,
        flows: u32,
        wires: u32,
        batteries: bool,
        spread: bool,
    ) -> Self {
        let mut others = Vec::new();
        others.extend((0..2 * flows).map(|n| Owner::End(EndId(n))));
        others.extend((0..flows).map(|n| Owner::Application(FlowId(n))));
        others.push(Owner::Recorder);
        others.extend((0..wires).map(Owner::Wire));
        others.push(Owner::Sleep);
        others.extend((0..if batteries { nodes } else { 0 }).map(|n| Owner::Battery(NodeId(n))));
        let first_spread =
            3 * nodes + u32::try_from(others.len()).expect("checked numbers of nodes and flows");
        others.extend((0..if spread { nodes } else { 0 }).map(|n| Owner::Spread(NodeId(n))));
        for interface in (0..).map(Interface).take(radios).skip(1) {
            others.extend((0..nodes).map(|n| Owner::Mac(interface, NodeId(n))));
        }
        let after_first =
            3 * nodes + u32::try_from(others.len()).expect("checked numbers of nodes and flows");
        let deadlines = Deadlines::with_slots(3 * nodes as usize + others.len());
        Self {
            deadlines,
            first_macs: after_first - nodes * u32::try_from(radios).expect("a checked number of radios"),
            first_spread,
            others,
            passages: VecDeque::new(),
            next_passage: Key::NEVER,
            next_at: Instant::FAR_FUTURE,
            nodes,
            flows,
            wires,
        }
    }

    /// Instant of the next event, or [`Instant::FAR_FUTURE`].
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Key of the next event, or [`Key::NEVER`].
    #[inline]
    pub(super) fn next(&self) -> Key {
        let next = self.deadlines.first().min(self.next_passage);
        debug_assert_eq!(next.at(), self.next_at, "updated at every change");
        next
    }

    #[inline]
    fn update(&mut self) {
        self.next_at = self.deadlines.first().at().min(self.next_passage.at());
    }

    /// Owner of a key's slot. MACs, links and routing agents, the owners of most events, need no table, which would not
    /// fit into the cache with thousands of nodes.
    #[inline]
    pub(super) fn owner(&self, key: Key) -> Owner {
        let slot = key.slot();
        if slot < self.nodes {
            Owner::Mac(Interface(0), NodeId(slot))
        } else if slot < 2 * self.nodes {
            Owner::Link(NodeId(slot - self.nodes))
        } else if slot < 3 * self.nodes {
            Owner::Router(NodeId(slot - 2 * self.nodes))
        } else {
            self.others[(slot - 3 * self.nodes) as usize]
        }
    }

    /// Owner of the `ahead`-th deadline after the next one; `None` if that deadline is not near.
    pub(super) fn owner_ahead(&self, ahead: usize) -> Option<Owner> {
        self.deadlines.ahead(ahead).map(|key| self.owner(key))
    }

    pub(super) fn flight_slot(&mut self, interface: Interface, id: FlightId) -> u32 {
        self.others.push(Owner::Flight(interface, id));
        self.deadlines.add_slot()
    }

    /// Sets, moves or (with `None`) cancels a deadline.
    pub(super) fn arm(&mut self, owner: Owner, rank: Rank, node: NodeId, at: Option<Instant>) {
        let slot = self.slot(owner);
        match at {
            Some(at) => self.deadlines.set(Key::new(at, rank, node, slot)),
            None => self.deadlines.clear(slot),
        }
        self.update();
    }

    /// Position of node 0's MAC for this interface among the deadlines. Those of the other nodes follow in order.
    pub(super) fn mac_slots(&self, interface: Interface) -> u32 {
        if interface.0 == 0 { 0 } else { self.first_macs + self.nodes * u32::from(interface.0) }
    }

    /// Sets the deadline of a station's MAC, whose radio's slots begin at `slots`; [`Instant::FAR_FUTURE`]
    /// means none.
    #[inline]
    pub(super) fn arm_mac(&mut self, slots: u32, node: NodeId, at: Instant) {
        let slot = slots + node.0;
        if at == Instant::FAR_FUTURE {
            self.deadlines.clear(slot);
        } else {
            self.deadlines.set(Key::new(at, Rank::Timer, node, slot));
        }
        self.update();
    }

    pub(super) fn arm_flight(&mut self, key: Key) {
        self.deadlines.set(key);
        self.update();
    }

    /// Removes the deadline of a flight.
    pub(super) fn clear(&mut self, key: Key) {
        self.deadlines.clear(key.slot());
        self.update();
    }

    /// Schedules the arrival of a packet at a node's IP or MAC.
    pub(super) fn pass(&mut self, at: Instant, node: NodeId, packet: PacketHandle, direction: Direction) {
        let key = Key::new(at, Rank::Timer, node, self.slot(Owner::Link(node)));
        self.passages.push_back(Passage { key, packet, direction });
        // All transfers take equally long, so that a new one is nearly always the last. Overlapping frames
        // may deliver out of order.
        let mut place = self.passages.len() - 1;
        while place > 0 && key < self.passages[place - 1].key {
            self.passages.swap(place - 1, place);
            place -= 1;
        }
        self.next_passage = self.next_passage.min(key);
        self.update();
    }

    /// Whether the event at `key` is a transfer between IP and MAC.
    pub(super) fn is_passage(&self, key: Key) -> bool {
        self.next_passage == key
    }

    /// Takes the next transfer between IP and MAC that ends at `key`.
    pub(super) fn pop_passage(&mut self, key: Key) -> Option<Passage> {
        if self.next_passage != key {
            return None;
        }
        let passage = self.passages.pop_front();
        self.next_passage = self.passages.front().map_or(Key::NEVER, |passage| passage.key);
        self.update();
        passage
    }

    /// Node to which the `ahead`-th queued transfer between IP and MAC leads (0: the next one).
    #[inline]
    pub(super) fn passage_ahead(&self, ahead: usize) -> Option<NodeId> {
        self.passages.get(ahead).map(|passage| passage.key.node())
    }

    /// Number of packets on their way from the IP of a node to the MACs of these interfaces.
    pub(super) fn packets_down(&self, node: NodeId, over: impl Fn(Interface) -> bool) -> usize {
        let is_down = |passage: &&Passage| {
            let Direction::Down { next_hop } = passage.direction else { return false };
            passage.key.node() == node && over(next_hop.interface)
        };
        self.passages.iter().filter(is_down).count()
    }

    /// Packets between IP and MAC at each node, in the order of nodes.
    pub(super) fn take_passages(&mut self) -> impl Iterator<Item = (NodeId, PacketHandle)> + use<> {
        let mut queue = std::mem::take(&mut self.passages);
        self.next_passage = Key::NEVER;
        self.update();
        queue.make_contiguous().sort_by_key(|passage| passage.key.node());
        queue.into_iter().map(|passage| (passage.key.node(), passage.packet))
    }

    #[inline]
    fn slot(&self, owner: Owner) -> u32 {
        match owner {
            Owner::Flight(..) => unreachable!("a flight knows its own slot"),
            Owner::Mac(interface, node) => self.mac_slots(interface) + node.0,
            Owner::Link(node) => self.nodes + node.0,
            Owner::Router(node) => 2 * self.nodes + node.0,
            Owner::End(end) => 3 * self.nodes + end.0,
            Owner::Application(flow) => 3 * self.nodes + 2 * self.flows + flow.0,
            Owner::Recorder => 3 * (self.nodes + self.flows),
            Owner::Wire(wire) => 3 * (self.nodes + self.flows) + 1 + wire,
            Owner::Sleep => 3 * (self.nodes + self.flows) + 1 + self.wires,
            Owner::Spread(node) => self.first_spread + node.0,
            Owner::Battery(node) => 3 * (self.nodes + self.flows) + 2 + self.wires + node.0,
        }
    }
}
