//! Who was heard over which interface.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

use super::Counters;

/// Interface addresses of neighbours.
#[derive(Debug, Default)]
pub(super) struct Neighbours(BTreeMap<Ipv4Addr, Neighbour>);

#[derive(Clone, Copy, Debug)]
struct Neighbour {
    /// The number of this host's interface.
    interface: u32,
    /// The neighbour's main address.
    main: Ipv4Addr,
    heard: Instant,
    /// The time stamp of its last packet, if packets are signed.
    stamp: Option<u64>,
}

/// Whether a datagram is used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Known {
    Yes,
    /// The sender was heard over another interface a moment ago.
    Elsewhere,
    /// There are too many neighbours.
    TooMany,
}

impl Known {
    /// Which counter counts it; `None` if it is used.
    pub(super) fn counter(self, counters: &mut Counters) -> Option<&mut u64> {
        match self {
            Self::Yes => None,
            Self::Elsewhere => Some(&mut counters.elsewhere),
            Self::TooMany => Some(&mut counters.too_many),
        }
    }
}

impl Neighbours {
    /// A packet has arrived; `main` is what its HELLO says, if it has one.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        interface: u32,
        from: Ipv4Addr,
        main: Option<Ipv4Addr>,
        stamp: Option<u64>,
    ) -> Known {
        let is_full = self.0.len() >= MOST;
        match self.0.get_mut(&from) {
            Some(known) if known.interface != interface && now < known.heard + FAITHFUL => Known::Elsewhere,
            Some(known) => {
                *known = Neighbour { interface, main: main.unwrap_or(known.main), heard: now, stamp };
                Known::Yes
            }
            None if is_full => Known::TooMany,
            None => {
                self.0.insert(from, Neighbour { interface, main: main.unwrap_or(from), heard: now, stamp });
                Known::Yes
            }
        }
    }

    pub(super) fn interface(&self, of: Ipv4Addr) -> Option<u32> {
        self.0.get(&of).map(|neighbour| neighbour.interface)
    }

    pub(super) fn main(&self, of: Ipv4Addr) -> Option<Ipv4Addr> {
        self.0.get(&of).map(|neighbour| neighbour.main)
    }

    /// The time stamp of a neighbour's last packet.
    pub(super) fn stamp(&self, of: Ipv4Addr) -> Option<u64> {
        self.0.get(&of).and_then(|neighbour| neighbour.stamp)
    }

    /// Forgets neighbours of interfaces that no longer count.
    pub(super) fn keep(&mut self, counts: impl Fn(u32) -> bool) {
        self.0.retain(|_, neighbour| counts(neighbour.interface));
    }

    pub(super) fn expire(&mut self, now: Instant) {
        self.0.retain(|_, neighbour| now < neighbour.heard + MEMORY);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Ipv4Addr, u32, Ipv4Addr, Instant)> {
        self.0.iter().map(|(address, known)| (*address, known.interface, known.main, known.heard))
    }
}

/// A neighbour's interface that two of this host's interfaces hear belongs to the first, until it is silent there for
/// this long: three of the RFC's HELLO intervals.
const FAITHFUL: Duration = Duration::from_secs(6);
/// Longer than the agent considers a link that is not confirmed, with the usual intervals.
const MEMORY: Duration = Duration::from_secs(60);
/// Of the interfaces of neighbours.
const MOST: usize = 256;
