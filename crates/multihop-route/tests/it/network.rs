//! Hosts in network namespaces, each with a daemon.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use multihop_core::Duration as Time;
use multihop_linux::netlink::Route;
use multihop_linux::netns::Namespace;
use multihop_route::{Config, Family, PROTOCOL, Prefix, RouteError, Routing, Stop, run};
use multihop_routing::olsr;
use serde_json::Value;

/// A namespace, and the daemon in it.
pub(crate) struct Host {
    pub(crate) namespace: Arc<Namespace>,
    running: Option<(Stop, JoinHandle<Result<(), RouteError>>)>,
}

/// Namespaces in which nothing runs yet; `None` if this machine allows none.
#[expect(clippy::print_stdout, reason = "the test runner counts skipped tests by this line")]
pub(crate) fn hosts<const N: usize>() -> Option<[Host; N]> {
    let make = || Namespace::new().and_then(|made| made.ip("link show lo").map(|()| made));
    let made: Result<Vec<_>, _> = (0..N).map(|_| make()).collect();
    match made {
        Ok(namespaces) => {
            let host = |namespace| Host { namespace: Arc::new(namespace), running: None };
            let hosts: Vec<_> = namespaces.into_iter().map(host).collect();
            hosts.try_into().ok()
        }
        Err(error) => {
            println!("skipped: network namespaces need root and the command ip: {error}");
            None
        }
    }
}

/// OLSR that needs a second for what takes ten with the RFC's values.
pub(crate) fn quick(interfaces: &[&str]) -> Config {
    let hello_interval = Time::from_millis(200);
    let olsr = olsr::Config {
        hello_interval,
        tc_interval: Time::from_millis(300),
        // A busy machine may do nothing for a second.
        neighbour_hold: Time::from_millis(2400),
        topology_hold: Time::from_millis(3600),
        max_jitter: Time::from_millis(50),
        ..olsr::Config::rfc()
    };
    let interfaces = interfaces.iter().map(|name| (*name).to_owned()).collect();
    Config { interfaces, routing: Routing::Olsr(olsr), ..Config::default() }
}

impl Host {
    /// A host in the namespace of another one, for a second daemon in this namespace.
    pub(crate) fn in_same(other: &Self) -> Self {
        Self { namespace: Arc::clone(&other.namespace), running: None }
    }

    /// Joins this host to another: interfaces with these names and addresses.
    pub(crate) fn join(&self, mine: (&str, &str), other: &Self, theirs: (&str, &str)) {
        self.namespace.join(mine, &other.namespace, theirs).unwrap();
    }

    /// Starts a daemon, which reads `configs` one after the other when it reloads.
    pub(crate) fn start_with(&mut self, config: Config, reloads: Vec<Config>) -> Stop {
        let (namespace, stop) = (Arc::clone(&self.namespace), Stop::new().unwrap());
        let asked = stop.clone();
        let mut reloads = reloads.into_iter();
        let daemon = thread::spawn(move || {
            let reload = &mut || reloads.next().ok_or_else(|| "no other".to_owned());
            namespace.run(|| run(config, &asked, reload)).unwrap()
        });
        self.running = Some((stop.clone(), daemon));
        stop
    }

    pub(crate) fn start(&mut self, config: Config) {
        self.start_with(config, Vec::new());
    }

    /// Ends the daemon and waits for its thread.
    pub(crate) fn end(&mut self) -> Result<(), RouteError> {
        let Some((stop, daemon)) = self.running.take() else { return Ok(()) };
        stop.end();
        daemon.join().unwrap()
    }

    /// The routes of daemons in the kernel's tables.
    pub(crate) fn routes(&self) -> Vec<Route> {
        self.namespace.run(|| multihop_linux::netlink::routes(PROTOCOL)).unwrap().unwrap()
    }

    /// The neighbour to which packets for an address go.
    pub(crate) fn via(&self, to: IpAddr) -> Option<IpAddr> {
        self.routes()
            .into_iter()
            .find(|route| route.destination == Prefix::host(to).parts())
            .map(|route| route.via.unwrap_or(to))
    }

    /// Status that the IPv4 daemon of the host reports.
    pub(crate) fn status(&self) -> Option<Value> {
        self.status_of(Family::Ipv4)
    }

    /// Status that the host's daemon of a family reports.
    pub(crate) fn status_of(&self, family: Family) -> Option<Value> {
        let text = self.namespace.run(|| multihop_route::status(family)).unwrap().ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Whether a datagram from this host reaches another one at this address, and the answer comes back.
    pub(crate) fn reaches(&self, other: &Self, at: IpAddr) -> bool {
        let any: IpAddr =
            if at.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = |host: &Self| {
            let open = || {
                let socket = UdpSocket::bind((any, 0)).unwrap();
                socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
                socket
            };
            host.namespace.run(open).unwrap()
        };
        let (here, there) = (socket(self), socket(other));
        let to = (at, there.local_addr().unwrap().port());
        let mut buffer = [0; 8];
        if here.send_to(b"question", to).is_err() {
            return false;
        }
        let Ok((_, from)) = there.recv_from(&mut buffer) else { return false };
        if there.send_to(b"answer", from).is_err() {
            return false;
        }
        here.recv_from(&mut buffer).is_ok()
    }

    pub(crate) fn parameter(&self, name: &str) -> String {
        let read = || std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap();
        self.namespace.run(read).unwrap().trim().to_owned()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Waits until a condition holds, at most for a minute, which is enough on a busy machine.
#[track_caller]
pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
