//! Round-trip time and retransmission timeout (RFC 6298).

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::settings::{TIMEOUT, check_rto};

/// Every constant of the retransmission timer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct RtoConfig {
    /// Retransmission timeout before the first sample, s.
    #[key(TIMEOUT, name = "rto_initial")]
    pub initial: Duration,
    /// Shortest retransmission timeout, s.
    #[key(TIMEOUT, name = "rto_min")]
    pub min: Duration,
    /// Longest retransmission timeout, backoff included, s.
    #[key(TIMEOUT, name = "rto_max")]
    pub max: Duration,
    /// Least time by which the timeout exceeds the smoothed round trip, s.
    ///
    /// Linux has this lower bound of the variance term in place of one for the whole timeout.
    #[key(0.0..=100.0, name = "rto_margin")]
    pub margin: Duration,
    /// Tick of the clock that measures round-trip times, s.
    ///
    /// Samples are read in whole ticks, and the variance term is at least one.
    #[key(0.000_001..=10.0, name = "tick")]
    pub granularity: Duration,
    /// Largest backoff factor of the timeout.
    #[key(1..=1_000_000)]
    pub backoff_limit: u32,
    /// Backoff factor above which the estimate counts as stale: its value moves into the variance, and the next sample
    /// starts afresh. `None` keeps the estimate.
    pub forget_above: Option<u32>,
    /// The timeout data starts with if the SYN was lost. `None` leaves the estimate alone.
    pub after_lost_syn: Option<Duration>,
}

impl RtoConfig {
    fn check(&self, keys: &mut dyn Visitor) {
        check_rto(self.min, self.max, keys);
    }
}

/// The estimator of one connection.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    srtt: Option<Duration>,
    rttvar: Duration,
    base: Duration,
    backoff: u32,
    latest: Option<Duration>,
    samples: u64,
}

impl RttEstimator {
    /// Creates an estimator without samples.
    pub const fn new(config: RtoConfig) -> Self {
        Self {
            base: config.initial,
            config,
            srtt: None,
            rttvar: Duration::ZERO,
            backoff: 1,
            latest: None,
            samples: 0,
        }
    }

    /// Records the round-trip time of a packet that was sent exactly once (Karn's rule). Ends the backoff.
    pub fn sample(&mut self, rtt: Duration) {
        self.latest = Some(rtt);
        self.samples += 1;
        // DEVIATION tcp-1: Round trips are measured in ticks, but the timeout computed from them is in nanoseconds.
        // ns-2 truncates the timeout to whole ticks. Timeouts in multihop are up to one tick longer.
        let ticks = self.in_ticks(rtt);
        let srtt = match self.srtt {
            // RFC 6298 §2.2
            None => {
                // The variation of a discarded estimate remains if it is larger.
                self.rttvar = self.rttvar.max(ticks / 2);
                ticks
            }
            // RFC 6298 §2.3: alpha = 1/8, beta = 1/4.
            Some(srtt) => {
                let error = srtt.max(ticks) - srtt.min(ticks);
                self.rttvar = weighted(self.rttvar, error, 4);
                weighted(srtt, ticks, 8)
            }
        };
        self.srtt = Some(srtt);
        let spread = self.config.granularity.max(self.config.margin).max(self.rttvar.saturating_mul(4));
        self.base = (srtt + spread).max(self.config.min);
        self.backoff = 1;
    }

    /// Doubles the timeout after the timer expired (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_mul(2).min(self.config.backoff_limit);
        // RFC 6298 §5, last paragraph: after this many backoffs the estimate is probably wrong.
        if self.config.forget_above.is_some_and(|limit| self.backoff > limit)
            && let Some(srtt) = self.srtt.take()
        {
            self.rttvar += srtt / 4;
        }
    }

    /// Restores the initial timeout, without backoff, until the next sample.
    pub fn restart(&mut self) {
        self.base = self.config.initial;
        self.backoff = 1;
    }

    /// Notes at the end of the handshake that a SYN was retransmitted.
    pub fn syn_was_lost(&mut self) {
        // RFC 6298 §5.7
        if let Some(rto) = self.config.after_lost_syn
            && self.srtt.is_none()
        {
            self.base = rto;
            self.backoff = 1;
        }
    }

    /// Lowers the initial timeout, used before the first sample, to this time.
    pub fn lower_initial(&mut self, timeout: Duration) {
        if self.samples == 0 {
            self.base = self.base.min(timeout.max(self.config.min));
        }
    }

    /// The retransmission timeout, backoff included; never zero.
    pub fn rto(&self) -> Duration {
        let rto = self.base.saturating_mul(u64::from(self.backoff));
        rto.min(self.config.max).max(FLOOR)
    }

    /// The retransmission timeout without backoff.
    pub const fn base(&self) -> Duration {
        self.base
    }

    /// The smoothed round-trip time.
    pub const fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// The smoothed deviation of the round-trip time.
    pub const fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The newest sample, to the nanosecond.
    pub const fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Number of samples so far.
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// The nearest whole number of clock ticks, at least one.
    fn in_ticks(&self, rtt: Duration) -> Duration {
        let tick = self.config.granularity;
        if tick == Duration::ZERO {
            return rtt;
        }
        tick.saturating_mul((rtt + tick / 2).whole(tick).max(1))
    }
}

