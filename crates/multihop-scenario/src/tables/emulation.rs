//! Keys of the table `[emulation]`.

use multihop_core::settings::Settings;

use super::NodeRef;
use crate::model::Port;

/// How `multihop emulate` connects real programs to the network.
#[derive(Settings)]
pub(crate) struct EmulationTable {
    /// Interface of each node: tun for IP packets, which the scenario's routing protocol routes; tap for Ethernet frames, which reach
    /// neighbours only, so that kernels and their routing daemons route.
    #[key(default = Port::Tun)]
    pub(crate) interface: Port,
    /// Nodes on which, with interface tap, the simulator runs the scenario's routing protocol (olsr or apdr) instead of a daemon. These
    /// nodes exchange routing messages with the daemons of the other nodes.
    #[key]
    pub(crate) simulated: Vec<NodeRef>,
    /// Longest IP packet on the radio, bytes. Wires to hosts transmit packets of 1500 bytes.
    #[key(1280..=LONGEST_MTU, default = 1500)]
    pub(crate) mtu: u16,
    /// Whether a node takes no packets from its programs while its interface queue is full, so that they wait in the kernel, which drops
    /// what is too much.
    #[key]
    pub(crate) back_pressure: bool,
    /// Node whose interface is one of this machine, outside of any namespace of the emulation. Packets to other networks go there.
    #[key]
    pub(crate) gateway: Option<NodeRef>,
    /// Name of the gateway's interface on this machine.
    #[key(LONGEST_INTERFACE, default = "mesh0".to_owned())]
    pub(crate) gateway_interface: String,
}

/// Longest MTU, bytes: the payload of an 802.11 frame is 2304 bytes, 8 of them LLC/SNAP.
const LONGEST_MTU: u64 = 2296;
/// Longest name of an interface: `IFNAMSIZ` of Linux, without the zero byte at the end.
const LONGEST_INTERFACE: usize = 15;
