//! The loop that drives a router with the sockets, interfaces and routes of this host.

mod load;
mod report;
mod reserve;
mod updates;
mod watch;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use multihop_core::{Duration, Instant, earliest};
use multihop_linux::memory::release_code;
use multihop_linux::netlink::{Events, Interface, Wifi, interfaces};
use multihop_linux::wait::{Doorbell, Signals, readable};
use multihop_sandbox::{Needs, Right, Sandbox};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use thiserror::Error;

use crate::catcher::Catcher;
use crate::config::Config;
use crate::flush::flush;
use crate::inbox::Waiting;
use crate::kernel::Installed;
use crate::links::LinkMonitor;
use crate::parameters::Parameters;
use crate::paths::is_segment;
use crate::prefix::{Family, is_of_link};
use crate::router::{Datagram, PacketOutcome, Port, Router};
use crate::socket::PortSocket;
use crate::status::Reporter;
use load::Load;
use reserve::Reserver;
use updates::Updates;
use watch::Watched;

/// Reason for which a daemon cannot start or continue.
#[derive(Debug, Error)]
pub enum RouteError {
    /// Another daemon manages the routes of this family in this network namespace.
    #[error("another multihop route of {0} runs in this network namespace")]
    Runs(Family),
    /// Error of an operating system call, for example a missing permission.
    #[error("cannot {what}: {error}")]
    System {
        /// Name of the operation that failed.
        what: String,
        /// Error that the system returned.
        error: io::Error,
    },
}

/// Ends or reloads a daemon: by signals, or by its methods from another thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Asked>);

#[derive(Debug)]
struct Asked {
    /// SIGINT or SIGTERM, which end the daemon.
    end: Signals,
    /// SIGHUP, which reloads the configuration.
    reload: Signals,
    /// Wakes the daemon after a signal or a request.
    bell: Doorbell,
}

impl Stop {
    /// Creates a stop switch without requests.
    pub fn new() -> io::Result<Self> {
        let (end, reload) = (Signals::default(), Signals::default());
        Ok(Self(Arc::new(Asked { end, reload, bell: Doorbell::new()? })))
    }

    /// Creates a handle that signals of this process use: SIGINT and SIGTERM end the daemon, SIGHUP reloads its
    /// configuration.
    pub fn by_signals() -> io::Result<Self> {
        let bell = Doorbell::new()?;
        let end = Signals::catch_and_ring(&[SIGINT, SIGTERM], &bell)?;
        let reload = Signals::catch_and_ring(&[SIGHUP], &bell)?;
        Ok(Self(Arc::new(Asked { end, reload, bell })))
    }

    /// Ends the daemon, as SIGTERM does.
    pub fn end(&self) {
        self.0.end.note(SIGTERM);
        self.0.bell.ring();
    }

    /// Makes the daemon read its configuration again.
    pub fn reload(&self) {
        self.0.reload.note(SIGHUP);
        self.0.bell.ring();
    }

    /// The signal that has ended the daemon; `None` if there was none.
    pub fn signal(&self) -> Option<i32> {
        self.0.end.noted()
    }

    /// Whether a reload was requested since the last call.
    fn take_reload(&self) -> bool {
        self.0.bell.clear();
        self.0.reload.take().is_some()
    }
}

/// Function that reads the configuration again; its error is a text for the user.
pub type Reload<'a> = &'a mut dyn FnMut() -> Result<Config, String>;

/// Finds routes and keeps the kernel's tables equal to them until `stop` ends the daemon, which then removes
/// its routes.
///
/// Works in the network namespace of this thread. The thread enters a sandbox ([`multihop_sandbox`]) in which it keeps
/// CAP_NET_ADMIN, CAP_NET_BIND_SERVICE and what the daemon needs, unless the configuration says otherwise.
pub fn run(config: Config, stop: &Stop, reload: Reload<'_>) -> Result<(), RouteError> {
    let families = config.families();
    let mut daemon = Daemon::start(config)?;
    let names = families.iter().map(Family::to_string).collect::<Vec<_>>().join(", ");
    tracing::info!(protocol = daemon.router.config().protocol, family = names, "daemon started");
    let done = daemon.serve(stop, reload);
    tracing::info!(signal = stop.signal(), "daemon ended");
    let now = daemon.now();
    end_links(&mut daemon.router, now, &daemon.sockets);
    let clean = |family: &Family| flush(*family).tried("remove the routes").map(drop);
    families.iter().map(clean).fold(done, Result::and)
}

