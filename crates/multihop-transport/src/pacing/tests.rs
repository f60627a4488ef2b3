use super::*;

/// Difference between a data packet of 1500 bytes and an ACK of 40 bytes: (s_data - s_ack) / b is 5.84 ms at
/// 2 Mb/s.
const PAYLOAD: u32 = 1460;

fn config() -> PacingConfig {
    PacingConfig::new(BitRate(2_000_000))
}

fn pacer(config: PacingConfig, hops: u8) -> Pacer {
    let mut pacer = Pacer::new(config);
    pacer.set_hops(hops);
    pacer
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn us(n: u64) -> Option<Duration> {
    Some(Duration::from_micros(n))
}

fn sample_all(pacer: &mut Pacer, round_trips: &[u64]) {
    for &round_trip in round_trips {
        pacer.sample(PAYLOAD, ms(round_trip), None);
    }
}

#[test]
fn the_first_sample_over_four_hops_by_hand() {
    let mut pacer = pacer(config(), 4);
    assert_eq!((pacer.gap(), pacer.rate(), pacer.delay()), (None, None, None));
    pacer.sample(PAYLOAD, ms(100), None);
    // FHD = 2 (100 / 4 + 5.84) = 61.68 ms, and one sample does not vary.
    assert_eq!((pacer.delay(), pacer.gap()), (us(61_680), us(61_680)));
    assert!((pacer.rate().unwrap() - 16.213).abs() < 0.001);
}

#[test]
fn the_delay_is_that_of_four_hops_on_a_longer_path_and_of_all_on_a_shorter() {
    // n/2 (RTT / h + 5.84): 2 (160 / 8 + 5.84), 3/2 (60 / 3 + 5.84), 1/2 (15 + 5.84)
    for (hops, round_trip, delay) in [(8, 160, 51_680), (3, 60, 38_760), (1, 15, 10_420)] {
        let mut pacer = pacer(config(), hops);
        pacer.sample(PAYLOAD, ms(round_trip), None);
        assert_eq!(pacer.delay(), us(delay), "{hops} hops");
    }
}

/// TCP options reduce the payload. Options, and a second IP header, are in the ACK as well, so that packets
/// differ only by the payload.
#[test]
fn data_and_ack_differ_by_the_payload() {
    let mut pacer = pacer(config(), 4);
    pacer.sample(1448, ms(100), None);
    // 2 (100 / 4 + 5.792)
    assert_eq!(pacer.delay(), us(61_584));
}

#[test]
fn another_reuse_distance_by_hand() {
    let mut pacer = pacer(PacingConfig { reuse_hops: 3, ..config() }, 6);
    pacer.sample(PAYLOAD, ms(120), None);
    // 3/2 (120 / 6 + 5.84)
    assert_eq!(pacer.delay(), us(38_760));
}

#[test]
fn three_samples_by_hand() {
    let mut pacer = pacer(config(), 4);
    sample_all(&mut pacer, &[80, 120, 100]);
    // FHD: 51.68, 71.68, 61.68 ms; averaged with alpha = 0.7:
    // 0.7 * 51.68 + 0.3 * 71.68 = 57.68; 0.7 * 57.68 + 0.3 * 61.68 = 58.88
    assert_eq!(pacer.delay(), us(58_880));
    // Mean 100, squares 400 + 400 + 0 over 2: deviation 20, cov 0.2.
    assert!((pacer.cov() - 0.2).abs() < 1e-6);
    // 58.88 * 1.4
    assert_eq!(pacer.gap(), us(82_432));
}

#[test]
fn the_mean_absolute_deviation_by_hand() {
    let mut pacer = pacer(PacingConfig { cov: Cov::Mad, ..config() }, 4);
    sample_all(&mut pacer, &[80, 120, 100, 100]);
    // (20 + 20 + 0 + 0) / 4 over 100
    assert!((pacer.cov() - 0.1).abs() < 1e-6);
}

#[test]
fn samples_older_than_the_history_are_forgotten() {
    let config = PacingConfig { history: 3, ..config() };
    let mut long = pacer(config, 4);
    sample_all(&mut long, &[900, 1, 500, 80, 120, 100]);
    assert!((long.cov() - 0.2).abs() < 1e-6);
    assert_eq!(long.history.samples.len(), 3);
}

#[test]
fn k_as_printed_and_with_the_mean_scaled_too() {
    let of = |k, k_mean| {
        let mut pacer = pacer(PacingConfig { k, k_mean, ..config() }, 4);
        sample_all(&mut pacer, &[80, 120, 100]);
        pacer.cov()
    };
    let expect = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found}");
    expect(of(1, KMean::Scaled), 0.2);
    expect(of(2, KMean::Scaled), 0.4);
    expect(of(3, KMean::Scaled), 0.6);
    // 160 - 100, 240 - 100, 200 - 100: sqrt((3600 + 19600 + 10000) / 2) = 128.841
    expect(of(2, KMean::Raw), 1.288_41);
    // 140, 260, 200: sqrt((19600 + 67600 + 40000) / 2) = 252.190
    expect(of(3, KMean::Raw), 2.521_90);
}

