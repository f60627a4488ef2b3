//! Damage to packets in transit, for property tests of formats.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Damage to a packet in transit.
#[derive(Clone, Debug)]
pub struct Damage {
    edits: Vec<(Index, u8)>,
    cut: Option<Index>,
}

/// Damage of a few overwritten bytes and, sometimes, a cut.
pub fn damage() -> impl Strategy<Value = Damage> {
    (vec(any::<(Index, u8)>(), 0..6), any::<Option<Index>>()).prop_map(|(edits, cut)| Damage { edits, cut })
}

impl Damage {
    /// Overwrites bytes of the packet and cuts it.
    pub fn apply(&self, packet: &mut Vec<u8>) {
        for (at, value) in &self.edits {
            let at = at.index(packet.len());
            packet[at] = *value;
        }
        if let Some(cut) = &self.cut {
            packet.truncate(cut.index(packet.len()));
        }
    }
}
