//! The state of a socket: unbound, connecting, connected, listening or closed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use multihop_apps::bridge::{Bridge, BridgeListener, runtime};
use multihop_linux::wait::Gate;
use multihop_net::{PublicKey, Stats, Stream};
use nix::libc::{self, ssize_t};
use nix::sys::socket as bsd;

use crate::error::{bad, errno};
use crate::options::TpaOptions;

/// A socket of a C program.
#[derive(Debug)]
pub(crate) struct Socket {
    domain: i32,
    options: Mutex<TpaOptions>,
    state: Mutex<SocketState>,
    /// The last error, until the program reads it.
    failure: Mutex<Option<LastError>>,
}

#[derive(Debug)]
enum SocketState {
    Fresh {
        bound: Option<SocketAddr>,
        /// Doorbell of a failed connection attempt. It stays readable, since the program may still poll it for the
        /// outcome.
        rung: Option<Doorbell>,
    },
    /// The doorbell becomes writable, and the gate opens, when the result is known.
    Connecting(Doorbell, Arc<Gate>),
    Connected(Arc<ConnectedSocket>),
    Listening(Arc<BridgeListener>),
    Closed,
}

/// A connection, with the descriptor that C polls, reads and writes.
#[derive(Debug)]
struct ConnectedSocket {
    bridge: Bridge,
    descriptor: OwnedFd,
    /// Descriptor that stays open, since a thread may still poll it.
    _doorbell: Option<Doorbell>,
}

/// Error number and text of the last failure.
#[derive(Clone, Debug)]
pub(crate) struct LastError {
    pub(crate) errno: i32,
    pub(crate) text: String,
}

/// A descriptor that becomes writable when it rings.
#[derive(Debug)]
struct Doorbell {
    polled: UnixStream,
    other: UnixStream,
}

impl Socket {
    pub(crate) fn new(domain: i32, kind: i32, protocol: i32) -> io::Result<Arc<Self>> {
        if domain != libc::AF_INET && domain != libc::AF_INET6 {
            return Err(bad(libc::EAFNOSUPPORT));
        }
        if kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != libc::SOCK_STREAM || protocol != 0 {
            return Err(bad(libc::EPROTONOSUPPORT));
        }
        let options = TpaOptions { nonblocking: kind & libc::SOCK_NONBLOCK != 0, ..TpaOptions::default() };
        Ok(Self::with(domain, options, SocketState::Fresh { bound: None, rung: None }))
    }

    fn with(domain: i32, options: TpaOptions, state: SocketState) -> Arc<Self> {
        Arc::new(Self {
            domain,
            options: Mutex::new(options),
            state: Mutex::new(state),
            failure: Mutex::new(None),
        })
    }

