//! Processes of programs in virtual time, as the machine's kernel knows them.
#![expect(unsafe_code, reason = "nix has no pidfd_open")]

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use multihop_core::{Instant, NodeId};
use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A process that has connected, or that will.
pub(super) struct Process {
    pub(super) node: NodeId,
    /// Process number on this machine.
    pub(super) pid: i32,
    /// Process number inside of the emulation; 0 before the process has connected.
    pub(super) inner: i32,
    pub(super) parent: i32,
    /// Readable once the process has ended.
    ending: Option<OwnedFd>,
    /// When the process receives SIGALRM.
    pub(super) alarm: Option<Instant>,
    /// Whether the process becomes another program, which has not connected yet.
    pub(super) is_expected: bool,
    pub(super) is_frozen: bool,
    /// Newest command line of the process, for messages.
    name: String,
}

impl Process {
    pub(super) fn new(node: NodeId, pid: i32) -> Self {
        let ending = pidfd_open(pid).ok();
        Self {
            node,
            pid,
            inner: 0,
            parent: 0,
            ending,
            alarm: None,
            is_expected: true,
            is_frozen: false,
            name: String::new(),
        }
    }

    /// Waits for the end of the process, at most `ms` milliseconds; returns whether it has ended.
    pub(super) fn has_ended(&self, ms: u8) -> bool {
        let Some(ending) = &self.ending else { return true };
        let mut polled = [PollFd::new(ending.as_fd(), PollFlags::POLLIN)];
        matches!(poll(&mut polled, PollTimeout::from(ms)), Ok(1))
    }

    /// Whether the process has loaded the library, or is ending.
    pub(super) fn has_library(&self) -> bool {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        maps.is_empty() || maps.contains(super::LIBRARY)
    }

    /// Names a process whose command line has not been read yet.
    pub(super) fn set_first_name(&mut self, name: String) {
        self.note_name();
        if self.name.is_empty() {
            self.name = name;
        }
    }

    /// Reads the command line of the process; a process that has ended keeps the last one.
    pub(super) fn note_name(&mut self) {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        let name = words.join(" ").trim().to_owned();
        if !name.is_empty() {
            self.name = name;
        }
    }

    /// Command line of the process, for messages.
    pub(super) fn name(&mut self) -> &str {
        self.note_name();
        &self.name
    }
}

/// Number on this machine of the process of a descriptor; `None` once nothing is left of the process.
pub(super) fn pid_of(descriptor: &OwnedFd) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
}

fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open has no pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let descriptor = i32::try_from(descriptor).map_err(|_| Errno::EBADF)?;
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made the descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
