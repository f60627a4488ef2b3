//! Tests with two stations of 802.11n or 802.11ax: one sends, and a script decides what the other receives.

use multihop_core::{Duration, Instant, NodeId, Rng};
use proptest::prelude::*;

use super::*;
use crate::frame::{BROADCAST, Category, Frame, FrameKind, Outgoing, PacketHandle};
use crate::mac::{Done, Mac, MacConfig};
use crate::params::{Flavour, MacParams, RadioParams};
use crate::phy_profile::{DOT11AX_80, DOT11N_20, PhyProfile, RateIndex};
use crate::rate_control::{MinstrelParams, RateControlParams};

mod edca;

const ME: NodeId = NodeId(0);
const PEER: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const MCS0: RateIndex = RateIndex(8);
const MCS7: RateIndex = RateIndex(15);
const MCS31: RateIndex = RateIndex(39);

/// Reception of a frame at the peer. Bit n is set if MPDU n (of the first 64) arrives. 0 means that the peer
/// hears noise, [`u64::MAX`] that all MPDUs arrive.
type Script<'s> = &'s mut dyn FnMut(&Frame, &Load) -> u64;

struct Pair {
    macs: [Mac; 2],
    config: MacConfig,
    now: Instant,
    /// Transmitted frames of both stations in order, with the sequence numbers of their MPDUs.
    air: Vec<(Instant, Frame, Vec<u16>)>,
    /// Packets that the peer passed to its network layer, in order.
    passed: Vec<u32>,
    done: Vec<Done>,
}

fn pair(rate: RateIndex, params: MacParams) -> Pair {
    pair_of(&DOT11N_20, rate, params)
}

fn pair_of(phy: &'static PhyProfile, rate: RateIndex, params: MacParams) -> Pair {
    let mut radio = RadioParams::new(phy);
    radio.rate = rate;
    let config = MacConfig::new(&radio, &MacParams { flavour: Flavour::Standard, queue: 1000, ..params });
    let mac = |id| Mac::new(id, &config, Rng::stream(1, "test", 0), Rng::stream(1, "rates", 0));
    let macs = [mac(ME), mac(PEER)];
    Pair { macs, config, now: Instant::ZERO, air: Vec::new(), passed: Vec::new(), done: Vec::new() }
}

/// MAC parameters with these limits of aggregation and without RTS.
fn basic(ampdu: Option<u32>, amsdu: Option<u32>) -> MacParams {
    MacParams { rts_threshold: None, ampdu, amsdu, ..MacParams::default() }
}

fn packet(n: u32, to: NodeId, bytes: u32) -> Outgoing {
    Outgoing {
        packet: PacketHandle(n),
        to,
        bytes,
        urgent: false,
        category: Category::BestEffort,
        queued: Instant::ZERO,
    }
}

impl Pair {
    /// Packets of 1500 bytes wait at the sender, whose medium is busy until now.
    fn queue(&mut self, numbers: std::ops::Range<u32>) {
        for n in numbers {
            assert_eq!(self.macs[0].enqueue(packet(n, PEER, 1500)), None);
        }
    }

    fn serve(&mut self) {
        for (who, mac) in self.macs.iter_mut().enumerate() {
            while let Some(done) = mac.poll_done() {
                assert_eq!(who, 0, "only one station sends");
                self.done.push(done);
            }
            mac.serve(self.now, &self.config);
        }
        while let Some(arrival) = self.macs[1].poll_arrival() {
            assert_eq!(arrival.from, ME);
            self.passed.push(arrival.packet.0);
        }
    }

    /// Runs the next deadline; false if there is none.
    fn step(&mut self, script: Script<'_>) -> bool {
        self.serve();
        let due = |mac: &Mac| mac.deadline(&self.config);
        let who = usize::from(due(&self.macs[1]) < due(&self.macs[0]));
        let at = due(&self.macs[who]);
        if at == Instant::FAR_FUTURE {
            return false;
        }
        self.now = at;
        if let Some(sent) = self.macs[who].handle_timeout(at, &self.config) {
            self.fly(who, &sent.frame, sent.airtime, script);
        }
        self.serve();
        true
    }

