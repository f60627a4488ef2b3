//! Readers of the frames of an emulation that runs: a socket beside its description, and those that connect to it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::sys::socket::{setsockopt, sockopt};

use crate::enter::{self, Description};
use crate::{EmulateError, Tried};

/// Accepts programs that read live captures, over a socket.
pub(crate) struct Readers {
    listener: UnixListener,
    path: PathBuf,
}

impl Readers {
    /// Creates the socket for readers; `None` if that fails, for example because the folder's path is too long for a
    /// socket.
    pub(crate) fn new(folder: &Path) -> Option<Self> {
        let path = enter::readers_socket(&folder.join(format!("{}.json", std::process::id())));
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).ok()?;
        listener.set_nonblocking(true).ok()?;
        Some(Self { listener, path })
    }

    /// The next reader that has connected.
    pub(crate) fn accept(&self) -> Option<Box<dyn Write + Send>> {
        let (stream, _) = self.listener.accept().ok()?;
        // The simulated network cannot wait for a reader, so a reader that is this far behind is dropped.
        let _ = setsockopt(&stream, sockopt::SndBuf, &BEHIND);
        stream.set_nonblocking(true).ok()?;
        Some(Box::new(stream))
    }
}

impl AsFd for Readers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// This user's emulations whose frames can be read: process number and scenario.
pub fn emulations() -> Vec<(u32, String)> {
    enter::all().into_iter().map(|Description { pid, scenario, .. }| (pid, scenario)).collect()
}

/// Copies the frames of an emulation to a file (pcapng), until either ends.
pub fn read_frames(pid: u32, to: &Path) -> Result<(), EmulateError> {
    let description = enter::find(Some(pid))?;
    let path = enter::readers_socket(&enter::folder().join(format!("{}.json", description.pid)));
    let read = || format!("read the frames of the emulation with the process number {pid}");
    let mut frames = UnixStream::connect(path).tried(read)?;
    let mut out = OpenOptions::new().write(true).open(to).tried(|| format!("write {}", to.display()))?;
    match io::copy(&mut frames, &mut out) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).tried(read),
        _ => Ok(()),
    }
}

/// Number of bytes that a reader may be behind before it is dropped.
const BEHIND: usize = 4 << 20;
