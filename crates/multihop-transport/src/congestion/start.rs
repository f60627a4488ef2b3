//! The initial values and settings that every congestion control gets.

use multihop_core::settings::{Field, Settings};

/// The initial values of a congestion control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Payload bytes of a full segment.
    pub(crate) mss: u32,
    /// Clamp on the window, in segments.
    pub(crate) window_max: u16,
    /// Initial congestion window, in segments.
    pub(crate) initial_window: u16,
    pub(crate) halving: Halving,
    pub(crate) exit: RecoveryExit,
    pub(crate) newreno: NewRenoConfig,
    /// Whether slow start ends by HyStart++ (RFC 9406).
    pub(crate) hystart: bool,
    /// Whether CUBIC grows like Reno as soon as Reno's window would have regained the window before the loss.
    pub(crate) cubic_catches_up: bool,
    /// Whether the window grows by bytes, and not by ACKs.
    pub(crate) byte_counting: bool,
    /// Whether every ACK of new data measures a round trip: with timestamps, or if transmissions are
    /// recorded.
    pub(crate) times_every_ack: bool,
}

/// The slow-start threshold after a loss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Halving {
    /// Half the bytes in flight (RFC 5681 §3.1, equation 4). The threshold is kept if the same segment times
    /// out again.
    Flight,
    /// Half the bytes in flight, rounded to whole segments as in Linux. The threshold is kept if the same
    /// segment times out again.
    Segments,
    /// Half the window in whole segments, at every loss, as ns-2 does.
    Window,
}

/// Settings of fast recovery by RFC 6582.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct NewRenoConfig {
    /// Partial ACKs that restart the timer during NewReno's fast recovery: the first (impatient), or all (slow-but-steady).
    #[key(name = "recovery")]
    pub timer: PartialAckTimer,
    /// Whether a partial ACK reduces the window by what it acknowledges (RFC 6582 §3.2 step 5).
    pub deflate: bool,
}

/// Which partial ACKs restart the retransmission timer (RFC 6582 §4).
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum PartialAckTimer {
    /// The first one only: many losses in one window end in a timeout.
    Impatient,
    /// Every one: one lost segment is retransmitted per round trip, however many there are.
    SlowButSteady,
}

/// Rules for the window after recovery.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RecoveryExit {
    /// The window of the RFCs: ssthresh for Reno (RFC 5681 §3.2 step 6). For NewReno and SACK at most one
    /// segment above the bytes in flight, to prevent a burst (RFC 6582 §3.2 step 3, option 1).
    Rfc,
    /// Sets the window to ssthresh. The ACK that ends recovery then increases the window like any other, as in ns-2.
    Grow,
    /// Sets the window to ssthresh: the reduction has already brought the bytes in flight down to it (RFC
    /// 9937).
    Threshold,
}
