//! Segments of `mesh` in the simulator, after the UDP ports.

use std::fmt::{self, Display};

use multihop_core::SegmentId;
use multihop_wire::PROTOCOL_EXPERIMENT;
use multihop_wire::mesh::Segment;

use super::{Envelope, Fields, Format, PORTS, byte_count, control};

impl Format for Segment {
    fn protocol(&self) -> u8 {
        PROTOCOL_EXPERIMENT
    }

    fn len(&self) -> usize {
        PORTS + self.header_len() + self.payload().len()
    }

    fn emit(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        out.extend_from_slice(&envelope.ports());
        self.emit(out);
    }

    fn quoted(&self, envelope: &Envelope) -> [u8; 20] {
        envelope.quoted(&self.start())
    }

    fn id(&self) -> SegmentId {
        SegmentId::Custom(self.start())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Data(data) if data.is_fin => "fin",
            Self::Data(data) if !data.chunks.is_empty() => "messages",
            Self::Data(data) if data.payload.is_empty() => "probe",
            Self::Data(_) => "mesh",
            Self::Ack(_) => "ack",
            Self::Control(control) => control::kind(control),
        }
    }

    /// Writes the number of the segment; for an ACK, the number of the next expected segment.
    fn number(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(data) => data.number.fmt(f),
            Self::Ack(ack) => ack.next.fmt(f),
            Self::Control(control) => control.number().fmt(f),
        }
    }

    fn fields(&self, fields: &mut Fields) {
        match self {
            Self::Data(data) => {
                fields.push(("segment", data.number.to_string()));
                if data.is_fin {
                    fields.push(("flags", "FIN".to_owned()));
                }
                fields.push(("transmission", data.transmission.to_string()));
                fields.push(("data", byte_count(data.payload.len())));
            }
            Self::Ack(ack) => {
                fields.push(("next segment", ack.next.to_string()));
                fields.push(("newest transmission", ack.newest.to_string()));
                fields.push(("receive window", ack.window.to_string()));
                fields.push(("queueing delay", format!("{} us", ack.delay)));
            }
            Self::Control(control) => control::fields(control, fields),
        }
    }
}

#[cfg(test)]
mod tests {
    use multihop_wire::control::{Cause, Control, Reset, Syn};
    use multihop_wire::mesh::Data;

    use super::*;

    /// Names and values of the fields of a segment.
    fn shown(segment: &Segment) -> String {
        let mut fields = Fields::new();
        segment.fields(&mut fields);
        fields.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn control_segments_and_fin_of_mesh_are_shown() {
        let syn = Syn { number: 7, attempt: 1, window: 64, ..Syn::default() };
        assert_eq!(
            shown(&Segment::Control(Control::Syn(syn.clone()))),
            "flags SYN, connection number 7, attempt 1, receive window 64"
        );
        assert_eq!(
            shown(&Segment::Control(Control::Syn(Syn { answers: Some(9), ..syn }))),
            "flags SYN ACK, connection number 7, acknowledges 9, attempt 1, receive window 64"
        );
        let reset = Reset { cause: Cause::ABORTED, number: 5, ..Reset::default() };
        assert_eq!(shown(&Segment::Control(Control::Reset(reset))), "flags RST, segment 5, cause aborted");
        assert_eq!(shown(&Segment::Control(Control::KeepAlive(8))), "next segment 8");
        let fin = Data { number: 3, transmission: 4, is_fin: true, ..Data::default() };
        assert_eq!(shown(&Segment::Data(fin)), "segment 3, flags FIN, transmission 4, data 0 bytes");
    }
}
