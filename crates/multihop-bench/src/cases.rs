//! Scenarios that the benchmark measures, with their sizes.

use anyhow::Context;
use multihop_scenario::Scenario;
use serde::Serialize;

use crate::networks::{self, Size, cell, chain, cross, load};

/// A scenario, and the part of it that is measured.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) nodes: u32,
    /// Number of networks with different seeds that are measured together.
    pub(crate) networks: u32,
    /// The simulated interval over which time is measured, s.
    pub(crate) timed: [f64; 2],
    /// The simulated interval over which instructions are counted, s.
    pub(crate) counted: [f64; 2],
    /// The family of networks that differ in size only.
    pub(crate) family: Option<Family>,
    /// Whether a longer run checks that memory does not grow.
    pub(crate) watched: bool,
    text: fn(Size) -> anyhow::Result<String>,
}

/// Networks of equal density and equal load per node, of any size.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Family {
    /// Static nodes; routes hold for the whole run.
    Still,
    /// Mobile nodes with AODV.
    Moving,
}

/// 802.11 at 2 Mb/s unless stated otherwise, RTS before every frame, ranges of 250 and 550 m, ARP as in ns-2. TCP is NewReno with a window of 20
/// segments of 1460 bytes and an ACK for each. Mobile nodes move by random waypoint in its steady state, at 1 to 20 m/s
/// without pauses. `ofdm`: 802.11a at 6 Mb/s, reception by SINR, and no ARP, as in the comparison with ns-3.
pub(crate) const CASES: &[Case] = &[
    small("chain-1", 2, chain),
    small("chain-4", 5, chain),
    small("chain-8", 9, chain),
    small("chain-1-ofdm", 2, networks::chain_ofdm),
    small("chain-4-ofdm", 5, networks::chain_ofdm),
    small("chain-8-ofdm", 9, networks::chain_ofdm),
    // Ten stations send to the eleventh, more than the channel carries.
    small("saturated-10", 11, cell),
    small("saturated-10-ofdm", 11, networks::cell_ofdm),
    // Aggregates of 802.11n and 802.11ax at MCS 7 in 20 MHz, with the radio of a device sold today.
    small("saturated-10-n", 11, networks::cell_n),
    small("saturated-10-ax", 11, networks::cell_ax),
    small("cross", 9, cross),
    // All further networks have 50 nodes per square kilometre; in the mobile ones there is one TCP flow for
    // every ten nodes.
    mobile("mobile-50-aodv", 50, networks::mobile_aodv),
    mobile("mobile-50-ofdm", 50, networks::mobile_ofdm),
    mobile("mobile-50-olsr", 50, networks::mobile_olsr),
    mobile("mobile-50-dsr", 50, networks::mobile_dsr),
    mobile("mobile-100-olsr", 100, networks::mobile_olsr),
    // A tenth of the nodes send 20 kb/s over three hops.
    large("random-100", 100, 10, 55.0, Family::Still),
    large("random-1000", 1000, 1, 25.0, Family::Still),
    large("random-10000", 10_000, 1, 8.0, Family::Still),
    large("mobile-100", 100, 10, 25.0, Family::Moving),
    large("mobile-1000", 1000, 1, 15.0, Family::Moving),
    large("mobile-10000", 10_000, 1, 6.0, Family::Moving),
    // The network mobile-10000 with the radio of 802.11a at 6 Mb/s and the standard's rules.
    Case {
        family: None,
        text: networks::moving_ofdm,
        ..large("mobile-10000-ofdm", 10_000, 1, 6.0, Family::Moving)
    },
    // Two radios of 802.11n at each node; 50 flows of 100 kb/s over three hops.
    Case {
        family: None,
        text: networks::two_radios,
        ..large("two-radios-1000", 1000, 1, 15.0, Family::Still)
    },
    Case {
        family: None,
        text: networks::two_radios_aodv,
        ..large("two-radios-1000-aodv", 1000, 1, 15.0, Family::Moving)
    },
];

