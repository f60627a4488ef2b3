//! Observation of the routes that the kernel uses: the headers of the packets that it transmits.

use std::net::Ipv4Addr;

use multihop_core::Duration;
use multihop_wire::{aodv, udp};
use nix::libc;
use socket2::SockFilter;

use crate::filter::{
    ABSOLUTE, BYTE, ETHERTYPE_IPV4, HALF, INDIRECT, JUMP_EQUAL, LOAD, LOAD_INDEX_OF_HEADER, MIN_JUMP,
    NOTHING, RETURN, ancillary, from_interfaces, unless, word,
};
use crate::observer::Observed;

/// Source and destination of packets.
pub(crate) type Pair = (Ipv4Addr, Ipv4Addr);

impl Observed for Pair {
    type Scope = ();
    const INTERVAL: Duration = Duration::from_millis(100);
    /// A busy router forwards packets of further pairs, which another interval shows.
    const MAX: usize = 32;

    fn parse(packet: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = packet.try_into().ok()?;
        let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        Some((address(12), address(16)))
    }

    fn program(interfaces: &[u32], (): &(), seen: &[Self]) -> Vec<SockFilter> {
        program(interfaces, seen)
    }
}

/// Filter that passes the headers of unicast IPv4 packets that leave over one of the interfaces, except for
/// the daemon's messages and the pairs in `seen`. The filter sees packets from the IP header on.
fn program(interfaces: &[u32], seen: &[Pair]) -> Vec<SockFilter> {
    let mut program = from_interfaces(interfaces);
    program.extend([ancillary(libc::SKF_AD_PROTOCOL), unless(ETHERTYPE_IPV4, 1), NOTHING]);
    // Multicast and broadcast packets are left out.
    program.extend([word(16), SockFilter::new(MIN_JUMP, 0, 1, 0xe000_0000), NOTHING]);
    // Messages of AODV are left out: UDP to its port, behind an IP header of any length.
    let port = aodv::PORT.into();
    program.extend([
        SockFilter::new(LOAD | BYTE | ABSOLUTE, 0, 0, 9),
        SockFilter::new(JUMP_EQUAL, 0, 4, udp::PROTOCOL.into()),
        SockFilter::new(LOAD_INDEX_OF_HEADER, 0, 0, 0),
        SockFilter::new(LOAD | HALF | INDIRECT, 0, 0, 2),
        SockFilter::new(JUMP_EQUAL, 0, 1, port),
        NOTHING,
    ]);
    for (source, destination) in seen {
        program.extend([
            word(12),
            SockFilter::new(JUMP_EQUAL, 0, 3, source.to_bits()),
            word(16),
            SockFilter::new(JUMP_EQUAL, 0, 1, destination.to_bits()),
            NOTHING,
        ]);
    }
    program.push(SockFilter::new(RETURN, 0, 0, KEPT));
    program
}

/// Bytes of a header without options.
const KEPT: u32 = 20;
const HEADER: usize = KEPT as usize;
