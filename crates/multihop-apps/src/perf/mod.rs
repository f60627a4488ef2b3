//! Measures goodput: one end sends as fast as TPA allows, or UDP datagrams at a given rate; the other end
//! counts the received data. A measurement has one or more flows, each with its own connection.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use multihop_net::{Stats, Stream, TransportName};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

mod clock;
mod flow;
mod gauge;
mod message;
mod serve;
mod turns;
mod udp;

use flow::{begin, run};
use gauge::{Counts, Gauge};
use message::PerfRequest;
#[cfg(fuzzing)]
pub(crate) use message::check;
pub use serve::serve;

/// Plan of a measurement: directions, flows and amounts.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Direction of the data: which end sends.
    pub direction: Direction,
    /// Number of flows in each direction.
    pub flows: usize,
    /// Amount of data of each flow.
    pub amount: Amount,
    /// Time between two samples.
    pub interval: Duration,
    /// Rate of UDP datagrams in each flow, bit/s; `None` uses TPA.
    pub udp: Option<u64>,
}

/// Direction of the data in a measurement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// Data from the connecting end to the listening end.
    Forward,
    /// Data from the listening end to the connecting end.
    Reverse,
    /// Data in both directions at the same time.
    Both,
}

/// Amount after which a flow is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Amount {
    /// Data for this duration; data in flight at the end still arrives.
    Time(Duration),
    /// This number of bytes of data.
    Bytes(u64),
}

/// The totals of one end of a flow.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
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
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Number of times that the sender froze.
    pub freezes: u64,
    /// Number of datagrams sent; with UDP, of the flow only.
    pub datagrams_sent: u64,
    /// Number of datagrams received; with UDP, of the flow only.
    pub datagrams_received: u64,
    /// Datagrams that arrived after a later one (UDP only).
    pub out_of_order: u64,
    /// Jitter: variation of the transit time (UDP only; RFC 3550, section 6.4.1).
    pub jitter: Duration,
    /// The counters that the transport declares, by name; empty with UDP.
    pub counters: BTreeMap<String, u64>,
}

/// Interval of a measurement, at the end that requested it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Start of the interval, since the measurement began.
    pub from: Duration,
    /// End of the interval, since the measurement began.
    pub to: Duration,
    /// Progress of each flow in the interval.
    pub flows: Vec<FlowSample>,
}

/// Progress of one flow in an interval.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample {
    /// Whether the listening end is the sender.
    pub reverse: bool,
    /// Number of bytes acknowledged; with `reverse`, received; with UDP to the other end, sent.
    pub bytes: u64,
    /// Number of retransmitted segments; known only at the sender of the data.
    pub retransmitted: Option<u64>,
    /// The newest round-trip time; `None` with UDP.
    pub rtt: Option<Duration>,
    /// The congestion window in segments; `None` with UDP.
    pub cwnd: Option<u32>,
    /// Number of lost datagrams; known only at the receiver of UDP.
    pub lost: Option<u64>,
    /// Jitter so far; known only at the receiver of UDP.
    pub jitter: Option<Duration>,
}

/// A complete measurement of one flow.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// Name of the transport that both ends used; it has no meaning for a UDP flow.
    pub transport: TransportName,
    /// Whether the listening end was the sender.
    pub reverse: bool,
    /// Totals of the sending end.
    pub sender: EndTotals,
    /// Totals of the receiving end, whose bytes and time are the result.
    pub receiver: EndTotals,
    /// Hops between the ends, if known.
    pub hops: Option<u8>,
    /// Payload of a full segment, or of a datagram.
    pub mss: u32,
}

impl FlowOutcome {
    /// Goodput at the receiver, bit/s.
    pub fn goodput(&self) -> f64 {
        8.0 * self.receiver.bytes as f64 / self.receiver.time.as_secs_f64().max(1e-9)
    }

    /// Segments retransmitted per segment delivered, as in the simulator.
    pub fn retransmission_index(&self) -> Option<f64> {
        let delivered = self.receiver.delivered;
        (delivered > 0).then(|| self.sender.retransmitted as f64 / delivered as f64)
    }

    /// Number of datagrams that were lost (UDP only).
    pub fn lost(&self) -> u64 {
        self.sender.datagrams_sent.saturating_sub(self.receiver.datagrams_received)
    }

    /// Combines several flows of one direction: times, CPU time and jitter are the largest values, all others
    /// are sums.
    pub fn sum(flows: &[Self]) -> Option<Self> {
        let sum = |one: &EndTotals, other: &EndTotals| EndTotals {
            bytes: one.bytes + other.bytes,
            time: one.time.max(other.time),
            cpu: one.cpu.max(other.cpu),
            data_sent: one.data_sent + other.data_sent,
            retransmitted: one.retransmitted + other.retransmitted,
            delivered: one.delivered + other.delivered,
            timeouts: one.timeouts + other.timeouts,
            freezes: one.freezes + other.freezes,
            datagrams_sent: one.datagrams_sent + other.datagrams_sent,
            datagrams_received: one.datagrams_received + other.datagrams_received,
            out_of_order: one.out_of_order + other.out_of_order,
            jitter: one.jitter.max(other.jitter),
            counters: sums(&one.counters, &other.counters),
        };
        flows.iter().cloned().reduce(|one, other| Self {
            sender: sum(&one.sender, &other.sender),
            receiver: sum(&one.receiver, &other.receiver),
            ..one
        })
    }
}

