//! Routes through every neighbour, and the selected ones among them (RFC 8966, 3.2.6, 3.5 and 3.6).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use multihop_core::{Duration, Instant, earliest};

use super::diversity::{Link, channels_of};
use super::smoothed::Smoothed;
use super::sources::Sources;
use super::time;
use super::wire::{Channels, INFINITY, Offer, Prefix, RouterId, Seqno, Update};

/// Routes by their destination, with the next deadline among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    map: BTreeMap<Prefix, Destination>,
    /// Number of routes to all destinations, in use or not.
    entries: usize,
    /// Deadline of the next check, not later than the first expiry.
    due: Option<Instant>,
}

#[derive(Clone, Debug, Default)]
struct Destination {
    /// Routes to the destination, sorted by neighbour.
    entries: Vec<Entry>,
    /// The neighbour whose route is selected.
    selected: Option<IpAddr>,
    /// The metric in this node's latest update, [`INFINITY`] for a retraction, and the channels.
    announced: Option<(u16, Option<Channels>)>,
}

/// A route through one neighbour.
#[derive(Clone, Debug)]
struct Entry {
    neighbour: IpAddr,
    next_hop: IpAddr,
    router_id: RouterId,
    seqno: Seqno,
    /// Metric that the neighbour announced; [`INFINITY`] after a retraction.
    offered: u16,
    /// The channels of the neighbour's route.
    channels: Channels,
    /// The announced metric plus the cost of the link, smoothed.
    metric: Smoothed,
    expires: Instant,
    hold: Duration,
}

/// The selected route to a destination.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Route {
    /// The neighbour that announced the route.
    pub neighbour: IpAddr,
    /// Address of the node that receives the packets: the neighbour's, unless the neighbour announced another
    /// one.
    pub next_hop: IpAddr,
    /// Metric of the route, the cost of the link included.
    pub metric: u16,
    /// The node that originates the route.
    pub router_id: RouterId,
    /// Sequence number of the route, by the destination.
    pub seqno: Seqno,
    /// The channels of the route's links from the next hop on.
    pub channels: Channels,
}

/// Information by which routes are compared: time, feasibility distances and smoothing.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) now: Instant,
    pub(super) sources: &'a Sources,
    pub(super) half_life: Duration,
}

/// Effect of a received update on the routes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Learned {
    /// The update changed a route, or a route's age.
    Accepted,
    /// The update changed a route that could form a loop and is not used.
    Unfeasible,
    /// The update could form a loop and is ignored, because the route is selected.
    Refused,
    /// The update concerns no known route.
    Ignored,
}

impl Routes {
    /// Numbers of destinations and of routes to them.
    pub(super) fn sizes(&self) -> [usize; 2] {
        [self.map.len(), self.entries]
    }

    pub(super) fn destinations(&self) -> impl Iterator<Item = Prefix> {
        self.map.keys().copied()
    }

    /// The destinations with a route, selected or not, through a neighbour.
    pub(super) fn through(&self, neighbour: IpAddr) -> Vec<Prefix> {
        let found = self.map.iter().filter(|(_, routes)| routes.entry(neighbour).is_some());
        found.map(|(destination, _)| *destination).collect()
    }

    /// The neighbours with a route, selected or not, to a destination.
    pub(super) fn neighbours(&self, destination: Prefix) -> Vec<IpAddr> {
        let routes = self.map.get(&destination);
        routes.into_iter().flat_map(|routes| &routes.entries).map(|entry| entry.neighbour).collect()
    }

    /// The selected route to a destination.
    pub(super) fn get(&self, destination: Prefix) -> Option<Route> {
        self.map.get(&destination)?.route()
    }

    /// The neighbour that receives a request about a destination: that of the selected route, else of any
    /// other route.
    pub(super) fn successor(&self, destination: Prefix, requester: IpAddr) -> Option<IpAddr> {
        let routes = self.map.get(&destination)?;
        let others = routes.entries.iter().filter(|entry| entry.offered < INFINITY);
        let others = others.map(|entry| entry.neighbour);
        routes.selected.into_iter().chain(others).find(|&neighbour| neighbour != requester)
    }

