//! Events of interfaces and their addresses.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{MsgFlags, NetlinkAddr, SockFlag, bind, recv};

use super::message::open;

/// Becomes readable when an interface or one of its addresses changes.
#[derive(Debug)]
pub struct Events(OwnedFd);

impl Events {
    /// Begins to watch the interfaces of this thread's network namespace.
    pub fn watch() -> io::Result<Self> {
        let socket = open(SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
        let groups = libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups.cast_unsigned()))?;
        Ok(Self(socket))
    }

    /// Discards past events and returns whether there were any. Also returns true if the kernel dropped events for
    /// want of buffer space.
    pub fn take(&self) -> io::Result<bool> {
        let mut any = false;
        loop {
            // The changes are requested from the kernel afterwards, so the content of the event does not matter.
            match recv(self.0.as_raw_fd(), &mut [0; 16], MsgFlags::empty()) {
                Ok(_) | Err(Errno::ENOBUFS) => any = true,
                Err(Errno::EAGAIN) => return Ok(any),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
