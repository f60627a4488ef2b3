use multihop_core::{BitRate, Duration};
use multihop_wire::tcp::NetworkState;

use super::*;
use crate::congestion::{Ack, CongestionControl, Variant, Window};
use crate::pacing::PacingConfig;

/// A user-defined congestion control for tests: a window of four segments that never changes, and the last notice as its state.
#[derive(Debug)]
struct Fixed {
    window: Window,
    state: Option<&'static str>,
}

impl Fixed {
    fn new() -> Self {
        let config = Config { initial_window: 4, window_max: 4, ..Config::rfc() };
        Self { window: config.window(), state: None }
    }
}

impl CongestionControl for Fixed {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, _now: Instant, _ack: &Ack) {}

    fn on_dup_ack(&mut self, _now: Instant) {}

    fn on_loss(&mut self, _now: Instant, _flight: u32) {}

    fn on_timeout(&mut self, _now: Instant, _flight: u32, _again: bool) {}

    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        self.state = (*notice == Notice::RouteLost).then_some("route lost");
    }

    fn state(&self) -> Option<&'static str> {
        self.state
    }
}

/// An endpoint whose pacer has measured one round trip over one hop, so that its gap is half of that round
/// trip.
fn endpoint(round_trip: Option<Duration>) -> TcpEnd {
    let pacer = PacingConfig { history: 1, ..PacingConfig::new(BitRate(2_000_000)) };
    let pacing = round_trip.map(|_| Pacing::new(pacer));
    let config = Config { handshake: false, pacing, ..Config::rfc() };
    let mut endpoint = TcpEnd::new(config, Ports { local: 1, remote: 2 }, SeqNumber(0));
    endpoint.connect();
    endpoint.congestion = Congestion::Custom(Box::new(Fixed::new()));
    if let Some((pace, round_trip)) = endpoint.pace.as_mut().zip(round_trip) {
        pace.pacer.set_hops(1);
        pace.pacer.sample(0, round_trip, None);
    }
    endpoint
}

fn segments(endpoint: &mut TcpEnd, now: Instant) -> usize {
    core::iter::from_fn(|| endpoint.poll_output(now)).filter(|out| matches!(out, Output::Segment(_))).count()
}

#[test]
fn the_pacer_spaces_segments_within_the_window() {
    let mut endpoint = endpoint(Some(Duration::from_millis(14)));
    endpoint.send(Data::Endless).unwrap();
    let mut sent_at = Vec::new();
    let mut now = Instant::ZERO;
    for _ in 0..8 {
        for _ in 0..segments(&mut endpoint, now) {
            sent_at.push(now.as_nanos() / 1_000_000);
        }
        now = endpoint.poll_timeout().unwrap();
        endpoint.handle_timeout(now);
        if endpoint.counters.timeouts > 0 {
            break;
        }
    }
    assert_eq!(sent_at, [0, 7, 14, 21]);
}

#[test]
fn without_a_pacer_the_window_leaves_at_once() {
    let mut endpoint = endpoint(None);
    endpoint.send(Data::Endless).unwrap();
    assert_eq!(segments(&mut endpoint, Instant::ZERO), 4);
}

#[test]
fn a_gap_that_shrinks_frees_the_segment_that_waits() {
    let mut endpoint = endpoint(Some(Duration::from_millis(30)));
    endpoint.send(Data::Endless).unwrap();
    assert_eq!(segments(&mut endpoint, Instant::ZERO), 1);
    let later = Instant::ZERO + Duration::from_millis(11);
    assert_eq!(segments(&mut endpoint, later), 0);
    assert_eq!(endpoint.poll_timeout(), Some(Instant::ZERO + Duration::from_millis(15)));
    // The new gap, from 0.7 * 15 + 0.3 * 0 ms, was over half a millisecond ago.
    endpoint.pace.as_mut().unwrap().pacer.sample(0, Duration::ZERO, None);
    assert_eq!(segments(&mut endpoint, later), 1);
}

#[test]
fn notices_reach_the_congestion_control() {
    let mut endpoint = endpoint(None);
    endpoint.handle(Instant::ZERO, Input::Notice(Notice::RouteLost));
    assert_eq!(endpoint.state_name(), "route lost");
}

/// For ADTCP, a timeout without congestion is a disconnection: it sends eight bytes every two seconds, three
/// times.
#[test]
fn an_adtcp_timeout_without_congestion_starts_standby() {
    let plan = Standby {
        probing: Probing { interval: ProbeInterval::Fixed(Duration::from_secs(2)), max_probes: Some(3) },
        at_once: false,
        end: Ending { probe: Probe::FirstBytes(8), exit: Exit::New, restore: Restore::Keep },
    };
    let mut endpoint = endpoint(None);
    endpoint.config.adtcp.disconnected = plan;
    endpoint.congestion = Congestion::new(&Variant::Adtcp.into(), &endpoint.config.start(1460, 4));
    let Congestion::Adtcp(adtcp) = &mut endpoint.congestion else { unreachable!() };
    adtcp.on_report(NetworkState::NORMAL);
    endpoint.send(Data::Endless).unwrap();
    segments(&mut endpoint, Instant::ZERO);
    let mut seen = Vec::new();
    while let Some(now) = endpoint.poll_timeout() {
        endpoint.handle_timeout(now);
        while let Some(output) = endpoint.poll_output(now) {
            let what = match output {
                Output::Segment(segment) => (segment.seq.0, segment.payload.len()),
                Output::Event(event) => {
                    assert_eq!(event, Event::TimedOut);
                    (0, 0)
                }
            };
            seen.push((now.as_nanos() / 1_000_000_000, what));
        }
    }
    // The timeout after 1 s is followed by three probes with the first bytes, and the end of the connection.
    assert_eq!(seen, [(3, (1, 8)), (5, (1, 8)), (7, (1, 8)), (9, (0, 0))]);
    let counters = endpoint.counters();
    assert_eq!((counters.timeouts, counters.standbys, counters.probes), (1, 1, 3));
    assert_eq!(endpoint.rtt().rto(), Duration::from_secs(1));
}

