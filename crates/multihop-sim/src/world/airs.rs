//! Radios of the nodes, one `Air` for each; the radio that handles an event is at the front.

use std::mem;
use std::ops::{Index, IndexMut};

use multihop_core::{Interface, NodeId};
use multihop_scenario::Scenario;

use super::air::Air;
use super::ids::FlightId;
use crate::engine::Key;

/// The [`Air`] of each interface: the n-th radio of all nodes. Events of frames and MACs are handled at
/// `front`, whose address does not depend on the interface. With one radio it is always there; several radios
/// are exchanged. With a table of all radios, a chain needs 2% more instructions.
pub(super) struct Airs {
    /// The radio of the current event.
    pub(super) front: Air,
    /// The other radios: entry n - 1 is interface n, or interface 0 if interface n is at the front.
    pub(super) others: Vec<Air>,
}

impl Airs {
    /// The radios in the order of their interfaces.
    ///
    /// Panics if there is none.
    pub(super) fn new(mut airs: impl Iterator<Item = Air>) -> Self {
        Self { front: airs.next().expect("a scenario has at least one radio"), others: airs.collect() }
    }

    /// Moves the radio of an interface to the front before it handles an event.
    #[inline]
    pub(super) fn move_to_front(&mut self, interface: Interface) {
        if self.front.interface != interface {
            self.exchange(interface);
        }
    }

    #[inline(never)]
    fn exchange(&mut self, interface: Interface) {
        for moved in [self.front.interface, interface].map(Interface::index).into_iter().filter(|n| *n > 0) {
            mem::swap(&mut self.front, &mut self.others[moved - 1]);
        }
    }

    /// The radios in the order of their interfaces.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Air> {
        (0..).map(Interface).take(1 + self.others.len()).map(move |interface| &self[interface])
    }

    /// The radios in the order of their interfaces.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Air> {
        self.move_to_front(Interface(0));
        std::iter::once(&mut self.front).chain(&mut self.others)
    }

    /// The radios that a node has.
    pub(super) fn of(&self, scenario: &Scenario, node: NodeId) -> impl Iterator<Item = &Air> {
        self.iter().zip(&scenario.radios).filter(move |(_, radio)| radio.is_at(node)).map(|(air, _)| air)
    }

    /// The radios that a node has.
    pub(super) fn of_mut(&mut self, scenario: &Scenario, node: NodeId) -> impl Iterator<Item = &mut Air> {
        let radios = self.iter_mut().zip(&scenario.radios);
        radios.filter(move |(_, radio)| radio.is_at(node)).map(|(air, _)| air)
    }

    /// Key of the next arrival among the frames of all radios.
    #[inline]
    pub(super) fn first_passing(&self) -> Key {
        earliest(self.front.flights.first(), &self.others)
    }

    /// Removes the frame with the next arrival, which has this key, from the frames that are passing, and moves its radio to
    /// the front.
    #[inline]
    pub(super) fn take_first_passing(&mut self, key: Key) -> FlightId {
        if !self.others.is_empty()
            && let Some(other) = self.others.iter().find(|air| air.flights.first() == key)
        {
            let interface = other.interface;
            self.exchange(interface);
        }
        self.front.flights.take_first()
    }
}

/// The earliest of a key and the keys of the next arrivals among the frames of these radios.
#[inline]
pub(super) fn earliest(key: Key, airs: &[Air]) -> Key {
    if airs.is_empty() { key } else { key.min(first_passing_of(airs)) }
}

/// Key of the next arrival among the frames of these radios.
#[inline(never)]
fn first_passing_of(airs: &[Air]) -> Key {
    airs.iter().map(|air| air.flights.first()).min().unwrap_or(Key::NEVER)
}

/// The index in `others` of an interface that is not at the front.
fn place(front: Interface, interface: Interface) -> usize {
    let moved = if interface.0 == 0 { front } else { interface };
    moved.index() - 1
}

impl Index<Interface> for Airs {
    type Output = Air;

    #[inline]
    fn index(&self, interface: Interface) -> &Air {
        if interface == self.front.interface {
            &self.front
        } else {
            &self.others[place(self.front.interface, interface)]
        }
    }
}

impl IndexMut<Interface> for Airs {
    #[inline]
    fn index_mut(&mut self, interface: Interface) -> &mut Air {
        if interface == self.front.interface {
            &mut self.front
        } else {
            &mut self.others[place(self.front.interface, interface)]
        }
    }
}
