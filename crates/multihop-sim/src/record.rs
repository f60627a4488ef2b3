//! Time series as tidy CSV: one value per row.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use multihop_core::{Duration, FlowId, Instant, NodeId};
use multihop_transport::connection::Connection;
use multihop_transport::observe::{Quantity, Side, Value};

use crate::oracle::ShortestPaths;
use multihop_scenario::{Record, Series};

type Table = csv::Writer<Box<dyn Write + Send>>;

/// Writes the series of a scenario's `[record]` table.
pub(crate) struct Recorder {
    out: Table,
    every: Duration,
    what: Vec<Series>,
    flows: Vec<FlowSeries>,
    queues: Vec<usize>,
    /// Shortest paths of the flows; `None` unless the scenario records them.
    shortest: Option<ShortestPaths>,
}

/// The last values of one flow's series.
#[derive(Clone, Debug, Default)]
struct FlowSeries {
    /// Recorded quantities of the sender and of the receiver; `None` for an end that was not observed yet.
    ends: [Option<Vec<Watched>>; 2],
    hops: Option<u8>,
    delivered: u64,
    delivered_since: Instant,
}

/// A declared quantity that is recorded.
#[derive(Clone, Debug)]
struct Watched {
    /// Index of the quantity in the table that the endpoint declares.
    index: usize,
    quantity: &'static Quantity,
    /// Name of the quantity in the file.
    key: Arc<str>,
    last: Option<Value>,
}

impl Watched {
    /// Name of the quantity in the file, and its last value; `None` without a value.
    fn row(&self) -> Option<(Arc<str>, f64)> {
        Some((Arc::clone(&self.key), self.quantity.number(self.last?)?))
    }
}

/// The quantities of one end of a flow that the scenario records, in the order in which the connection declares
/// them.
fn watch(end: &dyn Connection, side: Side, what: &[Series]) -> Vec<Watched> {
    let is_wanted = |quantity: &Quantity| {
        quantity.side == side && what.iter().any(|series| series.word() == quantity.name)
    };
    let declared = (0..).map_while(|index| Some((index, end.quantity(index)?)));
    declared
        .filter(|(_, quantity)| is_wanted(quantity))
        .map(|(index, quantity)| Watched { index, quantity, key: quantity.key().into(), last: None })
        .collect()
}

