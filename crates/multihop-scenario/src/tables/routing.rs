//! Keys of the table `[routing]`: those of every protocol, and those that the protocol's configuration lists.

use std::iter;

use multihop_core::settings::{Settings, Visitor};
use schemars::{Schema, SchemaGenerator};

use super::NodeRef;
use crate::extension::{Extensions, RoutingRow, STATIC_ROUTES};
use crate::faults::Faults;
use crate::model::AgentProtocol;
use crate::read::settings::{Keyed, listed};
use crate::read::{Both, Fields, Keys, describe, settings};

/// Table `[routing]`: keys for every protocol, and those of the chosen protocol.
pub(crate) type RoutingTable = Both<Keyed<PacketTable>, ProtocolTable>;

/// Keys that hold under every routing protocol.
#[derive(Default, Settings)]
pub(crate) struct PacketTable {
    /// Length of a second IP header in every routed packet, bytes: 20 in ns-2 under AODV-UU, DSR and UM-OLSR.
    #[key(0..=60)]
    pub(crate) ip_extra: u32,
}

/// Who forwards to whom.
pub(crate) enum ProtocolTable {
    /// Routes with the fewest hops between the initial positions.
    Static(StaticTable),
    /// Protocol whose agents find routes by messages.
    Agents(AgentProtocol),
}

/// Routes that hold for the whole run.
#[derive(Default, Settings)]
pub(crate) struct StaticTable {
    /// Routes that differ from the shortest, each as [node, destination, via]: at node, packets for destination go to via.
    #[key]
    pub(crate) next_hops: Vec<[NodeRef; 3]>,
}

impl ProtocolTable {
    fn keys(&mut self, rows: &[RoutingRow], keys: &mut dyn Visitor) {
        let about = "Routes with the fewest hops between the initial positions; they hold for the whole run.";
        let agents = rows.iter().map(|row| (row.protocol.name, row.protocol.help));
        let kinds: Vec<_> = iter::once((STATIC_ROUTES, about)).chain(agents).collect();
        keys.kinds("protocol", Some(0), &kinds, &mut |kind, keys| {
            *self = match kind.checked_sub(1) {
                None => Self::Static(listed(keys)),
                Some(row) => Self::Agents(agents_of(rows[row], keys)),
            }
        });
    }
}

fn agents_of(row: RoutingRow, keys: &mut dyn Visitor) -> AgentProtocol {
    let RoutingRow { protocol, extension } = row;
    let mut config = (protocol.config)();
    config.keys(keys);
    AgentProtocol { name: protocol.name, config: config.into(), extension }
}

impl Fields for ProtocolTable {
    fn take(keys: &mut Keys<'_>, faults: &mut Faults<'_>) -> Option<Self> {
        let rows: Vec<_> = faults.extensions.routing_rows().collect();
        let mut table = Self::Static(StaticTable::default());
        settings::take_listed(&mut |reader| table.keys(&rows, reader), "this protocol", keys, faults);
        Some(table)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        let rows: Vec<_> = Extensions::default().routing_rows().collect();
        describe::schema_of(|keys| Self::Static(StaticTable::default()).keys(&rows, keys))
    }
}
