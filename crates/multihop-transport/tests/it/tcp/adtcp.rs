//! ADTCP: the receiver's reports, and the sender's reaction to them.

use multihop_core::{Duration, Instant, Machine, Payload};
use multihop_testkit::{LinkConfig, Pair, Port};
use multihop_transport::congestion::Variant;
use multihop_transport::connection::Data;
use multihop_transport::tcp::{Config, Event, Input, Output, Phase, Ports, TcpEnd};
use multihop_wire::tcp::{NetworkState, Segment, SeqNumber, StateOption, Timestamps};

use super::templates::*;

const CONGESTION: NetworkState = NetworkState::CONGESTION;
const ROUTE_CHANGE: NetworkState = NetworkState::ROUTE_CHANGE;
const CHANNEL_ERROR: NetworkState = NetworkState::CHANNEL_ERROR;
const DISCONNECTION: NetworkState = NetworkState::DISCONNECTION;
const NORMAL: NetworkState = NetworkState::NORMAL;

/// Segments have no options in these scripts, because the peer has sent no data.
fn adtcp() -> Config {
    Config { congestion: Variant::Adtcp.into(), initial_window: 8, window_max: 10, ..config() }
}

fn start(config: Config) -> Tcp {
    let window = u32::from(config.initial_window);
    let mut s = established(config);
    s.app(|tcp| tcp.send(Data::Endless)).expect((1..=window).map(data));
    s
}

/// An ACK that reports a state.
fn told(n: u32, state: NetworkState) -> Seen {
    segment(|s| {
        s.ack = Some(number(n));
        s.options.state = Some(StateOption { kind: 253, state });
    })
}

/// Three duplicate ACKs that report `state`: window and threshold during recovery, and the window
/// after the ACK of everything.
fn after_a_loss(state: Option<NetworkState>) -> [u32; 3] {
    let mut s = start(Config { limited_transmit: true, window_max: 10, ..adtcp() });
    let answer = |n| state.map_or(ack(n), |state| told(n, state));
    // Limited transmit releases two more, which fill the clamp.
    s.at_ms(100).gets(std::iter::repeat_n(answer(1), 3)).expect([9, 10, 1].map(data));
    let during = [s.machine.cwnd(), s.machine.ssthresh()];
    s.check(|tcp| tcp.phase(), Phase::FastRecovery);
    s.at_ms(200).gets([answer(11)]);
    let sent = s.machine.flight() / MSS;
    s.expect((11..11 + sent).map(data));
    [during[0], during[1], s.machine.cwnd()]
}

#[test]
fn a_third_duplicate_ack_is_handled_by_the_reported_state() {
    // The threshold is half of the eight outstanding segments; afterwards the window is one segment above the
    // flight.
    let newreno = [4000, 4000, 2000];
    assert_eq!(after_a_loss(None), newreno, "no report");
    assert_eq!(after_a_loss(Some(NORMAL)), newreno);
    assert_eq!(after_a_loss(Some(CONGESTION)), newreno);
    // The threshold is still the clamp, so the window stays, and congestion avoidance begins there.
    let threshold = [8000, 8000, 8000];
    assert_eq!(after_a_loss(Some(ROUTE_CHANGE)), threshold);
    assert_eq!(after_a_loss(Some(ROUTE_CHANGE.with(CHANNEL_ERROR))), threshold);
    assert_eq!(after_a_loss(Some(DISCONNECTION)), threshold);
    assert_eq!(after_a_loss(Some(CHANNEL_ERROR)), [8000, 10_000, 8000]);
}

#[test]
fn a_lower_threshold_holds_after_a_change_of_route() {
    let mut s = start(adtcp());
    s.at_ms(100).gets(vec![told(1, CONGESTION); 3]).expect([data(1)]);
    s.at_ms(200).gets([told(9, CONGESTION)]).expect([9, 10].map(data));
    s.at_ms(300).gets([told(10, NORMAL)]).expect([11, 12].map(data));
    s.at_ms(400).gets([told(11, NORMAL)]).expect([13, 14].map(data));
    s.at_ms(500).gets([told(12, NORMAL)]).expect([15].map(data));
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh()), (4250, 4000));
    s.at_ms(600).gets(vec![told(12, ROUTE_CHANGE); 3]).expect([12, 16, 17, 18].map(data));
    s.check(|tcp| (tcp.cwnd(), tcp.ssthresh()), (4000, 4000));
}

#[test]
fn partial_acks_go_on_in_a_recovery_without_halving() {
    let mut s = start(adtcp());
    // 1 and 4 are lost.
    s.at_ms(100).gets(vec![told(1, CHANNEL_ERROR); 3]).expect([1, 9, 10].map(data));
    s.at_ms(200).gets([told(4, CHANNEL_ERROR)]);
    // The window of 11 less 3 acknowledged plus 1.
    s.expect([4, 11, 12].map(data)).check(|tcp| tcp.phase(), Phase::FastRecovery);
    s.at_ms(300).gets([told(13, CHANNEL_ERROR)]).expect((13..=20).map(data));
    s.check(|tcp| (tcp.cwnd(), tcp.counters().retransmitted), (8000, 2));
}

