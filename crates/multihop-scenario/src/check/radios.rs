//! Checks the tables `[radio]`, `[[radio]]` and `[mac]`: each radio, and rules between several.

use std::collections::BTreeSet;
use std::iter;
use std::mem::discriminant;

use multihop_core::{Duration, NodeId};
use multihop_radio::params::{MacParams, QueueKind, RadioParams};

use super::{Ground, Nodes, aggregation, protection, rates, surroundings};
use crate::document::Fault;
use crate::extension::STATIC_ROUTES;
use crate::faults::Faults;
use crate::model::{Port, Radio, Routing, RoutingProtocol, Series};
use crate::read::settings::Keyed;
use crate::tables::{LinkLayer, Parts, RadioTable, RecordTable};

/// Checks rules between the keys of each radio and its MAC.
pub(super) fn link_layers(radios: &[RadioTable], faults: &mut Faults<'_>) {
    for RadioTable { path, params, channel, link, link_path, .. } in radios {
        aggregation::check(params, &link.mac, link_path, faults);
        protection::check(params, &link.mac, link_path, faults);
        rates::windows(params, &link.mac, link_path, faults);
        if radios.len() > 1 && channel.is_none() {
            let message = "is missing: each of several radios needs its channel";
            faults.push(Fault::at_key(format!("{path}.channel"), message));
        }
    }
    let delays: Vec<_> = radios.iter().map(|radio| radio.link.mac.link_delay).collect();
    if delays.iter().any(|delay| *delay != delays[0]) {
        let message = "the radios of a node differ in mac.link_delay, allowed: one value for all radios";
        faults.push(Fault::at_key("radio", message));
    }
}

/// The longest decode range of all radios, metres.
pub(super) fn decode_range(radios: &[RadioTable]) -> f64 {
    radios.iter().map(|radio| radio.params.decode_range()).fold(0.0, f64::max)
}

/// Checks the radios of these nodes.
pub(super) fn radios(
    tables: &[RadioTable],
    parts: &Parts,
    queue_kind: QueueKind,
    nodes: &Nodes<'_>,
    ground: Ground<'_>,
    faults: &mut Faults<'_>,
) -> Option<Vec<Radio>> {
    if tables.len() > 1 && !parts.data_rate.is_empty() {
        faults.push(Fault::at_key("data_rate", "is not a key here, allowed with one radio"));
        return None;
    }
    let obstacles = parts.obstacles.as_ref().map(|Keyed(obstacles)| obstacles);
    let radio = |table: &RadioTable| {
        let LinkLayer { mac, arp } = &table.link;
        let link_rates = rates::link_rates(&parts.data_rate, (&table.params, mac), nodes, faults);
        let params = surroundings::radio(&table.params, obstacles, nodes, ground, &table.path, faults);
        let at = places(table, nodes, faults)?;
        Some(Radio {
            params: RadioParams { link_rates: link_rates?, ..params? },
            mac: MacParams { queue_kind, ..mac.clone() },
            arp: *arp,
            channel: table.channel,
            nodes: at,
        })
    };
    let list: Vec<_> = tables.iter().map(radio).collect();
    let list: Vec<Radio> = list.into_iter().collect::<Option<_>>()?;
    same_models(&list, faults)?;
    everywhere(&list, nodes, faults)?;
    Some(list)
}

/// Refuses features without support for several radios.
pub(super) fn refuse_several(
    radios: &[RadioTable],
    table: &Parts,
    routing: &Routing,
    faults: &mut Faults<'_>,
) {
    if radios.len() == 1 {
        return;
    }
    if let RoutingProtocol::Agents(agents) = &routing.protocol
        && !agents.config.has_interfaces()
    {
        let found = routing.protocol.name();
        let rows = faults.extensions.routing_rows();
        let names = rows.filter(|row| (row.protocol.config)().has_interfaces()).map(|row| row.protocol.name);
        let allowed: Vec<_> =
            iter::once(STATIC_ROUTES).chain(names).map(|name| format!("{name:?}")).collect();
        let message = format!("found {found:?}, allowed with several radios: {}", allowed.join(", "));
        faults.push(Fault::at_key("routing.protocol", message));
    }
    if let Some(RecordTable(record)) = &table.record
        && record.every == Duration::ZERO
        && record.what.contains(&Series::Queue)
    {
        let message = "found 0, allowed with several radios and the series \"queue\": more than 0";
        faults.push(Fault::at_key("record.every", message));
    }
    let emulation = &table.emulation.0;
    if !emulation.simulated.is_empty() {
        let message = format!("found {} nodes, allowed with several radios: none", emulation.simulated.len());
        faults.push(Fault::at_key("emulation.simulated", message));
    }
    let length = emulation.gateway_interface.len();
    if emulation.interface == Port::Tap && emulation.gateway.is_some() && length > LONGEST_PREFIX {
        let message = format!("found {length} bytes, allowed with several radios: at most {LONGEST_PREFIX}");
        faults.push(Fault::at_key("emulation.gateway_interface", message));
    }
}

/// Length of a gateway's interface name to which `-` and the number of a radio are appended, bytes: Linux has names of 15.
const LONGEST_PREFIX: usize = 13;

/// Nodes that have this radio; `Some(None)` means all nodes, `None` an unknown node in the list (reported as a
/// fault).
#[expect(clippy::option_option, reason = "a fault, all nodes, or some")]
fn places(
    radio: &RadioTable,
    nodes: &Nodes<'_>,
    faults: &mut Faults<'_>,
) -> Option<Option<BTreeSet<NodeId>>> {
    let Some(list) = &radio.nodes else { return Some(None) };
    let found = list
        .iter()
        .enumerate()
        .map(|(n, node)| nodes.find(node, &format!("{}.nodes.{n}", radio.path), faults));
    found.collect::<Option<_>>().map(Some)
}

/// Refuses radios with different models of reception, because their powers cannot be compared.
fn same_models(radios: &[Radio], faults: &mut Faults<'_>) -> Option<()> {
    for (n, a) in radios.iter().enumerate() {
        for (m, b) in radios.iter().enumerate().skip(n + 1) {
            let interfere = [a.attenuation_db(b), b.attenuation_db(a)].iter().any(Option::is_some);
            if interfere && discriminant(&a.params.model) != discriminant(&b.params.model) {
                let message = format!(
                    "the channels of radio {n} and radio {m} overlap, allowed: the same model of reception for both"
                );
                faults.push(Fault::at_key(format!("radio.{m}.model"), message));
                return None;
            }
        }
    }
    Some(())
}

/// Checks that every node has a radio.
fn everywhere(radios: &[Radio], nodes: &Nodes<'_>, faults: &mut Faults<'_>) -> Option<()> {
    let count = u32::try_from(nodes.count).expect("a checked number of nodes");
    let without = (0..count).map(NodeId).find(|node| !radios.iter().any(|radio| radio.is_at(*node)));
    let Some(node) = without else { return Some(()) };
    faults.push(Fault::at_key(
        "radio",
        format!("node {node} has no radio, allowed: at least one for each node"),
    ));
    None
}
