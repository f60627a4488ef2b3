//! The numbers of sockets: never those of file descriptors.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::libc;

use crate::error::bad;
use crate::socket::Socket;

/// The first number: far above descriptors, so that a call with the wrong kind fails without effect.
const FIRST: i32 = 1 << 20;
const MOST: usize = 1 << 16;

static SOCKETS: Mutex<Vec<Option<Arc<Socket>>>> = Mutex::new(Vec::new());

/// The lowest free number for a socket.
pub(crate) fn insert(socket: Arc<Socket>) -> io::Result<i32> {
    let mut sockets = lock();
    let place = sockets.iter().position(Option::is_none).unwrap_or(sockets.len());
    if place == MOST {
        return Err(bad(libc::EMFILE));
    }
    if place == sockets.len() {
        sockets.push(None);
    }
    sockets[place] = Some(socket);
    Ok(FIRST + i32::try_from(place).expect("below MOST"))
}

/// The socket of a number.
pub(crate) fn get(number: i32) -> io::Result<Arc<Socket>> {
    place(number).and_then(|place| lock().get(place)?.clone()).ok_or_else(|| bad(libc::EBADF))
}

/// Removes a socket: its number becomes invalid.
pub(crate) fn remove(number: i32) -> io::Result<Arc<Socket>> {
    place(number).and_then(|place| lock().get_mut(place)?.take()).ok_or_else(|| bad(libc::EBADF))
}

fn place(number: i32) -> Option<usize> {
    usize::try_from(number.checked_sub(FIRST)?).ok()
}

fn lock() -> MutexGuard<'static, Vec<Option<Arc<Socket>>>> {
    SOCKETS.lock().unwrap_or_else(PoisonError::into_inner)
}
