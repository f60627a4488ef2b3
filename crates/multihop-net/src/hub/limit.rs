//! What a listener does not take on, and one line in the log when it does not.

use std::net::{IpAddr, SocketAddr};

use multihop_core::{Duration, Instant};

/// What there can be too much of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Limit {
    Connections,
    Memory,
    HalfOpen,
    HalfOpenHere,
    Backlog,
    Handshakes,
}

/// So many in a second, and as many at once after a pause.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    each: Duration,
    most: Duration,
    /// Until when those that have come would take, one after the other.
    until: Instant,
}

/// When each limit was last complained about, and how often it was hit since.
#[derive(Debug, Default)]
pub(super) struct Warnings([(Option<Instant>, u64); 6]);

impl Limit {
    const fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Memory => "bytes that the buffers of all connections may come to hold",
            Self::HalfOpen => "connections that are not established yet",
            Self::HalfOpenHere => "connections of one address that are not established yet",
            Self::Backlog => "connections that wait to be accepted",
            Self::Handshakes => "handshakes in a second",
        }
    }
}

impl Rate {
    pub(super) fn new(in_a_second: usize) -> Self {
        let second = Duration::from_secs(1);
        let n = u64::try_from(in_a_second).unwrap_or(u64::MAX).max(1);
        Self { each: Duration::from_nanos(second.as_nanos() / n), most: second, until: Instant::ZERO }
    }

    /// Counts one more, if that is not too many.
    pub(super) fn is_spent(&mut self, now: Instant) -> bool {
        let until = self.until.max(now) + self.each;
        let is_spent = until.saturating_since(now) > self.most;
        if !is_spent {
            self.until = until;
        }
        is_spent
    }
}

impl Warnings {
    /// Writes one line to the log, unless there has just been one; returns whether it did.
    pub(super) fn warn(&mut self, now: Instant, limit: Limit, most: usize) -> bool {
        let (last, hits) = &mut self.0[limit as usize];
        *hits += 1;
        let is_due = last.is_none_or(|last| now >= last + PAUSE);
        if is_due {
            tracing::warn!(most, hits = *hits, "limit reached, strangers are not heard: {}", limit.name());
            (*last, *hits) = (Some(now), 0);
        }
        is_due
    }
}

/// What counts as one address: with IPv6 the 64 bits of which a host has all the rest.
pub(super) fn place(address: SocketAddr) -> u128 {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits() >> 64 << 64,
    }
}

/// Between two lines about the same limit.
const PAUSE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_so_many_in_a_second() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut rate = Rate::new(100);
        let mut taken = |ms| (0..1000).filter(|_| !rate.is_spent(at(ms))).count();
        assert_eq!((taken(5000), taken(5000), taken(5500), taken(5510)), (100, 0, 50, 1));
        assert_eq!(taken(9000), 100);
    }

    #[test]
    fn a_host_with_many_addresses_is_one_place() {
        let same = |one: &str, other: &str| place(one.parse().unwrap()) == place(other.parse().unwrap());
        assert!(same("10.0.0.1:1", "10.0.0.1:2") && same("10.0.0.1:1", "[::ffff:10.0.0.1]:1"));
        assert!(same("[2001:db8::1]:1", "[2001:db8::ffff:ffff:ffff:ffff]:1"));
        assert!(!same("10.0.0.1:1", "10.0.0.2:1") && !same("[2001:db8::1]:1", "[2001:db8:0:1::1]:1"));
    }

    #[test]
    fn one_line_for_each_limit_and_ten_seconds() {
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
