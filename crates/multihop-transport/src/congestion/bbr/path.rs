//! Model of a path that both versions of BBR measure: bandwidth, round trips, rounds and aggregation.

use multihop_core::{Duration, Instant};

use crate::congestion::signals::RateSample;

/// Counts rounds of delivery. A round ends when a segment is delivered that left after the round began.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    pub(super) count: u64,
    /// Count of delivered bytes that ends the current round: the round ends with the delivery of a segment
    /// that left when this count was reached, or later.
    pub(super) ends_at: u64,
    /// Whether the current ACK began a round.
    pub(super) began: bool,
}

impl Rounds {
    pub(super) fn update(&mut self, sample: &RateSample) {
        self.began = sample.prior_delivered.is_some_and(|prior| prior >= self.ends_at);
        if self.began {
            self.count += 1;
            self.ends_at = sample.delivered;
        }
    }
}

/// Estimates how many more bytes arrive at once than the bandwidth explains, because ACKs arrive in groups (ACK
/// aggregation).
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    since: Instant,
    acked: u64,
    extra: super::filter::Largest,
    rounds: u64,
}

impl Aggregation {
    pub(super) fn of(rounds: u64) -> Self {
        Self { since: Instant::ZERO, acked: 0, extra: super::filter::Largest::of(rounds), rounds: 0 }
    }

    pub(super) fn update(
        &mut self,
        now: Instant,
        sample: &RateSample,
        began: bool,
        bandwidth: u64,
        cwnd: u32,
    ) {
        self.rounds += u64::from(began);
        if sample.newly_delivered == 0 {
            return;
        }
        let mut expected = amount(bandwidth, now.saturating_since(self.since), ONE);
        if self.acked <= expected {
            (self.since, self.acked, expected) = (now, 0, 0);
        }
        self.acked += sample.newly_delivered;
        let extra = (self.acked - expected.min(self.acked)).min(u64::from(cwnd));
        self.extra.add(self.rounds, extra);
    }

    pub(super) fn restart(&mut self, now: Instant) {
        (self.since, self.acked) = (now, 0);
    }

    /// Bytes by which the window grows for ACK aggregation, at most the bytes that the path delivers in 100
    /// ms.
    pub(super) fn extra(&self, bandwidth: u64) -> u64 {
        self.extra.get().min(amount(bandwidth, LONGEST, ONE))
    }
}

/// The bytes that `rate` times `gain` (in thousandths) delivers in `time`, rounded up.
pub(super) fn amount(rate: u64, time: Duration, gain: u64) -> u64 {
    let bytes = u128::from(rate) * u128::from(time.as_nanos()) * u128::from(gain);
    u64::try_from(bytes.div_ceil(1_000_000_000_000)).unwrap_or(u64::MAX)
}

/// Multiplies `value` by a gain in thousandths.
pub(super) fn times(value: u64, gain: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(gain) / 1000).unwrap_or(u64::MAX)
}

/// Rate of `bytes` per `time`, times a gain in thousandths.
pub(super) fn rate_of(bytes: u64, time: Duration, gain: u64) -> u64 {
    let rate = u128::from(bytes) * u128::from(gain) * 1_000_000 / u128::from(time.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX).max(1)
}

/// A number below `n` that depends on the instant alone. A policy has no source of randomness, and this
/// number only needs to keep flows out of step.
pub(super) fn drawn(now: Instant, n: u64) -> u64 {
    // Steps of splitmix64.
    let mixed = now.as_nanos().wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // The upper half of the bits, scaled to the range below n.
    ((mixed >> 32) * n) >> 32
}

/// Ratio of the pacing rate to the bandwidth, in thousandths: 1% below it, so that queues drain.
pub(super) const BELOW: u64 = 990;
/// Smallest window that keeps a path busy with delayed ACKs, segments.
pub(super) const LEAST: u64 = 4;
/// Rate below which Linux groups no segments (`bbr_min_tso_rate`), bytes per second.
pub(super) const SLOW: u64 = 1_200_000 / 8;
/// Gain of 1, in thousandths.
pub(super) const ONE: u64 = 1000;
const LONGEST: Duration = Duration::from_millis(100);