impl Recorder {
    pub(crate) fn new(
        out: Box<dyn Write + Send>,
        record: &Record,
        flows: usize,
        nodes: usize,
        shortest: Option<ShortestPaths>,
    ) -> io::Result<Self> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(["time", "subject", "id", "series", "value"])?;
        Ok(Self {
            out,
            every: record.every,
            what: record.what.clone(),
            flows: vec![FlowSeries::default(); flows],
            queues: vec![0; nodes],
            shortest,
        })
    }

    /// Interval between rows of each series; `None` writes each change.
    pub(crate) fn every(&self) -> Option<Duration> {
        (self.every > Duration::ZERO).then_some(self.every)
    }

    /// Records the quantities of a connection that may have changed, if every change is recorded.
    pub(crate) fn observed(
        &mut self,
        now: Instant,
        flow: FlowId,
        side: Side,
        end: &dyn Connection,
    ) -> io::Result<()> {
        let every_change = self.every().is_none();
        let Self { flows, what, .. } = self;
        let watched = flows[flow.index()].ends[side as usize].get_or_insert_with(|| watch(end, side, what));
        let mut rows = Vec::new();
        for watched in watched {
            let value = end.value(watched.index);
            if std::mem::replace(&mut watched.last, value) != value && every_change {
                rows.extend(watched.row());
            }
        }
        rows.into_iter().try_for_each(|(key, value)| self.row(now, "flow", flow.0, &key, value))
    }

    /// Records that a packet of a flow reached its destination.
    pub(crate) fn arrived(&mut self, now: Instant, flow: FlowId, hops: u8) -> io::Result<()> {
        let changed = self.flows[flow.index()].hops.replace(hops) != Some(hops);
        if changed && self.every().is_none() && self.wants(Series::Hops) {
            self.row(now, "flow", flow.0, &Series::Hops.key(), f64::from(hops))?;
        }
        Ok(())
    }

    /// Records that application data reached its destination in order.
    pub(crate) fn delivered(&mut self, now: Instant, flow: FlowId, bytes: u64) -> io::Result<()> {
        self.flows[flow.index()].delivered += bytes;
        if self.every().is_none() && self.wants(Series::Goodput) {
            self.goodput_row(now, flow)?;
        }
        Ok(())
    }

    /// Records that a node's interface queue has `len` packets.
    pub(crate) fn queue(&mut self, now: Instant, node: NodeId, len: usize) -> io::Result<()> {
        let changed = std::mem::replace(&mut self.queues[node.index()], len) != len;
        if changed && self.every().is_none() && self.wants(Series::Queue) {
            self.row(now, "node", node.0, &Series::Queue.key(), len as f64)?;
        }
        Ok(())
    }

    /// Writes one row of every series.
    pub(crate) fn rows(&mut self, now: Instant) -> io::Result<()> {
        self.catch_up(now)?;
        for flow in (0..self.flows.len()).map(|n| FlowId(u32::try_from(n).expect("a checked number"))) {
            self.flow_rows(now, flow)?;
        }
        if self.wants(Series::Queue) {
            for node in 0..self.queues.len() {
                let id = u32::try_from(node).expect("a checked number");
                self.row(now, "node", id, &Series::Queue.key(), self.queues[node] as f64)?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.catch_up(Instant::FAR_FUTURE)?;
        self.out.flush()
    }

    fn flow_rows(&mut self, now: Instant, flow: FlowId) -> io::Result<()> {
        let series = &self.flows[flow.index()];
        let hops = series.hops;
        let declared: Vec<_> = series.ends.iter().flatten().flatten().filter_map(Watched::row).collect();
        for (key, value) in declared {
            self.row(now, "flow", flow.0, &key, value)?;
        }
        if self.wants(Series::Hops)
            && let Some(hops) = hops
        {
            self.row(now, "flow", flow.0, &Series::Hops.key(), f64::from(hops))?;
        }
        if let Some(hops) =
            self.shortest.as_ref().filter(|paths| flow.index() < paths.len()).map(|paths| paths.hops(flow))
        {
            shortest_row(&mut self.out, now, flow, hops)?;
        }
        if self.wants(Series::Goodput) {
            self.goodput_row(now, flow)?;
        }
        Ok(())
    }

    /// Writes a row with the goodput since the last row.
    fn goodput_row(&mut self, now: Instant, flow: FlowId) -> io::Result<()> {
        let series = &mut self.flows[flow.index()];
        let seconds = (now - series.delivered_since).as_secs_f64();
        if seconds <= 0.0 {
            return Ok(());
        }
        let kbps = series.delivered as f64 * 8e-3 / seconds;
        series.delivered = 0;
        series.delivered_since = now;
        self.row(now, "flow", flow.0, &Series::Goodput.key(), kbps)
    }

    fn wants(&self, series: Series) -> bool {
        self.what.contains(&series)
    }

    fn row(&mut self, now: Instant, subject: &str, id: u32, series: &str, value: f64) -> io::Result<()> {
        self.catch_up(now)?;
        write_row(&mut self.out, now, [subject, &id.to_string(), series, &value.to_string()])
    }

    /// Writes the changes of shortest paths until `now`, which must precede later rows.
    fn catch_up(&mut self, now: Instant) -> io::Result<()> {
        let every_change = self.every().is_none();
        let Some(paths) = &mut self.shortest else { return Ok(()) };
        while let Some(at) = paths.step(now) {
            for &flow in paths.changed().iter().filter(|_| every_change) {
                shortest_row(&mut self.out, at, flow, paths.hops(flow))?;
            }
        }
        Ok(())
    }
}

/// Names of the series in a `[record]` table for which the file of series has no row. Not every flow has
/// every series: only transports that pace have a pacing rate.
pub fn missing_series(record: &Record, file: impl BufRead) -> io::Result<Vec<String>> {
    let mut missing: Vec<_> = record.what.iter().map(|series| series.key()).collect();
    for line in file.lines().skip(1) {
        if missing.is_empty() {
            break;
        }
        let line = line?;
        let found = line.split(',').nth(3);
        missing.retain(|key| Some(key.as_str()) != found);
    }
    Ok(missing)
}

/// Writes a row for a flow's shortest path; the value is empty without a path.
fn shortest_row(out: &mut Table, now: Instant, flow: FlowId, hops: Option<u32>) -> io::Result<()> {
    let value = hops.map(|hops| hops.to_string()).unwrap_or_default();
    write_row(out, now, ["flow", &flow.0.to_string(), &Series::Shortest.key(), &value])
}

/// Writes a row: subject, its number, series and value at this time.
fn write_row(out: &mut Table, now: Instant, cells: [&str; 4]) -> io::Result<()> {
    let time = now.as_secs_f64().to_string();
    Ok(out.write_record([time.as_str()].into_iter().chain(cells))?)
}
