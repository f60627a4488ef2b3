//! Routing protocols on real hosts: the interface between an agent and the daemon that has sockets and routes.
//!
//! A protocol for scenarios runs on hosts as well if its configuration returns itself from
//! [`AgentConfig::on_host`](crate::network::AgentConfig::on_host). The daemon opens a UDP socket for each
//! interface, and gives the agent datagrams and time. The agent returns datagrams and routes of IPv4 and
//! IPv6.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

use multihop_core::settings::Visitor;
use multihop_core::{Duration, Instant, Interface};

/// Configuration of a protocol that runs on hosts.
pub trait HostConfig {
    /// UDP port and multicast group of the socket over which agents exchange datagrams.
    fn transport(&self) -> Transport;

    /// Creates the agent of a host that has no interfaces yet.
    fn host_agent(&self, setup: HostSetup) -> Box<dyn HostAgent>;

    /// Time for which the routes of the previous agent remain after a restart of the agent.
    fn hold(&self) -> Duration;

    /// Refuses values that real interfaces cannot satisfy, by [`Visitor::refuse`]. Accepts all by default.
    fn check_on_host(&self, _keys: &mut dyn Visitor) {}
}

/// UDP port and multicast group of a protocol. Datagrams leave from link-local addresses of IPv6.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transport {
    /// Source and destination port.
    pub port: u16,
    /// Group of all neighbours on a link.
    pub group: Ipv6Addr,
    /// Whether datagrams wait behind data in queues, so that the agent measures queueing delays.
    pub waits: bool,
}

/// Values for the start of an agent. Debug output does not have the keys.
#[derive(Clone)]
pub struct HostSetup {
    /// Instant at which the agent starts.
    pub now: Instant,
    /// Root of the agent's random numbers, different at each start.
    pub seed: u64,
    /// Unix time at which the driver's clock was zero, s. Sequence numbers that begin with the present time grow across
    /// restarts of a host.
    pub epoch: u64,
    /// Keys for signatures of datagrams. Each key signs all datagrams, and those of neighbours are accepted with any.
    /// Empty: datagrams are not signed.
    pub keys: Vec<[u8; 32]>,
}

impl fmt::Debug for HostSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { now, epoch, .. } = self;
        f.debug_struct("HostSetup").field("now", now).field("epoch", epoch).finish_non_exhaustive()
    }
}

/// An interface of the host that is up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostInterface {
    /// Number of the interface, used by agent and daemon as long as it exists.
    pub number: Interface,
    /// Link-local address from which datagrams leave.
    pub address: Ipv6Addr,
    /// All other addresses of the interface.
    pub addresses: Vec<IpAddr>,
    /// Whether the interface is a radio, which loses packets more often than a cable.
    pub is_radio: bool,
}

/// Source of a received datagram.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HostArrival {
    /// Interface over which the datagram came.
    pub interface: Interface,
    /// Link-local address of the neighbour.
    pub from: Ipv6Addr,
    /// Whether the datagram was sent to the group of all neighbours.
    pub to_all: bool,
}

/// Datagram that leaves over an interface.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostDatagram {
    /// Interface over which the datagram leaves.
    pub interface: Interface,
    /// Link-local address of the neighbour; `None`: all neighbours.
    pub to: Option<Ipv6Addr>,
    /// Payload of the UDP datagram.
    pub bytes: Vec<u8>,
}

/// A network: its address and the length of its prefix in bits.
pub type HostNetwork = (IpAddr, u8);

/// A route in use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HostRoute {
    /// Network to which the route leads.
    pub destination: HostNetwork,
    /// Address of the neighbour that receives the packets.
    pub via: IpAddr,
    /// Interface by which the neighbour is reached.
    pub interface: Interface,
    /// Metric of the route.
    pub cost: u32,
}

/// Neighbour and the link to it, for displays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostNeighbour {
    /// Interface by which the neighbour is reached.
    pub interface: Interface,
    /// Link-local address of the neighbour.
    pub address: Ipv6Addr,
    /// Instant at which the neighbour was last heard.
    pub heard: Instant,
    /// Share of the neighbour's latest messages that arrived.
    pub received: f64,
    /// Cost of the link; `None` if the link is not used.
    pub cost: Option<u32>,
    /// Average round-trip time, if the protocol measures it.
    pub round_trip: Option<Duration>,
}

/// Reason why a datagram was not used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostRefusal {
    /// The datagram is not a packet of the protocol.
    Malformed,
    /// The datagram has no signature.
    Unsigned,
    /// No key of this host has made the signature.
    WrongKey,
    /// The counter is not greater than that of an earlier packet.
    Replayed,
    /// The sender has not answered a challenge yet.
    Unproven,
    /// The table of neighbours is full.
    TooMany,
}

/// The agent of a host.
///
/// The contract is that of [`Machine`](multihop_core::Machine): after each call that changes the agent, the
/// driver takes datagrams until there are none, and calls the agent again at
/// [`poll_timeout`](Self::poll_timeout).
pub trait HostAgent: fmt::Debug + Send {
    /// Sets the interfaces that are up. Neighbours of missing interfaces are lost.
    fn set_interfaces(&mut self, now: Instant, interfaces: Vec<HostInterface>);

    /// Sets the networks that this host announces in addition to the addresses of its interfaces, and the
    /// only networks to which routes may lead (empty: no restriction).
    fn set_networks(&mut self, now: Instant, announced: Vec<HostNetwork>, within: Vec<HostNetwork>);

    /// Whether an address belongs to a neighbour on this interface.
    fn is_neighbour(&self, interface: Interface, address: Ipv6Addr) -> bool;

    /// Checks cheaply whether a datagram is worth processing.
    fn admits(&mut self, now: Instant, arrival: HostArrival, bytes: &[u8]) -> Result<(), HostRefusal>;

    /// Processes a datagram that is [admitted](Self::admits).
    fn receive(&mut self, now: Instant, arrival: HostArrival, bytes: &[u8]) -> Result<(), HostRefusal>;

    /// Handles deadlines that have passed.
    fn handle_timeout(&mut self, now: Instant);

    /// Deadline at which the driver must call [`handle_timeout`](Self::handle_timeout).
    fn poll_timeout(&self) -> Option<Instant>;

    /// The next datagram to send.
    fn poll_datagram(&mut self, now: Instant) -> Option<HostDatagram>;

    /// Message that ends all links over an interface, sent before the host stops using the interface.
    fn farewell(&mut self, now: Instant, interface: Interface) -> Option<HostDatagram>;

    /// The routes in use, the cheapest first.
    fn routes(&self) -> Vec<HostRoute>;

    /// Number that grows when routes or neighbours may have changed, so that the driver compares routes only then.
    /// `None`, the default: they may change with every call.
    fn revision(&self) -> Option<u64> {
        None
    }

    /// Neighbours from which messages arrived recently.
    fn neighbours(&self) -> Vec<HostNeighbour>;

    /// Names and values of the agent's counters.
    fn counts(&self) -> Vec<(&'static str, u64)>;
}
