//! Segments as scripts write them.

use multihop_core::{Duration, Payload};
use multihop_testkit::Script;
use multihop_transport::lifecycle;
use multihop_transport::tpa::{Config, Event, Fill, Input, Output, Ports, TpaEnd};
use multihop_wire::tpa::{Ack, AckPolicy, Bitmap, BlockSeq, Body, Options, Segment};

pub(super) const MSS: u32 = 1000;
/// Number of segments in a block, at both ends.
pub(super) const K: u8 = 4;
pub(super) const LOCAL: u16 = 40_000;
pub(super) const REMOTE: u16 = 80;
/// The number of the SYN of the endpoint under test, and of the script's own: both wrap soon.
pub(super) const ISS: BlockSeq = BlockSeq(0xffff);
pub(super) const PEER_ISS: BlockSeq = BlockSeq(0xfffe);
/// The window that both ends offer.
pub(super) const WINDOW: u16 = 64;

pub(super) type Tpa = Script<TpaEnd, Seen>;

/// A packet in either direction, or an event of the endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    /// A full data segment that acknowledges nothing: block, position, TxSeq.
    Data(u16, u8, u8),
    /// The same, from a congested or frozen sender.
    Slow(u16, u8, u8),
    /// A bare ACK: block, positions, TxSeq named.
    Ack(u16, Vec<u8>, u8),
    /// An ACK like [`Ack`](Self::Ack), sent by the interval timer.
    Held(u16, Vec<u8>, u8),
    /// Any other segment, in full.
    Other(Box<Segment>),
    Event(Event),
}

pub(super) fn data(block: u16, position: u8, tx_seq: u8) -> Seen {
    Seen::Data(block, position, tx_seq)
}

pub(super) fn slow(block: u16, position: u8, tx_seq: u8) -> Seen {
    Seen::Slow(block, position, tx_seq)
}

pub(super) fn ack(block: u16, positions: &[u8], tx_seq: u8) -> Seen {
    Seen::Ack(block, positions.to_vec(), tx_seq)
}

pub(super) fn held(block: u16, positions: &[u8], tx_seq: u8) -> Seen {
    Seen::Held(block, positions.to_vec(), tx_seq)
}

/// A segment of the script, changed in some way.
pub(super) fn segment(change: impl FnOnce(&mut Segment)) -> Seen {
    let mut segment = from_peer();
    change(&mut segment);
    Seen::Other(Box::new(segment))
}

/// A segment of the endpoint under test, changed in some way.
pub(super) fn own(block: u16, change: impl FnOnce(&mut Segment)) -> Seen {
    segment(|s| {
        (s.source, s.destination) = (LOCAL, REMOTE);
        s.block = number(ISS, block);
        change(s);
    })
}

pub(super) fn delivered(bytes: u64) -> Seen {
    Seen::Event(Event::Delivered(bytes))
}

pub(super) fn event(event: Event) -> Seen {
    Seen::Event(event)
}

pub(super) fn bits(positions: &[u8]) -> Bitmap {
    positions.iter().fold(Bitmap::EMPTY, |all, &position| all | Bitmap::one(position))
}

pub(super) fn number(iss: BlockSeq, block: u16) -> BlockSeq {
    BlockSeq(iss.0.wrapping_add(block))
}

/// An ACK of the script for a block of the endpoint under test.
pub(super) fn acked(block: u16, positions: &[u8], tx_seq: u8) -> Ack {
    Ack { block: number(ISS, block), bitmap: bits(positions), tx_seq, held: false }
}

/// An ACK of the endpoint under test for a block of the script.
pub(super) fn peer_acked(block: u16, positions: &[u8], tx_seq: u8) -> Ack {
    Ack { block: number(PEER_ISS, block), ..acked(block, positions, tx_seq) }
}

/// An empty segment from the peer, whose part the script plays and which has sent no data.
pub(super) fn from_peer() -> Segment {
    Segment { source: REMOTE, destination: LOCAL, block: PEER_ISS, window: WINDOW, ..Segment::default() }
}

pub(super) fn full(position: u8) -> Body {
    Body::Data { position, last: position + 1 == K, payload: Payload::Virtual(MSS) }
}

/// The configuration of the scripts with other times of its lifecycle.
pub(super) fn config_with(change: impl FnOnce(&mut lifecycle::Config)) -> Config {
    let mut config = config();
    change(&mut config.lifecycle);
    config
}

