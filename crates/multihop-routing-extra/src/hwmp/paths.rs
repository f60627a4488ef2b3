//! The paths of a node, and the rules for replacing them by better ones (IEEE 802.11-2020, 14.10.8.4).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::aodv::Sequence;

/// A path to one node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Path {
    /// Next hop: the first neighbour of the path.
    pub next_hop: Ipv4Addr,
    /// Number of links of the path.
    pub hops: u8,
    /// Sum of the costs of the path's links.
    pub metric: u32,
    /// Sequence number of the path; `None` for a neighbour from which only forwarded messages of other nodes arrived.
    pub sequence: Option<Sequence>,
    /// Instant at which the path expires.
    pub until: Instant,
}

/// All valid paths, and expired ones whose sequence numbers are still known.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    all: BTreeMap<Ipv4Addr, Known>,
}

#[derive(Clone, Debug)]
struct Known {
    path: Path,
    /// Neighbours that use this path.
    precursors: BTreeSet<Ipv4Addr>,
}

/// A path that has stopped working.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) destination: Ipv4Addr,
    pub(super) sequence: Sequence,
    pub(super) precursors: BTreeSet<Ipv4Addr>,
}

impl Paths {
    pub(super) fn valid(&self, now: Instant, destination: Ipv4Addr) -> Option<&Path> {
        self.all.get(&destination).map(|known| &known.path).filter(|path| path.until > now)
    }

    /// Smallest sequence number that a new path must have, so that an expired path is not accepted again.
    pub(super) fn wanted(&self, now: Instant, destination: Ipv4Addr) -> Option<Sequence> {
        let path = &self.all.get(&destination)?.path;
        path.sequence.map(|sequence| if path.until > now { sequence } else { sequence.next() })
    }

    /// Accepts a path if it is newer than the known one or, if equally new, cheaper.
    pub(super) fn offer(&mut self, now: Instant, destination: Ipv4Addr, offer: Path) -> bool {
        let Some(known) = self.all.get_mut(&destination) else {
            self.all.insert(destination, Known { path: offer, precursors: BTreeSet::new() });
            return true;
        };
        if !known.path.yields_to(now, destination, &offer) {
            return false;
        }
        if known.path.until <= now {
            known.precursors.clear();
        }
        let sequence = offer.sequence.or(known.path.sequence);
        known.path = Path { sequence, until: offer.until.max(known.path.until), ..offer };
        true
    }

    pub(super) fn add_precursor(&mut self, destination: Ipv4Addr, neighbour: Ipv4Addr) {
        if let Some(known) = self.all.get_mut(&destination) {
            known.precursors.insert(neighbour);
        }
    }

    /// Invalidates all paths through a neighbour, and increments their sequence numbers so that they are
    /// newer than those known elsewhere.
    pub(super) fn break_link(&mut self, now: Instant, next_hop: Ipv4Addr) -> Vec<Broken> {
        let through = |known: &&mut Known| known.path.until > now && known.path.next_hop == next_hop;
        let end = |(&destination, known): (&Ipv4Addr, &mut Known)| {
            through(&known).then(|| {
                let sequence = known.path.sequence.map_or(UNKNOWN, Sequence::next);
                known.end(now, destination, sequence)
            })
        };
        self.all.iter_mut().filter_map(end).collect()
    }

    /// Invalidates a path that its next hop reports as broken, unless the report is older than the path.
    pub(super) fn refute(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        destination: Ipv4Addr,
        sequence: Sequence,
    ) -> Option<Broken> {
        let known = self.all.get_mut(&destination)?;
        let Path { next_hop, until, sequence: ours, .. } = known.path;
        let newer = ours.is_none_or(|ours| sequence == UNKNOWN || sequence.newer_than(ours));
        (until > now && next_hop == from && newer).then(|| known.end(now, destination, sequence))
    }
}

impl Path {
    fn yields_to(&self, now: Instant, destination: Ipv4Addr, offer: &Self) -> bool {
        let better = self.until <= now || offer.metric < self.metric;
        match (self.sequence, offer.sequence) {
            (Some(known), Some(new)) if new == known => better,
            (Some(known), Some(new)) => new.newer_than(known),
            (None, Some(_)) => true,
            // The current cost of a neighbour's link replaces an earlier one.
            (_, None) => better || self.next_hop == destination,
        }
    }
}

impl Known {
    fn end(&mut self, now: Instant, destination: Ipv4Addr, sequence: Sequence) -> Broken {
        self.path.until = now;
        if sequence != UNKNOWN {
            self.path.sequence = Some(sequence);
        }
        Broken { destination, sequence, precursors: core::mem::take(&mut self.precursors) }
    }
}

/// Sequence number in path errors for a node whose number is unknown.
pub(super) const UNKNOWN: Sequence = Sequence(0);
