//! Captures: the frames that each radio of a node transmits, and the frames addressed to it.
//!
//! Overheard frames are left out, so that each interface looks like a capture taken on that node, and a TCP connection
//! appears once at each end.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use multihop_core::{Duration, Instant, Interface, NodeId};
use multihop_radio::airtime::Airtime;
use multihop_radio::decibels::mw_to_dbm;
use multihop_radio::frame::{self, Category, Frame, FrameKind, PacketHandle};
use multihop_radio::mac::{Bitmap, BlockAck, Load, Mpdu, Transmission};
use multihop_radio::phy_profile::{He, HeGuard, Mcs, Rate, S1g, Scheme, Vht};
use multihop_scenario::{Layout, Scenario};
use multihop_wire::{Quoted, arp, dot11, dsr, icmp, ipv4, radiotap, udp};

use super::filter::CaptureFilter;
use super::interfaces::Interfaces;
use super::pcapng::PcapngWriter;
use crate::observe::Sent;
use crate::packet::{Arp, Body, Packet, Pool, port_of};
use crate::segment::{Envelope, format};
use crate::signals::Reception;
use crate::world::InterfaceAddresses;

/// A capture file with an interface for each radio of each selected node.
pub(crate) struct Capture {
    file: PcapngWriter<Box<dyn Write + Send>>,
    filter: CaptureFilter,
    interfaces: Interfaces,
    addresses: InterfaceAddresses,
    bytes: Vec<u8>,
    /// Number of aggregates captured so far.
    aggregates: u32,
}

impl Capture {
    pub(crate) fn new(
        out: Box<dyn Write + Send>,
        scenario: &Scenario,
        layout: &Layout,
        filter: CaptureFilter,
    ) -> io::Result<Self> {
        let interfaces = Interfaces::new(scenario, layout, &filter);
        let file = PcapngWriter::new(out, interfaces.described(), filter.length)?;
        let addresses = InterfaceAddresses::new(scenario);
        Ok(Self { file, filter, interfaces, addresses, bytes: Vec::new(), aggregates: 0 })
    }

    /// Adds a frame that `node` begins to transmit, or has received, at `at`. An aggregate is one entry for each MPDU.
    pub(crate) fn frame(
        &mut self,
        at: Instant,
        node: NodeId,
        sent: &Sent<'_>,
        reception: Option<&Reception>,
        airtime: &Airtime,
        packets: &Pool,
    ) -> io::Result<()> {
        if !self.filter.selects(at, node) {
            return Ok(());
        }
        let Sent { interface, transmission, load, .. } = *sent;
        let frame = &transmission.frame;
        let place = Place { at, interface, node, transmission, reception, airtime };
        let stations = Stations { interface, addresses: self.addresses };
        let Some((load, received)) = load else {
            return self.entry(&place, None, &stations.dot11_frame(frame, packets));
        };
        if frame.kind == FrameKind::BlockAck {
            let answer = stations.block_ack(frame, load.block_ack);
            return self.entry(&place, None, &answer);
        }
        self.aggregates = self.aggregates.wrapping_add(1);
        for mpdu in load.selected(received) {
            let is_last = load.mpdus.last() == Some(mpdu);
            let part = radiotap::Part { aggregate: self.aggregates, is_last };
            let part = (frame.kind == FrameKind::Aggregate).then_some(part);
            let data = dot11::Frame::Data(stations.mpdu_frame(frame, mpdu, load, packets));
            self.entry(&place, part, &data)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        place: &Place<'_>,
        aggregate: Option<radiotap::Part>,
        frame: &dot11::Frame,
    ) -> io::Result<()> {
        self.bytes.clear();
        let &Place { at, interface, node, transmission: sent, reception, airtime } = place;
        // The timestamp of radiotap refers to the first bit after the PLCP header.
        let began = if sent.frame.from == node { at } else { at - sent.airtime };
        let first_bit = began + airtime.plcp(sent.frame.rate);
        let rate = airtime.phy().rate(sent.frame.rate);
        let radio = self.interfaces.radio(interface);
        radiotap::Header {
            tsft: first_bit.as_nanos() / 1_000,
            short_preamble: radio.has_short_preamble,
            rate: radiotap_rate(rate),
            channel_mhz: radio.channel_mhz,
            channel_flags: radio.channel_flags(rate),
            power: reception.map(radiotap_power),
            aggregate,
        }
        .emit(&mut self.bytes);
        frame.emit(&mut self.bytes);
        let number = self.interfaces.number(node, interface).expect("frames of other nodes are left out");
        let comment = reception.and_then(|reception| interference(reception, interface, &self.interfaces));
        self.file.packet(number, at, &self.bytes, comment.as_deref())
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        self.file.finish().map(drop)
    }
}

/// Place and instant of the capture of a frame, and its reception at the station.
struct Place<'a> {
    at: Instant,
    interface: Interface,
    node: NodeId,
    transmission: &'a Transmission,
    /// Reception at the receiver; `None` at the transmitter.
    reception: Option<&'a Reception>,
    airtime: &'a Airtime,
}

