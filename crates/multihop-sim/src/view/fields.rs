//! Fields of a packet as text, for display.

use crate::packet::{Body, Packet};
use crate::segment::{Fields, format};

/// The fields of the IP header and of its payload.
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
        Body::Segment { segment, .. } => format(segment).fields(&mut fields),
        Body::Routing { message, .. } => {
            fields.push(("message", message.kind().to_owned()));
            message.fields(&mut fields);
        }
        Body::Spread { packet, .. } => {
            fields.push(("distance", packet.distance.to_string()));
            fields.push(("backlog", packet.backlog.to_string()));
        }
        Body::Unreachable(lost) => fields.push(("about packet", lost.uid.to_string())),
        Body::Real(_) | Body::Ethernet(_) | Body::Wifi(_) | Body::Arp(_) => {}
    }
    fields
}
