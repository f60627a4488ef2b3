//! Wake-up call for a thread that polls descriptors: any thread can make a descriptor readable.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// A descriptor that another thread or a signal handler makes readable.
#[derive(Debug)]
pub struct Doorbell {
    inside: UnixStream,
    outside: UnixStream,
}

impl Doorbell {
    /// A doorbell that has not rung.
    pub fn new() -> io::Result<Self> {
        let (inside, outside) = UnixStream::pair()?;
        inside.set_nonblocking(true)?;
        outside.set_nonblocking(true)?;
        Ok(Self { inside, outside })
    }

    /// Makes the descriptor readable.
    pub fn ring(&self) {
        // A full socket already has a wake-up pending.
        let _ = (&self.outside).write(&[1]);
    }

    /// Makes the descriptor unreadable until the next ring.
    pub fn clear(&self) {
        let mut rings = [0; 4096];
        while (&self.inside).read(&mut rings).is_ok_and(|count| count > 0) {}
    }

    /// The end that a signal handler writes to.
    pub(super) fn outside(&self) -> io::Result<UnixStream> {
        self.outside.try_clone()
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inside.as_fd()
    }
}
