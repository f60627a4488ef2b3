//! Configuration of the routing daemon, with its keys.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};
use multihop_routing::host::HostConfig;
use multihop_routing::network::AgentConfig;
use multihop_routing::{aodv, apdr, olsr, protocol};

use crate::prefix::{Family, Prefix};
use crate::router::Key;

/// The configuration of a daemon, as its file and its options give it.
#[derive(Clone, Debug, PartialEq, Settings)]
#[settings(check = Self::check)]
pub struct Config {
    /// Names of the interfaces over which the daemon talks to neighbours.
    ///
    /// The daemon waits for an interface that does not exist yet.
    #[key(LONGEST)]
    pub interfaces: Vec<String>,
    /// Protocols that the program registers.
    pub extensions: Protocols,
    /// Routing protocol and its keys.
    #[key(with = Self::routing_key)]
    pub routing: Routing,
    /// Family of the daemon's routes and of the addresses in messages. AODV has IPv4 only.
    #[key(
        name = "ipv6",
        help = "Whether the daemon's routes are those of IPv6 in place of IPv4; one daemon of each family can run on a host.",
        with = Self::family_key
    )]
    pub family: Family,
    /// Multicast group for messages of IPv6, with `ipv6 = true`; without it ff02::6d, all routers of a mesh on the link.
    #[key(with = Self::group_key)]
    pub group: Ipv6Addr,
    /// Networks behind this host, which it announces to others: ADDRESS/BITS, or default.
    #[key(with = Self::announce_key)]
    pub announce: Vec<Prefix>,
    /// Addresses of the only neighbours to which the daemon listens, those of their interfaces; if empty, all.
    #[key(with = Self::neighbors_key)]
    pub neighbors: Vec<IpAddr>,
    /// Networks to which alone the daemon's routes lead; if empty, anywhere.
    #[key(with = Self::within_key)]
    pub within: Vec<Prefix>,
    /// File with a key that all hosts have (multihop keygen --shared); packets without its signature are not used.
    #[key(LONGEST_PATH, name = "key")]
    pub key_file: Option<String>,
    /// Key in the file, which signs packets.
    pub key: Option<Key>,
    /// Files with further keys while a network changes its key, under babel and olsrv2: each key signs packets, and neighbours need one of them.
    #[key(LONGEST_PATH, name = "further_keys")]
    pub further_key_files: Vec<String>,
    /// Keys in the further files.
    pub further_keys: Vec<Key>,
    /// Number of the kernel's routing table for the daemon's routes; 254 is main.
    #[key(1..=4_294_967_295)]
    pub table: u32,
    /// Priority of the daemon's routes: of several routes to the same network, the kernel uses the one with the smallest number.
    #[key(1..=4_294_967_295)]
    pub priority: u32,
    /// Whether this host forwards packets of others.
    #[key]
    pub forward: bool,
    /// User as whom the daemon goes on after its start, with the rights that routes need and no others.
    #[key(LONGEST)]
    pub user: Option<String>,
    /// Reservation of paths, under apdr-pr: each flow keeps the path of its first packet.
    pub reservation: Option<apdr::Reservation>,
    /// Ports of the flows of TCP and UDP whose paths are reserved, under apdr-pr, at either end of a flow; without it
    /// all flows of TCP.
    #[key(1..=65_535)]
    pub reserve: Vec<u16>,
    /// Name of the protocol in scenarios.
    pub protocol: &'static str,
    /// Networks whose hosts are searched for when a packet needs a route, under aodv: ADDRESS/BITS, or default; without it those of the
    /// interfaces, and all others if there is no default route.
    #[key(with = Self::on_demand_key)]
    pub on_demand: Option<Vec<Prefix>>,
    /// Whether the daemon's thread gives up other rights, files and system calls after its start.
    pub is_confined: bool,
    /// Files and folders that a reload reads, if the daemon is confined. Only those of the first configuration count.
    pub reload_from: Vec<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            extensions: Protocols::default(),
            routing: Routing::Olsr(olsr::Config::for_hosts()),
            family: Family::Ipv4,
            group: multihop_wire::olsr::GROUP,
            announce: Vec::new(),
            neighbors: Vec::new(),
            within: Vec::new(),
            key_file: None,
            key: None,
            further_key_files: Vec::new(),
            further_keys: Vec::new(),
            table: 254,
            priority: 698,
            forward: true,
            user: None,
            reservation: None,
            reserve: Vec::new(),
            protocol: "olsr",
            on_demand: None,
            is_confined: true,
            reload_from: Vec::new(),
        }
    }
}

