//! Interference between the radios of the nodes.

use multihop_core::{Interface, NodeId};
use multihop_radio::mac::Transmission;
use multihop_radio::medium::Leakage;
use multihop_radio::mobility::Track;
use multihop_scenario::Scenario;

/// The radios that hear transmissions of one radio as interference.
#[derive(Default)]
pub(super) struct Leaks {
    pub(super) to: Vec<(Interface, Leakage)>,
    /// The transmission that has just begun, with its station, if there is such a radio.
    pub(super) begun: Option<(NodeId, Transmission)>,
}

impl Leaks {
    /// Leakage from the stations of one radio of the scenario to those of the others.
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

    /// A station begins to transmit. Only called if another radio hears this one.
    pub(super) fn note(&mut self, node: NodeId, transmission: &Transmission) {
        self.begun = Some((node, *transmission));
    }

    /// Whether no other radio senses this one's transmissions.
    pub(super) fn are_none(&self) -> bool {
        self.to.is_empty()
    }
}
