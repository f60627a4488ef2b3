//! Keys of a TCP.

use multihop_transport::tcp::{DelayedAck, PartialAckTimer};

use crate::scenario::read::table;
use crate::scenario::transport::Preset;
use crate::scenario::values::{OrOff, Tick, Timeout, Whole, words};

table! {
    /// Parameters of a TCP. What is not given comes from the preset.
    TcpTable {
        /// Whose constants hold where nothing else is said.
        preset: Preset = "ns2-2005",
        /// Largest window, segments.
        window_max: Option<Whole<1, 65_535>>,
        /// Payload of a full segment, bytes.
        mss: Option<Whole<16, 2200>>,
        /// Initial window, segments.
        initial_window: Option<Whole<1, 1000>>,
        /// Whether connections begin with SYN segments.
        handshake: Option<bool>,
        /// Retransmission timeout before the first sample, s.
        rto_initial: Option<Timeout>,
        /// Shortest retransmission timeout, s.
        rto_min: Option<Timeout>,
        /// Longest retransmission timeout, s.
        rto_max: Option<Timeout>,
        /// Tick of the clock that measures round trips, s.
        tick: Option<Tick>,
        /// The back-off factor of the timeout stops growing here.
        backoff_limit: Option<Whole<1, 1_000_000>>,
        /// Retransmissions in a row before the connection is given up.
        max_retries: Option<OrOff<Whole<1, 65_535>>>,
        /// Whether the first two duplicate ACKs let a new segment out.
        limited_transmit: Option<bool>,
        /// Which partial ACKs restart the timer in NewReno's recovery: the first, or all.
        recovery: Option<RecoveryWord>,
        /// Whose delayed ACKs, where the kind delays them: ns2 acknowledges every second segment,
        /// linux every one if window_max is 2 or less.
        delack: Option<DelackWord>,
        /// Longest delay of an ACK, s.
        ack_delay: Option<Timeout>,
        /// Whether selective acknowledgement is offered.
        sack: Option<bool>,
        /// Whether timestamps are offered: the tick of their clock, s.
        timestamps: Option<OrOff<Tick>>,
        /// Whether small segments are held back while data is outstanding (Nagle).
        nagle: Option<bool>,
        /// Receive buffer, bytes; room for window_max segments if not given.
        recv_buffer: Option<Whole<1, 1_000_000_000>>,
    }
}

words! {
    /// NewReno's recovery.
    RecoveryWord(PartialAckTimer) {
        "impatient" => PartialAckTimer::Impatient,
        "slow-but-steady" => PartialAckTimer::SlowButSteady,
    }

    /// Whose delayed ACKs.
    DelackWord(DelayedAck) {
        "ns2" => DelayedAck::Ns2,
        "linux" => DelayedAck::Linux,
    }
}
