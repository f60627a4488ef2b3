//! The checked scenario: all of its values have passed every check.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use multihop_core::settings::Field;
use multihop_core::{BitRate, Duration, FlowId, Instant, Interface, NodeId};
use multihop_radio::channel::Channel;
use multihop_radio::energy::Energy;
use multihop_radio::frame::Category;
use multihop_radio::mobility::{
    GaussMarkovParams, GroupParams, ManhattanParams, Path, RandomWalkParams, RandomWaypointParams, Walk,
};
use multihop_radio::params::{MacParams, QueueKind, RadioParams};
use multihop_routing::network::AgentConfig;
use multihop_transport::connection::{ConnectionConfig, UdpConfig};
use multihop_transport::{mesh, observe, tcp, tpa};

use super::Topology;
use super::application::{App, MessageChannel};
use super::extension::{CustomTransport, Extension, STATIC_ROUTES};
use super::wire_trace::WireTrace;

/// One simulation, ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name for displays and results.
    pub name: String,
    /// Duration of the run in simulated time.
    pub duration: Duration,
    /// The start of the run that no metric counts; shorter than `duration`.
    pub warmup: Duration,
    /// Seed from which every random stream derives.
    pub seed: u64,
    /// The radios of the nodes, at least one. The n-th radio is the n-th interface of each node that has it.
    pub radios: Vec<Radio>,
    /// Initial positions of the nodes.
    pub topology: Topology,
    /// Movement of the nodes; static nodes do not move.
    pub mobility: Mobility,
    /// Movements of single nodes that differ from `mobility`.
    pub single_movements: BTreeMap<NodeId, Mobility>,
    /// Computers behind wires; numbered after the nodes.
    pub hosts: Vec<Host>,
    /// Routing protocol and its parameters.
    pub routing: Routing,
    /// Flows in the order of the file; [`multihop_core::FlowId`] is the index in this list.
    pub flows: Vec<Flow>,
    /// Real programs, which only an emulation runs.
    pub programs: Vec<Program>,
    /// Connection of real programs to the network.
    pub emulation: Emulation,
    /// Time series to write; `None` without any.
    pub record: Option<Record>,
    /// Powers and batteries; without them no energy is reported.
    pub energy: Option<Energy>,
    /// Times in which radios are asleep.
    pub sleeps: Vec<Sleep>,
    /// Goodput of a chain by its hops, kb/s: from 1 hop on, without gaps.
    pub expected: Option<BTreeMap<u32, f64>>,
    /// Axes that `multihop sweep` varies, if the scenario has them.
    pub sweep: Option<Sweep>,
}

/// A radio: an interface of each node that has it. Stations of one radio exchange frames; those of different radios interfere
/// with each other if their channels overlap.
#[derive(Clone, Debug)]
pub struct Radio {
    /// Physical layer and reception.
    pub params: RadioParams,
    /// Medium access and the interface queue.
    pub mac: MacParams,
    /// Kind of address resolution on this radio.
    pub arp: ArpKind,
    /// Number of the channel; always given if there are several radios.
    pub channel: Option<u8>,
    /// Nodes that have the radio; `None` means all nodes.
    pub nodes: Option<BTreeSet<NodeId>>,
}

impl Radio {
    /// Whether a node has the radio.
    pub fn is_at(&self, node: NodeId) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.contains(&node))
    }

    /// Attenuation, in dB, of this radio's signals at the receivers of another radio, relative to its own
    /// receivers. `None`: not received at all.
    pub fn attenuation_db(&self, receiver: &Self) -> Option<f64> {
        let [from, to] = [self, receiver].map(|radio| {
            let phy = radio.params.phy;
            radio.channel.map(|number| Channel { phy, number })
        });
        from?.attenuation_db(&to?)
    }
}

impl Scenario {
    /// Physical layer and reception of the first radio.
    pub fn radio(&self) -> &RadioParams {
        &self.radios[0].params
    }

    /// Medium access of the first radio.
    pub fn mac(&self) -> &MacParams {
        &self.radios[0].mac
    }

