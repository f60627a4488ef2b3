//! The links of a scenario at its start, without running it.

use multihop_core::{Instant, Interface, NodeId};
use multihop_radio::grid::Point;
use multihop_radio::link_budget::{LinkBudget, LinkBudgets};
use multihop_radio::propagation::Site;
use multihop_radio::rate_control::RateControlParams;
use multihop_scenario::Scenario;

/// A station and another one that receives it, at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InitialLink {
    /// Node that transmits over the link.
    pub from: NodeId,
    /// Node that receives over the link.
    pub to: NodeId,
    /// Power, ratio of signal to noise, and rates at the receiver.
    pub budget: LinkBudget,
    /// Whether data arrives: at the rate of the scenario, or at any rate under rate control.
    pub carries_data: bool,
    /// The fastest rate at which the receiver gets frames.
    pub fastest: &'static str,
}

/// The stations of a scenario as they are placed at its start.
#[derive(Debug)]
pub struct InitialLinks {
    /// Every link, by transmitter and receiver.
    pub list: Vec<InitialLink>,
    /// Stations without a link that carries data to them or from them.
    pub isolated: Vec<NodeId>,
    /// The rate of data; `None` if rate control or a list of links decides.
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

/// The links between stations at these places; `None` for more than [`MAX_STATIONS`].
pub(crate) fn links_between(scenario: &Scenario, radio: Interface, places: &[Point]) -> Option<InitialLinks> {
    if places.len() > MAX_STATIONS {
        return None;
    }
    let (seed, radio) = (scenario.seed_of(radio), &scenario.radios[radio.index()]);
    let params = &radio.params;
    let budgets = LinkBudgets::new(params, seed);
    let has_lists = !params.link_rates.is_empty();
    let adapts = radio.mac.rate_control != RateControlParams::Fixed && !has_lists;
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
    /// The first station of the part of the network that each station belongs to, by links that carry data in either direction.
    pub(crate) fn parts(&self, stations: usize) -> Vec<usize> {
        let mut part: Vec<usize> = (0..stations).collect();
        for link in self.list.iter().filter(|link| link.carries_data) {
            let [a, b] = [link.from, link.to].map(|node| first_of(&mut part, node.index()));
            part[a.max(b)] = a.min(b);
        }
        (0..stations).map(|station| first_of(&mut part, station)).collect()
    }
}

/// The first station of the part of this one; shortens the way to it.
fn first_of(part: &mut [usize], mut station: usize) -> usize {
    while part[station] != station {
        part[station] = part[part[station]];
        station = part[station];
    }
    station
}

/// Largest number of stations for which every pair is examined.
pub const MAX_STATIONS: usize = 2000;
