//! `[[flow]]` and `[traffic]`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::NodeRef;
use crate::document::{Node, Value};
use crate::faults::Faults;
use crate::model::Transport;
use crate::read::{Both, NoKeys, Read, kinds, table, whole_table};
use crate::values::{KilobitsPerSecond, MeanBytes, PositiveSeconds, Seconds, Shape, Whole, words};

/// `[[flow]]`.
pub(crate) type FlowTable = Both<EndsTable, AppTable>;

table! {
    /// What holds for every application.
    EndsTable {
        /// Sender. A flow that gives neither from nor to takes the next pair of the layout.
        from: Option<NodeRef>,
        /// Receiver.
        to: Option<NodeRef>,
        /// How the data travels: a short name, or a table of parameters. Only cbr and paced have a
        /// default, which is udp.
        transport: Option<Transport>,
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
        /// What another flow delivers to this one's sender.
        "relay" => Relay(RelayTable),
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

table! {
    /// What another flow delivers to this one's sender.
    RelayTable {
        /// The other flow, by its place in the file from 0 on. It ends where this one begins, and is
        /// no relay itself.
        of: Whole<0, 100_000>,
        /// Bytes taken from the other flow that have not been acknowledged here, at most. While it is
        /// full nothing more is read there.
        buffer: Whole<1, 1_000_000_000> = 65_536,
    }
}

table! {
    /// Transfers between nodes drawn at random: so many at a time, and another after each.
    TrafficTable {
        /// Transfers at a time.
        count: Whole<1, 1000>,
        /// What each is.
        app: DrawnApp = "file",
        /// Application bytes of each: a number, or { pareto = { mean = ..., shape = ... } }.
        bytes: BytesValue,
        /// How the data travels: a short name, or a table of parameters.
        transport: Transport,
        /// When the first begins, s.
        first: Seconds = 0.0,
        /// Time from the beginning of one of the first transfers to that of the next, s: uniform
        /// between these.
        gap: [Seconds; 2] = json!([0.0, 0.0]),
        /// The next begins so long after a transfer has ended, s; 2 MSL if not given.
        restart: PositiveSeconds = 240.0,
    }
}

table! {
    /// A distribution of sizes.
    SizesTable {
        /// Pareto.
        pareto: ParetoSizes,
    }
}

table! {
    /// Density falling as a power of the size.
    ParetoSizes {
        /// Mean size, bytes.
        mean: MeanBytes,
        /// The tail is heavier the nearer it is to 1.
        shape: Shape,
    }
}

words! {
    /// What can be drawn at random.
    DrawnApp(()) {
        "file" => (),
    }
}

/// A number of bytes, or what they are drawn from.
pub(crate) enum BytesValue {
    /// Always as many.
    Fixed(Whole<1, 1_000_000_000_000_000>),
    /// From a distribution.
    Drawn(SizesTable),
}

impl Read for BytesValue {
    fn read(node: &Node, path: &str, faults: &mut Faults<'_>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => whole_table(node, path, faults).map(Self::Drawn),
            _ => Read::read(node, path, faults).map(Self::Fixed),
        }
    }
}

impl JsonSchema for BytesValue {
    fn schema_name() -> Cow<'static, str> {
        "BytesValue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fixed = generator.subschema_for::<Whole<1, 1_000_000_000_000_000>>();
        json_schema!({ "anyOf": [fixed, generator.subschema_for::<SizesTable>()] })
    }
}