impl Config {
    fn family_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let mut ipv6 = self.family == Family::Ipv6;
        keys.about(help).field(name, &mut ipv6, ());
        self.family = if ipv6 { Family::Ipv6 } else { Family::Ipv4 };
    }

    fn group_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let mut group: Option<String> = None;
        keys.about(help).field(name, &mut group, LONGEST);
        let Some(text) = group else { return };
        match text.parse().ok().filter(Ipv6Addr::is_multicast) {
            _ if self.family == Family::Ipv4 => keys.refuse(name, "allowed with ipv6 = true".into()),
            Some(group) => self.group = group,
            None => keys.refuse(name, format!("found {text:?}, allowed: a multicast address of IPv6")),
        }
    }

    fn announce_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        self.announce = parsed(name, help, keys, |text| self.network(text)).unwrap_or_default();
    }

    fn neighbors_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        self.neighbors = parsed(name, help, keys, |text| self.address(text)).unwrap_or_default();
    }

    fn within_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        self.within = parsed(name, help, keys, |text| self.network(text)).unwrap_or_default();
    }

    fn on_demand_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        self.on_demand = parsed(name, help, keys, |text| self.family.network(text));
    }

    fn routing_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let extensions = self.extensions.0.clone();
        let built_in = PROTOCOLS.iter().map(|protocol| (protocol.name, protocol.help));
        let kinds: Vec<_> = built_in.chain(extensions.iter().map(|one| (one.name, one.help))).collect();
        keys.about(help).table(name, &mut |keys| {
            keys.kinds("protocol", Some(0), &kinds, &mut |kind, keys| {
                self.reservation = None;
                (self.protocol, self.routing) = match PROTOCOLS.get(kind) {
                    Some(Protocol { name, read, .. }) => (*name, read(keys, &mut self.reservation)),
                    None => {
                        let protocol = extensions[kind - PROTOCOLS.len()];
                        (protocol.name, Routing::Extension(HostProtocol::read(protocol, keys)))
                    }
                };
            });
        });
    }

    /// Whether the daemon has routes of IPv4 and IPv6.
    pub const fn has_both_families(&self) -> bool {
        matches!(self.routing, Routing::Extension(_))
    }

    /// The address families for which the daemon installs routes.
    pub fn families(&self) -> Vec<Family> {
        if self.has_both_families() { vec![Family::Ipv4, Family::Ipv6] } else { vec![self.family] }
    }

    /// The configuration keys of a registered protocol.
    pub(crate) fn keys(&self) -> Vec<[u8; 32]> {
        self.key.iter().chain(&self.further_keys).map(Key::bytes).collect()
    }

    /// IPv6 multicast group to which messages are sent.
    pub(crate) fn group(&self) -> Ipv6Addr {
        match &self.routing {
            Routing::Extension(protocol) => protocol.config().transport().group,
            Routing::Olsr(_) | Routing::Aodv(_) => self.group,
        }
    }

    fn network(&self, text: &str) -> Result<Prefix, String> {
        if self.has_both_families() { text.parse() } else { self.family.network(text) }
    }

    fn address(&self, text: &str) -> Result<IpAddr, String> {
        if self.has_both_families() {
            return text.parse().map_err(|_| "allowed: an IP address".to_owned());
        }
        self.family.address(text)
    }

    /// Refuses options that AODV and registered protocols lack, and AODV's own keys under other protocols.
    fn check(&self, keys: &mut dyn Visitor) {
        if self.has_both_families() && self.family == Family::Ipv6 {
            let problem = format!(
                "found true, allowed with protocol = \"olsr\" or \"apdr\": {} always routes IPv4 and IPv6",
                self.protocol
            );
            keys.refuse("ipv6", problem);
        }
        if !self.has_both_families() && !self.further_key_files.is_empty() {
            keys.refuse("further_keys", "allowed with protocol = \"babel\" or \"olsrv2\"".into());
        }
        if self.key_file.is_none() && !self.further_key_files.is_empty() {
            keys.refuse("further_keys", "allowed with key".into());
        }
        if self.reservation.is_some() && self.family == Family::Ipv6 {
            let problem =
                "found true, allowed with protocol = \"olsr\" or \"apdr\": apdr-pr has flows of IPv4";
            keys.refuse("ipv6", problem.into());
        }
        if self.reservation.is_none() && !self.reserve.is_empty() {
            keys.refuse("reserve", "allowed with protocol = \"apdr-pr\"".into());
        }
        if self.reserve.len() > MAX_PORTS {
            keys.refuse(
                "reserve",
                format!("found {} ports, allowed: at most {MAX_PORTS}", self.reserve.len()),
            );
        }
        if !self.routing.is_on_demand() {
            if self.on_demand.is_some() {
                keys.refuse("on_demand", "allowed with protocol = \"aodv\"".into());
            }
            return;
        }
        if self.family == Family::Ipv6 {
            let problem =
                "found true, allowed with protocol = \"olsr\" or \"apdr\": AODV (RFC 3561) has no IPv6";
            keys.refuse("ipv6", problem.into());
        }
        for (key, is_given) in [("announce", !self.announce.is_empty()), ("key", self.key_file.is_some())] {
            if is_given {
                keys.refuse(key, "allowed with protocol = \"olsr\" or \"apdr\"".into());
            }
        }
    }
}

