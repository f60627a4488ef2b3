//! Backoff counter of a station, and the instant at which it ends.

use multihop_core::{Duration, Instant};

/// Number of slots to wait while the medium is idle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Backoff {
    /// The station has no backoff.
    Idle,
    /// The backoff is suspended because the medium is busy.
    Paused { slots: u32 },
    /// The backoff counts slots from `from` on, the end of the interframe space.
    Running { slots: u32, from: Instant },
}

impl Backoff {
    pub(super) fn is_idle(self) -> bool {
        matches!(self, Self::Idle)
    }

    pub(super) fn is_paused(self) -> bool {
        matches!(self, Self::Paused { .. })
    }

    pub(super) fn is_running(self) -> bool {
        matches!(self, Self::Running { .. })
    }

    /// Instant at which the backoff ends if nothing interrupts it.
    pub(super) fn expires(self, slot: Duration) -> Instant {
        match self {
            Self::Running { slots, from } => from + slot * u64::from(slots),
            Self::Idle | Self::Paused { .. } => Instant::FAR_FUTURE,
        }
    }

    /// Suspends the backoff because the medium turned busy. Only complete slots count as waited.
    pub(super) fn pause(&mut self, now: Instant, slot: Duration) {
        if let Self::Running { slots, from } = *self {
            let elapsed = now.saturating_since(from).whole(slot);
            let elapsed = u32::try_from(elapsed).unwrap_or(u32::MAX);
            *self = Self::Paused { slots: slots.saturating_sub(elapsed) };
        }
    }

    /// Suspends the backoff because the medium turned busy. Slots that have begun count as waited.
    pub(super) fn pause_begun(&mut self, now: Instant, slot: Duration) {
        if let Self::Running { slots, from } = *self {
            let begun = if now < from { 0 } else { 1 + now.saturating_since(from).whole(slot) };
            let begun = u32::try_from(begun).unwrap_or(u32::MAX);
            *self = Self::Paused { slots: slots.saturating_sub(begun) };
        }
    }

    /// Resumes the backoff on an idle medium: slots count from `from` on.
    pub(super) fn resume(&mut self, from: Instant) {
        if let Self::Paused { slots } = *self {
            *self = Self::Running { slots, from };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: Duration = Duration::from_micros(20);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn only_whole_slots_count() {
        let mut b = Backoff::Paused { slots: 5 };
        b.resume(at(50));
        assert_eq!(b.expires(SLOT), at(150));
        b.pause(at(99), SLOT);
        assert_eq!(b, Backoff::Paused { slots: 3 });
        b.resume(at(200));
        b.pause(at(190), SLOT);
        assert_eq!(b, Backoff::Paused { slots: 3 }, "the interframe space does not count as a slot");
    }
}