    fn fly(&mut self, who: usize, frame: &Frame, airtime: Duration, script: Script<'_>) {
        let mut load = Load::default();
        let has_load = self.macs[who].load(frame, &mut load, &self.config);
        let numbers = load.mpdus.iter().map(|mpdu| mpdu.sequence).collect();
        self.air.push((self.now, *frame, numbers));
        let other = &mut self.macs[1 - who];
        other.carrier_busy(self.now, &self.config);
        self.now += airtime;
        let intact = script(frame, &load);
        if intact == 0 {
            other.receive_error(self.now, &self.config);
        } else if has_load {
            let intact = if intact == u64::MAX { Bitmap::ALL } else { Bitmap([intact, 0, 0, 0]) };
            other.receive_load(self.now, frame, &load, intact, &self.config);
        } else {
            other.receive(self.now, frame, &self.config);
        }
        other.carrier_idle(self.now, &self.config);
    }

    fn run(&mut self, script: Script<'_>) {
        while self.step(script) {}
    }

    /// Kinds of the transmitted frames, with the sequence numbers of their MPDUs.
    fn seen(&self) -> Vec<(FrameKind, Vec<u16>)> {
        self.air.iter().map(|(_, frame, numbers)| (frame.kind, numbers.clone())).collect()
    }

    fn data(&self) -> Vec<Vec<u16>> {
        let data = |kind| matches!(kind, FrameKind::Data | FrameKind::Aggregate);
        self.seen().into_iter().filter(|(kind, _)| data(*kind)).map(|(_, numbers)| numbers).collect()
    }

    fn outcomes(&self) -> Vec<(u32, bool)> {
        self.done.iter().map(|done| (done.out.packet.0, done.delivered)).collect()
    }
}

fn all(_: &Frame, _: &Load) -> u64 {
    u64::MAX
}

#[test]
fn a_frame_takes_what_waits_for_the_same_neighbour_and_one_block_ack_answers() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..3);
    assert_eq!(p.macs[0].enqueue(packet(9, BROADCAST, 100)), None);
    p.queue(3..5);
    p.run(&mut all);
    let data: Vec<u16> = (0..5).collect();
    assert_eq!(
        p.seen(),
        [(FrameKind::Aggregate, data), (FrameKind::BlockAck, vec![]), (FrameKind::Data, vec![])]
    );
    let (at, aggregate, _) = p.air[0];
    // Each of five MPDUs has a delimiter of 4 bytes, a header of 30 and 1500 of data, padded to 1536 except
    // for the last. The frame has 22 additional bits, 260 bits in each symbol of 4 us, and a preamble of 36
    // us.
    assert_eq!(aggregate.bytes, 4 * 1536 + 1534);
    let airtime = Duration::from_micros(36 + 4 * (8 * 7678 + 22_u64).div_ceil(260));
    // The block ACK has 32 bytes at 24 Mb/s: 278 bits, 96 in each symbol of 4 us.
    assert_eq!(aggregate.nav, Duration::from_micros(16 + 20 + 12));
    let (answered, answer, _) = p.air[1];
    assert_eq!((answered, answer.bytes), (at + airtime + Duration::from_micros(16), 32));
    assert_eq!(p.passed, [0, 1, 2, 3, 4]);
    let delivered: Vec<_> = [0, 1, 2, 3, 4, 9].map(|n| (n, true)).into();
    assert_eq!(p.outcomes(), delivered);
    assert_eq!(p.macs[0].counters().data, 5);
    assert_eq!(p.macs[0].counters().aggregates, 1);
    assert_eq!(p.macs[1].counters().block_acks, 1);
}