    /// Records a neighbour's update (RFC 8966, 3.5.3).
    pub(super) fn learn(
        &mut self,
        judge: &Judge<'_>,
        (from, next_hop): (IpAddr, IpAddr),
        update: &Update,
        link: Link,
    ) -> Learned {
        let destination = update.prefix;
        let known = self.map.get_mut(&destination);
        let at = known.as_ref().and_then(|routes| routes.place(from).ok());
        let Some(Offer { router_id, metric: offered }) = update.offer else {
            if let (Some(routes), Some(at)) = (known, at) {
                routes.entries[at].offer(judge, INFINITY, link);
                return Learned::Accepted;
            }
            return Learned::Ignored;
        };
        let feasible = judge.sources.is_feasible(destination, router_id, update.seqno, offered);
        if let (Some(routes), Some(at)) = (&known, at)
            && !feasible
            && routes.selected == Some(from)
            && routes.entries[at].router_id == router_id
        {
            return Learned::Refused;
        }
        let is_full = if known.is_none() { self.map.len() >= MOST } else { self.entries >= MOST_ENTRIES };
        if at.is_none() && is_full {
            return Learned::Ignored;
        }
        self.entries += usize::from(at.is_none());
        // RFC 8966, appendix B: the route expiry time.
        let hold = time(update.interval) * 7 / 2;
        let entry = self.map.entry(destination).or_default().entry_or_new(judge.now, from);
        entry.next_hop = next_hop;
        (entry.router_id, entry.seqno) = (router_id, update.seqno);
        (entry.expires, entry.hold) = (judge.now + hold, hold);
        entry.channels = channels_of(update);
        entry.offer(judge, offered, link);
        self.due = earliest(self.due, Some(judge.now + hold));
        if feasible { Learned::Accepted } else { Learned::Unfeasible }
    }

    /// Retracts a neighbour's route to a destination.
    pub(super) fn retract(&mut self, judge: &Judge<'_>, from: IpAddr, destination: Prefix) {
        if let Some(entry) = self.map.get_mut(&destination).and_then(|routes| routes.entry_mut(from)) {
            entry.offer(judge, INFINITY, Link::LOST);
        }
    }

    /// Gives the link to a neighbour another cost.
    pub(super) fn set_cost(&mut self, judge: &Judge<'_>, neighbour: IpAddr, destination: Prefix, link: Link) {
        if let Some(entry) = self.map.get_mut(&destination).and_then(|routes| routes.entry_mut(neighbour)) {
            entry.offer(judge, entry.offered, link);
        }
    }

    /// Forgets the route through a lost neighbour.
    pub(super) fn forget(&mut self, neighbour: IpAddr, destination: Prefix) {
        if let Some(routes) = self.map.get_mut(&destination) {
            let before = routes.entries.len();
            routes.entries.retain(|entry| entry.neighbour != neighbour);
            self.entries -= before - routes.entries.len();
        }
        self.forget_if_empty(destination);
    }

