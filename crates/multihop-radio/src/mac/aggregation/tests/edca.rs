//! Tests of aggregation under EDCA: access categories and transmission opportunities.

use super::*;
use crate::params::{CategoryParams, EdcaParams};

const SIFS: Duration = Duration::from_micros(16);

/// Parameters by which every category contends like DCF, except for the changes that `change` makes.
fn edca(change: impl FnOnce(&mut [CategoryParams; 4])) -> EdcaParams {
    let as_dcf =
        CategoryParams { aifsn: Some(2), cw_min: Some(15), cw_max: Some(1023), txop: Some(Duration::ZERO) };
    let mut edca = EdcaParams { categories: std::array::from_fn(|_| as_dcf.clone()) };
    change(&mut edca.categories);
    edca
}

/// Stations whose voice category has transmission opportunities of this length and draws no backoff.
fn voice(limit: Duration, params: MacParams) -> Pair {
    let edca = edca(|all| {
        let voice = &mut all[Category::Voice as usize];
        (voice.txop, voice.cw_min, voice.cw_max) = (Some(limit), Some(0), Some(0));
    });
    pair(MCS7, MacParams { edca: Some(edca), ..params })
}

impl Pair {
    /// Packets of 1500 bytes of an access category.
    fn queue_of(&mut self, category: Category, numbers: std::ops::Range<u32>) {
        for n in numbers {
            let out = Outgoing { category, ..packet(n, PEER, 1500) };
            assert_eq!(self.macs[0].enqueue(out), None);
        }
    }

    /// Start of each of the sender's frames, with its kind and the sequence numbers of its MPDUs.
    fn sent(&self) -> Vec<(Instant, FrameKind, Vec<u16>)> {
        let own = self.air.iter().filter(|(_, frame, _)| frame.from == ME);
        own.map(|(at, frame, numbers)| (*at, frame.kind, numbers.clone())).collect()
    }

    /// End of the frame with this index.
    fn end(&self, index: usize) -> Instant {
        let (at, frame, _) = &self.air[index];
        *at + self.config.airtime.frame(frame.rate, frame.bytes)
    }
}

#[test]
fn one_category_with_the_parameters_of_dcf_transmits_what_dcf_does() {
    for (ampdu, amsdu, threshold) in [
        (Some(64), None, None),
        (Some(8), Some(3839), None),
        (None, Some(3839), Some(2000)),
        (Some(64), None, Some(0)),
    ] {
        let base = MacParams { rts_threshold: threshold, ..basic(ampdu, amsdu) };
        let run = |category: Option<Category>| {
            let params = MacParams { edca: category.map(|_| edca(|_| ())), ..base.clone() };
            let mut p = pair(MCS7, params);
            p.queue_of(category.unwrap_or_default(), 0..150);
            let mut rng = Rng::stream(7, "losses", 0);
            p.run(&mut |_, load| {
                let mpdus = load.mpdus.len().max(1);
                (0..mpdus).fold(0, |bits, bit| bits | u64::from(!rng.chance(0.3)) << bit)
            });
            (
                p.air
                    .iter()
                    .map(|(at, frame, numbers)| (*at, frame.kind, frame.nav, numbers.clone()))
                    .collect(),
                p.done,
            )
        };
        let (dcf, done): (Vec<_>, _) = run(None);
        assert!(dcf.len() > 10 && done.len() == 150, "{} frames, {} packets", dcf.len(), done.len());
        for category in Category::ALL {
            let (air, outcomes): (Vec<_>, _) = run(Some(category));
            assert_eq!(air, dcf, "{category:?}");
            let fate = |done: &Done| (done.out.packet, done.delivered, done.retries, done.began);
            assert!(outcomes.iter().map(fate).eq(done.iter().map(fate)), "{category:?}");
        }
    }
}

#[test]
fn mpdus_of_each_category_have_numbers_and_a_scoreboard_of_their_own() {
    let mut p = voice(Duration::ZERO, basic(Some(64), None));
    p.queue_of(Category::BestEffort, 0..3);
    p.queue_of(Category::Voice, 10..14);
    // The second MPDU of each category is lost once.
    let mut losses = [0b1101, u64::MAX, u64::MAX, u64::MAX, 0b101].into_iter();
    p.run(&mut |_, _| losses.next().unwrap_or(u64::MAX));
    let data: Vec<_> = p
        .air
        .iter()
        .filter(|(_, frame, _)| frame.from == ME)
        .map(|(_, frame, numbers)| (frame.category, numbers.clone()))
        .collect();
    let (be, vo) = (Category::BestEffort, Category::Voice);
    assert_eq!(data, [(vo, vec![0, 1, 2, 3]), (vo, vec![1]), (be, vec![0, 1, 2]), (be, vec![1])]);
    assert_eq!(p.passed, [10, 11, 12, 13, 0, 1, 2]);
    assert_eq!(p.macs[1].counters().duplicates, 0);
    assert_eq!(p.macs[0].counters().retries(), 2);
}

