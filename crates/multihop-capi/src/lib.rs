//! libtpa: the calls of the paper's Table 15 and what programs need beside them, as `include/tpa.h` declares and
//! `man/tpa.3` explains them.
//!
//! This file and `memory.rs` are the border: what comes from C is checked here, behind it all is safe.
#![expect(unsafe_code, reason = "C hands over pointers and lengths")]

mod error;
mod memory;
mod options;
mod socket;
mod sockopt;
mod table;

use std::ffi::{c_int, c_void};
use std::io;

use nix::libc::{sockaddr, socklen_t, ssize_t};

use crate::error::{bad, report};
use crate::socket::Socket;

/// Makes a socket: `AF_INET` or `AF_INET6`, `SOCK_STREAM`, 0.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    report(Socket::new(domain, kind, protocol).and_then(table::insert))
}

/// Sets the address that the socket will listen at.
///
/// # Safety
/// `address` points to `length` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_bind(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller says so.
    let address = unsafe { memory::read_address(address, length) };
    report(table::get(socket).and_then(|socket| socket.bind(address?)).map(|()| 0))
}

/// Opens a connection.
///
/// # Safety
/// `address` points to `length` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_connect(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller says so.
    let address = unsafe { memory::read_address(address, length) };
    report(table::get(socket).and_then(|socket| socket.connect(address?)).map(|()| 0))
}

/// Takes connections from now on.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_listen(socket: c_int, backlog: c_int) -> c_int {
    report(table::get(socket).and_then(|socket| socket.listen(backlog)).map(|()| 0))
}

/// The next connection, as a socket of its own.
///
/// # Safety
/// `address` and `length` are null, or `length` points to the number of writable bytes at `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_accept(socket: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    let accepted = table::get(socket).and_then(|socket| socket.accept());
    report(accepted.and_then(|(connection, peer)| {
        if !address.is_null() {
            // SAFETY: the caller says so.
            unsafe { memory::write(&memory::raw_address(peer), address.cast(), length) }?;
        }
        table::insert(connection)
    }))
}

/// Hands data over for sending; like `send` it may take less.
///
/// # Safety
/// `data` points to `length` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_send(
    socket: c_int,
    data: *const c_void,
    length: usize,
    flags: c_int,
) -> ssize_t {
    report(table::get(socket).and_then(|socket| {
        socket.transfer(flags, |descriptor, flags| {
            // SAFETY: the caller says so; the kernel checks the memory itself.
            unsafe { nix::libc::send(descriptor, data, length, flags) }
        })
    }))
}

/// Takes data that has arrived; 0 once the peer has no more.
///
/// # Safety
/// `data` points to `length` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_recv(socket: c_int, data: *mut c_void, length: usize, flags: c_int) -> ssize_t {
    report(table::get(socket).and_then(|socket| {
        let received = socket.transfer(flags, |descriptor, flags| {
            // SAFETY: the caller says so; the kernel checks the memory itself.
            unsafe { nix::libc::recv(descriptor, data, length, flags) }
        })?;
        if received == 0 && length > 0 {
            socket.why_it_ended()?;
        }
        Ok(received)
    }))
}

/// Closes one direction or both: `SHUT_RD`, `SHUT_WR`, `SHUT_RDWR`.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_shutdown(socket: c_int, how: c_int) -> c_int {
    report(table::get(socket).and_then(|socket| socket.shutdown(how)).map(|()| 0))
}

/// Closes the socket, and waits for the peer to have everything as long as `TPA_LINGER` says.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_close(socket: c_int) -> c_int {
    report(table::remove(socket).and_then(|socket| socket.close()).map(|()| 0))
}

/// The descriptor to poll for the socket as it is now.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_poll_fd(socket: c_int) -> c_int {
    report(table::get(socket).and_then(|socket| socket.poll_descriptor()))
}

/// Sets an option.
///
/// # Safety
/// `value` points to `length` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_setsockopt(
    socket: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    // SAFETY: the caller says so.
    let value = unsafe { memory::read(value, length) };
    report(table::get(socket).and_then(|socket| {
        check_level(level)?;
        sockopt::set(&socket, option, &value?).map(|()| 0)
    }))
}

/// Gets an option.
///
/// # Safety
/// `length` points to the number of writable bytes at `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_getsockopt(
    socket: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    report(table::get(socket).and_then(|socket| {
        check_level(level)?;
        let found = sockopt::get(&socket, option)?;
        // SAFETY: the caller says so.
        unsafe { memory::write(&found, value.cast(), length) }.map(|()| 0)
    }))
}

fn check_level(level: c_int) -> io::Result<()> {
    if level == sockopt::LEVEL { Ok(()) } else { Err(bad(nix::libc::ENOPROTOOPT)) }
}
