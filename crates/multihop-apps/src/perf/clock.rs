//! Wall-clock time and CPU time of one end of a flow.

use std::time::Duration;

use multihop_net::Stats;
use nix::sys::resource::{UsageWho, getrusage};
use tokio::time::Instant;

use super::EndTotals;

/// Clock of one end, started by the first data.
pub(super) struct Clock {
    begin: Option<Instant>,
    end: Option<Duration>,
    cpu: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { begin: None, end: None, cpu: cpu() }
    }

    /// Starts the clock, at the first data.
    pub(super) fn begin(&mut self) {
        self.begin.get_or_insert_with(Instant::now);
    }

    /// Stops the clock, at the last data.
    pub(super) fn stop(&mut self) {
        self.end = Some(self.elapsed());
    }

    /// Time since the first data.
    pub(super) fn elapsed(&self) -> Duration {
        self.begin.map(|begin| begin.elapsed()).unwrap_or_default()
    }

    /// Time from the first data until the clock was stopped, or until now.
    pub(super) fn time(&self) -> Duration {
        self.end.unwrap_or_else(|| self.elapsed())
    }

    /// CPU time of this process since the start.
    pub(super) fn cpu(&self) -> Duration {
        cpu().saturating_sub(self.cpu)
    }

    pub(super) fn tally(&self, stats: &Stats, bytes: u64) -> EndTotals {
        EndTotals::of(stats, bytes, self.time(), self.cpu())
    }
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    let Ok(used) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::ZERO };
    let sum = [used.user_time(), used.system_time()].map(|time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
    });
    sum.into_iter().sum()
}
