//! Comparison of `bpf/adtcp_math.h`, compiled for the host, with the receiver of the simulator.

use std::fmt::Write;

use multihop_core::{Duration, Instant, Machine, Payload};
use multihop_transport::congestion::Variant;
use multihop_transport::tcp::{Config, Input, Level, Ports, TcpEnd};
use multihop_wire::tcp::{Segment, SeqNumber, Timestamps};

use crate::host;
use crate::math::noise;

const LENGTH: u32 = 1000;
/// Time stamps take 12 bytes of each segment.
const MSS: u16 = 1012;
/// The number of the sender's SYN, and the first time of its clock: both wrap soon.
const ISS: u32 = u32::MAX - 100_000;
const CLOCK: u32 = u32::MAX - 5000;

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    us: u64,
    sent_us: u64,
    number: u32,
}

impl Arrival {
    fn sent(&self) -> u32 {
        CLOCK.wrapping_add(ms(self.sent_us))
    }

    /// The receiver's clock when the ACK left that released the packet, 20 ms before.
    fn echo(&self) -> u32 {
        ms(self.sent_us.saturating_sub(20_000))
    }

    fn seq(&self) -> SeqNumber {
        SeqNumber(ISS) + 1 + self.number * LENGTH
    }
}

fn ms(us: u64) -> u32 {
    u32::try_from(us / 1000).unwrap()
}

/// Results of a receiver after a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Found {
    levels: [Level; 4],
    is_silent: bool,
    state: u8,
}

/// Arrivals of packets over a path with random losses and pauses, whose queue sometimes has packets of
/// others, and in which packets sometimes overtake each other.
fn arrivals(number: u32) -> Vec<Arrival> {
    let mut state = 3;
    let (mut now, mut busy) = (100_000, 0);
    let mut arrivals: Vec<Arrival> = Vec::new();
    for n in 0..number {
        now += 3000 + noise(&mut state) % 2000;
        if n % 1500 == 1499 {
            now += 1_500_000;
        }
        let service = if n % 400 < 60 { 6000 } else { 2000 };
        let mut travel = |sent_us: u64| {
            busy = busy.max(sent_us) + service;
            let around = if n % 900 < 100 { noise(&mut state) % 30_000 } else { 0 };
            Arrival { us: busy + 20_000 + around, sent_us, number: n }
        };
        let first = travel(now);
        // TCP discards segments that what fills a gap has overtaken, by their time stamps: not while that is possible.
        let may_be_lost = (150..850).contains(&(n % 900)) && (60..370).contains(&(n % 400));
        let is_lost = may_be_lost && (n * 7919).is_multiple_of(43);
        // A retransmitted packet leaves later than some packets that follow it.
        arrivals.push(if is_lost {
            Arrival { us: first.us + 70_000, sent_us: now + 55_000, ..first }
        } else {
            first
        });
    }
    arrivals.sort_by_key(|one| one.us);
    arrivals
}

fn in_c(arrivals: &[Arrival]) -> Option<Vec<Found>> {
    let mut lines = String::new();
    for one in arrivals {
        let (us, at, sent, echo, seq) = (one.us, ms(one.us), one.sent(), one.echo(), one.seq().0);
        writeln!(lines, "p {us}000 {at} {sent} {echo} {seq} {LENGTH} 1").unwrap();
    }
    Some(host::filter("adtcp.c", "same", lines)?.lines().map(found).collect())
}

fn found(line: &str) -> Found {
    let words: Vec<usize> = line.split(' ').map(|word| word.parse().unwrap()).collect();
    let level = |place: usize| [Level::Middle, Level::Low, Level::High][words[place]];
    Found {
        levels: [0, 1, 2, 3].map(level),
        is_silent: words[4] != 0,
        state: u8::try_from(words[5]).unwrap(),
    }
}

/// The simulator's TCP, whose clock has the ticks of Linux.
struct Receiver(TcpEnd);

impl Receiver {
    fn new() -> Self {
        let mut config = Config::rfc();
        (config.congestion, config.timestamps) = (Variant::Adtcp.into(), Some(Duration::from_millis(1)));
        (config.mss, config.sink, config.recv_buffer) = (MSS, true, Some(1 << 20));
        let mut receiver = Self(TcpEnd::new(config, Ports { local: 1, remote: 2 }, SeqNumber(0)));
        receiver.0.connect();
        receiver.drain(Instant::ZERO);
        let mut segment = Self::segment(SeqNumber(ISS), CLOCK, 0);
        segment.syn = true;
        segment.options.mss = Some(MSS);
        receiver.take(Instant::ZERO, segment);
        receiver
    }

    fn segment(seq: SeqNumber, value: u32, echo: u32) -> Segment {
        let mut segment =
            Segment { source: 2, destination: 1, seq, ack: Some(SeqNumber(1)), ..Segment::default() };
        segment.window = 1000;
        segment.options.timestamps = Some(Timestamps { value, echo });
        segment
    }