impl EndTotals {
    /// CPU seconds per 10^9 bytes.
    pub fn cpu_per_gb(&self) -> Option<f64> {
        (self.bytes > 0).then(|| self.cpu.as_secs_f64() * 1e9 / self.bytes as f64)
    }

    fn of(stats: &Stats, bytes: u64, time: Duration, cpu: Duration) -> Self {
        let counters = &stats.counters;
        Self {
            bytes,
            time,
            cpu,
            data_sent: counters.data_sent,
            retransmitted: counters.retransmitted,
            delivered: counters.delivered,
            timeouts: counters.timeouts,
            freezes: counters.freezes,
            datagrams_sent: stats.datagrams_sent,
            datagrams_received: stats.datagrams_received,
            out_of_order: 0,
            jitter: Duration::ZERO,
            counters: stats.declared.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        }
    }
}

fn sums(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut sums = one.clone();
    for (name, count) in other {
        let sum: &mut u64 = sums.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
    sums
}

impl Plan {
    /// For each connection that the measurement needs, whether the listening end is the sender.
    pub fn connections(&self) -> impl Iterator<Item = bool> + use<> {
        let (flows, direction) = (self.flows, self.direction);
        let forward = (direction != Direction::Reverse).then_some(false);
        let reverse = (direction != Direction::Forward).then_some(true);
        forward.into_iter().chain(reverse).flat_map(move |reverse| (0..flows).map(move |_| reverse))
    }
}

/// Runs a measurement with a listening end, over as many connections as the plan needs; `sample` receives each
/// interval, including the last and shorter one.
pub async fn measure(
    streams: Vec<Stream>,
    plan: Plan,
    mut sample: impl FnMut(Sample),
) -> io::Result<Vec<FlowOutcome>> {
    let mut group = [0; 8];
    getrandom::fill(&mut group)?;
    let group = u64::from_be_bytes(group);
    let request = |reverse| PerfRequest { reverse, amount: plan.amount, udp: plan.udp, group };
    let asked = streams.into_iter().zip(plan.connections()).map(|(stream, reverse)| {
        let request = request(reverse);
        async move { Ok((begin(stream, request).await?, request)) }
    });
    let begun = together(asked).await?;
    let mut sampler = Sampler { begin: Instant::now(), last: Duration::ZERO, gauges: Vec::new() };
    let mut flows = JoinSet::new();
    for (place, (turns, request)) in begun.into_iter().enumerate() {
        let gauge = Gauge::new(turns.stream(), request.reverse, plan.udp.is_some());
        sampler.gauges.push((gauge.clone(), Counts::default()));
        flows.spawn(async move { run(turns, request, gauge).await.map(|done| (place, done)) });
    }
    let mut done = Vec::new();
    let mut next = sampler.begin.checked_add(plan.interval);
    loop {
        tokio::select! {
            biased;
            ended = flows.join_next() => match ended {
                Some(ended) => done.push(ended.map_err(io::Error::other)??),
                None => break,
            },
            () = at(next) => {
                sample(sampler.take());
                next = next.and_then(|next| next.checked_add(plan.interval));
            }
        }
    }
    sample(sampler.take());
    done.sort_by_key(|(place, _)| *place);
    // The streams were kept open for the last interval.
    Ok(done.into_iter().map(|(_, (outcome, _))| outcome).collect())
}

/// Runs these futures at the same time, and collects their results.
async fn together<T: Send + 'static>(
    futures: impl Iterator<Item = impl Future<Output = io::Result<T>> + Send + 'static>,
) -> io::Result<Vec<T>> {
    let mut tasks = JoinSet::new();
    for (place, future) in futures.enumerate() {
        tasks.spawn(async move { future.await.map(|result| (place, result)) });
    }
    let mut results = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        results.push(ended.map_err(io::Error::other)??);
    }
    results.sort_by_key(|(place, _)| *place);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Waits until the instant, or forever if it is `None`.
async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

struct Sampler {
    begin: Instant,
    /// The end of the last interval.
    last: Duration,
    /// Flows with their counts at the end of the last interval.
    gauges: Vec<(Gauge, Counts)>,
}

impl Sampler {
    /// The interval that ends now.
    fn take(&mut self) -> Sample {
        let (from, to) = (self.last, self.begin.elapsed());
        self.last = to;
        let flows = self.gauges.iter_mut().map(|(gauge, last)| {
            let now = gauge.counts();
            let before = std::mem::replace(last, now);
            gauge.sample(&before, &now)
        });
        Sample { from, to, flows: flows.collect() }
    }
}

fn nonsense() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the peer is not multihop perf of the same version, or has stopped",
    )
}

/// Longest wait for the peer to close the connection after both ends have the result.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest time without a message of the peer, after which the measurement fails.
const PATIENCE: Duration = Duration::from_secs(60);
