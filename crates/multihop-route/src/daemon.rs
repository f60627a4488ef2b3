//! The loop that drives a router with the sockets, interfaces and routes of this host.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use multihop_core::{Duration, Instant, earliest};
use multihop_netlink::{Events, Interface, interfaces};
use multihop_routing::agent::{RouteChanges, RoutingAgent as _};
use multihop_wire::olsr;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use thiserror::Error;

use crate::config::Config;
use crate::kernel::{Installed, flush};
use crate::parameters::Parameters;
use crate::privileges;
use crate::router::{Port, Router};
use crate::socket::PortSocket;
use crate::status::{InterfaceStatus, MessageCounts, NeighbourStatus, Reporter, RouteStatus, Status};

/// Why a daemon cannot start or go on.
#[derive(Debug, Error)]
pub enum RouteError {
    /// Another daemon has this network namespace.
    #[error("another multihop route runs in this network namespace")]
    Runs,
    /// The system refuses something.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        error: io::Error,
    },
}

/// Ends or reloads a daemon: by signals, or by its methods from another thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Asked>);

#[derive(Debug)]
struct Asked {
    /// The signal that ends the daemon; zero if none.
    end: Arc<AtomicUsize>,
    reload: Arc<AtomicUsize>,
    /// Readable when something was asked.
    bell: UnixStream,
    ring: UnixStream,
}

impl Stop {
    /// Nobody has asked for anything yet.
    pub fn new() -> io::Result<Self> {
        let (bell, ring) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        ring.set_nonblocking(true)?;
        Ok(Self(Arc::new(Asked { end: Arc::default(), reload: Arc::default(), bell, ring })))
    }

    /// The same with the signals of this process: SIGINT and SIGTERM end the daemon, SIGHUP reloads its configuration.
    pub fn by_signals() -> io::Result<Self> {
        let stop = Self::new()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let asked = Arc::clone(&stop.0);
            let number = usize::try_from(signal).expect("numbers of signals are positive");
            let note = if signal == SIGHUP { Arc::clone(&asked.reload) } else { Arc::clone(&asked.end) };
            // First the note, then the bell.
            flag::register_usize(signal, note, number)?;
            low_level::pipe::register(signal, asked.ring.try_clone()?)?;
        }
        Ok(stop)
    }

    /// Ends the daemon.
    pub fn end(&self) {
        self.0.end.store(usize::try_from(SIGTERM).expect("a positive number"), Ordering::Release);
        // A bell that is full rings already.
        let _ = (&self.0.ring).write(&[1]);
    }

    /// Makes the daemon read its configuration again.
    pub fn reload(&self) {
        self.0.reload.store(usize::try_from(SIGHUP).expect("a positive number"), Ordering::Release);
        let _ = (&self.0.ring).write(&[1]);
    }

    /// The signal that has ended the daemon, if one has.
    pub fn signal(&self) -> Option<i32> {
        i32::try_from(self.0.end.load(Ordering::Acquire)).ok().filter(|signal| *signal > 0)
    }

    /// Whether a reload was asked for since the last call.
    fn take_reload(&self) -> bool {
        let _ = (&self.0.bell).read(&mut [0; 64]);
        self.0.reload.swap(0, Ordering::AcqRel) > 0
    }
}

/// Reads the configuration again; the error is for people.
pub type Reload<'a> = &'a mut dyn FnMut() -> Result<Config, String>;

/// Finds routes, and keeps the kernel's tables as they say, until it is asked to end. Then it removes them.
///
/// Works in the network namespace of this thread, and gives up the thread's other privileges.
pub fn run(config: Config, stop: &Stop, reload: Reload<'_>) -> Result<(), RouteError> {
    let mut daemon = Daemon::start(config)?;
    let done = daemon.serve(stop, reload);
    let cleaned = flush().tried("remove the routes");
    done.and(cleaned.map(drop))
}

struct Daemon {
    router: Router,
    began: std::time::Instant,
    events: Events,
    reporter: Reporter,
    sockets: Vec<Open>,
    installed: Installed,
    parameters: Parameters,
    buffer: Vec<u8>,
    /// When the kernel's routes are next made those of the router.
    update_at: Option<Instant>,
    /// When interfaces that could not be opened are tried again.
    retry_at: Option<Instant>,
    /// Routes of an agent that has begun anew remain until then.
    keep_until: Option<Instant>,
}

/// An interface with its socket.
struct Open {
    name: String,
    port: Port,
    socket: PortSocket,
}

