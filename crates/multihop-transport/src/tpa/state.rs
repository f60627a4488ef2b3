//! The states of a connection, and of its sender.

use crate::named::named;

named! {
    /// The state of a connection.
    pub enum State {
        /// No connection.
        Closed = "closed",
        /// Waiting for a SYN.
        Listen = "listen",
        /// Sent a SYN.
        SynSent = "syn-sent",
        /// Sent and received a SYN.
        SynReceived = "syn-received",
        /// Data flows.
        Established = "established",
        /// We closed; our FIN is not acknowledged yet.
        FinSent = "fin-sent",
        /// We closed, and our FIN is acknowledged.
        HalfClosed = "half-closed",
        /// The peer closed.
        PeerClosed = "peer-closed",
        /// The peer closed, then we; our FIN is not acknowledged yet.
        LastAck = "last-ack",
        /// Closed; late segments are still answered.
        Linger = "linger",
    }
}

impl State {
    /// Whether both ends know each other's numbers.
    pub(super) const fn is_synchronised(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// Whether data from the peer may still come.
    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::Established | Self::FinSent | Self::HalfClosed)
    }

    /// Whether our data or FIN may still have to leave.
    pub(super) const fn sends(self) -> bool {
        matches!(self, Self::Established | Self::FinSent | Self::PeerClosed | Self::LastAck)
    }
}

named! {
    /// The phase of a sender: the state of the network that it assumes (§3.3, §3.5).
    pub enum Phase {
        /// The normal state.
        Normal = "normal",
        /// ACKs do not get through: one segment at a time.
        Congested = "congested",
        /// The route is broken: one segment at a time, at increasing intervals, to find out when it is restored.
        Freeze = "freeze",
    }
}
