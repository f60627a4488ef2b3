//! The limits of a listener, and a warning in the log when one is reached.

use multihop_core::{Duration, Instant};

/// Limited resource of a hub, about which the log warns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Limit {
    Connections,
    Memory,
    HalfOpen,
    Backlog,
    Handshakes,
}

/// A token bucket for N events per second, and up to N at once.
#[derive(Clone, Debug)]
pub(super) struct RateLimit {
    interval: Duration,
    burst: Duration,
    /// Instant at which the token bucket is full.
    full: Instant,
}

/// Time of the last warning about each limit, and the number of times that the limit was reached since.
#[derive(Debug, Default)]
pub(super) struct Warnings([(Option<Instant>, u64); 5]);

impl Limit {
    const fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Memory => "bytes of buffers of all connections",
            Self::HalfOpen => "half-open connections",
            Self::Backlog => "connections waiting to be accepted",
            Self::Handshakes => "handshakes per second",
        }
    }
}

impl RateLimit {
    pub(super) fn new(per_second: usize) -> Self {
        let second = Duration::from_secs(1);
        let n = u64::try_from(per_second).unwrap_or(u64::MAX).max(1);
        Self { interval: Duration::from_nanos(second.as_nanos() / n), burst: second, full: Instant::ZERO }
    }

    /// Instant at which the token bucket contains a token again.
    pub(super) fn next(&self) -> Instant {
        Instant::ZERO + (self.full + self.interval).saturating_since(Instant::ZERO + self.burst)
    }

    /// Takes one token from the bucket; returns true if none was left.
    pub(super) fn is_exceeded(&mut self, now: Instant) -> bool {
        let full = self.full.max(now) + self.interval;
        let is_exceeded = full.saturating_since(now) > self.burst;
        if !is_exceeded {
            self.full = full;
        }
        is_exceeded
    }
}

impl Warnings {
    /// Logs a warning unless there was one recently; returns whether it did.
    pub(super) fn warn(&mut self, now: Instant, limit: Limit, most: usize) -> bool {
        let (last, hits) = &mut self.0[limit as usize];
        *hits += 1;
        let is_due = last.is_none_or(|last| now >= last + PAUSE);
        if is_due {
            tracing::warn!(most, hits = *hits, "limit reached: {}", limit.name());
            (*last, *hits) = (Some(now), 0);
        }
        is_due
    }
}

/// Interval between two warnings about one limit.
const PAUSE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_a_steady_rate_are_allowed() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut rate = RateLimit::new(100);
        let mut taken = |ms| (0..1000).filter(|_| !rate.is_exceeded(at(ms))).count();
        assert_eq!((taken(5000), taken(5000), taken(5500), taken(5510)), (100, 0, 50, 1));
        assert_eq!(taken(9000), 100);
    }

    #[test]
    fn each_limit_is_logged_once_in_ten_seconds() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut warnings = Warnings::default();
        for (ms, limit, written) in [
            (0, Limit::HalfOpen, true),
            (1, Limit::HalfOpen, false),
            (1, Limit::Handshakes, true),
            (9_999, Limit::HalfOpen, false),
            (10_000, Limit::HalfOpen, true),
        ] {
            assert_eq!(warnings.warn(at(ms), limit, 20), written, "{limit:?} at {ms} ms");
        }
    }
}
