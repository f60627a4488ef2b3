//! The link set (RFC 3626 §4.2.1) and link sensing (§7.1).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_wire::olsr::LinkCode;

use super::config::{Config, Hysteresis};
use super::hysteresis::Quality;
use super::table;

/// Links to neighbours, in the order of addresses.
#[derive(Clone, Debug)]
pub(super) struct Links {
    list: Vec<Link>,
    /// Nothing happens to any link earlier.
    due: Instant,
    hold: Duration,
    slack: Duration,
    hysteresis: Option<Hysteresis>,
}

#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The neighbour's interface.
    pub(super) address: Ipv4Addr,
    /// The neighbour.
    pub(super) main: Ipv4Addr,
    /// Whether it worked both ways when last looked at.
    pub(super) symmetric: bool,
    symmetric_until: Instant,
    heard_until: Instant,
    lost_until: Instant,
    expires: Instant,
    /// If there is hysteresis.
    quality: Option<Box<Quality>>,
}

/// What a link is, seen from here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Symmetric,
    Asymmetric,
    Lost,
    /// Too bad to be spoken of.
    Pending,
}

/// What a HELLO says of the link that it came over.
pub(super) struct Heard {
    /// Interface address of the sender.
    pub(super) from: Ipv4Addr,
    /// Main address of the sender.
    pub(super) main: Ipv4Addr,
    /// How long to believe it.
    pub(super) validity: Duration,
    /// Time between the sender's HELLOs.
    pub(super) interval: Duration,
    /// What it says of this node's interface.
    pub(super) told: Option<LinkCode>,
    /// Sequence number of the packet.
    pub(super) sequence: u16,
}

impl Links {
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

    pub(super) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.list.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, address: Ipv4Addr) -> Option<&Link> {
        self.place(address).ok().map(|at| &self.list[at])
    }

    /// An OLSR packet arrived. For hysteresis only.
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

    /// A HELLO arrived.
    pub(super) fn hello(&mut self, now: Instant, heard: &Heard) {
        let at = self.place(heard.from).unwrap_or_else(|at| {
            table::insert(&mut self.list, at, Link::new(now, heard));
            at
        });
        let link = &mut self.list[at];
        link.main = heard.main;
        link.heard_until = now + heard.validity;
        match heard.told {
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
    }

    /// The MAC has given up on the link (RFC 3626 §13).
    pub(super) fn fail(&mut self, now: Instant, address: Ipv4Addr) {
        let Ok(at) = self.place(address) else { return };
        let link = &mut self.list[at];
        link.lost_until = now + self.hold;
        self.due = self.due.min(now);
    }

    /// Brings one link up to date and names the neighbour, if the link has become symmetric, has
    /// ceased to be so, or has gone. To be repeated until there is none left.
    pub(super) fn next_change(&mut self, now: Instant) -> Option<Ipv4Addr> {
        if now < self.due {
            return None;
        }
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

impl Link {
    const fn new(now: Instant, heard: &Heard) -> Self {
        Self {
            address: heard.from,
            main: heard.main,
            symmetric: false,
            symmetric_until: now,
            heard_until: now,
            lost_until: Instant::ZERO,
            expires: now,
            quality: None,
        }
    }

    /// What HELLOs say of it (RFC 3626 §6.2 and §14.3).
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

    /// Counts silences.
    fn listen(&mut self, now: Instant, hysteresis: Option<Hysteresis>, hold: Duration) {
        let (Some(hysteresis), Some(quality)) = (hysteresis, &mut self.quality) else { return };
        let before = quality.pending;
        while quality.silent_at <= now {
            quality.silence(hysteresis);
        }
        self.pending_since(now, before, hold);
    }

    /// RFC 3626 §14.3: a link that goes out of use is called lost for a while.
    fn pending_since(&mut self, now: Instant, before: bool, hold: Duration) {
        let pending = self.quality.as_ref().is_some_and(|quality| quality.pending);
        match (before, pending) {
            (false, true) => self.lost_until = self.expires.min(now + hold),
            (true, false) => self.lost_until = Instant::ZERO,
            _ => {}
        }
    }

    /// When it may change by itself next.
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
