//! Link set (RFC 3626 §4.2.1), and link sensing (§7.1).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant, Interface};
use multihop_wire::olsr::LinkCode;

use super::config::Config;
use crate::link_state::hysteresis::{Hysteresis, Quality};
use crate::link_state::table;
use crate::steps;

/// Links to neighbours, sorted by address.
#[derive(Clone, Debug)]
pub(super) struct LinkSet {
    list: Vec<LinkTuple>,
    /// Lower bound of the instant at which a link changes next.
    due: Instant,
    hold: Duration,
    slack: Duration,
    hysteresis: Option<Hysteresis>,
}

#[derive(Clone, Debug)]
pub(super) struct LinkTuple {
    /// The neighbour's interface address.
    pub(super) address: Ipv4Addr,
    /// The neighbour's main address.
    pub(super) main: Ipv4Addr,
    /// Interface of this node that has the link.
    pub(super) interface: Interface,
    /// Whether the link was symmetric at the last check.
    pub(super) symmetric: bool,
    /// Whether the neighbour's last HELLO listed this node.
    is_listed: bool,
    symmetric_until: Instant,
    heard_until: Instant,
    lost_until: Instant,
    expires: Instant,
    /// Link quality for hysteresis; `None` without hysteresis.
    quality: Option<Box<Quality>>,
}

/// The state of a link as seen from this node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Symmetric,
    Asymmetric,
    Lost,
    /// The link loses too many packets (pending), and HELLOs do not declare it.
    Pending,
}

/// Link information in a HELLO.
pub(super) struct SensedLink {
    /// Interface address of the sender.
    pub(super) from: Ipv4Addr,
    /// Main address of the sender.
    pub(super) main: Ipv4Addr,
    /// Interface over which the HELLO came.
    pub(super) interface: Interface,
    /// Validity time of the information.
    pub(super) validity: Duration,
    /// The sender's HELLO interval.
    pub(super) interval: Duration,
    /// The link code that the HELLO declares for this node's interface.
    pub(super) reported: Option<LinkCode>,
    /// Sequence number of the packet.
    pub(super) sequence: u16,
}

impl LinkSet {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            list: Vec::new(),
            due: Instant::FAR_FUTURE,
            hold: config.neighbour_hold,
            slack: config.max_jitter,
            hysteresis: config.hysteresis,
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        (!self.list.is_empty()).then_some(self.due)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LinkTuple> {
        self.list.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, address: Ipv4Addr) -> Option<&LinkTuple> {
        self.place(address).ok().map(|at| &self.list[at])
    }

    /// Records an OLSR packet for hysteresis.
    pub(super) fn packet(&mut self, now: Instant, from: Ipv4Addr, sequence: u16) {
        let Some(hysteresis) = self.hysteresis else { return };
        let Ok(at) = self.place(from) else { return };
        let link = &mut self.list[at];
        let Some(quality) = &mut link.quality else { return };
        let before = quality.pending;
        quality.packet(now, hysteresis, sequence, self.slack);
        link.pending_since(now, before, self.hold);
        self.due = self.due.min(now);
    }

    /// Updates the link set from a HELLO. Returns true if the HELLO does not list this node, although the neighbour
    /// is new or listed this node before.
    pub(super) fn hello(&mut self, now: Instant, heard: &SensedLink) -> bool {
        let at = self.place(heard.from).unwrap_or_else(|at| {
            table::insert(&mut self.list, at, LinkTuple::new(now, heard));
            at
        });
        let link = &mut self.list[at];
        let was_listed = core::mem::replace(&mut link.is_listed, heard.reported.is_some());
        (link.main, link.interface) = (heard.main, heard.interface);
        link.heard_until = now + heard.validity;
        match heard.reported {
            Some(LinkCode::Lost(_)) => link.symmetric_until = now,
            Some(LinkCode::Symmetric { .. } | LinkCode::Asymmetric(_)) => {
                link.symmetric_until = now + heard.validity;
                link.expires = link.symmetric_until + self.hold;
            }
            Some(LinkCode::Unspecified(_)) | None => {}
        }
        link.expires = link.expires.max(link.heard_until);
        if let Some(hysteresis) = self.hysteresis {
            let quality =
                link.quality.get_or_insert_with(|| Box::new(Quality::new(hysteresis, heard.sequence)));
            quality.hello(now, heard.interval, self.slack);
        }
        self.due = self.due.min(now);
        was_listed && heard.reported.is_none()
    }

