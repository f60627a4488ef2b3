//! `[[flow]]`.

use super::{NodeRef, TransportTable};
use crate::scenario::read::{Both, NoKeys, kinds, table};
use crate::scenario::values::{KilobitsPerSecond, MeanBytes, PositiveSeconds, Seconds, Shape, Whole};

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
