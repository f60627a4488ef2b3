//! The links of a node (RFC 6130, sections 7 and 12), and OLSRv2's state of neighbours.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{BitRate, Duration, Instant, Interface};
use multihop_routing::link_state::hysteresis::{Hysteresis, Quality};

use super::airtime::Meter;
use super::config::{Config, LinkMetric};
use super::wire::{Hello, LinkStatus, MAX_ADDRESSES, Metric, Metrics, Neighbour, Willingness};

/// Links to neighbours, sorted by the address of the neighbour's interface.
#[derive(Clone, Debug)]
pub(super) struct NeighbourLinks {
    list: Vec<NeighbourLink>,
    /// Lower bound of the instant at which a link changes next.
    due: Instant,
    hold: Duration,
    slack: Duration,
    hysteresis: Option<Hysteresis>,
    metric: LinkMetric,
}

/// The link to one interface of a neighbour.
#[derive(Clone, Debug)]
pub(super) struct NeighbourLink {
    /// Address of the neighbour's interface.
    pub(super) address: Ipv4Addr,
    /// The address that names the neighbour.
    pub(super) main: Ipv4Addr,
    /// Interface of this node that has the link.
    pub(super) interface: Interface,
    /// Whether the link was symmetric at the last check.
    pub(super) symmetric: bool,
    heard_until: Instant,
    symmetric_until: Instant,
    lost_until: Instant,
    expires: Instant,
    /// Link quality for hysteresis; `None` without hysteresis.
    quality: Option<Box<Quality>>,
    /// Whether the quality was ever sufficient.
    accepted: bool,
    /// Measurement of the link's airtime; `None` under the hop metric.
    meter: Option<Box<Meter>>,
    /// Costs of the link in both directions.
    pub(super) metrics: Metrics,
    /// Willingness of the neighbour to be a relay.
    pub(super) willingness: Willingness,
    /// Whether the neighbour has chosen this node as a flooding MPR, which must forward its messages.
    pub(super) floods: bool,
    /// Whether the neighbour has chosen this node as a routing MPR, which must announce it.
    pub(super) routes: bool,
}

/// A neighbour with a symmetric link over any interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymmetricNeighbour {
    /// Address that names the neighbour.
    pub(super) main: Ipv4Addr,
    /// Address of the neighbour's interface on the link over which packets to the neighbour cost least.
    pub(super) via: Ipv4Addr,
    /// Lowest costs of the links to the neighbour.
    pub(super) metrics: Metrics,
    pub(super) willingness: Willingness,
    /// Whether the neighbour has chosen this node as a routing MPR, which must announce it.
    pub(super) routes: bool,
}

/// A received HELLO, with the circumstances of its arrival.
pub(super) struct Heard<'a> {
    /// Interface over which the HELLO arrived.
    pub(super) interface: Interface,
    /// The address of the neighbour's interface.
    pub(super) from: Ipv4Addr,
    /// The HELLO's entry for the interface over which it arrived.
    pub(super) said: Option<&'a Neighbour>,
    /// Sequence number of the packet with the HELLO.
    pub(super) sequence: Option<u16>,
}

/// Changes that make earlier results wrong.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Changes {
    /// Whether anything changed on which the choice of relays depends.
    pub(super) relays: bool,
    /// Whether anything changed on which routes depend.
    pub(super) routes: bool,
}

impl Changes {
    pub(super) const ALL: Self = Self { relays: true, routes: true };

    pub(super) fn add(&mut self, other: Self) {
        self.relays |= other.relays;
        self.routes |= other.routes;
    }
}

impl NeighbourLinks {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            list: Vec::new(),
            due: Instant::FAR_FUTURE,
            hold: config.neighbour_hold,
            slack: config.max_jitter,
            hysteresis: config.hysteresis,
            metric: config.metric,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        (!self.list.is_empty()).then_some(self.due)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &NeighbourLink> {
        self.list.iter()
    }

    pub(super) fn symmetric(&self) -> impl Iterator<Item = &NeighbourLink> {
        self.iter().filter(|link| link.symmetric)
    }

    /// The neighbours with symmetric links, sorted by address.
    pub(super) fn neighbours(&self) -> Vec<SymmetricNeighbour> {
        let mut all: Vec<_> = self.symmetric().map(SymmetricNeighbour::over).collect();
        // Without further interfaces, the addresses of links are the main addresses.
        all.sort_by_key(|neighbour| neighbour.main);
        all.dedup_by(|other, kept| {
            let is_same = other.main == kept.main;
            if is_same {
                kept.add(other);
            }
            is_same
        });
        all
    }

