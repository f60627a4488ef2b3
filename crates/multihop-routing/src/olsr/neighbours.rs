//! The neighbour and MPR selector sets (RFC 3626 §4.3 and §8).

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_wire::olsr::Willingness;

use super::links::LinkSet;
use crate::link_state::table::{self, Table};
use crate::steps;

/// Neighbours, sorted by main address.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    list: Vec<Neighbour>,
}

/// A node to which a link exists in any state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Neighbour {
    /// Main address of the neighbour.
    pub(super) main: Ipv4Addr,
    /// Willingness of the neighbour to forward packets of others.
    pub(super) willingness: Willingness,
    /// Interface of the neighbour on a symmetric link; the neighbour is symmetric if there is one.
    pub(super) via: Option<Ipv4Addr>,
}

/// Change of a neighbour after an update of its links.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Change {
    None,
    /// The neighbour has become symmetric, or is symmetric through another link.
    Gained,
    /// The neighbour is no longer symmetric.
    Lost,
}

impl Neighbours {
    pub(super) fn list(&self) -> &[Neighbour] {
        &self.list
    }

    pub(super) fn get(&self, main: Ipv4Addr) -> Option<&Neighbour> {
        self.place(main).ok().map(|at| &self.list[at])
    }

    pub(super) fn symmetric(&self) -> impl Iterator<Item = Ipv4Addr> {
        self.list.iter().filter(|neighbour| neighbour.via.is_some()).map(|neighbour| neighbour.main)
    }

    pub(super) fn is_symmetric(&self, main: Ipv4Addr) -> bool {
        self.get(main).is_some_and(|neighbour| neighbour.via.is_some())
    }

    /// Updates a neighbour from the state of its links (RFC 3626 §8.1 and §8.5).
    pub(super) fn review(&mut self, main: Ipv4Addr, links: &LinkSet) -> Change {
        steps::count(links.len());
        let mut to_it = links.iter().filter(|link| link.main == main).peekable();
        let linked = to_it.peek().is_some();
        let via = to_it.find(|link| link.symmetric).map(|link| link.address);
        let Some(at) = self.at(main, linked) else { return Change::None };
        let before = core::mem::replace(&mut self.list[at].via, via);
        if !linked {
            self.list.remove(at);
            table::shrink(&mut self.list);
        }
        match via {
            _ if via == before => Change::None,
            Some(_) => Change::Gained,
            None => Change::Lost,
        }
    }

    /// Records the willingness in a HELLO; returns whether it has changed.
    pub(super) fn set_willingness(&mut self, main: Ipv4Addr, willingness: Willingness) -> bool {
        let Ok(at) = self.place(main) else { return false };
        core::mem::replace(&mut self.list[at].willingness, willingness) != willingness
    }

    /// The index of a neighbour, which is inserted if `make`.
    fn at(&mut self, main: Ipv4Addr, make: bool) -> Option<usize> {
        match self.place(main) {
            Ok(at) => Some(at),
            Err(at) if make => {
                let willingness = Willingness::DEFAULT;
                table::insert(&mut self.list, at, Neighbour { main, willingness, via: None });
                Some(at)
            }
            Err(_) => None,
        }
    }

    fn place(&self, main: Ipv4Addr) -> Result<usize, usize> {
        self.list.binary_search_by_key(&main, |neighbour| neighbour.main)
    }
}

/// MPR selectors: the neighbours that have selected this node.
pub(super) type Selectors = Table<Ipv4Addr>;
