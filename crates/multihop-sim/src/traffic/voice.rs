//! Voice: a codec that sends a datagram per interval of speech, and a receiver that plays it after a fixed
//! delay.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, Rng};
use multihop_scenario::draw::exponential;
use multihop_scenario::{Codec, VoiceParams};

use super::{Application, Step};
use crate::results::{ApplicationResult, VoiceResult};

/// A talker with a codec, and a listener.
#[derive(Clone, Debug)]
pub(super) struct Voice {
    params: VoiceParams,
    /// End of the current talk spurt; `None` before the first one, and without pauses.
    spurt_ends: Option<Instant>,
    sent: u64,
    /// Departure times of packets that have not arrived yet, but may still arrive in time.
    pending: VecDeque<Instant>,
    in_time: u64,
    late: u64,
    /// Instant from which on sent packets are measured.
    measured_from: Instant,
}

impl Voice {
    pub(super) fn new(params: VoiceParams) -> Self {
        let (sent, in_time, late, measured_from) = (0, 0, 0, Instant::ZERO);
        Self { params, spurt_ends: None, sent, pending: VecDeque::new(), in_time, late, measured_from }
    }

    /// Bytes of a datagram: RTP header and speech.
    fn bytes(&self) -> u64 {
        let speech = codec(self.params.codec).bits_per_second * self.params.packet.as_secs_f64() / 8.0;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 64 kb/s for a second"
        )]
        let speech = speech.round() as u64;
        RTP_HEADER + speech
    }
}

impl Application for Voice {
    fn step(&mut self, now: Instant, rng: &mut Rng) -> Step {
        if let Some((talk, silence)) = self.params.spurts {
            let ends = *self.spurt_ends.get_or_insert_with(|| now + exponential(rng, talk));
            if now >= ends {
                let begins = now + exponential(rng, silence);
                self.spurt_ends = Some(begins + exponential(rng, talk));
                return Step { bytes: 0, next: Some(begins) };
            }
        }
        self.sent += 1;
        while self.pending.pop_front_if(|sent| now - *sent > self.params.playout_delay).is_some() {}
        self.pending.push_back(now);
        Step { bytes: self.bytes(), next: Some(now + self.params.packet) }
    }

    fn arrived(&mut self, now: Instant, sent: Instant) {
        if sent < self.measured_from {
            return;
        }
        if let Some(index) = self.pending.iter().position(|pending| *pending == sent) {
            self.pending.remove(index);
        }
        if now - sent <= self.params.playout_delay {
            self.in_time += 1;
        } else {
            self.late += 1;
        }
    }

    fn restart(&mut self, now: Instant) {
        *self = Self { spurt_ends: self.spurt_ends, measured_from: now, ..Self::new(self.params) };
    }

    fn result(&self, now: Instant) -> ApplicationResult {
        let codec = codec(self.params.codec);
        let undecided = self.pending.iter().filter(|sent| now - **sent <= self.params.playout_delay).count();
        let packets = self.sent - undecided as u64;
        let lost = (packets > 0).then(|| (packets - self.in_time) as f64 / packets as f64);
        let delay = self.params.playout_delay + self.params.packet + codec.look_ahead;
        let r_factor = lost.map(|lost| r_factor(&codec, delay, lost));
        ApplicationResult::Voice(VoiceResult {
            mos: r_factor.map(mos),
            r_factor,
            mouth_to_ear_ms: 1e3 * delay.as_secs_f64(),
            packets,
            late: self.late,
            lost,
        })
    }
}

/// Parameters of a codec in the E-model.
struct CodecModel {
    bits_per_second: f64,
    look_ahead: Duration,
    /// Equipment impairment without loss, and its growth with loss, by Cole and Rosenbluth.
    impairment: [f64; 3],
}

fn codec(codec: Codec) -> CodecModel {
    match codec {
        Codec::G711 => CodecModel {
            bits_per_second: 64_000.0,
            look_ahead: Duration::ZERO,
            impairment: [0.0, 30.0, 15.0],
        },
        Codec::G729 => CodecModel {
            bits_per_second: 8000.0,
            look_ahead: Duration::from_millis(5),
            impairment: [11.0, 40.0, 10.0],
        },
    }
}

/// Rating factor of the E-model, as simplified by Cole and Rosenbluth: 94.2 minus the impairments of delay
/// and of codec and loss.
fn r_factor(codec: &CodecModel, mouth_to_ear: Duration, lost: f64) -> f64 {
    let ms = 1e3 * mouth_to_ear.as_secs_f64();
    let delay = 0.024 * ms + 0.11 * (ms - 177.3).max(0.0);
    let [without, scale, growth] = codec.impairment;
    94.2 - delay - (without + scale * libm::log(1.0 + growth * lost.clamp(0.0, 1.0)))
}

