//! Any sequence of operations keeps the invariants and never panics.

use multihop_core::{BitRate, Duration, Instant, Machine, Notice, Payload};
use multihop_transport::congestion::Variant;
use multihop_transport::connection::Data;
use multihop_transport::pacing::PacingConfig;
use multihop_transport::tcp::{
    AdtcpConfig, Config, DensityConfig, Event, Input, Output, Pacing, Ports, RoundTrips, State, TcpEnd, Trip,
};
use multihop_wire::tcp::{NetworkState, Options, SackBlocks, Segment, SeqNumber, StateOption, Timestamps};
use proptest::prelude::*;

use super::templates::{lost, standbys};

#[derive(Clone, Debug)]
enum Op {
    Advance(u16),
    /// A segment whose numbers lie near those that the endpoint expects.
    Segment(Near),
    Garbage(u32, u32, u8, u16, u16),
    Timeout,
    Hops(u8),
    RouteLost,
    /// A segment near the first number that the endpoint sent was lost at a failed link.
    Broken(i32),
    Send(u32),
    SendForever,
    Read(u32),
    Close,
    Abort,
}

#[derive(Clone, Debug)]
struct Near {
    seq: i32,
    ack: Option<i32>,
    flags: u8,
    window: u16,
    len: u16,
    sack: Vec<(i32, u16)>,
    stamp: Option<(u32, u32)>,
    state: Option<(u8, u8)>,
}

fn near() -> impl Strategy<Value = Near> {
    let offset = || prop_oneof![3 => Just(0), 2 => -3000..9000_i32, 1 => any::<i32>()];
    (
        offset(),
        prop_oneof![5 => offset().prop_map(Some), 1 => Just(None)],
        prop_oneof![6 => Just(0_u8), 1 => any::<u8>()],
        any::<u16>(),
        prop_oneof![Just(0_u16), Just(1000), any::<u16>()],
        prop::collection::vec((-3000..9000_i32, any::<u16>()), 0..4),
        prop::option::of((any::<u32>(), any::<u32>())),
        prop::option::of((StateOption::KINDS, any::<u8>())),
    )
        .prop_map(|(seq, ack, flags, window, len, sack, stamp, state)| Near {
            seq,
            ack,
            flags,
            window,
            len,
            sack,
            stamp,
            state,
        })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => any::<u16>().prop_map(Op::Advance),
        12 => near().prop_map(Op::Segment),
        1 => any::<(u32, u32, u8, u16, u16)>().prop_map(|(a, b, c, d, e)| Op::Garbage(a, b, c, d, e)),
        3 => Just(Op::Timeout),
        1 => any::<u8>().prop_map(Op::Hops),
        1 => Just(Op::RouteLost),
        2 => (-9000..3000_i32).prop_map(Op::Broken),
        3 => (0..5000_u32).prop_map(Op::Send),
        1 => Just(Op::SendForever),
        2 => (0..5000_u32).prop_map(Op::Read),
        1 => Just(Op::Close),
        1 => prop_oneof![9 => Just(Op::Timeout), 1 => Just(Op::Abort)],
    ]
}

/// State of the test between operations.
struct Bench {
    tcp: TcpEnd,
    now: Instant,
    /// The number after the highest one sent, and the last acknowledgement.
    sent: SeqNumber,
    expected: SeqNumber,
    delivered: u64,
    taken: u64,
    sack: bool,
}

