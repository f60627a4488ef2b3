//! Configuration of the routing daemon, with its keys.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

use multihop_core::Duration;
use multihop_core::settings::{Settings, Visitor};
use multihop_routing::{aodv, apdr, olsr};

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
    /// Routing protocol and its keys.
    #[key(with = Self::routing_key)]
    pub routing: Routing,
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
            family: Family::Ipv4,
            group: multihop_wire::olsr::GROUP,
            announce: Vec::new(),
            neighbors: Vec::new(),
            within: Vec::new(),
            key_file: None,
            key: None,
            table: 254,
            priority: 698,
            forward: true,
            user: None,
            routing: Routing::Olsr(olsr::Config::for_hosts()),
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
        self.announce = parsed(name, help, keys, |text| self.family.network(text)).unwrap_or_default();
    }

    fn neighbors_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        self.neighbors = parsed(name, help, keys, |text| self.family.address(text)).unwrap_or_default();
    }

    fn within_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        self.within = parsed(name, help, keys, |text| self.family.network(text)).unwrap_or_default();
    }

    fn on_demand_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        self.on_demand = parsed(name, help, keys, |text| self.family.network(text));
    }

    fn routing_key(&mut self, name: &'static str, help: &str, keys: &mut dyn Visitor) {
        let kinds: Vec<_> = PROTOCOLS.iter().map(|protocol| (protocol.name, protocol.help)).collect();
        keys.about(help).table(name, &mut |keys| {
            keys.kinds("protocol", Some(0), &kinds, &mut |kind, keys| {
                let Protocol { name, read, .. } = PROTOCOLS[kind];
                (self.protocol, self.routing) = (name, read(keys));
            });
        });
    }

    /// Refuses what AODV lacks, and keys that only AODV has.
    fn check(&self, keys: &mut dyn Visitor) {
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

/// Reads a list of texts, each of which `read` parses; `None` if the user does not give it.
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
}

impl Routing {
    /// The UDP port of the protocol.
    pub const fn port(&self) -> u16 {
        match self {
            Self::Olsr(_) => multihop_wire::olsr::PORT,
            Self::Aodv(_) => multihop_wire::aodv::PORT,
        }
    }

    /// Whether messages wait behind data: HELLOs that measure the delay of queues do.
    pub(crate) fn messages_wait(&self) -> bool {
        matches!(self, Self::Olsr(config) if config.metric.is_some_and(|metric| metric.hellos_wait))
    }

    /// How long routes are kept when the agent begins anew.
    pub(crate) const fn hold(&self) -> Duration {
        match self {
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
    read: fn(&mut dyn Visitor) -> Routing,
}

static PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "olsr",
        help: "Optimised link state routing (RFC 3626), with the values that it suggests.",
        read: |keys| {
            let mut config = olsr::Config::for_hosts();
            config.keys(keys);
            of_olsr(config, keys)
        },
    },
    Protocol {
        name: "apdr",
        help: "OLSR with routes of least average delay; clocks need not agree.",
        read: |keys| {
            let metric = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
            let olsr = olsr::Config::for_hosts().with_metric(metric);
            let mut config = apdr::Config { olsr, reservation: None };
            config.keys(keys);
            of_olsr(config.olsr, keys)
        },
    },
    Protocol {
        name: "aodv",
        help: "Routes that are searched for when a packet needs them (RFC 3561), with the values of AODV-UU.",
        read: |keys| {
            let mut config = aodv::Config::for_hosts();
            config.keys(keys);
            if config.link_failure == aodv::LinkFailure::Mac {
                keys.refuse("link_failure", HELLO_ONLY.into());
            }
            Routing::Aodv(config)
        },
    },
];

/// Refuses what real interfaces lack: reports of the MAC, clocks that agree, and the load of this host's own packets.
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
/// Longest names and addresses, in characters.
const LONGEST: usize = 100;
/// Longest path of a file, in characters.
const LONGEST_PATH: usize = 4_096;
