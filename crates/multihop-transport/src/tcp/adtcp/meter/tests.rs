use alloc::vec::Vec;

use super::super::density::Level;
use super::*;

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

/// A meter with a clock of 1 ms, and packets sent and arriving at times in ms.
struct Bench(Meter);

impl Bench {
    fn new(samples: u16) -> Self {
        let config = DensityConfig { samples, bins: 8, high: 300, low: 300 };
        Self(Meter::new(&config, Duration::from_millis(1)))
    }

    fn packet(&mut self, sent: u32, arrived: u32, change: impl FnOnce(&mut Packet)) {
        let mut packet = Packet { arrived, sent, echo: 0, is_furthest: true, missing: 0 };
        change(&mut packet);
        self.0.on_packet(ms(u64::from(arrived)), packet);
    }

    /// IDD and IAD, in ms, of each packet after the first.
    #[expect(clippy::cast_possible_truncation, reason = "small whole numbers")]
    fn delays(&mut self, packets: &[(u32, u32)]) -> Vec<(i32, i32)> {
        let mut delays = Vec::new();
        for &(sent, arrived) in packets {
            self.packet(sent, arrived, |_| {});
            let Values { idd, iad, .. } = *self.0.values();
            delays.push(((idd * 1e3).round() as i32, (iad * 1e3).round() as i32));
        }
        delays.split_off(1)
    }

    /// Creates a receiver and a packet 100 ms after the first one, whose echo makes the round trip 80 ms.
    fn with_round_trip(samples: u16) -> Self {
        let mut bench = Self::new(samples);
        bench.packet(0, 10, |packet| packet.echo = 0);
        bench.packet(90, 100, |packet| packet.echo = 20);
        assert_eq!(bench.0.rtt, Some(Duration::from_millis(80)));
        bench
    }
}

#[test]
fn figure_1_delays_grow_in_incipient_congestion() {
    let found = Bench::new(9).delays(&[(0, 50), (10, 70), (20, 100), (30, 140)]);
    assert_eq!(found, [(10, 20), (20, 30), (30, 40)]);
}

#[test]
fn figure_1_a_lost_packet_disturbs_iad_alone() {
    // The packet sent at 20 ms is missing.
    let found = Bench::new(9).delays(&[(0, 50), (10, 60), (30, 80), (40, 90)]);
    assert_eq!(found, [(0, 10), (0, 20), (0, 10)]);
}

#[test]
fn figure_1_the_pauses_of_slow_start_disturb_iad_alone() {
    let found = Bench::new(9).delays(&[(0, 50), (100, 150), (110, 160), (200, 250)]);
    assert_eq!(found, [(0, 100), (0, 10), (0, 90)]);
}

#[test]
fn packets_that_overtake_make_idd_high_then_low_and_clocks_wrap() {
    let mut bench = Bench::new(9);
    let wrap = u32::MAX - 15;
    bench.packet(wrap, 100, |_| {});
    bench.packet(wrap.wrapping_add(20), 110, |_| {});
    bench.packet(wrap.wrapping_add(10), 115, |_| {});
    // Packets arrive 5 ms apart, and were sent -10 ms apart.
    assert!((bench.0.values().idd - 0.015).abs() < 1e-9);
    assert_eq!(bench.0.newest, 4);
}

#[test]
fn the_round_trip_is_of_new_data_that_an_ack_has_let_out() {
    let mut bench = Bench::with_round_trip(9);
    // Neither a repeated echo nor a retransmission is a sample.
    bench.packet(90, 101, |packet| packet.echo = 20);
    bench.packet(700, 710, |packet| (packet.echo, packet.is_furthest) = (21, false));
    assert_eq!(bench.0.rtt, Some(Duration::from_millis(80)));
    bench.packet(710, 720, |packet| packet.echo = 560);
    // 7/8 * 80 + 1/8 * 160
    assert_eq!(bench.0.rtt, Some(Duration::from_millis(90)));
}

#[test]
fn table_1_in_one_interval_of_half_a_round_trip() {
    let mut bench = Bench::with_round_trip(9);
    // From 100 to 140 ms five packets arrive: the fourth was sent before the third, and one is missing.
    bench.packet(91, 110, |packet| packet.echo = 20);
    bench.packet(95, 115, |packet| packet.echo = 20);
    bench.packet(93, 120, |packet| packet.echo = 20);
    bench.packet(96, 139, |packet| (packet.echo, packet.missing) = (20, 1));
    assert!(bench.0.values().stt < 1e-9);
    bench.packet(97, 140, |packet| packet.echo = 20);
    let Values { stt, por, plr, .. } = *bench.0.values();
    assert!((stt - 5.0 / 0.040).abs() < 1e-9 && (por - 0.2).abs() < 1e-9 && (plr - 0.2).abs() < 1e-9);
}

#[test]
fn a_silence_is_one_sample_of_zero_whatever_its_length() {
    let mut bench = Bench::with_round_trip(4);
    let mut at = 100;
    for _ in 0..50 {
        at += 20;
        bench.packet(at - 10, at, |packet| packet.echo = 20);
    }
    assert!(!bench.0.levels().silent);
    bench.packet(9990, 10_000, |packet| packet.echo = 20);
    assert!(bench.0.levels().silent);
    assert_eq!((bench.0.levels().stt, bench.0.values().stt), (Level::Low, 0.0));
    // The interval after the silence contains packets.
    bench.packet(10_000, 10_020, |packet| packet.echo = 20);
    assert!(bench.0.levels().silent);
    bench.packet(10_020, 10_040, |packet| packet.echo = 20);
    assert!(!bench.0.levels().silent);
    // Only four samples are kept: one sample per 40 ms of silence would have left only zeros.
    assert_eq!(bench.0.levels().stt, Level::Middle);
}
