//! The calls of `include/multihop.h`: they check what C passes.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::time::Duration;

use multihop_apps::bridge::SecurityChoice;
use multihop_net::ChannelOptions;
use nix::libc;

use super::Piece;
use crate::error::{bad, report};
use crate::memory;

/// Layout of `struct multihop_security`: how an end proves who it is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RawSecurity {
    token: *const c_char,
    identity: *const c_char,
    peer: *const c_char,
    known_peers: *const c_char,
    authorized_keys: *const c_char,
    shared_key: *const c_char,
    plain: c_int,
    strict: c_int,
    silent: c_int,
}

/// Layout of `struct multihop_channel`: the options of a channel.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RawChannel {
    priority: u32,
    ordered: u32,
    deadline_ms: u32,
    name: [u8; 36],
}

/// Layout of `struct multihop_message`: what one call has received.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RawMessage {
    number: u64,
    missed: u64,
    offset: u64,
    length: u64,
    is_last: u32,
    is_late: u32,
}

thread_local! {
    /// Text of the last failure.
    static ERROR: RefCell<CString> = RefCell::default();
}

/// The value, or -1 with `errno` and the text of the error.
fn answer(result: io::Result<c_int>) -> c_int {
    if let Err(error) = &result {
        let text = CString::new(error.to_string().replace('\0', " ")).unwrap_or_default();
        ERROR.with(|last| *last.borrow_mut() = text);
    }
    report(result)
}

/// Connects to a listener.
///
/// # Safety
/// `address` is null or a text with a zero at its end. `security` is null or points to a structure of the header.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn multihop_connect(
    address: *const c_char,
    port: u16,
    security: *const RawSecurity,
) -> c_int {
    // SAFETY: the contract of this function is that of `read_end`.
    answer(
        unsafe { read_end(address, security) }
            .and_then(|(address, security)| super::connect(&address, port, &security)),
    )
}

/// Listens at an IP address, and returns the number of the listener.
///
/// # Safety
/// `address` is null or a text with a zero at its end. `security` is null or points to a structure of the header.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn multihop_listen(
    address: *const c_char,
    port: u16,
    security: *const RawSecurity,
) -> c_int {
    // SAFETY: the contract of this function is that of `read_end`.
    answer(
        unsafe { read_end(address, security) }
            .and_then(|(address, security)| super::listen(&address, port, &security)),
    )
}

/// Port at which a listener accepts connections.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn multihop_port(listener: c_int) -> c_int {
    answer(super::port(listener))
}

/// Waits for the next connection.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn multihop_accept(listener: c_int, timeout_ms: c_int) -> c_int {
    answer(super::accept(listener, timeout_ms))
}

/// Opens a channel with these options for both directions, and returns its number.
///
/// # Safety
/// `options` is null or points to a structure of the header.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn multihop_open_channel(
    connection: c_int,
    options: *const RawChannel,
) -> c_int {
    // SAFETY: the contract of this function is that of `read_structure`; every bit pattern is a valid `RawChannel`.
    let options = unsafe { memory::read_structure(options) };
    answer(options.and_then(|raw| super::open_channel(connection, raw.options())))
}

/// Waits for the next channel of the peer.
///
/// # Safety
/// `options` is null or points to a writable structure of the header.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn multihop_accept_channel(
    connection: c_int,
    options: *mut RawChannel,
    timeout_ms: c_int,
) -> c_int {
    answer(super::accept_channel(connection, timeout_ms).map(|(channel, found)| {
        // SAFETY: the contract of this function is that of `write_structure`.
        unsafe { memory::write_structure(options, RawChannel::from(found)) };
        channel
    }))
}

/// Queues a copy of a message, and waits while the channel is full.
///
/// # Safety
/// `data` is null, or points to `length` readable bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn multihop_send(channel: c_int, data: *const c_void, length: usize) -> c_int {
    // SAFETY: the contract of this function is that of `read_message`.
    answer(unsafe { memory::read_message(data, length) }.and_then(|message| super::send(channel, message)))
}