/// Mean opinion score of a rating factor (ITU-T G.107, annex B).
fn mos(r: f64) -> f64 {
    if r <= 0.0 {
        1.0
    } else if r >= 100.0 {
        4.5
    } else {
        // Below a rating of 6.5 the polynomial is less than 1.
        (1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)).max(1.0)
    }
}

/// Bytes of an RTP header (RFC 3550).
const RTP_HEADER: u64 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn params(codec: Codec) -> VoiceParams {
        let (packet, playout_delay) = (Duration::from_millis(20), Duration::from_millis(60));
        VoiceParams { codec, packet, playout_delay, spurts: None }
    }

    fn result(voice: &Voice) -> VoiceResult {
        match voice.result(Instant::ZERO + Duration::from_secs(1)) {
            ApplicationResult::Voice(result) => result,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ratings_agree_with_published_ones() {
        // Expected values of R and MOS are from G.107, table B.1.
        for (r, expected) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            assert!((mos(r) - expected).abs() < 0.01, "{r}: {}", mos(r));
        }
        assert_eq!((mos(-5.0), mos(100.0)), (1.0, 4.5));
        // By Cole and Rosenbluth, R without delay and loss is 94.2 for G.711 and 83.2 for G.729.
        for (kind, expected) in [(Codec::G711, 94.2), (Codec::G729, 83.2)] {
            assert!((r_factor(&codec(kind), Duration::ZERO, 0.0) - expected).abs() < 1e-9);
        }
        // A loss of 1% costs 30 ln 1.15 = 4.193 and 40 ln 1.1 = 3.812; a delay of 277.3 ms costs 6.655 and
        // 11.
        let delay = Duration::from_secs_f64(0.2773);
        assert!((r_factor(&codec(Codec::G711), Duration::ZERO, 0.01) - (94.2 - 4.1929)).abs() < 1e-3);
        assert!((r_factor(&codec(Codec::G729), Duration::ZERO, 0.01) - (83.2 - 3.8124)).abs() < 1e-3);
        assert!((r_factor(&codec(Codec::G711), delay, 0.0) - (94.2 - 6.6552 - 11.0)).abs() < 1e-3);
    }

    #[test]
    fn a_codec_sends_its_rate_in_equal_packets() {
        let mut rng = Rng::stream(1, "test", 0);
        for (codec, bytes) in [(Codec::G711, 172), (Codec::G729, 32)] {
            let mut voice = Voice::new(params(codec));
            let step = voice.step(Instant::ZERO, &mut rng);
            assert_eq!(step, Step { bytes, next: Some(Instant::ZERO + Duration::from_millis(20)) });
        }
    }

    #[test]
    fn talk_and_silence_have_their_means() {
        let spurts = Some((Duration::from_millis(1004), Duration::from_millis(1587)));
        let mut voice = Voice::new(VoiceParams { spurts, ..params(Codec::G729) });
        let (mut rng, mut now) = (Rng::stream(1, "test", 0), Instant::ZERO);
        let hour = Instant::ZERO + Duration::from_secs(36_000);
        while now < hour {
            now = voice.step(now, &mut rng).next.expect("voice never ends");
        }
        // There are about 14,000 spurts, so that the standard error of the share is 0.003.
        let share = voice.sent as f64 * 0.02 / 36_000.0;
        // A spurt sends its first packet at once, which adds half an interval to its mean length.
        assert!((share - 1.014 / 2.601).abs() < 0.012, "{share}");
    }

    #[test]
    fn packets_after_the_playout_delay_are_lost() {
        let mut rng = Rng::stream(1, "test", 0);
        let mut voice = Voice::new(params(Codec::G711));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        for n in 0..10 {
            voice.step(at(20 * n), &mut rng);
        }
        (0..7).for_each(|n| voice.arrived(at(20 * n + 60), at(20 * n)));
        voice.arrived(at(20 * 7 + 61), at(20 * 7));
        let found = result(&voice);
        assert_eq!((found.packets, found.late), (10, 1));
        assert!((found.lost.unwrap() - 0.3).abs() < 1e-12);
        assert!((found.mouth_to_ear_ms - 80.0).abs() < 1e-9);
        let expected = 94.2 - 0.024 * 80.0 - 30.0 * libm::log(1.0 + 15.0 * 0.3);
        assert!((found.r_factor.unwrap() - expected).abs() < 1e-9);
        // At 190 ms the packets of 160 and 180 ms may still arrive in time.
        match voice.result(at(190)) {
            ApplicationResult::Voice(found) => assert_eq!((found.packets, found.late), (8, 1)),
            other => panic!("{other:?}"),
        }
        voice.restart(at(200));
        assert_eq!(result(&voice).mos, None);
        voice.arrived(at(210), at(190));
        assert_eq!(result(&voice).packets, 0);
    }
}
