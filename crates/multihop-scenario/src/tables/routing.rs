//! `[routing]`: the keys that hold for every protocol, and those of the protocol, which its
//! configuration lists.

use std::iter;

use multihop_core::settings::{Allowed, Settings, Value, Visitor};
use multihop_routing::protocol::{PROTOCOLS, Protocol};
use schemars::{Schema, SchemaGenerator};

use super::NodeRef;
use crate::extension::{RoutingRow, STATIC_ROUTES};
use crate::faults::Faults;
use crate::model::AgentProtocol;
use crate::read::settings::Keyed;
use crate::read::{Both, Fields, Keys, describe, kinds_schema, settings};

/// `[routing]`.
pub(crate) type RoutingTable = Both<Keyed<PacketTable>, ProtocolTable>;

/// What holds for every protocol.
#[derive(Default)]
pub(crate) struct PacketTable {
    pub(crate) ip_extra: u32,
}

impl Settings for PacketTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Bytes of a second IP header in every routed packet: 20 in ns-2 under AODV-UU, DSR and \
                     UM-OLSR.";
        keys.about(about).whole("ip_extra", &mut self.ip_extra, 0..=60);
    }
}

/// Who forwards to whom.
pub(crate) enum ProtocolTable {
    /// Routes of fewest hops between the positions at the start.
    Static(StaticTable),
    /// What agents decide.
    Agents(AgentProtocol),
}

/// Routes that hold for the whole run.
#[derive(Default)]
pub(crate) struct StaticTable {
    /// Each node, destination and next hop.
    pub(crate) next_hops: Vec<Vec<NodeRef>>,
}

impl Settings for StaticTable {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let about = "Routes that differ from the shortest, each as [node, destination, via]: at node, packets \
                     for destination go to via.";
        let route = Allowed::List(&Allowed::Node, Some(3));
        let none = Value::List(Vec::new());
        let given = keys.about(about).value("next_hops", Allowed::List(&route, None), Some(none));
        let route = |route: Value| route.into_list().into_iter().map(NodeRef::from).collect();
        self.next_hops = given.map_or_else(Vec::new, Value::into_list).into_iter().map(route).collect();
    }
}

impl Fields for ProtocolTable {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let rows: Vec<_> = faults.extensions.routing_rows().collect();
        let agents = rows.iter().map(|row| (row.protocol.name, Some(*row)));
        let kinds: Vec<_> = iter::once((STATIC_ROUTES, None)).chain(agents).collect();
        let Some(chosen) = keys.take_kind(PROTOCOL, Some(STATIC_ROUTES), &kinds, faults) else {
            keys.forgive();
            return None;
        };
        keys.mention(PROTOCOL, move || keys_by_protocol(rows.iter().map(|row| &row.protocol)));
        match chosen {
            None => Keyed::take(keys, faults).map(|Keyed(table)| Self::Static(table)),
            Some(row) => Some(Self::Agents(agents_of(*row, keys, faults))),
        }
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let about = "Routes of fewest hops between the places at the start; they hold for the whole run.";
        let fixed = (STATIC_ROUTES, about, Keyed::<StaticTable>::schema(generator));
        let agents = PROTOCOLS
            .iter()
            .map(|row| (row.name, row.help, describe::schema_of(|keys| (row.config)().keys(keys))));
        kinds_schema(PROTOCOL, Some(STATIC_ROUTES), iter::once(fixed).chain(agents))
    }
}

fn agents_of(row: RoutingRow, keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> AgentProtocol {
    let RoutingRow { protocol, extension } = row;
    let mut config = (protocol.config)();
    settings::take(&mut *config, protocol.name, keys, faults);
    AgentProtocol { name: protocol.name, config: config.into(), extension }
}

fn keys_by_protocol<'a>(
    protocols: impl IntoIterator<Item = &'a Protocol>,
) -> Vec<(&'static str, Vec<&'static str>)> {
    let keys = |protocol: &Protocol| (protocol.name, describe::names(&mut *(protocol.config)()));
    iter::once((STATIC_ROUTES, describe::names(&mut StaticTable::default())))
        .chain(protocols.into_iter().map(keys))
        .collect()
}

const PROTOCOL: &str = "protocol";
