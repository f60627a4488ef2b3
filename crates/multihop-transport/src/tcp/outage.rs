//! Settings of stand-by: how a connection waits while its path is lost.

use multihop_core::Duration;
use multihop_core::settings::{Allowed, Field, Settings, Value};

use crate::settings::TIMEOUT;

/// How a connection waits for its path to be restored.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct Standby {
    /// When probes leave, and how many.
    #[key(flatten)]
    pub probing: Probing,
    /// Whether the first probe leaves at once.
    pub at_once: bool,
    /// Contents of probes, and the end of stand-by.
    #[key(flatten)]
    pub end: Ending,
}

/// The times and the number of probes on stand-by.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct Probing {
    /// Time between probes on stand-by, s, or "rtt": four smoothed round-trip times, from 0.2 to 2 s.
    #[key(name = "probe_interval")]
    pub interval: ProbeInterval,
    /// Number of probes without an answer after which the connection is aborted; off: no limit.
    #[key(1..=65_535, name = "probe_max", off)]
    pub max_probes: Option<u16>,
}

/// The contents of probes, and how stand-by ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct Ending {
    /// Segment that a probe carries: the first unacknowledged one (first), or the one with the lowest number among those that
    /// notices named (lowest-lost).
    #[key]
    pub probe: Probe,
    /// ACK that ends stand-by: any, or one of new data (new).
    #[key]
    pub exit: Exit,
    /// State that changes when stand-by ends: nothing (keep); the window, to one segment (window); or also the timeout, to
    /// `rto_initial` (rto-window).
    #[key]
    pub restore: Restore,
}

impl Standby {
    /// Explicit link failure notification as in Holland and Vaidya: the first unacknowledged segment is the
    /// probe, sent every 2 s. After an ACK the connection continues unchanged.
    pub const fn elfn() -> Self {
        Self {
            probing: Probing { interval: ProbeInterval::Fixed(Duration::from_secs(2)), max_probes: None },
            at_once: false,
            end: Ending { probe: Probe::First, exit: Exit::Any, restore: Restore::Keep },
        }
    }
}

/// Time between two probes of a sender on stand-by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProbeInterval {
    /// A constant time between probes.
    Fixed(Duration),
    /// Four smoothed round trips, limited to 0.2 s to 2 s; 2 s without an estimate.
    RoundTrips,
}

impl Field for ProbeInterval {
    type Bounds = ();

    fn allowed((): &()) -> Allowed {
        Allowed::from(TIMEOUT).or_word(ROUND_TRIPS)
    }

    fn value(&self) -> Option<Value> {
        match self {
            Self::Fixed(time) => time.value(),
            Self::RoundTrips => Some(Value::Word(ROUND_TRIPS)),
        }
    }

    fn of_value(value: Value) -> Self {
        if value == Value::Word(ROUND_TRIPS) {
            Self::RoundTrips
        } else {
            Self::Fixed(Duration::of_value(value))
        }
    }
}

const ROUND_TRIPS: &str = "rtt";

/// Segment that a probe carries while the sender is on stand-by.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Probe {
    /// The first unacknowledged segment.
    First,
    /// The segment with the lowest number that a notice named.
    LowestLost,
    /// This many of the first unacknowledged bytes.
    FirstBytes(u16),
}

/// Kind of ACK that ends stand-by.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Exit {
    /// Any ACK ends stand-by.
    Any,
    /// Only an ACK of new data ends stand-by.
    New,
}

/// Change to window and timeout when stand-by ends.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Restore {
    /// Nothing changes: window and timeout stay as they were.
    Keep,
    /// The window becomes one segment.
    Window,
    /// The window becomes one segment, and the timeout returns to its value before the first sample.
    RtoWindow,
    /// Restores as ADTCP does after a change of route: congestion avoidance from the slow-start threshold on, but not
    /// from a larger window than before, and outstanding data is repaired hole by hole.
    #[word(skip)]
    RouteChange,
}

/// A stand-by in progress: its parameters, and the probes so far.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) plan: Standby,
    /// The lowest position of a lost segment in a notice.
    pub(super) lost: Option<u64>,
    /// Number of probes sent during this stand-by.
    pub(super) probes: u16,
    pub(super) due: bool,
}
