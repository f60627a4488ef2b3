//! The route table (RFC 3561, sections 2 and 6.2).
//!
//! Why there are no loops: let the rank of an entry be its sequence number, minus 1 if the entry is
//! invalid (invalidating a route increments its number). The rank of an entry never decreases, and
//! its hop count never increases at the same rank. A repair either increments the number as well, or
//! keeps number and hop count and accepts only what is newer or shorter. The next hop for a destination therefore has a
//! higher rank than the node that uses it, or the same rank and fewer hops; the sequence ends at
//! the destination.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::aodv::Sequence;

use crate::sorted::SortedMap;
use crate::steps;

/// Entry of the routing table for one destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Route {
    /// Address of the next neighbour towards the destination.
    pub next_hop: Ipv4Addr,
    /// Number of links to the destination.
    pub hops: u8,
    /// The destination's sequence number; `None` for a neighbour that has not sent one.
    pub sequence: Option<Sequence>,
    /// Whether the route can be used.
    pub state: RouteState,
    /// Instant at which a valid route expires, or an invalid one is forgotten.
    pub expires: Instant,
    /// Neighbours that use this node to reach the destination.
    pub precursors: BTreeSet<Ipv4Addr>,
}

/// Whether a route can be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RouteState {
    /// The route can be used.
    Valid,
    /// The link failed at this node, which searches for another route.
    Repairing,
    /// The route broke or expired.
    Invalid,
    /// The route is deleted; only its sequence number is still in use.
    // DEVIATION aodv-1: A node keeps the sequence number of an invalid route (the daemon for up to 8192
    // destinations). RFC 3561 (6.11) deletes the route; forgetting its number can cause a loop.
    Forgotten,
}

/// A route that a message offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) next_hop: Ipv4Addr,
    pub(super) hops: u8,
    pub(super) sequence: Sequence,
    pub(super) expires: Instant,
}

/// A route that was invalidated.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) destination: Ipv4Addr,
    pub(super) sequence: Sequence,
    pub(super) precursors: BTreeSet<Ipv4Addr>,
}

/// Route table: an entry for every destination ever learned.
#[derive(Clone, Debug)]
pub(super) struct Table {
    routes: SortedMap<Ipv4Addr, Route>,
    /// Lower bound of the instant at which the next route expires.
    next_expiry: Instant,
    delete_period: Option<Duration>,
    /// Whether a route keeps its sequence number and its hop count during a repair. Meanwhile only better
    /// routes replace it, and it still answers requests.
    repair_keeps_number: bool,
}

impl Table {
    pub(super) const fn new(delete_period: Option<Duration>, repair_keeps_number: bool) -> Self {
        let next_expiry = Instant::FAR_FUTURE;
        Self { routes: SortedMap::new(), next_expiry, delete_period, repair_keeps_number }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Ipv4Addr, &Route)> {
        self.routes.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.routes.len()
    }

    /// Number of entries whose next hop is a neighbour.
    pub(super) fn over(&self, neighbour: Ipv4Addr) -> usize {
        steps::count(self.routes.len());
        self.routes.values().filter(|route| route.next_hop == neighbour).count()
    }

    /// Removes entries of which only the sequence number remains.
    pub(super) fn forget(&mut self) {
        steps::count(self.routes.len());
        self.routes.retain(|route| route.state != RouteState::Forgotten);
    }

    pub(super) fn get(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.routes.get(destination)
    }

    pub(super) fn valid(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.get(destination).filter(|route| route.state == RouteState::Valid)
    }

    /// A valid route, or one that keeps its sequence number during a repair.
    pub(super) fn standing(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.get(destination).filter(|route| self.stands(route))
    }

    fn stands(&self, route: &Route) -> bool {
        match route.state {
            RouteState::Valid => true,
            RouteState::Repairing => self.repair_keeps_number,
            RouteState::Invalid | RouteState::Forgotten => false,
        }
    }

    /// The hop count of the last route, if it is still remembered.
    pub(super) fn last_hops(&self, destination: Ipv4Addr) -> Option<u8> {
        self.get(destination).filter(|route| route.state != RouteState::Forgotten).map(|route| route.hops)
    }

    pub(super) fn sequence(&self, destination: Ipv4Addr) -> Option<Sequence> {
        self.get(destination)?.sequence
    }

    /// Accepts a route if it is newer or shorter than the current one (section 6.2).
    pub(super) fn offer(&mut self, destination: Ipv4Addr, offer: Offer) -> bool {
        let better = self.get(destination).is_none_or(|route| {
            route.sequence.is_none_or(|known| {
                let no_worse = !self.stands(route) || offer.hops < route.hops;
                offer.sequence.newer_than(known) || offer.sequence == known && no_worse
            })
        });
        if better {
            self.put(destination, offer.next_hop, offer.hops, Some(offer.sequence), offer.expires);
        }
        better
    }

    /// Records that a message from a neighbour arrived, with the sequence number in it. Returns whether the
    /// route to the neighbour is new. `take_back` undoes the increment of the number that was made when the
    /// route was invalidated.
    pub(super) fn meet(
        &mut self,
        neighbour: Ipv4Addr,
        given: Option<Sequence>,
        take_back: bool,
        expires: Instant,
    ) -> bool {
        let (is_new, known) = self.get(neighbour).map_or((true, None), |route| match route.state {
            RouteState::Valid => (route.hops != 1, route.sequence),
            _ if take_back => (true, route.sequence.map(Sequence::previous)),
            _ => (true, route.sequence),
        });
        let sequence = known.map_or(given, |known| Some(given.map_or(known, |given| known.newest(given))));
        let expires = self.valid(neighbour).map_or(expires, |route| route.expires.max(expires));
        self.put(neighbour, neighbour, 1, sequence, expires);
        is_new
    }

