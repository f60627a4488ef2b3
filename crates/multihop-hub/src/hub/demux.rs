//! Demultiplexing: finds the connection of a datagram.

use alloc::collections::BTreeMap;

use super::slots::Id;
use crate::datagram::Entropy;
use crate::protection::Destination;

/// Table from the destinations in datagrams to connections.
#[derive(Debug, Default)]
pub(super) struct Demux(BTreeMap<Destination, Id>);

impl Demux {
    pub(super) fn get(&self, destination: Destination) -> Option<Id> {
        self.0.get(&destination).copied()
    }

    pub(super) fn insert(&mut self, destinations: impl IntoIterator<Item = Destination>, id: Id) {
        self.0.extend(destinations.into_iter().map(|destination| (destination, id)));
    }

    /// Whether a random index is already in use, so that another one must be drawn.
    pub(super) fn collides(&self, destinations: impl IntoIterator<Item = Destination>) -> bool {
        let mut indices = destinations.into_iter().filter(|to| matches!(to, Destination::Index(_)));
        indices.any(|destination| self.0.contains_key(&destination))
    }

    /// Draws a random index that no connection has.
    pub(super) fn draw_index(&self, entropy: &mut Entropy) -> u32 {
        loop {
            let mut bytes = [0; 4];
            entropy(&mut bytes);
            let index = u32::from_be_bytes(bytes);
            if !self.0.contains_key(&Destination::Index(index)) {
                return index;
            }
        }
    }

    /// Removes the given destinations as far as they lead to this connection.
    pub(super) fn remove(&mut self, destinations: impl IntoIterator<Item = Destination>, id: Id) {
        for destination in destinations {
            if self.get(destination) == Some(id) {
                self.0.remove(&destination);
            }
        }
    }
}
