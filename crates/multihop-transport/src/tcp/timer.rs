//! The timers of an endpoint.

/// The timers of an endpoint, by purpose.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Timer {
    /// The oldest unacknowledged segment has waited one retransmission timeout.
    Retransmit,
    /// A window probe is due.
    Persist,
    /// A probe of the path is due.
    Probe,
    /// A delayed ACK is due.
    DelayedAck,
    /// The gap after the last data segment is over.
    Pace,
    /// The end of TIME-WAIT, after which the connection is closed.
    TimeWait,
    /// End of the time for reordering: segments not delivered by then count as lost (RFC 8985 §6.2).
    Reorder,
    /// A probe of the tail is due (RFC 8985 §7).
    Tail,
}

impl Timer {
    pub(super) const ALL: [Self; 8] = [
        Self::Retransmit,
        Self::Persist,
        Self::Probe,
        Self::DelayedAck,
        Self::Pace,
        Self::TimeWait,
        Self::Reorder,
        Self::Tail,
    ];
}
