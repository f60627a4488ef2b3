use multihop_core::Duration;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::Verdict::{Collision, Error, Good, Ignored};
use super::*;
use crate::phy_profile::{DOT11A, DOT11AH_1, DOT11B};

fn success(rate: u8, sinr: f64, bits: f64) -> f64 {
    DOT11B.rate(RateIndex(rate)).success(ErrorModel::Nist, sinr, bits)
}

const PREAMBLE: Duration = Duration::from_micros(192);
/// Airtime of 1000 bytes at 2 Mb/s.
const BODY: Duration = Duration::from_micros(4000);

fn params() -> Sinr {
    Sinr { sensitivity_dbm: -85.0, ..Sinr::default() }
}

fn receiver(params: &Sinr) -> SinrReceiver {
    SinrReceiver::new(&RadioParams::default(), params, Rng::stream(1, "test", 0))
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn signal(id: u64, dbm: f64, start_us: u64) -> Signal {
    let preamble_end = at(start_us) + PREAMBLE;
    Signal {
        heard: ReceivedSignal { id, power_mw: dbm_to_mw(dbm) },
        rate: RateIndex(1),
        preamble_end,
        end: preamble_end + BODY,
        bits: 8000,
        safe_above: DOT11B.safe_above(RateIndex(1), &DOT11B.preambles[0]),
        is_aggregate: false,
    }
}

fn start(receiver: &mut SinrReceiver, now: Instant, signal: &Signal) {
    receiver.signal_starts(now, signal.heard, |heard| Signal { heard, ..*signal });
}

fn end(receiver: &mut SinrReceiver, now: Instant, id: u64) -> Verdict {
    receiver.signal_ends(now, id).0
}

/// Plays signals (power in dBm, start in us), which end in the order of their starts. Returns the verdicts by
/// id.
fn play(params: &Sinr, heard: &[(f64, u64)]) -> Vec<Verdict> {
    let mut receiver = receiver(params);
    let signals: Vec<Signal> = (0..).zip(heard).map(|(id, &(dbm, start))| signal(id, dbm, start)).collect();
    let mut events: Vec<(Instant, bool, usize)> = (0..signals.len())
        .flat_map(|i| [(signals[i].end, false, i), (signals[i].preamble_end - PREAMBLE, true, i)])
        .collect();
    events.sort();
    let mut verdicts = vec![Ignored; signals.len()];
    for (now, starts, i) in events {
        if starts {
            start(&mut receiver, now, &signals[i]);
        } else {
            verdicts[i] = end(&mut receiver, now, signals[i].heard.id);
        }
    }
    assert!(!receiver.is_busy());
    verdicts
}

#[test]
fn a_frame_alone_is_received_if_the_receiver_can_lock_to_it() {
    assert_eq!(play(&Sinr::default(), &[(-64.3, 0)]), [Good]);
    assert_eq!(play(&Sinr::default(), &[(-64.4, 0)]), [Ignored]);
}

#[test]
fn noise_alone_causes_errors_at_the_rate_of_the_error_curve() {
    let params = Sinr { sensitivity_dbm: -100.0, ..Sinr::default() };
    let mut receiver = receiver(&params);
    let weak = -92.2;
    let ratio = from_db(weak - params.noise_floor_dbm);
    let expected = success(0, ratio, 192.0) * success(1, ratio, 8000.0);
    let n = 2_000;
    let mut good = 0;
    for id in 0..n {
        let frame = signal(id, weak, id * 10_000);
        start(&mut receiver, frame.preamble_end - PREAMBLE, &frame);
        match end(&mut receiver, frame.end, id) {
            Good => good += 1,
            verdict => assert_eq!(verdict, Error),
        }
    }
    // The tolerance is four standard errors.
    let bound = 4.0 * (expected * (1.0 - expected) / n as f64).sqrt();
    assert!((0.5..0.95).contains(&expected), "{expected} tests nothing");
    assert!((f64::from(good) / n as f64 - expected).abs() < bound, "{good} of {n}, expected {expected}");
}

#[test]
fn interference_adds_up() {
    // A frame at 2 Mb/s needs 1.4 dB: it survives either interferer 4 dB below it, but not both.
    assert_eq!(play(&params(), &[(-70.0, 0), (-74.0, 500)]), [Good, Ignored]);
    assert_eq!(play(&params(), &[(-70.0, 0), (-74.0, 700)]), [Good, Ignored]);
    assert_eq!(play(&params(), &[(-70.0, 0), (-74.0, 500), (-74.0, 700)]), [Collision, Ignored, Ignored]);
}

#[test]
fn interference_before_and_after_the_frame_does_no_harm() {
    // The interferers are too weak to lock to, and as strong as the frame that they precede.
    let params = Sinr { sensitivity_dbm: -72.0, ..params() };
    assert_eq!(play(&params, &[(-72.5, 0), (-70.0, 4191)]), [Ignored, Good]);
    assert_eq!(play(&params, &[(-72.5, 0), (-70.0, 4100)]), [Ignored, Good]);
    assert_eq!(play(&params, &[(-70.0, 0), (-70.0, 4192)]), [Good, Good]);
}

#[test]
fn each_interval_is_judged_at_its_own_sinr() {
    let params = params();
    let mut receiver = receiver(&params);
    let wanted = signal(1, -80.0, 0);
    start(&mut receiver, at(0), &wanted);
    // The first half of the preamble has no interference, then interference lasts until the middle of the
    // body.
    start(&mut receiver, at(96), &signal(2, -81.2, 96));
    end(&mut receiver, at(2192), 2);
    receiver.judge(wanted.end);
    let (wanted_mw, noise, other) = (dbm_to_mw(-80.0), dbm_to_mw(-93.55), dbm_to_mw(-81.2));
    let (alone, together) = (wanted_mw / noise, wanted_mw / (noise + other));
    let intact = success(0, alone, 96.0)
        * success(0, together, 96.0)
        * success(1, together, 4000.0)
        * success(1, alone, 4000.0);
    let reception = receiver.reception.unwrap();
    assert!((0.01..0.99).contains(&intact), "{intact} tests nothing");
    assert!((reception.intact / intact - 1.0).abs() < 1e-12);
    assert!(reception.intact_alone > 0.999_999);
}

#[test]
fn a_much_stronger_frame_takes_over_in_the_preamble_only() {
    let gap = [(-75.0, 0), (-65.0, 100)];
    assert_eq!(play(&params(), &gap), [Ignored, Good]);
    // The second frame is not strong enough to take over, but destroys the first.
    assert_eq!(play(&params(), &[(-75.0, 0), (-65.1, 100)]), [Collision, Ignored]);
    assert_eq!(play(&params(), &[(-75.0, 0), (-65.0, 192)]), [Collision, Ignored]);
    // The first frame is much stronger and survives.
    assert_eq!(play(&params(), &[(-65.0, 0), (-75.0, 100)]), [Good, Ignored]);
}

#[test]
fn a_preamble_is_detected_only_above_its_ratio() {
    let params = Sinr { detection_db: Some(4.0), ..params() };
    // The noise is -93.55 dBm, and the receiver does not lock to the interferer.
    let quiet = Sinr { sensitivity_dbm: -95.0, ..params.clone() };
    assert_eq!(play(&quiet, &[(-89.56, 0)]), [Ignored]);
    assert_ne!(play(&quiet, &[(-89.54, 0)]), [Ignored]);
    let beside = Sinr { sensitivity_dbm: -79.5, ..params };
    assert_eq!(play(&beside, &[(-80.0, 0), (-76.1, 100)]), [Ignored, Ignored]);
    assert_eq!(play(&beside, &[(-80.0, 0), (-75.7, 100)]), [Ignored, Good]);
}

#[test]
fn only_the_header_of_an_ofdm_preamble_can_have_errors() {
    let radio = RadioParams::new(&DOT11A);
    let mut receiver = SinrReceiver::new(&radio, &params(), Rng::stream(1, "test", 0));
    let preamble_end = at(20);
    let rate = DOT11A.rate_named("12M").unwrap();
    let wanted = Signal {
        heard: ReceivedSignal { id: 1, power_mw: dbm_to_mw(-80.0) },
        rate,
        preamble_end,
        end: at(60),
        bits: 800,
        safe_above: DOT11A.safe_above(rate, &DOT11A.preambles[0]),
        is_aggregate: false,
    };
    start(&mut receiver, at(0), &wanted);
    // Interference is strong until the header begins, then weaker in the second half of the header and in a
    // quarter of the body.
    for (id, dbm, from, to) in [(2, -77.0, 1, 16), (3, -82.0, 18, 20), (4, -86.0, 50, 60)] {
        start(
            &mut receiver,
            at(from),
            &Signal { heard: ReceivedSignal { id, power_mw: dbm_to_mw(dbm) }, ..wanted },
        );
        end(&mut receiver, at(to), id);
    }
    let noise = dbm_to_mw(params().noise_floor_dbm);
    let sinr = |other: f64| wanted.heard.power_mw / (noise + other);
    let rate = |index: u8, sinr, bits| DOT11A.rate(RateIndex(index)).success(ErrorModel::Nist, sinr, bits);
    let intact = rate(0, sinr(0.0), 12.0)
        * rate(0, sinr(dbm_to_mw(-82.0)), 12.0)
        * rate(2, sinr(0.0), 600.0)
        * rate(2, sinr(dbm_to_mw(-86.0)), 200.0);
    let found = receiver.reception.unwrap().intact;
    assert!((0.01..0.99).contains(&intact), "{intact} tests nothing");
    assert!((found / intact - 1.0).abs() < 1e-9, "{found} {intact}");
}

/// An ACK of 802.11ah is a preamble that ends with its header: 36 bits at MCS 10, here at 0 dB.
#[test]
fn a_null_data_packet_is_judged_by_its_header() {
    let params = Sinr { noise_floor_dbm: -100.0, sensitivity_dbm: -110.0, ..params() };
    let mut receiver = SinrReceiver::new(&RadioParams::new(&DOT11AH_1), &params, Rng::stream(1, "test", 0));
    let end = at(560);
    let rate = DOT11AH_1.basic_rate;
    let ack = Signal {
        heard: ReceivedSignal { id: 1, power_mw: dbm_to_mw(-100.0) },
        rate,
        preamble_end: end,
        end,
        bits: 0,
        safe_above: DOT11AH_1.safe_above(rate, &DOT11AH_1.preambles[0]),
        is_aggregate: false,
    };
    start(&mut receiver, at(0), &ack);
    start(&mut receiver, end, &Signal { heard: ReceivedSignal { id: 2, ..ack.heard }, ..ack });
    let intact = DOT11AH_1.rates[0].success(ErrorModel::Nist, 1.0, 36.0);
    let found = receiver.reception.unwrap().intact;
    assert!((0.5..0.999).contains(&intact), "{intact} tests nothing");
    assert!((found / intact - 1.0).abs() < 1e-9, "{found} {intact}");
}

#[test]
fn a_transmitting_station_receives_nothing() {
    let mut receiver = receiver(&params());
    let (before, during, after) = (signal(1, -60.0, 0), signal(2, -60.0, 5_000), signal(3, -60.0, 10_000));
    start(&mut receiver, at(0), &before);
    receiver.transmit(at(6_000));
    assert_eq!(end(&mut receiver, before.end, 1), Ignored);
    start(&mut receiver, at(5_000), &during);
    assert!(receiver.is_busy(), "energy is on the air");
    assert_eq!(end(&mut receiver, during.end, 2), Ignored);
    start(&mut receiver, at(10_000), &after);
    assert_eq!(end(&mut receiver, after.end, 3), Good);
}

#[test]
fn the_medium_is_busy_when_locked_or_when_total_power_is_high() {
    let mut receiver = receiver(&params());
    start(&mut receiver, at(0), &signal(1, -84.0, 0));
    assert!(receiver.is_busy(), "locked, although below the energy threshold");
    end(&mut receiver, signal(1, -84.0, 0).end, 1);
    assert!(!receiver.is_busy());
    // Four signals of -85.5 dBm add up to -79.5 dBm, six to -77.7 dBm; the threshold is -78.07 dBm.
    for id in 0..6 {
        assert!(!receiver.is_busy(), "{id} signals");
        start(&mut receiver, at(10_000 + id), &signal(id, -85.5, 10_000 + id));
    }
    assert!(receiver.is_busy());
}

#[test]
fn a_frame_whose_preamble_was_missed_is_sensed_by_its_energy() {
    let busy_after_a_missed_preamble = |cca_dbm| {
        let mut receiver = receiver(&Sinr { cca_dbm, ..params() });
        receiver.transmit(at(100));
        start(&mut receiver, at(50), &signal(1, -77.0, 50));
        receiver.is_busy()
    };
    assert!(!busy_after_a_missed_preamble(-56.0));
    assert!(busy_after_a_missed_preamble(-82.0));
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Start { dbm: f64 },
    End { which: usize },
    Transmit { us: u64 },
    Wait { us: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (-120.0..0.0).prop_map(|dbm| Op::Start { dbm }),
        any::<usize>().prop_map(|which| Op::End { which }),
        (0_u64..5_000).prop_map(|us| Op::Transmit { us }),
        (0_u64..5_000).prop_map(|us| Op::Wait { us }),
    ]
}

proptest! {
    #[test]
    fn no_energy_is_left_after_all_signals_have_ended(ops in prop::collection::vec(op(), 0..200)) {
        let mut receiver = receiver(&params());
        let (mut now, mut id) = (0, 0);
        let mut on_air = Vec::new();
        let mut quiet_from = 0;
        for op in ops {
            match op {
                Op::Start { dbm } => {
                    id += 1;
                    on_air.push(id);
                    start(&mut receiver, at(now), &signal(id, dbm, now));
                }
                Op::End { which } if !on_air.is_empty() => {
                    let ended = on_air.remove(which % on_air.len());
                    let verdict = end(&mut receiver, at(now), ended);
                    prop_assert!(now >= quiet_from || verdict == Ignored);
                }
                Op::End { which } => prop_assert_eq!(end(&mut receiver, at(now), which as u64), Ignored),
                Op::Transmit { us } => {
                    quiet_from = now + us;
                    receiver.transmit(at(quiet_from));
                }
                Op::Wait { us } => now += us,
            }
            prop_assert!(!on_air.is_empty() || !receiver.is_busy());
        }
        for id in on_air {
            end(&mut receiver, at(now), id);
        }
        prop_assert!(!receiver.is_busy() && receiver.energy_mw <= 0.0, "{} mW", receiver.energy_mw);
    }
}

#[test]
fn each_mpdu_of_an_aggregate_is_judged_by_what_disturbs_its_own_bits() {
    // The aggregate has four MPDUs of 250 bytes, 1000 us each.
    let mpdu = |n: u32| {
        let (from, bytes) = (250 * n, 250);
        Mpdu { sequence: 0, retry: false, first: 0, packets: 1, from, bytes }
    };
    let mpdus: Vec<_> = (0..4).map(mpdu).collect();
    let outcome = |disturbed: &[(f64, u64, u64)]| {
        let mut receiver = receiver(&params());
        let wanted = Signal { is_aggregate: true, ..signal(1, -75.0, 0) };
        start(&mut receiver, at(0), &wanted);
        for (id, &(dbm, from, to)) in (2..).zip(disturbed) {
            start(&mut receiver, at(from), &signal(id, dbm, from));
            end(&mut receiver, at(to), id);
        }
        let (verdict, Bitmap([intact, ..])) = receiver.aggregate_ends(wanted.end, 1, &mpdus);
        (verdict, intact)
    };
    assert_eq!(outcome(&[]), (Good, 0b1111));
    assert_eq!(outcome(&[(-70.0, 1400, 1500)]), (Good, 0b1101));
    assert_eq!(outcome(&[(-70.0, 1150, 1250), (-70.0, 3200, 3300)]), (Good, 0b0100), "two over a border");
    assert_eq!(outcome(&[(-70.0, 300, 4100)]), (Collision, 0));
    assert_eq!(outcome(&[(-66.0, 1, 191)]), (Collision, 0), "without the header nothing is received");
}

#[test]
fn mpdus_near_the_noise_fail_at_the_rate_of_the_error_curve() {
    let params = Sinr { sensitivity_dbm: -100.0, ..Sinr::default() };
    let mut receiver = receiver(&params);
    let weak = -93.7;
    let expected = success(1, from_db(weak - params.noise_floor_dbm), 2000.0);
    assert!((0.2..0.8).contains(&expected), "{expected} tests nothing");
    let mpdu = Mpdu { sequence: 0, retry: false, first: 0, packets: 1, from: 250, bytes: 250 };
    let n = 2000_u32;
    let (mut frames, mut received) = (0_u32, 0_u32);
    for k in 0..n {
        let wanted = Signal { is_aggregate: true, ..signal(u64::from(k), weak, u64::from(k) * 10_000) };
        start(&mut receiver, at(u64::from(k) * 10_000), &wanted);
        let (_, intact) = receiver.aggregate_ends(wanted.end, u64::from(k), &[mpdu; 4]);
        frames += u32::from(!intact.is_empty());
        received += intact.count();
    }
    // The tolerance is four standard deviations. A header is lost far less often than an MPDU.
    let bound = 4.0 * (expected * (1.0 - expected) / f64::from(4 * n)).sqrt() + 0.001;
    let share = f64::from(received) / f64::from(4 * n);
    assert!((share - expected).abs() < bound, "{share}, expected {expected} within {bound}");
    assert!(frames > n * 8 / 10, "not all or nothing: {frames} of {n} frames had an MPDU");
}
