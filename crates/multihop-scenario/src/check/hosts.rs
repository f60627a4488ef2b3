//! Checks the tables `[[host]]`, and flows that relay the data of others.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use multihop_core::BitRate;

use super::{Nodes, in_folder};
use crate::application::App;
use crate::document::{Fault, read_text};
use crate::faults::Faults;
use crate::model::{Flow, Host, Protocol};
use crate::read::settings::Keyed;
use crate::tables::HostTable;
use crate::wire_trace::WireTrace;

/// Checks the tables `[[host]]`: computers connected to nodes by wires.
pub(super) fn hosts(
    tables: &[Keyed<HostTable>],
    nodes: &Nodes<'_>,
    source: &Path,
    faults: &mut Faults<'_>,
) -> Option<Vec<Host>> {
    if tables.len() > MAX_HOSTS {
        let message = format!("found {} hosts, allowed: at most {MAX_HOSTS}", tables.len());
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
        let [trace_to_host, trace_from_host] =
            [("trace_to_host", &table.trace_to_host), ("trace_from_host", &table.trace_from_host)]
                .map(|(key, file)| trace(&format!("host.{n}.{key}"), file.as_deref(), source, faults));
        if trace_to_host.is_some() && trace_from_host.is_some() && table.rate.is_some() {
            let message = "is not a key here: both directions have a trace";
            faults.push(Fault::at_key(format!("host.{n}.rate_kbps"), message));
        }
        let mut host = gateway.map(|gateway| Host {
            gateway,
            wire: n,
            rate: table.rate.unwrap_or(BitRate(10_000_000)),
            trace_to_host,
            trace_from_host,
            delay: table.delay,
            queue: table.queue.unwrap_or(50),
            loss_to_host: table.loss_to_host,
            loss_from_host: table.loss_from_host,
        });
        if let Some(wire) = &table.wire {
            let shared = nodes.with_hosts(&tables[..n]).find(wire, &format!("host.{n}.wire"), faults);
            host = host.zip(shared).and_then(|(host, shared)| {
                share((n, table), host, shared.index().checked_sub(nodes.count), &checked, faults)
            });
        }
        checked.push(host);
    }
    checked.into_iter().collect()
}

/// Checks that a host may share the wire of the earlier host `shared`, and returns the host with that wire. `None`
/// for `shared` is a fault: the scenario names a node in place of a host.
fn share(
    (number, table): (usize, &HostTable),
    host: Host,
    shared: Option<usize>,
    earlier: &[Option<Host>],
    faults: &mut Faults<'_>,
) -> Option<Host> {
    let mut refuse =
        |key: &str, message: &str| faults.push(Fault::at_key(format!("host.{number}.{key}"), message));
    let Some(shared) = shared else {
        refuse("wire", "found a node, allowed: an earlier host");
        return None;
    };
    let first = earlier[shared].as_ref()?;
    if first.gateway != host.gateway {
        refuse("wire", "found a host of another gateway, allowed: an earlier host of the same gateway");
    }
    for (key, is_given) in [
        ("rate_kbps", table.rate.is_some()),
        ("queue", table.queue.is_some()),
        ("trace_to_host", table.trace_to_host.is_some()),
        ("trace_from_host", table.trace_from_host.is_some()),
    ] {
        if is_given {
            refuse(key, "is not a key here: a host with wire uses the value of that host");
        }
    }
    let first = first.clone();
    let (trace_to_host, trace_from_host) = (first.trace_to_host, first.trace_from_host);
    Some(Host {
        wire: first.wire,
        rate: first.rate,
        queue: first.queue,
        trace_to_host,
        trace_from_host,
        ..host
    })
}

/// Reads the trace of one direction of a wire.
fn trace(key: &str, file: Option<&str>, source: &Path, faults: &mut Faults<'_>) -> Option<Arc<WireTrace>> {
    let (path, shown) = in_folder(source, file?);
    let read = read_text(&path, LONGEST_TRACE).and_then(|text| WireTrace::read(&text));
    let fault = |message| Fault::at_key(key, format!("{shown}: {message}"));
    read.map(Arc::new).map_err(|message| faults.push(fault(message))).ok()
}

/// Largest size of a file with the trace of a wire, bytes.
const LONGEST_TRACE: usize = 16 << 20;

/// Checks that a relay begins at the node where the relayed flow ends, and that both are streams.
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

/// Largest number of hosts on wires.
pub const MAX_HOSTS: usize = 1000;