impl Daemon {
    fn start(config: Config) -> Result<Self, RouteError> {
        let reporter = Reporter::open().tried("open the socket for the status")?.ok_or(RouteError::Runs)?;
        let left = flush().tried("read and remove routes (it takes CAP_NET_ADMIN)")?;
        if left > 0 {
            tracing::warn!("removed {left} routes of a daemon that was killed");
        }
        let mut parameters = Parameters::default();
        if config.forward {
            parameters.forward();
        }
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = u64::from(epoch.subsec_nanos()) << 32 | u64::from(std::process::id());
        let user = config.user.clone();
        let mut daemon = Self {
            router: Router::new(config, seed, epoch.as_secs()),
            began: std::time::Instant::now(),
            events: Events::watch().tried("watch the interfaces")?,
            reporter,
            sockets: Vec::new(),
            installed: Installed::default(),
            parameters,
            buffer: vec![0; LARGEST],
            update_at: None,
            retry_at: None,
            keep_until: None,
        };
        daemon.look(Instant::ZERO)?;
        privileges::drop_others(user.as_deref()).tried("drop privileges")?;
        Ok(daemon)
    }

    fn now(&self) -> Instant {
        Instant::ZERO
            + Duration::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn serve(&mut self, stop: &Stop, reload: Reload<'_>) -> Result<(), RouteError> {
        while stop.signal().is_none() {
            let now = self.now();
            self.work(now)?;
            self.wait(now, stop)?;
            if stop.take_reload() {
                self.reload(reload)?;
            }
        }
        Ok(())
    }

    /// Does what is due.
    fn work(&mut self, now: Instant) -> Result<(), RouteError> {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if is_due(self.router.poll_timeout()) {
            self.router.handle_timeout(now);
            self.update_soon(now);
        }
        for datagram in self.router.take_datagrams(now) {
            self.send(datagram.interface, &datagram.bytes);
        }
        if is_due(self.retry_at) {
            self.look(now)?;
        }
        if is_due(self.keep_until) {
            self.keep_until = None;
            self.update_soon(now);
        }
        if is_due(self.update_at) {
            self.update_at = None;
            let routes = self.router.routes(now);
            if self.installed.update(&routes, self.router.config(), self.keep_until.is_some()) {
                self.update_soon(now);
            }
        }
        Ok(())
    }

    fn update_soon(&mut self, now: Instant) {
        self.update_at.get_or_insert(now + UPDATE_AFTER);
    }

    fn send(&self, interface: u32, bytes: &[u8]) {
        let Some(open) = self.sockets.iter().find(|open| open.port.index == interface) else { return };
        if let Err(error) = open.socket.send(bytes) {
            tracing::debug!("cannot send over {}: {error}", open.name);
        }
    }

    /// Waits until something is due or arrives, and takes what has arrived.
    fn wait(&mut self, now: Instant, stop: &Stop) -> Result<(), RouteError> {
        let due = earliest(self.router.poll_timeout(), self.update_at);
        let due = earliest(due, earliest(self.retry_at, self.keep_until));
        let left = due.map(|at| std::time::Duration::from(at.saturating_since(now)).into());
        let fixed: [_; FIXED] = [stop.0.bell.as_fd(), self.events.as_fd(), self.reporter.as_fd()];
        let descriptors: Vec<BorrowedFd<'_>> =
            fixed.into_iter().chain(self.sockets.iter().map(|open| open.socket.as_fd())).collect();
        let mut ready: Vec<_> = descriptors.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
        match ppoll(&mut ready, left, None) {
            Ok(0) | Err(Errno::EINTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error).tried("wait"),
        }
        let ready: Vec<_> = ready.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        let now = self.now();
        for socket in (0..self.sockets.len()).filter(|n| ready[FIXED + n]) {
            self.receive(now, socket);
        }
        if ready[1] && self.events.take().tried("watch the interfaces")? {
            self.look(now)?;
        }
        if ready[2] {
            let status = self.status(now);
            self.reporter.answer(|| status);
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant, socket: usize) {
        let Open { name, port, socket } = &self.sockets[socket];
        for _ in 0..TURN {
            match socket.receive(&mut self.buffer) {
                Ok(None) => break,
                Ok(Some((from, bytes))) => self.router.receive(now, port.index, from, bytes),
                Err(error) => {
                    tracing::debug!("cannot receive over {name}: {error}");
                    break;
                }
            }
        }
        self.update_soon(now);
    }

    /// Opens the interfaces of the configuration that are up, and closes others.
    fn look(&mut self, now: Instant) -> Result<(), RouteError> {
        self.retry_at = None;
        let all = interfaces().tried("list the interfaces")?;
        let wanted: Vec<_> =
            self.router.config().interfaces.iter().filter_map(|name| usable(&all, name)).collect();
        self.sockets.retain(|open| {
            let stays = |&(index, name, address): &_| {
                (open.port.index, &open.name, open.port.address) == (index, name, address)
            };
            wanted.iter().any(stays)
        });
        // HELLOs that measure the delay of queues wait in them.
        let waits = self.router.config().olsr.metric.is_some_and(|metric| metric.hellos_wait);
        for (index, name, address) in wanted {
            if self.sockets.iter().any(|open| open.port.index == index) {
                continue;
            }
            match PortSocket::open(name, address, olsr::PORT, waits) {
                Ok(socket) => {
                    if self.router.config().forward {
                        self.parameters.forward_over(name);
                    }
                    let name = name.clone();
                    self.sockets.push(Open { name, port: Port::new(index, address), socket });
                }
                Err(error) => {
                    tracing::warn!("cannot open UDP port {} on {name}: {error}", olsr::PORT);
                    self.retry_at = Some(now + RETRY_AFTER);
                }
            }
        }
        let ports: Vec<_> = self.sockets.iter().map(|open| open.port.clone()).collect();
        self.router.set_ports(now, &ports);
        self.installed.look().tried("list the routes")?;
        self.update_soon(now);
        Ok(())
    }

    fn reload(&mut self, reload: Reload<'_>) -> Result<(), RouteError> {
        let now = self.now();
        match reload() {
            Ok(config) => {
                if config.olsr != self.router.config().olsr {
                    self.keep_until = Some(now + config.olsr.topology_hold);
                }
                self.router.configure(now, config);
                self.look(now)
            }
            Err(problem) => {
                tracing::warn!("the configuration stays as it was: {problem}");
                Ok(())
            }
        }
    }

    fn status(&mut self, now: Instant) -> Status {
        let names: BTreeMap<_, _> =
            self.sockets.iter().map(|open| (open.port.index, open.name.clone())).collect();
        let name = |index: u32| names.get(&index).cloned().unwrap_or_default();
        let routes = self.router.routes(now);
        let routes = routes.into_iter().map(|(to, path)| {
            let (via, hops, cost) = (path.via, path.hops, path.cost);
            (to.to_string(), RouteStatus { via, interface: name(path.interface), hops, cost })
        });
        let open =
            |name: &String| self.sockets.iter().find(|open| open.name == *name).map(|open| open.port.address);
        let interfaces = self.router.config().interfaces.iter();
        let interfaces =
            interfaces.map(|name| InterfaceStatus { name: name.clone(), address: open(name) }).collect();
        let routes = routes.collect();
        let heard: Vec<_> = self.router.heard().collect();
        let (datagrams, main_address) = (self.router.counters(), self.router.main());
        let (protocol, seconds) = (self.router.config().protocol, self.router.age(now).as_secs_f64());
        let mut neighbours = Vec::new();
        let (mut messages, mut refused, mut turns) = (MessageCounts::default(), 0, RouteChanges::default());
        if let Some(agent) = self.router.agent_mut() {
            let relays = agent.mprs().to_vec();
            let symmetric: Vec<_> = agent.neighbours().collect();
            let selectors: Vec<_> = agent.selectors().collect();
            neighbours.extend(heard.into_iter().map(|heard| NeighbourStatus {
                address: heard.address,
                main_address: heard.main,
                interface: name(heard.interface),
                heard_ago: now.saturating_since(heard.at).as_secs_f64(),
                received: heard.received,
                symmetric: symmetric.contains(&heard.main),
                relay: relays.contains(&heard.main),
                selector: selectors.contains(&heard.main),
            }));
            let counters = agent.counters();
            let (hellos, tcs, forwarded) = (counters.hellos, counters.tcs, counters.forwarded);
            let (duplicates, strangers) = (counters.duplicates, counters.strangers);
            messages = MessageCounts { hellos, tcs, forwarded, duplicates, strangers };
            refused = agent.refused();
            turns = agent.route_changes().unwrap_or_default();
        }
        let Installed { changes, refused: not_changed, .. } = self.installed;
        Status {
            protocol,
            main_address,
            seconds,
            interfaces,
            neighbours,
            routes,
            installed: self.installed.len(),
            kernel_changes: [changes, not_changed],
            refused,
            route_changes: turns.changes,
            oscillations: turns.oscillations,
            datagrams,
            messages,
        }
    }
}

/// Number, name and first address of an interface that is up.
fn usable<'a>(all: &[Interface], name: &'a String) -> Option<(u32, &'a String, Ipv4Addr)> {
    let interface = all.iter().find(|interface| interface.name == *name && interface.is_up)?;
    Some((interface.index, name, interface.addresses.first()?.address))
}

trait Tried<T> {
    /// The error with what was tried.
    fn tried(self, what: &str) -> Result<T, RouteError>;
}

impl<T, E: Into<io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, what: &str) -> Result<T, RouteError> {
        self.map_err(|error| RouteError::System { what: what.to_owned(), error: error.into() })
    }
}

/// Descriptors before those of the interfaces.
const FIXED: usize = 3;
/// For what changes together: the messages of a flood, or of several neighbours.
const UPDATE_AFTER: Duration = Duration::from_millis(50);
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Datagrams read from one interface before the others have their turn.
const TURN: usize = 64;
/// Longer than any packet of a node that keeps to the limit of addresses in a message.
const LARGEST: usize = 16_384;
