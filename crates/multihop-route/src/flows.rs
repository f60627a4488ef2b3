//! Observation of the flows of this host: the headers of TCP and UDP packets that it transmits.

use std::fmt;
use std::net::Ipv4Addr;

use multihop_core::Duration;
use multihop_wire::udp;
use nix::libc;
use socket2::SockFilter;

use crate::filter::{
    ABSOLUTE, ADD, BYTE, ETHERTYPE_IPV4, ETHERTYPE_IPV6, HALF, INDIRECT, JUMP, JUMP_BITS, JUMP_EQUAL, LOAD,
    LOAD_INDEX, MIN_JUMP, NOTHING, RETURN, SHIFT_LEFT, TO_INDEX, WORD, ancillary, from_interfaces, unless,
};
use crate::observer::Observed;

/// Flow of TCP or UDP packets in one direction. Packets that leave inside IPv6 packets along a reserved path belong to
/// flows, too.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Flow {
    /// Address from which the packets leave.
    pub source: Ipv4Addr,
    /// Address to which the packets go.
    pub destination: Ipv4Addr,
    /// Protocol number of IP.
    pub protocol: u8,
    /// Source port and destination port.
    pub ports: (u16, u16),
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, destination, ports: (from, to), .. } = self;
        write!(f, "{} {source}:{from} > {destination}:{to}", self.protocol_name())
    }
}

impl Flow {
    /// Name of the protocol.
    pub const fn protocol_name(&self) -> &'static str {
        if self.protocol == udp::PROTOCOL { "udp" } else { "tcp" }
    }
}

impl Observed for Flow {
    /// Ports of the observed flows; empty: all flows of TCP.
    type Scope = Vec<u16>;
    const INTERVAL: Duration = Duration::from_secs(1);
    /// A busy host sends packets of further flows, which another interval shows.
    const MAX: usize = 16;

    fn parse(packet: &[u8]) -> Option<Self> {
        parse(packet)
    }

    fn program(interfaces: &[u32], ports: &Vec<u16>, seen: &[Self]) -> Vec<SockFilter> {
        program(interfaces, ports, seen)
    }
}

/// Reads the flow of a packet that the filter passes: IPv4, or IPv4 behind IPv6 and a routing header.
fn parse(packet: &[u8]) -> Option<Flow> {
    let inner = match packet.first()? >> 4 {
        4 => packet,
        _ => packet.get(BEHIND_IPV6 as usize + 8 * usize::from(*packet.get(SEGMENTS_LENGTH as usize)?)..)?,
    };
    let address = |at: usize| inner.get(at..)?.first_chunk().map(|bytes: &[u8; 4]| Ipv4Addr::from(*bytes));
    let port = |at: usize| inner.get(at..)?.first_chunk().map(|bytes: &[u8; 2]| u16::from_be_bytes(*bytes));
    let (source, destination, protocol) = (address(12)?, address(16)?, *inner.get(9)?);
    Some(Flow { source, destination, protocol, ports: (port(20)?, port(22)?) })
}

