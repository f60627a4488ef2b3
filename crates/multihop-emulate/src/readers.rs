//! Readers of the frames of an emulation that runs, and the socket to which they connect.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, bind, getsockopt, setsockopt, socket, sockopt,
};
use nix::sys::socket::{Backlog, listen};
use nix::unistd::geteuid;

use crate::enter::{self, Description};
use crate::{EmulateError, Tried};

/// Accepts programs of this user that read live captures, over a socket without a file.
pub(crate) struct Readers(UnixListener);

impl Readers {
    /// Creates the socket for readers; `None` if the system refuses it.
    pub(crate) fn new() -> Option<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let new = socket(AddressFamily::Unix, SockType::Stream, flags, None).ok()?;
        // The kernel gives a socket with an empty address an unused name.
        bind(new.as_raw_fd(), &UnixAddr::new_unnamed()).ok()?;
        listen(&new, Backlog::MAXCONN).ok()?;
        Some(Self(new.into()))
    }

    /// Name of the socket.
    pub(crate) fn name(&self) -> Option<String> {
        let address = self.0.local_addr().ok()?;
        Some(String::from_utf8_lossy(address.as_abstract_name()?).into_owned())
    }

    /// The next reader that has connected. Readers of other users are closed.
    pub(crate) fn accept(&self) -> Option<Box<dyn Write + Send>> {
        loop {
            let (stream, _) = self.0.accept().ok()?;
            if !is_own(&stream) {
                continue;
            }
            // The simulated network cannot wait for a reader, so a reader that is this far behind is dropped.
            let _ = setsockopt(&stream, sockopt::SndBuf, &BEHIND);
            stream.set_nonblocking(true).ok()?;
            return Some(Box::new(stream));
        }
    }
}

impl AsFd for Readers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether the process at the other end belongs to this user.
fn is_own(stream: &UnixStream) -> bool {
    getsockopt(stream, sockopt::PeerCredentials).is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}

/// This user's emulations whose frames can be read: process number and scenario.
pub fn emulations() -> Vec<(u32, String)> {
    enter::all().into_iter().map(|Description { pid, scenario, .. }| (pid, scenario)).collect()
}

/// Copies the frames of an emulation to a file (pcapng), until either ends.
pub fn read_frames(pid: u32, to: &Path) -> Result<(), EmulateError> {
    let description = enter::find(Some(pid))?;
    let read = || format!("read the frames of the emulation with the process number {pid}");
    let name =
        description.readers.ok_or_else(|| io::Error::other("it has no socket for readers")).tried(read)?;
    let address = SocketAddr::from_abstract_name(name).tried(read)?;
    let mut frames = UnixStream::connect_addr(&address).tried(read)?;
    if !is_own(&frames) {
        return Err(io::Error::other("its socket belongs to another user")).tried(read);
    }
    let mut out = OpenOptions::new().write(true).open(to).tried(|| format!("write {}", to.display()))?;
    match io::copy(&mut frames, &mut out) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).tried(read),
        _ => Ok(()),
    }
}

/// Number of bytes that a reader may be behind before it is dropped.
const BEHIND: usize = 4 << 20;
