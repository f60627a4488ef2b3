//! UDP datagrams of simulated applications, and of user-defined transports.

use std::fmt::{self, Display};

use multihop_core::{Payload, SegmentId};
use multihop_transport::connection::{Datagram, UdpDatagram};
use multihop_wire::tcp::Ecn;
use multihop_wire::udp;

use super::{Envelope, Fields, Format, byte_count};

impl Format for Datagram {
    fn protocol(&self) -> u8 {
        udp::PROTOCOL
    }

    fn len(&self) -> usize {
        udp::Datagram::HEADER_LEN + self.size as usize
    }

    fn emit(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let payload = Payload::Virtual(self.size);
        udp::Datagram { source: self.port, destination: self.port, payload }.emit(
            envelope.source,
            envelope.destination,
            out,
        );
    }

    fn quoted(&self, envelope: &Envelope) -> [u8; 20] {
        envelope.quoted(&[])
    }

    fn id(&self) -> SegmentId {
        SegmentId::Other
    }

    fn kind(&self) -> &'static str {
        "cbr"
    }

    /// Writes the number of the datagram in its flow.
    fn number(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serial.fmt(f)
    }

    fn fields(&self, fields: &mut Fields) {
        fields.push(("datagram", self.serial.to_string()));
    }
}

impl Format for UdpDatagram {
    fn protocol(&self) -> u8 {
        udp::PROTOCOL
    }

    fn len(&self) -> usize {
        udp::Datagram::HEADER_LEN + self.payload.len()
    }

    fn emit(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let Envelope { port, source, destination } = *envelope;
        udp::Datagram { source: port, destination: port, payload: self.payload.clone() }.emit(
            source,
            destination,
            out,
        );
    }

    fn quoted(&self, envelope: &Envelope) -> [u8; 20] {
        envelope.quoted(&[])
    }

    fn id(&self) -> SegmentId {
        SegmentId::Other
    }

    fn kind(&self) -> &'static str {
        "udp"
    }

    fn fields(&self, fields: &mut Fields) {
        fields.push(("data", byte_count(self.payload.len())));
    }

    fn ecn(&self) -> Option<Ecn> {
        Some(self.ecn)
    }
}
