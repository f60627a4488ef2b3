//! A stream as a file descriptor, for languages whose programs poll descriptors.
//!
//! The program gets one end of a Unix socket pair, with all its features: blocking or not, `poll`, half-close,
//! timeouts. Two loops copy between the other end and the stream, so that back-pressure works in both
//! directions.

mod choice;
mod listener;

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

pub use choice::SecurityChoice;
pub use listener::BridgeListener;
use multihop_net::{Config, Stream};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{SigSet, Signal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::runtime::{self, Runtime};
use tokio::sync::{Notify, watch};

/// Bytes of the buffer of each loop.
const CHUNK: usize = 16 * 1024;
/// Interval of checks whether a program has closed a descriptor whose sending side it had shut down.
const HANG_UP_INTERVAL: Duration = Duration::from_millis(200);

/// The library's side of a stream whose descriptor belongs to a program.
#[derive(Clone, Debug)]
pub struct Bridge {
    stream: Arc<Mutex<Stream>>,
    end: watch::Receiver<Option<Ending>>,
}

/// Result of a connection. An error is stored as its kind and text, so that it can be cloned for several
/// callers.
type Ending = Result<(), (io::ErrorKind, String)>;

impl Bridge {
    /// Converts a stream into a descriptor, initially blocking. Must run inside tokio.
    pub fn new(stream: Stream) -> io::Result<(Self, OwnedFd)> {
        let (program, ours) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let ours = tokio::net::UnixStream::from_std(ours)?;
        let stream = Arc::new(Mutex::new(stream));
        let (said, end) = watch::channel(None);
        tokio::spawn(run(Arc::clone(&stream), ours, said));
        Ok((Self { stream, end }, program.into()))
    }

    /// Opens a connection; for threads outside of tokio.
    pub fn connect(addr: SocketAddr, config: &Config) -> io::Result<(Self, OwnedFd)> {
        runtime()?.block_on(async { Self::new(Stream::connect(addr, config).await?) })
    }

    /// The stream, for its addresses and statistics.
    pub fn stream(&self) -> MutexGuard<'_, Stream> {
        lock(&self.stream)
    }

    /// The error of the connection, if there is one. The descriptor itself cannot report it.
    pub fn error(&self) -> Option<io::Error> {
        self.end.borrow().clone()?.err().map(|(kind, text)| io::Error::new(kind, text))
    }

    /// Waits until the program has closed its descriptor and the peer has everything that was written.
    pub async fn closed(&self) -> io::Result<()> {
        let mut end = self.end.clone();
        let said = end.wait_for(Option::is_some).await.map_err(io::Error::other)?.clone();
        said.unwrap_or(Ok(())).map_err(|(kind, text)| io::Error::new(kind, text))
    }
}

/// The tokio runtime of a process that has none: one thread, until the process ends.
pub fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("tpa")
        .on_thread_start(leave_signals_to_the_program)
        .enable_all()
        .build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

/// Blocks signals in this thread. A signal for the process must interrupt calls of the program, so its
/// handler must run in a thread of the program.
fn leave_signals_to_the_program() {
    let mut blocked = SigSet::all();
    for fault in [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGABRT] {
        blocked.remove(fault);
    }
    // After a failure, signals may arrive in this thread as well.
    let _ = blocked.thread_block();
}

fn lock(stream: &Mutex<Stream>) -> MutexGuard<'_, Stream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies, and records the result before the program's descriptor closes.
async fn run(
    stream: Arc<Mutex<Stream>>,
    mut program: tokio::net::UnixStream,
    said: watch::Sender<Option<Ending>>,
) {
    let result = carry(&stream, &mut program).await;
    if result.is_err() {
        lock(&stream).abort();
    }
    said.send_replace(Some(result.map_err(|error| (error.kind(), error.to_string()))));
}

/// Copies in both directions until both end, or until the program is gone and the peer has all data.
async fn carry(stream: &Mutex<Stream>, program: &mut tokio::net::UnixStream) -> io::Result<()> {
    let descriptor = program.as_fd().try_clone_to_owned()?;
    let (from_program, to_program) = program.split();
    let sent = Notify::new();
    let outbound = send(stream, from_program, &sent);
    let inbound = async {
        tokio::select! {
            done = receive(stream, to_program) => done,
            () = hung_up(&descriptor, &sent) => Ok(()),
        }
    };
    tokio::try_join!(outbound, inbound).map(drop)
}

/// Copies bytes from the program to the peer, until the program closes its side.
async fn send(stream: &Mutex<Stream>, mut program: ReadHalf<'_>, sent: &Notify) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = program.read(&mut buffer).await?;
        if length == 0 {
            sent.notify_one();
            return poll_fn(|cx| Pin::new(&mut *lock(stream)).poll_shutdown(cx)).await;
        }
        let mut rest = &buffer[..length];
        while !rest.is_empty() {
            let written = poll_fn(|cx| Pin::new(&mut *lock(stream)).poll_write(cx, rest)).await?;
            rest = &rest[written..];
        }
    }
}

/// Copies bytes from the peer to the program, until either closes.
async fn receive(stream: &Mutex<Stream>, mut program: WriteHalf<'_>) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let mut read = ReadBuf::new(&mut buffer);
        poll_fn(|cx| Pin::new(&mut *lock(stream)).poll_read(cx, &mut read)).await?;
        if read.filled().is_empty() {
            return program.shutdown().await;
        }
        if program.write_all(read.filled()).await.is_err() {
            return Ok(());
        }
    }
}

/// Waits until the program has closed its descriptor, not only its sending side.
async fn hung_up(descriptor: &OwnedFd, sent: &Notify) {
    sent.notified().await;
    loop {
        let mut fds = [PollFd::new(descriptor.as_fd(), PollFlags::empty())];
        let hung_up = nix::poll::poll(&mut fds, PollTimeout::ZERO).is_ok()
            && fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP));
        if hung_up {
            return;
        }
        tokio::time::sleep(HANG_UP_INTERVAL).await;
    }
}
