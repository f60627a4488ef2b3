/// RFC 9293 §3.3.2
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// Sent a SYN.
    SynSent,
    /// Sent and received a SYN.
    SynReceived,
    /// Data flows.
    Established,
    /// We closed; our FIN is not acknowledged yet.
    FinWait1,
    /// We closed, and the peer knows.
    FinWait2,
    /// The peer closed.
    CloseWait,
    /// Both closed at once; our FIN is not acknowledged yet.
    Closing,
    /// The peer closed, then we; our FIN is not acknowledged yet.
    LastAck,
    /// Over; late segments are absorbed.
    TimeWait,
}

impl State {
    /// The key in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Listen => "listen",
            Self::SynSent => "syn-sent",
            Self::SynReceived => "syn-received",
            Self::Established => "established",
            Self::FinWait1 => "fin-wait-1",
            Self::FinWait2 => "fin-wait-2",
            Self::CloseWait => "close-wait",
            Self::Closing => "closing",
            Self::LastAck => "last-ack",
            Self::TimeWait => "time-wait",
        }
    }

    /// Whether both ends know each other's sequence numbers.
    pub(super) const fn is_synchronised(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// Whether data from the peer may still come.
    pub(super) const fn receives(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether our data or FIN may still have to leave.
    pub(super) const fn sends(self) -> bool {
        matches!(self, Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck)
    }
}

/// Where congestion control is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// The window doubles every round trip.
    SlowStart,
    /// The window grows by one segment every round trip.
    CongestionAvoidance,
    /// Lost segments are being repaired.
    FastRecovery,
    /// The path is thought to be gone: only probes leave.
    StandBy,
}

impl Phase {
    /// The key in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow-start",
            Self::CongestionAvoidance => "congestion-avoidance",
            Self::FastRecovery => "fast-recovery",
            Self::StandBy => "stand-by",
        }
    }
}
