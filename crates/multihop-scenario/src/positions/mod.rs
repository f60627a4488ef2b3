//! Positions from a file: CSV, or GraphML as written by network tools.

pub(crate) mod csv;
mod graphml;
mod place;

use std::path::Path;

use multihop_radio::mobility::Plane;

use super::document::{read_text, shorten};
use super::topology::Layout;
use place::Place;

/// Reads positions; the error states the found and the allowed values.
pub(super) fn from_file(path: &Path, plane: Option<&Plane>) -> Result<Layout, String> {
    let shown = shorten(&path.display().to_string());
    let text = read_text(path, LONGEST).map_err(|error| format!("{shown}: {error}"))?;
    let is_xml = path.extension().is_some_and(|extension| extension == "graphml" || extension == "xml");
    let nodes = if is_xml { graphml::nodes(&text) } else { csv::nodes(&text, plane) };
    let nodes = nodes.map_err(|error| format!("{shown}:{error}"))?;
    layout(nodes).map_err(|error| format!("{shown}: {error}"))
}

fn layout(nodes: Vec<Place>) -> Result<Layout, String> {
    if nodes.is_empty() || nodes.len() > MAX_NODES {
        return Err(format!("found {} nodes, allowed: 1 to {MAX_NODES}", nodes.len()));
    }
    let mut names: Vec<&str> = nodes.iter().filter_map(|node| node.name.as_deref()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("found two nodes named {:?}", shorten(twice[0])));
    }
    let positions = nodes.iter().map(|node| node.position).collect();
    let names = nodes.into_iter().map(|node| node.name).collect();
    Ok(Layout { positions, names, pairs: Vec::new() })
}

/// Largest number of nodes in a network, without hosts on wires.
pub const MAX_NODES: usize = 1_000_000;
/// Bytes of a file of positions.
const LONGEST: usize = 64 << 20;
