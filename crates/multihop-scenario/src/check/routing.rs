//! Checks the table `[routing]`.

use std::collections::BTreeMap;

use super::Nodes;
use crate::document::Fault;
use crate::faults::Faults;
use crate::model::{Routing, RoutingProtocol};
use crate::read::Both;
use crate::tables::{ProtocolTable, RoutingTable, StaticTable};

/// Checks the table `[routing]`; `nodes` is `None` if the topology is faulty.
pub(super) fn routing(
    table: &RoutingTable,
    nodes: Option<&Nodes<'_>>,
    faults: &mut Faults<'_>,
) -> Option<Routing> {
    let Both(packet, protocol) = table;
    let protocol = match protocol {
        ProtocolTable::Static(table) => fixed(table, nodes?, faults)?,
        ProtocolTable::Agents(agents) => RoutingProtocol::Agents(agents.clone()),
    };
    Some(Routing { protocol, ip_extra: packet.0.ip_extra })
}

fn fixed(table: &StaticTable, nodes: &Nodes<'_>, faults: &mut Faults<'_>) -> Option<RoutingProtocol> {
    let mut next_hops = BTreeMap::new();
    let mut complete = true;
    for (n, entry) in table.next_hops.iter().enumerate() {
        let path = format!("routing.next_hops.{n}");
        let mut find = |place: usize| nodes.find(&entry[place], &format!("{path}.{place}"), faults);
        let (Some(node), Some(destination), Some(via)) = (find(0), find(1), find(2)) else {
            complete = false;
            continue;
        };
        if node == destination || node == via {
            let message = "a node needs no route to itself and cannot be its own next hop";
            faults.push(Fault::at_key(path, message));
        } else if next_hops.insert((node, destination), via).is_some() {
            let message = format!("found a second next hop from {node} to {destination}, allowed: one");
            faults.push(Fault::at_key(path, message));
        }
    }
    complete.then_some(RoutingProtocol::Static { next_hops })
}
