//! Segments as packet scripts write them.

use multihop_core::{Duration, Instant, Machine, Payload};
use multihop_testkit::Script;
use multihop_transport::connection::Event;
use multihop_transport::lifecycle;
use multihop_transport::mesh::{Config, NAME, Output};
use multihop_wire::control::{Cause, Control, Names, Options, Reset, Syn, VERSION};
use multihop_wire::mesh::{Ack, Data, Segment};

use super::pair::Watched;

/// Connection numbers of the end under test and of the script: the first segments have the numbers 0 and 101.
pub(super) const OWN: u32 = u32::MAX;
pub(super) const PEER: u32 = 100;
const WINDOW: u16 = 4096;

pub(super) type MeshScript = Script<Watched, Seen>;

/// A segment or an event, in either direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen {
    Control(Box<Control>),
    /// A data segment: its number and its bytes.
    Data(u32, usize),
    /// A FIN: its number.
    Fin(u32),
    /// A probe: its number.
    Probe(u32),
    /// Number of the next segment.
    Ack(u32),
    Event(Event),
}

fn view(output: Output) -> Option<Seen> {
    Some(match output {
        Output::Segment(Segment::Control(control)) => Seen::Control(Box::new(control)),
        Output::Segment(Segment::Data(data)) if data.is_fin => Seen::Fin(data.number),
        Output::Segment(Segment::Data(data)) if data.payload.is_empty() => Seen::Probe(data.number),
        Output::Segment(Segment::Data(data)) => Seen::Data(data.number, data.payload.len()),
        Output::Segment(Segment::Ack(ack)) => Seen::Ack(ack.next),
        Output::Event(event) => Seen::Event(event),
    })
}

/// A segment of the script. Each ACK names the newest transmission that it acknowledges, if no segment has been
/// retransmitted.
fn give(seen: Seen) -> Segment {
    let data = |number: u32| Data {
        number,
        transmission: number,
        ask: true,
        payload: Payload::EMPTY,
        ..Data::default()
    };
    match seen {
        Seen::Control(control) => Segment::Control(*control),
        Seen::Data(number, bytes) => {
            let bytes = u32::try_from(bytes).expect("a short segment");
            Segment::Data(Data { payload: Payload::Virtual(bytes), ..data(number) })
        }
        Seen::Fin(number) => Segment::Data(Data { is_fin: true, ..data(number) }),
        Seen::Probe(number) => Segment::Data(data(number)),
        Seen::Ack(next) => acknowledging(next, next.wrapping_sub(1), 0),
        Seen::Event(event) => panic!("{event:?} is no segment"),
    }
}

/// An ACK that names the transmission that left at `sent_ms`.
fn acknowledging(next: u32, newest: u32, sent_ms: u32) -> Segment {
    Segment::Ack(Ack { window: WINDOW, next, newest, echo: sent_ms * 1000, ..Ack::default() })
}

/// The script's ACK at `now_ms`: number of the next segment, and of the newest transmission, which left at `sent_ms`.
pub(super) fn ack_of_retransmission(
    s: &mut MeshScript,
    now_ms: u64,
    (next, newest): (u32, u32),
    sent_ms: u32,
) {
    let now = Instant::ZERO + Duration::from_millis(now_ms);
    s.at_ms(now_ms).app(|watched| watched.handle(now, acknowledging(next, newest, sent_ms)));
}

fn control(control: Control) -> Seen {
    Seen::Control(Box::new(control))
}

pub(super) fn event(event: Event) -> Seen {
    Seen::Event(event)
}

pub(super) fn keepalive(number: u32) -> Seen {
    control(Control::KeepAlive(number))
}

pub(super) fn peer_options() -> Options {
    Options { version: VERSION, ..Options::default() }
}

fn own_options() -> Options {
    Options {
        version: VERSION,
        transports: Names::new(&[NAME]).expect("a short name"),
        initial_ttl: 64.try_into().ok(),
        mss: 1000.try_into().ok(),
        ..Options::default()
    }
}

/// A SYN of the end under test.
pub(super) fn own_syn(attempt: u8) -> Seen {
    control(Control::Syn(Syn { number: OWN, attempt, answers: None, window: WINDOW, options: own_options() }))
}

/// A SYN ACK of the end under test.
pub(super) fn own_syn_ack(attempt: u8) -> Seen {
    control(Control::Syn(Syn {
        number: OWN,
        attempt,
        answers: Some(PEER),
        window: WINDOW,
        options: own_options(),
    }))
}

/// A SYN of the script, changed in some way.
pub(super) fn syn_with(change: impl FnOnce(&mut Syn)) -> Seen {
    let mut syn = Syn { number: PEER, attempt: 0, answers: None, window: WINDOW, options: peer_options() };
    change(&mut syn);
    control(Control::Syn(syn))
}

pub(super) fn syn(attempt: u8) -> Seen {
    syn_with(|syn| syn.attempt = attempt)
}

pub(super) fn syn_ack(attempt: u8) -> Seen {
    syn_with(|syn| (syn.attempt, syn.answers) = (attempt, Some(OWN)))
}

/// A reset with the number of a segment that its receiver has sent.
pub(super) fn reset(cause: Cause, number: u32, text: &str) -> Seen {
    control(Control::Reset(Reset { cause, number, is_expected: false, text: text.into() }))
}

/// A reset with the number of the segment that its receiver expects.
pub(super) fn reset_of_ack(number: u32) -> Seen {
    let cause = Cause::UNKNOWN_CONNECTION;
    control(Control::Reset(Reset { cause, number, is_expected: true, text: String::new() }))
}

/// The configuration of the scripts with other times of its lifecycle.
pub(super) fn config_with(change: impl FnOnce(&mut lifecycle::Config)) -> Config {
    let mut config = config();
    change(&mut config.lifecycle);
    config
}

pub(super) fn config() -> Config {
    let rto_min = Duration::from_secs(1);
    Config { mss: 1000, sink: true, rto_min, ..Config::default() }
}

/// An end that is closed.
pub(super) fn closed(config: &Config) -> MeshScript {
    Script::new(Watched::new(config, OWN), give, view)
}

pub(super) fn listening(config: &Config) -> MeshScript {
    let mut s = closed(config);
    s.app(|watched| watched.end.listen()).expect([]);
    s
}

/// An end that has called, and whose connection is established at time 0.
pub(super) fn established(config: &Config) -> MeshScript {
    let mut s = closed(config);
    s.app(|watched| watched.end.connect()).expect([own_syn(0)]);
    s.gets([syn_ack(0)]).expect([event(Event::Connected), Seen::Ack(101)]);
    s
}
