//! BBR over a path with one bottleneck: 100 segments of 1000 bytes per second, round trips of 100 ms without a queue.

use multihop_transport::congestion::Variant;
use multihop_transport::tcp::Config;

use super::policies::Path;
use super::templates::{MSS, config};

fn path(variant: Variant) -> Path {
    path_by(variant, true)
}

fn path_by(variant: Variant, rack: bool) -> Path {
    let config = Config {
        congestion: variant.into(),
        sack: true,
        rack,
        initial_window: 4,
        window_max: 1000,
        ..config()
    };
    Path::of(&config, [10, 90])
}

/// At most twice the segments that fill the path and three more are in flight; the queue stays short.
#[test]
fn version_1_fills_the_path_and_not_the_queue() {
    let mut path = path(Variant::Bbr);
    path.run(5);
    let before = path.ends[1].counters().delivered;
    path.run(4);
    let delivered = path.ends[1].counters().delivered - before;
    assert!((390..=400).contains(&delivered), "{delivered} of 400");
    // With 10 segments on the path, the window is 24. BBR paces at the rate that it measures, so the queue
    // does not grow.
    assert!(path.cwnd() <= 26.0, "{}", path.cwnd());
    let round_trip = path.ends[0].rtt().srtt().expect("ACKs came").as_secs_f64();
    assert!(round_trip < 0.26, "{round_trip}");
}

/// After 10 s without a shorter round trip, the window is four segments for 0.2 s, and the queue empties.
#[test]
fn version_1_measures_the_empty_path_every_ten_seconds() {
    let mut path = path(Variant::Bbr);
    let mut probes = 0;
    for _ in 0..250 {
        let before = path.cwnd();
        path.run_ms(100);
        probes += u32::from(before > 4.5 && path.cwnd() < 4.5);
    }
    assert_eq!(probes, 2, "in 25 s");
}

/// Single losses change neither rate nor window for longer than a round trip.
#[test]
fn version_1_does_not_slow_down_for_a_loss() {
    let mut path = path(Variant::Bbr);
    path.run(5);
    let before = path.ends[1].counters().delivered;
    for _ in 0..8 {
        path.loses = true;
        path.run_ms(500);
    }
    assert_eq!(path.ends[0].counters().fast_retransmits, 8);
    assert_eq!(path.ends[0].counters().timeouts, 0);
    let delivered = path.ends[1].counters().delivered - before;
    assert!(delivered >= 380, "{delivered} of 400");
    assert!(path.ends[0].cwnd() > 8 * MSS);
}

/// The queue is shorter than with version 1, whose window is as large as in its own probes.
#[test]
fn version_3_fills_the_path_and_not_the_queue() {
    let mut path = path(Variant::Bbr3);
    path.run(5);
    let before = path.ends[1].counters().delivered;
    path.run(20);
    let delivered = path.ends[1].counters().delivered - before;
    assert!((1950..=2000).contains(&delivered), "{delivered} of 2000");
    assert!(path.cwnd() <= 30.0, "{}", path.cwnd());
    let round_trip = path.ends[0].rtt().srtt().expect("ACKs came").as_secs_f64();
    assert!(round_trip < 0.2, "{round_trip}");
}

/// More than 2% of losses lower what may be in flight; without losses it grows again.
#[test]
fn version_3_sends_less_after_many_losses() {
    sends_less_after_many_losses(true);
}

/// Without RACK, what SACK reports shows the losses.
#[test]
fn version_3_sends_less_after_many_losses_without_rack() {
    sends_less_after_many_losses(false);
}

fn sends_less_after_many_losses(rack: bool) {
    let mut path = path_by(Variant::Bbr3, rack);
    path.run(5);
    let rate = |path: &mut Path| {
        let before = path.ends[1].counters().delivered;
        path.run(4);
        path.ends[1].counters().delivered - before
    };
    let clear = rate(&mut path);
    let mut most = 0.0_f64;
    for _ in 0..40 {
        path.loses = true;
        path.run_ms(100);
        most = most.max(path.cwnd());
    }
    let least = path.cwnd();
    assert!(least < 12.0, "{least} after a window of {most}");
    path.run(8);
    let again = rate(&mut path);
    assert!(again * 100 >= clear * 97, "{again} after {clear}");
}

/// Three segments that left after a lost retransmission show its loss, with RACK and without.
#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    for (variant, rack) in
        [Variant::Bbr, Variant::Bbr3].into_iter().flat_map(|variant| [(variant, true), (variant, false)])
    {
        let mut path = path_by(variant, rack);
        path.run(5);
        for _ in 0..4 {
            (path.loses, path.loses_retransmission) = (true, true);
            path.run(1);
        }
        let sender = path.ends[0].counters();
        assert_eq!((sender.timeouts, sender.fast_retransmits), (0, 4), "{variant:?}, RACK {rack}");
        assert_eq!(sender.retransmitted, 8, "{variant:?}, RACK {rack}");
    }
}
