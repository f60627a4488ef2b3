//! The states of a connection, and of its sender.

use crate::named::named;

named! {
    /// State of a TCP connection at one end (RFC 9293 §3.3.2).
    pub enum State {
        /// The end has no connection.
        Closed = "closed",
        /// The end waits for a SYN.
        Listen = "listen",
        /// The end sent a SYN and waits for the answer.
        SynSent = "syn-sent",
        /// The end has sent and received a SYN.
        SynReceived = "syn-received",
        /// The connection is open in both directions.
        Established = "established",
        /// This end has closed, and its FIN is not acknowledged yet.
        FinWait1 = "fin-wait-1",
        /// This end has closed, and its FIN is acknowledged.
        FinWait2 = "fin-wait-2",
        /// The peer closed its side; this end may still send.
        CloseWait = "close-wait",
        /// Both ends have closed at once, and this end's FIN is not acknowledged yet.
        Closing = "closing",
        /// The peer has closed, then this end, whose FIN is not acknowledged yet.
        LastAck = "last-ack",
        /// The connection is closed, and late segments are still answered.
        TimeWait = "time-wait",
    }
}

impl State {
    /// Whether both ends know each other's sequence numbers.
    pub(super) const fn is_synchronised(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// Whether data from the peer may still arrive.
    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether this end may still have data or a FIN to send.
    pub(super) const fn sends(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck)
    }
}

named! {
    /// The state of the congestion control.
    pub enum Phase {
        /// The window doubles every round trip.
        SlowStart = "slow-start",
        /// The window grows by one segment every round trip.
        CongestionAvoidance = "congestion-avoidance",
        /// Lost segments are being retransmitted.
        FastRecovery = "fast-recovery",
        /// The path is considered lost: only probes leave.
        StandBy = "stand-by",
    }
}
