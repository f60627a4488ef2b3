//! The task that drives a hub: one per socket.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use multihop_core::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time;

use crate::alarm::Alarm;
use crate::config::Config;
use crate::routes::{RouteNews, next_changes};
use crate::socket::{Inbox, Outbox, Parcel, SendResult, Socket, local_address, path_mtu};
use multihop_hub::Error;
use multihop_hub::{DeliveryFailure, Environment, FailureCause, Hub, HubEvent, Id};

/// A hub, and the tasks that wait for it.
#[derive(Debug)]
pub(crate) struct SharedHub {
    pub(crate) local: SocketAddr,
    /// Wakes tasks that wait in accept.
    pub(crate) incoming: Notify,
    state: Mutex<HubState>,
    /// Notification that wakes the driver: the hub has something to send, or a new deadline.
    kick: Notify,
    epoch: time::Instant,
}

/// State that the driver of a socket and its streams share.
#[derive(Debug)]
pub(crate) struct HubState {
    pub(crate) hub: Hub,
    waiting: Vec<Waiters>,
    /// Whether the driver has ended, with the runtime or with the socket.
    pub(crate) is_dead: bool,
}

/// The tasks that wait for a connection.
#[derive(Debug, Default)]
struct Waiters {
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Each task that waits for a channel, once.
    channels: Vec<Waker>,
}

/// Side of a stream for which a task can wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    /// Data to read, or the end of the stream.
    Read,
    /// Room to write, or the end of opening or closing.
    Write,
    /// Messages, room for messages, or a new channel.
    Channel,
}

impl SharedHub {
    /// Opens a socket and starts the task that drives its hub; `begin` gives the hub its first work.
    pub(crate) fn start<R>(
        local: SocketAddr,
        config: &Config,
        begin: impl FnOnce(&mut Hub) -> Result<R, Error>,
    ) -> io::Result<(Arc<Self>, R)> {
        let mut socket = Socket::open(local, config.initial_ttl, &config.socket)?;
        socket.use_addresses(&config.local)?;
        let local = socket.local();
        let environment = Environment {
            entropy: Box::new(entropy),
            path_mtu: Box::new(path_mtu),
            local_address: Box::new(local_address),
        };
        let mut hub = Hub::new(&config.for_hub(), local.port(), environment)?;
        let begun = begin(&mut hub)?;
        let state = HubState { hub, waiting: Vec::new(), is_dead: false };
        let shared = Arc::new(Self {
            local,
            incoming: Notify::new(),
            state: Mutex::new(state),
            kick: Notify::new(),
            epoch: time::Instant::now(),
        });
        let alarm = Alarm::new()?;
        let routes = RouteNews::open();
        tokio::spawn(Driver { shared: Arc::clone(&shared), socket, alarm, routes, lingers: None }.run());
        Ok((shared, begun))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the driver after a call of the hub.
    pub(crate) fn kick(&self) {
        self.kick.notify_one();
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.epoch.elapsed())
    }

    fn at(&self, at: Instant) -> time::Instant {
        self.epoch + std::time::Duration::from(at - Instant::ZERO)
    }
}

impl HubState {
    /// Wakes this task when something happens to the connection.
    pub(crate) fn wait(&mut self, id: Id, side: Side, waker: &Waker) {
        if self.waiting.len() <= id.index() {
            self.waiting.resize_with(id.index() + 1, Waiters::default);
        }
        let waiting = &mut self.waiting[id.index()];
        let place = match side {
            Side::Read => &mut waiting.reader,
            Side::Write => &mut waiting.writer,
            Side::Channel => {
                if !waiting.channels.iter().any(|old| old.will_wake(waker)) {
                    waiting.channels.push(waker.clone());
                }
                return;
            }
        };
        match place {
            Some(old) if old.will_wake(waker) => {}
            _ => *place = Some(waker.clone()),
        }
    }

    /// Wakes all tasks that wait for a connection.
    pub(crate) fn wake_all(&mut self) {
        self.waiting.iter_mut().for_each(Waiters::wake);
    }

    fn wake(&mut self, id: Id) {
        if let Some(waiting) = self.waiting.get_mut(id.index()) {
            waiting.wake();
        }
    }
}

impl Waiters {
    fn wake(&mut self) {
        let stream = [self.reader.take(), self.writer.take()].into_iter().flatten();
        stream.chain(self.channels.drain(..)).for_each(Waker::wake);
    }
}

struct Driver {
    shared: Arc<SharedHub>,
    socket: Socket,
    alarm: Alarm,
    routes: Option<RouteNews>,
    lingers: Option<Lingers>,
}

/// Counts drivers that only serve lingering connections, which answer late segments.
struct Lingers;

