//! One-time event for which threads wait in blocking calls that signals can interrupt.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// Opens once; its descriptor is then readable. A thread that waits reads from a socket, so that a signal handler ends the wait with EINTR, or with
/// `SA_RESTART` does not: as in calls of sockets, and unlike condition variables and `poll` (signal(7)).
#[derive(Debug)]
pub struct Gate {
    waited: UnixStream,
    opened: UnixStream,
}

impl Gate {
    /// Creates a closed gate.
    pub fn new() -> io::Result<Self> {
        let (waited, opened) = UnixStream::pair()?;
        Ok(Self { waited, opened })
    }

    /// Wakes all threads that wait at the gate, now or later.
    pub fn open(&self) {
        // The call fails only if the other end is closed, and this process has both ends.
        let _ = self.opened.shutdown(Shutdown::Both);
    }

    /// Waits until the gate is open; the error is EINTR.
    pub fn wait(&self) -> io::Result<()> {
        (&self.waited).read(&mut [0]).map(drop)
    }
}

impl AsFd for Gate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waited.as_fd()
    }
}
