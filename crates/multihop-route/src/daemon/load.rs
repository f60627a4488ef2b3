//! Processor time of the daemon by kind of work, measured on the clock of its thread.

use multihop_core::Duration;
use nix::time::{ClockId, clock_gettime};

use crate::budget::Allowance;
use crate::inbox::Inbox;

/// The kinds of work, each with its share of the processor. The shares together are less than half of the
/// processor.
#[derive(Debug)]
pub(super) struct Load {
    /// Datagrams that wait for processing.
    pub(super) inbox: Inbox,
    /// Share for reading datagrams from the kernel and preparing them for their queues. It is the largest
    /// share: during a flood, all datagrams must be read to find the genuine ones.
    pub(super) reading: Allowance,
    /// Share for timers of the agent: its own messages, and entries that expire.
    pub(super) timers: Allowance,
    /// Share for computing routes and changing the kernel's routes.
    pub(super) routes: Allowance,
    /// Processor time of the thread at the last measurement.
    last: Duration,
}

impl Load {
    pub(super) fn new() -> Self {
        Self {
            inbox: Inbox::default(),
            reading: Allowance::one_in(5, MAX_SAVED),
            timers: Allowance::one_in(20, MAX_SAVED),
            routes: Allowance::one_in(20, MAX_SAVED),
            last: clock(),
        }
    }

    /// Processor time since the last measurement.
    pub(super) fn measure(&mut self) -> Duration {
        let now = clock();
        let last = std::mem::replace(&mut self.last, now);
        now.saturating_sub(last)
    }
}

/// The processor time of this thread.
fn clock() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(Duration::ZERO, |time| std::time::Duration::from(time).into())
}

/// Time for which the unused part of a share is saved.
const MAX_SAVED: Duration = Duration::from_millis(200);
