//! The virtual time of an emulation: the wall clock, minus the time that was lost.

use multihop_core::{Duration, Instant};

/// A clock that starts at zero and can be set back.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    start: std::time::Instant,
    lost: Duration,
}

impl VirtualClock {
    pub(crate) fn start() -> Self {
        Self { start: std::time::Instant::now(), lost: Duration::ZERO }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + (self.elapsed() - self.lost)
    }

    /// Wall-clock time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed().into()
    }

    /// Sets the clock back: the simulated network could not keep up.
    pub(crate) fn slip(&mut self, by: Duration) {
        self.lost += by;
    }

    /// Time lost so far.
    pub(crate) fn lost(&self) -> Duration {
        self.lost
    }
}