impl Bench {
    fn new(config: Config, listen: bool) -> Self {
        let sack = config.sack;
        let mut tcp = TcpEnd::new(config, Ports { local: 1, remote: 2 }, SeqNumber(u32::MAX - 2000));
        if listen {
            tcp.listen()
        } else {
            tcp.connect()
        }
        let (sent, expected) = (SeqNumber(0), SeqNumber(0));
        let mut bench = Self { tcp, now: Instant::ZERO, sent, expected, delivered: 0, taken: 0, sack };
        bench.drain();
        bench
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Advance(ms) => {
                let target = self.now + Duration::from_millis(u64::from(ms));
                while let Some(due) = self.tcp.poll_timeout().filter(|&due| due <= target) {
                    self.now = self.now.max(due);
                    self.timeout();
                }
                self.now = target;
            }
            Op::Segment(near) => self.segment(&near),
            Op::Garbage(seq, ack, flags, window, len) => {
                let segment = flagged(SeqNumber(seq), Some(SeqNumber(ack)), flags, window, len);
                self.tcp.handle(self.now, Input::Segment(segment));
            }
            Op::Timeout => self.timeout(),
            Op::Hops(hops) => self.tcp.handle(self.now, Input::Notice(Notice::PathInfo { hops })),
            Op::RouteLost => self.tcp.handle(self.now, Input::Notice(Notice::RouteLost)),
            Op::Broken(offset) => {
                let lost = lost(1, 2, self.sent + offset.cast_unsigned());
                self.tcp.handle(self.now, Input::Notice(Notice::LinkFailed(lost)));
            }
            Op::Send(n) => drop(self.tcp.send(Payload::Bytes(vec![7; n as usize]))),
            Op::SendForever => drop(self.tcp.send(Data::Endless)),
            Op::Read(n) => self.taken += self.tcp.read(n).len() as u64,
            Op::Close => self.tcp.close(),
            Op::Abort => self.tcp.abort(),
        }
        self.drain();
        self.check();
    }

    fn segment(&mut self, near: &Near) {
        let seq = self.expected + near.seq.cast_unsigned();
        let ack = near.ack.map(|offset| self.sent + offset.cast_unsigned());
        let mut segment = flagged(seq, ack, near.flags, near.window, near.len);
        let mut sack = SackBlocks::default();
        for &(from, len) in &near.sack {
            let left = self.sent - 5000 + from.cast_unsigned();
            sack.push(left, left + u32::from(len));
        }
        let timestamps = near.stamp.map(|(value, echo)| Timestamps { value, echo });
        let told = |(kind, bits)| StateOption { kind, state: NetworkState::from_bits(bits) };
        segment.options = Options { sack, timestamps, state: near.state.map(told), ..segment.options };
        let millis = |n: u32| Duration::from_millis(u64::from(n % 10_000));
        let trip = near.stamp.map(|(there, back)| Trip {
            there: millis(there),
            back: millis(back),
            ..Trip::default()
        });
        let input = match trip {
            Some(trip) => Input::Timed(segment, trip),
            None => Input::Segment(segment),
        };
        self.tcp.handle(self.now, input);
    }

    fn timeout(&mut self) {
        self.tcp.handle_timeout(self.now);
        self.drain();
        let next = self.tcp.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "{next:?} is not after {}", self.now);
    }

    fn drain(&mut self) {
        let mut count = 0;
        let flight_before = self.tcp.flight();
        while let Some(output) = self.tcp.poll_output(self.now) {
            count += 1;
            assert!(count < 1000, "no end of output");
            match output {
                Output::Segment(segment) => self.sent(&segment),
                Output::Event(Event::Delivered(n)) => self.delivered += n,
                Output::Event(_) => {}
            }
        }
        // Two segments by limited transmit, and the FIN.
        let limited = if self.tcp.config().limited_transmit { 2 * self.tcp.mss() } else { 0 };
        let allowed = self.tcp.window().saturating_add(limited + 1);
        let flight = self.tcp.flight();
        assert!(self.sack || flight <= allowed.max(flight_before), "{flight} in flight, allowed {allowed}");
    }

    fn sent(&mut self, segment: &Segment) {
        if segment.rst {
            return;
        }
        assert!(segment.payload.len() <= self.tcp.mss() as usize);
        let len = u32::try_from(segment.payload.len()).expect("at most one MSS");
        let end = segment.seq + len + u32::from(segment.syn) + u32::from(segment.fin);
        if segment.syn || self.sent.before(end) {
            self.sent = end;
        }
        self.expected = segment.ack.unwrap_or(self.expected);
    }

    fn check(&self) {
        let tcp = &self.tcp;
        assert_eq!(self.delivered, tcp.counters().bytes_delivered);
        assert_eq!(self.delivered, self.taken + tcp.unread());
        let waits = match tcp.state() {
            State::Closed | State::Listen | State::FinWait2 => false,
            State::SynSent | State::SynReceived | State::TimeWait => true,
            _ => tcp.flight() > 0 || tcp.unacked() > 0,
        };
        assert!(!waits || tcp.poll_timeout().is_some(), "nothing will wake {:?}", tcp.state());
    }
}

fn flagged(seq: SeqNumber, ack: Option<SeqNumber>, flags: u8, window: u16, len: u16) -> Segment {
    Segment {
        source: 2,
        destination: 1,
        seq,
        ack,
        syn: flags & 1 > 0,
        fin: flags & 2 > 0,
        rst: flags & 12 == 12,
        window,
        payload: Payload::Virtual(u32::from(len)),
        ..Segment::default()
    }
}

fn configs() -> impl Strategy<Value = Config> {
    let presets = [Config::rfc(), Config::ns2_1999(), Config::ns2_2005(), Config::linux(), Config::linux_6()];
    let pacer = PacingConfig::new(BitRate(2_000_000));
    let paced = [RoundTrips::Net, RoundTrips::Timed]
        .map(|round_trips| Some(Pacing { round_trips, ..Pacing::new(pacer) }));
    let options = (any::<bool>(), any::<bool>(), any::<bool>());
    let pacing = prop::sample::select(vec![None, paced[0], paced[1]]);
    let elfn = prop::option::of(standbys());
    let densities = (1_u16..20, any::<u8>(), any::<u16>(), any::<u16>())
        .prop_map(|(samples, bins, high, low)| DensityConfig { samples, bins, high, low });
    let adtcp = prop::option::of((standbys(), densities));
    let others =
        [Variant::Cubic, Variant::Vegas, Variant::Westwood, Variant::Bbr, Variant::Bbr3, Variant::Prague];
    let other = prop::option::of(prop::sample::select(others.to_vec()));
    (prop::sample::select(presets.to_vec()), other, 1_u16..10, options, pacing, elfn, adtcp).prop_map(
        |(preset, other, window_max, (handshake, sack, stamps), pacing, elfn, adtcp)| Config {
            congestion: if adtcp.is_some() {
                Variant::Adtcp.into()
            } else {
                other.map_or(preset.congestion, Into::into)
            },
            adtcp: adtcp.map_or(AdtcpConfig::PAPER, |(disconnected, density)| AdtcpConfig {
                disconnected,
                density,
                ..AdtcpConfig::PAPER
            }),
            pacing,
            elfn,
            window_max,
            handshake,
            sack,
            rack: preset.rack && sack,
            hystart: stamps,
            ecn: sack,
            timestamps: stamps.then_some(Duration::from_millis(1)),
            sink: false,
            recv_buffer: Some(9000),
            mss: 1000,
            ..preset
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold(config in configs(), listen: bool, ops in prop::collection::vec(op(), 1..120)) {
        let mut bench = Bench::new(config, listen);
        for op in ops {
            bench.apply(op);
        }
    }
}
