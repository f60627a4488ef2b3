//! The states of a connection, and of its sender.

use crate::named::named;

named! {
    /// Where a connection is.
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
        /// We closed; the peer does not know yet.
        FinSent = "fin-sent",
        /// We closed, and the peer knows.
        HalfClosed = "half-closed",
        /// The peer closed.
        PeerClosed = "peer-closed",
        /// The peer closed, and so did we; it does not know yet.
        LastAck = "last-ack",
        /// Over; what is late is still answered.
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
    /// What a sender takes the network to be like (§3.3, §3.5).
    pub enum Phase {
        /// Nothing is wrong.
        Normal = "normal",
        /// ACKs do not get through: one segment at a time.
        Congested = "congested",
        /// The route is broken: one segment at a time, at longer and longer intervals, to find out when it is back.
        Freeze = "freeze",
    }
}