    pub(crate) fn options(&self) -> MutexGuard<'_, TpaOptions> {
        lock(&self.options)
    }

    pub(crate) fn bind(&self, address: SocketAddr) -> io::Result<()> {
        self.check_family(address)?;
        let mut state = lock(&self.state);
        let SocketState::Fresh { bound: bound @ None, .. } = &mut *state else {
            return Err(bad(libc::EINVAL));
        };
        // The listener opens its own socket; this one only reports errors as `bind` does.
        *bound = Some(UdpSocket::bind(address)?.local_addr()?);
        Ok(())
    }

    pub(crate) fn listen(&self, backlog: i32) -> io::Result<()> {
        let mut state = lock(&self.state);
        let SocketState::Fresh { bound: Some(address), .. } = *state else {
            return Err(bad(if matches!(*state, SocketState::Fresh { .. }) {
                libc::EDESTADDRREQ
            } else {
                libc::EINVAL
            }));
        };
        let mut config = self.remember(self.options().config())?;
        config.limits.backlog = usize::try_from(backlog).unwrap_or(0).clamp(1, config.limits.backlog);
        let listener = self.remember(BridgeListener::bind(address, config))?;
        *state = SocketState::Listening(Arc::new(listener));
        Ok(())
    }

    pub(crate) fn accept(&self) -> io::Result<(Arc<Self>, SocketAddr)> {
        let listener = match &*lock(&self.state) {
            SocketState::Listening(listener) => Arc::clone(listener),
            _ => return Err(bad(libc::EINVAL)),
        };
        let nonblocking = self.options().nonblocking;
        let (bridge, descriptor) = if nonblocking { listener.try_accept() } else { listener.accept() }?;
        let peer = bridge.stream().peer_addr();
        let options = TpaOptions { nonblocking: false, ..self.options().clone() };
        let connection = ConnectedSocket { bridge, descriptor, _doorbell: None };
        Ok((Self::with(self.domain, options, SocketState::Connected(Arc::new(connection))), peer))
    }

    pub(crate) fn connect(self: &Arc<Self>, address: SocketAddr) -> io::Result<()> {
        self.check_family(address)?;
        let config = self.remember(self.options().config())?;
        let mut state = lock(&self.state);
        match *state {
            SocketState::Fresh { bound: None, .. } => {}
            SocketState::Fresh { bound: Some(_), .. } | SocketState::Listening(_) => {
                return Err(bad(libc::EOPNOTSUPP));
            }
            SocketState::Connecting(..) => return Err(bad(libc::EALREADY)),
            SocketState::Connected(_) => return Err(bad(libc::EISCONN)),
            SocketState::Closed => return Err(bad(libc::EBADF)),
        }
        let runtime = runtime()?;
        let gate = Arc::new(Gate::new()?);
        *state = SocketState::Connecting(Doorbell::new()?, Arc::clone(&gate));
        drop(state);
        let socket = Arc::clone(self);
        runtime.spawn(async move {
            let made = async { Bridge::new(Stream::connect(address, &config).await?) };
            socket.decide(made.await);
        });
        if self.options().nonblocking {
            return Err(bad(libc::EINPROGRESS));
        }
        // After EINTR the attempt continues, as with `connect`.
        gate.wait()?;
        match &*lock(&self.state) {
            SocketState::Connected(_) => Ok(()),
            SocketState::Closed => Err(bad(libc::EBADF)),
            _ => Err(bad(lock(&self.failure).as_ref().map_or(libc::ECONNABORTED, |failure| failure.errno))),
        }
    }

    /// Stores the result of a connection attempt.
    fn decide(&self, made: io::Result<(Bridge, OwnedFd)>) {
        let mut state = lock(&self.state);
        let SocketState::Connecting(doorbell, gate) = std::mem::replace(&mut *state, SocketState::Closed)
        else {
            return;
        };
        let made = self.remember(made);
        // Only now: who hears the bell asks for the error.
        doorbell.ring();
        *state = match made {
            Ok((bridge, descriptor)) => SocketState::Connected(Arc::new(ConnectedSocket {
                bridge,
                descriptor,
                _doorbell: Some(doorbell),
            })),
            Err(_) => SocketState::Fresh { bound: None, rung: Some(doorbell) },
        };
        gate.open();
    }

    /// `send` or `recv` on the descriptor, with no flags but the `allowed` ones; blocks only if the socket does.
    pub(crate) fn transfer(
        &self,
        flags: i32,
        allowed: i32,
        call: impl Fn(i32, i32) -> ssize_t,
    ) -> io::Result<ssize_t> {
        if flags & !allowed != 0 {
            return Err(bad(libc::EOPNOTSUPP));
        }
        let nonblocking = self.options().nonblocking || flags & libc::MSG_DONTWAIT != 0;
        let wait = if nonblocking { libc::MSG_DONTWAIT } else { 0 };
        let connection = self.connection(nonblocking)?;
        let done = call(connection.descriptor.as_raw_fd(), flags | wait | libc::MSG_NOSIGNAL);
        if done >= 0 {
            return Ok(done);
        }
        let error = io::Error::last_os_error();
        if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) {
            self.why_it_ended()?;
        }
        Err(error)
    }

    /// The error that ended the connection, if one did.
    pub(crate) fn why_it_ended(&self) -> io::Result<()> {
        self.connection(true)?.bridge.error().map_or(Ok(()), |error| self.remember(Err(error)))
    }

    pub(crate) fn shutdown(&self, how: i32) -> io::Result<()> {
        let how = match how {
            libc::SHUT_RD => bsd::Shutdown::Read,
            libc::SHUT_WR => bsd::Shutdown::Write,
            libc::SHUT_RDWR => bsd::Shutdown::Both,
            _ => return Err(bad(libc::EINVAL)),
        };
        Ok(bsd::shutdown(self.connection(false)?.descriptor.as_raw_fd(), how)?)
    }

    /// Closes the socket for all threads; then waits until the peer has all data.
    pub(crate) fn close(&self) -> io::Result<()> {
        let state = std::mem::replace(&mut *lock(&self.state), SocketState::Closed);
        match state {
            SocketState::Listening(listener) => listener.close(),
            SocketState::Connected(connection) => {
                let _ = bsd::shutdown(connection.descriptor.as_raw_fd(), bsd::Shutdown::Both);
                let bridge = connection.bridge.clone();
                drop(connection);
                let TpaOptions { nonblocking, linger, .. } = *self.options();
                if !nonblocking && linger > 0 {
                    return close(bridge, Duration::from_secs(linger.unsigned_abs().into()));
                }
            }
            SocketState::Connecting(_, gate) => gate.open(),
            SocketState::Fresh { .. } | SocketState::Closed => {}
        }
        Ok(())
    }

    pub(crate) fn poll_descriptor(&self) -> io::Result<i32> {
        match &*lock(&self.state) {
            SocketState::Connecting(doorbell, _) | SocketState::Fresh { rung: Some(doorbell), .. } => {
                Ok(doorbell.polled.as_raw_fd())
            }
            SocketState::Connected(connection) => Ok(connection.descriptor.as_raw_fd()),
            SocketState::Listening(listener) => Ok(listener.as_fd().as_raw_fd()),
            SocketState::Fresh { .. } | SocketState::Closed => Err(bad(libc::ENOTCONN)),
        }
    }

    pub(crate) fn stats(&self) -> io::Result<Stats> {
        Ok(self.connection(true)?.bridge.stream().stats())
    }

    pub(crate) fn peer_key(&self) -> io::Result<PublicKey> {
        self.connection(true)?.bridge.stream().peer_key().ok_or_else(|| bad(libc::ENOENT))
    }

    pub(crate) fn peer_address(&self) -> io::Result<SocketAddr> {
        Ok(self.connection(true)?.bridge.stream().peer_addr())
    }

    pub(crate) fn local_address(&self) -> io::Result<SocketAddr> {
        match &*lock(&self.state) {
            SocketState::Fresh { bound: Some(address), .. } => return Ok(*address),
            SocketState::Listening(listener) => return Ok(listener.local_addr()),
            _ => {}
        }
        Ok(self.connection(true)?.bridge.stream().local_addr())
    }

    /// The last error, or the error that ended the connection.
    pub(crate) fn failure(&self) -> Option<LastError> {
        // Released first: `decide` takes this lock while it holds that of the state.
        let known = lock(&self.failure).clone();
        known.or_else(|| {
            let error = self.connection(true).ok()?.bridge.error()?;
            Some(LastError { errno: errno(&error), text: error.to_string() })
        })
    }

    /// The last error, or the error that ended the connection; clears the last error.
    pub(crate) fn take_failure(&self) -> Option<LastError> {
        let failure = self.failure();
        *lock(&self.failure) = None;
        failure
    }

    fn remember<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            *lock(&self.failure) = Some(LastError { errno: errno(error), text: error.to_string() });
        }
        result
    }

    /// The connection; waits while it is being established.
    fn connection(&self, nonblocking: bool) -> io::Result<Arc<ConnectedSocket>> {
        loop {
            let gate = match &*lock(&self.state) {
                SocketState::Connected(connection) => return Ok(Arc::clone(connection)),
                SocketState::Connecting(..) if nonblocking => return Err(bad(libc::EAGAIN)),
                SocketState::Connecting(_, gate) => Arc::clone(gate),
                _ => return Err(bad(libc::ENOTCONN)),
            };
            gate.wait()?;
        }
    }

    fn check_family(&self, address: SocketAddr) -> io::Result<()> {
        if address.is_ipv4() == (self.domain == libc::AF_INET) {
            Ok(())
        } else {
            Err(bad(libc::EAFNOSUPPORT))
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until the peer has all data. After EINTR the connection goes on in the background.
fn close(bridge: Bridge, linger: Duration) -> io::Result<()> {
    let gate = Arc::new(Gate::new()?);
    let (says, result) = mpsc::sync_channel(1);
    let opens = Arc::clone(&gate);
    runtime()?.spawn(async move {
        let done = tokio::time::timeout(linger, bridge.closed()).await;
        let done = done.unwrap_or_else(|_| {
            bridge.stream().abort();
            let text = "the peer did not receive all data within the linger time";
            Err(io::Error::new(ErrorKind::TimedOut, text))
        });
        // Nobody listens after EINTR.
        let _ = says.send(done);
        opens.open();
    });
    gate.wait()?;
    result.recv().unwrap_or(Ok(()))
}

impl Doorbell {
    fn new() -> io::Result<Self> {
        let (polled, other) = UnixStream::pair()?;
        polled.set_nonblocking(true)?;
        other.set_nonblocking(true)?;
        let full = [0; 4096];
        while (&polled).write(&full).is_ok() {}
        Ok(Self { polled, other })
    }

    fn ring(&self) {
        let mut buffer = [0; 4096];
        while (&self.other).read(&mut buffer).is_ok_and(|length| length > 0) {}
    }
}
