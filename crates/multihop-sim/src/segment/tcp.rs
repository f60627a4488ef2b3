//! Segments of TCP in the simulator: length, bytes, names and fields.

use std::fmt::{self, Display};

use multihop_core::SegmentId;
use multihop_wire::tcp::{Ecn, PROTOCOL, Segment};

use super::{Envelope, Fields, Format, byte_count};

impl Format for Segment {
    fn protocol(&self) -> u8 {
        PROTOCOL
    }

    fn len(&self) -> usize {
        self.header_len() + self.payload.len()
    }

    fn emit(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        self.emit(envelope.source, envelope.destination, out);
    }

    fn quoted(&self, envelope: &Envelope) -> [u8; 20] {
        self.quoted(envelope.source, envelope.destination).transport
    }

    fn id(&self) -> SegmentId {
        SegmentId::Tcp(self.seq.0)
    }

    fn kind(&self) -> &'static str {
        match self {
            Self { rst: true, .. } => "rst",
            Self { syn: true, .. } => "syn",
            Self { fin: true, .. } => "fin",
            _ if self.payload.is_empty() => "ack",
            _ => "tcp",
        }
    }

    /// Writes the sequence number, or the acknowledgement number of a pure ACK.
    fn number(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ack {
            _ if !self.payload.is_empty() || self.syn || self.fin => self.seq.0.fmt(f),
            Some(ack) => ack.0.fmt(f),
            None => f.write_str("-"),
        }
    }

    fn fields(&self, fields: &mut Fields) {
        let flags = [
            (self.syn, "SYN"),
            (self.fin, "FIN"),
            (self.rst, "RST"),
            (self.psh, "PSH"),
            (self.ece, "ECE"),
            (self.cwr, "CWR"),
            (self.ack.is_some(), "ACK"),
        ];
        let flags: Vec<_> = flags.into_iter().filter_map(|(set, flag)| set.then_some(flag)).collect();
        fields.push(("flags", flags.join(" ")));
        fields.push(("sequence number", self.seq.0.to_string()));
        if let Some(ack) = self.ack {
            fields.push(("acknowledges", ack.0.to_string()));
        }
        fields.push(("receive window", self.window.to_string()));
        fields.push(("data", byte_count(self.payload.len())));
    }

    fn carries_data(&self) -> bool {
        !self.payload.is_empty()
    }

    fn ecn(&self) -> Option<Ecn> {
        Some(self.ecn)
    }
}