/// In steady traffic, a packet that tries another rate is alone in its frame, and so is its retry.
#[test]
fn only_frames_at_the_usual_rate_are_aggregates() {
    let minstrel = RateControlParams::Minstrel(MinstrelParams::default());
    let mut p = pair(MCS7, MacParams { rate_control: minstrel, ..basic(Some(64), None) });
    // Frames at MCS 0 to 2 succeed.
    let mut script = |frame: &Frame, _: &Load| {
        let is_data = matches!(frame.kind, FrameKind::Data | FrameKind::Aggregate);
        if is_data && frame.rate.0 > MCS0.0 + 2 { 0 } else { u64::MAX }
    };
    for first in (0..6000).step_by(200) {
        p.queue(first..first + 200);
        p.run(&mut script);
    }
    let learnt = p.air.len() / 2;
    let data = p.air.split_off(learnt).into_iter().filter(|(_, frame, _)| frame.from == ME);
    let (usual, tried): (Vec<_>, Vec<_>) = data.partition(|(_, frame, _)| frame.rate.0 == MCS0.0 + 2);
    assert!(tried.len() >= 20, "{} frames at other rates", tried.len());
    assert!(tried.iter().all(|(_, _, numbers)| numbers.len() == 1), "{tried:?}");
    let longest = usual.iter().map(|(_, _, numbers)| numbers.len()).max();
    assert!(longest >= Some(5), "{longest:?}");
}

#[test]
fn a_single_packet_is_answered_by_an_ack() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..1);
    p.run(&mut all);
    assert_eq!(p.seen(), [(FrameKind::Data, vec![0]), (FrameKind::Ack, vec![])]);
    assert_eq!((p.air[0].1.bytes, p.passed.len()), (1530, 1));
}

#[test]
fn only_what_is_missing_is_sent_again_together_with_what_waits() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..5);
    let mut first = true;
    while p.air.is_empty() {
        p.step(&mut |_, _| if std::mem::take(&mut first) { 0b01101 } else { u64::MAX });
    }
    assert_eq!(p.passed, [0]);
    p.queue(5..7);
    p.run(&mut all);
    assert_eq!(p.data(), [vec![0, 1, 2, 3, 4], vec![1, 4, 5, 6]]);
    assert_eq!(p.passed, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(p.outcomes(), [0, 2, 3, 1, 4, 5, 6].map(|n| (n, true)));
    assert_eq!(p.macs[0].counters().data_failures, 2);
}

#[test]
fn packets_for_another_neighbour_wait_only_for_what_is_in_service() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..2);
    assert_eq!(p.macs[0].enqueue(packet(9, OTHER, 1500)), None);
    let mut losses = [0b01].into_iter();
    while p.air.is_empty() {
        p.step(&mut |_, _| losses.next().unwrap_or(u64::MAX));
    }
    p.queue(2..4);
    while p.air.len() < 5 {
        p.step(&mut all);
    }
    let to: Vec<_> = p.air.iter().map(|(_, frame, numbers)| (frame.to, numbers.clone())).collect();
    assert_eq!((&to[2], &to[4]), (&(PEER, vec![1]), &(OTHER, vec![0])), "numbers count for each neighbour");
}

#[test]
fn after_a_lost_block_ack_everything_comes_again_and_nothing_is_passed_on_twice() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..4);
    let mut lost = false;
    p.run(&mut |frame, _| {
        let loses = frame.kind == FrameKind::BlockAck && !std::mem::replace(&mut lost, true);
        if loses { 0 } else { u64::MAX }
    });
    assert_eq!(p.data(), [vec![0, 1, 2, 3], vec![0, 1, 2, 3]]);
    assert!(p.air[2].1.retry);
    assert_eq!(p.passed, [0, 1, 2, 3]);
    assert_eq!(p.outcomes(), [0, 1, 2, 3].map(|n| (n, true)));
    assert_eq!(p.macs[1].counters().duplicates, 4);
}

#[test]
fn a_failure_doubles_the_window_and_a_block_ack_resets_it() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..4);
    let mut windows = Vec::new();
    let mut answers = [0, 0, 0b0111].into_iter();
    while p.air.len() < 6 {
        let before = p.air.len();
        let window = p.macs[0].access(&p.config).window;
        p.step(&mut |_, _| answers.next().unwrap_or(u64::MAX));
        if p.air.len() > before && p.air[before].1.from == ME {
            windows.push(window);
        }
    }
    assert_eq!(windows, [15, 31, 63, 15]);
}

