//! Segments of TPA in the simulator, in UDP datagrams.

use std::fmt::{self, Display};

use multihop_core::SegmentId;
use multihop_wire::tpa::{Body, Framing, MAX_BLOCK, Segment};
use multihop_wire::udp;

use super::{Envelope, Fields, Format, byte_count};

impl Format for Segment {
    fn protocol(&self) -> u8 {
        udp::PROTOCOL
    }

    fn len(&self) -> usize {
        udp::Datagram::HEADER_LEN + self.wire_len(Framing::Udp)
    }

    fn emit(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let mut payload = Vec::with_capacity(1500);
        self.emit_in_udp(&mut payload);
        udp::Datagram { source: self.source, destination: self.destination, payload: payload.into() }.emit(
            envelope.source,
            envelope.destination,
            out,
        );
    }

    fn quoted(&self, envelope: &Envelope) -> [u8; 20] {
        self.quoted_in_udp(envelope.source, envelope.destination).transport
    }

    fn id(&self) -> SegmentId {
        self.id()
    }

    fn kind(&self) -> &'static str {
        match (&self.body, self.ack) {
            (Body::Data { .. }, _) => "tpa",
            (Body::Empty, Some(_)) => "ack",
            (Body::Empty, None) => "probe",
            (Body::Syn(_), _) => "syn",
            (Body::Fin { .. }, _) => "fin",
            (Body::Reset, _) => "rst",
        }
    }

    /// Writes the block number, with the position in the block or the bitmap of an ACK.
    fn number(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.body, self.ack) {
            (Body::Data { position, .. } | Body::Fin { position }, _) => {
                write!(f, "{}.{position}", self.block.0)
            }
            (Body::Empty, Some(ack)) => {
                write!(f, "{}:", ack.block.0)?;
                (0..MAX_BLOCK).try_for_each(|n| f.write_str(if ack.bitmap.contains(n) { "1" } else { "0" }))
            }
            _ => self.block.0.fmt(f),
        }
    }

    fn fields(&self, fields: &mut Fields) {
        fields.push(("block", self.block.0.to_string()));
        fields.push(("transmission", self.tx_seq.to_string()));
        if let Body::Data { position, payload, .. } = &self.body {
            fields.push(("position in block", position.to_string()));
            fields.push(("data", byte_count(payload.len())));
        } else if self.ack.is_some() {
            fields.push(("acknowledges", fmt::from_fn(|f| self.number(f)).to_string()));
        }
        fields.push(("receive window", self.window.to_string()));
        fields.push(("sender congested", if self.congested { "yes" } else { "no" }.to_owned()));
    }
}
