//! Smoothed metrics, which keep routes stable (RFC 8966, A.3).

use multihop_core::{Duration, Instant};

use super::wire::INFINITY;

/// A metric, and its exponential average.
#[derive(Clone, Copy, Debug)]
pub(super) struct Smoothed {
    metric: u16,
    /// The average at an instant, in fixed point with [`FRACTION`] fractional bits.
    average: u32,
    at: Instant,
}

impl Smoothed {
    pub(super) fn new(now: Instant, metric: u16) -> Self {
        Self { metric, average: u32::from(metric) << FRACTION, at: now }
    }

    pub(super) const fn metric(&self) -> u16 {
        self.metric
    }

    /// Changes the metric, which moves the average from now on. A route that was unreachable has no past.
    pub(super) fn set(&mut self, now: Instant, metric: u16, half_life: Duration) {
        if self.metric == INFINITY {
            *self = Self::new(now, metric);
        } else if metric != self.metric {
            *self = Self { metric, average: self.average(now, half_life), at: now };
        }
    }

    /// The average at an instant: half of its difference to the metric remains after each half-life.
    pub(super) fn average(&self, now: Instant, half_life: Duration) -> u32 {
        let target = u32::from(self.metric) << FRACTION;
        let left = share_left(now.saturating_since(self.at), half_life);
        let rest = (u64::from(self.average.abs_diff(target)) * left) >> ONE_BITS;
        let rest = u32::try_from(rest).expect("a share of 32 bits");
        if self.average > target { target + rest } else { target - rest }
    }
}

/// 2 to the power of minus the number of half-lives, in units of 1/[`ONE`].
fn share_left(time: Duration, half_life: Duration) -> u64 {
    if half_life == Duration::ZERO {
        return 0;
    }
    let whole = time.whole(half_life);
    let part = time.saturating_sub(half_life.saturating_mul(whole)).as_nanos();
    let part = u64::try_from(u128::from(part) * u128::from(ONE) / u128::from(half_life.as_nanos()))
        .expect("less than one");
    // 2^-x between 0 and 1 is 1 - 0.6724 x + 0.1724 x^2, within 0.003.
    let power = ONE - part * 6724 / 10_000 + ((part * part) >> ONE_BITS) * 1724 / 10_000;
    power.checked_shr(u32::try_from(whole).unwrap_or(u32::MAX)).unwrap_or(0)
}

/// Number of fractional bits of the average.
const FRACTION: u32 = 8;
const ONE_BITS: u32 = 16;
const ONE: u64 = 1 << ONE_BITS;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn half_of_a_change_is_left_after_each_half_life() {
        let half_life = Duration::from_secs(4);
        let mut smoothed = Smoothed::new(at(0), 300);
        smoothed.set(at(1000), 700, half_life);
        let average = |ms| smoothed.average(at(ms), half_life) >> FRACTION;
        assert_eq!([1000, 5000, 9000, 13_000].map(average), [300, 500, 600, 650]);
        assert!((416..=418).contains(&average(3000)), "417.2, found {}", average(3000));
        assert_eq!(average(1_000_000_000), 700);
        assert_eq!(smoothed.average(at(1000), Duration::ZERO) >> FRACTION, 700, "without smoothing");
        smoothed.set(at(5000), 100, half_life);
        assert_eq!(smoothed.average(at(9000), half_life) >> FRACTION, 300, "down from 500");
    }

    #[test]
    fn a_route_that_comes_back_has_no_past() {
        let mut smoothed = Smoothed::new(at(0), INFINITY);
        smoothed.set(at(10), 400, Duration::from_secs(4));
        assert_eq!(smoothed.average(at(10), Duration::from_secs(4)) >> FRACTION, 400);
    }
}
