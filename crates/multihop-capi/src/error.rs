//! Errors as C sees them: -1, and errno.

use std::io::{self, ErrorKind};

use nix::errno::Errno;
use nix::libc;

/// Makes an error with this `errno`.
pub(crate) fn bad(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

/// The return value for C: the value, or -1 with errno set.
pub(crate) fn report<T: From<i8>>(result: io::Result<T>) -> T {
    result.unwrap_or_else(|error| {
        Errno::set_raw(errno(&error));
        T::from(-1)
    })
}

/// The errno that corresponds to an error.
pub(crate) fn errno(error: &io::Error) -> i32 {
    if let Some(errno) = error.raw_os_error() {
        return errno;
    }
    match error.kind() {
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
        ErrorKind::ConnectionReset => libc::ECONNRESET,
        ErrorKind::ConnectionAborted => libc::ECONNABORTED,
        ErrorKind::HostUnreachable => libc::EHOSTUNREACH,
        ErrorKind::NetworkUnreachable => libc::ENETUNREACH,
        ErrorKind::NotConnected => libc::ENOTCONN,
        ErrorKind::AddrInUse => libc::EADDRINUSE,
        ErrorKind::AddrNotAvailable => libc::EADDRNOTAVAIL,
        ErrorKind::BrokenPipe => libc::EPIPE,
        ErrorKind::WouldBlock => libc::EAGAIN,
        ErrorKind::InvalidInput => libc::EINVAL,
        ErrorKind::InvalidData => libc::EBADMSG,
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::ResourceBusy => libc::EBUSY,
        ErrorKind::Unsupported => libc::EOPNOTSUPP,
        ErrorKind::OutOfMemory => libc::ENOMEM,
        _ => libc::EIO,
    }
}