#[test]
fn the_newest_state_counts() {
    let mut s = start(adtcp());
    s.at_ms(100).gets([told(1, CHANNEL_ERROR), told(1, CHANNEL_ERROR), told(1, CONGESTION)]);
    s.expect([data(1)]).check(|tcp| tcp.cwnd(), 4000);
}

#[test]
fn a_state_that_comes_late_does_not_count() {
    let mut s = start(adtcp());
    s.at_ms(100).gets([told(3, CONGESTION)]).expect([9, 10, 11].map(data));
    s.gets([told(2, CHANNEL_ERROR)]).check(TcpEnd::peer_state, Some(CONGESTION));
}

/// ACKs of the same number are told apart by their timestamps.
#[test]
fn a_state_whose_ack_a_duplicate_has_overtaken_does_not_count() {
    let config = Config { timestamps: Some(Duration::from_micros(1)), ..adtcp() };
    let mut tcp = TcpEnd::new(config, Ports { local: LOCAL, remote: REMOTE }, ISS);
    let now = Instant::ZERO;
    tcp.connect();
    while tcp.poll_output(now).is_some() {}
    let mut gets = |value: u32, change: &dyn Fn(&mut Segment)| {
        let mut segment = from_peer();
        segment.options.timestamps = Some(Timestamps { value, echo: 0 });
        change(&mut segment);
        tcp.handle(now, Input::Segment(segment));
        while tcp.poll_output(now).is_some() {}
        tcp.peer_state()
    };
    let tells = |state| move |s: &mut Segment| s.options.state = Some(StateOption { kind: 253, state });
    gets(10, &|s| (s.syn, s.seq) = (true, PEER_ISS));
    assert_eq!(gets(30, &tells(CONGESTION)), Some(CONGESTION));
    assert_eq!(gets(20, &tells(CHANNEL_ERROR)), Some(CONGESTION));
    assert_eq!(gets(30, &tells(CHANNEL_ERROR)), Some(CHANNEL_ERROR));
}

#[test]
fn another_option_kind_is_ignored() {
    let mut other = adtcp();
    other.adtcp.option_kind = 254;
    let mut s = start(other);
    s.at_ms(100).gets(vec![told(1, CHANNEL_ERROR); 3]).expect([data(1)]);
    s.check(|tcp| (tcp.cwnd(), tcp.peer_state()), (4000, None));
}

#[test]
fn newreno_ignores_reports() {
    let mut s = start(Config { congestion: Variant::NewReno.into(), ..adtcp() });
    s.at_ms(100).gets(vec![told(1, CHANNEL_ERROR); 3]).expect([data(1)]);
    s.check(|tcp| (tcp.cwnd(), tcp.peer_state()), (4000, None));
    s.at_ms(1100).expect([data(1)]).check(|tcp| tcp.cwnd(), MSS);
}

/// A segment of the endpoint's.
fn own(seq: SeqNumber, len: u32) -> Seen {
    segment(|s| {
        (s.source, s.destination, s.seq) = (LOCAL, REMOTE, seq);
        s.payload = Payload::Virtual(len);
    })
}

/// A segment with the first unacknowledged bytes, which probes the path.
fn probe(n: u32) -> Seen {
    own(number(n), 8)
}

#[test]
fn a_timeout_without_congestion_is_a_disconnection() {
    for state in [NORMAL, CHANNEL_ERROR, ROUTE_CHANGE, DISCONNECTION] {
        let mut s = start(adtcp());
        s.at_ms(100).gets([told(2, state)]).expect([9, 10].map(data));
        for ms in [1100, 3100, 5100] {
            s.at_ms(ms).expect([probe(2)]);
        }
        s.check(|tcp| (tcp.phase(), tcp.cwnd()), (Phase::StandBy, 9000));
        s.check(|tcp| tcp.rtt().rto(), Duration::from_secs(1));
        // Only an ACK of new data ends the state.
        s.at_ms(5200).gets([told(2, state)]).expect([]);
        // The eight bytes have arrived, so the rest of the segment is retransmitted, and nothing else.
        s.at_ms(5300).gets([past(2)]).expect([own(number(2) + 8, MSS)]);
        // This ACK subtracts its eight bytes from the window until the recovery ends.
        s.check(|tcp| (tcp.cwnd(), tcp.ssthresh(), tcp.phase()), (8992, 9000, Phase::FastRecovery));
        s.check(|tcp| (tcp.counters().timeouts, tcp.counters().probes), (1, 3));
    }
}