    /// Considers a link lost after the MAC's report of a failure (RFC 3626 §13).
    pub(super) fn fail(&mut self, now: Instant, address: Ipv4Addr) {
        let Ok(at) = self.place(address) else { return };
        let link = &mut self.list[at];
        link.lost_until = now + self.hold;
        self.due = self.due.min(now);
    }

    /// Ends the links over interfaces for which `counts` is false.
    pub(super) fn keep(&mut self, now: Instant, counts: impl Fn(Interface) -> bool) {
        for link in self.list.iter_mut().filter(|link| !counts(link.interface)) {
            link.expires = now;
            self.due = self.due.min(now);
        }
    }

    /// Updates one link whose state has changed by `now`. Returns the neighbour if the link has become
    /// symmetric, is no longer symmetric, or is lost. Call it repeatedly until it returns `None`.
    pub(super) fn next_change(&mut self, now: Instant) -> Option<Ipv4Addr> {
        if now < self.due {
            return None;
        }
        steps::count(self.list.len());
        for at in 0..self.list.len() {
            let link = &mut self.list[at];
            if now >= link.expires {
                let gone = self.list.remove(at);
                table::shrink(&mut self.list);
                return Some(gone.main);
            }
            link.listen(now, self.hysteresis, self.hold);
            let symmetric = link.state(now) == State::Symmetric;
            if symmetric != link.symmetric {
                link.symmetric = symmetric;
                return Some(link.main);
            }
        }
        self.due = self.list.iter().map(|link| link.due(now)).min().unwrap_or(Instant::FAR_FUTURE);
        None
    }

    fn place(&self, address: Ipv4Addr) -> Result<usize, usize> {
        self.list.binary_search_by_key(&address, |link| link.address)
    }
}

impl LinkTuple {
    const fn new(now: Instant, heard: &SensedLink) -> Self {
        Self {
            address: heard.from,
            main: heard.main,
            interface: heard.interface,
            symmetric: false,
            // A new neighbour counts as one that has just forgotten this node.
            is_listed: true,
            symmetric_until: now,
            heard_until: now,
            lost_until: Instant::ZERO,
            expires: now,
            quality: None,
        }
    }

    /// State of the link for HELLOs (RFC 3626 §6.2 and §14.3).
    pub(super) fn state(&self, now: Instant) -> State {
        let pending = self.quality.as_ref().is_some_and(|quality| quality.pending);
        if now < self.lost_until {
            State::Lost
        } else if pending {
            State::Pending
        } else if now < self.symmetric_until {
            State::Symmetric
        } else if now < self.heard_until {
            State::Asymmetric
        } else {
            State::Lost
        }
    }

    /// Counts packets that should have arrived by `now` as lost.
    fn listen(&mut self, now: Instant, hysteresis: Option<Hysteresis>, hold: Duration) {
        let (Some(hysteresis), Some(quality)) = (hysteresis, &mut self.quality) else { return };
        let before = quality.pending;
        while quality.silent_at <= now {
            quality.silence(hysteresis);
        }
        self.pending_since(now, before, hold);
    }

    /// Declares a link lost for the hold time when hysteresis makes it pending, and cancels this when the
    /// link is used again (RFC 3626 §14.3).
    fn pending_since(&mut self, now: Instant, before: bool, hold: Duration) {
        let pending = self.quality.as_ref().is_some_and(|quality| quality.pending);
        match (before, pending) {
            (false, true) => self.lost_until = self.expires.min(now + hold),
            (true, false) => self.lost_until = Instant::ZERO,
            _ => {}
        }
    }

    /// Instant at which the link may next change by a timeout.
    fn due(&self, now: Instant) -> Instant {
        let mut due = self.expires;
        if let Some(quality) = &self.quality {
            due = due.min(quality.silent_at);
        }
        if self.symmetric {
            due = due.min(self.symmetric_until);
        } else if now < self.lost_until && self.lost_until < self.symmetric_until {
            due = due.min(self.lost_until);
        }
        due
    }
}