/// Weighted mean: `new` has weight 1/`n`, `old` the rest.
fn weighted(old: Duration, new: Duration, n: u64) -> Duration {
    if new >= old { old + (new - old) / n } else { old - (old - new) / n }
}

/// Shortest timeout: a timer of zero would expire endlessly at one instant.
const FLOOR: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn rfc() -> RtoConfig {
        RtoConfig {
            initial: ms(1000),
            min: ms(1000),
            max: ms(60_000),
            granularity: ms(1),
            margin: Duration::ZERO,
            backoff_limit: u32::MAX,
            forget_above: None,
            after_lost_syn: Some(ms(3000)),
        }
    }

    #[test]
    fn first_and_second_sample_by_hand() {
        let mut rtt = RttEstimator::new(RtoConfig { min: ms(1), ..rfc() });
        assert_eq!(rtt.rto(), ms(1000));
        rtt.sample(ms(200));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(200)), ms(100), ms(600)));
        // SRTT = 7/8 * 200 + 1/8 * 280; RTTVAR = 3/4 * 100 + 1/4 * 80
        rtt.sample(ms(280));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(210)), ms(95), ms(590)));
    }

    #[test]
    fn a_steady_path_keeps_one_tick_of_spread() {
        let mut rtt = RttEstimator::new(RtoConfig { min: ms(1), granularity: ms(10), ..rfc() });
        for _ in 0..100 {
            rtt.sample(ms(104));
        }
        assert_eq!(rtt.rto(), ms(110));
    }

    #[test]
    fn a_margin_keeps_the_timeout_above_a_steady_round_trip() {
        let mut rtt = RttEstimator::new(RtoConfig { min: ms(200), margin: ms(200), ..rfc() });
        rtt.sample(ms(500));
        // After the first sample the deviation term, 4 * 250 ms, exceeds the margin.
        assert_eq!(rtt.rto(), ms(1500));
        for _ in 0..100 {
            rtt.sample(ms(500));
        }
        assert_eq!(rtt.rto(), ms(700));
    }

    #[test]
    fn minimum_and_maximum_hold_and_a_sample_ends_the_back_off() {
        let mut rtt = RttEstimator::new(rfc());
        rtt.sample(ms(50));
        assert_eq!(rtt.rto(), ms(1000));
        for expected in [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
            rtt.back_off();
            assert_eq!(rtt.rto(), ms(expected));
        }
        rtt.sample(ms(50));
        assert_eq!(rtt.rto(), ms(1000));
    }

    #[test]
    fn back_off_stops_at_its_limit() {
        let mut rtt = RttEstimator::new(RtoConfig { backoff_limit: 64, max: Duration::MAX, ..rfc() });
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), ms(64_000));
    }

    #[test]
    fn a_stale_estimate_moves_into_the_variance() {
        let mut rtt = RttEstimator::new(RtoConfig { forget_above: Some(8), min: ms(1), ..rfc() });
        rtt.sample(ms(400));
        for _ in 0..3 {
            rtt.back_off();
        }
        assert_eq!(rtt.srtt(), Some(ms(400)));
        rtt.back_off();
        assert_eq!((rtt.srtt(), rtt.rttvar()), (None, ms(300)));
        assert_eq!(rtt.rto(), ms(16 * 1200));
        rtt.sample(ms(100));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(100)), ms(300), ms(1300)));
    }

    #[test]
    fn a_lost_syn_starts_data_at_three_seconds() {
        let mut rtt = RttEstimator::new(rfc());
        rtt.back_off();
        rtt.syn_was_lost();
        assert_eq!(rtt.rto(), ms(3000));
    }
}