/// A control that measures rates reduces its window by rules of its own.
#[test]
fn bbr_has_no_proportional_reduction() {
    for (variant, reduces) in [(Variant::NewReno, true), (Variant::Bbr, false), (Variant::Bbr3, false)] {
        let config = Config { congestion: variant.into(), handshake: false, ..Config::linux_6() };
        let mut endpoint = TcpEnd::new(config, Ports { local: 1, remote: 2 }, SeqNumber(0));
        endpoint.connect();
        endpoint.start_reduction(10_000);
        assert_eq!(endpoint.recovery.prr.is_some(), reduces, "{variant:?}");
    }
}

/// An endpoint whose SYN was answered after 30 ms.
fn after_handshake(config: Config) -> (TcpEnd, Vec<usize>) {
    let mut endpoint = TcpEnd::new(config, Ports { local: 1, remote: 2 }, SeqNumber(0));
    endpoint.connect();
    endpoint.send(Data::Endless).unwrap();
    segments(&mut endpoint, Instant::ZERO);
    let now = Instant::ZERO + Duration::from_millis(30);
    let options = endpoint.config.clone();
    let mut peer = TcpEnd::new(options, Ports { local: 2, remote: 1 }, SeqNumber(0));
    peer.listen();
    let mut syn = TcpEnd::new(endpoint.config.clone(), Ports { local: 1, remote: 2 }, SeqNumber(0));
    syn.connect();
    let Some(Output::Segment(syn)) = syn.poll_output(Instant::ZERO) else { unreachable!() };
    peer.handle(Instant::ZERO, Input::Segment(syn));
    let Some(Output::Segment(answer)) = peer.poll_output(Instant::ZERO) else { unreachable!() };
    endpoint.handle(now, Input::Segment(answer));
    let lengths = core::iter::from_fn(|| endpoint.poll_output(now)).filter_map(|out| match out {
        Output::Segment(segment) => Some(segment.payload.len()),
        Output::Event(_) => None,
    });
    let lengths = lengths.collect();
    (endpoint, lengths)
}

#[test]
fn the_handshake_is_the_first_round_trip_of_linux() {
    for (all_rtt, shortest) in [(false, None), (true, Some(Duration::from_millis(30)))] {
        for variant in [Variant::NewReno, Variant::Bbr, Variant::Bbr3] {
            let (endpoint, _) =
                after_handshake(Config { all_rtt, congestion: variant.into(), ..Config::linux_6() });
            let found = endpoint.transmissions.as_ref().unwrap().min_rtt();
            assert_eq!(found, shortest, "{variant:?}");
            let rate = endpoint.congestion.control().pacing_rate().filter(|_| all_rtt);
            // The rate is ten segments in 30 ms, times the gain of start-up.
            let expected = match variant {
                Variant::Bbr => Some(2885 * 10 * 1448 / 30),
                Variant::Bbr3 => Some(2773 * 10 * 1448 / 30),
                _ => None,
            };
            assert_eq!(rate, expected.filter(|_| all_rtt), "{variant:?}");
        }
    }
}

/// Without delay, so that the peer's first round-trip sample comes from short segments.
#[test]
fn linux_acknowledges_the_answer_to_its_syn_before_it_sends_data() {
    let (_, lengths) = after_handshake(Config::linux());
    assert_eq!(lengths, [1448; 3]);
    let (_, lengths) =
        after_handshake(Config { ack_rule: AckRule::Delayed(DelayedAck::Linux), ..Config::linux_6() });
    assert_eq!(lengths[..2], [0, 1448]);
}

/// A mark asks for a smaller window, and reports of duplicates do not change that.
#[test]
fn marks_forbid_undoing() {
    let mut endpoint = TcpEnd::new(
        Config { ecn: true, handshake: false, ..Config::linux_6() },
        Ports { local: 1, remote: 2 },
        SeqNumber(0),
    );
    endpoint.connect();
    endpoint.send(Data::Endless).unwrap();
    segments(&mut endpoint, Instant::ZERO);
    endpoint.note_reduction();
    let ack = |ece, n: u32| Segment {
        source: 2,
        destination: 1,
        seq: SeqNumber(1),
        ack: Some(SeqNumber(1 + n * 1448)),
        window: u16::MAX,
        ece,
        ..Segment::default()
    };
    endpoint.handle(Instant::ZERO, Input::Segment(ack(false, 1)));
    assert!(endpoint.undo.is_some());
    endpoint.handle(Instant::ZERO, Input::Segment(ack(true, 2)));
    assert!(endpoint.undo.is_none());
}
