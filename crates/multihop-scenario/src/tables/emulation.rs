//! `[emulation]`.

use multihop_core::settings::{Allowed, Settings, Value, Visitor};

use super::NodeRef;
use crate::model::Port;

/// How `multihop emulate` connects real programs to the network.
pub(crate) struct EmulationTable {
    pub(crate) interface: Port,
    pub(crate) simulated: Vec<NodeRef>,
    /// Bytes.
    pub(crate) mtu: u16,
    pub(crate) back_pressure: bool,
    pub(crate) gateway: Option<NodeRef>,
    pub(crate) gateway_interface: String,
}

impl Default for EmulationTable {
    fn default() -> Self {
        Self {
            interface: Port::Tun,
            simulated: Vec::new(),
            mtu: 1500,
            back_pressure: false,
            gateway: None,
            gateway_interface: "mesh0".to_owned(),
        }
    }
}

impl Settings for EmulationTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Interface of each node: tun for IP packets, which the scenario's routing protocol routes; tap \
                     for Ethernet frames, which reach neighbours only, so that kernels and their routing daemons \
                     route.";
        let words = [("tun", Port::Tun), ("tap", Port::Tap)];
        keys.about(about).word("interface", &mut self.interface, &words);
        let about = "With tap: nodes for which the scenario's routing protocol, olsr or apdr, routes all the same; it \
                     exchanges its messages with the daemons of the other nodes.";
        let none = Value::List(Vec::new());
        let given = keys.about(about).value("simulated", Allowed::List(&Allowed::Node, None), Some(none));
        let given = given.map_or_else(Vec::new, Value::into_list);
        self.simulated = given.into_iter().map(NodeRef::from).collect();
        let about = "Longest IP packet on the radio, bytes. Wires to hosts carry 1500.";
        keys.about(about).whole("mtu", &mut self.mtu, 1280..=LONGEST_MTU);
        let about = "Whether a node takes no packets from its programs while its interface queue is full, so that they \
                     wait in the kernel, which drops what is too much.";
        keys.about(about).switch("back_pressure", &mut self.back_pressure);
        let about = "A node whose interface is one of this machine, outside of any namespace of the emulation. Packets \
                     to other networks go there.";
        self.gateway = keys.about(about).value("gateway", Allowed::Node, None).map(NodeRef::from);
        let about = "Name of the gateway's interface on this machine.";
        keys.about(about).text("gateway_interface", &mut self.gateway_interface, LONGEST_INTERFACE);
    }
}

/// The payload of an 802.11 frame is 2304 bytes, 8 of them LLC/SNAP.
const LONGEST_MTU: u64 = 2296;
/// `IFNAMSIZ` of Linux, without the zero byte at the end.
const LONGEST_INTERFACE: usize = 15;
