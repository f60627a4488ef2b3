//! Packets inside the simulator, and their pool.

use std::sync::Arc;

use multihop_core::{FlowId, Instant, LostSegment, NodeId, SegmentId};
use multihop_radio::frame::PacketHandle;
use multihop_routing::message::Message as RoutingMessage;
use multihop_transport::connection::Segment;
use multihop_wire::Quoted;
use multihop_wire::dsr::SourceRoute;

use crate::real::{EthernetFrame, RealPacket, WifiFrame};
use crate::segment::{Envelope, format};

/// An IP packet, an ARP message, or an Ethernet frame of a real kernel.
#[derive(Debug)]
pub struct Packet {
    /// Unique number of the packet.
    pub uid: u64,
    /// Instant at which the sender created the packet.
    pub created: Instant,
    /// Node that created the packet.
    pub source: NodeId,
    /// Final destination of the packet.
    pub destination: NodeId,
    /// Number of hops that the packet may still take.
    pub ttl: u8,
    /// Number of links that the packet has crossed.
    pub hops: u8,
    /// DSCP of a packet whose flow sets the DSCP of each packet; `None` if the category of the flow applies.
    pub dscp: Option<u8>,
    /// Bytes of a second IP header.
    pub ip_extra: u32,
    /// Data that the packet acknowledges. A real receiver would echo a timestamp; this field adds no bytes on
    /// the air.
    pub trigger: Option<Trigger>,
    /// Source route of the packet, if it has one (DSR).
    pub route: Option<Arc<SourceRoute>>,
    /// Contents of the packet, for example a segment or a routing message.
    pub body: Body,
}

impl Clone for Packet {
    fn clone(&self) -> Self {
        Self { route: self.route.clone(), body: self.body.clone(), ..*self }
    }
}

/// The data that caused its receiver to send an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// Instant at which the data left its source.
    pub sent: Instant,
    /// Instant at which the data arrived at its receiver.
    pub arrived: Instant,
}

/// The content of a packet.
#[derive(Clone, Debug)]
pub enum Body {
    /// A segment of a transport.
    Segment {
        /// Flow to which the segment belongs.
        flow: FlowId,
        /// Header and data of the transport.
        segment: Segment,
    },
    /// A message of the routing protocol.
    Routing {
        /// Message of a routing agent to its peers.
        message: RoutingMessage,
        /// Bytes of the IP packet, as the protocol accounts for them.
        bytes: u32,
        /// Whether the packet overtakes data in the interface queue.
        urgent: bool,
    },
    /// A packet of a file to every node.
    Spread {
        /// Flow that sends the file.
        flow: FlowId,
        /// Content of the packet.
        packet: Arc<multihop_spread::Packet>,
        /// Bytes of the UDP datagram, the header of UDP and the seal included.
        bytes: u32,
    },
    /// ICMP destination unreachable, with the packet that could not be forwarded.
    Unreachable(Box<Packet>),
    /// A packet of a real program, in an emulation.
    Real(RealPacket),
    /// An Ethernet frame of a real kernel, in an emulation.
    Ethernet(EthernetFrame),
    /// An 802.11 frame of a real kernel.
    Wifi(WifiFrame),
    /// Request or answer of address resolution (ARP).
    Arp(Arp),
}

/// An ARP message between nodes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arp {
    /// ARP request for the destination's MAC address.
    Request,
    /// ARP reply with the source's MAC address.
    Reply,
}

/// TTL of a new packet.
pub const INITIAL_TTL: u8 = 64;

const IP_HEADER: u32 = 20;
const ARP_BYTES: u32 = 28;
/// Length of an ICMP error's header and quote, bytes: ICMP header, quoted IP header, and quoted bytes of its payload.
const ICMP_UNREACHABLE: usize = 8 + 20 + 20;
/// First port number: flow 0 uses it at both ends, flow n a number higher by n.
const FIRST_PORT: u16 = 1024;

