//! The wall clock of the emulator, and waiting by it.

use std::io;
use std::os::fd::BorrowedFd;
use std::time;

use multihop_core::{Duration, Instant};
use multihop_linux::wait;

/// The wall clock since its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock(time::Instant);

impl WallClock {
    pub(crate) fn start() -> Self {
        Self(time::Instant::now())
    }

    pub(crate) fn now(self) -> Instant {
        Instant::ZERO + Duration::from(self.0.elapsed())
    }

    /// Waits until a descriptor is readable or the instant has come, but at most 10 ms, because the owner may
    /// have requests.
    pub(crate) fn wait(self, readable: &[BorrowedFd<'_>], until: Option<Instant>) -> io::Result<()> {
        const LONGEST: Duration = Duration::from_millis(10);
        let left = until.map_or(LONGEST, |at| at.saturating_since(self.now()).min(LONGEST));
        wait::readable(readable, Some(left.into())).map(drop)
    }
}
