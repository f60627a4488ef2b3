//! `[[flow]]`.

use std::borrow::Cow;

use multihop_transport::tcp::{DelayedAck, PartialAckTimer};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::NodeRef;
use crate::scenario::document::{Fault, Node, Value};
use crate::scenario::read::{Both, NoKeys, Read, kinds, one_of, table, whole_table, wrong};
use crate::scenario::transport::{Name, Preset};
use crate::scenario::values::{
    KilobitsPerSecond, MeanBytes, OrOff, PositiveSeconds, Seconds, Shape, Tick, Timeout, Whole, words,
};

/// `[[flow]]`.
pub(in crate::scenario) type FlowTable = Both<EndsTable, AppTable>;

table! {
    /// What holds for every application.
    EndsTable {
        /// Sender. A flow that gives neither from nor to takes the next pair of the layout.
        from: Option<NodeRef>,
        /// Receiver.
        to: Option<NodeRef>,
        /// How the data travels: a short name, or a table of parameters. Only cbr and paced have a
        /// default, which is udp.
        transport: Option<TransportTable>,
        /// When the application begins, s.
        start: Seconds = 0.0,
        /// When it falls silent, s; the end of the run if not given.
        stop: Option<PositiveSeconds>,
    }
}

kinds! {
    /// What is sent.
    AppTable by "app" = "ftp" {
        /// Data without end.
        "ftp" => Ftp(NoKeys),
        /// So much data, then the end.
        "file" => File(FileTable),
        /// Files of Pareto size with exponential pauses between them.
        "pareto" => Pareto(ParetoTable),
        /// Datagrams at a constant rate.
        "cbr" => Cbr(CbrTable),
        /// Datagrams at the best constant rate, which is searched for.
        "paced" => Paced(PacedTable),
    }
}

table! {
    /// So much data, then the end.
    FileTable {
        /// Application bytes.
        bytes: Whole<1, 1_000_000_000_000_000>,
    }
}

table! {
    /// Files of Pareto size with exponential pauses between them.
    ParetoTable {
        /// Mean size, bytes.
        mean_bytes: MeanBytes,
        /// Shape of the distribution; the tail is heavier the nearer it is to 1.
        shape: Shape,
        /// Mean pause, s.
        mean_pause: Seconds,
    }
}

table! {
    /// Datagrams at a constant rate.
    CbrTable {
        /// Payload, kb/s.
        rate_kbps: KilobitsPerSecond,
        /// Payload bytes of each datagram.
        size: Whole<1, 2200> = 512,
    }
}

table! {
    /// Datagrams at the best constant rate.
    PacedTable {
        /// Payload bytes of each datagram.
        size: Whole<1, 2200> = 1460,
    }
}

/// A short name, or a table of parameters.
pub(in crate::scenario) enum TransportTable {
    /// The name alone.
    Short(Name),
    /// With parameters.
    Long(Box<TcpTable>),
}

impl Read for TransportTable {
    fn read(node: &Node, path: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => whole_table(node, path, faults).map(|table| Self::Long(Box::new(table))),
            _ => Name::read(node, path, faults).map(Self::Short),
        }
    }
}

impl JsonSchema for TransportTable {
    fn schema_name() -> Cow<'static, str> {
        "TransportTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (short, long) = (generator.subschema_for::<Name>(), generator.subschema_for::<TcpTable>());
        json_schema!({ "anyOf": [short, long] })
    }
}

table! {
    /// A transport and its parameters. What is not given comes from the preset.
    TcpTable {
        /// Short name of the transport.
        kind: Name,
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