    /// Seed of the random streams of a radio; for the first radio the seed of the scenario.
    pub fn seed_of(&self, interface: Interface) -> u64 {
        // The factor is odd, so that no seed of a scenario gives two radios the same streams.
        self.seed.wrapping_add(u64::from(interface.0).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Bit rate of unicast data: the rate of the slowest radio.
    pub fn bit_rate(&self) -> BitRate {
        let rates = self.radios.iter().map(|radio| radio.params.bit_rate());
        rates.min().expect("at least one radio")
    }

    /// Whether nodes have several radios.
    pub fn has_several_radios(&self) -> bool {
        self.radios.len() > 1
    }

    /// Distance in metres over which unicast data frames can be decoded without interference at the
    /// scenario's rate; the longest of all radios.
    pub fn decode_range(&self) -> f64 {
        self.radios.iter().map(|radio| radio.params.decode_range()).fold(0.0, f64::max)
    }

    /// All hosts with their numbers.
    pub fn hosts(&self) -> impl Iterator<Item = (NodeId, &Host)> {
        let first = u32::try_from(self.topology.nodes()).expect("a checked number of nodes");
        (first..).map(NodeId).zip(&self.hosts)
    }

    /// Whether `node` is a host and not a node of the mesh.
    pub fn is_host(&self, node: NodeId) -> bool {
        !self.hosts.is_empty() && node.index() >= self.topology.nodes()
    }

    /// The interface of a node or host.
    pub fn port(&self, node: NodeId) -> Port {
        if self.emulation.simulated.contains(&node) { Port::Tun } else { self.emulation.interface }
    }

    /// The node to which the mesh routes packets for `node`: the node itself, or a host's gateway.
    pub fn in_mesh(&self, node: NodeId) -> NodeId {
        if self.is_host(node) { self.hosts[node.index() - self.topology.nodes()].gateway } else { node }
    }

    /// User-defined protocols of the scenario, each once.
    pub fn extensions(&self) -> Vec<Extension> {
        let transports = self.flows.iter().filter_map(|flow| match &flow.transport.protocol {
            Protocol::Custom(custom) => Some(custom.extension),
            Protocol::Tcp { control, .. } => *control,
            _ => None,
        });
        let mut used = Vec::new();
        for extension in transports {
            if !used.contains(&extension) {
                used.push(extension);
            }
        }
        if let RoutingProtocol::Agents(agents) = &self.routing.protocol {
            used.extend(agents.extension);
        }
        used
    }

    /// Whether another flow relays the data of this flow.
    pub fn is_relayed(&self, flow: FlowId) -> bool {
        self.flows.iter().any(|other| matches!(other.app, App::Relay { of, .. } if of == flow))
    }
}

/// A computer without a radio, on a wire to one of the nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Node at the other end of the host's wire.
    pub gateway: NodeId,
    /// Index of the first host on the same wire: the host itself if its wire is not shared.
    pub wire: usize,
    /// Bit rate of each direction of the wire without a trace.
    pub rate: BitRate,
    /// Trace of the direction to the host, which replaces its bit rate.
    pub trace_to_host: Option<Arc<WireTrace>>,
    /// Trace of the direction from the host, which replaces its bit rate.
    pub trace_from_host: Option<Arc<WireTrace>>,
    /// Time from the end of a packet's transmission to its arrival.
    pub delay: Duration,
    /// Packets that may wait in either direction of the wire.
    pub queue: usize,
    /// Probability that a packet to the host is lost.
    pub loss_to_host: f64,
    /// Probability that a packet from the host is lost.
    pub loss_from_host: f64,
}

/// How a node finds the MAC address of a neighbour.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum ArpKind {
    /// One packet is held for each destination; a newer one displaces it.
    Ns2,
    /// Sixteen packets are held; a lookup that fails is a link failure.
    Queueing,
    /// Every address is known.
    Oracle,
}

/// Movement of the nodes. Unless the nodes are static, their initial positions come from here and not from
/// the topology.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// The nodes do not move.
    Static,
    /// Each node moves from one place drawn at random to the next.
    RandomWaypoint {
        /// Parameters of random waypoint: area, speeds, pauses and start.
        params: RandomWaypointParams,
        /// Replaces the scenario's seed, so that runs with other seeds have the same movement.
        pattern: Option<u64>,
    },
    /// Each node moves in a sequence of directions drawn at random.
    RandomWalk(RandomWalkParams),
    /// Each node moves with memory of its speed and direction.
    GaussMarkov(GaussMarkovParams),
    /// Each node moves along the streets of a town.
    Manhattan(ManhattanParams),
    /// The nodes move in groups, each around its reference point.
    Group {
        /// Parameters of the movement of reference points and of the nodes around them.
        params: GroupParams,
        /// The nodes of a group.
        members: Members,
    },
    /// Each node moves along a path given in advance.
    Paths(Vec<Path>),
    /// A single node moves along a path given in advance.
    Path(Path),
    /// A single node moves at constant speed from its position in the topology to other places.
    Walk(Walk),
}

