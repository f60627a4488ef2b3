//! `[[host]]`, and flows that relay the data of others.

use std::collections::BTreeSet;

use super::Nodes;
use crate::document::Fault;
use crate::faults::Faults;
use crate::model::{App, Flow, Host, Protocol};
use crate::read::settings::Keyed;
use crate::tables::{HostTable, bit_rate};

/// Computers connected by wires.
pub(super) fn hosts(
    tables: &[Keyed<HostTable>],
    nodes: &Nodes<'_>,
    faults: &mut Faults<'_>,
) -> Option<Vec<Host>> {
    if tables.len() > MOST_HOSTS {
        let message = format!("found {} hosts, allowed: at most {MOST_HOSTS}", tables.len());
        faults.push(Fault::at_key("host", message));
        return None;
    }
    let mut names: BTreeSet<&str> = nodes.names.keys().copied().collect();
    let mut checked = Vec::with_capacity(tables.len());
    for (n, Keyed(table)) in tables.iter().enumerate() {
        if let Some(name) = &table.name
            && !names.insert(name)
        {
            faults.push(Fault::at_key(format!("host.{n}.name"), "is the name of another node or host"));
        }
        let gateway = nodes.find(&table.gateway, &format!("host.{n}.gateway"), faults);
        checked.push(gateway.map(|gateway| Host {
            gateway,
            rate: bit_rate(table.rate_kbps),
            delay: table.delay,
            queue: table.queue,
            loss_to_host: table.loss_to_host,
            loss_from_host: table.loss_from_host,
        }));
    }
    checked.into_iter().collect()
}

/// A relay begins at the node where the relayed flow ends, and both are streams.
pub(super) fn check_relays(flows: &[Flow], faults: &mut Faults<'_>) {
    let mut passed_on = BTreeSet::new();
    for (n, flow) in flows.iter().enumerate() {
        let App::Relay { of, .. } = flow.app else { continue };
        let mut refuse = |message: String| {
            faults.push(Fault::at_key(format!("flow.{n}.of"), format!("found {}, {message}", of.0)))
        };
        let Some(other) = flows.get(of.index()) else {
            refuse(format!("allowed: 0 to {}", flows.len() - 1));
            continue;
        };
        if matches!(other.app, App::Relay { .. }) || matches!(other.transport.protocol, Protocol::Udp) {
            refuse("allowed: a flow of a reliable transport that is not itself a relay".to_owned());
        } else if other.to != flow.from {
            refuse(format!("which ends at {}, allowed: a flow that ends at {}", other.to, flow.from));
        } else if !passed_on.insert(of) {
            refuse("which another flow already relays".to_owned());
        }
    }
}

const MOST_HOSTS: usize = 1000;
