//! Measures goodput: one end sends as fast as TPA allows, the other counts.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::frames::{BODY_MAX, FrameReader, FrameWriter};
use crate::listener::TpaListener;
use crate::stats::Stats;
use crate::stream::TpaStream;

mod message;

use message::PerfRequest;
#[cfg(fuzzing)]
pub(crate) use message::check;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Whether the listening end sends.
    pub reverse: bool,
    /// The amount.
    pub amount: Amount,
    /// Time between two samples.
    pub interval: Duration,
}

/// When a measurement is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Amount {
    /// After this time; data in flight then still arrives.
    Time(Duration),
    /// After this many bytes.
    Bytes(u64),
}

/// The totals of one end.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct EndTotals {
    /// Bytes of data sent, or received.
    pub bytes: u64,
    /// Time from the first data to the end.
    pub time: Duration,
    /// CPU time of this end's process, including its other work.
    pub cpu: Duration,
    /// Segments with data sent, retransmissions included.
    pub data_sent: u64,
    /// Retransmitted segments with data or FIN.
    pub retransmitted: u64,
    /// Segments with new data received.
    pub delivered: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Freezes of the sender.
    pub freezes: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
}

/// One interval of a measurement, at the end that asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Its start, since the first data.
    pub from: Duration,
    /// Its end.
    pub to: Duration,
    /// Bytes acknowledged in it; with `reverse`, bytes received.
    pub bytes: u64,
    /// Segments retransmitted in it; not known with `reverse`.
    pub retransmitted: Option<u64>,
    /// The newest round-trip time.
    pub rtt: Option<Duration>,
    /// The congestion window in segments.
    pub cwnd: u8,
}

/// A complete measurement.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The sending end.
    pub sender: EndTotals,
    /// The receiving end: its bytes and its time are the result.
    pub receiver: EndTotals,
    /// Hops between the ends, if known.
    pub hops: Option<u8>,
    /// Payload of a full segment.
    pub mss: u32,
}

impl Outcome {
    /// Bits per second received.
    pub fn goodput(&self) -> f64 {
        8.0 * self.receiver.bytes as f64 / self.receiver.time.as_secs_f64().max(1e-9)
    }

    /// Segments retransmitted per segment delivered, as in the simulator.
    pub fn retransmission_index(&self) -> Option<f64> {
        let delivered = self.receiver.delivered;
        (delivered > 0).then(|| self.sender.retransmitted as f64 / delivered as f64)
    }
}

impl EndTotals {
    /// CPU seconds per 10^9 bytes.
    pub fn cpu_per_gb(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.cpu.as_secs_f64() * 1e9 / self.bytes as f64)
    }
}

/// Measures with a listening end; `sample` gets each interval.
pub async fn measure(stream: TpaStream, plan: Plan, mut sample: impl FnMut(Sample)) -> io::Result<Outcome> {
    let mut writer = FrameWriter::new(stream, PATIENCE);
    let request = PerfRequest { reverse: plan.reverse, amount: plan.amount };
    writer.send(message::REQUEST, &request.emit()).await?;
    let mut clock = IntervalClock::start(plan.interval);
    let mut samples = |stream: &TpaStream, clock: &mut IntervalClock, moved: u64| {
        if let Some(part) = clock.part(stream, plan.reverse.then_some(moved)) {
            sample(part);
        }
    };
    if plan.reverse {
        let mut reader = FrameReader::new(writer.into_inner(), PATIENCE);
        let bytes = drain(&mut reader, |stream, bytes| samples(stream, &mut clock, bytes)).await?;
        let receiver = clock.tally(&reader.get_ref().stats(), bytes);
        let mut writer = FrameWriter::new(reader.into_inner(), PATIENCE);
        writer.send(message::END, &[]).await?;
        let mut reader = FrameReader::new(writer.into_inner(), PATIENCE);
        let sender = told(&mut reader).await?;
        Ok(end(reader, sender, receiver).await)
    } else {
        let bytes = fill(&mut writer, plan.amount, |stream| samples(stream, &mut clock, 0)).await?;
        let mut reader = FrameReader::new(writer.into_inner(), PATIENCE);
        let receiver = told(&mut reader).await?;
        let sender = clock.tally(&reader.get_ref().stats(), bytes);
        Ok(end(reader, sender, receiver).await)
    }
}

async fn end(reader: FrameReader<TpaStream>, sender: EndTotals, receiver: EndTotals) -> Outcome {
    let mut stream = reader.into_inner();
    let stats = stream.stats();
    // The result is complete; this only avoids a reset at the peer.
    let _ = timeout(FAREWELL, stream.shutdown()).await;
    Outcome { sender, receiver, hops: stats.hops, mss: stats.mss }
}

/// Serves measurements one at a time; `done` gets each result.
pub async fn serve(
    listener: &TpaListener,
    mut done: impl FnMut(SocketAddr, io::Result<EndTotals>),
) -> io::Result<()> {
    let mut callers = JoinSet::new();
    loop {
        tokio::select! {
            stream = listener.accept() => {
                let stream = stream?;
                let from = stream.peer_addr();
                callers.spawn(async move { (from, request(stream).await) });
            }
            Some(caller) = callers.join_next() => {
                let Ok((from, asked)) = caller else { continue };
                let result = match asked {
                    Ok((reader, request)) => serve_one(reader, request).await,
                    Err(error) => Err(error),
                };
                done(from, result);
            }
        }
    }
}

