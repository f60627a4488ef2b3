//! What is copied from and to the memory of C.

use std::ffi::c_void;
use std::io;
use std::net::SocketAddr;
use std::ptr;

use nix::libc::{self, sockaddr, socklen_t};
use socket2::{SockAddr, SockAddrStorage};

use crate::error::bad;

/// The longest value of an option, which is a path.
const LONGEST: usize = 4096;

/// A copy of `length` bytes.
///
/// # Safety
/// `from` is null or points to `length` readable bytes.
pub(crate) unsafe fn read(from: *const c_void, length: socklen_t) -> io::Result<Vec<u8>> {
    if from.is_null() {
        return Err(bad(libc::EFAULT));
    }
    if length as usize > LONGEST {
        return Err(bad(libc::EINVAL));
    }
    // SAFETY: not null, and readable for as long as the caller says.
    Ok(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length as usize) }.to_vec())
}

/// Copies as many bytes as fit, and says how many there are.
///
/// # Safety
/// `length` is null or points to the number of writable bytes at `to`.
pub(crate) unsafe fn write(bytes: &[u8], to: *mut u8, length: *mut socklen_t) -> io::Result<()> {
    if to.is_null() || length.is_null() {
        return Err(bad(libc::EFAULT));
    }
    // SAFETY: not null, and the caller says that it points to a length.
    let room = unsafe { length.read_unaligned() } as usize;
    // SAFETY: `room` bytes are writable, and a Vec of ours does not overlap with them.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len().min(room)) };
    let all = socklen_t::try_from(bytes.len()).map_err(io::Error::other)?;
    // SAFETY: as above.
    unsafe { length.write_unaligned(all) };
    Ok(())
}

/// An IPv4 or IPv6 address with its port.
///
/// # Safety
/// `from` is null or points to `length` readable bytes.
pub(crate) unsafe fn read_address(from: *const sockaddr, length: socklen_t) -> io::Result<SocketAddr> {
    // SAFETY: the caller says so.
    let bytes = unsafe { read(from.cast(), length) }?;
    let mut storage = SockAddrStorage::zeroed();
    if bytes.len() < size_of::<libc::sockaddr_in>() || bytes.len() > size_of::<SockAddrStorage>() {
        return Err(bad(libc::EINVAL));
    }
    // SAFETY: the storage is larger, and plain bytes.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), ptr::from_mut(&mut storage).cast::<u8>(), bytes.len())
    };
    // SAFETY: the storage is initialised, and holds what the caller says is an address of this length.
    let address = unsafe { SockAddr::new(storage, length) };
    let complete = match i32::from(address.family()) {
        libc::AF_INET => true,
        libc::AF_INET6 => bytes.len() >= size_of::<libc::sockaddr_in6>(),
        _ => return Err(bad(libc::EAFNOSUPPORT)),
    };
    address.as_socket().filter(|_| complete).ok_or_else(|| bad(libc::EINVAL))
}

/// The bytes of a `sockaddr_in` or `sockaddr_in6`.
pub(crate) fn raw_address(address: SocketAddr) -> Vec<u8> {
    let address = SockAddr::from(address);
    // SAFETY: as many bytes as the address says that it has.
    unsafe { std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), address.len() as usize) }.to_vec()
}

/// The bytes of a structure without padding.
pub(crate) fn raw<T: Packed>(value: &T) -> Vec<u8> {
    // SAFETY: `Packed` says that every byte of it is initialised.
    unsafe { std::slice::from_raw_parts(ptr::from_ref(value).cast::<u8>(), size_of::<T>()) }.to_vec()
}

/// A structure in the layout of C, without padding.
///
/// # Safety
/// It is so.
pub(crate) unsafe trait Packed {}
