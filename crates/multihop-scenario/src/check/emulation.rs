//! Checks the table `[emulation]` and the programs and hosts that it needs.

use std::collections::BTreeSet;

use super::Nodes;
use crate::document::Fault;
use crate::faults::Faults;
use crate::model::{Emulation, Gateway, Host, Port, Routing, RoutingProtocol};
use crate::tables::EmulationTable;

/// Checks how real programs are connected; `nodes` are the nodes of the topology.
pub(super) fn emulation(
    table: &EmulationTable,
    nodes: &Nodes<'_>,
    hosts: &[Host],
    routing: &Routing,
    has_flows: bool,
    faults: &mut Faults<'_>,
) -> Option<Emulation> {
    if table.interface == Port::Tap {
        if !hosts.is_empty() {
            let message =
                format!("found {} hosts, allowed with emulation.interface = \"tap\": none", hosts.len());
            faults.push(Fault::at_key("host", message));
        }
        let is_simulated = !table.simulated.is_empty();
        let found = routing.protocol.name();
        if is_simulated && !SIMULATED.contains(&found) {
            let message = format!("found {found:?}, allowed with emulation.simulated: \"olsr\", \"apdr\"");
            faults.push(Fault::at_key("routing.protocol", message));
        } else if !is_simulated && !matches!(routing.protocol, RoutingProtocol::Static { .. }) {
            let message = format!(
                "found {found:?}, allowed with emulation.interface = \"tap\", where kernels route: \"static\""
            );
            faults.push(Fault::at_key("routing.protocol", message));
        }
        if is_simulated && has_flows {
            let message = "found simulated flows, allowed with emulation.simulated: programs alone, whose packets the kernels forward";
            faults.push(Fault::at_key("flow", message.to_owned()));
        }
    } else if !table.simulated.is_empty() {
        let count = table.simulated.len();
        let message = format!("found {count} nodes, allowed without emulation.interface = \"tap\": none");
        faults.push(Fault::at_key("emulation.simulated", message));
    }
    let mut simulated = BTreeSet::new();
    for (n, node) in table.simulated.iter().enumerate() {
        simulated.insert(nodes.find(node, &format!("emulation.simulated.{n}"), faults)?);
    }
    let gateway = match &table.gateway {
        Some(node) => Some(Gateway {
            node: nodes.find(node, "emulation.gateway", faults)?,
            interface: interface(&table.gateway_interface, faults)?,
        }),
        None => None,
    };
    let EmulationTable { interface, mtu, back_pressure, .. } = *table;
    Some(Emulation { interface, simulated, mtu, back_pressure, gateway })
}

/// A name that Linux takes.
fn interface(name: &str, faults: &mut Faults<'_>) -> Option<String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.bytes().all(is_allowed) && !matches!(name, "." | "..") {
        return Some(name.to_owned());
    }
    let message =
        format!("found {name:?}, allowed: up to 15 of the letters a to z, A to Z, 0 to 9, -, _ and .");
    faults.push(Fault::at_key("emulation.gateway_interface", message));
    None
}

/// Protocols whose messages are exchanged with daemons on real interfaces, and whose routes need no simulated
/// packet.
const SIMULATED: [&str; 2] = ["olsr", "apdr"];
