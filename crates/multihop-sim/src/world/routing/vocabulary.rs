//! One vocabulary for all protocols: what agents are told, and what they want done.

use std::net::Ipv4Addr;
use std::sync::Arc;

use multihop_core::{DropReason, FlowId, NodeId, Notice};
use multihop_radio::frame::BROADCAST;
use multihop_routing::agent::{Input, Output, Routable, Ticket};
use multihop_routing::{aodv, apdr, dsr};
use multihop_wire::Quoted;
use multihop_wire::dsr::SourceRoute;
use multihop_wire::{aodv as aodv_wire, olsr as olsr_wire};

use crate::extension::{self, RoutingInput, RoutingOutput};
use crate::packet::RoutingMessage;

/// What an agent is told.
pub(in crate::world) enum Told {
    /// A packet needs a next hop.
    Packet { packet: Routable, flow: Option<FlowId>, route: Option<Arc<SourceRoute>> },
    /// A message of the protocol arrived.
    Message { from: NodeId, ttl: u8, message: RoutingMessage },
    /// The MAC, or address resolution, gave up on a neighbour.
    LinkFailed { next_hop: NodeId, packet: Routable, route: Option<Arc<SourceRoute>>, quoted: Quoted },
    /// The same, while sending a message of the protocol.
    MessageLost { next_hop: NodeId, message: RoutingMessage },
    /// A packet comes back from the interface queue.
    Purged { next_hop: NodeId, packet: Routable, route: Option<Arc<SourceRoute>> },
    /// A message comes back from the interface queue.
    MessagePurged { next_hop: NodeId, message: RoutingMessage },
}

/// What an agent wants done.
pub(in crate::world) enum Said {
    Forward { ticket: Ticket, next_hop: NodeId, route: Option<Arc<SourceRoute>> },
    Drop { ticket: Ticket, reason: DropReason, tell_source: bool },
    Message(Outgoing),
    Purge { next_hop: NodeId },
    Discard { next_hop: NodeId, destination: Option<NodeId> },
    Notice { peer: NodeId, notice: Notice },
}

/// A message of a routing protocol that leaves.
pub(in crate::world) struct Outgoing {
    pub(in crate::world) next_hop: NodeId,
    pub(in crate::world) ttl: u8,
    pub(in crate::world) source: NodeId,
    pub(in crate::world) destination: NodeId,
    pub(in crate::world) message: RoutingMessage,
    /// Of the IP packet, as accounted.
    pub(in crate::world) bytes: usize,
}

const IP_AND_UDP: usize = 28;
const IP: usize = 20;
/// The label of packets without ports.
const NO_FLOW: u32 = u32::MAX;

impl Told {
    pub(super) fn for_aodv(self) -> Option<Input<aodv_wire::Message>> {
        self.generic(|message| match message {
            RoutingMessage::Aodv(message) => Some(message),
            _ => None,
        })
    }

    pub(super) fn for_olsr(self) -> Option<Input<Arc<olsr_wire::Packet>>> {
        self.generic(|message| match message {
            RoutingMessage::Olsr(packet) => Some(packet),
            _ => None,
        })
    }

    pub(super) fn for_apdr(self) -> Option<apdr::Input> {
        Some(match self {
            Self::Packet { packet, flow, route } => {
                let flow = flow.map_or(NO_FLOW, |flow| flow.0);
                apdr::Input::Packet { packet, flow, route: route.map(|route| *route) }
            }
            told => apdr::Input::Olsr(told.for_olsr()?),
        })
    }

    fn generic<M>(self, mine: impl Fn(RoutingMessage) -> Option<M>) -> Option<Input<M>> {
        Some(match self {
            Self::Packet { packet, .. } => Input::Packet(packet),
            Self::Message { from, ttl, message } => {
                Input::Message { from: from.addr(), ttl, message: mine(message)? }
            }
            Self::LinkFailed { next_hop, packet, .. } | Self::Purged { next_hop, packet, .. } => {
                Input::LinkFailed { next_hop: next_hop.addr(), packet }
            }
            Self::MessageLost { next_hop, .. } => Input::MessageLost { next_hop: next_hop.addr() },
            Self::MessagePurged { .. } => return None,
        })
    }

    pub(super) fn for_dsr(self) -> Option<dsr::Input> {
        let mine = |message| match message {
            RoutingMessage::Dsr(message) => Some(message),
            _ => None,
        };
        Some(match self {
            Self::Packet { packet, route, .. } => {
                dsr::Input::Packet { packet, route: route.map(|route| *route) }
            }
            Self::Message { ttl, message, .. } => dsr::Input::Message { ttl, message: mine(message)? },
            Self::LinkFailed { next_hop, packet, route, quoted } => {
                let (next_hop, route) = (next_hop.addr(), *route?);
                dsr::Input::LinkFailed { next_hop, packet, route, quoted: Some(quoted) }
            }
            Self::MessageLost { next_hop, message } => {
                dsr::Input::MessageLost { next_hop: next_hop.addr(), message: mine(message)? }
            }
            Self::Purged { next_hop, packet, route } => {
                dsr::Input::Purged { next_hop: next_hop.addr(), packet, route: *route? }
            }
            Self::MessagePurged { next_hop, message } => {
                dsr::Input::MessagePurged { next_hop: next_hop.addr(), message: mine(message)? }
            }
        })
    }