/// The nodes that move as a group.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Members {
    /// Groups of this many nodes with successive numbers.
    BySize(u32),
    /// A group of nodes listed by the scenario; contains the first one.
    Of(NodeId),
}

impl Members {
    /// The first node of the group of `node`.
    pub const fn first(self, node: NodeId) -> NodeId {
        match self {
            Self::BySize(size) => NodeId(node.0 / size * size),
            Self::Of(first) => first,
        }
    }
}

/// The routing protocol, and the transmission of its packets.
#[derive(Clone, Debug)]
pub struct Routing {
    /// Protocol that finds routes, with its parameters.
    pub protocol: RoutingProtocol,
    /// Bytes of a second IP header in every routed packet.
    pub ip_extra: u32,
}

/// A routing protocol and its parameters.
#[derive(Clone, Debug)]
pub enum RoutingProtocol {
    /// Fixed routes for the whole run: fewest hops at the decode range, ties to the lowest node number,
    /// unless `next_hops` overrides them.
    Static {
        /// Neighbours through which packets leave a node for a destination: `(node, destination) -> via`.
        next_hops: BTreeMap<(NodeId, NodeId), NodeId>,
    },
    /// Routes that agents of a protocol find by messages.
    Agents(AgentProtocol),
}

/// A routing protocol with an agent at each node.
#[derive(Clone, Debug)]
pub struct AgentProtocol {
    /// Name of the protocol in scenario files and results.
    pub name: &'static str,
    /// Parameters with the values that the scenario gives to their keys.
    pub config: Arc<dyn AgentConfig>,
    /// The protocol as an extension, if it is user-defined.
    pub extension: Option<Extension>,
}

impl RoutingProtocol {
    /// Interface queue under which the protocol runs in ns-2.
    pub fn queue_kind(&self) -> QueueKind {
        match self {
            Self::Agents(agents) if agents.config.separate_queue() => QueueKind::ByPriority,
            Self::Agents(_) | Self::Static { .. } => QueueKind::Single,
        }
    }

    /// The name in scenario files and results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Static { .. } => STATIC_ROUTES,
            Self::Agents(agents) => agents.name,
        }
    }
}

/// One sender and one receiver.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Node that sends the flow's data.
    pub from: NodeId,
    /// Receiver of the flow; never equal to the sender.
    pub to: NodeId,
    /// Application, which decides what is sent and when.
    pub app: App,
    /// Channels of an application that sends messages; none for other applications.
    pub channels: Vec<MessageChannel>,
    /// Transport that sends the data.
    pub transport: Transport,
    /// Instant at which the application begins, start jitter included; before the end of the run.
    pub start: Duration,
    /// Instant at which the flow ends; after `start`.
    pub stop: Option<Duration>,
    /// Access category of the flow's packets, under EDCA.
    pub category: Category,
    /// Whether packets have the DSCP of the priority of their channel, which decides their category under EDCA.
    pub dscp: bool,
    /// Position of the flow among randomly drawn transfers; `None` for other flows.
    pub drawn: Option<Drawn>,
}

impl Flow {
    /// Whether the flow begins at `start` instead of after another flow.
    pub fn begins_by_itself(&self) -> bool {
        self.drawn.is_none_or(|drawn| drawn.first)
    }
}

/// Position of a randomly drawn transfer in its chain of successive transfers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Drawn {
    /// Whether the transfer begins at `start`. Otherwise it begins when the previous transfer in its chain ends.
    pub first: bool,
    /// Transfer that follows this one, and the time between them.
    pub next: Option<(FlowId, Duration)>,
}

/// Transport of a flow.
#[derive(Clone, Debug)]
pub struct Transport {
    /// Name of the transport in results: the short name, or the kind of the table form.
    pub name: String,
    /// The protocol and its parameters.
    pub protocol: Protocol,
}

/// A transport protocol and its parameters.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// UDP, which sends datagrams without acknowledgements.
    Udp,
    /// TCP with one of its congestion controls.
    Tcp {
        /// The user-defined congestion control; `None` for built-in ones.
        control: Option<Extension>,
        /// Parameters of both ends of the flow.
        config: Box<tcp::Config>,
    },
    /// TPA, which sends data in blocks and acknowledges them with bitmaps.
    Tpa {
        /// Parameters of both ends of the flow.
        config: Box<tpa::Config>,
    },
    /// The transport `mesh` of this project.
    Mesh {
        /// Parameters of both ends of the flow.
        config: Box<mesh::Config>,
    },
    /// Transport that the user has defined.
    Custom(CustomTransport),
}