#[test]
fn an_mpdu_that_never_arrives_is_given_up_and_a_request_frees_those_behind_it() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..4);
    p.run(&mut |_, load| {
        let arrive = |bits, (bit, mpdu): (usize, &Mpdu)| bits | u64::from(mpdu.sequence != 1) << bit;
        if load.mpdus.is_empty() { u64::MAX } else { load.mpdus.iter().enumerate().fold(0, arrive) }
    });
    let mut data = vec![vec![0, 1, 2, 3]];
    data.resize(7, vec![1]);
    assert_eq!(p.data(), data, "seven times");
    let (_, request, _) = p.air[p.air.len() - 2];
    assert_eq!((request.kind, request.sequence, request.bytes), (FrameKind::BlockAckRequest, 4, 24));
    assert_eq!(p.seen().last(), Some(&(FrameKind::BlockAck, vec![])));
    assert_eq!(p.passed, [0, 2, 3]);
    assert_eq!(p.outcomes(), [(0, true), (2, true), (3, true), (1, false)]);
    assert_eq!(p.macs[0].counters().retry_drops, 1);
}

#[test]
fn a_silent_neighbour_costs_every_packet_once_and_is_asked_first_when_it_is_back() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..3);
    p.run(&mut |_, _| 0);
    assert_eq!(p.data(), vec![vec![0, 1, 2]; 7]);
    assert_eq!(p.outcomes(), [0, 1, 2].map(|n| (n, false)));
    p.air.clear();
    p.queue(3..5);
    p.run(&mut all);
    let kinds: Vec<_> = p.air.iter().map(|(_, frame, _)| (frame.kind, frame.sequence)).collect();
    assert_eq!(kinds[0], (FrameKind::BlockAckRequest, 3));
    assert_eq!(p.data(), [[3, 4]]);
    assert_eq!(p.passed, [3, 4]);
}

#[test]
fn an_unanswered_request_is_given_up_with_the_packet_in_service() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..2);
    p.run(&mut |_, _| 0);
    p.air.clear();
    p.queue(2..4);
    p.run(&mut |_, _| 0);
    assert_eq!(p.seen(), vec![(FrameKind::BlockAckRequest, vec![]); 2 * 7]);
    assert_eq!(p.outcomes(), [0, 1, 2, 3].map(|n| (n, false)));
    let counters = p.macs[0].counters();
    assert_eq!(counters.retries(), 6 * 2 + 2 * 6, "six times two MPDUs, and twice six requests");
}

#[test]
fn frames_end_at_each_of_the_limits() {
    // 42 MPDUs of 1536 bytes less 2 stay below 65,535 bytes. 5484 us at 65 Mb/s are 1362 symbols, or 44,262
    // bytes.
    for (rate, most, bytes, expected) in
        [(MCS31, 64, 500, 64), (MCS31, 10, 500, 10), (MCS31, 64, 1500, 42), (MCS7, 64, 1500, 28)]
    {
        let mut p = pair(rate, basic(Some(most), None));
        for n in 0..100 {
            p.macs[0].enqueue(packet(n, PEER, bytes));
        }
        p.run(&mut all);
        assert_eq!(p.data()[0].len(), expected, "{bytes} bytes, at most {most}");
        assert_eq!(p.passed, (0..100).collect::<Vec<_>>());
    }
    // 5484 us at 6.5 Mb/s, with 26 bits in each symbol of 4 us after 36 us, are 1362 symbols, or 4423 bytes.
    let mut p = pair(MCS0, basic(Some(64), None));
    p.queue(0..3);
    p.run(&mut all);
    assert_eq!(p.data(), [vec![0, 1], vec![2]]);
    // A packet that is too long for an aggregate is transmitted alone.
    let mut p = pair(MCS7, basic(Some(64), None));
    for (n, bytes) in [(0, 1500), (1, 4065), (2, 4066), (3, 1500), (4, 1500)] {
        p.macs[0].enqueue(packet(n, PEER, bytes));
    }
    p.run(&mut all);
    assert_eq!(p.data(), [vec![0, 1], vec![2], vec![3, 4]]);
}

#[test]
fn the_window_ends_64_numbers_after_the_oldest_that_is_missing() {
    let mut p = pair(MCS31, basic(Some(40), None));
    p.queue(0..100);
    let mut losses = [!1].into_iter();
    p.run(&mut |_, _| losses.next().unwrap_or(u64::MAX));
    let sets = p.data();
    assert_eq!(sets[0], (0..40).collect::<Vec<_>>());
    assert_eq!(sets[1], [&[0], &(40..64).collect::<Vec<_>>()[..]].concat());
    assert_eq!(p.passed, (0..100).collect::<Vec<_>>());
}