#[test]
fn k_in_the_mean_absolute_deviation() {
    let mut pacer = pacer(PacingConfig { cov: Cov::Mad, k: 2, ..config() }, 4);
    sample_all(&mut pacer, &[80, 120, 100]);
    // (60 + 140 + 100) / 3 over 100
    assert!((pacer.cov() - 1.0).abs() < 1e-6);
}

#[test]
fn a_synchronised_clock_takes_the_way_there_alone() {
    let mut pacer = pacer(PacingConfig { clock: Clock::Synchronised, ..config() }, 8);
    pacer.sample(PAYLOAD, ms(500), us(72_000));
    // T n / h = 72 * 4 / 8
    assert_eq!(pacer.delay(), us(36_000));
    pacer.sample(PAYLOAD, ms(160), None);
    // A sample without the one-way delay uses the formula: 0.7 * 36 + 0.3 * 2 (160 / 8 + 5.84)
    assert_eq!(pacer.delay(), us(40_704));
}

#[test]
fn without_the_length_of_the_path_samples_count_only_for_the_variation() {
    let mut pacer = Pacer::new(config());
    sample_all(&mut pacer, &[80, 120]);
    assert_eq!(pacer.gap(), None);
    pacer.set_hops(4);
    pacer.sample(PAYLOAD, ms(100), None);
    assert!((pacer.cov() - 0.2).abs() < 1e-6);
    // 61.68 * 1.4
    assert_eq!(pacer.gap(), us(86_352));
}

#[test]
fn a_new_route_holds_from_the_next_sample_on() {
    let mut pacer = pacer(config(), 4);
    pacer.sample(PAYLOAD, ms(100), None);
    pacer.set_hops(8);
    assert_eq!(pacer.delay(), us(61_680));
    pacer.sample(PAYLOAD, ms(100), None);
    // 0.7 * 61.68 + 0.3 * 2 (100 / 8 + 5.84)
    assert_eq!(pacer.delay(), us(54_180));
}

#[test]
fn absurd_samples_and_settings_neither_overflow_nor_stop_the_sender() {
    for (k_mean, cov, samples) in
        [(KMean::Raw, Cov::Std, 200_000_u32), (KMean::Scaled, Cov::Mad, 300), (KMean::Raw, Cov::Mad, 300)]
    {
        let config = PacingConfig {
            alpha: u16::MAX,
            reuse_hops: 0,
            history: u16::MAX,
            k: u8::MAX,
            k_mean,
            cov,
            ..config()
        };
        let mut pacer = pacer(config, 0);
        for i in 0..samples {
            pacer.sample(PAYLOAD, if i % 3 == 0 { Duration::ZERO } else { Duration::MAX }, None);
        }
        assert!(pacer.gap().unwrap() >= SHORTEST);
    }
    let mut short = pacer(config(), 1);
    (0..3).for_each(|_| short.sample(0, Duration::ZERO, None));
    assert_eq!((short.gap(), short.cov().to_bits()), (Some(SHORTEST), 0));
}

/// Pacer with the authors' rules. Over four hops at 2 Mb/s the airtimes are 6.288 ms for data and 0.448 ms
/// for an ACK, headers of 112 bytes included: 4 (RTT/4 - 6.736)/2 + 4 * 6.288 = RTT/2 + 11.68 ms.
fn by_authors(hops: u8) -> Pacer {
    pacer(config().with_rules(Rules::Authors), hops)
}

#[test]
fn the_authors_take_the_mean_deviation_of_the_delays_themselves() {
    let mut pacer = by_authors(4);
    sample_all(&mut pacer, &[80, 120, 100]);
    // 51.68, 71.68, 61.68 ms, averaged as in the paper
    assert_eq!(pacer.delay(), us(58_880));
    // (10 + 10 + 0) / 3 over 61.68
    assert!((pacer.cov() - 20.0 / 3.0 / 61.68).abs() < 1e-6);
    // 58.88 (1 + 2 * 0.108084)
    assert_eq!(pacer.gap(), Some(Duration::from_nanos(71_607_971)));
}

#[test]
fn the_authors_leave_out_delays_of_half_a_second() {
    let mut pacer = by_authors(4);
    sample_all(&mut pacer, &[100, 1000]);
    // A delay of 1000 / 2 + 11.68 ms is above half a second.
    assert_eq!((pacer.delay(), pacer.cov().to_bits()), (us(61_680), 0));
}

#[test]
fn the_authors_replace_a_long_time_in_a_queue_by_the_average() {
    let mut pacer = by_authors(4);
    // Queueing delays are (100/4 - 6.736)/2 = 9.132 and (140/4 - 6.736)/2 = 14.132; their average is 11.632.
    sample_all(&mut pacer, &[100, 140]);
    let before = pacer.delay().unwrap();
    sample_all(&mut pacer, &[9000]);
    let delay = Duration::from_micros(4 * (11_632 + 6_288));
    assert_eq!(pacer.delay(), Some((before * 700 + delay * 300) / 1000));
}

#[test]
fn the_authors_pace_by_one_hop_where_there_are_fewer_than_four() {
    let mut pacer = by_authors(3);
    pacer.sample(PAYLOAD, ms(60), None);
    // (60/3 - 6.736)/2 + 6.288
    assert_eq!(pacer.gap(), us(12_920));
}
