//! Interference between the radios of the nodes.

use multihop_core::{Interface, NodeId};
use multihop_radio::mac::Transmission;
use multihop_radio::medium::Leakage;
use multihop_radio::mobility::Track;
use multihop_scenario::Scenario;

/// Other radios that receive the transmissions of one radio as interference.
#[derive(Default)]
pub(super) struct Leaks {
    pub(super) to: Vec<(Interface, Leakage)>,
    /// The transmission that has just begun, with its station; `None` if no other radio receives it.
    pub(super) begun: Option<(NodeId, Transmission)>,
}

impl Leaks {
    /// Creates the leakage from the stations of one radio of the scenario to all other radios.
    pub(super) fn new(scenario: &Scenario, from: Interface, tracks: &[Track]) -> Self {
        let (sender, seed) = (&scenario.radios[from.index()], scenario.seed_of(from));
        let others = (0..).map(Interface).zip(&scenario.radios).filter(|(interface, _)| *interface != from);
        let leakage = |(interface, receiver): (Interface, &multihop_scenario::Radio)| {
            let attenuation = sender.attenuation_db(receiver)?;
            let leakage = Leakage::new(&sender.params, &receiver.params, attenuation, tracks.to_vec(), seed);
            Some((interface, leakage))
        };
        Self { to: others.filter_map(leakage).collect(), begun: None }
    }

    /// Records that a station begins to transmit. Only called if another radio receives the transmissions of
    /// this one.
    pub(super) fn note(&mut self, node: NodeId, transmission: &Transmission) {
        self.begun = Some((node, *transmission));
    }

    /// Whether no other radio senses the transmissions of this one.
    pub(super) fn are_none(&self) -> bool {
        self.to.is_empty()
    }
}
