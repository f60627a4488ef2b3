//! How a connection waits while its path is lost.

use multihop_core::Duration;

/// How a connection waits for its path to be restored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Standby {
    /// Time between probes.
    pub interval: ProbeInterval,
    /// Whether the first probe leaves at once.
    pub at_once: bool,
    /// What a probe carries.
    pub probe: Probe,
    /// Which ACK ends stand-by.
    pub exit: Exit,
    /// What is changed when it ends.
    pub restore: Restore,
    /// Give up after this many probes without an answer; `None` never does.
    pub max_probes: Option<u16>,
}

impl Standby {
    /// Explicit link failure notification as Holland and Vaidya describe it: the first segment is
    /// the probe, every 2 s; after an ACK the connection continues unchanged.
    pub const fn elfn() -> Self {
        Self {
            interval: ProbeInterval::Fixed(Duration::from_secs(2)),
            at_once: false,
            probe: Probe::First,
            exit: Exit::Any,
            restore: Restore::Keep,
            max_probes: None,
        }
    }
}

/// Time between probes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProbeInterval {
    /// A constant time.
    Fixed(Duration),
    /// Four smoothed round trips, but neither below 0.2 s nor above 2 s; 2 s without an estimate.
    RoundTrips,
}

/// What a probe carries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Probe {
    /// The first unacknowledged segment.
    First,
    /// The segment with the lowest number that a notice named.
    LowestLost,
    /// This many of the first unacknowledged bytes.
    FirstBytes(u16),
}

/// Which ACK ends stand-by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// Any.
    Any,
    /// One of new data.
    New,
}

/// What is changed when stand-by ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Restore {
    /// Nothing.
    Keep,
    /// The window is one segment.
    Window,
    /// The window is one segment, and the timeout what it was before the first sample.
    RtoWindow,
    /// As ADTCP after a change of route: congestion avoidance from the slow-start threshold on, but
    /// not from a larger window than before, and what was outstanding is repaired hole by hole.
    RouteChange,
}

/// Stand-by in progress.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) plan: Standby,
    /// The lowest position that a notice named.
    pub(super) lost: Option<u64>,
    /// Probes sent.
    pub(super) probes: u16,
    pub(super) due: bool,
}
