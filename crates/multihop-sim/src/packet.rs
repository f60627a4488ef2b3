//! Packets inside the simulator, and their pool.

use std::sync::Arc;

use multihop_core::{FlowId, Instant, LostSegment, NodeId, SegmentId};
use multihop_radio::frame::PacketHandle;
use multihop_routing::message::Message as RoutingMessage;
use multihop_transport::connection::{Datagram, Message, Segment};
use multihop_wire::dsr::SourceRoute;
use multihop_wire::{PROTOCOL_EXPERIMENT, Quoted, mesh, tcp, tpa, udp};

use crate::real::{EthernetFrame, RealPacket};

/// An IP packet, an ARP message, or an Ethernet frame of a real kernel.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Unique number of the packet.
    pub uid: u64,
    /// When the sender created it.
    pub created: Instant,
    /// Source address.
    pub source: NodeId,
    /// Final destination.
    pub destination: NodeId,
    /// Remaining hops.
    pub ttl: u8,
    /// Links that it has crossed.
    pub hops: u8,
    /// Bytes of a second IP header.
    pub ip_extra: u32,
    /// The data that it acknowledges. It has no bytes on the air: a real receiver would echo a timestamp.
    pub trigger: Option<Trigger>,
    /// The source route, if it has one (DSR).
    pub route: Option<Arc<SourceRoute>>,
    /// Its content.
    pub body: Body,
}

/// The data that made its receiver send an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    /// When it left its source.
    pub sent: Instant,
    /// When it arrived.
    pub arrived: Instant,
}

/// The content of a packet.
#[derive(Clone, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(tcp::Segment),
    /// A TPA segment, in UDP.
    Tpa(tpa::Segment),
    /// A UDP datagram of a simulated application.
    Udp(Datagram),
    /// A segment of `mesh`.
    Mesh {
        /// Its flow.
        flow: FlowId,
        /// The segment.
        segment: mesh::Segment,
    },
    /// A segment of a user-defined transport.
    Custom {
        /// Its flow.
        flow: FlowId,
        /// Header and data.
        message: Message,
    },
    /// A message of the routing protocol.
    Routing {
        /// The message.
        message: RoutingMessage,
        /// Bytes of the IP packet, as the protocol accounts for them.
        bytes: u32,
        /// Whether it overtakes data in the interface queue.
        urgent: bool,
    },
    /// ICMP destination unreachable, with the packet that could not be forwarded.
    Unreachable(Box<Packet>),
    /// A packet of a real program, in an emulation.
    Real(RealPacket),
    /// An Ethernet frame of a real kernel, in an emulation.
    Ethernet(EthernetFrame),
    /// Address resolution.
    Arp(Arp),
}

/// An ARP message between nodes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arp {
    /// Asks for the destination's MAC address.
    Request,
    /// Gives the source's MAC address.
    Reply,
}

/// TTL of a new packet.
pub const INITIAL_TTL: u8 = 64;

const IP_HEADER: u32 = 20;
/// Bytes of the ports, which precede the header of a user-defined transport.
const PORTS: usize = 4;
const ARP_BYTES: u32 = 28;
/// ICMP header, quoted IP header, and quoted bytes of its payload.
const ICMP_UNREACHABLE: usize = 8 + 20 + 20;
/// Ports of flow 0; flow n has both ports n higher.
const FIRST_PORT: u16 = 1024;

impl Body {
    /// The content of a packet with a segment of this flow.
    pub(crate) fn of(flow: FlowId, segment: Segment) -> Self {
        match segment {
            Segment::Tcp(segment) => Self::Tcp(segment),
            Segment::Tpa(segment) => Self::Tpa(segment),
            Segment::Datagram(datagram) => Self::Udp(datagram),
            Segment::Mesh(segment) => Self::Mesh { flow, segment },
            Segment::Custom(message) => Self::Custom { flow, message },
            // Ends in simulations need no connection around their messages.
            Segment::Opened(segment) => Self::Custom { flow, message: segment.into() },
        }
    }

    /// The segment for an end of a flow, if it has one.
    pub(crate) fn into_segment(self) -> Option<Segment> {
        match self {
            Self::Tcp(segment) => Some(Segment::Tcp(segment)),
            Self::Tpa(segment) => Some(Segment::Tpa(segment)),
            Self::Udp(datagram) => Some(Segment::Datagram(datagram)),
            Self::Mesh { segment, .. } => Some(Segment::Mesh(segment)),
            Self::Custom { message, .. } => Some(Segment::Custom(message)),
            Self::Routing { .. }
            | Self::Unreachable(_)
            | Self::Real(_)
            | Self::Ethernet(_)
            | Self::Arp(_) => None,
        }
    }
}

impl Packet {
    /// Bytes from the IP header on; of the ARP message, for ARP; of its payload, for an Ethernet frame.
    pub fn bytes(&self) -> u32 {
        let carried = match &self.body {
            Body::Arp(_) => return ARP_BYTES,
            Body::Ethernet(frame) => {
                return u32::try_from(frame.payload().len()).expect("frames are below 64 KiB");
            }
            Body::Tcp(segment) => segment.header_len() + segment.payload.len(),
            Body::Tpa(segment) => udp::Datagram::HEADER_LEN + segment.wire_len(tpa::Framing::Udp),
            Body::Udp(datagram) => udp::Datagram::HEADER_LEN + datagram.size as usize,
            Body::Mesh { segment, .. } => PORTS + segment.header_len() + segment.payload().len(),
            Body::Custom { message, .. } => PORTS + message.header.len() + message.data.len(),
            Body::Routing { bytes, .. } => return *bytes,
            Body::Unreachable(_) => ICMP_UNREACHABLE,
            Body::Real(packet) => packet.len() - IP_HEADER as usize,
        };
        let route = self.route.as_ref().map_or(0, |route| route.accounted_len());
        IP_HEADER + self.ip_extra + u32::try_from(route + carried).expect("packets are below 64 KiB")
    }