/// A capture file, and readers that join and leave during the run.
#[derive(Default)]
pub(crate) struct Captures {
    pub(crate) file: Option<Capture>,
    /// Live captures for other programs. A program that cannot accept a frame is removed.
    pub(crate) readers: Vec<Capture>,
}

impl Captures {
    /// Adds a frame to each, see [`Capture::frame`].
    pub(crate) fn frame(
        &mut self,
        at: Instant,
        node: NodeId,
        sent: &Sent<'_>,
        reception: Option<&Reception>,
        airtime: &Airtime,
        packets: &Pool,
    ) -> io::Result<()> {
        self.readers.retain_mut(|reader| reader.frame(at, node, sent, reception, airtime, packets).is_ok());
        self.file.as_mut().map_or(Ok(()), |file| file.frame(at, node, sent, reception, airtime, packets))
    }
}

/// Powers of a reception for radiotap. The noise includes interference, so that the difference between signal
/// and noise is the lowest SINR during the frame.
fn radiotap_power(reception: &Reception) -> radiotap::Power {
    let disturbance_mw = Some(reception.disturbance_mw).filter(|power| *power > 0.0);
    radiotap::Power { signal_dbm: whole_dbm(reception.power_mw), noise_dbm: disturbance_mw.map(whole_dbm) }
}

#[expect(clippy::cast_possible_truncation, reason = "float casts saturate")]
fn whole_dbm(mw: f64) -> i8 {
    mw_to_dbm(mw).round() as i8
}

/// Description, for display, of the strongest interference with a frame that a radio received.
fn interference(reception: &Reception, at: Interface, interfaces: &Interfaces) -> Option<String> {
    let interferer = reception.interferer?;
    let (name, kind) = (interfaces.node_name(interferer.node), kind_name(interferer.kind));
    let (power, sinr) = (mw_to_dbm(interferer.power_mw), mw_to_dbm(reception.sinr()?));
    let other = interferer.interface;
    let radio = if other == at { String::new() } else { format!(" (radio {})", other.0) };
    Some(format!("strongest interference: {kind} of {name}{radio} at {power:.1} dBm, SINR {sinr:.1} dB"))
}

const fn kind_name(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Rts => "RTS",
        FrameKind::Cts => "CTS",
        FrameKind::Ack => "ACK",
        FrameKind::Data | FrameKind::Aggregate => "data",
        FrameKind::BlockAck => "block ACK",
        FrameKind::BlockAckRequest => "block ACK request",
    }
}

