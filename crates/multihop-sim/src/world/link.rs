//! The layer between IP and MAC: resolves the next hop's address before a packet enters the interface queue.

use multihop_core::{DropReason, NodeId};
use multihop_radio::frame::{BROADCAST, PacketHandle};

use super::action::Action;
use super::agenda::{Direction, Owner};
use super::arp::{AddressTable, Resolution};
use super::context::Context;
use crate::engine::Rank;
use crate::packet::{Arp, Body};
use multihop_scenario::ArpKind;

/// Address resolution at every node.
#[derive(Debug)]
pub(super) struct AddressResolution {
    tables: Vec<AddressTable>,
}

impl AddressResolution {
    pub(super) fn new(nodes: u32, arp: ArpKind, seed: u64) -> Self {
        Self { tables: (0..nodes).map(|node| AddressTable::new(arp, seed, NodeId(node))).collect() }
    }

    /// Sends a packet of IP to `next_hop` ([`BROADCAST`]: to every neighbour).
    pub(super) fn pass_down(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: NodeId,
        packet: PacketHandle,
    ) {
        if next_hop == BROADCAST {
            send_down(context, node, next_hop, packet);
            return;
        }
        match self.tables[node.index()].resolve(context.now, next_hop, packet) {
            Resolution::Known(packet) => return send_down(context, node, next_hop, packet),
            Resolution::Asked { displaced } => {
                if let Some(displaced) = displaced {
                    context.drop_packet(node, displaced, DropReason::Arp);
                }
                send_arp(context, node, next_hop, Arp::Request);
            }
            Resolution::Waiting { refused } => {
                if let Some(refused) = refused {
                    context.drop_packet(node, refused, DropReason::Arp);
                }
            }
            Resolution::Failed(packets) => give_up(context, node, next_hop, packets),
        }
        self.arm(context, node);
    }

    /// Handles an ARP timeout at a node.
    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_>, node: NodeId) {
        while let Some(expiry) = self.tables[node.index()].handle_timeout(context.now) {
            if expiry.ask {
                send_arp(context, node, expiry.next_hop, Arp::Request);
            }
            give_up(context, node, expiry.next_hop, expiry.failed);
        }
        self.arm(context, node);
    }

    /// Receives an ARP message. Every message contains its sender's address.
    pub(super) fn receive_arp(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        from: NodeId,
        arp: Arp,
        packet: PacketHandle,
    ) {
        let heard = context.packets.get(packet);
        context.observer.received(context.now, node, heard, heard.hops);
        let is_for_us = heard.destination == node;
        context.packets.release(packet);
        for held in self.tables[node.index()].learn(from) {
            send_down(context, node, from, held);
        }
        if arp == Arp::Request && is_for_us {
            send_arp(context, node, from, Arp::Reply);
        }
        self.arm(context, node);
    }

    /// The packets that wait for address resolution at a node.
    pub(super) fn held(&self, node: NodeId) -> impl Iterator<Item = PacketHandle> {
        self.tables[node.index()].held()
    }

    fn arm(&self, context: &mut Context<'_>, node: NodeId) {
        let at = self.tables[node.index()].deadline();
        context.agenda.arm(Owner::Link(node), Rank::Timer, node, at);
    }
}

fn send_down(context: &mut Context<'_>, node: NodeId, next_hop: NodeId, packet: PacketHandle) {
    context.pass(node, packet, Direction::Down { next_hop });
}

fn send_arp(context: &mut Context<'_>, node: NodeId, to: NodeId, arp: Arp) {
    let packet = context.packet(node, to, Body::Arp(arp));
    context.note_sent(node, packet);
    let next_hop = if arp == Arp::Request { BROADCAST } else { to };
    // DEVIATION arp-1: sent at once; ns-2 waits 5 us.
    context.ask(Action::Arrive { node, packet, direction: Direction::Down { next_hop } });
}

/// Address resolution has failed.
fn give_up(
    context: &mut Context<'_>,
    node: NodeId,
    next_hop: NodeId,
    packets: impl IntoIterator<Item = PacketHandle>,
) {
    for packet in packets {
        context.ask(Action::Unreachable { node, next_hop, packet, reason: DropReason::Arp });
    }
}