#[test]
fn of_two_categories_that_are_due_at_once_the_less_urgent_keeps_its_aggregate() {
    let at_once = |params: &mut CategoryParams| (params.cw_min, params.cw_max) = (Some(0), Some(1023));
    let edca = edca(|all| all.iter_mut().for_each(at_once));
    let mut p = pair(MCS7, MacParams { edca: Some(edca), ..basic(Some(64), None) });
    for mac in &mut p.macs {
        mac.carrier_busy(p.now, &p.config);
    }
    p.queue_of(Category::Video, 0..3);
    p.queue_of(Category::Voice, 10..12);
    p.serve();
    p.now += Duration::from_millis(1);
    for mac in &mut p.macs {
        mac.carrier_idle(p.now, &p.config);
    }
    p.run(&mut all);
    assert_eq!(p.data(), [vec![0, 1], vec![0, 1, 2]]);
    assert_eq!(p.passed, [10, 11, 0, 1, 2]);
    assert_eq!(p.macs[0].counters().retries(), 0, "a collision inside of the station is no transmission");
}

#[test]
fn an_aggregate_and_its_answer_fit_into_the_transmission_opportunity() {
    let limit = Duration::from_micros(1504);
    for threshold in [None, Some(0)] {
        let mut p = voice(limit, MacParams { rts_threshold: threshold, ..basic(Some(64), None) });
        p.queue_of(Category::Voice, 0..20);
        p.run(&mut all);
        let first = p.sent()[0].0;
        let size = p.data()[0].len();
        let answered = p.air.iter().position(|(_, frame, _)| frame.kind == FrameKind::BlockAck).unwrap();
        let rest = first + limit - p.end(answered);
        // One more MPDU would take 1536 bytes, or 48 symbols.
        assert!(size > 1 && rest < Duration::from_micros(48 * 4), "{size} MPDUs, {rest} left");
        // 1504 us less 48 us for SIFS and block ACK leave 355 symbols after the preamble; RTS, CTS and two
        // SIFS take 128.
        assert_eq!(size, if threshold.is_none() { 7 } else { 6 });
        assert_eq!(p.passed, (0..20).collect::<Vec<_>>());
    }
    // With a limit of 0, a transmission opportunity has one frame of any length.
    let mut p = voice(Duration::ZERO, basic(Some(64), None));
    p.queue_of(Category::Voice, 0..50);
    p.run(&mut all);
    assert_eq!(p.data()[0].len(), 28);
    // A single packet is transmitted even if it exceeds the limit.
    let mut p = voice(Duration::from_micros(32), basic(Some(64), None));
    p.queue_of(Category::Voice, 0..3);
    p.run(&mut all);
    assert_eq!(p.data(), [[0], [1], [2]]);
}

#[test]
fn aggregates_follow_each_other_in_a_transmission_opportunity_after_sifs() {
    let limit = Duration::from_micros(4096);
    let mut p = voice(limit, basic(Some(8), None));
    p.queue_of(Category::Voice, 0..24);
    // An MPDU of the first frame is lost and retransmitted in the next frame.
    let mut losses = [!0b10].into_iter();
    p.run(&mut |_, _| losses.next().unwrap_or(u64::MAX));
    let data = p.data();
    assert_eq!(data[0], (0..8).collect::<Vec<_>>());
    assert_eq!(data[1], [&[1], &(8..15).collect::<Vec<_>>()[..]].concat());
    let (first, second, third) = (p.air[0].0, p.air[2].0, p.air[4].0);
    assert_eq!(second, p.end(1) + SIFS);
    // The duration field reserves the medium for a frame of one MPDU: 1530 bytes at 65 Mb/s, SIFS and an ACK of 28 us.
    let following = SIFS + Duration::from_micros(36 + 4 * 48) + SIFS + Duration::from_micros(28);
    assert_eq!(p.air[0].1.nav, SIFS + Duration::from_micros(32) + following);
    // Two frames take 1.6 ms each, and a third one does not fit completely.
    assert_eq!(third, p.end(3) + SIFS);
    assert!(data[2].len() < 8, "{:?}", data[2]);
    assert!(p.end(5) <= first + limit);
    assert!(p.air[6].0 > p.end(5) + SIFS, "the opportunity has ended");
    assert_eq!(p.passed, (0..24).collect::<Vec<_>>());
}

