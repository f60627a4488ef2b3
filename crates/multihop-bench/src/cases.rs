//! The scenarios that are measured.

use anyhow::Context;
use multihop_sim::scenario::Scenario;

use crate::networks::{cell, chain, cross, load, random};

/// A scenario, and how long it runs.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) nodes: u32,
    /// Simulated seconds of a run whose wall time is measured.
    pub(crate) seconds: f64,
    /// Simulated seconds of two runs whose difference in instructions is the cost of the traffic.
    pub(crate) counted: [f64; 2],
    text: fn(u32) -> anyhow::Result<String>,
}

/// 802.11 at 2 Mb/s, RTS before every frame, ranges of 250 and 550 m. TCP is NewReno with a window
/// of 20 segments of 1460 bytes and an ACK for each.
pub(crate) const CASES: &[Case] = &[
    Case { name: "chain-1", nodes: 2, seconds: 100.0, counted: [10.0, 20.0], text: chain },
    Case { name: "chain-4", nodes: 5, seconds: 100.0, counted: [10.0, 20.0], text: chain },
    Case { name: "chain-8", nodes: 9, seconds: 100.0, counted: [10.0, 20.0], text: chain },
    // Ten stations send to the eleventh, more than fits.
    Case { name: "saturated-10", nodes: 11, seconds: 100.0, counted: [10.0, 20.0], text: cell },
    Case { name: "cross", nodes: 9, seconds: 100.0, counted: [10.0, 20.0], text: cross },
    // 50 nodes to the square kilometre; a tenth of them send 20 kb/s over three hops.
    Case { name: "random-100", nodes: 100, seconds: 100.0, counted: [2.0, 12.0], text: random },
    Case { name: "random-1000", nodes: 1000, seconds: 20.0, counted: [2.0, 3.0], text: random },
    Case { name: "random-10000", nodes: 10_000, seconds: 10.0, counted: [2.0, 2.5], text: random },
];

impl Case {
    /// The one with this name.
    pub(crate) fn named(name: &str) -> anyhow::Result<&'static Self> {
        CASES
            .iter()
            .find(|case| case.name == name)
            .with_context(|| format!("no scenario {name:?}, there are: {}", names()))
    }

    pub(crate) fn scenario(&self, seconds: f64) -> anyhow::Result<Scenario> {
        load(&(self.text)(self.nodes)?, seconds)
    }
}

/// Every name, for messages.
pub(crate) fn names() -> String {
    CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_valid_and_keeps_its_size() {
        for case in CASES {
            let scenario = case.scenario(case.seconds).unwrap();
            assert_eq!(scenario.topology.nodes(), case.nodes as usize, "{}", case.name);
            assert_eq!(scenario.duration.as_secs_f64().to_bits(), case.seconds.to_bits());
        }
    }

    #[test]
    fn traffic_per_node_is_the_same_at_every_size() {
        for case in CASES.iter().filter(|case| case.name.starts_with("random")) {
            let flows = case.scenario(case.seconds).unwrap().flows.len();
            let expected = case.nodes as usize / 10;
            assert!((expected - expected / 50..=expected).contains(&flows), "{}: {flows}", case.name);
        }
    }
}
