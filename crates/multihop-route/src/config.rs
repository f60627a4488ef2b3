//! What a daemon is told.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

use multihop_core::Duration;
use multihop_routing::{aodv, olsr};

use crate::prefix::{Family, Prefix};
use crate::router::Key;

/// The configuration of a daemon.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Names of the interfaces over which it talks to neighbours. One that does not exist yet is waited for.
    pub interfaces: Vec<String>,
    /// The family of its routes and of the addresses in messages. AODV has IPv4 only.
    pub family: Family,
    /// The multicast group for messages of IPv6.
    pub group: Ipv6Addr,
    /// The protocol, by the name that scenarios have for it.
    pub protocol: &'static str,
    /// Its parameters.
    pub routing: Routing,
    /// Under AODV, the networks whose hosts are searched for when a packet needs a route; `None`: those of the
    /// interfaces, and all others for which this host has no default route.
    pub on_demand: Option<Vec<Prefix>>,
    /// Networks behind this host, which it announces to others.
    pub announce: Vec<Prefix>,
    /// Signs packets; packets without its signature are not used.
    pub key: Option<Key>,
    /// The only neighbours to which it listens, by the address of their interface; empty: all.
    pub neighbors: Vec<IpAddr>,
    /// Routes lead only to destinations in one of these networks; empty: anywhere.
    pub within: Vec<Prefix>,
    /// The routing table for its routes.
    pub table: u32,
    /// Of several routes to the same network the kernel uses the one with the smallest number.
    pub priority: u32,
    /// Whether this host forwards packets of others.
    pub forward: bool,
    /// The user as whom it goes on after its start.
    pub user: Option<String>,
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
            protocol: "olsr",
            routing: Routing::Olsr(olsr::Config::for_hosts()),
            on_demand: None,
            announce: Vec::new(),
            key: None,
            neighbors: Vec::new(),
            within: Vec::new(),
            table: 254,
            priority: 698,
            forward: true,
            user: None,
            is_confined: true,
            reload_from: Vec::new(),
        }
    }
}

/// The parameters of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// Of OLSR, and of routes of least delay.
    Olsr(olsr::Config),
    /// Of AODV.
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
