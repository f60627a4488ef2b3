//! A program gives up what it does not need after its start: rights of root, files, kinds of sockets, system calls.
//!
//! [`Sandbox::prepare`] takes what the program needs. [`Sandbox::enter`] confines the calling thread, and with it all
//! threads that it starts later. On Linux four mechanisms are used, each where the kernel has it:
//!
//! * **Capabilities**: all sets keep only [`Needs::rights`].
//! * **`no_new_privs`**: no program that is started can gain rights.
//! * **Landlock**: files are read and written only beneath the given paths; programs are not executed; without
//!   [`Needs::tcp`] no TCP connection begins; no signal reaches other programs.
//! * **seccomp**: a list of system calls that no command needs fails with EPERM (`Operation not permitted`).
//!
//! The list names what is denied and not what is allowed. A list of allowed calls fails whenever a C library, the runtime
//! or the kernel begins to use another call, on a router long after it was tested. The calls that lead out of a
//! process are few and known. A denied call returns an error and does not end the process, because a library that
//! only probes for a call then goes on, and an attacker cannot end a daemon by it.
//!
//! ```
//! use std::net::UdpSocket;
//! use multihop_sandbox::{Needs, Sandbox};
//!
//! let sandbox = Sandbox::prepare(Needs { internet: true, ..Needs::default() })?;
//! let confined = std::thread::spawn(move || {
//!     sandbox.enter()?;
//!     UdpSocket::bind("127.0.0.1:0")
//! });
//! assert!(confined.join().unwrap().is_ok(), "sockets are needed, and thus allowed");
//! # std::io::Result::Ok(())
//! ```
//!
//! A sandbox does not limit memory, processor time or the hosts that a program reaches. Threads that run already are
//! not confined. On other systems than Linux, entering a sandbox changes nothing.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod calls;
#[cfg(all(
    target_os = "linux",
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))
))]
#[path = "no_calls.rs"]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod rights;

use std::io;
use std::path::PathBuf;

/// Rights, files and sockets that a program needs after its start.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Root's capabilities that the program keeps, as far as it has them.
    pub rights: Vec<Right>,
    /// User as which the command continues.
    pub user: Option<String>,
    /// Files that the program reads, and folders beneath which it reads. A path that does not exist is ignored.
    pub read: Vec<PathBuf>,
    /// Files that the program reads and writes, and folders beneath which it does so.
    pub write: Vec<PathBuf>,
    /// Whether it resolves names, which reads `/etc` and `/run` and asks other programs of this host.
    pub names: bool,
    /// Whether the program makes TCP connections, or listens for them at further ports.
    pub tcp: bool,
    /// Whether the command opens UDP, TCP or netlink sockets.
    pub internet: bool,
    /// Whether it changes interfaces and kernel parameters of the network (`/proc/sys/net`). C libraries find the number of
    /// an interface by a Unix socket.
    pub interfaces: bool,
    /// Whether the command connects to Unix sockets with abstract names.
    pub abstract_sockets: bool,
}

/// A right of root, a capability of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// CAP_NET_ADMIN: routes, interfaces and parameters of the network.
    NetAdmin,
    /// CAP_NET_BIND_SERVICE: ports below 1024.
    NetBindService,
    /// CAP_NET_RAW, before Linux 5.17 CAP_NET_ADMIN: marks on sockets. Raw sockets stay denied.
    Marks,
    /// CAP_DAC_OVERRIDE and CAP_FOWNER: files of other users are written and changed.
    FilesOfOthers,
    /// CAP_DAC_READ_SEARCH: files of other users are read.
    ReadFilesOfOthers,
}

/// Restrictions that threads can enter.
#[derive(Debug)]
pub struct Sandbox {
    #[cfg(target_os = "linux")]
    needs: Needs,
    #[cfg(target_os = "linux")]
    filters: Vec<calls::Program>,
}

impl Sandbox {
    /// Prepares the restrictions for a program with these needs.
    pub fn prepare(needs: Needs) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        return Ok(Self { filters: calls::filters(&needs)?, needs });
        #[cfg(not(target_os = "linux"))]
        {
            let _ = needs;
            Ok(Self {})
        }
    }

    /// Confines the calling thread, and all threads that it will start. There is no way back.
    ///
    /// Threads that run already keep what they have. A thread may enter at most 16 sandboxes.
    pub fn enter(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            rights::keep(&self.needs)?;
            files::restrict(&self.needs)?;
            calls::deny(&self.filters)?;
        }
        Ok(())
    }
}
