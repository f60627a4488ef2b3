//! Recognition of duplicate route requests (RFC 3561, section 6.5).

use alloc::collections::VecDeque;
use core::iter;
use core::mem;
use core::net::Ipv4Addr;

use multihop_core::Instant;

use crate::steps;

/// Recent requests by originator and id.
///
/// Most duplicates arrive before the next new request. The search starts with the latest entry and therefore
/// usually ends at once.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Latest request of the originator, stored inline for cache locality.
    latest: SeenRequest,
    /// Earlier requests, the oldest first: all have equal lifetimes.
    earlier: VecDeque<SeenRequest>,
}

#[derive(Clone, Copy, Debug)]
struct SeenRequest {
    until: Instant,
    originator: Ipv4Addr,
    id: u32,
}

impl Seen {
    pub(super) const fn new() -> Self {
        let nothing = SeenRequest { until: Instant::ZERO, originator: Ipv4Addr::UNSPECIFIED, id: 0 };
        Self { latest: nothing, earlier: VecDeque::new() }
    }

    /// Whether a request is new. A new request is remembered until `until`, which must not decrease.
    pub(super) fn is_new(&mut self, now: Instant, originator: Ipv4Addr, id: u32, until: Instant) -> bool {
        let latest_first = iter::once(&self.latest).chain(self.earlier.iter().rev());
        if latest_first
            .take_while(|heard| heard.until > now)
            .inspect(|_| steps::count(1))
            .any(|heard| heard.originator == originator && heard.id == id)
        {
            return false;
        }
        while self.earlier.pop_front_if(|heard| heard.until <= now).is_some() {}
        self.earlier.push_back(mem::replace(&mut self.latest, SeenRequest { until, originator, id }));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Lifetime in nanoseconds, many times the typical interval between the test's requests.
    const LIFE: u64 = 20;

    proptest! {
        #[test]
        fn a_request_is_new_unless_it_was_received_within_its_lifetime(
            heard in vec((0..8_u64, 1..4_u8, 0..3_u32), 1..100),
        ) {
            let mut seen = Seen::new();
            let mut ends = BTreeMap::new();
            let mut now = 0;
            for (pause, originator, id) in heard {
                now += pause;
                ends.retain(|_, &mut until| until > now);
                let is_new = !ends.contains_key(&(originator, id));
                ends.entry((originator, id)).or_insert(now + LIFE);
                let from = Ipv4Addr::new(10, 0, 0, originator);
                let (at, until) = (Instant::from_nanos(now), Instant::from_nanos(now + LIFE));
                prop_assert_eq!(seen.is_new(at, from, id, until), is_new);
                if is_new {
                    prop_assert!(seen.earlier.len() <= ends.len(), "no entry outlives its lifetime");
                }
            }
        }
    }
}
