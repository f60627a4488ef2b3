//! Network namespaces without names.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{self, Child, Command};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use super::interface::{self, InterfaceSettings};

/// An unnamed network namespace, held by a file: it ends with this value and the programs in it.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// Creates a namespace with its loopback interface up. Needs the right to do so, see [`gain_rights`].
    ///
    /// [`gain_rights`]: super::gain_rights
    pub fn new() -> io::Result<Self> {
        let make = || -> io::Result<Self> {
            unshare(CloneFlags::CLONE_NEWNET)?;
            interface::set_up("lo", InterfaceSettings::default())?;
            Self::current()
        };
        thread::scope(|scope| scope.spawn(make).join()).expect("creating a namespace does not panic")
    }

    /// The namespace of this thread.
    pub fn current() -> io::Result<Self> {
        Ok(Self(File::open("/proc/thread-self/ns/net")?))
    }

    /// Moves the calling thread into the namespace.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }

    /// Calls a function on a thread in this namespace: sockets that it opens belong to it.
    pub fn run<T: Send>(&self, function: impl FnOnce() -> T + Send) -> io::Result<T> {
        let inside = || -> io::Result<T> {
            self.enter()?;
            Ok(function())
        };
        match thread::scope(|scope| scope.spawn(inside).join()) {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Starts a program in this namespace.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.run(|| command.spawn())?
    }

    /// Runs the command `ip` with these arguments; its error output becomes the error.
    pub fn ip(&self, words: &str) -> io::Result<()> {
        let done = self.run(|| Command::new("ip").args(words.split_whitespace()).output())??;
        if done.status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&done.stderr);
        Err(io::Error::other(format!("ip {words}: {}", complaint.trim())))
    }

    /// Sets a parameter of the kernel in this namespace, such as `net/ipv4/ip_forward`.
    pub fn set(&self, parameter: &str, value: &str) -> io::Result<()> {
        self.run(|| std::fs::write(format!("/proc/sys/{parameter}"), value))?
    }

    /// Path of the namespace for other programs while this process runs.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", process::id(), self.0.as_raw_fd()).into()
    }

    /// Joins this namespace to another by a veth pair, each end with an address (`10.0.0.1/24`).
    pub fn join(&self, mine: (&str, &str), other: &Self, theirs: (&str, &str)) -> io::Result<()> {
        let there = other.path();
        self.ip(&format!("link add {} type veth peer name {} netns {}", mine.0, theirs.0, there.display()))?;
        for (namespace, (name, address)) in [(self, mine), (other, theirs)] {
            namespace.ip(&format!("addr add {address} dev {name}"))?;
            namespace.ip(&format!("link set {name} up"))?;
        }
        Ok(())
    }
}
