//! Speed of the transports without a network: two endpoints in virtual time with a delay of 10 ms, in segments per
//! second.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time;

use anyhow::{Context, bail};
use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use multihop_core::{Duration, Instant, Machine, Payload, earliest};
use multihop_testkit::CountingAllocator;
use multihop_transport::{tcp, tpa};
use multihop_wire::tcp::SeqNumber;
use multihop_wire::tpa::BlockSeq;

#[path = "../cpu.rs"]
mod cpu;

/// Measure time and allocations per segment between two endpoints.
#[derive(Parser)]
struct Args {
    /// Segments in each run, ACKs included.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    segments: u64,
    /// Number of runs; the median counts.
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if cfg!(debug_assertions) {
        bail!("a debug build cannot be measured: use --release");
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["endpoints", "segments/s", "ns/segment", "allocations/segment"]);
    for (name, run) in CASES {
        let mut rates = Vec::new();
        let mut allocations = 0.0;
        for _ in 0..args.runs.max(1) {
            let cost = run(args.segments.max(1))?;
            rates.push(cost.segments as f64 / cost.seconds);
            allocations = cost.allocations as f64 / cost.segments as f64;
        }
        rates.sort_by(f64::total_cmp);
        let rate = rates[rates.len() / 2];
        table.add_row([
            (*name).to_owned(),
            format!("{rate:.0}"),
            format!("{:.0}", 1e9 / rate),
            format!("{allocations:.3}"),
        ]);
    }
    for column in 1..4 {
        let column = table.column_mut(column).context("the header has four columns")?;
        column.set_cell_alignment(CellAlignment::Right);
    }
    Ok(writeln!(io::stdout(), "{table}")?)
}

type Run = fn(u64) -> anyhow::Result<SegmentCost>;

/// Virtual data needs no memory; real bytes are copied from the send queue into packets.
const CASES: &[(&str, Run)] = &[
    ("TCP NewReno, window 20, virtual", |n| tcp_pair(Data::Virtual, 0).measure(n)),
    ("TCP NewReno, window 20, virtual, 1% lost", |n| tcp_pair(Data::Virtual, 100).measure(n)),
    ("TCP NewReno, window 20, bytes", |n| tcp_pair(Data::Bytes, 0).measure(n)),
    ("TPA, window 2, virtual", |n| tpa_pair(tpa::Config::paper(), Data::Virtual, 0).measure(n)),
    ("TPA, window 2, virtual, 1% lost", |n| tpa_pair(tpa::Config::paper(), Data::Virtual, 100).measure(n)),
    ("TPA net, window 3, virtual", |n| tpa_pair(tpa::Config::net(), Data::Virtual, 0).measure(n)),
    ("TPA net, window 3, bytes", |n| tpa_pair(tpa::Config::net(), Data::Bytes, 0).measure(n)),
    ("TPA net, window 12, bytes", |n| {
        tpa_pair(tpa::Config { cwnd_max: 12, ..tpa::Config::net() }, Data::Bytes, 0).measure(n)
    }),
];

#[derive(Clone, Copy, Eq, PartialEq)]
enum Data {
    Virtual,
    Bytes,
}

/// The cost of a number of segments.
struct SegmentCost {
    segments: u64,
    /// CPU time, or wall-clock time if the system does not report CPU time.
    seconds: f64,
    allocations: u64,
}

/// Two endpoints and the segments between them.
struct EndpointPair<M, S> {
    ends: [M; 2],
    calls: Calls<M, S>,
    under_way: VecDeque<(Instant, usize, S)>,
    now: Instant,
    data: Data,
    sent: u64,
    /// Period of losses: one segment in every `lost` is dropped; 0 drops none.
    lost: u64,
}

/// An output of an endpoint of either transport.
enum Output<S> {
    Segment(S),
    Acked(u64),
    Other,
}

/// The functions of a transport that the measurement calls.
struct Calls<M, S> {
    give: fn(&mut M, Instant, S),
    poll: fn(&mut M, Instant) -> Option<Output<S>>,
    send: fn(&mut M, Payload),
}

impl<M: Machine, S> EndpointPair<M, S> {
    fn measure(mut self, segments: u64) -> anyhow::Result<SegmentCost> {
        if self.data == Data::Bytes {
            // Acknowledged bytes are replaced by new bytes, so the queue keeps this length.
            self.push(256 * 1024);
        }
        self.drain();
        self.pass(segments / 10)?;
        let (before, allocations) = (self.sent, ALLOCATOR.count());
        let (wall, start) = (time::Instant::now(), cpu::seconds());
        self.pass(segments)?;
        let busy = cpu::seconds().zip(start).map(|(now, start)| now - start);
        Ok(SegmentCost {
            segments: self.sent - before,
            seconds: busy.unwrap_or_else(|| wall.elapsed().as_secs_f64()),
            allocations: ALLOCATOR.count() - allocations,
        })
    }