    /// Retracts routes that were not confirmed, and forgets routes that were retracted long ago. Returns
    /// their destinations.
    pub(super) fn expire(&mut self, judge: &Judge<'_>) -> Vec<Prefix> {
        let now = judge.now;
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        let (mut changed, mut next) = (Vec::new(), None);
        for (destination, routes) in &mut self.map {
            let before = routes.entries.len();
            routes.entries.retain(|entry| entry.expires > now || entry.offered < INFINITY);
            let mut has_changed = routes.entries.len() < before;
            self.entries -= before - routes.entries.len();
            for entry in &mut routes.entries {
                // DEVIATION babel-2: A route is requested after it has expired. RFC 8966 (3.8.2.3) requests it
                // shortly before. The difference matters after three lost updates.
                if entry.expires <= now {
                    entry.offer(judge, INFINITY, Link::LOST);
                    entry.expires = now + entry.hold.max(MIN_HOLD);
                    has_changed = true;
                }
                next = earliest(next, Some(entry.expires));
            }
            if has_changed {
                changed.push(*destination);
            }
        }
        self.due = next;
        changed
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Selects the route to a destination again; returns the selected neighbours before and after.
    pub(super) fn select(
        &mut self,
        judge: &Judge<'_>,
        destination: Prefix,
    ) -> (Option<IpAddr>, Option<IpAddr>) {
        let Some(routes) = self.map.get_mut(&destination) else { return (None, None) };
        let after = routes.best(judge, destination);
        let before = core::mem::replace(&mut routes.selected, after);
        (before, after)
    }

    /// Whether to announce the route: its metric differs from the announced one by at least `margin`, its
    /// channels have changed, or the destination has become reachable or unreachable.
    pub(super) fn is_news(&self, destination: Prefix, margin: u16, channels: Option<Channels>) -> bool {
        let Some(routes) = self.map.get(&destination) else { return false };
        let now = routes.route().map_or(INFINITY, |route| route.metric);
        let (before, named) = routes.announced.unwrap_or((INFINITY, None));
        let is_other =
            now != before && (now.abs_diff(before) >= margin || now == INFINITY || before == INFINITY);
        is_other || now < INFINITY && named != channels
    }

    /// Records metric and channels of an update that is about to be sent.
    pub(super) fn note_announced(&mut self, destination: Prefix, metric: u16, channels: Option<Channels>) {
        if let Some(routes) = self.map.get_mut(&destination) {
            routes.announced = Some((metric, channels));
        }
    }

    /// Whether a destination was announced, so that its retraction must be announced, too.
    pub(super) fn was_announced(&self, destination: Prefix) -> bool {
        self.map.get(&destination).is_some_and(|routes| routes.announced.is_some())
    }

    /// Forgets a destination without routes.
    pub(super) fn forget_if_empty(&mut self, destination: Prefix) {
        if self.map.get(&destination).is_some_and(|routes| routes.entries.is_empty()) {
            self.map.remove(&destination);
        }
    }
}

impl Destination {
    fn place(&self, neighbour: IpAddr) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&neighbour, |entry| entry.neighbour)
    }

    fn entry(&self, neighbour: IpAddr) -> Option<&Entry> {
        Some(&self.entries[self.place(neighbour).ok()?])
    }

    fn entry_mut(&mut self, neighbour: IpAddr) -> Option<&mut Entry> {
        let at = self.place(neighbour).ok()?;
        Some(&mut self.entries[at])
    }

    fn entry_or_new(&mut self, now: Instant, neighbour: IpAddr) -> &mut Entry {
        let at = match self.place(neighbour) {
            Ok(at) => at,
            Err(at) => {
                let entry = Entry {
                    neighbour,
                    next_hop: neighbour,
                    router_id: RouterId([0; 8]),
                    seqno: Seqno(0),
                    offered: INFINITY,
                    channels: Channels::default(),
                    metric: Smoothed::new(now, INFINITY),
                    expires: now,
                    hold: Duration::ZERO,
                };
                self.entries.insert(at, entry);
                at
            }
        };
        &mut self.entries[at]
    }

    fn route(&self) -> Option<Route> {
        let entry = self.entry(self.selected?)?;
        let Entry { neighbour, next_hop, router_id, seqno, channels, .. } = *entry;
        Some(Route { neighbour, next_hop, metric: entry.metric.metric(), router_id, seqno, channels })
    }

    /// The neighbour with the best route. The selected route is replaced only by a route that is better now
    /// and has been better on average.
    fn best(&self, judge: &Judge<'_>, destination: Prefix) -> Option<IpAddr> {
        let usable = |entry: &&Entry| {
            entry.metric.metric() < INFINITY
                && judge.sources.is_feasible(destination, entry.router_id, entry.seqno, entry.offered)
        };
        let current = self.selected.and_then(|neighbour| self.entry(neighbour)).filter(usable);
        let value = |entry: &Entry| (entry.metric.metric(), entry.metric.average(judge.now, judge.half_life));
        let better = |entry: &&Entry| {
            current.is_none_or(|current| {
                let ((metric, average), (least, least_average)) = (value(entry), value(current));
                metric < least && average < least_average
            })
        };
        let candidates = self.entries.iter().filter(better).filter(usable);
        let best = candidates.min_by_key(|entry| entry.metric.metric());
        best.or(current).map(|entry| entry.neighbour)
    }
}

impl Entry {
    /// Changes the neighbour's metric or the cost of the link.
    fn offer(&mut self, judge: &Judge<'_>, offered: u16, link: Link) {
        self.offered = offered;
        let sum = offered.saturating_add(link.cost_before(&self.channels));
        self.metric.set(judge.now, sum, judge.half_life);
    }
}

/// Largest number of destinations, a limit of memory.
const MOST: usize = 65_536;
/// Largest number of routes to all destinations, a limit of memory.
const MOST_ENTRIES: usize = 4 * MOST;
/// Shortest time for which a route that ended is remembered.
const MIN_HOLD: Duration = Duration::from_secs(1);
