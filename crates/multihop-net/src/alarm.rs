//! The timer of a driver: millisecond resolution by tokio, or a kernel timer for pacing.

use std::io;
use std::pin::Pin;

use tokio::time::{self, Instant, Sleep};

/// Wakes a driver at its next deadline or earlier: it is not set again each time that a deadline moves.
#[derive(Debug)]
pub(crate) struct Alarm {
    at: Option<Instant>,
    bell: Bell,
}

#[derive(Debug)]
enum Bell {
    /// Millisecond resolution: tokio's timer.
    Coarse(Pin<Box<Sleep>>),
    /// Some tens of microseconds: gaps between paced packets may be only a few milliseconds long.
    #[cfg(target_os = "linux")]
    Fine(fine::KernelTimer),
}

impl Alarm {
    /// An alarm that is not set. A fine one uses a descriptor, on Linux.
    pub(crate) fn new(fine: bool) -> io::Result<Self> {
        let bell = match fine {
            #[cfg(target_os = "linux")]
            true => Bell::Fine(fine::KernelTimer::new()?),
            _ => Bell::Coarse(Box::pin(time::sleep(time::Duration::ZERO))),
        };
        Ok(Self { at: None, bell })
    }

    /// Expires at `at` or earlier.
    pub(crate) fn set(&mut self, at: Option<Instant>) -> io::Result<()> {
        let Some(at) = at.filter(|at| self.at.is_none_or(|set| *at < set)) else { return Ok(()) };
        self.at = Some(at);
        match &mut self.bell {
            Bell::Coarse(sleep) => sleep.as_mut().reset(at),
            #[cfg(target_os = "linux")]
            Bell::Fine(bell) => bell.set(at)?,
        }
        Ok(())
    }

    /// Waits until it expires; forever if it is not set.
    pub(crate) async fn ring(&mut self) {
        if self.at.is_none() {
            return std::future::pending().await;
        }
        match &mut self.bell {
            Bell::Coarse(sleep) => sleep.as_mut().await,
            #[cfg(target_os = "linux")]
            Bell::Fine(bell) => bell.ring().await,
        }
        self.at = None;
    }
}

#[cfg(target_os = "linux")]
mod fine {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, RawFd};

    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tokio::time::{Duration, Instant};

    /// A timer of the kernel.
    #[derive(Debug)]
    pub(super) struct KernelTimer(AsyncFd<Descriptor>);

    #[derive(Debug)]
    struct Descriptor(TimerFd);

    impl AsRawFd for Descriptor {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_fd().as_raw_fd()
        }
    }

    impl KernelTimer {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = Descriptor(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?);
            #[expect(
                deprecated,
                reason = "the timer keeps its descriptor for its whole life, and the successor of this function is unsafe"
            )]
            Ok(Self(AsyncFd::with_interest(timer, Interest::READABLE)?))
        }

        /// Sets the timer; an expiry that was not read yet is cleared.
        pub(super) fn set(&self, at: Instant) -> io::Result<()> {
            // Zero would disarm the timer.
            let wait = at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
            let once = Expiration::OneShot(TimeSpec::from_duration(wait));
            Ok(self.0.get_ref().0.set(once, TimerSetTimeFlags::empty())?)
        }

        pub(super) async fn ring(&self) {
            // An error means that the runtime is shutting down.
            if let Ok(mut ready) = self.0.readable().await {
                ready.clear_ready();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_alarm_rings_once_at_the_earliest_time_set() {
        for fine in [false, true] {
            let mut alarm = Alarm::new(fine).unwrap();
            let begun = Instant::now();
            let earliest = Duration::from_millis(30);
            for wait in [Duration::from_secs(1000), earliest, 2 * earliest] {
                alarm.set(Some(begun + wait)).unwrap();
            }
            alarm.set(None).unwrap();
            time::timeout(Duration::from_secs(60), alarm.ring()).await.expect("not at the latest time set");
            assert!(begun.elapsed() >= earliest);
            let again = time::timeout(Duration::from_millis(60), alarm.ring()).await;
            assert!(again.is_err(), "it expires again");
            alarm.set(Some(begun)).unwrap();
            alarm.ring().await;
        }
    }
}