/// An ACK of the eight bytes of a probe.
fn past(n: u32) -> Seen {
    segment(|s| s.ack = Some(number(n) + 8))
}

#[test]
fn after_a_disconnection_partial_acks_show_what_is_missing() {
    let mut s = start(adtcp());
    s.at_ms(100).gets([told(2, NORMAL)]).expect([9, 10].map(data));
    s.at_ms(1100).expect([probe(2)]);
    s.at_ms(1200).gets([past(2)]).expect([own(number(2) + 8, MSS)]);
    // 3 to 6 had arrived before; 7 had not.
    let seventh = segment(|s| s.ack = Some(number(7)));
    // The window of 9 less 5 acknowledged plus 1.
    s.at_ms(1300).gets([seventh]).expect([data(7), data(11)]);
    s.at_ms(1400).gets([ack(12)]).expect((12..=20).map(data));
    s.check(|tcp| (tcp.cwnd(), tcp.phase()), (9000, Phase::CongestionAvoidance));
    s.check(|tcp| (tcp.counters().retransmitted, tcp.counters().probes), (3, 1));
}

#[test]
fn a_timeout_in_congestion_or_without_reports_is_handled_as_by_newreno() {
    for answer in [told(2, CONGESTION), ack(2)] {
        let mut s = start(adtcp());
        s.at_ms(100).gets([answer]).expect([9, 10].map(data));
        s.at_ms(1100).expect([data(2)]);
        s.check(|tcp| (tcp.cwnd(), tcp.rtt().rto()), (MSS, Duration::from_secs(2)));
    }
}

#[test]
fn the_connection_ends_after_fifteen_probes() {
    let mut s = start(adtcp());
    s.at_ms(100).gets([told(2, NORMAL)]).expect([9, 10].map(data));
    for n in 0..15 {
        s.at_ms(1100 + 2000 * n).expect([probe(2)]);
    }
    s.at_ms(31_100).expect([event(Event::TimedOut)]);
}

type TcpPair = Pair<TcpEnd, Segment>;

/// Transfers 300 kB from one end to the other over a path with a loss rate.
fn transfer(variants: [Variant; 2], loss: f64) -> TcpPair {
    let tick = Some(Duration::from_micros(1));
    let ends = [(1, 2), (2, 1)].into_iter().zip(variants).map(|((local, remote), variant)| {
        let mut config = Config { congestion: variant.into(), timestamps: tick, mss: 1012, ..config() };
        config.adtcp.density.samples = 10;
        TcpEnd::new(config, Ports { local, remote }, SeqNumber(0))
    });
    let ends: Vec<_> = ends.collect();
    let take = |output| match output {
        Output::Segment(segment) => Ok(segment),
        event @ Output::Event(_) => Err(event),
    };
    let link = LinkConfig { delay: Duration::from_millis(20), loss, ..LinkConfig::default() };
    let mut pair =
        Pair::new(ends.try_into().expect("two ends"), Port { take, give: Input::Segment }, link, 7);
    pair.call(1, TcpEnd::listen);
    pair.call(0, TcpEnd::connect);
    pair.call(0, |tcp| tcp.send(Data::Virtual(300_000))).expect("the connection is open");
    let done = pair.drive(Instant::ZERO + Duration::from_secs(1000), |pair| pair.ends[0].unacked() == 0);
    assert!(done && pair.ends[1].counters().bytes_delivered == 300_000);
    pair
}

#[test]
fn an_adtcp_receiver_measures_and_reports_to_an_adtcp_sender() {
    let pair = transfer([Variant::Adtcp, Variant::Adtcp], 0.05);
    let [sender, receiver] = &pair.ends;
    assert_eq!(sender.peer_state(), receiver.network_state());
    assert!(sender.peer_state().is_some());
    // The sender's own meter has had no data.
    assert_eq!(receiver.peer_state(), None);
    // All segments of a window arrive at once, and for the rest of the round trip there is silence.
    assert!(receiver.levels().is_some_and(|levels| levels.silent));
}

#[test]
fn with_a_conventional_peer_on_either_side_it_is_newreno() {
    let pair = transfer([Variant::Adtcp, Variant::NewReno], 0.05);
    assert_eq!((pair.ends[0].peer_state(), pair.ends[1].network_state()), (None, None));
    let counters = *pair.ends[0].counters();
    assert!(counters.fast_retransmits > 0 && counters.standbys == 0, "{counters:?}");
    let conventional = transfer([Variant::NewReno, Variant::NewReno], 0.05);
    assert_eq!(*conventional.ends[0].counters(), counters);
    let ignored_reports = transfer([Variant::NewReno, Variant::Adtcp], 0.05);
    assert_eq!(*ignored_reports.ends[0].counters(), counters);
}