impl Packet {
    /// Length of the packet from the IP header on; for ARP of the message, for an Ethernet frame of its
    /// payload.
    pub fn bytes(&self) -> u32 {
        let carried = match &self.body {
            Body::Arp(_) => return ARP_BYTES,
            Body::Ethernet(frame) => {
                return u32::try_from(frame.payload().len()).expect("frames are below 64 KiB");
            }
            Body::Wifi(frame) => return frame.accounted(),
            Body::Segment { segment, .. } => format(segment).len(),
            Body::Routing { bytes, .. } => return *bytes,
            Body::Spread { bytes, .. } => *bytes as usize,
            Body::Unreachable(_) => ICMP_UNREACHABLE,
            Body::Real(packet) => packet.len() - IP_HEADER as usize,
        };
        let route = self.route.as_ref().map_or(0, |route| route.accounted_len());
        IP_HEADER + self.ip_extra + u32::try_from(route + carried).expect("packets are below 64 KiB")
    }

    /// The flow of the packet, and its segment; `None` for packets without a segment.
    pub(crate) const fn segment(&self) -> Option<(FlowId, &Segment)> {
        match &self.body {
            Body::Segment { flow, segment } => Some((*flow, segment)),
            _ => None,
        }
    }

    /// The flow that the packet belongs to.
    pub fn flow(&self) -> Option<FlowId> {
        match &self.body {
            Body::Segment { flow, .. } | Body::Spread { flow, .. } => Some(*flow),
            _ => None,
        }
    }

    /// Whether the packet is a segment with data whose acknowledgement is measured.
    pub(crate) fn carries_data(&self) -> bool {
        self.segment().is_some_and(|(_, segment)| format(segment).carries_data())
    }

    /// Whether the packet belongs to a routing protocol.
    pub fn is_routing(&self) -> bool {
        matches!(self.body, Body::Routing { .. })
    }

    /// DSCP of a packet of a real program, or of a flow that sets it; `None` for other simulated packets.
    pub(crate) fn dscp(&self) -> Option<u8> {
        match &self.body {
            Body::Real(packet) => Some(packet.dscp()),
            Body::Ethernet(frame) => frame.dscp(),
            Body::Wifi(frame) => Some(frame.dscp()),
            _ => self.dscp,
        }
    }

    /// Whether the packet overtakes data in the interface queue.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(self.body, Body::Routing { urgent: true, .. })
    }

    /// The identity of the packet's segment in a link-failure notice.
    pub(crate) fn lost_segment(&self) -> LostSegment {
        match &self.body {
            Body::Segment { flow, segment } => {
                let port = port_of(*flow);
                LostSegment { source: port, destination: port, segment: format(segment).id() }
            }
            Body::Real(_) => self.quoted().lost_segment(),
            _ => LostSegment { source: 0, destination: 0, segment: SegmentId::Other },
        }
    }

    /// The start of the packet, as ICMP errors quote it.
    pub(crate) fn quoted(&self) -> Quoted {
        let (source, destination) = (self.source.addr(), self.destination.addr());
        let (protocol, transport) = match &self.body {
            Body::Segment { flow, segment } => {
                let envelope = Envelope { port: port_of(*flow), source, destination };
                (format(segment).protocol(), format(segment).quoted(&envelope))
            }
            Body::Real(packet) => packet.transport(),
            _ => (0, [0; 20]),
        };
        Quoted { source, destination, protocol, transport }
    }
}

/// Port of the flow at both of its ends.
pub fn port_of(flow: FlowId) -> u16 {
    u16::try_from(flow.0)
        .ok()
        .and_then(|n| FIRST_PORT.checked_add(n))
        .expect("a scenario has fewer flows than ports")
}

/// Packets in transit, by handle. A packet exists as long as it has a holder: a queue, a MAC that may
/// retransmit it, or a frame in flight.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    packets: Vec<Option<(Packet, u32)>>,
    free: Vec<u32>,
}

