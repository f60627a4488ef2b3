//! The configuration of a routing daemon on real interfaces: in TOML, with the keys of `[routing]` of scenarios.

use multihop_core::settings::{Allowed, Settings, Table, Value, Visitor};
use multihop_routing::{aodv, apdr, olsr};

use crate::document::Source;
use crate::extension::Extensions;
use crate::faults::Faults;
use crate::overrides;
use crate::problem::Problems;
use crate::read::{Keys, settings};

/// What a routing daemon is told.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterSettings {
    /// Names of interfaces.
    pub interfaces: Vec<String>,
    /// Whether its routes are those of IPv6.
    pub ipv6: bool,
    /// The multicast group for messages of IPv6; `None`: the daemon's choice.
    pub group: Option<String>,
    /// Networks that it announces, each as `ADDRESS/BITS` or `default`.
    pub announce: Vec<String>,
    /// A file with the key that signs packets.
    pub key: Option<String>,
    /// Addresses of the only neighbours to which it listens; empty: all.
    pub neighbors: Vec<String>,
    /// Networks to which alone its routes lead; empty: all.
    pub within: Vec<String>,
    /// The number of the routing table.
    pub table: u32,
    /// The priority of its routes.
    pub priority: u32,
    /// Whether the host forwards packets of others.
    pub forward: bool,
    /// The user as whom it goes on after its start.
    pub user: Option<String>,
    /// The protocol's name.
    pub protocol: &'static str,
    /// Its parameters.
    pub routing: RouterProtocol,
    /// Networks whose hosts AODV searches for; `None`: the daemon's choice.
    pub on_demand: Option<Vec<String>>,
}

/// The parameters of a routing daemon's protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum RouterProtocol {
    /// Of OLSR, and of routes of least delay.
    Olsr(olsr::Config),
    /// Of AODV.
    Aodv(aodv::Config),
}

impl RouterSettings {
    /// Reads and checks a configuration, with `overrides` (dotted path, TOML value or bare string) applied in their
    /// order.
    pub fn load(source: &Source, overrides: &[(String, String)]) -> Result<Self, Problems> {
        let mut root = source.parse().map_err(|faults| source.problems(None, faults, &[]))?;
        let extensions = Extensions::default();
        let mut faults = Faults::new(&extensions);
        overrides::apply(&mut root, overrides, &mut faults);
        let mut found = Self::default();
        if let Some(mut keys) = Keys::open(&root, "", &mut faults) {
            settings::take_listed(&mut |reader| found.keys(reader), "multihop route", &mut keys, &mut faults);
            keys.close(&mut faults);
        }
        if faults.is_empty() {
            Ok(found)
        } else {
            Err(source.problems(Some(&root), faults.into_list(), overrides))
        }
    }

    /// What AODV has besides, and what it lacks.
    fn on_demand_keys(&mut self, keys: &mut dyn Visitor) {
        let is_aodv = matches!(self.routing, RouterProtocol::Aodv(_));
        let about = "Networks whose hosts are searched for when a packet needs a route, under aodv: ADDRESS/BITS, or \
                     default; without it those of the interfaces, and all others if there is no default route.";
        let given = keys.about(about).value("on_demand", Allowed::List(&Allowed::Text(LONGEST), None), None);
        self.on_demand = given.map(|given| given.into_list().into_iter().map(Value::into_text).collect());
        if self.on_demand.is_some() && !is_aodv {
            keys.refuse("on_demand", "allowed with protocol = \"aodv\"".into());
        }
        if self.ipv6 && is_aodv {
            let problem = "found true, allowed with protocol = \"olsr\" or \"apdr\": RFC 3561 has IPv4 only";
            keys.refuse("ipv6", problem.into());
        }
        for (key, is_given) in [("announce", !self.announce.is_empty()), ("key", self.key.is_some())] {
            if is_given && is_aodv {
                keys.refuse(key, "allowed with protocol = \"olsr\" or \"apdr\"".into());
            }
        }
    }

    fn routing_keys(&mut self, keys: &mut dyn Visitor) {
        let kinds: Vec<_> = PROTOCOLS.iter().map(|protocol| (protocol.name, protocol.help)).collect();
        keys.kinds("protocol", Some(0), &kinds, &mut |kind, keys| {
            let Protocol { name, read, .. } = PROTOCOLS[kind];
            (self.protocol, self.routing) = (name, read(keys));
        });
    }
}

impl Default for RouterSettings {
    fn default() -> Self {
        Self {
            interfaces: Vec::new(),
            ipv6: false,
            group: None,
            announce: Vec::new(),
            key: None,
            neighbors: Vec::new(),
            within: Vec::new(),
            table: 254,
            priority: 698,
            forward: true,
            user: None,
            protocol: "olsr",
            routing: RouterProtocol::Olsr(olsr::Config::for_hosts()),
            on_demand: None,
        }
    }
}