impl Protocol {
    /// Configuration that creates the connections at both ends of a flow.
    pub fn connections(&self) -> &dyn ConnectionConfig {
        match self {
            Self::Udp => &UdpConfig,
            Self::Tcp { config, .. } => config.as_ref(),
            Self::Tpa { config } => config.as_ref(),
            Self::Mesh { config } => config.as_ref(),
            Self::Custom(custom) => custom.config.as_ref(),
        }
    }
}

/// A real program in an emulation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Program {
    /// Node or host in whose network namespace the program runs.
    pub node: NodeId,
    /// Command line, executed by `sh`.
    pub command: String,
    /// Instant at which the program starts; before the end of the run.
    pub start: Duration,
    /// Instant at which the program receives a request to end; after `start`.
    pub stop: Option<Duration>,
    /// Environment variables in addition to those of the parent process: names and values.
    pub environment: Vec<(String, String)>,
}

/// How an emulation connects real programs to the network.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Emulation {
    /// The interface of each node and host; see [`Scenario::port`].
    pub interface: Port,
    /// Nodes for which the simulated network routes even with [`Port::Tap`].
    pub simulated: BTreeSet<NodeId>,
    /// Longest IP packet on the radio, bytes.
    pub mtu: u16,
    /// Whether a node takes no packets from its programs while its interface queue is full.
    pub back_pressure: bool,
    /// Gateway to other networks; `None` if the emulation is isolated.
    pub gateway: Option<Gateway>,
}

/// Kind of the interfaces through which real programs enter the network.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Port {
    /// TUN interfaces for IP packets, which the simulated network routes.
    Tun,
    /// TAP interfaces for Ethernet frames, which reach neighbours only.
    Tap,
}

/// A node whose interface is an interface of the emulating machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Gateway {
    /// Node whose host has this interface.
    pub node: NodeId,
    /// Name of the interface.
    pub interface: String,
}

/// Time series to write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Record {
    /// Time between two values; zero writes every change.
    pub every: Duration,
    /// Series to write, each once, in the order of the file.
    pub what: Vec<Series>,
}

/// One kind of time series.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Series {
    /// Quantity that transports declare under this name.
    Declared {
        /// Name of the quantity, which is the word in scenarios.
        name: &'static str,
        /// Unit of the quantity.
        unit: &'static str,
    },
    /// Number of links that packets crossed between sender and receiver.
    Hops,
    /// Number of links of the true shortest path between sender and receiver.
    Shortest,
    /// Packets in the interface queue of each node.
    Queue,
    /// Delivered application data in each interval.
    Goodput,
}

impl Series {
    /// The series that exist in every network, whatever its transports.
    pub const OF_NETWORKS: [Self; 4] = [Self::Hops, Self::Shortest, Self::Queue, Self::Goodput];

    /// Name of the series in scenarios.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Declared { name, .. } => name,
            Self::Hops => "hops",
            Self::Shortest => "shortest",
            Self::Queue => "queue",
            Self::Goodput => "goodput",
        }
    }

    /// Name of the series in files.
    pub fn key(self) -> String {
        match self {
            Self::Declared { name, unit } => observe::key(name, unit),
            Self::Goodput => observe::key(self.word(), "kbps"),
            Self::Hops | Self::Shortest | Self::Queue => self.word().to_owned(),
        }
    }
}

/// A time in which the radio of a node is asleep.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sleep {
    /// Node whose radio sleeps.
    pub node: NodeId,
    /// Instant at which the radio falls asleep.
    pub from: Instant,
    /// Instant at which the radio wakes; `None` if it sleeps until the end.
    pub until: Option<Instant>,
}

/// Axes that `multihop sweep` varies: every combination of their values runs with the same seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Number of runs of each combination, with the scenario's seed and the following ones.
    pub seeds: u32,
    /// Varied keys in the order of the file; the last one varies fastest.
    pub axes: Vec<Axis>,
}

/// A key that a sweep varies, or several keys that vary together.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Dotted paths of the keys.
    pub keys: Vec<String>,
    /// The points of the axis, each with one value for every key.
    pub points: Vec<Vec<AxisValue>>,
}

/// One value on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// Value in the form of an override.
    pub text: String,
    /// Value in the form that results show.
    pub json: serde_json::Value,
}
