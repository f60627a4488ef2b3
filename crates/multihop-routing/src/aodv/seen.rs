//! Requests that were seen before (RFC 3561, section 6.5).

use alloc::collections::VecDeque;
use core::iter;
use core::mem;
use core::net::Ipv4Addr;

use multihop_core::Instant;

/// Remembers requests by originator and id.
///
/// Most are heard again before the next one comes, so that the search, which begins at the latest,
/// ends at once.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Here, not behind a pointer, for the sake of caches.
    latest: Heard,
    /// All live equally long: the oldest are first.
    earlier: VecDeque<Heard>,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    until: Instant,
    originator: Ipv4Addr,
    id: u32,
}

impl Seen {
    pub(super) const fn new() -> Self {
        let nothing = Heard { until: Instant::ZERO, originator: Ipv4Addr::UNSPECIFIED, id: 0 };
        Self { latest: nothing, earlier: VecDeque::new() }
    }

    /// Whether this one is new; if so it is remembered until `until`, which never goes backwards.
    pub(super) fn is_new(&mut self, now: Instant, originator: Ipv4Addr, id: u32, until: Instant) -> bool {
        let latest_first = iter::once(&self.latest).chain(self.earlier.iter().rev());
        if latest_first
            .take_while(|heard| heard.until > now)
            .any(|heard| heard.originator == originator && heard.id == id)
        {
            return false;
        }
        while self.earlier.pop_front_if(|heard| heard.until <= now).is_some() {}
        self.earlier.push_back(mem::replace(&mut self.latest, Heard { until, originator, id }));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// In nanoseconds; longer than most of the times between the requests of the test, many times over.
    const LIFE: u64 = 20;

    proptest! {
        #[test]
        fn a_request_is_new_if_it_was_not_heard_for_as_long_as_it_is_remembered(
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
                    prop_assert!(seen.earlier.len() <= ends.len(), "nothing stays for longer");
                }
            }
        }
    }
}