/// The default of scripts: the paper's TPA with a window of 2, without fill delay, with timeouts of 1 s.
pub(super) fn config() -> Config {
    let mut config = Config::paper();
    config.mss = 1000;
    config.block_size = K;
    config.fill = Fill::Segment;
    config.block_fill = Duration::ZERO;
    config.rto.min = Duration::from_secs(1);
    config.sink = true;
    config
}

/// Options that the script announces as the peer.
pub(super) fn peer_options() -> Options {
    Options { mss: 1000, block_size: K, rto_min: 1_000_000, ..Options::default() }
}

pub(super) fn own_options(config: &Config) -> Options {
    Options {
        mss: config.mss,
        block_size: config.block_size,
        cwnd_max: config.cwnd_max,
        ack_policy: config.ack_policy,
        ack_block_end: config.ack_block_end,
        ack_gaps: config.ack_gaps,
        takes_notices: config.notices,
        rto_min: u32::try_from(config.rto.min.as_micros()).expect("some seconds"),
        ack_interval: u32::try_from(config.ack_interval.as_micros()).expect("some seconds"),
        ..Options::default()
    }
}

/// An endpoint that has just connected to the script, at time 0.
pub(super) fn established(config: Config) -> Tpa {
    established_with(config, peer_options())
}

/// Options of a peer that acknowledges, and requests ACKs, for every window of this many segments.
pub(super) fn peer_every(cwnd_max: u8) -> Options {
    Options { cwnd_max, ack_policy: AckPolicy::EveryWindow, ..peer_options() }
}

pub(super) fn established_with(config: Config, peer: Options) -> Tpa {
    established_with_window(config, peer, WINDOW)
}

/// `window` is what the endpoint under test offers.
pub(super) fn established_with_window(config: Config, peer: Options, window: u16) -> Tpa {
    let options = own_options(&config);
    let mut script = closed(config);
    let syn = own(0, |s| (s.body, s.window) = (Body::Syn(options), window));
    script.app(TpaEnd::connect).expect([syn]);
    let answer = segment(|s| (s.body, s.ack) = (Body::Syn(peer), Some(acked(0, &[], 0))));
    let third = own(0, |s| (s.ack, s.window) = (Some(peer_acked(0, &[], 0)), window));
    let third = if window == WINDOW { ack(0, &[], 0) } else { third };
    script.gets([answer]).expect([event(Event::Connected), third]);
    script
}

/// An endpoint that has not been opened.
pub(super) fn closed(config: Config) -> Tpa {
    let endpoint = TpaEnd::new(config, Ports { local: LOCAL, remote: REMOTE }, ISS);
    Script::new(endpoint, give, view)
}

fn give(seen: Seen) -> Input {
    let segment = match seen {
        Seen::Data(block, position, tx_seq) | Seen::Slow(block, position, tx_seq) => {
            let congested = matches!(seen, Seen::Slow(..));
            Segment { block: number(PEER_ISS, block), tx_seq, body: full(position), congested, ..from_peer() }
        }
        Seen::Ack(block, positions, tx_seq) => {
            Segment { ack: Some(acked(block, &positions, tx_seq)), ..from_peer() }
        }
        Seen::Held(block, positions, tx_seq) => {
            let ack = Ack { held: true, ..acked(block, &positions, tx_seq) };
            Segment { ack: Some(ack), ..from_peer() }
        }
        Seen::Other(segment) => *segment,
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
    let block = segment.block.0.wrapping_sub(ISS.0);
    let ports = (segment.source, segment.destination);
    let plain = segment.window == WINDOW && ports == (LOCAL, REMOTE) && segment.ack_delay == 0;
    let seen = match (&segment.body, segment.ack) {
        (Body::Data { position, last, payload }, None)
            if plain && (!last || *position + 1 == K) && *payload == Payload::Virtual(MSS) =>
        {
            let make = if segment.congested { Seen::Slow } else { Seen::Data };
            make(block, *position, segment.tx_seq)
        }
        (Body::Empty, Some(ack)) if plain => {
            let make = if ack.held { Seen::Held } else { Seen::Ack };
            make(ack.block.0.wrapping_sub(PEER_ISS.0), ack.bitmap.positions().collect(), ack.tx_seq)
        }
        _ => Seen::Other(Box::new(segment)),
    };
    Some(seen)
}
