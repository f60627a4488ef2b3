//! The segments of each transport in packets: length, bytes on the air, identification in errors, and names
//! for display. [`format()`] is the only place that lists the transports. Each file below describes one kind
//! of segment.

mod control;
mod custom;
mod mesh;
mod tcp;
mod tpa;
mod udp;

use std::fmt;
use std::net::Ipv4Addr;

use multihop_core::SegmentId;
use multihop_transport::connection::Segment;
use multihop_wire::tcp::Ecn;

/// Names and values of the fields of a packet, for display.
pub(crate) type Fields = Vec<(&'static str, String)>;

/// Representation of a kind of segment in packets, captures, traces and the viewer.
pub(crate) trait Format {
    /// The protocol number in the IP header.
    fn protocol(&self) -> u8;

    /// The number of bytes behind the IP header.
    fn len(&self) -> usize;

    /// Appends the bytes behind the IP header.
    fn emit(&self, envelope: &Envelope, out: &mut Vec<u8>);

    /// The first bytes after the IP header, as ICMP errors quote them.
    fn quoted(&self, envelope: &Envelope) -> [u8; 20];

    /// The identification of the segment in notices of link failures.
    fn id(&self) -> SegmentId;

    /// Kind of the segment, for the column `pkt` of traces.
    fn kind(&self) -> &'static str;

    /// Writes the number of the segment for the column `seq` of traces; a dash if it has none.
    fn number(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("-")
    }

    /// Appends the fields of the header that the viewer shows.
    fn fields(&self, fields: &mut Fields);

    /// Whether the segment has data whose acknowledgements are measured: TCP's are.
    fn carries_data(&self) -> bool {
        false
    }

    /// The ECN field of the IP header; `None` for transports without ECN.
    fn ecn(&self) -> Option<Ecn> {
        None
    }
}

/// Ports and addresses of the packet around a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    /// Port number of the flow at both ends.
    pub(crate) port: u16,
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
}

impl Envelope {
    /// UDP ports of both ends, which precede the headers of `mesh` and of user-defined transports.
    fn ports(&self) -> [u8; PORTS] {
        let [high, low] = self.port.to_be_bytes();
        [high, low, high, low]
    }

    /// UDP ports at both ends, followed by the first bytes of a header.
    fn quoted(&self, header: &[u8]) -> [u8; 20] {
        let mut out = [0; 20];
        out[..PORTS].copy_from_slice(&self.ports());
        out[PORTS..].copy_from_slice(&first_bytes::<16>(header));
        out
    }
}

/// The format of a segment.
pub(crate) fn format(segment: &Segment) -> &dyn Format {
    match segment {
        Segment::Tcp(segment) => segment,
        Segment::Tpa(segment) => segment,
        Segment::Datagram(datagram) => datagram,
        Segment::Mesh(segment) => segment,
        Segment::Custom(message) => message,
        Segment::Opened(segment) => segment,
        Segment::Udp(datagram) => datagram,
    }
}

/// Marks a segment as having met congestion, if its transport has ECN.
pub(crate) fn mark(segment: &mut Segment) {
    match segment {
        Segment::Tcp(segment) => segment.ecn = Ecn::Ce,
        Segment::Udp(datagram) => datagram.ecn = Ecn::Ce,
        _ => {}
    }
}

/// The first `N` bytes, padded with zeros.
fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    core::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0))
}

/// A length in bytes as text for display.
fn byte_count(len: usize) -> String {
    format!("{len} bytes")
}

/// The number of bytes of both ports.
const PORTS: usize = 4;

#[cfg(test)]
mod tests {
    use multihop_core::Payload;
    use multihop_transport::connection::{Datagram, Message, UdpDatagram};
    use multihop_wire::control::{Control, Syn};
    use multihop_wire::{custom, mesh, tcp, tpa};

    use super::*;

    const ENVELOPE: Envelope =
        Envelope { port: 1024, source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2) };

    fn segments() -> Vec<Segment> {
        let payload = Payload::Virtual(700);
        let data = tpa::Body::Data { position: 1, last: false, payload: payload.clone() };
        let message = custom::Message { number: 7, header: vec![1; 9], data: payload.clone() };
        vec![
            Segment::Tcp(tcp::Segment { payload: payload.clone(), ..tcp::Segment::default() }),
            Segment::Tcp(tcp::Segment { syn: true, ..tcp::Segment::default() }),
            Segment::Tpa(tpa::Segment { body: data, ..tpa::Segment::default() }),
            Segment::Datagram(Datagram { port: 1024, serial: 3, size: 700 }),
            Segment::Mesh(mesh::Segment::Data(mesh::Data {
                payload: payload.clone(),
                ..mesh::Data::default()
            })),
            Segment::Mesh(mesh::Segment::Control(Control::Syn(Syn::default()))),
            Segment::Custom(Message { header: vec![1; 3], data: payload }),
            Segment::Opened(custom::Segment::Close(7)),
            Segment::Opened(custom::Segment::Message(message)),
            Segment::Udp(UdpDatagram { payload: Payload::Bytes(vec![0x40; 1200]), ecn: Ecn::Ect0 }),
        ]
    }

    #[test]
    fn segments_are_as_long_as_their_bytes() {
        for segment in segments() {
            let mut bytes = Vec::new();
            format(&segment).emit(&ENVELOPE, &mut bytes);
            assert_eq!(format(&segment).len(), bytes.len(), "{segment:?}");
        }
    }

    #[test]
    fn errors_quote_the_first_bytes() {
        for segment in segments() {
            let mut bytes = Vec::new();
            format(&segment).emit(&ENVELOPE, &mut bytes);
            let known = match &segment {
                Segment::Datagram(_) | Segment::Udp(_) => PORTS,
                Segment::Custom(message) => PORTS + message.header.len(),
                _ => bytes.len(),
            };
            let known = known.min(20);
            assert_eq!(format(&segment).quoted(&ENVELOPE)[..known], bytes[..known], "{segment:?}");
        }
    }
}