impl Settings for RouterSettings {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Names of the interfaces over which it talks to neighbours.";
        texts(keys, "interfaces", &mut self.interfaces, about);
        let about = "Routes of IPv6 in place of IPv4; one daemon of each family can run on a host.";
        keys.about(about).switch("ipv6", &mut self.ipv6);
        let about = "Multicast group for messages, with ipv6 = true; without it ff02::6d, all routers of a mesh on the link.";
        keys.about(about).text_if_set("group", &mut self.group, LONGEST);
        if self.group.is_some() && !self.ipv6 {
            keys.refuse("group", "allowed with ipv6 = true".into());
        }
        let about = "Networks behind this host, which it announces to others: ADDRESS/BITS, or default.";
        texts(keys, "announce", &mut self.announce, about);
        let about =
            "The only neighbours to which it listens, by the addresses of their interfaces; if empty, all.";
        texts(keys, "neighbors", &mut self.neighbors, about);
        let about = "Routes lead only to destinations in these networks; if empty, anywhere.";
        texts(keys, "within", &mut self.within, about);
        let about = "File with a key that all hosts have (multihop keygen --shared); packets without its signature are not used.";
        keys.about(about).text_if_set("key", &mut self.key, LONGEST_PATH);
        keys.about("Routing table for its routes; 254 is main.").whole(
            "table",
            &mut self.table,
            1..=4_294_967_295,
        );
        let about =
            "Of several routes to the same network, the kernel uses the one with the smallest number.";
        keys.about(about).whole("priority", &mut self.priority, 1..=4_294_967_295);
        keys.about("Whether this host forwards packets of others.").switch("forward", &mut self.forward);
        let about =
            "User as whom it goes on after its start, with the rights that routes need and no others.";
        keys.about(about).text_if_set("user", &mut self.user, LONGEST);
        let routing =
            Table { name: "routing", help: "The protocol and its keys.", required: false, default: None };
        keys.table(&routing, &mut |keys| self.routing_keys(keys));
        self.on_demand_keys(keys);
    }
}

/// A key with a list of texts.
fn texts(keys: &mut dyn Visitor, name: &'static str, field: &mut Vec<String>, about: &str) {
    let allowed = Allowed::List(&Allowed::Text(LONGEST), None);
    let given = keys.about(about).value(name, allowed, Some(Value::List(Vec::new())));
    let given = given.map_or_else(Vec::new, Value::into_list);
    *field = given.into_iter().map(Value::into_text).collect();
}

fn read_olsr(mut config: olsr::Config, keys: &mut dyn Visitor) -> RouterProtocol {
    match config.metric {
        None => config.keys(keys),
        Some(_) => {
            let mut apdr = apdr::Config { olsr: config, reservation: None };
            apdr.keys(keys);
            config = apdr.olsr;
        }
    }
    refuse_what_hosts_lack(&config, keys);
    RouterProtocol::Olsr(config)
}

fn read_aodv(keys: &mut dyn Visitor) -> RouterProtocol {
    let mut config = aodv::Config::for_hosts();
    config.keys(keys);
    if config.link_failure == aodv::LinkFailure::Mac {
        keys.refuse("link_failure", HELLO_ONLY.into());
    }
    RouterProtocol::Aodv(config)
}

/// Packets are the kernel's, and its clock is nobody else's.
fn refuse_what_hosts_lack(config: &olsr::Config, keys: &mut dyn Visitor) {
    if config.link_failure == olsr::LinkFailure::Mac {
        keys.refuse("link_failure", HELLO_ONLY.into());
    }
    let Some(metric) = config.metric else { return };
    if metric.clocks == olsr::Clocks::Synchronised {
        keys.refuse("clocks", "found \"synchronised\", allowed on real interfaces: \"echoed\"".into());
    }
    if metric.own_load {
        keys.refuse("own_load", "found true, allowed on real interfaces: false".into());
    }
}

/// A protocol that a daemon speaks.
struct Protocol {
    name: &'static str,
    help: &'static str,
    read: fn(&mut dyn Visitor) -> RouterProtocol,
}

static PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "olsr",
        help: "Optimised link state routing (RFC 3626), with the values that it suggests.",
        read: |keys| read_olsr(olsr::Config::for_hosts(), keys),
    },
    Protocol {
        name: "apdr",
        help: "OLSR with routes of least average delay; clocks need not agree.",
        read: |keys| {
            let metric = olsr::Metric { clocks: olsr::Clocks::Echoed, ..olsr::Metric::default() };
            read_olsr(olsr::Config::for_hosts().with_metric(metric), keys)
        },
    },
    Protocol {
        name: "aodv",
        help: "Routes that are searched for when a packet needs them (RFC 3561), with the values of AODV-UU.",
        read: read_aodv,
    },
];

const HELLO_ONLY: &str = "found \"mac\", allowed on real interfaces: \"hello\"";
const LONGEST: usize = 100;
const LONGEST_PATH: usize = 4_096;
