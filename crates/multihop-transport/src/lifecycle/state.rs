//! The states of a connection.

use crate::named::named;

named! {
    /// The state of a connection, as one end sees it.
    pub enum State {
        /// The end has no connection.
        Closed = "closed",
        /// The end waits for a SYN.
        Listen = "listen",
        /// The end sent a SYN and waits for the answer.
        SynSent = "syn-sent",
        /// The end has sent and received a SYN.
        SynReceived = "syn-received",
        /// Both ends know each other's numbers, and data can flow.
        Established = "established",
        /// This end closed; its FIN is not acknowledged yet.
        FinSent = "fin-sent",
        /// This end closed, and its FIN is acknowledged.
        HalfClosed = "half-closed",
        /// The peer closed its side; this end may still send.
        PeerClosed = "peer-closed",
        /// The peer closed, then this end; its FIN is not acknowledged yet.
        LastAck = "last-ack",
        /// Both ends closed; late segments are still answered.
        Linger = "linger",
    }
}

impl State {
    /// Whether both ends know each other's numbers.
    pub const fn is_synchronised(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// Whether both ends know each other's numbers and at least one may still send data or FIN.
    pub const fn is_connected(self) -> bool {
        self.is_synchronised() && !matches!(self, Self::Linger)
    }

    /// Whether data from the peer may still arrive.
    pub const fn receives(self) -> bool {
        matches!(self, Self::Established | Self::FinSent | Self::HalfClosed)
    }

    /// Whether this end may still have data or a FIN to send.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Established | Self::FinSent | Self::PeerClosed | Self::LastAck)
    }
}
