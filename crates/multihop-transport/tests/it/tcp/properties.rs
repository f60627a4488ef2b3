//! Whatever the network does, the stream arrives as it was sent, and the connection ends.

use multihop_core::{Duration, Instant, Machine, Notice, Payload};
use multihop_testkit::{LinkConfig, Pair, Port};
use multihop_transport::congestion::Variant;
use multihop_transport::connection::Data;
use multihop_transport::tcp::{
    AckRule, Config, DelayedAck, Event, Input, Output, PartialAckTimer, Ports, Probing, Standby, State,
    TcpEnd,
};
use multihop_wire::tcp::{Segment, SeqNumber};
use proptest::prelude::*;

use super::templates::{lost, standbys};

type TcpPair = Pair<TcpEnd, Segment>;

fn take(output: Output) -> Result<Segment, Output> {
    match output {
        Output::Segment(segment) => Ok(segment),
        event @ Output::Event(_) => Err(event),
    }
}

fn connect(config: &Config, link: LinkConfig, seed: u64) -> TcpPair {
    // Close to where sequence numbers wrap.
    let client = TcpEnd::new(config.clone(), Ports { local: 1, remote: 2 }, SeqNumber(u32::MAX - 9000));
    let server = TcpEnd::new(config.clone(), Ports { local: 2, remote: 1 }, SeqNumber(5));
    let mut pair = Pair::new([client, server], Port { take, give: Input::Segment }, link, seed);
    pair.call(1, TcpEnd::listen);
    pair.call(0, TcpEnd::connect);
    pair
}

fn stream(side: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 31 + i / 251) % 256).expect("below 256") ^ side).collect()
}

fn links() -> impl Strategy<Value = LinkConfig> {
    (0.0..0.3, 0.0..0.3, 0.0..0.3, 1_u64..200).prop_map(|(loss, duplication, reordering, hold)| LinkConfig {
        delay: Duration::from_millis(20),
        loss,
        duplication,
        reordering,
        hold: Duration::from_millis(hold),
    })
}

fn configs() -> impl Strategy<Value = Config> {
    let preset = prop_oneof![
        Just(Config::rfc()),
        Just(Config::ns2_1999()),
        Just(Config::ns2_2002()),
        Just(Config::ns2_2005()),
        Just(Config::ns2_2_30()),
        Just(Config::linux()),
        Just(Config::linux_6()),
    ];
    let rule =
        prop_oneof![Just(AckRule::Every), Just(AckRule::Delayed(DelayedAck::Ns2)), Just(AckRule::Dynamic),];
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let variant = prop::sample::select(Variant::ALL).prop_map(|(_, variant)| variant);
    (preset, variant, rule, options, 1_u16..70, 100_u16..1500).prop_map(
        |(preset, variant, ack_rule, (sack, stamps, steady, nagle), window_max, mss)| {
            let mut config = Config {
                congestion: variant.into(),
                ack_rule,
                sack,
                nagle,
                window_max,
                mss,
                sink: false,
                ..preset
            };
            config.timestamps = stamps.then_some(Duration::from_millis(1));
            config.rack &= sack;
            config.max_retries = None;
            config.rto.max = Duration::from_secs(60);
            // Stand-by may last, but must not end the connection.
            config.adtcp.disconnected.probing.max_probes = None;
            config.adtcp.density.samples = 20;
            if steady {
                config.newreno.timer = PartialAckTimer::SlowButSteady;
            }
            config
        },
    )
}

