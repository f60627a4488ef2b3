//! Notes on stations that do not receive each other.

use multihop_core::Interface;
use multihop_radio::grid::Point;
use multihop_radio::params::Model;
use multihop_radio::rate_control::RateControlParams;
use multihop_scenario::{Mobility, RoutingProtocol, Scenario};

use super::{named, numbered};
use crate::links::{InitialLinks, links_between};

/// Notes on stations at one place, stations without a neighbour or without a path to a destination, and rate
/// control without a choice. Empty if there are several radios. `has_unrouted`: a note on flows without a
/// static route already states the range.
pub(super) fn notes(scenario: &Scenario, places: &[Point], has_unrouted: bool) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(all_at_one_place(places));
    if scenario.has_several_radios() {
        return notes;
    }
    notes.extend(one_range(scenario));
    let moves = scenario.mobility != Mobility::Static || !scenario.single_movements.is_empty();
    if !moves
        && (2..=MAX_STATIONS).contains(&places.len())
        && let Some(links) = links_between(scenario, Interface(0), places)
    {
        notes.extend(isolated(scenario, &links).filter(|_| !has_unrouted));
        notes.extend(apart(scenario, &links, places.len()));
        notes.extend(unheard(scenario, &links));
        notes.extend(gray(scenario, &links));
    }
    notes
}

fn all_at_one_place(places: &[Point]) -> Option<String> {
    let first = places.first()?;
    let are_together = places.len() > 2 && places.iter().all(|place| place == first);
    are_together
        .then(|| format!("all {} nodes are at one place: every frame reaches all of them", places.len()))
}

/// Note on rate control with a radio that receives frames of all rates over the same distance, so that no rate is better than the
/// fastest one.
fn one_range(scenario: &Scenario) -> Option<String> {
    let Model::Threshold(threshold) = &scenario.radio().model else { return None };
    let first = *threshold.range.first()?;
    let is_same = threshold.range.iter().all(|range| (range - first).abs() < f64::EPSILON);
    (scenario.mac().rate_control.adapts() && is_same).then(|| {
        format!(
            "rate_control has nothing to choose: all rates have the range of {first:.0} m; model = \"sinr\", or a table of ranges, \
             gives each rate its own"
        )
    })
}

/// Note on stations that neither receive others nor are received.
fn isolated(scenario: &Scenario, links: &InitialLinks) -> Option<String> {
    let nodes: Vec<_> = links.isolated.iter().map(|node| node.index()).collect();
    let at = match scenario.mac().rate_control {
        RateControlParams::Fixed | RateControlParams::Kernel => {
            let rate = scenario.radio().phy.rate(scenario.radio().rate).name;
            format!("at {rate:?}, whose range is {:.0} m", scenario.decode_range())
        }
        _ => format!("at any rate; the longest range is {:.0} m", scenario.radio().longest_range()),
    };
    let words = numbered("node", &nodes, "has", "have");
    (!nodes.is_empty()).then(|| format!("{words} no neighbour {at}"))
}

/// Note on flows between parts of the network that no link connects. Static routing has a separate note.
fn apart(scenario: &Scenario, links: &InitialLinks, stations: usize) -> Option<String> {
    if matches!(scenario.routing.protocol, RoutingProtocol::Static { .. }) {
        return None;
    }
    let parts = links.parts(stations);
    let flows = scenario.flows.iter().enumerate().take(MAX_FLOWS).filter(|(_, flow)| {
        let [from, to] = [flow.from, flow.to].map(|end| scenario.in_mesh(end).index());
        to < stations && parts[from] != parts[to]
    });
    let flows: Vec<_> = flows.map(|(number, _)| number).collect();
    let words = named(&flows, "has", "have");
    (!flows.is_empty())
        .then(|| format!("{words} no path: no chain of links leads from the source to the destination"))
}

/// Note on links that transport data but no broadcasts, because broadcasts use a higher rate, under a protocol that
/// discovers links by broadcasts.
fn unheard(scenario: &Scenario, links: &InitialLinks) -> Option<String> {
    if matches!(scenario.routing.protocol, RoutingProtocol::Static { .. }) {
        return None;
    }
    let is_unheard = |link: &&crate::links::InitialLink| link.carries_data && !link.budget.carries_broadcasts;
    let number = links.list.iter().filter(is_unheard).count();
    let [data, basic] =
        [scenario.radio().rate, scenario.radio().basic_rate].map(|rate| scenario.radio().phy.rate(rate).name);
    (number > 0).then(|| {
        format!(
            "{number} links carry data at {data:?} but no broadcasts at {basic:?}: the routing protocol does not find them; a lower \
             basic_rate reaches further"
        )
    })
}

/// Note on links that transport broadcasts but no data, under a protocol that discovers links by broadcasts: the gray
/// zone of Lundgren and others.
fn gray(scenario: &Scenario, links: &InitialLinks) -> Option<String> {
    if matches!(scenario.routing.protocol, RoutingProtocol::Static { .. }) {
        return None;
    }
    let is_gray = |link: &&crate::links::InitialLink| !link.carries_data && link.budget.carries_broadcasts;
    let number = links.list.iter().filter(is_gray).count();
    let [data, basic] =
        [scenario.radio().rate, scenario.radio().basic_rate].map(|rate| scenario.radio().phy.rate(rate).name);
    (number > 0).then(|| {
        format!(
            "{number} links carry broadcasts at {basic:?} but no data at {data:?}: the routing protocol finds links over which no data \
             arrives; a higher basic_rate, a lower rate or rate_control avoids that"
        )
    })
}

/// Largest number of stations whose pairs are examined before a run, and before each of a sweep.
const MAX_STATIONS: usize = 300;
/// Largest number of flows that are examined.
const MAX_FLOWS: usize = 10_000;
