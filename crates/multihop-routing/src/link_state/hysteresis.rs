//! Link hysteresis (RFC 3626 §14, RFC 6130 §14): links are used only while most packets arrive.

use alloc::format;

use multihop_core::settings::{Settings, Visitor};
use multihop_core::{Duration, Instant};

/// Link hysteresis (RFC 3626 §14): the quality of a link is a moving average of received packets
/// (1) and lost packets (0), in millionths.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Hysteresis {
    /// Weight of the latest packet.
    #[key(millionths)]
    pub scaling: u32,
    /// Quality above which a link is used again.
    #[key(millionths)]
    pub high: u32,
    /// Quality below which a link is no longer used.
    #[key(millionths)]
    pub low: u32,
}

/// Quality of a link, and the packets from which it is estimated.
#[derive(Clone, Debug)]
pub struct Quality {
    /// Quality of the link, in millionths.
    value: u32,
    /// Whether too many packets were lost to use the link (`L_link_pending`).
    pub pending: bool,
    /// Sequence number of the last packet.
    sequence: u16,
    /// The neighbour's HELLO interval.
    interval: Duration,
    /// Instant at which the next packet counts as lost, because the neighbour has sent nothing for longer than its
    /// HELLO interval.
    pub silent_at: Instant,
    /// Number of packets presumed lost since the last arrival.
    presumed_lost: u16,
}

impl Quality {
    /// The state after the first packet.
    pub fn new(hysteresis: Hysteresis, sequence: u16) -> Self {
        Self {
            value: hysteresis.scaling,
            pending: true,
            sequence,
            interval: Duration::ZERO,
            silent_at: Instant::FAR_FUTURE,
            presumed_lost: 0,
        }
    }

    /// Records a packet that arrived, and the loss of the missing ones before it, except those already counted.
    pub fn packet(&mut self, now: Instant, hysteresis: Hysteresis, sequence: u16, slack: Duration) {
        let missing = match sequence.wrapping_sub(self.sequence) {
            // The packet is a duplicate, or the neighbour has restarted.
            0 | 0x8000.. => 0,
            step => step - 1,
        };
        for _ in self.presumed_lost..missing.min(self.presumed_lost.saturating_add(ENOUGH)) {
            self.miss(hysteresis);
        }
        self.presumed_lost = 0;
        self.sequence = sequence;
        self.value = decayed(self.value, hysteresis) + hysteresis.scaling;
        if self.value > hysteresis.high {
            self.pending = false;
        }
        self.listen(now, slack);
    }

    /// Records the interval that a HELLO announced until the next one.
    pub fn hello(&mut self, now: Instant, interval: Duration, slack: Duration) {
        self.interval = interval;
        self.listen(now, slack);
    }

    /// Records that no packet arrived in time.
    pub fn silence(&mut self, hysteresis: Hysteresis) {
        self.miss(hysteresis);
        self.presumed_lost = self.presumed_lost.saturating_add(1);
        self.silent_at += self.interval;
    }

    fn miss(&mut self, hysteresis: Hysteresis) {
        self.value = decayed(self.value, hysteresis);
        if self.value < hysteresis.low {
            self.pending = true;
        }
    }

    // DEVIATION olsr-5: A HELLO counts as lost after the HELLO interval plus `max_jitter`. In RFC 3626 (14.2) it does
    // so after the interval, up to 0.5 s sooner.
    fn listen(&mut self, now: Instant, slack: Duration) {
        if self.interval > Duration::ZERO {
            self.silent_at = now + self.interval + slack;
        }
    }
}

impl Hysteresis {
    fn check(&self, keys: &mut dyn Visitor) {
        if self.high <= self.low {
            let (found, least) = (f64::from(self.high) / 1e6, f64::from(self.low) / 1e6);
            keys.refuse("high", format!("found {found}, allowed: more than low, {least}"));
        }
    }
}

impl Default for Hysteresis {
    fn default() -> Self {
        Self { scaling: 500_000, high: 800_000, low: 300_000 }
    }
}

fn decayed(value: u32, hysteresis: Hysteresis) -> u32 {
    let kept = u64::from(value) * u64::from(ONE.saturating_sub(hysteresis.scaling)) / u64::from(ONE);
    u32::try_from(kept).expect("not above the value itself")
}

const ONE: u32 = 1_000_000;
/// Number of consecutive losses after which a quality of any value has fallen to zero.
const ENOUGH: u16 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_after_three_packets_and_down_after_two_losses() {
        let hysteresis = Hysteresis::default();
        let mut quality = Quality::new(hysteresis, 10);
        let mut values = alloc::vec![quality.value];
        for sequence in 11..=12 {
            assert!(quality.pending);
            quality.packet(Instant::ZERO, hysteresis, sequence, Duration::ZERO);
            values.push(quality.value);
        }
        assert_eq!(values, [500_000, 750_000, 875_000]);
        assert!(!quality.pending);
        for sequence in 13..60 {
            quality.packet(Instant::ZERO, hysteresis, sequence, Duration::ZERO);
        }
        quality.miss(hysteresis);
        assert!(!quality.pending && quality.value >= 499_990);
        quality.miss(hysteresis);
        assert!(quality.pending);
    }

    #[test]
    fn a_hello_may_be_late_by_the_jitter() {
        let mut quality = Quality::new(Hysteresis::default(), 1);
        let (interval, slack) = (Duration::from_secs(2), Duration::from_millis(500));
        quality.hello(Instant::ZERO, interval, slack);
        assert_eq!(quality.silent_at, Instant::ZERO + Duration::from_millis(2_500));
        quality.silence(Hysteresis::default());
        assert_eq!(quality.silent_at, Instant::ZERO + Duration::from_millis(4_500));
    }

    #[test]
    fn missing_packets_count_once() {
        let hysteresis = Hysteresis::default();
        let mut quality = Quality::new(hysteresis, 0xfffe);
        quality.value = 1_000_000;
        quality.packet(Instant::ZERO, hysteresis, 1, Duration::ZERO);
        // After two losses the quality is 0.25, then one packet arrives.
        assert_eq!(quality.value, 625_000);
        quality.value = 1_000_000;
        quality.silence(hysteresis);
        quality.silence(hysteresis);
        quality.packet(Instant::ZERO, hysteresis, 4, Duration::ZERO);
        assert_eq!(quality.value, 625_000, "the two missing packets have already been counted");
        quality.value = 1_000_000;
        quality.packet(Instant::ZERO, hysteresis, 3, Duration::ZERO);
        assert_eq!(quality.value, 1_000_000, "an old packet implies no losses");
    }
}
