//! Round-trip time and retransmission timeout (§3.4): as in TCP, but it adapts quickly to a new route.

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};

use crate::settings::{TIMEOUT, check_rto};

/// Every constant of the retransmission timer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct RtoConfig {
    /// Number of round-trip times in a row, all longer or all shorter than usual, that mean a route change (`th_RC`).
    #[key(1..=255)]
    pub th_rc: u8,
    /// Number of round-trip times that weigh more after a change of route (`n_RC`).
    #[key(0..=255)]
    pub n_rc: u8,
    /// Weight of a round-trip time in the mean.
    ///
    /// In thousandths.
    #[key(0.001..=1.0, thousandths)]
    pub g: u16,
    /// Weight of a round-trip time's distance from the mean in the deviation.
    ///
    /// In thousandths.
    #[key(0.001..=1.0, thousandths)]
    pub h: u16,
    /// Value of g after a change of route.
    ///
    /// In thousandths.
    #[key(0.001..=1.0, thousandths)]
    pub g1: u16,
    /// Value of h after a change of route.
    ///
    /// In thousandths.
    #[key(0.001..=1.0, thousandths)]
    pub h1: u16,
    /// Retransmission timeout before the first sample, s.
    #[key(TIMEOUT, name = "rto_initial")]
    pub initial: Duration,
    /// Shortest retransmission timeout before backoff, s.
    #[key(TIMEOUT, name = "rto_min")]
    pub min: Duration,
    /// Longest retransmission timeout, backoff included, s.
    #[key(TIMEOUT, name = "rto_max")]
    pub max: Duration,
    /// Longest retransmission timeout while frozen, s; off: `rto_max`.
    #[key(TIMEOUT, name = "freeze_rto_max", off)]
    pub freeze_max: Option<Duration>,
    /// Whether the longest time for which the peer may hold an ACK is added to the timeout, and left out of its samples.
    ///
    /// Otherwise samples contain it as it comes (§3.4).
    #[key(name = "rto_covers_hold")]
    pub covers_hold: bool,
    /// Whether round trips of the handshake and of segments shorter than half of mss are samples as any other from the start;
    /// otherwise the timeout is nine times as long until the first of a longer one.
    ///
    /// Otherwise the newest one counts until the first sample of a long segment, with twice its length as the deviation: long
    /// segments take several times as long over a radio, and wait for others of their window.
    #[key(name = "rto_short_samples")]
    pub short_samples: bool,
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
    /// Smoothed round-trip time (`ERTT`).
    mean: Option<Duration>,
    /// Smoothed deviation of the samples (`DEV`).
    deviation: Duration,
    /// Whether both are from short segments alone.
    provisional: bool,
    backoff: u32,
    /// Longest time for which the peer may delay an ACK.
    hold: Duration,
    /// Number of successive samples that exceed the mean by more than the deviation (`late`), or fall short
    /// of it by more (`early`).
    late: u8,
    early: u8,
    /// Number of further samples that have a larger weight.
    quick: u8,
    route_changes: u64,
    latest: Option<Duration>,
    samples: u64,
}

impl RttEstimator {
    /// Creates an estimator without samples.
    pub const fn new(config: RtoConfig) -> Self {
        Self {
            config,
            mean: None,
            deviation: Duration::ZERO,
            provisional: false,
            backoff: 1,
            hold: Duration::ZERO,
            late: 0,
            early: 0,
            quick: 0,
            route_changes: 0,
            latest: None,
            samples: 0,
        }
    }

    /// Records the round-trip time of a short segment.
    pub fn short_sample(&mut self, rtt: Duration) {
        let is_first = self.mean.is_none() || self.provisional;
        self.sample(rtt);
        if is_first && !self.config.short_samples {
            self.deviation = rtt.saturating_mul(2);
            self.provisional = true;
        }
    }

    /// Records a round-trip sample. Ends the backoff.
    pub fn sample(&mut self, rtt: Duration) {
        self.latest = Some(rtt);
        self.samples += 1;
        self.backoff = 1;
        let Some(mean) = self.mean.filter(|_| !self.provisional) else {
            (self.mean, self.deviation) = (Some(rtt), rtt / 2);
            self.provisional = false;
            return;
        };
        self.watch_route(rtt, mean);
        let RtoConfig { g, h, g1, h1, .. } = self.config;
        let (g, h) = if self.quick > 0 { (g1, h1) } else { (g, h) };
        self.quick = self.quick.saturating_sub(1);
        let mean = weighted(mean, rtt, g);
        // §3.4: the deviation counts from the mean that includes the sample.
        self.deviation = weighted(self.deviation, mean.max(rtt) - mean.min(rtt), h);
        self.mean = Some(mean);
    }

