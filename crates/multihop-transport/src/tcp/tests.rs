use multihop_core::Duration;

use super::policy::fake::Fake;
use super::*;

fn endpoint(gap: Option<Duration>) -> Endpoint {
    let config = Config { handshake: false, ..Config::rfc() };
    let mut endpoint = Endpoint::new(config, Ports { local: 1, remote: 2 }, SeqNumber(0));
    endpoint.connect();
    let fake = Fake { window: 4 * 1460, gap, notices: Vec::new() };
    endpoint.congestion = Congestion::Fake(fake);
    endpoint
}

fn segments(endpoint: &mut Endpoint, now: Instant) -> usize {
    core::iter::from_fn(|| endpoint.poll_output(now)).filter(|out| matches!(out, Output::Segment(_))).count()
}

#[test]
fn the_pacer_spaces_segments_within_the_window() {
    let gap = Duration::from_millis(7);
    let mut endpoint = endpoint(Some(gap));
    endpoint.send_forever().unwrap();
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
    endpoint.send_forever().unwrap();
    assert_eq!(segments(&mut endpoint, Instant::ZERO), 4);
}

#[test]
fn a_gap_that_shrinks_frees_the_segment_that_waits() {
    let mut endpoint = endpoint(Some(Duration::from_secs(1)));
    endpoint.send_forever().unwrap();
    assert_eq!(segments(&mut endpoint, Instant::ZERO), 1);
    let later = Instant::ZERO + Duration::from_millis(10);
    assert_eq!(segments(&mut endpoint, later), 0);
    let Congestion::Fake(fake) = &mut endpoint.congestion else { unreachable!() };
    fake.gap = Some(Duration::from_millis(10));
    assert_eq!(segments(&mut endpoint, later), 1);
}

#[test]
fn notices_reach_the_policy() {
    let mut endpoint = endpoint(None);
    endpoint.handle(Instant::ZERO, Input::Notice(Notice::RouteLost));
    let Congestion::Fake(fake) = &endpoint.congestion else { unreachable!() };
    assert_eq!(fake.notices, [Notice::RouteLost]);
}
