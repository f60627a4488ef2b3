use std::net::SocketAddr;

use multihop_core::{Duration, Instant};

use crate::seal::Freshness;

/// Where a peer is, and where it may have gone.
///
/// A datagram that nobody can have made may still have been sent on, from elsewhere and faster than the
/// peer's own. So the peer is where it was as long as anything genuine comes from there, be it
/// what has been seen before; meanwhile both places get what is sent.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    home: SocketAddr,
    other: Option<Other>,
}

/// Another place that genuine datagrams come from.
#[derive(Clone, Copy, Debug)]
struct Other {
    at: SocketAddr,
    since: Instant,
    heard: Instant,
    /// How many copies it gets before it must be heard again.
    copies: u8,
}

impl Paths {
    pub(super) const fn new(home: SocketAddr) -> Self {
        Self { home, other: None }
    }

    /// Where the peer is.
    pub(super) const fn home(&self) -> SocketAddr {
        self.home
    }

    /// A genuine datagram has come from here.
    pub(super) fn on_genuine(&mut self, now: Instant, from: SocketAddr, freshness: Freshness) {
        if from == self.home {
            if freshness != Freshness::Late {
                self.other = None;
            }
            return;
        }
        if freshness != Freshness::Newest {
            return;
        }
        let fresh = Other { at: from, since: now, heard: now, copies: COPIES };
        match &mut self.other {
            Some(other) if other.at == from && now >= other.since + PROBATION => *self = Self::new(from),
            Some(other) if other.at == from => *other = Other { since: other.since, ..fresh },
            Some(other) if now < other.heard + SILENCE => {}
            _ => self.other = Some(fresh),
        }
    }

    /// Where a copy of what leaves now must go as well.
    pub(super) fn take_copy(&mut self) -> Option<SocketAddr> {
        let other = self.other.as_mut()?;
        other.copies = other.copies.checked_sub(1)?;
        Some(other.at)
    }
}

/// A peer must have been elsewhere for so long, and not where it was, to be there.
const PROBATION: Duration = Duration::from_secs(1);
/// After so long without a word from elsewhere a third place is heard.
const SILENCE: Duration = Duration::from_millis(500);
/// Whoever sends on a single datagram makes us send no more than this to the place that it names.
const COPIES: u8 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn place(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 1))
    }

    #[test]
    fn a_peer_that_is_heard_elsewhere_for_a_second_has_moved() {
        let mut paths = Paths::new(place(1));
        for (ms, home, copy) in [(0, 1, Some(2)), (999, 1, Some(2)), (1000, 2, None)] {
            paths.on_genuine(at(ms), place(2), Freshness::Newest);
            assert_eq!((paths.home(), paths.take_copy()), (place(home), copy.map(place)), "at {ms} ms");
        }
    }

    #[test]
    fn a_word_from_home_ends_it_even_one_that_came_another_way_before() {
        for freshness in [Freshness::Newest, Freshness::Again] {
            let mut paths = Paths::new(place(1));
            paths.on_genuine(at(0), place(2), Freshness::Newest);
            paths.on_genuine(at(900), place(1), freshness);
            assert_eq!(paths.take_copy(), None);
            paths.on_genuine(at(1000), place(2), Freshness::Newest);
            assert_eq!(paths.home(), place(1));
        }
        // What was late on the way says nothing of where the peer is now.
        let mut paths = Paths::new(place(1));
        paths.on_genuine(at(0), place(2), Freshness::Newest);
        paths.on_genuine(at(900), place(1), Freshness::Late);
        paths.on_genuine(at(1000), place(2), Freshness::Newest);
        assert_eq!(paths.home(), place(2));
    }

    #[test]
    fn old_words_from_elsewhere_are_nothing() {
        let mut paths = Paths::new(place(1));
        paths.on_genuine(at(0), place(2), Freshness::Late);
        paths.on_genuine(at(0), place(2), Freshness::Again);
        assert_eq!(paths.take_copy(), None);
    }

    #[test]
    fn one_other_place_at_a_time_and_so_many_copies() {
        let mut paths = Paths::new(place(1));
        paths.on_genuine(at(0), place(2), Freshness::Newest);
        paths.on_genuine(at(400), place(3), Freshness::Newest);
        assert_eq!((0..99).filter_map(|_| paths.take_copy()).collect::<Vec<_>>(), [place(2); 16]);
        paths.on_genuine(at(500), place(3), Freshness::Newest);
        assert_eq!(paths.take_copy(), Some(place(3)));
    }
}