fn radiotap_rate(rate: &Rate) -> radiotap::Rate {
    match rate.label.scheme {
        Some(Scheme::Ht(Mcs { index, wide, short_guard })) => {
            radiotap::Rate::Ht(radiotap::Mcs { index, wide, short_guard })
        }
        Some(Scheme::Vht(Vht { index, streams, width_mhz, short_guard })) => {
            let width = match width_mhz {
                20 => radiotap::VhtWidth::Mhz20,
                40 => radiotap::VhtWidth::Mhz40,
                80 => radiotap::VhtWidth::Mhz80,
                _ => radiotap::VhtWidth::Mhz160,
            };
            radiotap::Rate::Vht(radiotap::Vht { index, streams, width, short_guard })
        }
        Some(Scheme::He(He { index, streams, width_mhz, guard })) => {
            let width = match width_mhz {
                20 => radiotap::HeWidth::Mhz20,
                40 => radiotap::HeWidth::Mhz40,
                80 => radiotap::HeWidth::Mhz80,
                _ => radiotap::HeWidth::Mhz160,
            };
            let (guard, training) = match guard {
                HeGuard::Short => (radiotap::HeGuard::Short, radiotap::HeTraining::Half),
                HeGuard::Medium => (radiotap::HeGuard::Medium, radiotap::HeTraining::Half),
                HeGuard::Long => (radiotap::HeGuard::Long, radiotap::HeTraining::Whole),
            };
            radiotap::Rate::He(radiotap::He { index, streams, width, guard, training })
        }
        Some(Scheme::S1g(S1g { index, wide, short_guard })) => {
            radiotap::Rate::S1g(radiotap::S1g { index, wide, short_guard })
        }
        None => radiotap::Rate::Legacy(u8::try_from(rate.bit_rate.0 / 500_000).unwrap_or(u8::MAX)),
    }
}

/// The stations of one radio, with the addresses of their interfaces.
#[derive(Clone, Copy)]
pub(crate) struct Stations {
    pub(crate) interface: Interface,
    pub(crate) addresses: InterfaceAddresses,
}

impl Stations {
    /// Converts a frame without a load.
    fn dot11_frame(self, frame: &Frame, packets: &Pool) -> dot11::Frame {
        let receiver = self.mac(frame.to);
        let duration = micros(frame.nav);
        match frame.kind {
            FrameKind::Rts => dot11::Frame::Rts { duration, receiver, transmitter: self.mac(frame.from) },
            // DEVIATION capture-3: A CTS or ACK of 802.11ah, which is a null data packet, is captured as a frame of
            // 14 bytes, which tools show.
            FrameKind::Cts => dot11::Frame::Cts { duration, receiver },
            FrameKind::Ack => dot11::Frame::Ack { duration, receiver },
            FrameKind::Data => dot11::Frame::Data(dot11::Data {
                retry: frame.retry,
                duration,
                receiver: group(frame.body, packets).unwrap_or(receiver),
                transmitter: self.mac(frame.from),
                sequence: frame.sequence,
                qos: None,
                tid: 0,
                body: self.packet_bytes(frame.from, frame.body, packets),
            }),
            FrameKind::BlockAckRequest => dot11::Frame::BlockAckRequest {
                duration,
                receiver,
                transmitter: self.mac(frame.from),
                tid: tid(frame.category),
                start: frame.sequence,
            },
            FrameKind::Aggregate | FrameKind::BlockAck => unreachable!("frames with a load"),
        }
    }

    fn block_ack(self, frame: &Frame, BlockAck { start, received }: BlockAck) -> dot11::Frame {
        let (receiver, transmitter) = (self.mac(frame.to), self.mac(frame.from));
        let (duration, tid) = (micros(frame.nav), tid(frame.category));
        let Bitmap([first, ..]) = received;
        let is_long = frame.bytes > SHORT_BLOCK_ACK_BYTES;
        let received =
            if is_long { dot11::Received::Long(received.0) } else { dot11::Received::Short(first) };
        dot11::Frame::BlockAck { duration, receiver, transmitter, tid, start, received }
    }