    pub(super) fn get(&self, address: Ipv4Addr) -> Option<&NeighbourLink> {
        self.place(address).ok().map(|at| &self.list[at])
    }

    /// Counts a packet from a known neighbour.
    pub(super) fn packet(&mut self, now: Instant, from: Ipv4Addr, sequence: u16) {
        let Ok(at) = self.place(from) else { return };
        let link = &mut self.list[at];
        if let Some(meter) = &mut link.meter {
            meter.packet(sequence);
        }
        if let (Some(hysteresis), Some(quality)) = (self.hysteresis, &mut link.quality) {
            quality.packet(now, hysteresis, sequence, self.slack);
            self.due = self.due.min(now);
        }
    }

    /// Sets the bit rate of data from a neighbour.
    pub(super) fn set_rate(&mut self, from: Ipv4Addr, rate: BitRate) {
        if let Ok(at) = self.place(from)
            && let Some(meter) = &mut self.list[at].meter
        {
            meter.set_rate(rate);
        }
    }

    /// Updates the links to a neighbour by its HELLO.
    pub(super) fn hello(&mut self, now: Instant, hello: &Hello, heard: &Heard<'_>) -> Changes {
        let Some(at) = self.entry(now, heard) else { return Changes::default() };
        let (link, said) = (&mut self.list[at], heard.said);
        let is_other = link.main != hello.originator || link.interface != heard.interface;
        (link.main, link.interface) = (hello.originator, heard.interface);
        let until = now + hello.validity.time();
        match said.and_then(|said| said.link) {
            Some(LinkStatus::Lost) => link.symmetric_until = now,
            Some(LinkStatus::Symmetric | LinkStatus::Heard) => link.symmetric_until = until,
            None => {}
        }
        link.heard_until = until.max(link.symmetric_until);
        link.expires = link.expires.max(link.heard_until + self.hold);
        let interval = hello.interval.map(|interval| interval.time());
        if let Some(meter) = &mut link.meter {
            meter.hello(now, interval);
        }
        if let (Some(quality), Some(interval)) = (&mut link.quality, interval) {
            quality.hello(now, interval, self.slack);
        }
        self.due = self.due.min(now);
        let mut changes = link.learn(hello, said);
        changes.add(Changes { relays: is_other, routes: is_other });
        changes
    }

    /// Considers a link lost after the MAC's report of a failure.
    pub(super) fn fail(&mut self, now: Instant, address: Ipv4Addr) {
        let Ok(at) = self.place(address) else { return };
        self.list[at].lost_until = now + self.hold;
        self.due = self.due.min(now);
    }

    /// Ends the links for which `stays` is false.
    pub(super) fn keep(&mut self, now: Instant, stays: impl Fn(&NeighbourLink) -> bool) {
        for link in self.list.iter_mut().filter(|link| !stays(link)) {
            (link.symmetric_until, link.heard_until, link.expires) = (now, now, now);
            self.due = self.due.min(now);
        }
    }

    /// Updates all links; returns whether any has become symmetric, or no longer is.
    pub(super) fn review(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        let mut changed = false;
        for link in &mut self.list {
            if let (Some(hysteresis), Some(quality)) = (self.hysteresis, &mut link.quality) {
                while quality.silent_at <= now {
                    quality.silence(hysteresis);
                }
                link.accepted |= !quality.pending;
            }
            let symmetric = link.status(now) == Some(LinkStatus::Symmetric);
            changed |= core::mem::replace(&mut link.symmetric, symmetric) != symmetric;
            if !symmetric {
                (link.floods, link.routes) = (false, false);
            }
        }
        self.list.retain(|link| now < link.expires);
        self.due = self.list.iter().map(|link| link.next_change(now)).min().unwrap_or(Instant::FAR_FUTURE);
        changed
    }

    /// Measures all links; returns whether a cost has changed.
    pub(super) fn refresh(&mut self, now: Instant) -> bool {
        let mut changed = false;
        for link in &mut self.list {
            if let Some(meter) = &mut link.meter {
                let metric = meter.refresh(now);
                changed |= core::mem::replace(&mut link.metrics.incoming, metric) != metric;
            }
        }
        changed
    }

