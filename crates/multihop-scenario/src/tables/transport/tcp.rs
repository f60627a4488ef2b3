//! Keys of a TCP.

use std::borrow::Cow;

use multihop_transport::pacing::Clock;
use multihop_transport::tcp::{
    DelayedAck, Exit, Identify, PartialAckTimer, Probe, ProbeInterval, Restore, RoundTrips,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::document::{Fault, Node, Value};
use crate::read::{Read, table};
use crate::transport::Preset;
use crate::values::{OrOff, Share, Tick, Timeout, Whole, words};

table! {
    /// Parameters of a TCP. What is not given comes from the preset.
    TcpTable {
        /// Whose constants hold where nothing else is said: ns2-2002 for adtcp, ns2-2005 for others.
        preset: Option<Preset>,
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
        /// Time between probes on stand-by, s, or "rtt": four smoothed round trips, from 0.2 to 2 s.
        probe_interval: Option<ProbeIntervalValue>,
        /// What a probe is: the first unacknowledged segment, or the one with the lowest number that
        /// notices named.
        probe: Option<ProbeWord>,
        /// Which ACK ends stand-by: any, or one of new data.
        exit: Option<ExitWord>,
        /// What stand-by changes when it ends: nothing, the window to one segment, or also the
        /// timeout to rto_initial.
        restore: Option<RestoreWord>,
        /// Probes without an answer before the connection is given up.
        probe_max: Option<OrOff<Whole<1, 65_535>>>,
        /// Which metrics tell adtcp of congestion: the differences of delays and the throughput, or
        /// one of them alone.
        identify: Option<IdentifyWord>,
        /// Samples that adtcp compares a new one with; before there are as many, it sees nothing.
        samples: Option<Whole<1, 10_000>>,
        /// Bins of the histogram in which adtcp ranks a sample: a multiple of 4.
        bins: Option<Whole<4, 32>>,
        /// Share of the samples that adtcp takes for high.
        high: Option<Share>,
        /// Share of the samples that adtcp takes for low.
        low: Option<Share>,
        /// Kind of the TCP option in which adtcp's receiver tells the state, one of those for
        /// experiments.
        option_kind: Option<Whole<253, 254>>,
        /// Receive buffer, bytes; room for window_max segments if not given.
        recv_buffer: Option<Whole<1, 1_000_000_000>>,
        /// Round trips that pace: of every ACK without the time for which the receiver held it
        /// (which holds if nothing is given), or those that the retransmission timer measures.
        ap_rtt: Option<ApRttWord>,
        /// Whether round trips of segments that were outstanding at a retransmission timeout pace as
        /// well, unless they were sent again; false if not given. An outage then slows the sender
        /// down for as long as it is in the history.
        ap_across_timeouts: Option<bool>,
        /// Whether pacing halves round trips, or knows the way there from a receiver whose clock is
        /// the sender's; the kind says which if nothing is given.
        clock: Option<ClockWord>,
    }
}

words! {
    /// NewReno's recovery.
    RecoveryWord(PartialAckTimer) {
        "impatient" => PartialAckTimer::Impatient,
        "slow-but-steady" => PartialAckTimer::SlowButSteady,
    }

    /// Round trips that pace.
    ApRttWord(RoundTrips) {
        "net" => RoundTrips::Net,
        "timed" => RoundTrips::Timed,
    }

    /// Clocks of the two ends.
    ClockWord(Clock) {
        "own" => Clock::Own,
        "synchronised" => Clock::Synchronised,
    }

    /// The metrics that tell congestion.
    IdentifyWord(Identify) {
        "joint" => Identify::Joint,
        "idd" => Identify::Idd,
        "stt" => Identify::Stt,
    }

    /// Whose delayed ACKs.
    DelackWord(DelayedAck) {
        "ns2" => DelayedAck::Ns2,
        "linux" => DelayedAck::Linux,
    }
}

words! {
    /// What a probe is.
    ProbeWord(Probe) {
        "first" => Probe::First,
        "lowest-lost" => Probe::LowestLost,
    }

    /// Which ACK ends stand-by.
    ExitWord(Exit) {
        "any" => Exit::Any,
        "new" => Exit::New,
    }

    /// What is changed then.
    RestoreWord(Restore) {
        "keep" => Restore::Keep,
        "window" => Restore::Window,
        "rto-window" => Restore::RtoWindow,
    }
}

/// A time, or the word `"rtt"`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProbeIntervalValue {
    Fixed(Timeout),
    RoundTrips,
}

impl From<ProbeIntervalValue> for ProbeInterval {
    fn from(value: ProbeIntervalValue) -> Self {
        match value {
            ProbeIntervalValue::Fixed(time) => Self::Fixed(time.duration()),
            ProbeIntervalValue::RoundTrips => Self::RoundTrips,
        }
    }
}

impl Read for ProbeIntervalValue {
    fn read(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        if matches!(&node.value, Value::Text(text) if text == "rtt") {
            return Some(Self::RoundTrips);
        }
        let mut own = Vec::new();
        let time = Timeout::read(node, path, &mut own);
        faults.extend(own.into_iter().map(|mut fault| {
            fault.message.push_str(", or \"rtt\"");
            fault
        }));
        time.map(Self::Fixed)
    }
}

impl JsonSchema for ProbeIntervalValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ProbeInterval".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = generator.subschema_for::<Timeout>();
        json_schema!({ "anyOf": [time, { "const": "rtt" }] })
    }
}