    /// An MPDU of a station that aggregates.
    fn mpdu_frame(self, frame: &Frame, mpdu: &Mpdu, load: &Load, packets: &Pool) -> dot11::Data {
        let (receiver, transmitter) = (self.mac(frame.to), self.mac(frame.from));
        let (qos, body) = match load.packets_of(mpdu) {
            [only] => (dot11::Qos::Single, self.packet_bytes(frame.from, only.out.packet, packets)),
            several => {
                let mut body = Vec::new();
                for packed in several {
                    let packet = self.packet_bytes(frame.from, packed.out.packet, packets);
                    dot11::push_subframe(receiver, transmitter, &packet, &mut body);
                }
                (dot11::Qos::Several, body)
            }
        };
        dot11::Data {
            retry: mpdu.retry,
            duration: micros(frame.nav),
            receiver,
            transmitter,
            sequence: mpdu.sequence,
            qos: Some(qos),
            tid: tid(frame.category),
            body,
        }
    }

    /// Bytes of the LLC/SNAP header and the packet.
    pub(crate) fn packet_bytes(self, from: NodeId, handle: PacketHandle, packets: &Pool) -> Vec<u8> {
        let packet = packets.get(handle);
        let mut out = Vec::with_capacity(1600);
        // DEVIATION capture-1: Captures include an LLC/SNAP header for tools even with `llc = false`. Captured frames
        // are then 8 bytes longer than simulated ones.
        if let Body::Arp(message) = packet.body {
            dot11::Snap { ethertype: arp::ETHERTYPE }.emit(&mut out);
            self.arp_packet(from, packet.destination, message).emit(&mut out);
            return out;
        }
        if let Body::Ethernet(frame) = &packet.body {
            dot11::Snap { ethertype: frame.ethertype() }.emit(&mut out);
            out.extend_from_slice(frame.payload());
            return out;
        }
        if let Body::Wifi(frame) = &packet.body {
            out.extend_from_slice(frame.bytes().get(HEADER..).unwrap_or_default());
            return out;
        }
        if let Body::Real(real) = &packet.body {
            dot11::Snap { ethertype: real.ethertype() }.emit(&mut out);
            let route = dsr_header(packet, real.next_header());
            let inserted = route.as_deref().map(|bytes| (dsr::PROTOCOL, bytes));
            out.extend(real.with_header(packet.ttl, inserted));
            return out;
        }
        dot11::Snap { ethertype: ipv4::ETHERTYPE }.emit(&mut out);
        let (protocol, carried) = carried(packet);
        let header = ipv4::Header {
            tos: marks(packet),
            // The number makes the packet traceable in the capture.
            id: u16::try_from(packet.uid & 0xffff).expect("16 bits are left"),
            dont_fragment: true,
            ttl: packet.ttl,
            protocol,
            source: packet.source.addr(),
            destination: ip(packet.destination),
        };
        header.emit(&carried, &mut out);
        out
    }

    fn arp_packet(self, from: NodeId, to: NodeId, message: Arp) -> arp::Packet {
        let [from, to] = [from, to].map(|node| self.number(node));
        let (operation, target_mac) = match message {
            Arp::Request => (arp::Operation::Request, [0; 6]),
            Arp::Reply => (arp::Operation::Reply, to.mac()),
        };
        arp::Packet { operation, sender_mac: from.mac(), sender: from.addr(), target_mac, target: to.addr() }
    }

    pub(crate) fn mac(self, node: NodeId) -> [u8; 6] {
        if node == frame::BROADCAST { dot11::BROADCAST } else { self.number(node).mac() }
    }

    /// Number of a node's interface among all interfaces, from which its addresses are derived.
    fn number(self, node: NodeId) -> NodeId {
        self.addresses.number(self.interface, node)
    }
}

/// Bytes of the shortest header of an 802.11 data frame.
const HEADER: usize = 24;
/// Bytes of a block ACK with 64 bits.
const SHORT_BLOCK_ACK_BYTES: u32 = 32;

/// Traffic identifier of an access category: its lowest user priority (IEEE 802.11-2016, table 10-1).
const fn tid(category: Category) -> u8 {
    match category {
        Category::BestEffort => 0,
        Category::Background => 1,
        Category::Video => 4,
        Category::Voice => 6,
    }
}