#[test]
fn frames_of_802_11ax_have_up_to_256_mpdus_and_a_block_ack_with_a_bit_for_each() {
    let rate = DOT11AX_80.rate_named("MCS11x4").unwrap();
    for (most, bytes) in [(64, 32), (65, 56), (256, 56)] {
        let mut p = pair_of(&DOT11AX_80, rate, basic(Some(most), None));
        p.queue(0..600);
        p.run(&mut all);
        assert_eq!(p.data()[0], (0..u16::try_from(most).unwrap()).collect::<Vec<_>>());
        let (_, answer, _) = p.air[1];
        assert_eq!((answer.kind, answer.bytes), (FrameKind::BlockAck, bytes), "at most {most}");
        // At 24 Mb/s a symbol of 4 us has 96 bits.
        assert_eq!(
            p.air[0].1.nav,
            Duration::from_micros(16 + 20 + 4 * (8 * u64::from(bytes) + 22).div_ceil(96))
        );
        assert_eq!(p.passed, (0..600).collect::<Vec<_>>());
    }
    // Only 64 MPDUs of the first frame arrive; 192 are retransmitted, and the window ends with sequence
    // number 319.
    let mut p = pair_of(&DOT11AX_80, rate, basic(Some(256), None));
    p.queue(0..600);
    let mut losses = [u64::MAX >> 1].into_iter();
    p.run(&mut |_, _| losses.next().unwrap_or(u64::MAX));
    assert_eq!(p.data()[1], (63..319).collect::<Vec<_>>());
    assert_eq!(p.passed, (0..600).collect::<Vec<_>>());
    assert_eq!(p.macs[0].counters().retries(), 193);
    // 802.11n has at most 64, whatever the scenario allows.
    let mut p = pair(MCS31, basic(Some(256), None));
    for n in 0..100 {
        p.macs[0].enqueue(packet(n, PEER, 500));
    }
    p.run(&mut all);
    assert_eq!((p.data()[0].len(), p.air[1].1.bytes), (64, 32));
}

#[test]
fn packets_share_an_mpdu_up_to_the_limit() {
    // Each packet has a subframe header of 14 bytes and is padded: 1516 and 1514 bytes are 3030, a third
    // packet makes 4546.
    for (limit, expected) in [(3839, vec![vec![0], vec![1], vec![2]]), (7935, vec![vec![0]])] {
        let mut p = pair(MCS7, basic(None, Some(limit)));
        p.queue(0..5);
        p.run(&mut all);
        assert_eq!(p.data(), expected);
        assert_eq!(p.air[1].1.kind, FrameKind::Ack);
        assert_eq!(p.passed, [0, 1, 2, 3, 4]);
        assert_eq!(p.outcomes(), [0, 1, 2, 3, 4].map(|n| (n, true)));
    }
    // In an aggregate an MPDU has at most 4095 bytes, whatever the limit.
    let mut p = pair(MCS7, basic(Some(64), Some(7935)));
    p.queue(0..5);
    p.run(&mut all);
    assert_eq!(p.seen()[0], (FrameKind::Aggregate, vec![0, 1, 2]));
    // The MPDU has 30 + 1516 + 1514 = 3060 bytes. Each MPDU but the last has a delimiter of 4 bytes and is
    // padded to a multiple of 4.
    assert_eq!(p.air[0].1.bytes, 2 * 3064 + 4 + 1530);
}

#[test]
fn packets_of_one_mpdu_are_lost_together() {
    let mut p = pair(MCS7, basic(Some(64), Some(3839)));
    p.queue(0..6);
    let mut losses = [0b101].into_iter();
    p.run(&mut |_, _| losses.next().unwrap_or(u64::MAX));
    assert_eq!(p.data(), [vec![0, 1, 2], vec![1]]);
    assert_eq!(p.passed, [0, 1, 2, 3, 4, 5]);
    assert_eq!(p.outcomes(), [0, 1, 4, 5, 2, 3].map(|n| (n, true)));
}

