//! State that all parts of a network share: clock, agenda, packets, observer, and requested actions.

use std::collections::VecDeque;

use multihop_core::{DropReason, Duration, Instant, MANY_NODES, NodeId};
use multihop_radio::frame::PacketHandle;

use super::action::{Action, Loss};
use super::agenda::{Agenda, Direction};
use super::real::Exit;
use crate::observe::Observer;
use crate::packet::{Body, INITIAL_TTL, Packet, Pool};
use multihop_scenario::Scenario;

/// Passed to a part of a network in every call.
pub(super) struct Context<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) now: Instant,
    /// The end of the current call of `run_until`.
    pub(super) horizon: Instant,
    /// Number of events so far.
    pub(super) events: u64,
    pub(super) agenda: Agenda,
    pub(super) packets: Pool,
    pub(super) observer: Observer,
    /// Packets of real programs that have left the network.
    pub(super) exits: VecDeque<Exit>,
    /// Requested actions that have not been applied yet.
    actions: Vec<Action>,
    /// Number of `actions` that are in order: the last one of these is next.
    ordered: usize,
    /// Whether the simulated network routes for some nodes, and the kernels of others route themselves.
    pub(super) has_border: bool,
    /// Whether every lost packet must be reported.
    pub(super) reports_losses: bool,
    /// Whether the agents are told the bit rates of links.
    pub(super) reports_rates: bool,
    /// Whether the data of all nodes together does not fit into a second-level cache.
    pub(super) is_large: bool,
    next_uid: u64,
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
            actions: Vec::new(),
            ordered: 0,
            has_border: !scenario.emulation.simulated.is_empty(),
            reports_losses: false,
            reports_rates: false,
            is_large: scenario.topology.nodes() >= MANY_NODES,
            next_uid: 0,
        }
    }

    /// Requests an action, to be applied after the current part has returned and after its earlier requests.
    pub(super) fn ask(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Whether an action has been requested since the last one was taken.
    #[inline]
    pub(super) fn has_asked(&self) -> bool {
        self.actions.len() > self.ordered
    }

    /// Takes the next action. The latest requests come first, in the order in which they were made.
    pub(super) fn next_action(&mut self) -> Option<Action> {
        self.actions[self.ordered..].reverse();
        let action = self.actions.pop();
        self.ordered = self.actions.len();
        action
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

    /// Drops a packet of one holder.
    pub(super) fn drop_packet(&mut self, node: NodeId, packet: PacketHandle, reason: DropReason) {
        self.note_drop(node, packet, reason);
        self.packets.release(packet);
    }

    /// Records that a packet was lost here. It may have other holders.
    pub(super) fn note_drop(&mut self, node: NodeId, packet: PacketHandle, reason: DropReason) {
        let packet = self.packets.get(packet);
        self.observer.dropped(self.now, node, packet, reason);
        if self.reports_losses
            && let Some(flow) = packet.flow()
        {
            let carries_data = packet.carries_data();
            let loss = Loss { flow, uid: packet.uid, source: packet.source, carries_data, reason };
            self.ask(Action::Lost(loss));
        }
    }

    /// Moves a packet between a node's IP and MAC, which takes the scenario's link delay.
    pub(super) fn pass(&mut self, node: NodeId, packet: PacketHandle, direction: Direction) {
        let delay = self.scenario.mac().link_delay;
        if delay == Duration::ZERO {
            self.ask(Action::Arrive { node, packet, direction });
        } else {
            self.agenda.pass(self.now + delay, node, packet, direction);
        }
    }
}
