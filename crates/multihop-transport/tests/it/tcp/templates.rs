//! Segments as scripts write them.

use multihop_core::{Duration, LostSegment, Notice, Payload, SegmentId};
use multihop_testkit::Script;
use multihop_transport::congestion::Variant;
use multihop_transport::tcp::{
    AckRule, Config, Ending, Event, Exit, Input, Output, PartialAckTimer, Ports, Probe, ProbeInterval,
    Probing, Restore, Standby, TcpEnd,
};
use multihop_wire::tcp::{Ecn, Options, SackBlocks, Segment, SeqNumber};
use proptest::prelude::*;

pub(super) const MSS: u32 = 1000;
pub(super) const LOCAL: u16 = 40_000;
pub(super) const REMOTE: u16 = 80;
/// The number of the SYN of the endpoint under test, and of the script's own.
pub(super) const ISS: SeqNumber = SeqNumber(0);
pub(super) const PEER_ISS: SeqNumber = SeqNumber(0);
/// The window that the script offers, unscaled.
pub(super) const WINDOW: u16 = 65_535;

pub(super) type Tcp = Script<TcpEnd, Seen>;

/// A packet in either direction, or an event of the endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    /// Full data segments, by number; they acknowledge nothing new.
    Data(u32),
    /// A bare ACK: everything before this data segment has arrived.
    Ack(u32),
    /// Input only: a notice that this data segment was lost at a failed link.
    Broken(u32),
    /// Any other segment, in full.
    Other(Box<Segment>),
    Event(Event),
}

pub(super) fn data(n: u32) -> Seen {
    Seen::Data(n)
}

pub(super) fn ack(n: u32) -> Seen {
    Seen::Ack(n)
}

pub(super) fn broken(n: u32) -> Seen {
    Seen::Broken(n)
}

/// A notice that a segment between these ports was lost at a failed link.
pub(super) fn lost(source: u16, destination: u16, seq: SeqNumber) -> LostSegment {
    LostSegment { source, destination, segment: SegmentId::Tcp(seq.0) }
}

/// `times` equal ACKs.
pub(super) fn acks(n: u32, times: usize) -> Vec<Seen> {
    vec![ack(n); times]
}

pub(super) fn segment(change: impl FnOnce(&mut Segment)) -> Seen {
    let mut segment = from_peer();
    change(&mut segment);
    Seen::Other(Box::new(segment))
}

/// A bare ACK with SACK blocks from one data segment up to but not including another.
pub(super) fn sack(n: u32, blocks: &[(u32, u32)]) -> Seen {
    let mut list = SackBlocks::default();
    for &(from, to) in blocks {
        assert!(list.push(number(from), number(to)));
    }
    segment(|s| {
        s.ack = Some(number(n));
        s.options.sack = list;
    })
}

pub(super) fn delivered(segments: u64) -> Seen {
    Seen::Event(Event::Delivered(segments * u64::from(MSS)))
}

pub(super) fn event(event: Event) -> Seen {
    Seen::Event(event)
}

/// The number of the first byte of data segment `n`.
pub(super) fn number(n: u32) -> SeqNumber {
    SeqNumber(1 + (n - 1) * MSS)
}

/// An empty segment with the script's next number, that acknowledges the SYN.
pub(super) fn from_peer() -> Segment {
    Segment {
        source: REMOTE,
        destination: LOCAL,
        seq: PEER_ISS + 1,
        ack: Some(ISS + 1),
        window: WINDOW,
        ..Segment::default()
    }
}

/// The default of scripts: the RFCs, plain NewReno, an ACK for every segment, an initial window of 1.
pub(super) fn config() -> Config {
    let mut config = Config::rfc();
    config.mss = 1000;
    config.initial_window = 1;
    config.limited_transmit = false;
    config.ack_rule = AckRule::Every;
    config.nagle = false;
    config.sink = true;
    config
}

pub(super) fn reno() -> Config {
    Config { congestion: Variant::Reno.into(), ..config() }
}

pub(super) fn slow_but_steady() -> Config {
    let mut config = config();
    config.newreno.timer = PartialAckTimer::SlowButSteady;
    config
}

/// Every configuration of stand-by.
pub(super) fn standbys() -> impl Strategy<Value = Standby> {
    let interval = prop_oneof![
        (1..5000_u64).prop_map(|ms| ProbeInterval::Fixed(Duration::from_millis(ms))),
        Just(ProbeInterval::RoundTrips),
    ];
    let probe =
        prop_oneof![Just(Probe::First), Just(Probe::LowestLost), any::<u16>().prop_map(Probe::FirstBytes),];
    let restore =
        prop::sample::select(vec![Restore::Keep, Restore::Window, Restore::RtoWindow, Restore::RouteChange]);
    let exit = prop_oneof![Just(Exit::Any), Just(Exit::New)];
    (interval, any::<bool>(), probe, exit, restore, prop::option::of(any::<u16>())).prop_map(
        |(interval, at_once, probe, exit, restore, max_probes)| Standby {
            probing: Probing { interval, max_probes },
            at_once,
            end: Ending { probe, exit, restore },
        },
    )
}

/// An endpoint that has just connected to the script at time 0.
pub(super) fn established(config: Config) -> Tcp {
    let mut script = established_showing_events(config);
    script.gets([]);
    script
}

/// An established connection without a handshake, so that every byte on the wire is data.
fn established_showing_events(config: Config) -> Tcp {
    let config = Config { handshake: false, recv_buffer: Some(65_535), ..config };
    let mut script = closed(config);
    script.app(|tcp| tcp.connect()).expect([event(Event::Connected)]);
    script
}

/// An endpoint that has not been opened.
pub(super) fn closed(config: Config) -> Tcp {
    let endpoint = TcpEnd::new(config, Ports { local: LOCAL, remote: REMOTE }, ISS);
    Script::new(endpoint, give, view)
}

fn give(seen: Seen) -> Input {
    let segment = match seen {
        Seen::Data(n) => {
            Segment { seq: PEER_ISS + number(n).0, payload: Payload::Virtual(MSS), ..from_peer() }
        }
        Seen::Ack(n) => Segment { ack: Some(ISS + number(n).0), ..from_peer() },
        Seen::Other(segment) => *segment,
        Seen::Broken(n) => return Input::Notice(Notice::LinkFailed(lost(LOCAL, REMOTE, number(n)))),
        Seen::Event(event) => panic!("{event:?} is no segment"),
    };
    Input::Segment(segment)
}

/// `Acked` is left out: the script has just sent the ACK itself.
fn view(output: Output) -> Option<Seen> {
    let segment = match output {
        Output::Event(Event::Acked(_)) => return None,
        Output::Event(event) => return Some(Seen::Event(event)),
        Output::Segment(segment) => segment,
    };
    let marks = segment.ece || segment.cwr || segment.ecn != Ecn::NotEct;
    let plain =
        !marks && !segment.syn && !segment.fin && !segment.rst && segment.options == Options::default();
    let seen = if plain && segment.payload.len() == MSS as usize && segment.seq.since(ISS) % MSS == 1 {
        Seen::Data(segment.seq.since(ISS) / MSS + 1)
    } else if plain && segment.payload.is_empty() && segment.ack.is_some_and(|n| n.since(PEER_ISS) % MSS == 1)
    {
        Seen::Ack(segment.ack.expect("checked above").since(PEER_ISS) / MSS + 1)
    } else {
        Seen::Other(Box::new(segment))
    };
    Some(seen)
}
