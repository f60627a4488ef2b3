//! The task that moves a hub: one for each socket.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use multihop_core::Instant;
use socket2::{Domain, Protocol, Type};
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::time;

use crate::config::{Config, SocketOptions};
use crate::error::Error;
use crate::hub::{Datagram, Event, Hub, Id, Transmit};

/// A hub and those who wait for it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) local: SocketAddr,
    /// Somebody waits in accept.
    pub(crate) incoming: Notify,
    state: Mutex<State>,
    /// The hub has something to send, or to wait for.
    kick: Notify,
    epoch: time::Instant,
}

/// What the task and the streams share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) hub: Hub,
    waiting: Vec<Waiting>,
    /// The task has ended, with the runtime or with the socket.
    pub(crate) is_dead: bool,
}

/// The tasks that wait for a connection.
#[derive(Debug, Default)]
struct Waiting {
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    /// Something to read.
    Read,
    /// Room to write, or the connection to open or close.
    Write,
}

impl Shared {
    /// Opens a socket and starts the task that moves its hub; `begin` gives it something to do.
    pub(crate) fn start<R>(
        local: SocketAddr,
        config: &Config,
        begin: impl FnOnce(&mut Hub) -> Result<R, Error>,
    ) -> io::Result<(Arc<Self>, R)> {
        let socket = open(local, &config.socket)?;
        let local = socket.local_addr()?;
        let mut hub = Hub::new(config, local.port(), Box::new(entropy))?;
        let begun = begin(&mut hub)?;
        let state = State { hub, waiting: Vec::new(), is_dead: false };
        let shared = Arc::new(Self {
            local,
            incoming: Notify::new(),
            state: Mutex::new(state),
            kick: Notify::new(),
            epoch: time::Instant::now(),
        });
        tokio::spawn(Driver { shared: Arc::clone(&shared), socket }.run());
        Ok((shared, begun))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hub has been called: what it wants to send must leave.
    pub(crate) fn kick(&self) {
        self.kick.notify_one();
    }

    fn now(&self) -> Instant {
        let elapsed = multihop_core::Duration::from(self.epoch.elapsed());
        Instant::ZERO + elapsed
    }
}

impl State {
    /// Wakes this task when something happens to the connection.
    pub(crate) fn wait(&mut self, id: Id, side: Side, waker: &Waker) {
        if self.waiting.len() <= id.index() {
            self.waiting.resize_with(id.index() + 1, Waiting::default);
        }
        let waiting = &mut self.waiting[id.index()];
        let place = match side {
            Side::Read => &mut waiting.reader,
            Side::Write => &mut waiting.writer,
        };
        match place {
            Some(old) if old.will_wake(waker) => {}
            _ => *place = Some(waker.clone()),
        }
    }

    fn wake(&mut self, id: Id) {
        if let Some(waiting) = self.waiting.get_mut(id.index()) {
            waiting.wake();
        }
    }
}

impl Waiting {
    fn wake(&mut self) {
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }
}

struct Driver {
    shared: Arc<Shared>,
    socket: UdpSocket,
}

impl Driver {
    async fn run(self) {
        let (mut input, mut output) = (vec![0; usize::from(u16::MAX)], Vec::new());
        loop {
            let Some(deadline) = self.transmit(&mut output).await else { return };
            let wait = async {
                match deadline {
                    Some(at) => time::sleep_until(self.at(at)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.socket.readable() => self.receive(&mut input),
                () = wait => {
                    let now = self.shared.now();
                    self.shared.lock().hub.handle_timeout(now);
                }
                () = self.shared.kick.notified() => {}
            }
        }
    }

    /// Sends what is to leave. Returns when to come back, or `None` when nobody needs the hub any more.
    async fn transmit(&self, output: &mut Vec<u8>) -> Option<Option<Instant>> {
        loop {
            output.clear();
            let (transmit, deadline) = {
                let now = self.shared.now();
                let mut state = self.shared.lock();
                let transmit = state.hub.poll_transmit(now, output);
                self.wake(&mut state);
                if transmit.is_none() && state.hub.is_finished() {
                    return None;
                }
                (transmit, state.hub.poll_timeout())
            };
            let Some(Transmit { to, .. }) = transmit else { return Some(deadline) };
            // What the system does not take is lost, as it might be on the way.
            if let Err(error) = self.socket.send_to(output, to).await {
                tracing::debug!(%to, %error, "datagram not sent");
            }
        }
    }

    fn wake(&self, state: &mut State) {
        while let Some(event) = state.hub.poll_event() {
            match event {
                Event::Incoming => self.shared.incoming.notify_one(),
                Event::Changed(id) => state.wake(id),
            }
        }
    }

    fn receive(&self, input: &mut [u8]) {
        for _ in 0..BATCH {
            match self.socket.try_recv_from(input) {
                Ok((len, from)) => {
                    let now = self.shared.now();
                    let datagram = Datagram { from, ttl: None, bytes: &input[..len] };
                    self.shared.lock().hub.receive(now, datagram);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The error of a datagram sent before, which says nothing of what arrives.
                Err(_) => {}
            }
        }
    }

    fn at(&self, at: Instant) -> time::Instant {
        self.shared.epoch + std::time::Duration::from(at - Instant::ZERO)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_dead = true;
        for waiting in &mut state.waiting {
            waiting.wake();
        }
        self.shared.incoming.notify_waiters();
    }
}

fn open(local: SocketAddr, options: &SocketOptions) -> io::Result<UdpSocket> {
    let socket = socket2::Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // The system takes what its limit allows.
    socket.set_recv_buffer_size(options.receive_buffer)?;
    socket.set_send_buffer_size(options.send_buffer)?;
    socket.bind(&local.into())?;
    UdpSocket::from_std(socket.into())
}

fn entropy(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the system has random numbers");
}

/// Datagrams read before anything is sent.
const BATCH: usize = 64;
