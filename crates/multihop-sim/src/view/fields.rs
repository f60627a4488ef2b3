//! The fields of a packet, for people.

use std::fmt::Write;

use multihop_wire::control::Control;
use multihop_wire::{mesh, tcp, tpa};

use crate::packet::{Body, Packet};
use crate::trace::Number;

type Fields = Vec<(&'static str, String)>;

/// The fields of the IP header, and of what it carries.
pub(super) fn fields(packet: &Packet) -> Fields {
    let mut fields = vec![
        ("source", packet.source.to_string()),
        ("destination", packet.destination.to_string()),
        ("TTL", packet.ttl.to_string()),
        ("IP bytes", packet.bytes().to_string()),
    ];
    if let Some(route) = &packet.route {
        fields.push(("DSR nodes left", route.segments_left.to_string()));
    }
    match &packet.body {
        Body::Tcp(segment) => of_tcp(segment, &mut fields),
        Body::Tpa(segment) => of_tpa(packet, segment, &mut fields),
        Body::Udp(datagram) => fields.push(("datagram", datagram.serial.to_string())),
        Body::Mesh { segment, .. } => of_mesh(segment, &mut fields),
        Body::Custom { message, .. } => fields.push(("data", bytes(message.data.len()))),
        Body::Routing { message, .. } => fields.push(("message", message.kind().to_owned())),
        Body::Unreachable(lost) => fields.push(("about packet", lost.uid.to_string())),
        Body::Real(_) | Body::Ethernet(_) | Body::Arp(_) => {}
    }
    fields
}

fn of_tcp(segment: &tcp::Segment, fields: &mut Fields) {
    let flags = [
        (segment.syn, "SYN"),
        (segment.fin, "FIN"),
        (segment.rst, "RST"),
        (segment.psh, "PSH"),
        (segment.ece, "ECE"),
        (segment.cwr, "CWR"),
    ];
    let mut flags: Vec<_> = flags.into_iter().filter_map(|(set, flag)| set.then_some(flag)).collect();
    if segment.ack.is_some() {
        flags.push("ACK");
    }
    fields.push(("flags", flags.join(" ")));
    fields.push(("sequence number", segment.seq.0.to_string()));
    if let Some(ack) = segment.ack {
        fields.push(("acknowledges", ack.0.to_string()));
    }
    fields.push(("receive window", segment.window.to_string()));
    fields.push(("data", bytes(segment.payload.len())));
}

fn of_mesh(segment: &mesh::Segment, fields: &mut Fields) {
    match segment {
        mesh::Segment::Data(data) => {
            fields.push(("segment", data.number.to_string()));
            if data.is_fin {
                fields.push(("flags", "FIN".to_owned()));
            }
            fields.push(("transmission", data.transmission.to_string()));
            fields.push(("data", bytes(data.payload.len())));
        }
        mesh::Segment::Ack(ack) => {
            fields.push(("next segment", ack.next.to_string()));
            fields.push(("newest transmission", ack.newest.to_string()));
            fields.push(("receive window", ack.window.to_string()));
            fields.push(("queueing delay", format!("{} us", ack.delay)));
        }
        mesh::Segment::Control(control) => of_control(control, fields),
    }
}

fn of_control(control: &Control, fields: &mut Fields) {
    match control {
        Control::Syn(syn) => {
            let flags = if syn.answers.is_some() { "SYN ACK" } else { "SYN" };
            fields.push(("flags", flags.to_owned()));
            fields.push(("connection number", syn.number.to_string()));
            if let Some(number) = syn.answers {
                fields.push(("acknowledges", number.to_string()));
            }
            fields.push(("attempt", syn.attempt.to_string()));
            fields.push(("receive window", syn.window.to_string()));
        }
        Control::Reset(reset) => {
            fields.push(("flags", "RST".to_owned()));
            fields.push(("segment", reset.number.to_string()));
            fields.push(("cause", reset.cause.name().to_owned()));
        }
        Control::KeepAlive(number) => fields.push(("next segment", number.to_string())),
    }
}

fn of_tpa(packet: &Packet, segment: &tpa::Segment, fields: &mut Fields) {
    fields.push(("block", segment.block.0.to_string()));
    fields.push(("transmission", segment.tx_seq.to_string()));
    if let tpa::Body::Data { position, payload, .. } = &segment.body {
        fields.push(("position in block", position.to_string()));
        fields.push(("data", bytes(payload.len())));
    } else if segment.ack.is_some() {
        fields.push(("acknowledges", Number(packet).to_string()));
    }
    fields.push(("receive window", segment.window.to_string()));
    fields.push(("sender congested", if segment.congested { "yes" } else { "no" }.to_owned()));
}

fn bytes(len: usize) -> String {
    let mut text = String::new();
    write!(text, "{len} bytes").expect("text grows");
    text
}

#[cfg(test)]
mod tests {
    use multihop_core::FlowId;
    use multihop_wire::control::{Cause, Reset, Syn};

    use super::*;
    use crate::packet::tests::packet;

    /// The fields of a segment of `mesh` behind those of the IP header.
    fn shown(segment: mesh::Segment) -> String {
        let packet = Packet { body: Body::Mesh { flow: FlowId(0), segment }, ..packet(1) };
        let fields = fields(&packet).split_off(4);
        fields.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn control_segments_and_fin_of_mesh_are_shown() {
        let syn = Syn { number: 7, attempt: 1, window: 64, ..Syn::default() };
        assert_eq!(
            shown(mesh::Segment::Control(Control::Syn(syn.clone()))),
            "flags SYN, connection number 7, attempt 1, receive window 64"
        );
        assert_eq!(
            shown(mesh::Segment::Control(Control::Syn(Syn { answers: Some(9), ..syn }))),
            "flags SYN ACK, connection number 7, acknowledges 9, attempt 1, receive window 64"
        );
        let reset = Reset { cause: Cause::ABORTED, number: 5, ..Reset::default() };
        assert_eq!(
            shown(mesh::Segment::Control(Control::Reset(reset))),
            "flags RST, segment 5, cause aborted"
        );
        assert_eq!(shown(mesh::Segment::Control(Control::KeepAlive(8))), "next segment 8");
        let fin = mesh::Data { number: 3, transmission: 4, is_fin: true, ..mesh::Data::default() };
        assert_eq!(shown(mesh::Segment::Data(fin)), "segment 3, flags FIN, transmission 4, data 0 bytes");
    }
}