#[test]
fn the_rts_threshold_counts_the_whole_frame() {
    let mut p = pair(MCS7, MacParams { rts_threshold: Some(2000), ..basic(Some(64), None) });
    p.queue(0..3);
    let mut losses = [u64::MAX, u64::MAX, 0b011].into_iter();
    p.run(&mut |_, _| losses.next().unwrap_or(u64::MAX));
    let kinds: Vec<_> = p.seen().into_iter().map(|(kind, _)| kind).collect();
    use FrameKind::{Ack, Aggregate, BlockAck, Cts, Data, Rts};
    assert_eq!(kinds, [Rts, Cts, Aggregate, BlockAck, Data, Ack], "one packet is short");
    let (_, rts, _) = p.air[0];
    let data = 36 + 4 * (8 * (2 * 1536 + 1534) + 22_u64).div_ceil(260);
    // The CTS has 14 bytes at 6 Mb/s, which take 44 us.
    assert_eq!(rts.nav, Duration::from_micros(3 * 16 + 44 + data + 32));
    // After an RTS, the long retry limit applies.
    let mut p = pair(MCS7, MacParams { rts_threshold: Some(0), ..basic(Some(64), None) });
    p.queue(0..2);
    p.run(&mut |frame, _| if frame.kind == Aggregate { 0 } else { u64::MAX });
    assert_eq!(p.data(), vec![vec![0, 1]; 4]);
    // A neighbour that never answers an RTS causes the loss of all packets.
    let mut p = pair(MCS7, MacParams { rts_threshold: Some(0), ..basic(Some(64), None) });
    p.queue(0..2);
    p.run(&mut |_, _| 0);
    assert_eq!(p.seen(), vec![(Rts, vec![]); 7]);
    assert_eq!(p.outcomes(), [0, 1].map(|n| (n, false)));
}

#[test]
fn a_station_without_power_forgets_packets_but_not_numbers() {
    let mut p = pair(MCS7, basic(Some(64), None));
    p.queue(0..3);
    p.run(&mut all);
    p.queue(3..5);
    p.serve();
    let fresh = Mac::new(ME, &p.config, Rng::stream(2, "test", 0), Rng::stream(2, "rates", 0));
    let old = std::mem::replace(&mut p.macs[0], fresh);
    assert_eq!(old.packets().count(), 2);
    p.macs[0].succeed(old);
    p.queue(5..7);
    p.run(&mut all);
    assert_eq!(p.passed, [0, 1, 2, 5, 6]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// With any losses of frames, every packet is finished once, delivered packets are passed on once and in order,
    /// and the neighbour stores no packet forever.
    #[test]
    fn every_packet_is_counted_once_and_order_is_kept(
        packets in 1..200_u32,
        ampdu in prop::option::of(2..=64_u32),
        amsdu in prop::option::of(Just(3839_u32)),
        threshold in prop::option::of(0..4000_u32),
        chance in 0.0..0.6_f64,
        seed in any::<u64>(),
    ) {
        prop_assume!(ampdu.is_some() || amsdu.is_some());
        let mut p = pair(MCS7, MacParams { rts_threshold: threshold, ..basic(ampdu, amsdu) });
        p.queue(0..packets);
        let mut rng = Rng::stream(seed, "losses", 0);
        let mut lossy = |_: &Frame, load: &Load| {
            if load.mpdus.is_empty() {
                return if rng.chance(chance) { 0 } else { u64::MAX };
            }
            (0..load.mpdus.len()).fold(0, |bits, bit| bits | u64::from(!rng.chance(chance)) << bit)
        };
        p.run(&mut lossy);
        let mut done = p.outcomes();
        done.sort_unstable();
        prop_assert_eq!(done.iter().map(|(n, _)| *n).collect::<Vec<_>>(), (0..packets).collect::<Vec<_>>());
        let in_order = p.passed.windows(2).all(|pair| pair[0] < pair[1]);
        prop_assert!(in_order, "{:?}", p.passed);
        // A last exchange without losses releases waiting packets.
        p.queue(packets..packets + 1);
        p.run(&mut all);
        prop_assert_eq!(p.macs[1].held().count(), 0);
        for (n, delivered) in done {
            prop_assert!(!delivered || p.passed.contains(&n), "{} was acknowledged", n);
        }
        let in_order = p.passed.windows(2).all(|pair| pair[0] < pair[1]);
        prop_assert!(in_order, "{:?}", p.passed);
    }
}