    pub(super) fn for_custom(self) -> Option<RoutingInput> {
        Some(match self {
            Self::Packet { packet, .. } => RoutingInput::Packet(routable(&packet)),
            Self::Message { from, message: RoutingMessage::Custom { bytes, .. }, .. } => {
                RoutingInput::Message { from, bytes }
            }
            Self::LinkFailed { next_hop, packet, .. } => {
                RoutingInput::LinkFailed { next_hop, packet: routable(&packet) }
            }
            _ => return None,
        })
    }
}

impl Said {
    pub(super) fn by_aodv(output: Output<aodv_wire::Message>, node: NodeId, preset: aodv::Preset) -> Self {
        Self::generic(output, node, |message| {
            let bytes = preset.accounted_len(&message);
            (RoutingMessage::Aodv(message), bytes)
        })
    }

    pub(super) fn by_olsr(output: Output<Arc<olsr_wire::Packet>>, node: NodeId) -> Self {
        Self::generic(output, node, |packet| {
            let bytes = IP_AND_UDP + packet.len();
            (RoutingMessage::Olsr(packet), bytes)
        })
    }

    pub(super) fn by_apdr(output: apdr::Output, from: NodeId) -> Self {
        match output {
            apdr::Output::Forward { ticket, next_hop, route } => {
                Self::Forward { ticket, next_hop: node(next_hop), route: Some(Arc::new(route)) }
            }
            apdr::Output::Olsr(output) => Self::by_olsr(output, from),
        }
    }

    fn generic<M>(output: Output<M>, from: NodeId, wrap: impl Fn(M) -> (RoutingMessage, usize)) -> Self {
        match output {
            Output::Forward { ticket, next_hop } => {
                Self::Forward { ticket, next_hop: node(next_hop), route: None }
            }
            Output::Drop { ticket, reason, tell_source } => Self::Drop { ticket, reason, tell_source },
            Output::Message { to, ttl, message } => {
                let next_hop = to.map_or(BROADCAST, node);
                let (message, bytes) = wrap(message);
                Self::Message(Outgoing { next_hop, ttl, source: from, destination: next_hop, message, bytes })
            }
            Output::Purge { next_hop } => Self::Purge { next_hop: node(next_hop) },
            Output::Discard { next_hop, destination } => {
                Self::Discard { next_hop: node(next_hop), destination: destination.map(node) }
            }
            Output::Notice { peer, notice } => Self::Notice { peer: node(peer), notice },
        }
    }

    pub(super) fn by_dsr(output: dsr::Output) -> Self {
        match output {
            dsr::Output::Forward { ticket, next_hop, route } => {
                Self::Forward { ticket, next_hop: node(next_hop), route: Some(Arc::new(route)) }
            }
            // Route errors of the protocol's own tell the source.
            dsr::Output::Drop { ticket, reason } => Self::Drop { ticket, reason, tell_source: false },
            dsr::Output::Message { to, ttl, message } => Self::Message(Outgoing {
                next_hop: to.map_or(BROADCAST, node),
                ttl,
                source: node(message.source),
                destination: NodeId::from_addr(message.destination).unwrap_or(BROADCAST),
                bytes: IP + message.header.accounted_len(),
                message: RoutingMessage::Dsr(message),
            }),
            dsr::Output::Purge { next_hop } => Self::Purge { next_hop: node(next_hop) },
            dsr::Output::Notice { peer, notice } => Self::Notice { peer: node(peer), notice },
        }
    }

    pub(super) fn by_custom(output: RoutingOutput, from: NodeId) -> Self {
        match output {
            RoutingOutput::Forward { ticket, next_hop } => {
                Self::Forward { ticket: Ticket(ticket), next_hop, route: None }
            }
            RoutingOutput::Drop { ticket, reason } => {
                Self::Drop { ticket: Ticket(ticket), reason, tell_source: false }
            }
            RoutingOutput::Message { to, kind, bytes } => {
                let next_hop = to.unwrap_or(BROADCAST);
                let length = IP_AND_UDP + bytes.len();
                let message = RoutingMessage::Custom { kind, bytes };
                Self::Message(Outgoing {
                    next_hop,
                    ttl: 1,
                    source: from,
                    destination: next_hop,
                    message,
                    bytes: length,
                })
            }
        }
    }
}

fn routable(packet: &Routable) -> extension::Routable {
    extension::Routable {
        ticket: packet.ticket.0,
        source: node(packet.source),
        destination: node(packet.destination),
        hops: packet.hops,
    }
}

fn node(address: Ipv4Addr) -> NodeId {
    NodeId::from_addr(address).expect("agents only know addresses of the simulated network")
}