/// Reads what has arrived, in the odd sizes of a slow application.
fn read(pair: &mut TcpPair, side: usize, into: &mut Vec<u8>) {
    let share = 100 + pair.ends[side].unread() / 2;
    let data = pair.call(side, |tcp| tcp.read(u32::try_from(share).unwrap_or(u32::MAX)));
    data.emit(into);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_streams_arrive_whole_and_the_connection_closes(
        config in configs(),
        link in links(),
        seed: u64,
        buffer in prop::option::of(2000_u32..200_000),
    ) {
        let config = Config { recv_buffer: buffer, msl: Duration::from_secs(1), ..config };
        let sent = [stream(0, 60_000), stream(1, 7_000)];
        let mut pair = connect(&config, link, seed);
        for (side, data) in sent.iter().enumerate() {
            prop_assert_eq!(pair.call(side, |tcp| tcp.send(Payload::Bytes(data.clone()))), Ok(()));
        }
        pair.call(0, TcpEnd::close);
        let mut received = [Vec::new(), Vec::new()];
        let limit = Instant::ZERO + Duration::from_secs(40_000);
        let whole = |pair: &mut TcpPair| {
            for (side, into) in received.iter_mut().enumerate() {
                read(pair, side, into);
            }
            received[0].len() == sent[1].len() && received[1].len() == sent[0].len()
        };
        pair.drive(limit, whole);
        while (0..2).any(|side| pair.ends[side].unread() > 0) {
            for (side, into) in received.iter_mut().enumerate() {
                read(&mut pair, side, into);
            }
        }
        prop_assert!(received[1] == sent[0], "{} of {} bytes", received[1].len(), sent[0].len());
        prop_assert!(received[0] == sent[1], "{} of {} bytes", received[0].len(), sent[1].len());
        pair.call(1, TcpEnd::close);
        pair.drive(pair.now() + Duration::from_secs(20_000), |pair| {
            pair.ends.iter().all(|tcp| tcp.state() == State::Closed)
        });
        // The end that closed last may get no answer if the TIME-WAIT of the other is over.
        let states = pair.ends.each_ref().map(TcpEnd::state);
        prop_assert!(states.contains(&State::Closed), "{states:?} at {}", pair.now());
        prop_assert!(!pair.events.iter().flatten().any(|event| *event == Output::Event(Event::TimedOut)));
    }

    #[test]
    fn virtual_bytes_are_counted_once(config in configs(), link in links(), seed: u64) {
        let config = Config { sink: true, ..config };
        let mut pair = connect(&config, link, seed);
        pair.call(0, |tcp| tcp.send(Data::Virtual(200_000))).unwrap();
        let done = pair.drive(Instant::ZERO + Duration::from_secs(40_000), |pair| pair.ends[0].unacked() == 0);
        prop_assert!(done, "{} left at {}", pair.ends[0].unacked(), pair.now());
        let delivered: u64 = pair.events[1]
            .iter()
            .map(|event| if let Output::Event(Event::Delivered(n)) = event { *n } else { 0 })
            .sum();
        prop_assert_eq!(delivered, 200_000);
        prop_assert_eq!(pair.ends[0].counters().bytes_acked, 200_000);
        let server = pair.ends[1].counters();
        prop_assert_eq!(server.bytes_delivered, 200_000);
    }

    /// Notices come at any time, true or not, about any outstanding byte.
    #[test]
    fn standby_always_ends(
        config in configs(),
        plan in standbys(),
        link in links(),
        seed: u64,
        every in 1..40_usize,
        offset in 0..30_000_u32,
    ) {
        let elfn = Some(Standby { probing: Probing { max_probes: None, ..plan.probing }, ..plan });
        let config = Config { sink: true, elfn, ..config };
        let mut pair = connect(&config, link, seed);
        pair.call(0, |tcp| tcp.send(Data::Virtual(200_000))).unwrap();
        let mut steps = 0;
        let done = pair.drive(Instant::ZERO + Duration::from_secs(100_000), |pair| {
            steps += 1;
            // Without a limit on notices, any connection would stop.
            if steps % every == 0 && steps < 4000 {
                let now = pair.now();
                pair.call(0, |tcp| {
                    let acked = u32::try_from(tcp.counters().bytes_acked).expect("few");
                    let iss = if tcp.config().handshake { SeqNumber(u32::MAX - 9000) } else { SeqNumber(0) };
                    let number = iss + 1 + acked + offset % tcp.flight().max(1);
                    tcp.handle(now, Input::Notice(Notice::LinkFailed(lost(1, 2, number))));
                });
            }
            pair.ends[0].unacked() == 0
        });
        prop_assert!(done, "{} left at {}", pair.ends[0].unacked(), pair.now());
        prop_assert_eq!(pair.ends[1].counters().bytes_delivered, 200_000);
    }
}

#[test]
fn a_perfect_link_needs_no_retransmission() {
    let link = LinkConfig { delay: Duration::from_millis(20), ..LinkConfig::default() };
    for config in [Config::rfc(), Config::ns2_1999(), Config::ns2_2005(), Config::ns2_2_30(), Config::linux()]
    {
        let mut pair = connect(&Config { sink: true, ..config }, link, 1);
        pair.call(0, |tcp| tcp.send(Data::Endless)).unwrap();
        let end = Instant::ZERO + Duration::from_secs(10);
        pair.drive(end, |pair| pair.now() >= end);
        let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
        assert_eq!((sender.retransmitted, sender.timeouts, receiver.duplicates), (0, 0, 0));
        // 64 segments in each round trip of 40 ms, but for the start.
        assert!(receiver.delivered > 64 * 25 * 9, "{receiver:?}");
    }
}

#[test]
fn a_dead_peer_ends_the_connection() {
    let link = LinkConfig { loss: 1.0, ..LinkConfig::default() };
    let mut pair = connect(&Config::rfc(), link, 1);
    assert!(pair.drive(Instant::FAR_FUTURE, |pair| pair.ends[0].state() == State::Closed));
    assert_eq!(pair.events[0], [Output::Event(Event::TimedOut)]);
}
