//! Changes of the network that are requested during a run, and the counters of a node.

use multihop_core::NodeId;
use multihop_radio::channel_error::Lost;
use multihop_radio::medium::Medium;

use super::World;
use super::air::Air;
use crate::live::NodeCounters;
use crate::live::change::{Change, point};

impl World<'_> {
    /// Applies a change that has been checked.
    pub(crate) fn change(&mut self, change: &Change) {
        match *change {
            Change::Cut([a, b]) => self.set_cut(a, b, true),
            Change::Mend([a, b]) => self.set_cut(a, b, false),
            Change::Move { node, to } => {
                let now = self.context.now;
                self.each_medium(|medium| medium.put(NodeId(node), point(to), now));
            }
            Change::Loss { of, chance, link } => {
                self.airs.iter_mut().for_each(|air| set_loss(air, of.into(), chance, link));
            }
            Change::Freeze(node) => self.set_frozen(NodeId(node), true),
            Change::Thaw(node) => self.set_frozen(NodeId(node), false),
        }
        self.act();
    }

    /// Calls a function for the medium of each radio, and for the media of interference between radios.
    fn each_medium(&mut self, mut call: impl FnMut(&mut Medium)) {
        for air in self.airs.iter_mut() {
            call(&mut air.medium);
            air.leaks.to.iter_mut().for_each(|(_, leakage)| call(leakage.medium_mut()));
        }
    }

    fn set_cut(&mut self, a: u32, b: u32, is_cut: bool) {
        self.each_medium(|medium| medium.set_cut(NodeId(a), NodeId(b), is_cut));
    }

    /// Counters of a node since the warm-up; `None` if stations are not measured individually.
    pub(crate) fn counters(&self, node: NodeId) -> Option<NodeCounters> {
        let airs = || self.airs.of(self.context.scenario, node);
        let mut counters = NodeCounters {
            queue: airs().map(|air| air.queue_len(node)).sum(),
            longest_queue: self.context.observer.longest_queue(node),
            ..NodeCounters::default()
        };
        for air in airs() {
            air.stats.add_to(&mut counters, node)?;
        }
        Some(counters)
    }
}

fn set_loss(air: &mut Air, lost: Lost, chance: f64, link: Option<[u32; 2]>) {
    match link.map(|link| link.map(NodeId)) {
        None => air.errors.set_loss(lost, chance),
        Some([a, b]) => {
            air.errors.set_loss_of(lost, a, b, chance);
            air.errors.set_loss_of(lost, b, a, chance);
        }
    }
}