/// Reads a list of texts, each of which `read` parses; `None` if the user gives no list.
fn parsed<T>(
    name: &'static str,
    help: &str,
    keys: &mut dyn Visitor,
    read: impl Fn(&str) -> Result<T, String>,
) -> Option<Vec<T>> {
    let mut texts: Option<Vec<String>> = None;
    keys.about(help).field(name, &mut texts, LONGEST);
    let mut values = Vec::new();
    for text in texts.as_ref()? {
        match read(text) {
            Ok(value) => values.push(value),
            Err(problem) => keys.refuse(name, format!("found {text:?}, {problem}")),
        }
    }
    Some(values)
}

/// The parameters of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// Parameters of OLSR, also with routes of least delay.
    Olsr(olsr::Config),
    /// Parameters of AODV, which finds routes on demand.
    Aodv(aodv::Config),
    /// A protocol that the program registers, with its parameters.
    Extension(HostProtocol),
}

/// Protocols that run on hosts and that a program registers, as with scenarios.
#[derive(Clone, Debug, Default)]
pub struct Protocols(pub Vec<protocol::Protocol>);

impl PartialEq for Protocols {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().map(|one| one.name).eq(other.0.iter().map(|one| one.name))
    }
}

/// A registered protocol with its parameters.
#[derive(Clone, Debug)]
pub struct HostProtocol(Arc<dyn AgentConfig>);

impl PartialEq for HostProtocol {
    /// Compares the names and values of all parameters.
    fn eq(&self, other: &Self) -> bool {
        format!("{:?}", self.0) == format!("{:?}", other.0)
    }
}

impl HostProtocol {
    /// A protocol with these parameters; `None` if it runs in simulations only.
    pub fn new(config: impl AgentConfig) -> Option<Self> {
        config.on_host().is_some().then(|| Self(Arc::new(config)))
    }

    fn read(protocol: protocol::Protocol, keys: &mut dyn Visitor) -> Self {
        let mut config = (protocol.config)();
        config.keys(keys);
        let read = Self(config.into());
        read.config().check_on_host(keys);
        read
    }

    pub(crate) fn config(&self) -> &dyn HostConfig {
        self.0.on_host().expect("only protocols that run on hosts are registered")
    }
}

