//! Connections with channels of messages, by the numbers that C has for them.

pub(crate) mod calls;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use multihop_apps::bridge::{SecurityChoice, runtime};
use multihop_net::{Channel, ChannelOptions, Config, Content, Listener, Received, Stream, Transport, mesh};
use nix::libc;

use crate::error::bad;
use crate::table;

/// A number of C.
#[derive(Clone, Debug)]
enum Handle {
    Listener(Arc<Listener>),
    Connection(Arc<Stream>),
    Channel(Arc<Messages>),
}

/// A channel, with what did not fit into the program's buffer.
#[derive(Debug)]
struct Messages {
    channel: Channel,
    rest: Mutex<Option<Piece>>,
}

/// Data of a message, or a gap.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) number: u64,
    /// Length of the gap; 0 for data.
    pub(crate) missed: u64,
    pub(crate) offset: u64,
    pub(crate) data: Vec<u8>,
    pub(crate) is_last: bool,
    pub(crate) is_late: bool,
}

impl Piece {
    fn of(received: Received) -> Self {
        let Received { message: number, content, is_late, .. } = received;
        let (missed, offset, payload, is_last) = match content {
            Content::Whole(data) => (0, 0, Some(data), true),
            Content::Part { offset, data, is_last } => (0, offset, Some(data), is_last),
            Content::Gap(missed) => (missed, 0, None, true),
        };
        let mut data = Vec::new();
        payload.inspect(|payload| payload.emit(&mut data));
        Self { number, missed, offset, data, is_last, is_late }
    }

    /// Splits off what does not fit into `room` bytes.
    fn split(&mut self, room: usize) -> Option<Self> {
        if self.data.len() <= room {
            return None;
        }
        let data = self.data.split_off(room);
        let rest = Self { offset: self.offset + room as u64, data, ..*self };
        self.is_last = false;
        Some(rest)
    }
}

pub(crate) fn connect(address: &str, port: u16, security: &SecurityChoice) -> io::Result<i32> {
    let (to, config) = (at(address, port)?, config(security)?);
    let stream = runtime()?.block_on(Stream::connect(to, &config))?;
    insert(Handle::Connection(Arc::new(stream)))
}

pub(crate) fn listen(address: &str, port: u16, security: &SecurityChoice) -> io::Result<i32> {
    let (on, config) = (at(address, port)?, config(security)?);
    let listener = runtime()?.block_on(Listener::bind(on, config))?;
    insert(Handle::Listener(Arc::new(listener)))
}

pub(crate) fn port(listener: i32) -> io::Result<i32> {
    Ok(of_listener(listener)?.local_addr().port().into())
}

pub(crate) fn accept(listener: i32, timeout: i32) -> io::Result<i32> {
    let listener = of_listener(listener)?;
    let stream = wait(timeout, listener.accept())?;
    insert(Handle::Connection(Arc::new(stream)))
}

pub(crate) fn open_channel(connection: i32, options: ChannelOptions) -> io::Result<i32> {
    let channel = of_connection(connection)?.open_channel(options)?;
    insert(Handle::Channel(Arc::new(Messages { channel, rest: Mutex::new(None) })))
}

pub(crate) fn accept_channel(connection: i32, timeout: i32) -> io::Result<(i32, ChannelOptions)> {
    let stream = of_connection(connection)?;
    let channel = wait(timeout, stream.accept_channel())?.ok_or_else(|| bad(libc::EPIPE))?;
    let options = channel.options();
    Ok((insert(Handle::Channel(Arc::new(Messages { channel, rest: Mutex::new(None) })))?, options))
}

pub(crate) fn send(channel: i32, message: Vec<u8>) -> io::Result<i32> {
    let messages = of_channel(channel)?;
    wait(-1, messages.channel.send(message)).map(|_| 0)
}

/// The next piece, of at most `room` bytes; `None` after the peer has closed.
pub(crate) fn receive(channel: i32, room: usize, timeout: i32) -> io::Result<Option<Piece>> {
    let messages = of_channel(channel)?;
    let rest = lock(&messages.rest).take();
    let piece = match rest {
        Some(rest) => Some(rest),
        None => wait(timeout, messages.channel.recv())?.map(Piece::of),
    };
    let Some(mut piece) = piece else { return Ok(None) };
    *lock(&messages.rest) = piece.split(room);
    Ok(Some(piece))
}

pub(crate) fn close(handle: i32) -> io::Result<i32> {
    let handle = handles()?.entries.remove(&handle).ok_or_else(|| bad(libc::EBADF))?;
    if let Handle::Connection(stream) = handle {
        let minute = Duration::from_secs(60);
        runtime()?.block_on(async { tokio::time::timeout(minute, stream.finish()).await })??;
    }
    Ok(0)
}

fn at(address: &str, port: u16) -> io::Result<SocketAddr> {
    let invalid = |_| {
        let text = format!("found the address '{address}', allowed: an IPv4 or IPv6 address");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    };
    Ok(SocketAddr::new(address.parse::<IpAddr>().map_err(invalid)?, port))
}

fn config(security: &SecurityChoice) -> io::Result<Config> {
    let transport = Transport::mesh(mesh::Config { channels: true, ..mesh::Config::net() });
    Ok(Config { transport, ..security.config()? })
}

/// Waits for a result at most for this many milliseconds, or without end.
fn wait<T>(timeout: i32, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let runtime = runtime()?;
    let Ok(millis) = u64::try_from(timeout) else { return runtime.block_on(work) };
    let limited = async { tokio::time::timeout(Duration::from_millis(millis), work).await };
    runtime.block_on(limited).unwrap_or_else(|_| Err(bad(libc::EAGAIN)))
}

/// All handles of the process.
#[derive(Debug)]
struct Handles {
    entries: BTreeMap<i32, Handle>,
    /// Number of the next handle: no number is used again soon.
    next: i32,
}

/// First number of a handle: above all numbers of sockets.
const FIRST: i32 = 1 << 24;
static HANDLES: Mutex<Handles> = Mutex::new(Handles { entries: BTreeMap::new(), next: FIRST });

fn handles() -> io::Result<MutexGuard<'static, Handles>> {
    if table::is_owner() { Ok(lock(&HANDLES)) } else { Err(bad(libc::EOPNOTSUPP)) }
}

fn insert(handle: Handle) -> io::Result<i32> {
    let mut handles = handles()?;
    while handles.entries.contains_key(&handles.next) {
        handles.next = handles.next.checked_add(1).unwrap_or(FIRST);
    }
    let number = handles.next;
    handles.next = number.checked_add(1).unwrap_or(FIRST);
    handles.entries.insert(number, handle);
    Ok(number)
}

fn get(number: i32) -> io::Result<Handle> {
    handles()?.entries.get(&number).cloned().ok_or_else(|| bad(libc::EBADF))
}

fn of_listener(number: i32) -> io::Result<Arc<Listener>> {
    if let Handle::Listener(listener) = get(number)? { Ok(listener) } else { Err(bad(libc::EINVAL)) }
}

fn of_connection(number: i32) -> io::Result<Arc<Stream>> {
    if let Handle::Connection(stream) = get(number)? { Ok(stream) } else { Err(bad(libc::EINVAL)) }
}

fn of_channel(number: i32) -> io::Result<Arc<Messages>> {
    if let Handle::Channel(messages) = get(number)? { Ok(messages) } else { Err(bad(libc::EINVAL)) }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
