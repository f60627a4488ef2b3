//! The links of a scenario at its start, without running it.

use multihop_core::{Instant, Interface, NodeId};
use multihop_radio::grid::Point;
use multihop_radio::link_budget::{LinkBudget, LinkBudgets};
use multihop_radio::propagation::Site;
use multihop_scenario::Scenario;

/// A directed link at the start of a run: a station, and another one that receives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InitialLink {
    /// Node that transmits over the link.
    pub from: NodeId,
    /// Node that receives over the link.
    pub to: NodeId,
    /// Power, signal-to-noise ratio and rates at the receiver.
    pub budget: LinkBudget,
    /// Whether data arrives: at the rate of the scenario, or at any rate under rate control.
    pub carries_data: bool,
    /// Name of the fastest rate at which the receiver receives frames.
    pub fastest: &'static str,
}

/// The links between the stations of a scenario as they are placed at its start.
#[derive(Debug)]
pub struct InitialLinks {
    /// Every link, by transmitter and receiver.
    pub list: Vec<InitialLink>,
    /// Stations without any link at the data rate, in either direction.
    pub isolated: Vec<NodeId>,
    /// Name of the data rate; `None` if rate control or a list of links decides.
    pub data_rate: Option<&'static str>,
}

/// The links of one radio of a scenario at its start: pairs of stations of which one receives the other at some rate, without interference and
/// fading. `None` for a placement that fails, and for more than [`MAX_STATIONS`] stations.
pub fn links(scenario: &Scenario, radio: Interface) -> Option<InitialLinks> {
    let layout = scenario.topology.place(scenario.seed).ok()?;
    let mut tracks = scenario.tracks(&layout);
    let places: Vec<_> = tracks.iter_mut().map(|track| track.at(Instant::ZERO)).collect();
    links_between(scenario, radio, &places)
}

/// The links between stations at these places; `None` for more than [`MAX_STATIONS`] stations.
pub(crate) fn links_between(scenario: &Scenario, radio: Interface, places: &[Point]) -> Option<InitialLinks> {
    if places.len() > MAX_STATIONS {
        return None;
    }
    let (seed, radio) = (scenario.seed_of(radio), &scenario.radios[radio.index()]);
    let params = &radio.params;
    let budgets = LinkBudgets::new(params, seed);
    let has_lists = !params.link_rates.is_empty();
    let adapts = radio.mac.rate_control.adapts() && !has_lists;
    let data_rate = (!adapts && !has_lists).then(|| params.phy.rate(params.rate).name);
    let sites = (0..).map(NodeId).zip(places).map(|(node, &place)| Site { node, place });
    let sites: Vec<_> = sites.filter(|site| radio.is_at(site.node)).collect();
    let mut list = Vec::new();
    let mut is_linked = vec![false; places.len()];
    for &from in &sites {
        for &to in sites.iter().filter(|to| to.node != from.node) {
            let budget = budgets.of(from, to);
            let Some(fastest) = budget.fastest else { continue };
            let carries_data = adapts || budget.carries_data;
            if carries_data {
                is_linked[from.node.index()] = true;
                is_linked[to.node.index()] = true;
            }
            let fastest = params.phy.rate(fastest).name;
            list.push(InitialLink { from: from.node, to: to.node, budget, carries_data, fastest });
        }
    }
    let isolated = sites.iter().map(|site| site.node).filter(|node| !is_linked[node.index()]).collect();
    Some(InitialLinks { list, isolated, data_rate })
}

impl InitialLinks {
    /// For each station, the lowest station of its connected component, by links at the data rate in either
    /// direction.
    pub(crate) fn parts(&self, stations: usize) -> Vec<usize> {
        let mut part: Vec<usize> = (0..stations).collect();
        for link in self.list.iter().filter(|link| link.carries_data) {
            let [a, b] = [link.from, link.to].map(|node| first_of(&mut part, node.index()));
            part[a.max(b)] = a.min(b);
        }
        (0..stations).map(|station| first_of(&mut part, station)).collect()
    }
}

/// The lowest station of this station's component; shortens the chain of references to it.
fn first_of(part: &mut [usize], mut station: usize) -> usize {
    while part[station] != station {
        part[station] = part[part[station]];
        station = part[station];
    }
    station
}

/// Largest number of stations for which every pair is examined.
pub const MAX_STATIONS: usize = 2000;
