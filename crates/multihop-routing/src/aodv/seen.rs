//! Requests that were seen before (RFC 3561, section 6.5).

use alloc::collections::{BTreeSet, VecDeque};
use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};

/// Remembers requests by originator and id.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    life: Duration,
    requests: BTreeSet<(Ipv4Addr, u32)>,
    by_age: VecDeque<(Instant, (Ipv4Addr, u32))>,
}

impl Seen {
    pub(super) const fn new(life: Duration) -> Self {
        Self { life, requests: BTreeSet::new(), by_age: VecDeque::new() }
    }

    /// Whether this one is new; if so it is remembered.
    pub(super) fn is_new(&mut self, now: Instant, originator: Ipv4Addr, id: u32) -> bool {
        while let Some((_, old)) = self.by_age.pop_front_if(|(until, _)| *until <= now) {
            self.requests.remove(&old);
        }
        let is_new = self.requests.insert((originator, id));
        if is_new {
            self.by_age.push_back((now + self.life, (originator, id)));
        }
        is_new
    }
}