impl Routing {
    /// The UDP port of the protocol.
    pub fn port(&self) -> u16 {
        match self {
            Self::Extension(protocol) => protocol.config().transport().port,
            Self::Olsr(_) => multihop_wire::olsr::PORT,
            Self::Aodv(_) => multihop_wire::aodv::PORT,
        }
    }

    /// Whether messages wait behind data: HELLOs that measure the delay of queues do.
    pub(crate) fn messages_wait(&self) -> bool {
        match self {
            Self::Olsr(config) => config.metric.is_some_and(|metric| metric.hellos_wait),
            Self::Aodv(_) => false,
            Self::Extension(protocol) => protocol.config().transport().waits,
        }
    }

    /// Time for which routes remain when the agent restarts.
    pub(crate) fn hold(&self) -> Duration {
        match self {
            Self::Extension(protocol) => protocol.config().hold(),
            Self::Olsr(config) => config.topology_hold,
            Self::Aodv(config) => config.active_route_timeout,
        }
    }

    pub(crate) const fn is_on_demand(&self) -> bool {
        matches!(self, Self::Aodv(_))
    }
}

/// A protocol that a daemon speaks: the configuration that scenarios have, with other defaults.
struct Protocol {
    name: &'static str,
    help: &'static str,
    read: fn(&mut dyn Visitor, &mut Option<apdr::Reservation>) -> Routing,
}

static PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "olsr",
        help: "Optimised link state routing (RFC 3626), with the values that it suggests.",
        read: |keys, _| {
            let mut config = olsr::Config::for_hosts();
            config.keys(keys);
            of_olsr(config, keys)
        },
    },
    Protocol {
        name: "apdr",
        help: "OLSR with routes of least average delay; clocks need not agree.",
        read: |keys, reservation| of_apdr(None, keys, reservation),
    },
    Protocol {
        name: "apdr-pr",
        help: "APDR, and each flow of IPv4 keeps the path of its first packet, by segment routing over IPv6 (SRv6).",
        read: |keys, reservation| of_apdr(Some(apdr::Reservation::default()), keys, reservation),
    },
    Protocol {
        name: "aodv",
        help: "Routes that are searched for when a packet needs them (RFC 3561), with the values of AODV-UU.",
        read: |keys, _| {
            let mut config = aodv::Config::for_hosts();
            config.keys(keys);
            if config.link_failure == aodv::LinkFailure::Mac {
                keys.refuse("link_failure", HELLO_ONLY.into());
            }
            Routing::Aodv(config)
        },
    },
];

/// Reads the keys of APDR, with reserved paths if `reservation` has a value.
fn of_apdr(
    reservation: Option<apdr::Reservation>,
    keys: &mut dyn Visitor,
    read: &mut Option<apdr::Reservation>,
) -> Routing {
    let metric = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
    let olsr = olsr::Config::for_hosts().with_metric(metric);
    let mut config = apdr::Config { olsr, reservation };
    config.keys(keys);
    *read = config.reservation;
    of_olsr(config.olsr, keys)
}

/// Refuses options of OLSR that need more than a real interface offers: reports of the MAC, synchronized
/// clocks, and the load of this host's own packets.
fn of_olsr(config: olsr::Config, keys: &mut dyn Visitor) -> Routing {
    if config.link_failure == olsr::LinkFailure::Mac {
        keys.refuse("link_failure", HELLO_ONLY.into());
    }
    if let Some(metric) = config.metric {
        if metric.clocks == olsr::Clocks::Synchronised {
            keys.refuse("clocks", "found \"synchronised\", allowed on real interfaces: \"echoed\"".into());
        }
        if metric.switching.own_load {
            keys.refuse("own_load", "found true, allowed on real interfaces: false".into());
        }
    }
    Routing::Olsr(config)
}

const HELLO_ONLY: &str = "found \"mac\", allowed on real interfaces: \"hello\"";
/// Largest number of ports of flows with reserved paths.
const MAX_PORTS: usize = 64;
/// Longest names and addresses, in characters.
const LONGEST: usize = 100;
/// Longest path of a file, in characters.
const LONGEST_PATH: usize = 4_096;
