//! Wires: links from gateways to hosts, which have no radio. In the mesh, a packet to or from a host has the
//! address of its gateway, so that routing protocols ignore hosts.

use std::collections::VecDeque;
use std::sync::Arc;

use multihop_core::{DropReason, Duration, Instant, NodeId, Rng};
use multihop_radio::frame::PacketHandle;

use super::action::Action;
use super::agenda::{Direction, Owner};
use super::context::Context;
use super::ids::Neighbour;
use crate::engine::Rank;
use multihop_scenario::{Host, OPPORTUNITY, Scenario, WireTrace};

/// All wires of a network.
#[derive(Debug)]
pub(super) struct Wires {
    /// Directions of wires: for each host the direction towards it, then the direction from it.
    ways: Vec<Way>,
    /// Transmission lines with a rate, two for each host with a separate wire. Lines of other hosts are
    /// unused.
    lines: Vec<Line>,
}

/// One direction between a gateway and a host, with its packets in transit and its losses.
#[derive(Debug)]
struct Way {
    host: Host,
    /// Node or host at the receiving end of this direction.
    far: NodeId,
    near: NodeId,
    /// Index of the transmission line that this direction uses.
    line: usize,
    /// Packets on the wire, in order of arrival.
    packets: VecDeque<OnWire>,
    /// Probability that a packet is lost in this direction.
    loss: f64,
    /// Trace of the rate of this direction, in place of a constant rate.
    trace: Option<Arc<WireTrace>>,
    /// Draws which packets are lost.
    rng: Rng,
}

/// One direction of a wire, which hosts may share.
#[derive(Debug)]
struct Line {
    /// Instant at which all queued packets will have been transmitted.
    free_at: Instant,
    /// Start of the transmission of each packet that waits or waited until recently.
    begins: VecDeque<Instant>,
    /// Next opportunity of the trace, by its number, and the bytes that are left of it.
    opportunity: (u64, u32),
}

/// A packet that is queued, being transmitted, or propagating.
#[derive(Debug)]
struct OnWire {
    arrives: Instant,
    packet: PacketHandle,
    /// Whether the packet is lost behind the wire.
    is_lost: bool,
}

impl Wires {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let way = |host: &Host, purpose, id: NodeId| Way {
            host: host.clone(),
            near: host.gateway,
            far: id,
            line: 2 * host.wire,
            packets: VecDeque::new(),
            loss: host.loss_to_host,
            trace: host.trace_to_host.clone(),
            rng: Rng::stream(scenario.seed, purpose, u64::from(id.0)),
        };
        let both = |(id, host): (NodeId, &Host)| {
            let back = Way {
                near: id,
                far: host.gateway,
                line: 2 * host.wire + 1,
                loss: host.loss_from_host,
                trace: host.trace_from_host.clone(),
                ..way(host, "wire/from-host", id)
            };
            [way(host, "wire/to-host", id), back]
        };
        let ways: Vec<_> = scenario.hosts().flat_map(both).collect();
        let line = || Line { free_at: Instant::ZERO, begins: VecDeque::new(), opportunity: (0, OPPORTUNITY) };
        let lines = (0..ways.len()).map(|_| line()).collect();
        Self { ways, lines }
    }

    pub(super) fn len(&self) -> usize {
        self.ways.len()
    }

    /// Sends a packet over the wire from `node` to its destination, if there is one; returns whether it was
    /// sent.
    pub(super) fn send(&mut self, context: &mut Context<'_>, node: NodeId, packet: PacketHandle) -> bool {
        if self.ways.is_empty() {
            return false;
        }
        // A host has a single link, for all destinations.
        let (destination, is_host) =
            (context.packets.get(packet).destination, context.scenario.is_host(node));
        let takes = |way: &Way| way.near == node && (way.far == destination || is_host);
        let Some(place) = self.ways.iter().position(takes) else { return false };
        let going = context.packets.get_mut(packet);
        going.route = None;
        // The second IP header exists only in the mesh.
        let bytes = going.bytes() - going.ip_extra;
        let way = &mut self.ways[place];
        if !way.send(&mut self.lines[way.line], context.now, packet, bytes) {
            context.drop_packet(node, packet, DropReason::QueueFull);
        }
        self.arm(context, place);
        true
    }

    /// Whether the queue of a host has room for another packet.
    pub(super) fn has_room(&self, now: Instant, host: NodeId) -> bool {
        self.ways.iter().any(|way| way.near == host && self.lines[way.line].has_room(now, way.host.queue))
    }

    /// Handles the arrival of packets at the far end of a wire.
    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_>, wire: u32) {
        let now = context.now;
        let Way { near, far, packets, .. } = &mut self.ways[wire as usize];
        while let Some(sent) = packets.pop_front_if(|sent| sent.arrives <= now) {
            if sent.is_lost {
                context.drop_packet(*near, sent.packet, DropReason::ChannelError);
            } else {
                let from = Neighbour::on_first(*near);
                let direction = Direction::Up { from };
                context.actions.request(Action::Arrive { node: *far, packet: sent.packet, direction });
            }
        }
        self.arm(context, wire as usize);
    }

    /// Drops the packets on wires at the end of the run.
    pub(super) fn end_packets(&self, context: &mut Context<'_>) {
        for way in &self.ways {
            for sent in &way.packets {
                let packet = context.packets.get(sent.packet);
                context.observer.dropped(context.now, way.near, packet, DropReason::End);
            }
        }
    }

    fn arm(&self, context: &mut Context<'_>, place: usize) {
        let Way { far, ref packets, .. } = self.ways[place];
        let wire = Owner::Wire(u32::try_from(place).expect("a checked number of hosts"));
        context.agenda.arm(wire, Rank::Timer, far, packets.front().map(|sent| sent.arrives));
    }
}

