//! The wall clock of the emulator, and waiting by it.

use std::io;
use std::os::fd::BorrowedFd;
use std::time;

use multihop_core::{Duration, Instant};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};

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

    /// Waits until a descriptor is readable or the instant has come, at most 10 ms: the owner may have requests.
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

/// Other systems have a resolution of milliseconds.
#[cfg(not(target_os = "linux"))]
fn wait_for(fds: &mut [PollFd<'_>], left: Duration) -> Result<i32, Errno> {
    let millis = left.as_micros().div_ceil(1000);
    nix::poll::poll(fds, u16::try_from(millis).unwrap_or(u16::MAX))
}

/// Removes the kernel's timer slack of 50 us for this thread.
pub(crate) fn wake_on_time() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
}