struct Daemon {
    router: Router,
    began: std::time::Instant,
    events: Events,
    /// Sockets for the status, one for each family.
    reporters: Vec<Reporter>,
    sockets: Vec<Open>,
    /// Interfaces of the configuration that cannot be used, each with the reason.
    waiting: BTreeMap<String, String>,
    installed: Installed,
    /// Link between AODV and this host; `None` under other protocols.
    catcher: Option<Catcher>,
    /// Flows and their paths; `None` unless paths are reserved.
    reserver: Option<Reserver>,
    /// Measurements of queues and radios; `None` unless routes are chosen by delay.
    links: Option<LinkMonitor>,
    parameters: Parameters,
    load: Load,
    buffer: Vec<u8>,
    updates: Updates,
    /// Instant at which interfaces that could not be opened are tried again.
    retry_at: Option<Instant>,
    /// Instant until which the routes of a restarted agent remain in the kernel.
    keep_until: Option<Instant>,
    /// Neighbours and routes that the log has reported.
    watched: Watched,
}

/// An interface with its socket.
struct Open {
    name: String,
    port: Port,
    socket: PortSocket,
}

impl Daemon {
    fn start(config: Config) -> Result<Self, RouteError> {
        let (mut reporters, mut left, mut parameters) = (Vec::new(), 0, Parameters::default());
        for family in config.families() {
            let reporter = Reporter::open(family).tried("open the socket for the status")?;
            reporters.push(reporter.ok_or(RouteError::Runs(family))?);
        }
        for family in config.families() {
            left += flush(family).tried("read and remove routes (needs CAP_NET_ADMIN)")?;
            if config.forward {
                parameters.forward(family);
            }
        }
        if left > 0 {
            tracing::warn!("removed {left} routes of a daemon that was killed");
        }
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = getrandom::u64().map_err(io::Error::from).tried("get random bits")?;
        let sandbox = config.is_confined.then(|| Sandbox::prepare(needs(&config))).transpose();
        let sandbox = sandbox.tried("prepare the sandbox")?;
        let catcher = config.routing.is_on_demand().then(Catcher::open).transpose();
        let catcher = catcher.tried("catch packets without a route (needs CAP_NET_ADMIN and CAP_NET_RAW)")?;
        let reserver = config.reservation.map(|_| Reserver::open()).transpose();
        let reserver = reserver.tried("reserve paths (needs CAP_NET_ADMIN, CAP_NET_RAW and IPv6)")?;
        let links = LinkMonitor::new(Instant::ZERO, &config.routing);
        let mut daemon = Self {
            router: Router::new(config, seed, epoch.as_secs()),
            began: std::time::Instant::now(),
            events: Events::watch().tried("watch the interfaces")?,
            reporters,
            sockets: Vec::new(),
            waiting: BTreeMap::new(),
            installed: Installed::default(),
            catcher,
            reserver,
            links,
            parameters,
            load: Load::new(),
            buffer: vec![0; LARGEST],
            updates: Updates::default(),
            retry_at: None,
            keep_until: None,
            watched: Watched::default(),
        };
        daemon.look(Instant::ZERO)?;
        if let Err(error) = release_code() {
            tracing::debug!("cannot release the code of the start: {error}");
        }
        if let Some(sandbox) = sandbox {
            sandbox.enter().tried("drop rights")?;
        }
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

    /// Handles deadlines that have passed.
    fn work(&mut self, now: Instant) -> Result<(), RouteError> {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        self.load.measure();
        if is_due(self.router.poll_timeout()) && self.load.timers.is_ready(now) {
            self.router.handle_timeout(now);
            let cost = self.load.measure();
            self.load.timers.spend(now, cost);
            self.update_if_changed(now);
        }
        if let Some(catcher) = &mut self.catcher {
            catcher.handle_timeout(now).tried("watch packets")?;
        }
        self.handle_flows(now).tried("watch flows")?;
        self.release(now);
        self.look_at_links(now);
        // HELLOs contain the time at which they leave.
        for datagram in self.router.take_datagrams(self.now()) {
            self.send(&datagram);
        }
        if is_due(self.retry_at) {
            self.look(now)?;
        }
        if is_due(self.keep_until) {
            self.keep_until = None;
            self.update_soon(now);
        }
        if is_due(self.updates.at) {
            self.update(now);
        }
        Ok(())
    }

    fn update(&mut self, now: Instant) {
        self.updates.begin(now);
        self.load.measure();
        let routes = self.router.routes(now);
        // After `routes`, which computes stale routes: the revision counts these as a change that is still to come.
        self.updates.follow(self.router.revision());
        self.watch(now, &routes);
        let is_part = self.installed.update(&routes, self.router.config(), self.keep_until.is_some());
        self.update_paths(now);
        let cost = self.load.measure();
        self.load.routes.spend(now, cost);
        if is_part {
            self.update_soon(now);
        }
    }

    /// Sends the waiting packets that have a route now, and sends ICMP errors to the sources of packets that
    /// get none.
    fn release(&mut self, now: Instant) {
        let (outcomes, main) = (self.router.take_outcomes(), self.router.main());
        if outcomes.iter().any(|outcome| matches!(outcome, PacketOutcome::Leaves { .. })) {
            self.update(now);
        }
        let Some(catcher) = &mut self.catcher else { return };
        for outcome in outcomes {
            let done = match &outcome {
                PacketOutcome::Leaves { interface, packet } => catcher.send(*interface, packet),
                PacketOutcome::Refused { packet } => catcher.refuse(now, main, packet),
            };
            if let Err(error) = done {
                tracing::debug!("cannot send a packet that had no route: {error}");
            }
        }
    }

    /// Adds the kernel's measurements of queues and radios to the costs of links, once per measuring
    /// interval.
    fn look_at_links(&mut self, now: Instant) {
        let Some(links) = self.links.as_mut().filter(|links| links.due() <= now) else { return };
        let interfaces: Vec<_> = self.sockets.iter().map(|open| open.port.index).collect();
        let mut neighbours: Vec<_> = self.router.heard(now).collect();
        // Only neighbours that answer have a measured delay.
        neighbours.retain(|one| self.router.measured(one).is_some());
        let neighbours: Vec<_> = neighbours.iter().map(|one| (one.interface, one.address)).collect();
        if !links.look(now, &interfaces, &neighbours) {
            return;
        }
        self.router.set_local_delays(now, |of| links.local_delay(of.interface, of.address).micros());
        self.update_if_changed(now);
    }

    /// Schedules an update of the kernel's routes, later after one that took much processor time.
    fn update_soon(&mut self, now: Instant) {
        self.updates.soon(now, self.load.routes.ready_at());
    }

    /// Schedules an update of the kernel's routes if routes may have changed since the last update.
    fn update_if_changed(&mut self, now: Instant) {
        let (revision, cost_interval) = (self.router.revision(), self.router.cost_interval());
        self.updates.if_changed(now, self.load.routes.ready_at(), revision, cost_interval);
    }

    fn send(&self, datagram: &Datagram) {
        let open = self.sockets.iter().find(|open| open.port.index == datagram.interface);
        let Some(open) = open else { return };
        if let Err(error) = open.socket.send(datagram.to, datagram.ttl, &datagram.bytes) {
            tracing::debug!("cannot send over {}: {error}", open.name);
        }
    }

    /// Waits for a deadline, a datagram or an event, and takes the datagrams that have arrived.
    fn wait(&mut self, now: Instant, stop: &Stop) -> Result<(), RouteError> {
        let timer = self.router.poll_timeout().map(|at| at.max(self.load.timers.ready_at()));
        let is_reading = self.load.reading.is_ready(now);
        let due = earliest(timer, self.updates.at);
        let due = earliest(due, self.load.inbox.ready_at());
        let due = earliest(due, (!is_reading).then(|| self.load.reading.ready_at()));
        let due = earliest(due, earliest(self.retry_at, self.keep_until));
        let due = earliest(due, self.catcher.as_ref().and_then(Catcher::deadline));
        let due = earliest(due, self.reserver.as_ref().and_then(Reserver::deadline));
        let due = earliest(due, self.links.as_ref().map(LinkMonitor::due));
        let left = due.map(|at| at.saturating_since(now).into());
        let fixed: [_; FIXED] = [stop.0.bell.as_fd(), self.events.as_fd()];
        let reporters = self.reporters.iter().map(Reporter::as_fd);
        let catcher = self.catcher.iter().flat_map(Catcher::descriptors);
        let sockets = self.sockets.iter().filter(|_| is_reading).map(|open| open.socket.as_fd());
        let flows = self.reserver.iter().map(Reserver::as_fd);
        let all = fixed.into_iter().chain(reporters).chain(sockets).chain(catcher).chain(flows);
        let descriptors: Vec<BorrowedFd<'_>> = all.collect();
        let ready = readable(&descriptors, left).tried("wait")?;
        let now = self.now();
        let first = FIXED + self.reporters.len();
        let sockets = if is_reading { self.sockets.len() } else { 0 };
        for socket in (0..sockets).filter(|n| ready[first + n]) {
            self.receive(now, socket);
        }
        let cost = self.load.measure();
        self.load.reading.spend(now, cost);
        self.process();
        if let Some(&[packets, used, neighbours]) = ready[first + sockets..].as_array() {
            self.catch(now, packets, used, neighbours)?;
        }
        // Paths are not reserved under AODV, whose descriptors are the other ones.
        if ready[first + sockets..] == [true] {
            self.take_flows(now).tried("watch flows")?;
        }
        if ready[1] && self.events.take().tried("watch the interfaces")? {
            self.look(now)?;
        }
        for reporter in (0..self.reporters.len()).filter(|n| ready[FIXED + n]) {
            let status = self.status(now);
            self.reporters[reporter].answer(|| status);
        }
        self.load.measure();
        Ok(())
    }

    /// Takes the kernel's reports for AODV: packets without a route, hosts between which packets have left, neighbours
    /// that do not answer.
    fn catch(&mut self, now: Instant, packets: bool, used: bool, neighbours: bool) -> Result<(), RouteError> {
        let Some(catcher) = &mut self.catcher else { return Ok(()) };
        for _ in 0..if packets { TURN } else { 0 } {
            match catcher.receive(&mut self.buffer).tried("receive packets without a route")? {
                Some(packet) => self.router.catch(now, packet),
                None => break,
            }
        }
        if used {
            for (source, destination) in catcher.used(now).tried("watch packets")? {
                self.router.on_use(now, source, destination);
            }
        }
        if neighbours {
            for (interface, address) in catcher.failed().tried("watch the neighbours")? {
                self.router.on_neighbour_failed(now, interface, address);
            }
            self.update_soon(now);
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant, socket: usize) {
        let Open { name, socket, .. } = &self.sockets[socket];
        for _ in 0..TURN {
            match socket.receive(&mut self.buffer) {
                Ok(None) => break,
                Ok(Some((arrival, bytes))) => {
                    if self.router.admits(now, arrival, bytes) {
                        let is_neighbour = self.router.is_neighbour(arrival.interface, arrival.from);
                        self.load.inbox.put(now, arrival, is_neighbour, bytes);
                    }
                }
                Err(error) => {
                    tracing::debug!("cannot receive over {name}: {error}");
                    break;
                }
            }
        }
    }

    /// Processes received datagrams while their share of the processor's time lasts.
    fn process(&mut self) {
        let mut now = self.now();
        let mut has_changed = false;
        while let Some(Waiting { arrival, bytes, .. }) = self.load.inbox.take(now) {
            self.router.process(now, arrival, &bytes);
            let cost = self.load.measure();
            now = self.now();
            self.load.inbox.spend(now, cost);
            has_changed = true;
        }
        if has_changed {
            self.update_if_changed(now);
        }
    }

    /// Opens the interfaces of the configuration that are up, and closes all others.
    fn look(&mut self, now: Instant) -> Result<(), RouteError> {
        self.retry_at = None;
        let families = self.router.config().families();
        let found = interfaces().tried("list the interfaces")?;
        let all = without_segments(&found);
        let (mut wanted, mut waiting) = (Vec::new(), BTreeMap::new());
        let names = self.router.config().interfaces.clone();
        for name in &names {
            match usable(&all, name, &families) {
                Ok(found) => wanted.push(found),
                Err(reason) => drop(waiting.insert(name.clone(), reason)),
            }
        }
        for (name, reason) in &waiting {
            if self.waiting.get(name) != Some(reason) {
                tracing::warn!("waiting for {name}: {reason}");
            }
        }
        self.waiting = waiting;
        let is_wanted = |open: &Open| wanted.contains(&(open.port.index, &open.name, open.port.address));
        let (stay, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.sockets).into_iter().partition(is_wanted);
        end_links(&mut self.router, now, &left);
        let (stay, closed): (Vec<_>, Vec<_>) =
            stay.into_iter().partition(|open| open.socket.suits(self.router.config()));
        for open in left.iter().chain(&closed) {
            tracing::info!(interface = open.name, "interface closed");
        }
        self.sockets = stay;
        let udp = self.router.config().routing.port();
        for (index, name, address) in wanted {
            if self.sockets.iter().any(|open| open.port.index == index) {
                continue;
            }
            match PortSocket::open((index, name), address, self.router.config()) {
                Ok(socket) => {
                    if self.router.config().forward {
                        for family in &families {
                            self.parameters.forward_over(name, *family);
                        }
                    }
                    if self.catcher.is_some() {
                        self.parameters.accept_from_anywhere(name);
                    }
                    if self.reserver.is_some() {
                        self.parameters.follow_segments(name);
                        if self.router.config().forward {
                            self.parameters.forward(Family::Ipv6);
                        }
                    }
                    tracing::info!(interface = name, %address, "interface opened");
                    let name = name.clone();
                    self.sockets.push(Open { name, port: Port::new(index, address), socket });
                }
                Err(error) => {
                    tracing::warn!("cannot open UDP port {udp} on {name}: {error}");
                    self.retry_at = Some(now + RETRY_AFTER);
                }
            }
        }
        let radios = if self.router.config().has_both_families() { self.radios() } else { Vec::new() };
        let ports: Vec<_> = self.sockets.iter().map(|open| port(open, &all, &radios)).collect();
        let addresses = |counts: &dyn Fn(&Interface) -> bool| {
            let counting = all.iter().filter(|one| counts(one)).flat_map(|one| &one.addresses);
            counting.map(|one| one.address).collect::<Vec<_>>()
        };
        let aliases = addresses(&|one| names.contains(&one.name));
        self.router.set_own(addresses(&|_| true), aliases);
        self.router.set_ports(now, &ports);
        if let Some(catcher) = &mut self.catcher {
            let is_open = |one: &&Interface| ports.iter().any(|port| port.index == one.index);
            let open: Vec<_> = all.iter().filter(is_open).collect();
            let (main, config) = (self.router.main(), self.router.config());
            catcher.set(now, &open, main, config).tried("catch packets without a route")?;
        }
        self.look_at_paths(now, &found).tried("watch flows")?;
        self.installed.look().tried("list the routes")?;
        self.update_soon(now);
        Ok(())
    }

    /// The numbers of the interfaces that are Wi-Fi cards.
    fn radios(&self) -> Vec<u32> {
        let has_stations =
            |wifi: &Wifi, index: &u32| wifi.stations(*index).is_ok_and(|found| found.is_some());
        let Ok(Some(wifi)) = Wifi::open() else { return Vec::new() };
        let indices = self.sockets.iter().map(|open| open.port.index);
        indices.filter(|index| has_stations(&wifi, index)).collect()
    }

    fn reload(&mut self, reload: Reload<'_>) -> Result<(), RouteError> {
        let now = self.now();
        match reload() {
            Ok(config) if config.families() != self.router.config().families() => {
                not_reloaded("the families of routes cannot change while the daemon runs: start it again");
                Ok(())
            }
            Ok(config) if config.routing.is_on_demand() != self.catcher.is_some() => {
                not_reloaded("a running daemon cannot change to or from AODV: start it again");
                Ok(())
            }
            Ok(config) if config.reservation.is_some() != self.reserver.is_some() => {
                not_reloaded("a running daemon cannot change to or from apdr-pr: start it again");
                Ok(())
            }
            Ok(config) => {
                if config.routing != self.router.config().routing {
                    self.keep_until = Some(now + config.routing.hold());
                    self.links = LinkMonitor::new(now, &config.routing);
                }
                self.router.configure(now, config);
                tracing::info!("configuration reloaded");
                self.look(now)
            }
            Err(problem) => {
                not_reloaded(&problem);
                Ok(())
            }
        }
    }
}

fn not_reloaded(problem: &str) {
    tracing::warn!(error = problem, "configuration not reloaded: the daemon keeps the earlier one");
}

/// Interfaces without the addresses for segments, which are no addresses of the host for others.
fn without_segments(all: &[Interface]) -> Vec<Interface> {
    let mut all = all.to_vec();
    for interface in &mut all {
        interface.addresses.retain(|one| !is_segment(one.address));
    }
    all
}

/// An interface with all of its addresses.
fn port(open: &Open, all: &[Interface], radios: &[u32]) -> Port {
    let interface = all.iter().find(|interface| interface.index == open.port.index);
    let addresses = interface.into_iter().flat_map(|interface| &interface.addresses);
    let others = addresses.map(|one| one.address).filter(|address| !is_of_link(*address)).collect();
    let mut port = open.port.clone();
    (port.others, port.is_radio) = (others, radios.contains(&port.index));
    port
}

/// Ends the links over interfaces that the daemon leaves, so that neighbours need not wait for missing
/// HELLOs.
fn end_links(router: &mut Router, now: Instant, left: &[Open]) {
    for open in left {
        let Some(datagram) = router.farewell(now, open.port.index) else { continue };
        if let Err(error) = open.socket.send_last(&datagram.bytes) {
            tracing::debug!("cannot announce the end of the links over {}: {error}", open.name);
        }
    }
}

/// Permissions and files that a daemon needs after its start.
fn needs(config: &Config) -> Needs {
    Needs {
        rights: vec![Right::NetAdmin, Right::NetBindService],
        user: config.user.clone(),
        read: config.reload_from.clone(),
        internet: true,
        interfaces: true,
        ..Needs::default()
    }
}

/// Number, name and first address of an interface that is up; otherwise the reason why it cannot be used. A
/// link-local address is no destination for other nodes' routes. It is the source of datagrams if the daemon
/// has routes of both families.
fn usable<'a>(
    all: &[Interface],
    name: &'a String,
    families: &[Family],
) -> Result<(u32, &'a String, IpAddr), String> {
    let Some(interface) = all.iter().find(|interface| interface.name == *name) else {
        return Err("there is no such interface".to_owned());
    };
    if !interface.is_up {
        return Err("it is down".to_owned());
    }
    let mut addresses = interface.addresses.iter().map(|one| one.address);
    let [family] = families else {
        let address = addresses.find(|address| is_of_link(*address));
        let address = address.ok_or_else(|| "it has no link-local address of IPv6".to_owned())?;
        return Ok((interface.index, name, address));
    };
    match addresses.find(|address| Family::of(*address) == *family && !is_of_link(*address)) {
        None => Err(format!("it has no address of {family}")),
        Some(address) => Ok((interface.index, name, address)),
    }
}

trait Tried<T> {
    /// Adds the name of the operation to an error.
    fn tried(self, what: &str) -> Result<T, RouteError>;
}

impl<T, E: Into<io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, what: &str) -> Result<T, RouteError> {
        self.map_err(|error| RouteError::System { what: what.to_owned(), error: error.into() })
    }
}

/// Number of polled descriptors before the descriptors of the status sockets.
const FIXED: usize = 2;
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Number of datagrams read from one interface before the next interface is read.
const TURN: usize = 64;
/// The longest IP packet; longer than any packet of a node that keeps to the limit of addresses in a message.
const LARGEST: usize = 65_535;
