//! Messages of user-defined transports, behind both ports: alone, or in the segments of a connection that
//! [`Opened`](multihop_transport::connection::Opened) opens.

use std::fmt::{self, Display};

use multihop_core::SegmentId;
use multihop_transport::connection::Message;
use multihop_wire::{PROTOCOL_EXPERIMENT, custom};

use super::{Envelope, Fields, Format, PORTS, byte_count, control, first_bytes};

impl Format for Message {
    fn protocol(&self) -> u8 {
        PROTOCOL_EXPERIMENT
    }

    fn len(&self) -> usize {
        PORTS + self.header.len() + self.data.len()
    }

    fn emit(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        out.extend_from_slice(&envelope.ports());
        out.extend_from_slice(&self.header);
        self.data.emit(out);
    }

    fn quoted(&self, envelope: &Envelope) -> [u8; 20] {
        envelope.quoted(&self.header)
    }

    fn id(&self) -> SegmentId {
        SegmentId::Custom(first_bytes(&self.header))
    }

    fn kind(&self) -> &'static str {
        "data"
    }

    fn fields(&self, fields: &mut Fields) {
        fields.push(("data", byte_count(self.data.len())));
    }
}

impl Format for custom::Segment {
    fn protocol(&self) -> u8 {
        PROTOCOL_EXPERIMENT
    }

    fn len(&self) -> usize {
        PORTS + self.wire_len()
    }

    fn emit(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        out.extend_from_slice(&envelope.ports());
        self.emit(out);
    }

    fn quoted(&self, envelope: &Envelope) -> [u8; 20] {
        let mut bytes = Vec::new();
        self.emit(&mut bytes);
        envelope.quoted(&bytes)
    }

    fn id(&self) -> SegmentId {
        self.id()
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Control(control) => control::kind(control),
            Self::Ack(_) => "ack",
            Self::Close(_) => "fin",
            Self::Message(_) => "data",
        }
    }

    /// Writes the number of the connection to which the segment belongs.
    fn number(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control(control) => control.number().fmt(f),
            Self::Ack(ack) => ack.number.fmt(f),
            Self::Close(number) => number.fmt(f),
            Self::Message(message) => message.number.fmt(f),
        }
    }

    fn fields(&self, fields: &mut Fields) {
        match self {
            Self::Control(control) => control::fields(control, fields),
            Self::Ack(ack) => fields.push(("acknowledges", ack.number.to_string())),
            Self::Close(number) => fields.push(("connection number", number.to_string())),
            Self::Message(message) => fields.push(("data", byte_count(message.data.len()))),
        }
    }
}
