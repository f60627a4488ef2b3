//! Series over time, as tidy CSV: one value per row.

use std::io::{self, BufRead, Write};

use multihop_core::{Duration, FlowId, Instant, NodeId};
use multihop_transport::connection::{Measurements, Progress};

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
    /// `None` unless the scenario records them.
    shortest: Option<ShortestPaths>,
}

/// The last value of each of a flow's series.
#[derive(Clone, Copy, Debug, Default)]
struct FlowSeries {
    sender: Option<Progress>,
    receiver: Option<Measurements>,
    hops: Option<u8>,
    delivered: u64,
    delivered_since: Instant,
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

    /// The state of a sender may have changed.
    pub(crate) fn progress(&mut self, now: Instant, flow: FlowId, sender: &Progress) -> io::Result<()> {
        let before = self.flows[flow.index()].sender.replace(*sender);
        if self.every().is_some() {
            return Ok(());
        }
        for series in OF_SENDERS {
            if self.wants(series) && before.is_none_or(|before| changed(&before, sender, series)) {
                self.sender_row(now, flow, sender, series)?;
            }
        }
        Ok(())
    }

    /// The state of an ADTCP receiver may have changed.
    pub(crate) fn measured(&mut self, now: Instant, flow: FlowId, receiver: &Measurements) -> io::Result<()> {
        let before = self.flows[flow.index()].receiver.replace(*receiver);
        if self.every().is_some() || before == Some(*receiver) {
            return Ok(());
        }
        for series in OF_RECEIVERS {
            let (name, value) = measured(receiver, series);
            let changed = before.is_none_or(|before| measured(&before, series).1.total_cmp(&value).is_ne());
            if self.wants(series) && changed {
                self.row(now, "flow", flow.0, name, value)?;
            }
        }
        Ok(())
    }

    /// A packet of a flow reached its destination.
    pub(crate) fn arrived(&mut self, now: Instant, flow: FlowId, hops: u8) -> io::Result<()> {
        let changed = self.flows[flow.index()].hops.replace(hops) != Some(hops);
        if changed && self.every().is_none() && self.wants(Series::Hops) {
            self.row(now, "flow", flow.0, name(Series::Hops), f64::from(hops))?;
        }
        Ok(())
    }

    /// Application data reached its destination in order.
    pub(crate) fn delivered(&mut self, now: Instant, flow: FlowId, bytes: u64) -> io::Result<()> {
        self.flows[flow.index()].delivered += bytes;
        if self.every().is_none() && self.wants(Series::Goodput) {
            self.goodput_row(now, flow)?;
        }
        Ok(())
    }

    /// A node's interface queue has `len` packets.
    pub(crate) fn queue(&mut self, now: Instant, node: NodeId, len: usize) -> io::Result<()> {
        let changed = std::mem::replace(&mut self.queues[node.index()], len) != len;
        if changed && self.every().is_none() && self.wants(Series::Queue) {
            self.row(now, "node", node.0, name(Series::Queue), len as f64)?;
        }
        Ok(())
    }

