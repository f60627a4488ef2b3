//! Damage to packets in transit, for property tests of formats.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Damage to a packet in transit.
#[derive(Clone, Debug)]
pub(crate) struct Damage {
    edits: Vec<(Index, u8)>,
    cut: Option<Index>,
}

pub(crate) fn damage() -> impl Strategy<Value = Damage> {
    (vec(any::<(Index, u8)>(), 0..6), any::<Option<Index>>()).prop_map(|(edits, cut)| Damage { edits, cut })
}

impl Damage {
    pub(crate) fn apply(&self, packet: &mut Vec<u8>) {
        for (at, value) in &self.edits {
            let at = at.index(packet.len());
            packet[at] = *value;
        }
        if let Some(cut) = &self.cut {
            packet.truncate(cut.index(packet.len()));
        }
    }
}
