//! Notes on a scenario: settings that are allowed, but probably unintended.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use multihop_core::{Duration, Instant};
use multihop_radio::grid::Point;
use multihop_radio::rate_control::RateControlParams;
use multihop_scenario::{App, Flow, RoutingProtocol, Scenario};

mod links;
mod settings;
mod traffic;

use crate::world::routed_from_start;

/// Settings of a scenario that are allowed, but have no effect or hardly the intended one, such as stations that nobody
/// receives and flows without a route: one sentence for each.
pub fn notes(scenario: &Scenario) -> Vec<String> {
    // The run itself reports a failed placement.
    let Ok(layout) = scenario.topology.place(scenario.seed) else { return Vec::new() };
    let mut tracks = scenario.tracks(&layout);
    let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
    let mut notes = Vec::new();
    let unrouted = unrouted(scenario, &places);
    notes.extend(links::notes(scenario, &places, unrouted.is_some()));
    notes.extend(unrouted);
    notes.extend(synchronous(scenario, &places));
    notes.extend(traffic::notes(scenario));
    if !scenario.has_several_radios() {
        notes.extend(settings::notes(scenario));
    }
    notes
}

/// Note on flows for which static routing has no route.
fn unrouted(scenario: &Scenario, places: &[Point]) -> Option<String> {
    if !matches!(scenario.routing.protocol, RoutingProtocol::Static { .. }) {
        return None;
    }
    let most = (MAX_SEARCHED / places.len().max(1)).max(1);
    let given = scenario.flows.iter().take_while(|flow| flow.drawn.is_none()).take(most);
    let ends = given.map(|flow| (scenario.in_mesh(flow.from), scenario.in_mesh(flow.to)));
    let routed = routed_from_start(scenario, places, ends);
    let without: Vec<_> = (0..routed.len()).filter(|&flow| !routed[flow]).collect();
    let rates = match &scenario.mac().rate_control {
        _ if !scenario.radio().link_rates.is_empty() => "the ranges of the rates of data".to_owned(),
        RateControlParams::Fixed | RateControlParams::Kernel => {
            let rate = scenario.radio().phy.rate(scenario.radio().rate).name;
            format!("{:.0} m, the range of {rate:?}", scenario.decode_range())
        }
        _ => format!("{:.0} m, the longest range of all rates", scenario.radio().longest_range()),
    };
    (!without.is_empty()).then(|| {
        format!(
            "{} no route: static routes use links up to {rates}, between the first positions of the nodes",
            named(&without, "has", "have")
        )
    })
}

/// Note on flows of constant rate that begin at one instant with one interval, at different stations that
/// sense each other. None if there are several radios.
fn synchronous(scenario: &Scenario, places: &[Point]) -> Option<String> {
    if scenario.has_several_radios() {
        return None;
    }
    let mut groups: BTreeMap<(Duration, Duration), Vec<usize>> = BTreeMap::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let Some(interval) = interval(flow).filter(|_| !scenario.is_host(flow.from)) else { continue };
        groups.entry((flow.start, interval)).or_default().push(number);
    }
    let range = scenario.radio().sense_range();
    let senses = |a: usize, b: usize| {
        let [a, b] = [a, b].map(|flow| scenario.flows[flow].from);
        a != b && places[a.index()].distance(places[b.index()]) <= range
    };
    groups.into_iter().find_map(|((start, interval), mut flows)| {
        // Stations whose packets queue up draw backoffs, which desynchronizes them.
        let datagrams = flows.iter().map(|&flow| airtime(scenario, flow));
        if datagrams.fold(Duration::ZERO, |sum, one| sum + one) >= interval {
            return None;
        }
        let all = flows.clone();
        flows.truncate(MAX_COMPARED);
        flows.retain(|&flow| all.iter().take(MAX_COMPARED).any(|&other| senses(flow, other)));
        (!flows.is_empty()).then(|| {
            format!(
                "{} datagrams every {} ms from {} s on, at stations that sense each other: their frames may collide for the \
                 whole run; start_jitter sets them apart",
                named(&flows, "sends", "send"),
                interval.as_secs_f64() * 1e3,
                start.as_secs_f64(),
            )
        })
    })
}

/// Airtime of the bits of a flow's datagram, without headers.
fn airtime(scenario: &Scenario, flow: usize) -> Duration {
    match scenario.flows[flow].app {
        App::Cbr { size, .. } => scenario.radio().bit_rate().time_for(size),
        _ => Duration::ZERO,
    }
}

/// The interval between the datagrams of a flow of constant rate.
fn interval(flow: &Flow) -> Option<Duration> {
    match flow.app {
        App::Cbr { rate, size } => Some(rate.time_for(size)),
        _ => None,
    }
}

/// Text such as `flows 0, 1 and 7 have`, with at most [`MAX_NAMED`] flows.
fn named(flows: &[usize], one: &str, several: &str) -> String {
    numbered("flow", flows, one, several)
}

/// Text such as `nodes 0, 1 and 7 have`, with at most [`MAX_NAMED`] nodes.
fn numbered(noun: &str, numbers: &[usize], one: &str, several: &str) -> String {
    let mut text = format!("{noun}{} ", if numbers.len() == 1 { "" } else { "s" });
    for (place, number) in numbers.iter().take(MAX_NAMED).enumerate() {
        let before = match place {
            0 => "",
            _ if place + 1 == numbers.len() => " and ",
            _ => ", ",
        };
        _ = write!(text, "{before}{number}");
    }
    if numbers.len() > MAX_NAMED {
        _ = write!(text, " and {} more", numbers.len() - MAX_NAMED);
    }
    text + " " + if numbers.len() == 1 { one } else { several }
}

/// Largest number of nodes that searches for routes visit.
const MAX_SEARCHED: usize = 10_000_000;
/// Largest number of flows with one start and interval whose stations are compared with each other.
const MAX_COMPARED: usize = 1000;
/// Largest number of flows that a note names.
const MAX_NAMED: usize = 5;
