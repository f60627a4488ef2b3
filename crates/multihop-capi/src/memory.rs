//! Copies between the memory of C and that of Rust. No reference to C's memory outlives a call.

use std::ffi::{CStr, c_char, c_void};
use std::io;
use std::net::SocketAddr;
use std::ptr;

use nix::libc::{self, sockaddr, socklen_t};
use socket2::{SockAddr, SockAddrStorage};

use crate::error::bad;

/// Largest length of an option's value, bytes: that of a path.
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
    // SAFETY: `from` is not null, and the caller guarantees `length` readable bytes there. Bytes have no alignment
    // and no invalid values, and the slice is copied before this function returns.
    Ok(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length as usize) }.to_vec())
}

/// Copies as many bytes as fit, and stores how many there are in `length`.
///
/// # Safety
/// `length` is null or points to the number of writable bytes at `to`.
pub(crate) unsafe fn write(bytes: &[u8], to: *mut u8, length: *mut socklen_t) -> io::Result<()> {
    if to.is_null() || length.is_null() {
        return Err(bad(libc::EFAULT));
    }
    // SAFETY: `length` is not null, and the caller guarantees that it points to a `socklen_t`, aligned or not.
    let room = unsafe { length.read_unaligned() } as usize;
    // SAFETY: at most `room` bytes are written, which the caller guarantees to be writable at `to`; `bytes` is Rust's
    // memory, so the two do not overlap.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len().min(room)) };
    let all = socklen_t::try_from(bytes.len()).map_err(io::Error::other)?;
    // SAFETY: `length` was read above, and the caller guarantees that it is writable as well.
    unsafe { length.write_unaligned(all) };
    Ok(())
}

/// An IPv4 or IPv6 address with its port.
///
/// # Safety
/// `from` is null or points to `length` readable bytes.
pub(crate) unsafe fn read_address(from: *const sockaddr, length: socklen_t) -> io::Result<SocketAddr> {
    // SAFETY: the contract of this function is that of `read`.
    let bytes = unsafe { read(from.cast(), length) }?;
    let mut storage = SockAddrStorage::zeroed();
    if bytes.len() < size_of::<libc::sockaddr_in>() || bytes.len() > size_of::<SockAddrStorage>() {
        return Err(bad(libc::EINVAL));
    }
    // SAFETY: `bytes` is no longer than the storage (checked above) and does not overlap with it; any bytes are a
    // valid `sockaddr_storage`.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), ptr::from_mut(&mut storage).cast::<u8>(), bytes.len())
    };
    // SAFETY: the storage is fully initialised (zeros, then `length` bytes), and `length` does not exceed it. The family
    // is checked below, before the address is used.
    let address = unsafe { SockAddr::new(storage, length) };
    let complete = match i32::from(address.family()) {
        libc::AF_INET => true,
        libc::AF_INET6 => bytes.len() >= size_of::<libc::sockaddr_in6>(),
        _ => return Err(bad(libc::EAFNOSUPPORT)),
    };
    address.as_socket().filter(|_| complete).ok_or_else(|| bad(libc::EINVAL))
}

/// A copy of a message.
///
/// # Safety
/// `from` is null or points to `length` readable bytes.
pub(crate) unsafe fn read_message(from: *const c_void, length: usize) -> io::Result<Vec<u8>> {
    if length == 0 {
        return Ok(Vec::new());
    }
    if from.is_null() {
        return Err(bad(libc::EFAULT));
    }
    // SAFETY: `from` is not null, and the caller guarantees `length` readable bytes there, which are copied before this
    // function returns.
    Ok(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length) }.to_vec())
}

/// Copies a message into the program's buffer.
///
/// # Safety
/// `to` points to at least as many writable bytes.
pub(crate) unsafe fn write_message(bytes: &[u8], to: *mut c_void) {
    // SAFETY: the caller guarantees the room; `bytes` is Rust's memory, so the two do not overlap.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
}

/// A copy of a text; `None` if the pointer is null.
///
/// # Safety
/// `from` is null or points to a text with a zero byte at its end.
pub(crate) unsafe fn read_text(from: *const c_char) -> io::Result<Option<String>> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: `from` is not null, and the caller guarantees the zero byte; the text is copied before this function returns.
    let text = unsafe { CStr::from_ptr(from) };
    text.to_str().map(|text| Some(text.to_owned())).map_err(|_| bad(libc::EINVAL))
}

/// A copy of a structure.
///
/// # Safety
/// `from` is null or points to a valid `T`, aligned or not.
pub(crate) unsafe fn read_structure<T: Copy>(from: *const T) -> io::Result<T> {
    if from.is_null() {
        return Err(bad(libc::EFAULT));
    }
    // SAFETY: `from` is not null, and the caller guarantees a valid value there.
    Ok(unsafe { from.read_unaligned() })
}

/// Stores a structure, unless the pointer is null.
///
/// # Safety
/// `to` is null or points to room for a `T`, aligned or not.
pub(crate) unsafe fn write_structure<T: Copy>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: `to` is not null, and the caller guarantees the room.
        unsafe { to.write_unaligned(value) };
    }
}

/// The bytes of a `sockaddr_in` or `sockaddr_in6`.
pub(crate) fn raw_address(address: SocketAddr) -> Vec<u8> {
    let address = SockAddr::from(address);
    // SAFETY: `SockAddr` guarantees that `len` bytes at `as_ptr` are initialised; they are copied while it lives.
    unsafe { std::slice::from_raw_parts(address.as_ptr().cast::<u8>(), address.len() as usize) }.to_vec()
}

/// The bytes of a structure without padding.
pub(crate) fn raw<T: Packed>(value: &T) -> Vec<u8> {
    // SAFETY: `Packed` guarantees that `T` has no padding, so each of its `size_of` bytes is initialised; they are
    // copied while `value` is borrowed.
    unsafe { std::slice::from_raw_parts(ptr::from_ref(value).cast::<u8>(), size_of::<T>()) }.to_vec()
}

/// A structure in the layout of C, without padding.
///
/// # Safety
/// The type must be `repr(C)`, and its fields must fill it without padding between or after them.
pub(crate) unsafe trait Packed {}
