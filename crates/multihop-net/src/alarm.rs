//! Timer by which a driver wakes at a deadline.

use std::io;

use tokio::time::Instant;

/// Timer that wakes a driver at its next deadline or earlier. To save system calls it is not set again when a
/// deadline is postponed.
#[derive(Debug)]
pub(crate) struct Alarm {
    at: Option<Instant>,
    timer: timer::Timer,
}

impl Alarm {
    /// An alarm that is not set. It uses a descriptor, on Linux.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { at: None, timer: timer::Timer::new()? })
    }

    /// Sets the alarm, which expires at `at` or earlier.
    pub(crate) fn set(&mut self, at: Option<Instant>) -> io::Result<()> {
        let Some(at) = at.filter(|at| self.at.is_none_or(|set| *at < set)) else { return Ok(()) };
        self.at = Some(at);
        self.timer.set(at)
    }

    /// Waits until the alarm expires; for ever if it is not set.
    pub(crate) async fn ring(&mut self) {
        if self.at.is_none() {
            return std::future::pending().await;
        }
        self.timer.ring().await;
        self.at = None;
    }
}

#[cfg(not(target_os = "linux"))]
mod timer {
    use std::io;
    use std::pin::Pin;

    use tokio::time::{Duration, Instant, Sleep, sleep};

    /// A timer of tokio, with a resolution of a millisecond.
    #[derive(Debug)]
    pub(super) struct Timer(Pin<Box<Sleep>>);

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self(Box::pin(sleep(Duration::ZERO))))
        }

        pub(super) fn set(&mut self, at: Instant) -> io::Result<()> {
            self.0.as_mut().reset(at);
            Ok(())
        }

        pub(super) async fn ring(&mut self) {
            self.0.as_mut().await;
        }
    }
}

#[cfg(target_os = "linux")]
mod timer {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, RawFd};

    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tokio::time::{Duration, Instant};

    /// A timer of the kernel, with a resolution of some tens of microseconds: gaps between paced packets may be only a few
    /// milliseconds long.
    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<Descriptor>);

    #[derive(Debug)]
    struct Descriptor(TimerFd);

    impl AsRawFd for Descriptor {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_fd().as_raw_fd()
        }
    }

    impl Timer {
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
    use tokio::time::{self, Duration};

    use super::*;

    #[tokio::test]
    async fn an_alarm_rings_once_at_the_earliest_time_set() {
        let mut alarm = Alarm::new().unwrap();
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