#[test]
fn a_lost_block_ack_ends_the_transmission_opportunity() {
    let mut p = voice(Duration::from_millis(6), basic(Some(4), None));
    p.queue_of(Category::Voice, 0..8);
    let mut answers = [u64::MAX, 0].into_iter();
    p.run(&mut |_, _| answers.next().unwrap_or(u64::MAX));
    assert_eq!(p.data(), [vec![0, 1, 2, 3], vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
    // AIFS begins when the response is overdue.
    assert!(p.air[2].0 >= p.end(1) + SIFS + Duration::from_micros(9), "{:?}", p.air[2]);
    assert_eq!(p.air[4].0, p.end(3) + SIFS, "a new opportunity");
    assert_eq!(p.passed, (0..8).collect::<Vec<_>>());
}

#[test]
fn a_packet_that_is_removed_before_it_continues_an_opportunity_leaves_a_backoff() {
    let mut p = voice(Duration::from_millis(6), basic(Some(2), None));
    p.queue_of(Category::Voice, 0..3);
    while p.air.is_empty() {
        p.serve();
        let at = p.macs[0].deadline(&p.config);
        p.now = at;
        if let Some(sent) = p.macs[0].handle_timeout(at, &p.config) {
            p.fly(0, &sent.frame, sent.airtime, &mut all);
        }
    }
    // The response arrives, and the packet leaves the queue before it is served.
    let at = p.macs[1].deadline(&p.config);
    p.now = at;
    let answer = p.macs[1].handle_timeout(at, &p.config).expect("a block ACK");
    p.fly(1, &answer.frame, answer.airtime, &mut all);
    assert_eq!(p.macs[0].remove_if(|_| true).len(), 1);
    p.run(&mut all);
    p.queue_of(Category::Voice, 3..4);
    p.run(&mut all);
    assert_eq!(p.passed, [0, 1, 3]);
}

#[test]
fn a_station_without_power_forgets_packets_but_not_numbers_of_any_category() {
    let mut p = voice(Duration::ZERO, basic(Some(64), None));
    for category in [Category::BestEffort, Category::Voice] {
        p.queue_of(category, 0..3);
    }
    p.run(&mut all);
    p.queue_of(Category::Background, 3..5);
    p.queue_of(Category::Voice, 3..5);
    p.serve();
    let fresh = Mac::new(ME, &p.config, Rng::stream(2, "test", 0), Rng::stream(2, "rates", 0));
    let old = std::mem::replace(&mut p.macs[0], fresh);
    assert_eq!(old.packets().count(), 4);
    p.macs[0].succeed(old);
    assert_eq!(p.macs[0].packets().count(), 0);
    p.passed.clear();
    p.queue_of(Category::BestEffort, 5..7);
    p.queue_of(Category::Voice, 10..12);
    p.run(&mut all);
    assert_eq!(p.passed, [10, 11, 5, 6]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Under any losses, every packet of every category is finished once, and each category keeps its order.
    #[test]
    fn every_packet_of_every_category_is_counted_once(
        packets in 1..40_u32,
        ampdu in 2..=64_u32,
        txop in 0..6000_u64,
        chance in 0.0..0.5_f64,
        seed in any::<u64>(),
    ) {
        let limit = Some(Duration::from_micros(txop));
        let edca = EdcaParams {
            categories: std::array::from_fn(|_| CategoryParams { txop: limit, ..CategoryParams::default() }),
        };
        let mut p = pair(MCS7, MacParams { edca: Some(edca), ..basic(Some(ampdu), None) });
        for (category, first) in Category::ALL.into_iter().zip([0, 1000, 2000, 3000]) {
            p.queue_of(category, first..first + packets);
        }
        let mut rng = Rng::stream(seed, "losses", 0);
        p.run(&mut |_, load| {
            let mpdus = load.mpdus.len().max(1);
            (0..mpdus).fold(0, |bits, bit| bits | u64::from(!rng.chance(chance)) << bit)
        });
        let mut done = p.outcomes();
        done.sort_unstable();
        let expected = [0, 1000, 2000, 3000].into_iter().flat_map(|first| first..first + packets);
        prop_assert!(done.iter().map(|(n, _)| *n).eq(expected));
        for category in 0..4 {
            let passed: Vec<_> = p.passed.iter().filter(|n| **n / 1000 == category).collect();
            prop_assert!(passed.is_sorted_by(|a, b| a < b), "{:?}", passed);
        }
    }
}
