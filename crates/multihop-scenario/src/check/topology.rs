//! `[topology]`.

use std::path::Path;

use super::in_folder;
use crate::document::Fault;
use crate::faults::Faults;
use crate::positions;
use crate::tables::{PositionsTable, TopologyTable};
use crate::topology::{Layout, Topology, layouts};

/// Where the nodes are. If they stand `still`, a random network is connected by default; `reach` is
/// the decode range, if the radio is right.
pub(super) fn topology(
    table: &TopologyTable,
    still: bool,
    reach: Option<f64>,
    source: &Path,
    seed: u64,
    faults: &mut Faults<'_>,
) -> Option<Topology> {
    let layout = match table {
        TopologyTable::Chain(table) => layouts::chain(table.hops.to(), table.spacing.0),
        TopologyTable::Cross(table) => layouts::cross(table.spacing.0),
        TopologyTable::CrossTestbed(table) => layouts::cross_testbed(table.spacing.0),
        TopologyTable::Parallel(table) => layouts::parallel(table.spacing.0, table.gap.0),
        TopologyTable::AsymmetricParallel(table) => {
            layouts::asymmetric_parallel(table.spacing.0, table.gap.0)
        }
        TopologyTable::Grid(table) => layouts::grid(table.spacing.0),
        TopologyTable::GridSymmetric(table) => layouts::grid_symmetric(table.spacing.0),
        TopologyTable::Diamond(table) => layouts::diamond(table.spacing.0),
        TopologyTable::Random(table) => {
            let connected_at = if table.connected.unwrap_or(still) { Some(reach?) } else { None };
            let area = table.area.map(|metres| metres.0);
            let topology = Topology::Random { nodes: table.nodes.to(), area, connected_at };
            return match topology.place(seed) {
                Ok(_) => Some(topology),
                Err(error) => {
                    faults.push(Fault::at_key("topology", error.to_string()));
                    None
                }
            };
        }
        TopologyTable::List(table) => {
            if table.positions.is_empty() || table.positions.len() > positions::MOST_NODES {
                let (found, most) = (table.positions.len(), positions::MOST_NODES);
                let message = format!("found {found} positions, allowed: 1 to {most}");
                faults.push(Fault::at_key("topology.positions", message));
                return None;
            }
            let positions: Vec<_> =
                table.positions.iter().map(|place| place.map(|metres| metres.0)).collect();
            Layout { names: vec![None; positions.len()], positions, pairs: Vec::new() }
        }
        TopologyTable::File(table) => file(table, source, faults)?,
        TopologyTable::Roaming(table) => layouts::roaming(table.spacing.0).0,
        // A movement without nodes has been refused already.
        TopologyTable::Mobility(_) => return None,
    };
    Some(Topology::Fixed(layout))
}

fn file(table: &PositionsTable, source: &Path, faults: &mut Faults<'_>) -> Option<Layout> {
    match positions::from_file(&in_folder(source, &table.file).0) {
        Ok(layout) => Some(layout),
        Err(message) => {
            faults.push(Fault::at_key("topology.file", message));
            None
        }
    }
}
