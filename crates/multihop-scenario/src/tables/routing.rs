//! `[routing]`: the keys that hold for every protocol, and those of the protocol, which its
//! configuration lists.

use std::iter;

use multihop_routing::protocol::{PROTOCOLS, Protocol};
use schemars::{Schema, SchemaGenerator};
use serde_json::json;

use super::NodeRef;
use crate::extension::{RoutingRow, STATIC_ROUTES};
use crate::faults::Faults;
use crate::model::AgentProtocol;
use crate::read::{Both, Fields, Keys, kinds_schema, settings, table};
use crate::values::Whole;

/// `[routing]`.
pub(crate) type RoutingTable = Both<PacketTable, ProtocolTable>;

table! {
    /// What holds for every protocol.
    PacketTable {
        /// Bytes of a second IP header in every routed packet: 20 in ns-2 under AODV-UU, DSR and
        /// UM-OLSR.
        ip_extra: Whole<0, 60> = 0,
    }
}

/// Who forwards to whom.
pub(crate) enum ProtocolTable {
    /// Routes of fewest hops between the positions at the start.
    Static(StaticTable),
    /// What agents decide.
    Agents(AgentProtocol),
}

table! {
    /// Routes that hold for the whole run.
    StaticTable {
        /// Routes that differ from the shortest, each as [node, destination, via]: at node, packets
        /// for destination go to via.
        next_hops: Vec<[NodeRef; 3]> = json!([]),
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
            None => StaticTable::take(keys, faults).map(Self::Static),
            Some(row) => Some(Self::Agents(agents_of(*row, keys, faults))),
        }
    }

    fn names() -> Vec<&'static str> {
        let keys = keys_by_protocol(PROTOCOLS).into_iter().flat_map(|(_, keys)| keys);
        iter::once(PROTOCOL).chain(keys).collect()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let about = "Routes of fewest hops between the places at the start; they hold for the whole run.";
        let fixed = (STATIC_ROUTES, about, StaticTable::schema(generator));
        let agents = PROTOCOLS.iter().map(|row| (row.name, row.help, settings::schema_of(row.config)));
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
    let keys = |protocol: &Protocol| (protocol.name, settings::names(&mut *(protocol.config)()));
    iter::once((STATIC_ROUTES, StaticTable::names())).chain(protocols.into_iter().map(keys)).collect()
}

const PROTOCOL: &str = "protocol";
