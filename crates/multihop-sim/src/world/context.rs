//! What all parts of a network share: the clock, the agenda, the packets, the observer, and the
//! actions that one part asks of the others.

use multihop_core::{DropReason, Duration, Instant, NodeId};
use multihop_radio::frame::PacketHandle;

use super::action::{Action, Loss};
use super::agenda::{Agenda, Direction};
use crate::observe::Observer;
use crate::packet::{Body, INITIAL_TTL, Packet, Pool};
use multihop_scenario::Scenario;

/// Handed to every part of a network when it has something to do.
pub(super) struct Context<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) now: Instant,
    /// Nothing from here on happens in the current call of `run_until`.
    pub(super) horizon: Instant,
    /// How many things have happened.
    pub(super) events: u64,
    pub(super) agenda: Agenda,
    pub(super) packets: Pool,
    pub(super) observer: Observer,
    /// The last one comes next, see [`World::act`](super::World::act).
    pub(super) actions: Vec<Action>,
    /// Whether somebody wants to know of every lost packet.
    pub(super) reports_losses: bool,
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
            actions: Vec::new(),
            reports_losses: false,
            next_uid: 0,
        }
    }

    /// Asks another part to do something after this one has returned, after what it has asked
    /// before.
    pub(super) fn ask(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// A new packet.
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
            there: None,
            route: None,
            body,
        })
    }

    /// A packet leaves its source.
    pub(super) fn note_sent(&mut self, node: NodeId, packet: PacketHandle) {
        self.observer.sent(self.now, node, self.packets.get(packet));
    }

    /// A packet is lost, which one holder had.
    pub(super) fn drop_packet(&mut self, node: NodeId, packet: PacketHandle, reason: DropReason) {
        self.note_drop(node, packet, reason);
        self.packets.release(packet);
    }

    /// A packet is lost here. Others may hold it.
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
        let delay = self.scenario.mac.link_delay;
        if delay == Duration::ZERO {
            self.ask(Action::Arrive { node, packet, direction });
        } else {
            self.agenda.pass(self.now + delay, node, packet, direction);
        }
    }
}
