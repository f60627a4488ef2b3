use std::io;
use std::os::fd::BorrowedFd;
use std::time;

use multihop_core::{Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};

/// The wall clock, from when it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(time::Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(time::Instant::now())
    }

    pub(crate) fn now(self) -> Instant {
        Instant::ZERO + Duration::from(self.0.elapsed())
    }

    /// Waits until something can be read, the instant has come, or 10 ms are over: then there may be orders.
    pub(crate) fn wait(self, readable: &[BorrowedFd<'_>], until: Option<Instant>) -> io::Result<()> {
        const LONGEST: Duration = Duration::from_millis(10);
        let left = until.map_or(LONGEST, |at| at.saturating_since(self.now()).min(LONGEST));
        let mut fds: Vec<_> = readable.iter().map(|&fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match wait_for(&mut fds, left) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(target_os = "linux")]
fn wait_for(fds: &mut [PollFd<'_>], left: Duration) -> Result<i32, Errno> {
    nix::poll::ppoll(fds, Some(time::Duration::from(left).into()), None)
}

/// Elsewhere a link is as exact as milliseconds allow.
#[cfg(not(target_os = "linux"))]
fn wait_for(fds: &mut [PollFd<'_>], left: Duration) -> Result<i32, Errno> {
    let millis = left.as_micros().div_ceil(1000);
    nix::poll::poll(fds, u16::try_from(millis).unwrap_or(u16::MAX))
}

/// Lets the kernel wake this thread when it asked for it, not up to 50 us later.
pub(crate) fn wake_on_time() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
}
