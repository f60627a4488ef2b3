//! A listener with a descriptor that programs can poll.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use multihop_net::{Config, Listener};
use nix::sys::socket::{MsgFlags, recv};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::{Bridge, runtime};

/// A listener with a descriptor that is readable while a connection waits. Dropping it stops listening.
#[derive(Debug)]
pub struct BridgeListener {
    local: SocketAddr,
    /// Socket that contains one byte for each waiting connection, so that its descriptor is readable.
    ready: UnixStream,
    waiting: Mutex<mpsc::Receiver<(Bridge, OwnedFd)>>,
    task: AbortHandle,
}

impl BridgeListener {
    /// Listens on an address; callable from threads outside of tokio.
    pub fn bind(addr: SocketAddr, config: Config) -> io::Result<Self> {
        let runtime = runtime()?;
        let (ready, says) = UnixStream::pair()?;
        says.set_nonblocking(true)?;
        let (queue, waiting) = mpsc::channel(config.limits.backlog.max(1));
        let listener = runtime.block_on(Listener::bind(addr, config))?;
        let local = listener.local_addr();
        let _inside = runtime.enter();
        let says = tokio::net::UnixStream::from_std(says)?;
        let task = tokio::spawn(accept(listener, queue, says)).abort_handle();
        Ok(Self { local, ready, waiting: Mutex::new(waiting), task })
    }

    /// Address and port on which the listener accepts connections.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The next waiting connection; `WouldBlock` if none waits.
    pub fn try_accept(&self) -> io::Result<(Bridge, OwnedFd)> {
        let closed = || io::Error::new(io::ErrorKind::InvalidInput, "the listener is closed");
        if self.receive(MsgFlags::MSG_DONTWAIT)? == 0 {
            return Err(closed());
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.try_recv().map_err(|_| closed())
    }

    /// Waits for the next connection. A signal interrupts the wait, unless its handler was installed with
    /// `SA_RESTART`.
    pub fn accept(&self) -> io::Result<(Bridge, OwnedFd)> {
        loop {
            match self.try_accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                result => return result,
            }
        }
    }

    /// Closes the listener: threads that wait for a connection wait no longer.
    pub fn close(&self) {
        self.task.abort();
        let _ = self.ready.shutdown(std::net::Shutdown::Both);
    }

    /// Waits until a connection is ready or the listener is closed. Uses `recv`, which the kernel restarts after a
    /// signal under `SA_RESTART`; `poll` is never restarted (signal(7)).
    fn wait(&self) -> io::Result<()> {
        self.receive(MsgFlags::MSG_PEEK).map(drop)
    }

    /// Takes a byte, or peeks at it; 0 if the listener is closed.
    fn receive(&self, flags: MsgFlags) -> io::Result<usize> {
        Ok(recv(self.ready.as_raw_fd(), &mut [0], flags)?)
    }
}

impl AsFd for BridgeListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

impl Drop for BridgeListener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Puts accepted connections into the queue; accepts none while the queue is full.
async fn accept(
    listener: Listener,
    queue: mpsc::Sender<(Bridge, OwnedFd)>,
    mut says: tokio::net::UnixStream,
) -> io::Result<()> {
    loop {
        let bridge = Bridge::new(listener.accept().await?)?;
        if queue.send(bridge).await.is_err() {
            return Ok(());
        }
        says.write_all(&[0]).await?;
    }
}
