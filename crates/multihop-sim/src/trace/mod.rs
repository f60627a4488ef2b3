//! What happened to each packet: as lines of text, and as a capture file.

mod capture;
mod pcapng;

use std::io::{self, Write};

use multihop_core::{DropReason, Instant, NodeId};

pub(crate) use self::capture::Capture;
use crate::packet::{Arp, Body, Packet};

/// One line for each event, in the columns of Table 1 of Holland and Vaidya (1999), and some more.
pub(crate) struct TextTrace {
    out: Box<dyn Write + Send>,
}

/// What happens to packets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Event {
    Sent,
    Received,
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
        let (letter, reason) = match event {
            Event::Sent => ('s', "-"),
            Event::Received => ('r', "-"),
            Event::Forwarded => ('f', "-"),
            Event::Dropped(reason) => ('D', reason.code()),
        };
        let nanos = now.as_nanos();
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        writeln!(
            self.out,
            "{letter}\t{seconds}.{rest:09}\t{node}\t{}\t{}\t{reason}\t{}\t{}\t{}\t{}\t{}",
            Number(sequence(packet)),
            kind(packet),
            packet.uid,
            packet.source,
            packet.destination,
            packet.hops,
            packet.bytes(),
        )
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A number, or a dash where there is none.
struct Number(Option<u64>);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(n) => n.fmt(f),
            None => f.write_str("-"),
        }
    }
}

/// The number that a packet carries: TCP's sequence or acknowledgement number, a datagram's place.
fn sequence(packet: &Packet) -> Option<u64> {
    match &packet.body {
        Body::Tcp(segment) if segment.payload.is_empty() && !segment.syn && !segment.fin => {
            segment.ack.map(|ack| u64::from(ack.0))
        }
        Body::Tcp(segment) => Some(u64::from(segment.seq.0)),
        Body::Udp(datagram) => Some(datagram.serial),
        Body::Custom { .. } | Body::Routing { .. } | Body::Unreachable(_) | Body::Arp(_) => None,
    }
}

fn kind(packet: &Packet) -> &'static str {
    match &packet.body {
        Body::Tcp(segment) if segment.rst => "rst",
        Body::Tcp(segment) if segment.syn => "syn",
        Body::Tcp(segment) if segment.fin => "fin",
        Body::Tcp(segment) if segment.payload.is_empty() => "ack",
        Body::Tcp(_) => "tcp",
        Body::Udp(_) => "cbr",
        Body::Custom { .. } => "data",
        Body::Routing { message, .. } => message.kind(),
        Body::Unreachable(_) => "icmp",
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