impl Pool {
    /// Adds a packet with one holder.
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketHandle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            u32::try_from(self.packets.len() - 1).expect("fewer than 2^32 packets are in transit")
        });
        self.packets[index as usize] = Some((packet, 1));
        PacketHandle(index)
    }

    pub(crate) fn get(&self, handle: PacketHandle) -> &Packet {
        &self.packets[handle.0 as usize].as_ref().expect(HELD).0
    }

    /// Adds a holder: the packet is freed after one more release.
    pub(crate) fn hold(&mut self, handle: PacketHandle) {
        self.packets[handle.0 as usize].as_mut().expect(HELD).1 += 1;
    }

    /// Removes a holder; the packet is freed with its last holder.
    pub(crate) fn release(&mut self, handle: PacketHandle) {
        let slot = &mut self.packets[handle.0 as usize];
        let (_, holders) = slot.as_mut().expect(HELD);
        *holders -= 1;
        if *holders == 0 {
            *slot = None;
            self.free.push(handle.0);
        }
    }

    /// The packet, mutable for its only holder.
    pub(crate) fn get_mut(&mut self, handle: PacketHandle) -> &mut Packet {
        let (packet, holders) = self.packets[handle.0 as usize].as_mut().expect(HELD);
        debug_assert_eq!(*holders, 1, "a packet that changes has one holder");
        packet
    }

    /// A packet that one holder may change: a copy if there are other holders.
    pub(crate) fn claim(&mut self, handle: PacketHandle) -> PacketHandle {
        let (packet, holders) = self.packets[handle.0 as usize].as_mut().expect(HELD);
        if *holders == 1 {
            return handle;
        }
        *holders -= 1;
        let copy = packet.clone();
        self.insert(copy)
    }

    /// Removes a packet for one of its holders and returns it, or a copy if there are other holders.
    pub(crate) fn take(&mut self, handle: PacketHandle) -> Packet {
        let slot = &mut self.packets[handle.0 as usize];
        if let Some((packet, holders @ 2..)) = slot {
            *holders -= 1;
            return packet.clone();
        }
        self.free.push(handle.0);
        slot.take().expect(HELD).0
    }
}

const HELD: &str = "only holders of a packet keep its handle";

#[cfg(test)]
pub(crate) mod tests {
    use multihop_transport::connection::Datagram;

    use super::*;

    /// A datagram with data of this size.
    pub(crate) fn datagram(flow: FlowId, size: u32) -> Body {
        let segment = Segment::Datagram(Datagram { port: port_of(flow), serial: 0, size });
        Body::Segment { flow, segment }
    }

    pub(crate) fn packet(uid: u64) -> Packet {
        Packet {
            uid,
            created: Instant::ZERO,
            source: NodeId(0),
            destination: NodeId(1),
            ttl: INITIAL_TTL,
            hops: 0,
            dscp: None,
            ip_extra: 0,
            trigger: None,
            route: None,
            body: datagram(FlowId(3), 1460),
        }
    }

    #[test]
    fn a_packet_ends_when_its_last_holder_releases_it() {
        let mut pool = Pool::default();
        let a = pool.insert(packet(1));
        pool.hold(a);
        pool.release(a);
        assert_eq!(pool.get(a).uid, 1);
        pool.release(a);
        assert_eq!(pool.insert(packet(2)), a, "its slot is reused");
        assert_eq!(pool.take(a).uid, 2);
    }

    #[test]
    fn claiming_a_shared_packet_copies_it() {
        let mut pool = Pool::default();
        let a = pool.insert(packet(1));
        pool.hold(a);
        let copy = pool.claim(a);
        assert_ne!(copy, a);
        assert_eq!(pool.get(copy).uid, 1);
        assert_eq!(pool.claim(a), a, "the packet itself");
        pool.get_mut(a).ttl = 1;
        assert_eq!(pool.take(a).ttl, 1);
        assert_eq!(pool.insert(packet(2)), a, "its slot is reused");
    }

    #[test]
    fn packets_have_the_right_sizes_and_flows() {
        assert_eq!(packet(1).bytes(), 1488);
        assert_eq!(packet(1).flow(), Some(FlowId(3)));
    }
}