    /// One row of every series.
    pub(crate) fn rows(&mut self, now: Instant) -> io::Result<()> {
        self.catch_up(now)?;
        for flow in (0..self.flows.len()).map(|n| FlowId(u32::try_from(n).expect("a checked number"))) {
            self.flow_rows(now, flow)?;
        }
        if self.wants(Series::Queue) {
            for node in 0..self.queues.len() {
                let id = u32::try_from(node).expect("a checked number");
                self.row(now, "node", id, name(Series::Queue), self.queues[node] as f64)?;
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.catch_up(Instant::FAR_FUTURE)?;
        self.out.flush()
    }

    fn flow_rows(&mut self, now: Instant, flow: FlowId) -> io::Result<()> {
        let series = self.flows[flow.index()];
        if let Some(sender) = &series.sender {
            for series in OF_SENDERS {
                if self.wants(series) {
                    self.sender_row(now, flow, sender, series)?;
                }
            }
        }
        if let Some(receiver) = &series.receiver {
            for series in OF_RECEIVERS {
                if self.wants(series) {
                    let (name, value) = measured(receiver, series);
                    self.row(now, "flow", flow.0, name, value)?;
                }
            }
        }
        if self.wants(Series::Hops)
            && let Some(hops) = series.hops
        {
            self.row(now, "flow", flow.0, name(Series::Hops), f64::from(hops))?;
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

    fn sender_row(
        &mut self,
        now: Instant,
        flow: FlowId,
        sender: &Progress,
        series: Series,
    ) -> io::Result<()> {
        let Some((name, value)) = shown(sender, series) else { return Ok(()) };
        self.row(now, "flow", flow.0, name, value)
    }

    /// Goodput since the last row.
    fn goodput_row(&mut self, now: Instant, flow: FlowId) -> io::Result<()> {
        let series = &mut self.flows[flow.index()];
        let seconds = (now - series.delivered_since).as_secs_f64();
        if seconds <= 0.0 {
            return Ok(());
        }
        let kbps = series.delivered as f64 * 8e-3 / seconds;
        series.delivered = 0;
        series.delivered_since = now;
        self.row(now, "flow", flow.0, name(Series::Goodput), kbps)
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

/// The series of a `[record]` table that have no row in a file of series, by their names in the file. Not every flow has
/// every series: only transports that pace have a pacing rate.
pub fn missing_series(record: &Record, file: impl BufRead) -> io::Result<Vec<&'static str>> {
    let mut missing: Vec<_> = record.what.iter().copied().map(name).collect();
    for line in file.lines().skip(1) {
        if missing.is_empty() {
            break;
        }
        let line = line?;
        let found = line.split(',').nth(3);
        missing.retain(|name| Some(*name) != found);
    }
    Ok(missing)
}

/// The name of a series in the file.
const fn name(series: Series) -> &'static str {
    match series {
        Series::Cwnd => "cwnd",
        Series::Rtt => "rtt_ms",
        Series::State => "state",
        Series::Rate => "rate_kbps",
        Series::Cov => "cov",
        Series::Idd => "idd_ms",
        Series::Iad => "iad_ms",
        Series::Stt => "stt",
        Series::Por => "por",
        Series::Plr => "plr",
        Series::Network => "network",
        Series::Hops => "hops",
        Series::Shortest => "shortest",
        Series::Queue => "queue",
        Series::Goodput => "goodput_kbps",
    }
}

/// The value is empty if there is no path.
fn shortest_row(out: &mut Table, now: Instant, flow: FlowId, hops: Option<u32>) -> io::Result<()> {
    let value = hops.map(|hops| hops.to_string()).unwrap_or_default();
    write_row(out, now, ["flow", &flow.0.to_string(), name(Series::Shortest), &value])
}

/// Subject, its number, series and value at this time.
fn write_row(out: &mut Table, now: Instant, cells: [&str; 4]) -> io::Result<()> {
    let time = now.as_secs_f64().to_string();
    Ok(out.write_record([time.as_str()].into_iter().chain(cells))?)
}

/// Series of senders.
const OF_SENDERS: [Series; 5] = [Series::Cwnd, Series::Rtt, Series::State, Series::Rate, Series::Cov];

/// Series of ADTCP receivers.
const OF_RECEIVERS: [Series; 6] =
    [Series::Idd, Series::Iad, Series::Stt, Series::Por, Series::Plr, Series::Network];

/// States by their numbers in the series, whose values must be numbers.
const STATES: [&str; 7] =
    ["normal", "slow-start", "congestion-avoidance", "fast-recovery", "congested", "freeze", "stand-by"];

/// The name of a series in the file, and its current value.
fn shown(sender: &Progress, series: Series) -> Option<(&'static str, f64)> {
    let value = match series {
        Series::Cwnd => sender.cwnd,
        Series::Rtt => ms(sender.round_trip?.latest),
        Series::State => STATES.iter().position(|name| *name == sender.state)? as f64,
        Series::Rate => sender.pace?.rate_kbps,
        Series::Cov => sender.pace?.cov,
        _ => return None,
    };
    Some((name(series), value))
}

/// The name of a receiver's series in the file, and its current value.
fn measured(receiver: &Measurements, series: Series) -> (&'static str, f64) {
    let metrics = &receiver.metrics;
    let value = match series {
        Series::Idd => 1e3 * metrics.idd,
        Series::Iad => 1e3 * metrics.iad,
        Series::Stt => metrics.stt,
        Series::Por => metrics.por,
        Series::Plr => metrics.plr,
        _ => f64::from(receiver.network.bits()),
    };
    (name(series), value)
}

fn changed(before: &Progress, now: &Progress, series: Series) -> bool {
    match series {
        Series::Rtt => before.round_trip.map(|trip| trip.samples) != now.round_trip.map(|trip| trip.samples),
        _ => shown(before, series) != shown(now, series),
    }
}

fn ms(d: Duration) -> f64 {
    1e3 * d.as_secs_f64()
}