impl Way {
    /// Sends a packet over the wire, unless its queue is full.
    fn send(&mut self, line: &mut Line, now: Instant, packet: PacketHandle, bytes: u32) -> bool {
        if !line.has_room(now, self.host.queue) {
            return false;
        }
        let transmitted = match &self.trace {
            Some(trace) => line.follow(trace, now, bytes),
            None => line.transmit(now, self.host.rate.time_for(bytes)),
        };
        let is_lost = self.loss > 0.0 && self.rng.chance(self.loss);
        self.packets.push_back(OnWire { arrives: transmitted + self.host.delay, packet, is_lost });
        true
    }
}

impl Line {
    /// Queues a packet; returns the instant at which its transmission ends.
    fn transmit(&mut self, now: Instant, time: Duration) -> Instant {
        while self.begins.pop_front_if(|begins| *begins <= now).is_some() {}
        let begins = self.free_at.max(now);
        self.begins.push_back(begins);
        self.free_at = begins + time;
        self.free_at
    }

    /// Queues a packet that leaves at the opportunities of a trace; returns the instant of its last one.
    fn follow(&mut self, trace: &WireTrace, now: Instant, bytes: u32) -> Instant {
        while self.begins.pop_front_if(|begins| *begins <= now).is_some() {}
        let (mut next, mut left) = self.opportunity;
        if at(trace, next) < now {
            (next, left) = (trace.first_from(now.as_nanos().div_ceil(MILLISECOND)), OPPORTUNITY);
        }
        self.begins.push_back(at(trace, next));
        let mut missing = bytes;
        while missing > left {
            missing -= left;
            (next, left) = (next + 1, OPPORTUNITY);
        }
        self.free_at = at(trace, next);
        self.opportunity = if missing == left { (next + 1, OPPORTUNITY) } else { (next, left - missing) };
        self.free_at
    }

    /// Whether fewer than `limit` packets wait.
    fn has_room(&self, now: Instant, limit: usize) -> bool {
        self.begins.len() - self.begins.partition_point(|begins| *begins <= now) < limit
    }
}

/// Instant of an opportunity of a trace, at most the last instant that 64 bits of nanoseconds can express.
fn at(trace: &WireTrace, index: u64) -> Instant {
    Instant::from_nanos(trace.at(index).saturating_mul(MILLISECOND))
}

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;