/// A million mobile nodes with AODV as in RFC 3561 and 20 TCP flows. Only for `--one`: `make bench` repeats its networks, and
/// counts the instructions of each.
const CITY: Case =
    Case { family: None, text: networks::city, ..large("city", 1_000_000, 1, 6.0, Family::Moving) };

const fn small(name: &'static str, nodes: u32, text: fn(Size) -> anyhow::Result<String>) -> Case {
    let (timed, counted) = ([0.0, 100.0], [10.0, 20.0]);
    Case { name, nodes, networks: 1, timed, counted, family: None, watched: false, text }
}

const fn mobile(name: &'static str, nodes: u32, text: fn(Size) -> anyhow::Result<String>) -> Case {
    Case { counted: [20.0, 60.0], watched: true, ..small(name, nodes, text) }
}

/// Times below 10 ms cannot be measured, so smaller networks run longer.
const fn large(name: &'static str, nodes: u32, networks: u32, until: f64, family: Family) -> Case {
    let text = match family {
        Family::Still => networks::random,
        Family::Moving => networks::moving,
    };
    let (timed, counted) = ([STAGE[0], until], STAGE);
    Case { name, nodes, networks, timed, counted, family: Some(family), watched: false, text }
}

/// Interval that is measured in networks of every size, in simulated seconds: all flows have begun and have found their
/// routes.
const STAGE: [f64; 2] = [5.0, 6.0];

impl Case {
    /// The case with this name, one of those of `make bench` or the city.
    pub(crate) fn named(name: &str) -> anyhow::Result<&'static Self> {
        CASES
            .iter()
            .chain([&CITY])
            .find(|case| case.name == name)
            .with_context(|| format!("no scenario {name:?}, there are: {}", names()))
    }

    /// Scenario of a network with this size, over this interval in simulated seconds.
    pub(crate) fn scenario(&self, size: Size, [from, to]: [f64; 2]) -> anyhow::Result<Scenario> {
        load(&(self.text)(size)?, from, to)
    }

    /// A shorter version for a quick look.
    pub(crate) fn quick(&self) -> Self {
        let timed = match self.family {
            Some(_) => [2.0, 2.2],
            None => [0.0, 10.0],
        };
        Self { networks: 1, timed, counted: [2.0, 2.2], watched: false, ..*self }
    }
}

/// Names of all cases, separated for error messages.
pub(crate) fn names() -> String {
    CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_valid_and_keeps_its_size() {
        for case in CASES {
            let size = Size { nodes: case.nodes, seed: 3 };
            let scenario = case.scenario(size, case.timed).unwrap();
            assert_eq!(scenario.topology.nodes(), case.nodes as usize, "{}", case.name);
            assert_eq!(scenario.duration.as_secs_f64().to_bits(), case.timed[1].to_bits());
        }
    }

    #[test]
    fn a_city_has_twenty_flows_at_every_size() {
        for nodes in [1_000, 2_000] {
            let scenario = CITY.scenario(Size { nodes, seed: 1 }, [0.0, 3.0]).unwrap();
            assert_eq!((scenario.topology.nodes(), scenario.flows.len()), (nodes as usize, 20));
        }
    }

    #[test]
    fn networks_of_a_family_are_measured_at_the_same_stage() {
        for case in CASES.iter().filter(|case| case.family.is_some()) {
            assert_eq!((case.timed[0], case.counted), (STAGE[0], STAGE), "{}", case.name);
        }
    }

    #[test]
    fn traffic_per_node_is_the_same_at_every_size() {
        for case in CASES.iter().filter(|case| case.family.is_some()) {
            let size = Size { nodes: case.nodes, seed: 1 };
            let flows = case.scenario(size, case.timed).unwrap().flows.len();
            let expected = case.nodes as usize / 10;
            assert!((expected - expected / 50..=expected).contains(&flows), "{}: {flows}", case.name);
        }
    }
}