impl Driver {
    async fn run(mut self) {
        let (mut inbox, mut outbox) = (Inbox::new(), Outbox::default());
        loop {
            let Some(deadline) = self.transmit(&mut outbox).await else { return };
            if let Err(error) = self.alarm.set(deadline.map(|at| self.shared.at(at))) {
                tracing::error!(%error, "the timer failed: all connections of the socket end");
                return;
            }
            tokio::select! {
                () = self.socket.ready() => self.receive(&mut inbox),
                () = self.alarm.ring() => {
                    let now = self.shared.now();
                    self.shared.lock().hub.handle_timeout(now);
                }
                () = self.shared.kick.notified() => {}
                changes = next_changes(&mut self.routes) => {
                    let now = self.shared.now();
                    let lookups = self.shared.lock().hub.on_route_changes(now, &changes);
                    if let Some(routes) = &mut self.routes {
                        routes.rest(lookups);
                    }
                }
            }
        }
    }

    /// Sends all output of the hub. Returns its deadline, or `None` when the hub is no longer needed.
    async fn transmit(&mut self, outbox: &mut Outbox) -> Option<Option<Instant>> {
        loop {
            outbox.clear();
            let deadline = self.fill(outbox)?;
            if outbox.parcels().is_empty() {
                return Some(deadline);
            }
            for parcel in outbox.parcels() {
                self.send(parcel, &outbox.bytes).await;
            }
        }
    }

    fn fill(&mut self, outbox: &mut Outbox) -> Option<Option<Instant>> {
        let now = self.shared.now();
        let mut state = self.shared.lock();
        while !outbox.is_full()
            && let Some(transmit) = state.hub.poll_transmit(now, &mut outbox.bytes)
        {
            outbox.push(&transmit);
        }
        while let Some(event) = state.hub.poll_event() {
            match event {
                HubEvent::Incoming => self.shared.incoming.notify_one(),
                HubEvent::Changed(id) => state.wake(id),
            }
        }
        let is_idle = outbox.parcels().is_empty();
        let over = is_idle
            && (state.hub.is_finished() || (state.hub.only_lingers() && !Lingers::may(&mut self.lingers)));
        (!over).then(|| state.hub.poll_timeout())
    }

    async fn send(&mut self, parcel: &Parcel, bytes: &[u8]) {
        loop {
            match self.socket.send(parcel, bytes) {
                SendResult::Done => return,
                SendResult::Later => self.socket.writable().await,
                SendResult::Unreachable => {
                    let (to, cause, quoted) =
                        (parcel.to, FailureCause::Unreachable, &bytes[parcel.range.clone()]);
                    let failure = DeliveryFailure { to, reporter: None, cause, quoted };
                    return self.on_delivery_failure(&failure);
                }
            }
        }
    }

    fn receive(&self, inbox: &mut Inbox) {
        let mut failures = 0;
        while failures < BATCH && self.socket.failure(inbox, |failure| self.on_delivery_failure(&failure)) {
            failures += 1;
        }
        let mut state = self.shared.lock();
        for _ in 0..BATCH {
            // Datagrams that arrive meanwhile must not count as having arrived before.
            if !self.socket.receive(inbox, |datagram| state.hub.receive(self.shared.now(), datagram)) {
                return;
            }
        }
    }

    fn on_delivery_failure(&self, failure: &DeliveryFailure<'_>) {
        let DeliveryFailure { to, reporter, cause, .. } = failure;
        tracing::debug!(%to, ?reporter, ?cause, "datagram was not delivered");
        self.shared.lock().hub.on_delivery_failure(self.shared.now(), failure);
    }
}

impl Lingers {
    /// Whether this socket may stay open for lingering connections. Without a limit, a program that opens many
    /// connections in turn would run out of descriptors.
    fn may(already: &mut Option<Self>) -> bool {
        *already = already.take().or_else(Self::begin);
        already.is_some()
    }

    fn begin() -> Option<Self> {
        let more = |n: usize| (n < MAX_LINGERING).then_some(n + 1);
        LINGERING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self)
    }
}

impl Drop for Lingers {
    fn drop(&mut self) {
        LINGERING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Number of drivers in this process that linger.
static LINGERING: AtomicUsize = AtomicUsize::new(0);
/// Largest number of lingering sockets: a quarter of the usual limit of descriptors of a process.
const MAX_LINGERING: usize = 256;

impl Drop for Driver {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_dead = true;
        state.wake_all();
        self.shared.incoming.notify_waiters();
    }
}

fn entropy(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the system provides random numbers");
}

/// Largest number of reading system calls before anything is sent.
const BATCH: usize = 64;
