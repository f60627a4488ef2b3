//! Any sequence of operations keeps the invariants and never panics.

use multihop_core::{Duration, Instant, LostSegment, Machine, Notice, Payload, SegmentId};
use multihop_transport::connection::Data;
use multihop_transport::lifecycle;
use multihop_transport::tpa::{Config, Event, Input, Output, Ports, State, TpaEnd};
use multihop_wire::tpa::{Ack, AckPolicy, Bitmap, BlockSeq, Body, Options, Segment, VERSION};
use proptest::prelude::*;

use super::properties::configs;

#[derive(Clone, Debug)]
enum Op {
    Advance(u16),
    /// A segment whose numbers lie near those that the endpoint expects.
    Near(Fields),
    Garbage(Fields),
    Bytes(Vec<u8>),
    Timeout,
    Notice(u8, u8, i16),
    Send(u32),
    SendForever,
    Read(u32),
    SetMss(u16),
    Shutdown,
    Close,
    Abort,
}

#[derive(Clone, Debug)]
struct Fields {
    block: i16,
    kind: u8,
    position: u8,
    last: bool,
    len: u16,
    ack: Option<(i16, u16, u8, bool)>,
    tx_seq: u8,
    congested: bool,
    window: u16,
}

fn fields() -> impl Strategy<Value = Fields> {
    let offset = || prop_oneof![6 => Just(0_i16), 3 => -2..3_i16, 1 => any::<i16>()];
    let bitmap = prop_oneof![3 => (0_u8..13).prop_map(|n| (1 << n) - 1), 1 => any::<u16>()];
    let ack =
        prop::option::weighted(0.8, (offset(), bitmap, prop_oneof![0..4_u8, any::<u8>()], any::<bool>()));
    let kind = prop_oneof![4 => Just(0_u8), 4 => Just(1), 1 => 2..6_u8];
    let len = prop_oneof![Just(100_u16), 1..2000_u16, Just(u16::MAX)];
    let window = prop_oneof![Just(0_u16), Just(9), any::<u16>()];
    (offset(), kind, 0..13_u8, any::<(bool, u8, bool)>(), len, ack, window).prop_map(
        |(block, kind, position, (last, tx_seq, congested), len, ack, window)| Fields {
            block,
            kind,
            position,
            last,
            len,
            ack,
            tx_seq,
            congested,
            window,
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => any::<u16>().prop_map(Op::Advance),
        14 => fields().prop_map(Op::Near),
        1 => fields().prop_map(Op::Garbage),
        1 => any::<Vec<u8>>().prop_map(Op::Bytes),
        3 => Just(Op::Timeout),
        1 => any::<(u8, u8, i16)>().prop_map(|(kind, position, block)| Op::Notice(kind, position, block)),
        4 => (0..5000_u32).prop_map(Op::Send),
        1 => Just(Op::SendForever),
        2 => (0..5000_u32).prop_map(Op::Read),
        1 => any::<u16>().prop_map(Op::SetMss),
        1 => prop_oneof![4 => Just(Op::Timeout), 2 => Just(Op::Shutdown), 1 => Just(Op::Close), 1 => Just(Op::Abort)],
    ]
}

/// State of the test between operations.
struct Bench {
    tpa: TpaEnd,
    now: Instant,
    /// The newest block sent, and the newest acknowledged.
    sent: BlockSeq,
    expected: BlockSeq,
    delivered: u64,
    taken: u64,
}

impl Bench {
    fn new(config: Config, listen: bool) -> Self {
        let mut tpa = TpaEnd::new(config, Ports { local: 1, remote: 2 }, BlockSeq(0xfffd));
        if listen {
            tpa.listen()
        } else {
            tpa.connect()
        }
        let (sent, expected) = (BlockSeq(0), BlockSeq(0));
        let mut bench = Self { tpa, now: Instant::ZERO, sent, expected, delivered: 0, taken: 0 };
        bench.drain();
        bench
    }

    /// Completes the handshake, so that more of the operations have an effect.
    fn open(&mut self, listen: bool) {
        let ack = Some(Ack { block: self.sent, ..Ack::default() });
        let syn = |ack| Segment {
            block: BlockSeq(7),
            body: Body::Syn(Options { mss: 1500, rto_min: 0, ..Options::default() }),
            ack,
            window: 9,
            ..Segment::default()
        };
        self.expected = BlockSeq(7);
        if listen {
            self.give(syn(None));
            let ack = Some(Ack { block: self.sent, ..Ack::default() });
            self.give(Segment { block: BlockSeq(7), ack, window: 9, ..Segment::default() });
        } else {
            self.give(syn(ack));
        }
        assert_eq!(self.tpa.state(), State::Established);
    }

    fn give(&mut self, segment: Segment) {
        self.tpa.handle(self.now, Input::Segment(segment));
        self.drain();
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Advance(ms) => {
                let target = self.now + Duration::from_millis(u64::from(ms));
                while let Some(due) = self.tpa.poll_timeout().filter(|&due| due <= target) {
                    self.now = self.now.max(due);
                    self.timeout();
                }
                self.now = target;
            }
            Op::Near(fields) => self.give(segment(&fields, self.expected, self.sent)),
            Op::Garbage(fields) => self.give(segment(&fields, BlockSeq(0x5555), BlockSeq(0xaaaa))),
            Op::Bytes(bytes) => {
                if let Ok(segment) = Segment::parse_in_udp(&bytes, 2, 1) {
                    self.give(segment);
                }
            }
            Op::Timeout => self.timeout(),
            Op::Notice(kind, position, block) => self.notice(kind, position, block),
            Op::Send(n) => drop(self.tpa.send(Payload::Bytes(vec![7; n as usize]))),
            Op::SendForever => drop(self.tpa.send(Data::Endless)),
            Op::Read(n) => self.taken += self.tpa.read(n).len() as u64,
            Op::SetMss(mss) => self.tpa.set_mss(mss),
            Op::Shutdown => self.tpa.shutdown(),
            Op::Close => self.tpa.close(),
            Op::Abort => self.tpa.abort(),
        }
        self.drain();
        self.check();
    }

    fn notice(&mut self, kind: u8, position: u8, block: i16) {
        let notice = match kind % 4 {
            0 => Notice::RouteLost,
            1 => Notice::RouteRestored,
            2 => Notice::PathInfo { hops: position },
            _ => {
                let block = self.sent.0.wrapping_add_signed(block % 2);
                let segment = SegmentId::Tpa { block, position: position % 12 };
                Notice::LinkFailed(LostSegment { source: 1, destination: 2, segment })
            }
        };
        self.tpa.handle(self.now, Input::Notice(notice));
    }

    fn timeout(&mut self) {
        self.tpa.handle_timeout(self.now);
        self.drain();
        let next = self.tpa.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "{next:?} is not after {}", self.now);
    }

    fn drain(&mut self) {
        let mut count = 0;
        loop {
            let (flight, window) = (self.tpa.flight(), self.tpa.window());
            let Some(output) = self.tpa.poll_output(self.now) else { break };
            count += 1;
            assert!(count < 100, "no end of output");
            match output {
                Output::Segment(segment) => {
                    let timed = matches!(segment.body, Body::Data { .. } | Body::Fin { .. });
                    assert!(!timed || flight < window, "{flight} in flight, {window} allowed");
                    self.sent(&segment);
                }
                Output::Event(Event::Delivered(n)) => self.delivered += n,
                Output::Event(_) => {}
            }
        }
    }

    fn sent(&mut self, segment: &Segment) {
        if segment.body == Body::Reset {
            return;
        }
        assert!(segment.data_len() <= usize::from(self.tpa.config().mss));
        // Every segment can be encoded, and parses to the same segment.
        let mut bytes = Vec::new();
        segment.emit_in_udp(&mut bytes);
        let read = Segment::parse_in_udp(&bytes, 1, 2).map(|read| (read.block, read.ack, read.window));
        assert_eq!(read, Ok((segment.block, segment.ack, segment.window)));
        self.sent = segment.block;
        self.expected = segment.ack.map_or(self.expected, |ack| ack.block);
    }

    fn check(&self) {
        let tpa = &self.tpa;
        assert_eq!(self.delivered, tpa.counters().bytes_delivered);
        if !tpa.config().sink {
            assert_eq!(self.delivered, self.taken + tpa.unread());
        }
        let buffer = u64::from(tpa.config().recv_buffer.unwrap_or(0));
        let mss = u64::from(tpa.config().mss);
        assert!(tpa.unread() <= buffer.max(mss) + 12 * mss, "{} bytes unread", tpa.unread());
        let waits = match tpa.state() {
            State::Closed | State::Listen => false,
            State::SynSent | State::SynReceived | State::Linger => true,
            _ => tpa.flight() > 0 || tpa.unacked() > 0,
        };
        assert!(!waits || tpa.poll_timeout().is_some(), "nothing will wake {:?}", tpa.state());
    }
}