    /// The flow that the packet belongs to, by its ports.
    pub fn flow(&self) -> Option<FlowId> {
        let port = match &self.body {
            Body::Tcp(segment) => segment.destination,
            Body::Tpa(segment) => segment.destination,
            Body::Udp(datagram) => datagram.port,
            Body::Mesh { flow, .. } | Body::Custom { flow, .. } => return Some(*flow),
            Body::Routing { .. }
            | Body::Unreachable(_)
            | Body::Real(_)
            | Body::Ethernet(_)
            | Body::Arp(_) => return None,
        };
        Some(FlowId(u32::from(port.checked_sub(FIRST_PORT)?)))
    }

    /// Whether it is a segment with data.
    pub(crate) fn carries_data(&self) -> bool {
        matches!(&self.body, Body::Tcp(segment) if !segment.payload.is_empty())
    }

    /// Whether it belongs to a routing protocol.
    pub fn is_routing(&self) -> bool {
        matches!(self.body, Body::Routing { .. })
    }

    /// Whether it overtakes data in the interface queue.
    pub(crate) fn is_urgent(&self) -> bool {
        matches!(self.body, Body::Routing { urgent: true, .. })
    }

    /// The identity of the packet's segment in a link-failure notice.
    pub(crate) fn lost_segment(&self) -> LostSegment {
        let (source, destination, segment) = match &self.body {
            Body::Tcp(segment) => (segment.source, segment.destination, SegmentId::Tcp(segment.seq.0)),
            Body::Tpa(segment) => (segment.source, segment.destination, segment.id()),
            Body::Udp(datagram) => (datagram.port, datagram.port, SegmentId::Other),
            Body::Mesh { flow, segment } => {
                (port_of(*flow), port_of(*flow), SegmentId::Custom(segment.start()))
            }
            Body::Custom { flow, message } => {
                (port_of(*flow), port_of(*flow), SegmentId::Custom(start_of(&message.header)))
            }
            Body::Real(_) => return self.quoted().lost_segment(),
            Body::Routing { .. } | Body::Unreachable(_) | Body::Ethernet(_) | Body::Arp(_) => {
                (0, 0, SegmentId::Other)
            }
        };
        LostSegment { source, destination, segment }
    }

    /// The start of the packet, as errors quote it.
    pub(crate) fn quoted(&self) -> Quoted {
        let (source, destination) = (self.source.addr(), self.destination.addr());
        let quoted = |protocol, transport| Quoted { source, destination, protocol, transport };
        match &self.body {
            Body::Tcp(segment) => segment.quoted(source, destination),
            Body::Tpa(segment) => segment.quoted_in_udp(source, destination),
            Body::Udp(datagram) => quoted(udp::PROTOCOL, with_ports(datagram.port, &[])),
            Body::Mesh { flow, segment } => {
                quoted(PROTOCOL_EXPERIMENT, with_ports(port_of(*flow), &segment.start()))
            }
            Body::Custom { flow, message } => {
                quoted(PROTOCOL_EXPERIMENT, with_ports(port_of(*flow), &message.header))
            }
            Body::Real(packet) => {
                let (protocol, transport) = packet.transport();
                quoted(protocol, transport)
            }
            Body::Routing { .. } | Body::Unreachable(_) | Body::Ethernet(_) | Body::Arp(_) => {
                quoted(0, [0; 20])
            }
        }
    }
}

/// Both ports of a flow, followed by the start of the header.
fn with_ports(port: u16, header: &[u8]) -> [u8; 20] {
    let [a, b] = port.to_be_bytes();
    let mut out = [0; 20];
    out[..PORTS].copy_from_slice(&[a, b, a, b]);
    out[PORTS..].copy_from_slice(&start_of::<16>(header));
    out
}

/// The first `N` bytes, padded with zeros.
fn start_of<const N: usize>(bytes: &[u8]) -> [u8; N] {
    core::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0))
}

/// The datagram that carries a TPA segment.
pub(crate) fn in_udp(segment: &tpa::Segment) -> udp::Datagram {
    let mut payload = Vec::with_capacity(1500);
    segment.emit_in_udp(&mut payload);
    udp::Datagram { source: segment.source, destination: segment.destination, payload: payload.into() }
}

/// Both ports of a flow.
pub fn port_of(flow: FlowId) -> u16 {
    u16::try_from(flow.0)
        .ok()
        .and_then(|n| FIRST_PORT.checked_add(n))
        .expect("a scenario has fewer flows than ports")
}

/// Packets in transit, by handle. A packet lives as long as it has a holder: a queue, a MAC that may retransmit it, a
/// frame in flight.
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

    /// Adds a holder.
    pub(crate) fn hold(&mut self, handle: PacketHandle) {
        self.packets[handle.0 as usize].as_mut().expect(HELD).1 += 1;
    }

    /// Removes a holder; the packet ends with its last holder.
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

    /// Takes one holder's packet out: a copy if there are other holders.
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
    use super::*;

    pub(crate) fn packet(uid: u64) -> Packet {
        Packet {
            uid,
            created: Instant::ZERO,
            source: NodeId(0),
            destination: NodeId(1),
            ttl: INITIAL_TTL,
            hops: 0,
            ip_extra: 0,
            trigger: None,
            route: None,
            body: Body::Udp(Datagram { port: port_of(FlowId(3)), serial: 0, size: 1460 }),
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
