//! UDP datagrams of simulated applications.

use std::fmt::{self, Display};

use multihop_core::{Payload, SegmentId};
use multihop_transport::connection::Datagram;
use multihop_wire::udp;

use super::{Envelope, Fields, Format};

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