fn segment(fields: &Fields, expected: BlockSeq, sent: BlockSeq) -> Segment {
    let Fields { position, last, .. } = *fields;
    let options = Options {
        version: if last { VERSION } else { position },
        mss: fields.len.max(1),
        block_size: position.clamp(1, 12),
        cwnd_max: fields.tx_seq.max(1),
        ack_policy: if last { AckPolicy::EveryWindow } else { AckPolicy::EveryTwo },
        ack_block_end: fields.congested,
        ack_gaps: last,
        ack_interval: u32::from(fields.window) * 1000,
        rto_min: u32::from(fields.len) * 1000,
        ..Options::default()
    };
    let body = match fields.kind {
        0 => Body::Empty,
        1 => Body::Data { position, last, payload: Payload::Virtual(u32::from(fields.len)) },
        2 => Body::Fin { position },
        3 => Body::Syn(options),
        4 => Body::Reset,
        _ => Body::Data { position, last, payload: Payload::EMPTY },
    };
    Segment {
        source: 2,
        destination: 1,
        block: BlockSeq(expected.0.wrapping_add_signed(fields.block)),
        tx_seq: fields.tx_seq,
        body,
        ack: fields.ack.map(|(block, bitmap, tx_seq, held)| Ack {
            block: BlockSeq(sent.0.wrapping_add_signed(block)),
            bitmap: (0..12)
                .filter(|p| bitmap >> p & 1 == 1)
                .fold(Bitmap::EMPTY, |all, p| all | Bitmap::one(p)),
            tx_seq,
            held,
        }),
        ack_delay: fields.tx_seq,
        congested: fields.congested,
        window: fields.window,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold(
        config in configs(),
        listen: bool,
        opened: bool,
        routes: bool,
        ops in prop::collection::vec(op(), 1..120),
    ) {
        let config = Config {
            recv_buffer: Some(9000),
            framing: multihop_transport::tpa::Framing::Udp,
            route_notices: routes,
            lifecycle: lifecycle::Config {
                keepalive: routes.then_some(Duration::from_secs(7)),
                linger: Duration::from_secs(20),
                ..config.lifecycle
            },
            ..config
        };
        let mut bench = Bench::new(config, listen);
        if opened {
            bench.open(listen);
        }
        for op in ops {
            bench.apply(op);
        }
    }
}
