//! Packet traces as lines of text, capture files, and qlog.
//!
//! # Format
//!
//! `--trace` writes `packets.txt`, a tab-separated line for each packet event:
//!
//! | column | meaning |
//! |---|---|
//! | `evt` | `s` sent by its source, `r` received at its destination, `f` forwarded, `D` dropped |
//! | `time` | s |
//! | `node` | node of the event |
//! | `seq` | sequence number, acknowledgement number of a bare ACK, or position in the flow |
//! | `pkt` | `tcp`, `ack`, `syn`, `fin`, `rst`, `cbr`, `arp-request`, `arp-reply`, or a routing message |
//! | `resn` | `RET` retry limit, `IFQ` queue full, `ARP` no address, `NRTE` no route, `ERR` channel error, `TTL`, `STAL` stale route, `TOUT` timed out while waiting for a route, `END` end of the run |
//! | `uid` | identifies the packet; its low 16 bits are the IP identification in captures |
//! | `from`, `to` | source and final destination |
//! | `hops` | hops so far |
//! | `bytes` | from the IP header on |

mod capture;
mod filter;
mod interfaces;
mod pcapng;
mod qlog;

use std::fmt::{self, Display};
use std::io::{self, Write};

use multihop_core::{DropReason, Instant, NodeId};

pub(crate) use self::capture::{Capture, Captures, Stations};
pub use self::filter::CaptureFilter;
pub(crate) use self::qlog::Qlogs;
use crate::packet::{Arp, Body, Packet};
use crate::segment::format;

/// Writes one line for each event: the columns of Table 1 of Holland and Vaidya (1999), and further columns.
pub(crate) struct TextTrace {
    out: Box<dyn Write + Send>,
}

/// Events of packets that traces show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    Sent,
    /// The packet was received after this number of hops.
    Received {
        hops: u8,
    },
    Forwarded,
    Dropped(DropReason),
}

impl TextTrace {
    pub(crate) fn new(mut out: Box<dyn Write + Send>) -> io::Result<Self> {
        writeln!(out, "evt\ttime\tnode\tseq\tpkt\tresn\tuid\tfrom\tto\thops\tbytes")?;
        Ok(Self { out })
    }

    pub(crate) fn line(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: &Packet,
        event: Event,
    ) -> io::Result<()> {
        let (letter, reason, hops) = match event {
            Event::Sent => ('s', "-", packet.hops),
            Event::Received { hops } => ('r', "-", hops),
            Event::Forwarded => ('f', "-", packet.hops),
            Event::Dropped(reason) => ('D', reason.code(), packet.hops),
        };
        let nanos = now.as_nanos();
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        writeln!(
            self.out,
            "{letter}\t{seconds}.{rest:09}\t{node}\t{}\t{}\t{reason}\t{}\t{}\t{}\t{}\t{}",
            number(packet),
            kind(packet),
            packet.uid,
            packet.source,
            packet.destination,
            hops,
            packet.bytes(),
        )
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The number of a packet's segment, or a dash.
fn number(packet: &Packet) -> impl Display {
    fmt::from_fn(|f| match &packet.body {
        Body::Segment { segment, .. } => format(segment).number(f),
        _ => f.write_str("-"),
    })
}

/// Kind of a packet, for the column `pkt` of traces.
pub(crate) fn kind(packet: &Packet) -> &'static str {
    match &packet.body {
        Body::Segment { segment, .. } => format(segment).kind(),
        Body::Routing { message, .. } => message.kind(),
        Body::Spread { packet, .. } => packet.body.name(),
        Body::Unreachable(_) => "icmp",
        Body::Real(_) => "real",
        Body::Ethernet(_) => "ethernet",
        Body::Wifi(_) => "wifi",
        Body::Arp(Arp::Request) => "arp-request",
        Body::Arp(Arp::Reply) => "arp-reply",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;

    #[test]
    fn a_dropped_packet_shows_its_reason() {
        let out = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut trace = TextTrace::new(Box::new(Shared(out.clone()))).unwrap();
        let event = Event::Dropped(DropReason::NoRoute);
        trace.line(Instant::from_nanos(191_000_000), NodeId(5), &packet(3), event).unwrap();
        trace.finish().unwrap();
        let text = String::from_utf8(out.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().nth(1), Some("D\t0.191000000\t5\t0\tcbr\tNRTE\t3\t0\t1\t0\t1488"));
    }

    #[test]
    fn a_broadcast_goes_to_all() {
        let out = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut trace = TextTrace::new(Box::new(Shared(out.clone()))).unwrap();
        let broadcast = Packet { destination: NodeId::BROADCAST, ..packet(3) };
        trace.line(Instant::ZERO, NodeId(5), &broadcast, Event::Sent).unwrap();
        let text = String::from_utf8(out.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().nth(1), Some("s\t0.000000000\t5\t0\tcbr\t-\t3\t0\tall\t0\t1488"));
    }

    struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
