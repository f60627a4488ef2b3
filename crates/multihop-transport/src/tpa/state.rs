/// Where a connection is.
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
    /// We closed; the peer does not know yet.
    FinSent,
    /// We closed, and the peer knows.
    HalfClosed,
    /// The peer closed.
    PeerClosed,
    /// The peer closed, and so did we; it does not know yet.
    LastAck,
    /// Over; what is late is still answered.
    Linger,
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
            Self::FinSent => "fin-sent",
            Self::HalfClosed => "half-closed",
            Self::PeerClosed => "peer-closed",
            Self::LastAck => "last-ack",
            Self::Linger => "linger",
        }
    }

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

/// What a sender takes the network to be like (§3.3, §3.5).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// Nothing is wrong.
    Normal,
    /// ACKs do not get through: one segment at a time.
    Congested,
    /// The route is broken: one segment at a time, ever more slowly, to find out when it is back.
    Freeze,
}

impl Phase {
    /// The key in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Congested => "congested",
            Self::Freeze => "freeze",
        }
    }
}