    /// Whether no long segment has been measured yet and short ones do not count.
    pub const fn is_provisional(&self) -> bool {
        self.provisional
    }

    /// Sets how long the peer may delay an ACK.
    pub fn set_hold(&mut self, hold: Duration) {
        self.hold = hold;
    }

    /// Prepares the estimate for a route that was restored after a failure and may be another one.
    pub fn expect_new_route(&mut self) {
        self.quick = self.config.n_rc;
    }

    /// Prepares the timeout for a sender that leaves the freeze state. The route may be new. The backoff
    /// remains until the next sample, but is limited to the bound of a frozen sender. Otherwise a short
    /// outage soon after a long one would be noticed only after the longest timeout.
    pub fn end_freeze(&mut self) {
        while self.backoff > 1 && self.rto() > self.freeze_rto() {
            self.backoff /= 2;
        }
        self.expect_new_route();
    }

    /// Doubles the timeout after an unanswered transmission of a congested or frozen sender.
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_mul(2);
    }

    /// The retransmission timeout, backoff included; never zero.
    pub fn rto(&self) -> Duration {
        let hold = if self.config.covers_hold { self.hold } else { Duration::ZERO };
        let spread = self.deviation.saturating_mul(4) + hold;
        let base = self.mean.map_or(self.config.initial, |mean| mean + spread);
        let rto = base.max(self.config.min).saturating_mul(u64::from(self.backoff));
        rto.min(self.config.max).max(FLOOR)
    }

    /// The retransmission timeout while the sender is frozen, backoff included; never zero.
    pub fn freeze_rto(&self) -> Duration {
        self.rto().min(self.config.freeze_max.unwrap_or(Duration::MAX)).max(FLOOR)
    }

    /// The smoothed round-trip time (`ERTT`).
    pub const fn srtt(&self) -> Option<Duration> {
        self.mean
    }

    /// The smoothed deviation of the round-trip time (`DEV`).
    pub const fn rttvar(&self) -> Duration {
        self.deviation
    }

    /// The newest sample, to the nanosecond.
    pub const fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Number of samples so far.
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// Route changes detected by samples.
    pub const fn route_changes(&self) -> u64 {
        self.route_changes
    }

    fn watch_route(&mut self, rtt: Duration, mean: Duration) {
        let late = rtt > mean + self.deviation;
        let early = rtt < mean.saturating_sub(self.deviation);
        self.late = if late { self.late.saturating_add(1) } else { 0 };
        self.early = if early { self.early.saturating_add(1) } else { 0 };
        if self.late.max(self.early) >= self.config.th_rc.max(1) {
            (self.late, self.early) = (0, 0);
            self.quick = self.config.n_rc;
            self.route_changes += 1;
        }
    }
}

/// Weighted mean: `new` has this weight in thousandths, `old` the rest.
fn weighted(old: Duration, new: Duration, weight: u16) -> Duration {
    let part = |distance: Duration| distance.saturating_mul(u64::from(weight.min(1000))) / 1000;
    if new >= old { old + part(new - old) } else { old - part(old - new) }
}