/// Reads the request of a caller. One without a request keeps no other waiting.
async fn request(stream: TpaStream) -> io::Result<(FrameReader<TpaStream>, PerfRequest)> {
    let mut reader = FrameReader::new(stream, PATIENCE);
    let Ok(first) = timeout(FIRST, reader.next()).await else {
        let text = format!("no request within {} s", FIRST.as_secs());
        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
    };
    let request = match first? {
        Some(message::REQUEST) => PerfRequest::parse(reader.body()),
        _ => None,
    };
    Ok((reader, request.ok_or_else(nonsense)?))
}

async fn serve_one(mut reader: FrameReader<TpaStream>, request: PerfRequest) -> io::Result<EndTotals> {
    let mut clock = IntervalClock::start(Duration::MAX);
    let bytes = if request.reverse {
        let mut writer = FrameWriter::new(reader.into_inner(), PATIENCE);
        let bytes = fill(&mut writer, request.amount, |_| clock.begin()).await?;
        reader = FrameReader::new(writer.into_inner(), PATIENCE);
        // All segments are counted only once everything has arrived.
        if reader.next().await? != Some(message::END) {
            return Err(nonsense());
        }
        bytes
    } else {
        drain(&mut reader, |_, _| clock.begin()).await?
    };
    let tally = clock.tally(&reader.get_ref().stats(), bytes);
    let mut writer = FrameWriter::new(reader.into_inner(), PATIENCE);
    writer.send(message::TALLY, &message::emit(&tally)).await?;
    // The peer may be gone once it has the result.
    let _ = timeout(FAREWELL, writer.finish()).await;
    Ok(tally)
}

/// Sends the planned amount; returns the bytes sent.
async fn fill(
    writer: &mut FrameWriter<TpaStream>,
    amount: Amount,
    mut each: impl FnMut(&TpaStream),
) -> io::Result<u64> {
    let begin = Instant::now();
    let mut bytes = 0;
    loop {
        let left = match amount {
            Amount::Time(time) if begin.elapsed() < time => BODY_MAX as u64,
            Amount::Time(_) => 0,
            Amount::Bytes(all) => all - bytes,
        };
        let n = left.min(BODY_MAX as u64);
        if n == 0 {
            break;
        }
        writer.send(message::DATA, &ZEROS[..usize::try_from(n).expect("a message")]).await?;
        bytes += n;
        each(writer.get_ref());
    }
    writer.send(message::END, &[]).await?;
    Ok(bytes)
}

/// Receives data until its end; returns the bytes received.
async fn drain(
    reader: &mut FrameReader<TpaStream>,
    mut each: impl FnMut(&TpaStream, u64),
) -> io::Result<u64> {
    let mut bytes = 0;
    loop {
        match reader.next().await? {
            Some(message::DATA) => bytes += reader.body().len() as u64,
            Some(message::END) => return Ok(bytes),
            _ => return Err(nonsense()),
        }
        each(reader.get_ref(), bytes);
    }
}

/// Reads the peer's totals.
async fn told(reader: &mut FrameReader<TpaStream>) -> io::Result<EndTotals> {
    match reader.next().await? {
        Some(message::TALLY) => message::parse(reader.body()).ok_or_else(nonsense),
        _ => Err(nonsense()),
    }
}

/// The clock of a measurement.
struct IntervalClock {
    begin: Option<Instant>,
    cpu: Duration,
    interval: Duration,
    /// The end of the last interval: time, bytes, retransmissions.
    last: (Duration, u64, u64),
}

impl IntervalClock {
    fn start(interval: Duration) -> Self {
        Self { begin: None, cpu: cpu(), interval, last: Default::default() }
    }

    /// Starts the clock, at the first data.
    fn begin(&mut self) {
        self.begin.get_or_insert_with(Instant::now);
    }

    fn elapsed(&self) -> Duration {
        self.begin.map(|begin| begin.elapsed()).unwrap_or_default()
    }

    /// The next interval, if it is over. `arrived`: bytes received; without it, acknowledged bytes count.
    fn part(&mut self, stream: &TpaStream, arrived: Option<u64>) -> Option<Sample> {
        self.begin();
        let to = self.elapsed();
        let (from, bytes, retransmitted) = self.last;
        if to - from < self.interval {
            return None;
        }
        let stats = stream.stats();
        let now = (to, arrived.unwrap_or(stats.counters.bytes_acked), stats.counters.retransmitted);
        self.last = now;
        Some(Sample {
            from,
            to,
            bytes: now.1 - bytes,
            retransmitted: arrived.is_none().then(|| now.2 - retransmitted),
            rtt: stats.latest_rtt,
            cwnd: stats.cwnd,
        })
    }

    fn tally(&self, stats: &Stats, bytes: u64) -> EndTotals {
        let counters = &stats.counters;
        EndTotals {
            bytes,
            time: self.elapsed(),
            cpu: cpu().saturating_sub(self.cpu),
            data_sent: counters.data_sent,
            retransmitted: counters.retransmitted,
            delivered: counters.delivered,
            timeouts: counters.timeouts,
            freezes: counters.freezes,
            datagrams_sent: stats.datagrams_sent,
            datagrams_received: stats.datagrams_received,
        }
    }
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    let Ok(used) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::ZERO };
    let sum = [used.user_time(), used.system_time()].map(|time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
    });
    sum.into_iter().sum()
}

fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the peer is not multihop perf, or has stopped")
}

/// Time for the peer to close after the result is known.
const FAREWELL: Duration = Duration::from_secs(2);
/// Time for the peer to send its request.
const FIRST: Duration = Duration::from_secs(10);
/// Time for the peer to send something.
const PATIENCE: Duration = Duration::from_secs(60);
static ZEROS: [u8; BODY_MAX] = [0; BODY_MAX];
