//! Checks the table `[topology]`.

use super::{Ground, in_folder};
use crate::document::Fault;
use crate::faults::Faults;
use crate::positions;
use crate::tables::TopologyTable;
use crate::topology::{Layout, Topology, layouts};

/// Checks the table `[topology]`. If the nodes stand still, a random network is connected by default; `reach` is the
/// decode range.
pub(super) fn topology(
    table: &TopologyTable,
    still: bool,
    reach: f64,
    ground: Ground<'_>,
    seed: u64,
    faults: &mut Faults<'_>,
) -> Option<Topology> {
    let layout = match table {
        TopologyTable::Chain { hops, spacing } => layouts::chain(*hops, spacing.metres),
        TopologyTable::Cross(spacing) => layouts::cross(spacing.metres),
        TopologyTable::CrossTestbed(spacing) => layouts::cross_testbed(spacing.metres),
        TopologyTable::Parallel(chains) => layouts::parallel(chains.spacing, chains.gap),
        TopologyTable::AsymmetricParallel(chains) => layouts::asymmetric_parallel(chains.spacing, chains.gap),
        TopologyTable::Grid { spacing, rows, columns } => layouts::grid(*rows, *columns, spacing.metres),
        TopologyTable::GridSymmetric(spacing) => layouts::grid_symmetric(spacing.metres),
        TopologyTable::Diamond(spacing) => layouts::diamond(spacing.metres),
        TopologyTable::Roaming(spacing) => layouts::roaming(spacing.metres).0,
        TopologyTable::Random { nodes, area, connected } => {
            let connected_at = if connected.unwrap_or(still) { Some(reach) } else { None };
            let topology = Topology::Random { nodes: *nodes, area: *area, connected_at };
            return match topology.place(seed) {
                Ok(_) => Some(topology),
                Err(error) => {
                    faults.push(Fault::at_key("topology", error.to_string()));
                    None
                }
            };
        }
        TopologyTable::List { positions: list, degrees } => {
            if list.is_empty() || list.len() > positions::MAX_NODES {
                let (found, most) = (list.len(), positions::MAX_NODES);
                let message = format!("found {found} positions, allowed: 1 to {most}");
                faults.push(Fault::at_key("topology.positions", message));
                return None;
            }
            let positions = if *degrees { from_degrees(list, ground, faults)? } else { list.clone() };
            Layout { names: vec![None; list.len()], positions, pairs: Vec::new() }
        }
        TopologyTable::File { file: name } => file(name, ground, faults)?,
        // A movement without nodes has already been refused.
        TopologyTable::Mobility => return None,
    };
    Some(Topology::Fixed(layout))
}

fn from_degrees(list: &[[f64; 2]], ground: Ground<'_>, faults: &mut Faults<'_>) -> Option<Vec<[f64; 2]>> {
    let plane = match ground.plane() {
        Ok(plane) => plane,
        Err(message) => {
            faults.push(Fault::at_key("topology.degrees", message));
            return None;
        }
    };
    let position = |(number, &[latitude, longitude]): (usize, &[f64; 2])| {
        let place = plane.point(latitude, longitude);
        place.map(|place| [place.x, place.y]).map_err(|message| {
            faults.push(Fault::at_key(format!("topology.positions.{number}"), message));
        })
    };
    list.iter().enumerate().map(position).collect::<Result<_, ()>>().ok()
}

fn file(name: &str, ground: Ground<'_>, faults: &mut Faults<'_>) -> Option<Layout> {
    match positions::from_file(&in_folder(ground.source, name).0, ground.plane) {
        Ok(layout) => Some(layout),
        Err(message) => {
            faults.push(Fault::at_key("topology.file", message));
            None
        }
    }
}
