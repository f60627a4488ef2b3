//! State that all parts of a network share: clock, agenda, packets, observer, requested actions, and packets
//! that leave.

use std::collections::VecDeque;
use std::sync::Arc;

use multihop_core::{BitRate, DropReason, Duration, Instant, Interface, MANY_NODES, NodeId};
use multihop_radio::frame::PacketHandle;

use super::action::{Action, Actions, GivenUp, Loss};
use super::agenda::{Agenda, Direction};
use super::ids::Neighbour;
use crate::observe::Observer;
use crate::packet::{Body, INITIAL_TTL, Packet, Pool};
use crate::real::Attempts;
use multihop_scenario::{Port, Scenario};

/// Shared state of the parts of a network, passed to every call of a part.
pub(super) struct Context<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) now: Instant,
    /// End of the current call of `run_until`.
    pub(super) horizon: Instant,
    /// Number of events so far.
    pub(super) events: u64,
    pub(super) agenda: Agenda,
    pub(super) packets: Pool,
    pub(super) observer: Observer,
    /// Packets of real programs that have left the network.
    pub(super) exits: VecDeque<Exit>,
    /// Events for real Wi-Fi stacks.
    pub(super) wifi: VecDeque<WifiEvent>,
    /// Whether an 802.11 frame of a real Wi-Fi stack has entered.
    pub(super) has_wifi: bool,
    /// Requested actions that have not been applied yet.
    pub(super) actions: Actions,
    /// The latest packet that a MAC has given up.
    pub(super) given_up: Option<GivenUp>,
    /// Whether the simulated network routes for some nodes, while the kernels of other nodes route
    /// themselves.
    pub(super) has_border: bool,
    /// Whether every lost packet must be reported.
    pub(super) reports_losses: bool,
    /// Whether the routing protocol uses the bit rates of links.
    pub(super) reports_rates: bool,
    /// Whether nodes send files to everybody.
    pub(super) has_spread: bool,
    /// Whether the data of all nodes together exceeds a second-level cache.
    pub(super) is_large: bool,
    next_uid: u64,
}

/// A packet that has arrived at a node from a neighbour, or from the other end of a wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) node: NodeId,
    pub(super) from: Neighbour,
    pub(super) packet: PacketHandle,
}

/// A packet that leaves the simulated network.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exit {
    /// Instant at which the packet left the network.
    pub at: Instant,
    /// Node or host at which the packet left the network.
    pub node: NodeId,
    /// Interface over which the frame left, at a node with TAP interfaces; otherwise the first.
    pub interface: Interface,
    /// Bytes of the packet or Ethernet frame.
    pub bytes: Vec<u8>,
}

/// An event for a real Wi-Fi stack.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WifiEvent {
    /// A station has received a frame.
    Received {
        /// Instant at which the frame left the simulated network.
        at: Instant,
        /// Node of the receiver.
        node: NodeId,
        /// Radio of the node.
        interface: Interface,
        /// Node of the transmitter.
        from: NodeId,
        /// The frame without its checksum.
        bytes: Arc<[u8]>,
        /// Bit rate of the frame; `None` if it arrived in an aggregate.
        rate: Option<BitRate>,
    },
    /// A station has finished a frame of its stack.
    Finished {
        /// Instant at which the outcome was known.
        at: Instant,
        /// Node of the transmitter.
        node: NodeId,
        /// Radio of the node.
        interface: Interface,
        /// Number that the frame had when it entered.
        cookie: u64,
        /// Whether the frame was acknowledged; true for frames to a group.
        is_delivered: bool,
        /// Number of transmissions of the frame after the first one, those of its RTS included.
        retries: u32,
        /// Transmissions of the frame by rate, in their order; empty for a frame that left only in aggregates, or never.
        attempts: Vec<Attempts>,
    },
}