/// Filter that passes the headers of TCP and UDP packets to single hosts, if one of their ports is in `ports`, except
/// for the flows in `seen`. Without ports it passes those of TCP. The filter sees packets from the IP header on. The index of the filter is the position
/// of the IPv4 header.
fn program(interfaces: &[u32], ports: &[u16], seen: &[Flow]) -> Vec<SockFilter> {
    let mut program = from_interfaces(interfaces);
    let mut routed = Vec::new();
    for (at, value) in [(NEXT_HEADER, ROUTING_HEADER), (40, IPV4_INSIDE), (42, SEGMENTS)] {
        routed.extend([SockFilter::new(LOAD | BYTE | ABSOLUTE, 0, 0, at), unless(value, 1), NOTHING]);
    }
    routed.extend([
        SockFilter::new(LOAD | BYTE | ABSOLUTE, 0, 0, SEGMENTS_LENGTH),
        SockFilter::new(SHIFT_LEFT, 0, 0, 3),
        SockFilter::new(ADD, 0, 0, BEHIND_IPV6),
        SockFilter::new(TO_INDEX, 0, 0, 0),
    ]);
    program.extend([
        ancillary(libc::SKF_AD_PROTOCOL),
        SockFilter::new(JUMP_EQUAL, 2, 0, ETHERTYPE_IPV4),
        SockFilter::new(JUMP_EQUAL, 3, 0, ETHERTYPE_IPV6),
        NOTHING,
        SockFilter::new(LOAD_INDEX, 0, 0, 0),
        SockFilter::new(JUMP, 0, 0, u32::try_from(routed.len()).expect("a short program")),
    ]);
    program.extend(routed);
    let load = |size, at| SockFilter::new(LOAD | size | INDIRECT, 0, 0, at);
    // A header without options, of a packet that is no later fragment, to a single host.
    program.extend([load(BYTE, 0), unless(0x45, 1), NOTHING]);
    program.extend([load(HALF, 6), SockFilter::new(JUMP_BITS, 0, 1, 0x1fff), NOTHING]);
    program.extend([load(WORD, 16), SockFilter::new(MIN_JUMP, 0, 1, 0xe000_0000), NOTHING]);
    if ports.is_empty() {
        program.extend([load(BYTE, 9), unless(TCP, 1), NOTHING]);
    } else {
        program.extend([load(BYTE, 9), unless(TCP, 2), unless(udp::PROTOCOL.into(), 1), NOTHING]);
        let count = u8::try_from(ports.len()).expect("the configuration limits the ports");
        // Each comparison jumps past the rest of the block.
        let of = |at, left: u8| {
            let equal = ports.iter().zip((0..count).rev());
            let equal = equal.map(move |(port, after)| unless((*port).into(), after + left));
            [load(HALF, at)].into_iter().chain(equal)
        };
        program.extend(of(20, count + 2).chain(of(22, 1)).chain([NOTHING]));
    }
    for flow in seen {
        let ports = u32::from(flow.ports.0) << 16 | u32::from(flow.ports.1);
        program.extend([
            load(WORD, 12),
            SockFilter::new(JUMP_EQUAL, 0, 7, flow.source.to_bits()),
            load(WORD, 16),
            SockFilter::new(JUMP_EQUAL, 0, 5, flow.destination.to_bits()),
            load(WORD, 20),
            SockFilter::new(JUMP_EQUAL, 0, 3, ports),
            load(BYTE, 9),
            SockFilter::new(JUMP_EQUAL, 0, 1, flow.protocol.into()),
            NOTHING,
        ]);
    }
    program.push(SockFilter::new(RETURN, 0, 0, KEPT));
    program
}

/// Position of the next header in an IPv6 header, and the value for routing headers.
const NEXT_HEADER: u32 = 6;
const ROUTING_HEADER: u32 = 43;
/// Next header of a routing header in front of an IPv4 packet.
const IPV4_INSIDE: u32 = 4;
/// Type of a routing header with segments (RFC 8754).
const SEGMENTS: u32 = 4;
/// Position of the length of a routing header behind an IPv6 header. The length counts units of 8 bytes after the first.
const SEGMENTS_LENGTH: u32 = 41;
/// Bytes of an IPv6 header and of the shortest routing header.
const BEHIND_IPV6: u32 = 48;
const TCP: u32 = 6;
/// Bytes kept of a packet: IPv6 and a routing header with 16 segments, IPv4, and ports.
const KEPT: u32 = BEHIND_IPV6 + 16 * 16 + 24;

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4 and UDP headers from 10.0.0.1:1000 to 10.0.0.5:2000.
    fn packet() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 5];
        packet.extend([0x03, 0xe8, 0x07, 0xd0, 0, 8, 0, 0]);
        packet
    }

    #[test]
    fn flows_are_read_from_plain_packets_and_behind_segments() {
        let flow = Flow {
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 5),
            protocol: 17,
            ports: (1000, 2000),
        };
        assert_eq!(parse(&packet()), Some(flow));
        let mut outer = vec![0; 48 + 32];
        (outer[0], outer[6], outer[40], outer[41], outer[42]) = (0x60, 43, 4, 4, 4);
        outer.extend(packet());
        assert_eq!(parse(&outer), Some(flow));
        for cut in 0..outer.len() - 4 {
            assert_eq!(parse(&outer[..cut]), None);
        }
    }
}