    /// Index of a link, which is created by its first packet; `None` if there is no room.
    fn entry(&mut self, now: Instant, heard: &Heard<'_>) -> Option<usize> {
        let &Heard { from: address, interface, sequence, .. } = heard;
        match self.place(address) {
            Ok(at) => Some(at),
            Err(_) if self.list.len() >= MOST => None,
            Err(at) => {
                let first = sequence.unwrap_or_default();
                let quality = self.hysteresis.map(|hysteresis| Box::new(Quality::new(hysteresis, first)));
                let mut meter = (self.metric == LinkMetric::Airtime).then(|| Box::new(Meter::new()));
                if let (Some(meter), Some(sequence)) = (&mut meter, sequence) {
                    meter.packet(sequence);
                }
                self.list.insert(at, NeighbourLink::new(now, (interface, address), quality, meter));
                Some(at)
            }
        }
    }

    fn place(&self, address: Ipv4Addr) -> Result<usize, usize> {
        self.list.binary_search_by_key(&address, |link| link.address)
    }
}

impl NeighbourLink {
    fn new(
        now: Instant,
        (interface, address): (Interface, Ipv4Addr),
        quality: Option<Box<Quality>>,
        meter: Option<Box<Meter>>,
    ) -> Self {
        Self {
            address,
            // HELLOs contain the main address of the neighbour.
            main: address,
            interface,
            symmetric: false,
            heard_until: now,
            symmetric_until: now,
            lost_until: now,
            expires: now,
            accepted: quality.is_none(),
            quality,
            metrics: Metrics { incoming: meter.is_none().then_some(Metric::MIN), outgoing: None },
            meter,
            willingness: Willingness::default(),
            floods: false,
            routes: false,
        }
    }

    /// State of the link; `None` while its quality has not been sufficient yet, so that HELLOs do not list it.
    pub(super) fn status(&self, now: Instant) -> Option<LinkStatus> {
        if !self.accepted {
            return None;
        }
        let pending = self.quality.as_ref().is_some_and(|quality| quality.pending);
        Some(if pending || now < self.lost_until {
            LinkStatus::Lost
        } else if now < self.symmetric_until {
            LinkStatus::Symmetric
        } else if now < self.heard_until {
            LinkStatus::Heard
        } else {
            LinkStatus::Lost
        })
    }

    /// Share of the neighbour's packets that arrived lately; `None` if packets are not counted.
    pub(super) fn received(&self) -> Option<f64> {
        self.meter.as_ref().map(|meter| meter.share())
    }

    /// The first instant after `now` at which the state may change.
    fn next_change(&self, now: Instant) -> Instant {
        let silent = self.quality.as_ref().map(|quality| quality.silent_at);
        let times = [self.lost_until, self.symmetric_until, self.heard_until, self.expires];
        let times = times.into_iter().chain(silent).filter(|&at| at > now);
        times.min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Updates willingness, costs and selections by a neighbour's HELLO (RFC 7181, section 15.3).
    fn learn(&mut self, hello: &Hello, said: Option<&Neighbour>) -> Changes {
        let outgoing = said.map_or(self.metrics.outgoing, |said| said.link_metrics.incoming);
        let routes = core::mem::replace(&mut self.metrics.outgoing, outgoing) != outgoing;
        let willing = core::mem::replace(&mut self.willingness, hello.willingness) != hello.willingness;
        if let Some(said) = said.filter(|said| said.link == Some(LinkStatus::Symmetric)) {
            (self.floods, self.routes) = (said.floods, said.routes);
        }
        Changes { relays: routes || willing, routes: routes || willing }
    }
}

impl SymmetricNeighbour {
    /// Entry for a neighbour with this link.
    fn over(link: &NeighbourLink) -> Self {
        let &NeighbourLink { address: via, main, metrics, willingness, routes, .. } = link;
        Self { main, via, metrics, willingness, routes }
    }

    /// Adds another link to the neighbour, and keeps the cheaper costs.
    fn add(&mut self, other: &Self) {
        let less = |a: Option<Metric>, b: Option<Metric>| a.is_some_and(|a| b.is_none_or(|b| a < b));
        if less(other.metrics.outgoing, self.metrics.outgoing) {
            (self.via, self.metrics.outgoing) = (other.via, other.metrics.outgoing);
        }
        if less(other.metrics.incoming, self.metrics.incoming) {
            self.metrics.incoming = other.metrics.incoming;
        }
        self.routes |= other.routes;
    }
}

/// Largest number of links, all of which a HELLO lists in addition to the node itself.
const MOST: usize = MAX_ADDRESSES - 1;
