//! The timers of an endpoint.

/// What an endpoint waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Timer {
    /// The oldest unacknowledged segment has waited one retransmission timeout.
    Retransmit,
    /// Time to ask whether the peer's window has opened.
    Persist,
    /// Time to ask whether the path is back.
    Probe,
    /// A withheld ACK must go out.
    DelayedAck,
    /// The gap after the last data segment is over.
    Pace,
    /// TIME-WAIT is over.
    TimeWait,
}

impl Timer {
    pub(super) const ALL: [Self; 6] =
        [Self::Retransmit, Self::Persist, Self::Probe, Self::DelayedAck, Self::Pace, Self::TimeWait];
}