impl<'a> Context<'a> {
    pub(super) fn new(scenario: &'a Scenario, agenda: Agenda, observer: Observer) -> Self {
        Self {
            scenario,
            now: Instant::ZERO,
            horizon: Instant::ZERO,
            events: 0,
            agenda,
            packets: Pool::default(),
            observer,
            exits: VecDeque::new(),
            wifi: VecDeque::new(),
            has_wifi: false,
            actions: Actions::default(),
            given_up: None,
            has_border: !scenario.emulation.simulated.is_empty(),
            reports_losses: false,
            reports_rates: false,
            has_spread: false,
            is_large: scenario.topology.nodes() >= MANY_NODES,
            next_uid: 0,
        }
    }

    /// Whether a packet that arrives at a node crosses the border between simulated nodes and kernels.
    pub(super) fn crosses(&self, node: NodeId, packet: PacketHandle) -> bool {
        let is_frame = matches!(self.packets.get(packet).body, Body::Ethernet(_));
        is_frame != (self.scenario.port(node) == Port::Tap)
    }

    /// Creates a packet with the next number and this content.
    pub(super) fn packet(&mut self, source: NodeId, destination: NodeId, body: Body) -> PacketHandle {
        self.next_uid += 1;
        self.packets.insert(Packet {
            uid: self.next_uid,
            created: self.now,
            source,
            destination,
            ttl: INITIAL_TTL,
            hops: 0,
            dscp: None,
            ip_extra: 0,
            trigger: None,
            route: None,
            body,
        })
    }

    /// Records that a packet leaves its source.
    pub(super) fn note_sent(&mut self, node: NodeId, packet: PacketHandle) {
        self.observer.sent(self.now, node, self.packets.get(packet));
    }

    /// Drops a packet for one of its holders.
    pub(super) fn drop_packet(&mut self, node: NodeId, packet: PacketHandle, reason: DropReason) {
        self.note_drop(node, packet, reason);
        if self.has_spread {
            self.note_left(node, packet, Duration::ZERO);
        }
        if self.has_wifi {
            self.lose_wifi(node, packet, reason);
        }
        self.packets.release(packet);
    }

    /// Informs the machine of a file to everybody that its packet has left a radio after this airtime, or was dropped
    /// (zero).
    pub(super) fn note_left(&mut self, node: NodeId, packet: PacketHandle, airtime: Duration) {
        if matches!(self.packets.get(packet).body, Body::Spread { .. }) {
            self.packets.hold(packet);
            self.actions.request(Action::SpreadLeft { node, packet, airtime });
        }
    }

    /// Drops a packet, and notifies its source of the loss.
    pub(super) fn drop_and_notify(&mut self, node: NodeId, packet: PacketHandle, reason: DropReason) {
        self.note_drop(node, packet, reason);
        self.actions.request(Action::NotifySource { node, packet });
    }

    /// Records that a packet was lost at this node. It may have other holders.
    pub(super) fn note_drop(&mut self, node: NodeId, packet: PacketHandle, reason: DropReason) {
        let packet = self.packets.get(packet);
        self.observer.dropped(self.now, node, packet, reason);
        if self.reports_losses
            && let Some(flow) = packet.flow()
        {
            let is_this = |given_up: &GivenUp| (given_up.at, given_up.uid) == (self.now, packet.uid);
            let failed_link = self.given_up.filter(is_this).map(|given_up| given_up.link);
            let (source, carries_data) = (packet.source, packet.carries_data());
            self.actions.request(Action::Lost(Loss { flow, source, carries_data, reason, failed_link }));
        }
    }

    /// Transfers a packet between a node's IP and MAC, which takes the scenario's link delay.
    pub(super) fn pass(&mut self, node: NodeId, packet: PacketHandle, direction: Direction) {
        let delay = self.scenario.mac().link_delay;
        if delay == Duration::ZERO {
            self.actions.request(Action::Arrive { node, packet, direction });
        } else {
            self.agenda.pass(self.now + delay, node, packet, direction);
        }
    }
}
