//! TUN and TAP interfaces: network interfaces whose packets or frames a program reads and writes. Linux attaches one to a file by
//! `ioctl`.
#![expect(unsafe_code, reason = "nix has no safe TUNSETIFF")]

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

nix::ioctl_readwrite_bad!(
    /// Attaches the file to the interface with that name in the thread's namespace; creates it if missing. The kernel
    /// replaces `%d` in the name by a number.
    tun_set_iff,
    nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
    libc::ifreq
);

/// A network interface whose packets (TUN) or Ethernet frames (TAP) this program reads and writes.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Creates the interface `name` in the network namespace of this thread; dropping it removes the interface. `%d`
    /// in the name becomes the first free number.
    pub fn open(name: &str) -> io::Result<Self> {
        Self::open_kind(name, libc::IFF_TUN)
    }

    /// Creates a TAP interface, which passes Ethernet frames, with this name.
    pub fn open_tap(name: &str) -> io::Result<Self> {
        Self::open_kind(name, libc::IFF_TAP)
    }

    fn open_kind(name: &str, kind: libc::c_int) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        let mut ifr_name = [0; libc::IFNAMSIZ];
        assert!(name.len() < ifr_name.len(), "an interface's name has at most 15 bytes");
        for (place, byte) in ifr_name.iter_mut().zip(name.bytes()) {
            *place = libc::c_char::from_ne_bytes([byte]);
        }
        let flags = libc::c_short::try_from(kind | libc::IFF_NO_PI).expect("both are in the lower 15 bits");
        let ifr_ifru = libc::__c_anonymous_ifr_ifru { ifru_flags: flags };
        let mut request = libc::ifreq { ifr_name, ifr_ifru };
        // SAFETY: the descriptor is open during the call. TUNSETIFF reads and writes one `ifreq`, which is initialised
        // and outlives the call; its name ends with a zero byte, because the assertion above leaves at least one.
        unsafe { tun_set_iff(file.as_raw_fd(), &raw mut request) }?;
        let name = request.ifr_name.map(|letter| letter.to_ne_bytes()[0]);
        let name = CStr::from_bytes_until_nul(&name).expect("the kernel ends names with a zero byte");
        Ok(Self { name: name.to_string_lossy().into_owned(), file })
    }

    /// The name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next packet or frame that the namespace sends; `None` if there is none now.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Delivers a packet or frame to the namespace. The kernel drops one with a damaged header.
    pub fn send(&self, packet: &[u8]) {
        let _ = (&self.file).write(packet);
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