/// Receives a message, a part of one, or a gap.
///
/// # Safety
/// `data` is null or points to `room` writable bytes. `about` is null or points to a writable structure of the header.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn multihop_receive(
    channel: c_int,
    data: *mut c_void,
    room: usize,
    about: *mut RawMessage,
    timeout_ms: c_int,
) -> c_int {
    if room == 0 || data.is_null() || about.is_null() {
        return answer(Err(bad(if room == 0 { libc::EINVAL } else { libc::EFAULT })));
    }
    answer(super::receive(channel, room, timeout_ms).map(|piece| {
        let Some(piece) = piece else { return 0 };
        // SAFETY: a piece has at most `room` bytes, which the caller guarantees to be writable at `data`.
        unsafe { memory::write_message(&piece.data, data) };
        // SAFETY: the contract of this function is that of `write_structure`.
        unsafe { memory::write_structure(about, RawMessage::from(&piece)) };
        1
    }))
}

/// Closes a handle.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn multihop_close(handle: c_int) -> c_int {
    answer(super::close(handle))
}

/// Text of the last failure of this thread, until its next failure.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn multihop_error() -> *const c_char {
    ERROR.with(|last| last.borrow().as_ptr())
}

/// Address and security of an end.
///
/// # Safety
/// `address` is null or a text with a zero at its end. `security` is null or points to a structure whose texts are the same.
unsafe fn read_end(
    address: *const c_char,
    security: *const RawSecurity,
) -> io::Result<(String, SecurityChoice)> {
    // SAFETY: the caller guarantees a text.
    let address = unsafe { memory::read_text(address) }?.ok_or_else(|| bad(libc::EFAULT))?;
    // SAFETY: the caller guarantees a structure; its pointers may have every value, and are checked below.
    let raw = unsafe { memory::read_structure(security) }?;
    // SAFETY: the caller guarantees that each pointer is null or a text.
    let text = |text| unsafe { memory::read_text(text) };
    let path = |pointer| Ok::<_, io::Error>(text(pointer)?.map(Into::into));
    Ok((
        address,
        SecurityChoice {
            plain: raw.plain != 0,
            token: text(raw.token)?,
            identity: path(raw.identity)?,
            peer: text(raw.peer)?,
            known_peers: path(raw.known_peers)?,
            authorized_keys: path(raw.authorized_keys)?,
            strict: raw.strict != 0,
            shared_key: path(raw.shared_key)?,
            silent: raw.silent != 0,
        },
    ))
}

impl RawChannel {
    fn options(&self) -> ChannelOptions {
        let end = self.name.iter().position(|&byte| byte == 0).unwrap_or(self.name.len());
        let name = String::from_utf8_lossy(&self.name[..end]).into_owned();
        let deadline = (self.deadline_ms > 0).then(|| Duration::from_millis(self.deadline_ms.into()).into());
        let priority = u8::try_from(self.priority).unwrap_or(u8::MAX);
        ChannelOptions { priority, is_ordered: self.ordered != 0, deadline, name }
    }
}

impl From<ChannelOptions> for RawChannel {
    fn from(options: ChannelOptions) -> Self {
        let mut name = [0; 36];
        // A name has at most 32 bytes.
        name.iter_mut().zip(options.name.bytes().take(32)).for_each(|(to, byte)| *to = byte);
        let deadline = options.deadline.map_or(0, |deadline| deadline.as_micros().div_ceil(1000));
        Self {
            priority: options.priority.into(),
            ordered: options.is_ordered.into(),
            deadline_ms: u32::try_from(deadline).unwrap_or(u32::MAX),
            name,
        }
    }
}

impl From<&Piece> for RawMessage {
    fn from(piece: &Piece) -> Self {
        Self {
            number: piece.number,
            missed: piece.missed,
            offset: piece.offset,
            length: piece.data.len() as u64,
            is_last: piece.is_last.into(),
            is_late: piece.is_late.into(),
        }
    }
}
