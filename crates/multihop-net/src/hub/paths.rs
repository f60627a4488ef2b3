//! A peer that moves to another address keeps its connection; redirection attacks are prevented.

use std::net::SocketAddr;

use multihop_core::{Duration, Instant};

use crate::protection::Freshness;

/// The peer's current address, and an address that it may have moved to.
///
/// An attacker cannot forge an authentic datagram, but can forward one from another address, and faster
/// than it arrives from the peer. So the peer keeps its address as long as authentic datagrams, even
/// duplicates, come from there. Meanwhile both addresses get what is sent.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    current: SocketAddr,
    candidate: Option<CandidateAddress>,
}

/// Another address that authentic datagrams come from.
#[derive(Clone, Copy, Debug)]
struct CandidateAddress {
    address: SocketAddr,
    since: Instant,
    last: Instant,
    /// Number of copies that it gets before another datagram must arrive from it.
    copies: u8,
}

impl Paths {
    pub(super) const fn new(current: SocketAddr) -> Self {
        Self { current, candidate: None }
    }

    /// The peer's address.
    pub(super) const fn current(&self) -> SocketAddr {
        self.current
    }

    /// An authentic datagram has come from this address.
    pub(super) fn on_authentic(&mut self, now: Instant, from: SocketAddr, freshness: Freshness) {
        if from == self.current {
            if freshness != Freshness::Late {
                self.candidate = None;
            }
            return;
        }
        if freshness != Freshness::Newest {
            return;
        }
        let new = CandidateAddress { address: from, since: now, last: now, copies: COPIES };
        match &mut self.candidate {
            Some(old) if old.address == from && now >= old.since + PROBATION => *self = Self::new(from),
            Some(old) if old.address == from => *old = CandidateAddress { since: old.since, ..new },
            Some(old) if now < old.last + SILENCE => {}
            _ => self.candidate = Some(new),
        }
    }

    /// The address that gets a copy of the next datagram.
    pub(super) fn take_copy(&mut self) -> Option<SocketAddr> {
        let candidate = self.candidate.as_mut()?;
        candidate.copies = candidate.copies.checked_sub(1)?;
        Some(candidate.address)
    }
}

/// How long datagrams must come from the new address, and none from the old one, before the peer has moved.
const PROBATION: Duration = Duration::from_secs(1);
/// After this silence of a candidate, another address can become the candidate.
const SILENCE: Duration = Duration::from_millis(500);
/// Copies per datagram received: bounds what an attacker that forwards one can make us send to a victim.
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
    fn a_peer_has_moved_after_a_second_at_another_address() {
        let mut paths = Paths::new(place(1));
        for (ms, current, copy) in [(0, 1, Some(2)), (999, 1, Some(2)), (1000, 2, None)] {
            paths.on_authentic(at(ms), place(2), Freshness::Newest);
            assert_eq!((paths.current(), paths.take_copy()), (place(current), copy.map(place)), "at {ms} ms");
        }
    }

    #[test]
    fn a_datagram_from_the_old_address_even_a_duplicate_ends_a_move() {
        for freshness in [Freshness::Newest, Freshness::Duplicate] {
            let mut paths = Paths::new(place(1));
            paths.on_authentic(at(0), place(2), Freshness::Newest);
            paths.on_authentic(at(900), place(1), freshness);
            assert_eq!(paths.take_copy(), None);
            paths.on_authentic(at(1000), place(2), Freshness::Newest);
            assert_eq!(paths.current(), place(1));
        }
        // A late datagram does not show where the peer is now.
        let mut paths = Paths::new(place(1));
        paths.on_authentic(at(0), place(2), Freshness::Newest);
        paths.on_authentic(at(900), place(1), Freshness::Late);
        paths.on_authentic(at(1000), place(2), Freshness::Newest);
        assert_eq!(paths.current(), place(2));
    }

    #[test]
    fn late_and_duplicate_datagrams_from_elsewhere_are_ignored() {
        let mut paths = Paths::new(place(1));
        paths.on_authentic(at(0), place(2), Freshness::Late);
        paths.on_authentic(at(0), place(2), Freshness::Duplicate);
        assert_eq!(paths.take_copy(), None);
    }

    #[test]
    fn there_is_one_candidate_at_a_time_with_a_limited_number_of_copies() {
        let mut paths = Paths::new(place(1));
        paths.on_authentic(at(0), place(2), Freshness::Newest);
        paths.on_authentic(at(400), place(3), Freshness::Newest);
        assert_eq!((0..99).filter_map(|_| paths.take_copy()).collect::<Vec<_>>(), [place(2); 16]);
        paths.on_authentic(at(500), place(3), Freshness::Newest);
        assert_eq!(paths.take_copy(), Some(place(3)));
    }
}