    fn put(
        &mut self,
        destination: Ipv4Addr,
        next_hop: Ipv4Addr,
        hops: u8,
        sequence: Option<Sequence>,
        expires: Instant,
    ) {
        let route = self.routes.get_or_insert(
            destination,
            Route {
                next_hop,
                hops,
                sequence,
                state: RouteState::Invalid,
                expires,
                precursors: BTreeSet::new(),
            },
        );
        (route.next_hop, route.hops, route.sequence) = (next_hop, hops, sequence);
        route.expires = expires;
        route.state = RouteState::Valid;
        self.next_expiry = self.next_expiry.min(route.expires);
    }

    /// Extends the lifetime of a valid route to at least `expires`.
    pub(super) fn extend(&mut self, destination: Ipv4Addr, expires: Instant) {
        if let Some(route) = self.routes.get_mut(destination)
            && route.state == RouteState::Valid
        {
            route.expires = route.expires.max(expires);
        }
    }

    pub(super) fn add_precursor(&mut self, destination: Ipv4Addr, neighbour: Ipv4Addr) {
        if let Some(route) = self.routes.get_mut(destination) {
            route.precursors.insert(neighbour);
        }
    }

    /// Invalidates a standing route; `reported` is the sequence number in a route error.
    pub(super) fn invalidate(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        reported: Option<Sequence>,
    ) -> Option<Broken> {
        self.standing(destination)?;
        let route = self.routes.get_mut(destination)?;
        route.sequence = route.sequence.map(|known| {
            // DEVIATION aodv-9: After a route error the sequence number is at least the route's own plus 1. ns-2 and
            // AODV-UU adopt the number in the error, which can be lower.
            let raised = known.next();
            reported.map_or(raised, |reported| raised.newest(reported))
        });
        self.retire(now, destination)
    }

    /// Invalidates a route whose sequence number has already been incremented.
    pub(super) fn retire(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Broken> {
        let route = self.routes.get_mut(destination)?;
        route.state = RouteState::Invalid;
        route.expires = self.delete_period.map_or(Instant::FAR_FUTURE, |period| now + period);
        self.next_expiry = self.next_expiry.min(route.expires);
        Some(Broken {
            destination,
            sequence: route.sequence.unwrap_or_default(),
            precursors: core::mem::take(&mut route.precursors),
        })
    }

    /// Marks a valid route as under repair.
    pub(super) fn start_repair(&mut self, destination: Ipv4Addr) {
        if let Some(route) = self.routes.get_mut(destination) {
            if !self.repair_keeps_number {
                route.sequence = route.sequence.map(Sequence::next);
            }
            route.state = RouteState::Repairing;
            route.expires = Instant::FAR_FUTURE;
        }
    }

    /// Whether a standing route has the next hop `neighbour`.
    pub(super) fn uses(&self, neighbour: Ipv4Addr) -> bool {
        steps::count(self.routes.len());
        self.routes.values().any(|route| self.leads_over(route, neighbour))
    }

    /// Invalidates all routes through `neighbour`.
    pub(super) fn break_link(&mut self, now: Instant, neighbour: Ipv4Addr) -> Vec<Broken> {
        steps::count(self.routes.len());
        let over: Vec<Ipv4Addr> =
            self.iter().filter(|(_, route)| self.leads_over(route, neighbour)).map(|(to, _)| to).collect();
        over.into_iter().filter_map(|destination| self.invalidate(now, destination, None)).collect()
    }

    /// Removes `neighbour` from the precursors of all routes.
    pub(super) fn remove_precursor(&mut self, neighbour: Ipv4Addr) {
        for (_, route) in self.routes.iter_mut() {
            route.precursors.remove(&neighbour);
        }
    }

    /// Forgets old invalid routes; returns the destinations of the valid routes that have expired.
    pub(super) fn expire(&mut self, due: impl Fn(Instant) -> bool) -> Vec<Ipv4Addr> {
        let mut expired = Vec::new();
        steps::count(self.routes.len());
        for (destination, route) in self.routes.iter_mut() {
            if due(route.expires) {
                match route.state {
                    RouteState::Valid => expired.push(destination),
                    _ => {
                        route.state = RouteState::Forgotten;
                        route.expires = Instant::FAR_FUTURE;
                    }
                }
            }
        }
        expired
    }

    fn leads_over(&self, route: &Route, neighbour: Ipv4Addr) -> bool {
        self.stands(route) && route.next_hop == neighbour
    }

    /// Lower bound of the instant at which the next route expires; recomputed by
    /// [`find_next_expiry`](Self::find_next_expiry).
    pub(super) const fn next_expiry(&self) -> Instant {
        self.next_expiry
    }

    pub(super) fn find_next_expiry(&mut self) {
        steps::count(self.routes.len());
        let earliest = self.routes.values().map(|route| route.expires).min();
        self.next_expiry = earliest.unwrap_or(Instant::FAR_FUTURE);
    }
}