    /// Runs until this many more segments have been sent.
    fn pass(&mut self, segments: u64) -> anyhow::Result<()> {
        let until = self.sent + segments;
        while self.sent < until {
            let ends = earliest(self.ends[0].poll_timeout(), self.ends[1].poll_timeout());
            let first = self.under_way.front().map(|&(at, ..)| at);
            self.now = self.now.max(earliest(ends, first).context("no event is left")?);
            while self.under_way.front().is_some_and(|&(at, ..)| at <= self.now) {
                let Some((_, side, segment)) = self.under_way.pop_front() else { break };
                (self.calls.give)(&mut self.ends[side], self.now, segment);
                self.drain();
            }
            for side in 0..2 {
                if self.ends[side].poll_timeout().is_some_and(|due| due <= self.now) {
                    self.ends[side].handle_timeout(self.now);
                }
            }
            self.drain();
        }
        Ok(())
    }

    fn drain(&mut self) {
        for side in 0..2 {
            while let Some(output) = (self.calls.poll)(&mut self.ends[side], self.now) {
                if let Output::Acked(bytes) = output
                    && self.data == Data::Bytes
                {
                    self.push(bytes);
                }
                let Output::Segment(segment) = output else { continue };
                self.sent += 1;
                if self.lost == 0 || !self.sent.is_multiple_of(self.lost) {
                    self.under_way.push_back((self.now + DELAY, 1 - side, segment));
                }
            }
        }
    }

    fn push(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        (self.calls.send)(&mut self.ends[0], Payload::Bytes(vec![0; bytes]));
    }
}

fn pair<M: Machine, S>(ends: [M; 2], calls: Calls<M, S>, data: Data, lost: u64) -> EndpointPair<M, S> {
    EndpointPair { ends, calls, under_way: VecDeque::new(), now: Instant::ZERO, data, sent: 0, lost }
}

fn tcp_pair(data: Data, lost: u64) -> EndpointPair<tcp::TcpEnd, multihop_wire::tcp::Segment> {
    let config = tcp::Config { window_max: 20, sink: true, ..tcp::Config::ns2_2005() };
    let [mut client, mut server] = [(1, 2), (2, 1)]
        .map(|(local, remote)| tcp::TcpEnd::new(config.clone(), tcp::Ports { local, remote }, SeqNumber(0)));
    server.listen();
    client.connect();
    if data == Data::Virtual {
        client.send(tcp::Data::Endless).expect("the connection is open");
    }
    let calls = Calls::<tcp::TcpEnd, _> {
        give: |tcp, now, segment| tcp.handle(now, tcp::Input::Segment(segment)),
        poll: |tcp, now| {
            Some(match tcp.poll_output(now)? {
                tcp::Output::Segment(segment) => Output::Segment(segment),
                tcp::Output::Event(tcp::Event::Acked(bytes)) => Output::Acked(bytes),
                tcp::Output::Event(_) => Output::Other,
            })
        },
        send: |tcp, data| tcp.send(data).expect("the connection is open"),
    };
    pair([client, server], calls, data, lost)
}

fn tpa_pair(
    config: tpa::Config,
    data: Data,
    lost: u64,
) -> EndpointPair<tpa::TpaEnd, multihop_wire::tpa::Segment> {
    let config = tpa::Config { sink: true, ..config };
    let [mut client, mut server] = [(1, 2), (2, 1)]
        .map(|(local, remote)| tpa::TpaEnd::new(config.clone(), tpa::Ports { local, remote }, BlockSeq(0)));
    server.listen();
    client.connect();
    if data == Data::Virtual {
        client.send(tpa::Data::Endless).expect("the connection is open");
    }
    let calls = Calls::<tpa::TpaEnd, _> {
        give: |tpa, now, segment| tpa.handle(now, tpa::Input::Segment(segment)),
        poll: |tpa, now| {
            Some(match tpa.poll_output(now)? {
                tpa::Output::Segment(segment) => Output::Segment(segment),
                tpa::Output::Event(tpa::Event::Acked(bytes)) => Output::Acked(bytes),
                tpa::Output::Event(_) => Output::Other,
            })
        },
        send: |tpa, data| tpa.send(data).expect("the connection is open"),
    };
    pair([client, server], calls, data, lost)
}

/// One-way delay between the endpoints.
const DELAY: Duration = Duration::from_millis(10);

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();
