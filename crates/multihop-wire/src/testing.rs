//! Strategies shared by the property tests of several formats.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use multihop_core::Payload;

/// Some data, or none.
pub(crate) fn payload() -> impl Strategy<Value = Payload> {
    vec(any::<u8>(), 0..64)
        .prop_map(|bytes| if bytes.is_empty() { Payload::EMPTY } else { Payload::Bytes(bytes) })
}

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

/// Puts the right checksum at `at`, if that is inside the packet.
pub(crate) fn set_checksum(packet: &mut [u8], at: usize, checksum: impl Fn(&[u8]) -> u16) {
    if packet.len() >= at + 2 {
        packet[at..at + 2].fill(0);
        let sum = checksum(packet);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}
