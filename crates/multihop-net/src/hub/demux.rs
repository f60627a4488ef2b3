//! Demultiplexing: the connection that a datagram is for.

use std::collections::HashMap;

use super::slots::Id;
use crate::protection::Destination;

/// Which connection a datagram is for.
#[derive(Debug, Default)]
pub(super) struct Demux(HashMap<Destination, Id>);

impl Demux {
    pub(super) fn get(&self, destination: Destination) -> Option<Id> {
        self.0.get(&destination).copied()
    }

    pub(super) fn insert(&mut self, destinations: [Option<Destination>; 2], id: Id) {
        self.0.extend(destinations.into_iter().flatten().map(|destination| (destination, id)));
    }

    /// Whether a random index is already in use: then another must be drawn.
    pub(super) fn collides(&self, destinations: [Option<Destination>; 2]) -> bool {
        let mut indices = destinations.into_iter().flatten().filter(|to| matches!(to, Destination::Index(_)));
        indices.any(|destination| self.0.contains_key(&destination))
    }

    /// Removes those destinations that lead to this connection.
    pub(super) fn remove(&mut self, destinations: [Option<Destination>; 2], id: Id) {
        for destination in destinations.into_iter().flatten() {
            if self.get(destination) == Some(id) {
                self.0.remove(&destination);
            }
        }
    }
}
