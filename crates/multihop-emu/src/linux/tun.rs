//! The one place with `unsafe`: Linux attaches a TUN interface to a file by `ioctl` only.
#![expect(unsafe_code, reason = "TUNSETIFF has no safe form")]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

nix::ioctl_write_ptr_bad!(
    /// Attaches the file to the interface of that name in the thread's namespace, and makes it if there is none.
    tun_set_iff,
    nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
    libc::ifreq
);

/// An interface whose packets are read and written by a program.
#[derive(Debug)]
pub(crate) struct Tun(File);

impl Tun {
    /// Makes the interface `name` in the network namespace of this thread; it goes when it is dropped.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        let mut ifr_name = [0; libc::IFNAMSIZ];
        assert!(name.len() < ifr_name.len(), "an interface's name has at most 15 bytes");
        for (place, byte) in ifr_name.iter_mut().zip(name.bytes()) {
            *place = libc::c_char::from_ne_bytes([byte]);
        }
        let flags =
            libc::c_short::try_from(libc::IFF_TUN | libc::IFF_NO_PI).expect("both are in the lower 15 bits");
        let request = libc::ifreq { ifr_name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
        // SAFETY: the file is open during the call, and the kernel reads one `ifreq`, which lives as long; the
        // name in it ends with a zero byte, as the length checked above says.
        unsafe { tun_set_iff(file.as_raw_fd(), &raw const request) }?;
        Ok(Self(file))
    }

    /// The next packet that the namespace sends; none: nothing waits.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a packet to the namespace. One that it does not take (a damaged header) is lost.
    pub(crate) fn send(&mut self, packet: &[u8]) {
        let _ = self.0.write(packet);
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
