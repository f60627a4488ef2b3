//! Checks heights, antennas and obstacles: the surroundings that the radio model needs for each node.

use std::sync::Arc;

use multihop_radio::grid::Point;
use multihop_radio::mobility::LONGEST_FILE;
use multihop_radio::params::{Antennas, Facing, Measured, Model, Obstacle, Obstacles, RadioParams, Sinr};

use super::{Ground, Nodes, in_folder};
use crate::document::{Fault, read_text};
use crate::faults::Faults;
use crate::geojson::{self, Losses, MAX_CORNERS};
use crate::measured;
use crate::tables::ObstaclesTable;

/// The radio of `nodes` nodes among obstacles. `path` is the path of the radio's table.
pub(super) fn radio(
    radio: &RadioParams,
    obstacles: Option<&ObstaclesTable>,
    nodes: &Nodes<'_>,
    ground: Ground<'_>,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<RadioParams> {
    let mut radio = radio.clone();
    let Model::Sinr(sinr) = &mut radio.model else {
        if obstacles.is_some() {
            let message = "is not a key here, allowed with radio.model = \"sinr\"";
            faults.push(Fault::at_key("obstacles", message));
            return None;
        }
        return Some(radio);
    };
    one_for_each_node(sinr, nodes.count, path, faults)?;
    if let Some(measured) = &mut sinr.measured {
        read_traces(measured, nodes, ground, path, faults)?;
    }
    if let Some(table) = obstacles {
        sinr.obstacles = Some(Arc::new(Obstacles::new(read(table, ground, faults)?)));
    }
    Some(radio)
}

/// Reads the traces of measured links.
fn read_traces(
    measured: &mut Measured,
    nodes: &Nodes<'_>,
    ground: Ground<'_>,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<()> {
    let (file, shown) = in_folder(ground.source, &measured.file);
    let find = |name: &str| nodes.in_file(name);
    let traces = read_text(&file, LONGEST_TRACES)
        .and_then(|text| measured::traces(&text, measured.interpolation, find));
    match traces {
        Ok(traces) => measured.traces = traces,
        Err(message) => {
            faults.push(Fault::at_key(format!("{path}.measured.file"), format!("{shown}: {message}")));
            return None;
        }
    }
    Some(())
}

/// Bytes of a file with traces.
const LONGEST_TRACES: usize = 64 << 20;

fn one_for_each_node(sinr: &Sinr, nodes: usize, path: &str, faults: &mut Faults<'_>) -> Option<()> {
    let (key, found) = match &sinr.antennas {
        _ if !sinr.heights.is_empty() && sinr.heights.len() != nodes => {
            ("path_loss.height", sinr.heights.len())
        }
        Some(Antennas { facing: Facing::Each(all), .. }) if all.len() != nodes => {
            ("antenna.azimuth", all.len())
        }
        Some(Antennas { facing: Facing::Some(some), .. })
            if some.last().is_some_and(|(node, _)| node.index() >= nodes) =>
        {
            let message = format!("allowed: 0 to {}", nodes.saturating_sub(1));
            faults.push(Fault::at_key(format!("{path}.antenna.nodes"), message));
            return None;
        }
        _ => return Some(()),
    };
    let message = format!("found {found} values, allowed: {nodes}, one for each node");
    faults.push(Fault::at_key(format!("{path}.{key}"), message));
    None
}

fn read(table: &ObstaclesTable, ground: Ground<'_>, faults: &mut Faults<'_>) -> Option<Vec<Obstacle>> {
    let losses = Losses { wall_db: table.wall_db, metre_db: table.metre_db };
    let mut obstacles = Vec::new();
    if let Some(file) = &table.file {
        let (path, shown) = in_folder(ground.source, file);
        let read =
            read_text(&path, LONGEST_FILE).and_then(|text| geojson::obstacles(&text, losses, ground.plane));
        match read {
            Ok(read) => obstacles = read,
            Err(message) => {
                faults.push(Fault::at_key("obstacles.file", format!("{shown}: {message}")));
                return None;
            }
        }
    }
    let corners: usize = table.polygons.iter().map(Vec::len).sum();
    if corners > MAX_CORNERS || table.polygons.iter().any(|polygon| polygon.len() < 3) {
        let message = format!("allowed: 3 or more corners in each, up to {MAX_CORNERS} in all");
        faults.push(Fault::at_key("obstacles.polygons", message));
        return None;
    }
    let obstacle = |polygon: &Vec<[f64; 2]>| Obstacle {
        rings: vec![polygon.iter().map(|&[x, y]| Point { x, y }).collect()],
        wall_db: losses.wall_db,
        metre_db: losses.metre_db,
    };
    obstacles.extend(table.polygons.iter().map(obstacle));
    Some(obstacles)
}