/// Shortest timeout: a timer of zero would expire endlessly at one instant.
const FLOOR: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn estimator() -> RttEstimator {
        let config = super::super::Config::paper().rto;
        RttEstimator::new(RtoConfig { min: ms(1), ..config })
    }

    #[test]
    fn first_and_second_sample_by_hand() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), ms(3000));
        rtt.sample(ms(200));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(200)), ms(100), ms(600)));
        // ERTT = 7/8 200 + 1/8 280 = 210; DEV = 1/4 |280 - 210| + 3/4 100 = 92.5
        rtt.sample(ms(280));
        let deviation = Duration::from_micros(92_500);
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(210)), deviation, ms(580)));
    }

    /// An estimator with a mean of 200 ms and a deviation of 7/64 of the first sample.
    fn settled() -> RttEstimator {
        let mut rtt = estimator();
        for _ in 0..30 {
            rtt.sample(ms(200));
        }
        assert!(rtt.rttvar() < ms(1));
        rtt
    }

    #[test]
    fn three_late_samples_in_a_row_weigh_more_from_the_third_on() {
        let mut rtt = settled();
        rtt.sample(ms(280));
        rtt.sample(ms(360));
        // 200 + 10; 210 + 150 / 8
        assert_eq!((rtt.srtt(), rtt.route_changes()), (Some(Duration::from_micros(228_750)), 0));
        let before = rtt.srtt().unwrap();
        rtt.sample(ms(900));
        assert_eq!(rtt.route_changes(), 1);
        assert_eq!(rtt.srtt(), Some(before + (ms(900) - before) / 4));
        for weight in [4, 4, 8] {
            let before = rtt.srtt().unwrap();
            rtt.sample(before + ms(64));
            (rtt.late, rtt.early) = (0, 0);
            assert_eq!(rtt.srtt(), Some(before + ms(64) / weight));
        }
    }

    #[test]
    fn other_weights_by_hand() {
        let mut rtt = estimator();
        (rtt.config.g, rtt.config.h) = (500, 750);
        rtt.sample(ms(200));
        rtt.sample(ms(280));
        // ERTT = 1/2 200 + 1/2 280; DEV = 3/4 |280 - 240| + 1/4 100
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(240)), ms(55)));
        (rtt.config.g1, rtt.config.h1) = (250, 0);
        rtt.expect_new_route();
        rtt.sample(ms(280));
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(250)), ms(55)));
    }

    #[test]
    fn late_and_early_in_turn_are_no_change_of_route() {
        let mut rtt = settled();
        for _ in 0..10 {
            rtt.sample(ms(280));
            rtt.sample(ms(280));
            rtt.sample(ms(100));
        }
        assert_eq!(rtt.route_changes(), 0);
    }

    #[test]
    fn three_early_samples_in_a_row_are_a_change_of_route() {
        let mut rtt = settled();
        (0..3).for_each(|_| rtt.sample(ms(50)));
        assert_eq!(rtt.route_changes(), 1);
    }

    #[test]
    fn a_route_that_is_back_makes_the_next_three_samples_weigh_more() {
        let mut rtt = settled();
        rtt.expect_new_route();
        for weight in [4, 4, 4, 8] {
            let before = rtt.srtt().unwrap();
            rtt.sample(before + ms(80));
            (rtt.late, rtt.early) = (0, 0);
            assert_eq!(rtt.srtt(), Some(before + ms(80) / weight));
        }
    }

    #[test]
    fn back_off_lasts_until_the_next_sample_and_has_limits() {
        let mut rtt = settled();
        let base = rtt.rto();
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), base * 4);
        (0..40).for_each(|_| rtt.back_off());
        assert_eq!((rtt.rto(), rtt.freeze_rto()), (ms(60_000), ms(60_000)));
        rtt.sample(ms(200));
        assert!(rtt.rto() <= base);
        let net = RttEstimator::new(super::super::Config::net().rto);
        assert_eq!((net.rto(), net.freeze_rto()), (ms(3000), ms(1000)));
    }

    #[test]
    fn short_segments_give_way_to_the_first_long_one() {
        let mut rtt = RttEstimator::new(RtoConfig { short_samples: false, ..estimator().config });
        for trip in [10, 20] {
            rtt.short_sample(ms(trip));
            assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(trip)), ms(9 * trip)));
        }
        rtt.sample(ms(80));
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(80)), ms(40)));
        rtt.short_sample(ms(16));
        assert_eq!(rtt.srtt(), Some(ms(72)));
        let mut rtt = estimator();
        rtt.short_sample(ms(10));
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(10)), ms(30)));
    }

    #[test]
    fn after_a_freeze_the_backoff_keeps_to_its_bound() {
        let mut rtt = RttEstimator::new(super::super::Config::net().rto);
        rtt.sample(ms(30));
        let base = rtt.rto();
        (0..10).for_each(|_| rtt.back_off());
        assert_eq!((rtt.rto(), rtt.freeze_rto()), (ms(10_000), ms(1000)));
        rtt.end_freeze();
        assert_eq!(rtt.rto(), base * 8);
    }

    #[test]
    fn the_timeout_can_cover_the_time_that_an_ack_may_be_held() {
        let mut rtt = settled();
        let alone = rtt.rto();
        rtt.set_hold(ms(100));
        assert_eq!(rtt.rto(), alone);
        rtt.config.covers_hold = true;
        assert_eq!(rtt.rto(), alone + ms(100));
        let mut rtt = estimator();
        rtt.config.covers_hold = true;
        rtt.set_hold(ms(100));
        assert_eq!(rtt.rto(), ms(3000));
    }

    #[test]
    fn bounds_hold() {
        let mut rtt = RttEstimator::new(super::super::Config::paper().rto);
        rtt.sample(ms(10));
        assert_eq!(rtt.rto(), ms(200));
        rtt.sample(Duration::MAX);
        rtt.sample(Duration::ZERO);
        assert_eq!(rtt.rto(), ms(60_000));
    }
}
