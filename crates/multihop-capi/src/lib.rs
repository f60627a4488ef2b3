//! libtpa: TPA for C programs, with the calls of BSD sockets.
//!
//! The calls are those of the TPA paper's Table 15 and a few more. They are declared in `include/tpa.h` and documented in
//! `man/tpa.3`. A program replaces `socket`, `connect`, `send` and `recv` by the functions of the same names with the
//! prefix `tpa_`, and links with `-ltpa`:
//!
//! ```c
//! int socket = tpa_socket(AF_INET, SOCK_STREAM, 0), on = 1;
//! tpa_setsockopt(socket, TPA_LEVEL, TPA_PLAIN, &on, sizeof on); /* or TPA_TOKEN, or TPA_IDENTITY */
//! if (tpa_connect(socket, (struct sockaddr *)&peer, sizeof peer) < 0)
//!     perror("tpa_connect");
//! ssize_t sent = tpa_send(socket, "hello", 5, 0);
//! tpa_shutdown(socket, SHUT_WR);
//! tpa_close(socket);
//! ```
//!
//! A socket is a number of this library, not a descriptor of the system: `poll` and `select` take the descriptor that
//! [`tpa_poll_fd`] returns. Options select keys and the parameters of TPA ([`tpa_setsockopt`]). Errors are in `errno`,
//! as with the calls of the system.
//!
//! Calls `tpa_*` offer no datagrams and no other transport than TPA. Calls `multihop_*`, declared in
//! `include/multihop.h`, send messages over `mesh`. After `fork` only the parent can use the library. Rust programs use `multihop-net`
//! instead.
//!
//! All `unsafe` code is in this file, `messages/calls.rs` and `memory.rs`: they check what C passes. The rest of the crate is safe.
#![expect(unsafe_code, reason = "C passes pointers and lengths")]

mod error;
mod memory;
mod messages;
mod options;
mod socket;
mod sockopt;
mod table;

use std::ffi::{c_int, c_void};
use std::io;

use nix::libc::{MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, MSG_WAITALL, sockaddr, socklen_t, ssize_t};

use crate::error::{bad, report};
use crate::socket::Socket;

/// Makes a socket: `AF_INET` or `AF_INET6`, `SOCK_STREAM`, 0.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    report(Socket::new(domain, kind, protocol).and_then(table::insert))
}

/// Sets the address that the socket will listen on.
///
/// # Safety
/// `address` points to `length` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_bind(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: this function's contract is that of `read_address`: null or `length` readable bytes.
    let address = unsafe { memory::read_address(address, length) };
    report(table::get(socket).and_then(|socket| socket.bind(address?)).map(|()| 0))
}

/// Opens a connection to the peer at `address`, like `connect`.
///
/// # Safety
/// `address` points to `length` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_connect(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: this function's contract is that of `read_address`: null or `length` readable bytes.
    let address = unsafe { memory::read_address(address, length) };
    report(table::get(socket).and_then(|socket| socket.connect(address?)).map(|()| 0))
}

/// Makes the socket accept connections, like `listen`; at most `backlog` may wait for `tpa_accept`.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_listen(socket: c_int, backlog: c_int) -> c_int {
    report(table::get(socket).and_then(|socket| socket.listen(backlog)).map(|()| 0))
}

/// Accepts the next connection as a new socket.
///
/// # Safety
/// `address` and `length` are null, or `length` points to the number of writable bytes at `address`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_accept(socket: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    let accepted = table::get(socket).and_then(|socket| socket.accept());
    report(accepted.and_then(|(connection, peer)| {
        if !address.is_null() {
            // SAFETY: `address` is not null, so by this function's contract `length` points to the number of
            // writable bytes at `address`; `write` writes no more.
            unsafe { memory::write(&memory::raw_address(peer), address.cast(), length) }?;
        }
        table::insert(connection)
    }))
}

/// Queues data for sending; like `send` it may take less.
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
        socket.transfer(flags, SEND_FLAGS, |descriptor, flags| {
            // SAFETY: `send` only reads `length` bytes at `data`, which this function's contract makes readable; for
            // invalid memory the kernel returns EFAULT. The descriptor is open: the connection is held.
            unsafe { nix::libc::send(descriptor, data, length, flags) }
        })
    }))
}

/// Receives data; 0 at the end of the stream.
///
/// # Safety
/// `data` points to `length` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tpa_recv(socket: c_int, data: *mut c_void, length: usize, flags: c_int) -> ssize_t {
    report(table::get(socket).and_then(|socket| {
        let received = socket.transfer(flags, RECV_FLAGS, |descriptor, flags| {
            // SAFETY: `recv` writes at most `length` bytes at `data`, which this function's contract makes writable;
            // for invalid memory the kernel returns EFAULT. The descriptor is open: the connection is held.
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

/// Closes the socket; waits up to `TPA_LINGER` seconds until the peer has all data.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_close(socket: c_int) -> c_int {
    report(table::remove(socket).and_then(|socket| socket.close()).map(|()| 0))
}

/// The descriptor to poll for the socket in its present state.
#[unsafe(no_mangle)]
pub extern "C" fn tpa_poll_fd(socket: c_int) -> c_int {
    report(table::get(socket).and_then(|socket| socket.poll_descriptor()))
}

/// Sets an option of the socket, like `setsockopt`.
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
    // SAFETY: this function's contract is that of `read`: `value` is null or points to `length` readable bytes.
    let value = unsafe { memory::read(value, length) };
    report(table::get(socket).and_then(|socket| {
        check_level(level)?;
        sockopt::set(&socket, option, &value?).map(|()| 0)
    }))
}

/// Gets an option of the socket, like `getsockopt`.
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
        // SAFETY: this function's contract is that of `write`: `length` is null or points to the number of writable
        // bytes at `value`.
        unsafe { memory::write(&found, value.cast(), length) }.map(|()| 0)
    }))
}

/// Flags that `tpa_send` allows. Others differ between TCP and the socket pair that this library uses, so that a
/// program could lose data.
const SEND_FLAGS: c_int = MSG_DONTWAIT | MSG_NOSIGNAL;
const RECV_FLAGS: c_int = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_PEEK | MSG_WAITALL;

fn check_level(level: c_int) -> io::Result<()> {
    if level == sockopt::LEVEL { Ok(()) } else { Err(bad(nix::libc::ENOPROTOOPT)) }
}