    fn take(&mut self, now: Instant, segment: Segment) {
        self.0.handle(now, Input::Segment(segment));
        self.drain(now);
    }

    fn drain(&mut self, now: Instant) {
        while self.0.poll_output(now).is_some() {}
    }

    fn arrive(&mut self, arrival: &Arrival) -> Found {
        let mut segment = Self::segment(arrival.seq(), arrival.sent(), arrival.echo());
        segment.payload = Payload::Virtual(LENGTH);
        self.take(Instant::ZERO + Duration::from_micros(arrival.us), segment);
        let levels = self.0.levels().unwrap();
        Found {
            levels: [levels.idd, levels.stt, levels.por, levels.plr],
            is_silent: levels.silent,
            state: self.0.network_state().unwrap().bits(),
        }
    }
}

#[test]
fn ranks_and_states_are_those_of_the_simulator() {
    let arrivals = arrivals(12_000);
    let Some(found) = in_c(&arrivals) else { return };
    assert_eq!(found.len(), arrivals.len());
    let mut receiver = Receiver::new();
    let mut times = [0; 16];
    let mut different = Vec::new();
    for (n, (arrival, found)) in arrivals.iter().zip(&found).enumerate() {
        let expected = receiver.arrive(arrival);
        times[usize::from(expected.state)] += 1;
        if *found != expected {
            different.push((n, *found, expected));
        }
    }
    assert!(different.is_empty(), "{} of {}: {:?}", different.len(), found.len(), &different[..1]);
    // Congestion, a change of route, channel errors, both, and a disconnection.
    assert!([0, 1, 2, 4, 6, 8].into_iter().all(|state| times[state] > 5), "{times:?}");
}

#[test]
fn extreme_packets_overflow_nothing() {
    let mut state = 5;
    let mut lines = String::new();
    for n in 0..20_000_u64 {
        let mut word = || noise(&mut state) << 1 & 0xffff_ffff;
        let now = if n % 100 < 50 { n } else { word() * word() };
        let [arrived, sent, echo, seq, length] = std::array::from_fn(|_| word());
        writeln!(lines, "p {now} {arrived} {sent} {echo} {seq} {} {}", 1 + length, 1 + length % 40).unwrap();
    }
    let Some(output) = host::filter("adtcp.c", "extreme", lines) else { return };
    assert_eq!(output.lines().map(found).filter(|found| found.state < 16).count(), 20_000);
}

/// Segments that the network card has joined count as that many packets that arrived at once.
#[test]
fn joined_segments_count_as_packets() {
    // A round trip of 20 ms, so that intervals have 10 ms; four segments in each.
    let alone: String = (0..2000_u64)
        .flat_map(|n| (0..4).map(move |part| (n, part)))
        .map(|(n, part)| line(n, 1000 * (4 * n + part), 1000, 1))
        .collect();
    let joined: String = (0..2000_u64).map(|n| line(n, 4000 * n, 4000, 4)).collect();
    let last = |name, lines| Some(host::filter("adtcp.c", name, lines)?.lines().last()?.to_owned());
    let (Some(alone), Some(joined)) = (last("alone", alone), last("joined", joined)) else { return };
    assert_eq!(alone, joined);
}

fn line(n: u64, seq: u64, length: u32, segments: u32) -> String {
    let at = 1000 + 10 * n;
    format!("p {at}000000 {at} {at} {} {seq} {length} {segments}\n", at - 20)
}

/// As in the simulator (`a_third_duplicate_ack_is_handled_by_the_reported_state`), in segments.
#[test]
fn a_loss_is_handled_by_the_reported_state() {
    let rows = [
        // State, whether it is a timeout, window and threshold; then the window and threshold that are kept.
        ([0, 0, 8, 10], None),
        ([1, 0, 8, 10], None),
        ([1, 1, 8, 10], None),
        ([5, 0, 8, 10], None),
        ([4, 0, 8, 10], Some([8, 10])),
        ([4, 0, 8, 5], Some([8, 5])),
        ([2, 0, 8, 10], Some([8, 8])),
        ([2, 0, 8, 5], Some([5, 5])),
        ([6, 0, 8, 5], Some([5, 5])),
        ([8, 0, 8, 5], Some([5, 5])),
        ([0, 1, 8, 10], Some([8, 8])),
        ([4, 1, 8, 5], Some([5, 5])),
        ([8, 1, 1, 10], Some([1, 2])),
    ];
    let lines = rows.iter().map(|([a, b, c, d], _)| format!("l {a} {b} {c} {d}\n")).collect();
    let Some(output) = host::filter("adtcp.c", "losses", lines) else { return };
    for ((row, expected), line) in rows.iter().zip(output.lines()) {
        let kept: Vec<u32> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        let kept = (kept[0] > 0).then_some([kept[0], kept[1]]);
        assert_eq!(kept, *expected, "{row:?}");
    }
}
