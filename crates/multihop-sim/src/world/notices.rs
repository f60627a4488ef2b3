//! Notices of IP and routing agents to transports and programs.

use multihop_core::{FlowId, NodeId, Notice};
use multihop_radio::frame::PacketHandle;

use super::action::Action;
use super::context::Context;
use super::ends::Ends;
use super::ids::EndId;
use super::ip::Ip;
use crate::packet::{Body, Packet, port_of};
use crate::real::Trouble;

impl Ends {
    /// Notifies the transport or program at the source of a packet that cannot be forwarded.
    pub(super) fn notify_source(
        &mut self,
        context: &mut Context<'_>,
        ip: &mut Ip,
        node: NodeId,
        packet: PacketHandle,
    ) {
        let lost = context.packets.get(packet);
        match lost.body {
            Body::Real(_) => ip.send_error(context, node, packet, Trouble::Unreachable),
            // DEVIATION icmp-1: ICMP destination unreachable (RFC 1812, 4.3.2.7) is sent only to transports that use
            // it, and to real programs. Other transports run as in their publications.
            Body::Segment { flow, .. } if self.takes_notices(flow) => {
                if lost.source == node {
                    let lost = context.packets.take(packet);
                    return self.notify_link_failed(context, ip, &lost);
                }
                ip.send_unreachable(context, node, packet);
            }
            _ => {}
        }
        context.packets.release(packet);
    }

    /// Notifies the end that sent a segment of the loss of this segment by a link failure.
    pub(super) fn notify_link_failed(&mut self, context: &mut Context<'_>, ip: &mut Ip, lost: &Packet) {
        let Some(flow) = lost.flow() else { return };
        let is_data = lost.source == context.scenario.flows[flow.index()].from;
        let end = if is_data { EndId::sender(flow) } else { EndId::receiver(flow) };
        self.notify_end(context, ip, end, Notice::LinkFailed(lost.lost_segment()));
    }

    /// Whether a flow's transport uses notices.
    fn takes_notices(&self, flow: FlowId) -> bool {
        self.end(EndId::sender(flow)).wants_notices()
    }

    /// Delivers a routing agent's notice to its node's connections with `peer`, or to the connection whose
    /// segment was lost.
    pub(super) fn notify(&self, context: &mut Context<'_>, node: NodeId, peer: NodeId, notice: Notice) {
        for end in self.peers.ends(node, context.scenario.in_mesh(peer)) {
            let flow = end.flow();
            // DSR reports every link failure, whether or not a transport uses notices.
            let concerns_it = match &notice {
                Notice::LinkFailed(lost) => lost.source == port_of(flow) && self.takes_notices(flow),
                _ => true,
            };
            if concerns_it {
                context.actions.request(Action::NotifyEnd { end, notice });
            }
        }
    }

    /// Delivers a notice to one end.
    pub(super) fn notify_end(&mut self, context: &mut Context<'_>, ip: &mut Ip, end: EndId, notice: Notice) {
        self.ends[end.index()].notice(context.now, notice);
        self.drain(context, ip, end);
    }

    /// Announces the length of a flow's path to both ends if routes are fixed and the length is known from
    /// the start.
    pub(super) fn announce_known_path(&self, context: &mut Context<'_>, ip: &mut Ip, id: FlowId) {
        let flow = &context.scenario.flows[id.index()];
        let [from, to] = [flow.from, flow.to].map(|end| context.scenario.in_mesh(end));
        for (end, node, peer) in [(EndId::sender(id), from, to), (EndId::receiver(id), to, from)] {
            if let Some(hops) = ip.router.hops(node, peer) {
                let notice = Notice::PathInfo { hops: u8::try_from(hops).unwrap_or(u8::MAX) };
                context.actions.request(Action::NotifyEnd { end, notice });
            }
        }
    }
}
