//! The numbers of sockets: never those of file descriptors. They belong to one process, not to its children.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::libc;

use crate::error::bad;
use crate::socket::Socket;

/// First number of a socket. It lies far above file descriptors, so that a call with a descriptor in place of a
/// socket fails without effect.
const FIRST: i32 = 1 << 20;
const MOST: usize = 1 << 16;

static SOCKETS: Mutex<Vec<Option<Arc<Socket>>>> = Mutex::new(Vec::new());
/// Number of the process that owns all sockets: the one that called the library first; 0 before that.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Stores a socket under the lowest free number and returns the number.
pub(crate) fn insert(socket: Arc<Socket>) -> io::Result<i32> {
    let mut sockets = lock().ok_or_else(|| bad(libc::EOPNOTSUPP))?;
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

/// Finds the socket with this number.
pub(crate) fn get(number: i32) -> io::Result<Arc<Socket>> {
    place(number).and_then(|place| lock()?.get(place)?.clone()).ok_or_else(|| bad(libc::EBADF))
}

/// Removes a socket: its number becomes invalid.
pub(crate) fn remove(number: i32) -> io::Result<Arc<Socket>> {
    place(number).and_then(|place| lock()?.get_mut(place)?.take()).ok_or_else(|| bad(libc::EBADF))
}

fn place(number: i32) -> Option<usize> {
    usize::try_from(number.checked_sub(FIRST)?).ok()
}

/// All sockets; `None` in a child of the process that owns them. There the thread that runs the protocol does not
/// exist, and a lock that another thread held at the fork is never released.
fn lock() -> Option<MutexGuard<'static, Vec<Option<Arc<Socket>>>>> {
    is_owner().then(|| SOCKETS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether this process owns the sockets, and not a parent of it.
pub(crate) fn is_owner() -> bool {
    let own = std::process::id();
    let owner = OWNER
        .compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed)
        .map_or_else(|owner| owner, |_| own);
    owner == own
}