/// The address of the group to which a real kernel sends.
fn group(handle: PacketHandle, packets: &Pool) -> Option<[u8; 6]> {
    let Body::Ethernet(frame) = &packets.get(handle).body else { return None };
    Some(frame.destination_mac())
}

/// ECN field of the IP header that the packet has in a capture.
fn marks(packet: &Packet) -> u8 {
    let ecn = packet.segment().and_then(|(_, segment)| format(segment).ecn()).map_or(0, |ecn| ecn as u8);
    packet.dscp.unwrap_or(0) << 2 | ecn
}

/// Protocol number and bytes of an IP packet's payload, including its DSR header.
fn carried(packet: &Packet) -> (u8, Vec<u8>) {
    let (protocol, carried) = payload(packet);
    let Some(mut out) = dsr_header(packet, protocol) else { return (protocol, carried) };
    out.extend_from_slice(&carried);
    (dsr::PROTOCOL, out)
}

/// The DSR header before a payload with this protocol number, if the packet has a source route.
fn dsr_header(packet: &Packet, protocol: u8) -> Option<Vec<u8>> {
    let route = packet.route.as_ref()?;
    let mut out = Vec::with_capacity(1600);
    dsr::Header { source_route: Some(**route), ..dsr::Header::new(protocol) }.emit(&mut out);
    Some(out)
}

fn quote(lost: &Packet) -> icmp::Quote {
    let Quoted { source, destination, protocol, transport } = lost.quoted();
    let header = ipv4::Header { tos: 0, id: 0, dont_fragment: true, ttl: 1, protocol, source, destination };
    icmp::Quote { header, payload_len: 20, transport }
}

/// Protocol number and bytes after the DSR header. A second IP header (`ip_extra`) is only accounting and is not written.
fn payload(packet: &Packet) -> (u8, Vec<u8>) {
    // DEVIATION capture-2: Captures omit the second IP header of `ip_extra`. Captured lengths are shorter than
    // simulated ones.
    let (source, destination) = (packet.source.addr(), ip(packet.destination));
    let mut out = Vec::with_capacity(1500);
    match &packet.body {
        Body::Segment { flow, segment } => {
            let format = format(segment);
            format.emit(&Envelope { port: port_of(*flow), source, destination }, &mut out);
            (format.protocol(), out)
        }
        Body::Routing { message, .. } => message.ip_payload(source, destination),
        Body::Spread { packet, .. } => spread_datagram(packet, source, destination),
        Body::Unreachable(lost) => {
            icmp::Message::Unreachable { code: icmp::HOST_UNREACHABLE, quote: quote(lost) }.emit(&mut out);
            (icmp::PROTOCOL, out)
        }
        Body::Real(_) | Body::Ethernet(_) | Body::Wifi(_) => unreachable!("written with its own header"),
        Body::Arp(_) => unreachable!("ARP is not carried by IP"),
    }
}

/// Protocol number and UDP datagram of a packet of spread, which is captured without encryption: its seal is zeros.
fn spread_datagram(
    packet: &multihop_spread::Packet,
    source: Ipv4Addr,
    destination: Ipv4Addr,
) -> (u8, Vec<u8>) {
    let payload = [&[0; 13][..], &packet.emit(), &[0; 16]].concat();
    let mut out = Vec::with_capacity(1500);
    udp::Datagram { source: SPREAD_PORT, destination: SPREAD_PORT, payload: payload.into() }.emit(
        source,
        destination,
        &mut out,
    );
    (udp::PROTOCOL, out)
}

/// UDP port of files to everybody.
const SPREAD_PORT: u16 = 7457;

fn ip(node: NodeId) -> Ipv4Addr {
    if node == frame::BROADCAST { Ipv4Addr::BROADCAST } else { node.addr() }
}

/// Value of a duration field. Durations above 32767, which only 802.11ah has, are limited to that value.
fn micros(d: Duration) -> u16 {
    u16::try_from(d.as_micros()).map_or(0x7fff, |us| us.min(0x7fff))
}
