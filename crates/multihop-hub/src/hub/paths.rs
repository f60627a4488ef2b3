//! A peer that moves to another address keeps its connection; redirection and reflection are prevented.
//!
//! # Bytes
//!
//! | | rule |
//! |---|---|
//! | challenge | random number (8), sent to a new address after a segment from there with a new highest counter. A further segment from there repeats the challenge unchanged, 100 ms later at the earliest |
//! | response | answers each new authentic challenge, with its number, to the address that sent the challenge. A response must come from the challenged address |
//! | before a valid response | An end sends to the new address at most three times the bytes of segments that came from there, challenges included |
//! | while a peer may have moved | Both addresses get every datagram. The new address gets at most three times the bytes received from there, and at most 16 datagrams until another segment arrives from there |
//! | the peer has not moved | when any genuine datagram, even a duplicate, arrives from the old address |
//! | the peer has moved | when the response is valid, and another segment arrives from the new address 1 s or more after the first one |
//!
//! FIN and RST are encrypted like data. A datagram that does not decrypt is never answered.

use core::net::SocketAddr;

use multihop_core::{Duration, Instant};

use crate::protection::{Challenge, Freshness};

/// The peer's current address, and an address to which it may have moved.
///
/// An attacker cannot forge an authentic datagram, but can forward one from another address, and faster than
/// it arrives from the peer. The peer's address therefore stays the same while authentic datagrams, even
/// duplicates, arrive from it. Meanwhile datagrams are sent to both addresses. Until the new address has
/// answered a challenge, it receives at most three times the bytes that came from it (as in RFC 9000,
/// sections 8.1 and 9.3).
#[derive(Clone, Debug)]
pub(super) struct Paths {
    current: SocketAddr,
    /// Whether the peer receives datagrams at its current address. The handshake has validated the address of the first
    /// path.
    validation: Validation,
    candidate: Option<CandidateAddress>,
}

/// Another address from which authentic datagrams of the peer arrive.
#[derive(Clone, Copy, Debug)]
struct CandidateAddress {
    address: SocketAddr,
    since: Instant,
    last: Instant,
    validation: Validation,
    /// Number of datagrams that are also sent to this address before another datagram must arrive from it.
    copies: u8,
}

/// Progress in validating that the peer receives datagrams at an address.
#[derive(Clone, Copy, Debug)]
enum Validation {
    /// The address is not validated: the peer has not proved that it receives datagrams there. Counts bytes
    /// received from and sent to the address (the amplification limit), and stores the challenge and its
    /// time.
    Open { received: usize, sent: usize, challenge: Option<(Challenge, Instant)> },
    /// The peer has returned the challenge.
    Done,
}

impl Paths {
    pub(super) const fn new(current: SocketAddr) -> Self {
        Self { current, validation: Validation::Done, candidate: None }
    }

    /// A path to an address that has shown nothing yet.
    pub(super) const fn unproved(current: SocketAddr) -> Self {
        let validation = Validation::Open { received: 0, sent: 0, challenge: None };
        Self { current, validation, candidate: None }
    }

    /// Whether a datagram of this length may be sent to the peer's address; if so, counts it as sent.
    pub(super) fn may_send(&mut self, len: usize) -> bool {
        self.validation.may_send(len)
    }

    /// The peer's address.
    pub(super) const fn current(&self) -> SocketAddr {
        self.current
    }

    /// Processes an authentic datagram of `len` bytes from `from`. Returns true if the datagram shows whether
    /// the peer has moved to a new address: either the migration is complete, or the peer still sends from
    /// the old address.
    pub(super) fn on_authentic(
        &mut self,
        now: Instant,
        from: SocketAddr,
        len: usize,
        freshness: Freshness,
    ) -> bool {
        if from == self.current {
            self.validation.add(len);
            return freshness != Freshness::Late && self.candidate.take().is_some();
        }
        if freshness != Freshness::Newest {
            return false;
        }
        match &mut self.candidate {
            Some(candidate) if candidate.address == from => {
                candidate.on_datagram(now, len);
                let has_moved = candidate.has_moved(now);
                if has_moved {
                    *self = Self::new(from);
                }
                return has_moved;
            }
            Some(other) if now < other.last + SILENCE => {}
            _ => self.candidate = Some(CandidateAddress::new(now, from, len)),
        }
        false
    }

    /// Handles the peer's response to a challenge, sent from this address.
    pub(super) fn on_response(&mut self, from: SocketAddr, number: &Challenge) {
        if from == self.current {
            self.validation.on_response(number);
        } else if let Some(candidate) = self.candidate.as_mut().filter(|candidate| candidate.address == from)
        {
            candidate.validation.on_response(number);
        }
    }

    /// Address to which a challenge must be sent now, with the challenge's number, which `random` generates for a new
    /// address.
    pub(super) fn take_challenge(
        &mut self,
        now: Instant,
        random: impl FnOnce() -> Challenge,
    ) -> Option<(SocketAddr, Challenge)> {
        if let Validation::Open { .. } = self.validation {
            return Some((self.current, self.validation.take_challenge(now, random)?));
        }
        let candidate = self.candidate.as_mut()?;
        Some((candidate.address, candidate.validation.take_challenge(now, random)?))
    }

    /// Address that receives a copy of the next datagram (of `len` bytes), within the amplification limit.
    pub(super) fn take_copy(&mut self, len: usize) -> Option<SocketAddr> {
        let candidate = self.candidate.as_mut()?;
        if !candidate.validation.may_send(len) {
            return None;
        }
        candidate.copies = candidate.copies.checked_sub(1)?;
        Some(candidate.address)
    }
}

impl Validation {
    /// Counts a datagram of this length from the address.
    fn add(&mut self, len: usize) {
        if let Self::Open { received, .. } = self {
            *received += len;
        }
    }

    fn may_send(&mut self, len: usize) -> bool {
        let Self::Open { received, sent, .. } = self else { return true };
        let may = *sent + len <= AMPLIFICATION * *received;
        *sent += if may { len } else { 0 };
        may
    }

    fn on_response(&mut self, number: &Challenge) {
        if let Self::Open { challenge: Some((sent, _)), .. } = self
            && sent == number
        {
            *self = Self::Done;
        }
    }

    /// The challenge to send now; `random` creates the first one.
    fn take_challenge(&mut self, now: Instant, random: impl FnOnce() -> Challenge) -> Option<Challenge> {
        let Self::Open { received, sent, challenge } = self else { return None };
        let is_early = challenge.is_some_and(|(_, last)| now < last + PAUSE);
        if is_early || *sent + CHALLENGE_LEN > AMPLIFICATION * *received {
            return None;
        }
        *sent += CHALLENGE_LEN;
        let number = challenge.map_or_else(random, |(number, _)| number);
        *challenge = Some((number, now));
        Some(number)
    }
}

impl CandidateAddress {
    const fn new(now: Instant, address: SocketAddr, received: usize) -> Self {
        let validation = Validation::Open { received, sent: 0, challenge: None };
        Self { address, since: now, last: now, validation, copies: COPIES }
    }

    fn on_datagram(&mut self, now: Instant, len: usize) {
        (self.last, self.copies) = (now, COPIES);
        self.validation.add(len);
    }

    fn has_moved(&self, now: Instant) -> bool {
        matches!(self.validation, Validation::Done) && now >= self.since + PROBATION
    }
}

/// Time for which datagrams must come from the new address, and none from the old one, before a migration counts as
/// complete.
const PROBATION: Duration = Duration::from_secs(1);
/// Time without datagrams from a candidate address after which another address may replace it.
const SILENCE: Duration = Duration::from_millis(500);
/// Number of copies for each datagram received.
const COPIES: u8 = 16;
/// Largest ratio of bytes sent to an unvalidated address to bytes received from it (as in RFC 9000, section 8.1).
const AMPLIFICATION: usize = 3;
/// Interval between two challenges to one address.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes of the datagram with a challenge.
pub(super) const CHALLENGE_LEN: usize = 16 + 8 + 16;

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: Challenge = [7; 8];

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn place(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 1))
    }

    fn newest(paths: &mut Paths, ms: u64, n: u8) {
        paths.on_authentic(at(ms), place(n), 50, Freshness::Newest);
    }

    /// Paths with the peer at address 1, and a candidate at address 2 that has answered a challenge.
    fn validated() -> Paths {
        let mut paths = Paths::new(place(1));
        newest(&mut paths, 0, 2);
        assert_eq!(paths.take_challenge(at(0), || NUMBER), Some((place(2), NUMBER)));
        paths.on_response(place(2), &NUMBER);
        paths
    }

    #[test]
    fn a_peer_has_moved_after_a_second_at_another_address() {
        let mut paths = validated();
        for (ms, current, copy) in [(0, 1, Some(2)), (999, 1, Some(2)), (1000, 2, None)] {
            newest(&mut paths, ms, 2);
            let found = (paths.current(), paths.take_copy(1400));
            assert_eq!(found, (place(current), copy.map(place)), "at {ms} ms");
        }
    }

    #[test]
    fn an_address_that_has_not_answered_gets_three_times_what_came_from_it() {
        let mut paths = Paths::new(place(1));
        newest(&mut paths, 0, 2);
        assert_eq!(paths.take_challenge(at(0), || NUMBER), Some((place(2), NUMBER)));
        assert_eq!(paths.take_copy(111), None, "40 bytes are sent, 150 may be");
        assert_eq!(paths.take_copy(110), Some(place(2)));
        assert_eq!((paths.take_copy(1), paths.take_challenge(at(500), || NUMBER)), (None, None));
        for ms in 1..100 {
            newest(&mut paths, 100 * ms, 2);
            let number = paths.take_challenge(at(100 * ms), || unreachable!("the same number")).unwrap().1;
            assert_eq!((number, paths.current()), (NUMBER, place(1)));
        }
    }

    #[test]
    fn only_the_number_from_the_address_that_was_asked_validates_it() {
        let mut paths = Paths::new(place(1));
        newest(&mut paths, 0, 2);
        paths.on_response(place(2), &NUMBER);
        paths.take_challenge(at(0), || NUMBER).unwrap();
        paths.on_response(place(2), &[8; 8]);
        paths.on_response(place(1), &NUMBER);
        paths.on_response(place(3), &NUMBER);
        assert_eq!(paths.take_copy(1400), None);
        paths.on_response(place(2), &NUMBER);
        assert_eq!(paths.take_copy(1400), Some(place(2)));
    }

    #[test]
    fn a_datagram_from_the_old_address_even_a_duplicate_ends_a_move() {
        for freshness in [Freshness::Newest, Freshness::Duplicate] {
            let mut paths = validated();
            paths.on_authentic(at(900), place(1), 50, freshness);
            assert_eq!(paths.take_copy(50), None);
            newest(&mut paths, 1000, 2);
            assert_eq!(paths.current(), place(1));
        }
        // A late datagram does not show the peer's current address.
        let mut paths = validated();
        paths.on_authentic(at(900), place(1), 50, Freshness::Late);
        newest(&mut paths, 1000, 2);
        assert_eq!(paths.current(), place(2));
    }

    #[test]
    fn late_and_duplicate_datagrams_from_elsewhere_are_ignored() {
        let mut paths = Paths::new(place(1));
        paths.on_authentic(at(0), place(2), 50, Freshness::Late);
        paths.on_authentic(at(0), place(2), 50, Freshness::Duplicate);
        assert_eq!(paths.take_copy(1), None);
    }

    #[test]
    fn an_address_without_a_handshake_gets_three_times_what_came_from_it_until_it_answers() {
        let mut paths = Paths::unproved(place(2));
        assert_eq!((paths.may_send(1), paths.take_challenge(at(0), || NUMBER)), (false, None));
        newest(&mut paths, 0, 2);
        assert_eq!(paths.take_challenge(at(0), || NUMBER), Some((place(2), NUMBER)));
        assert_eq!([111, 110, 1].map(|len| paths.may_send(len)), [false, true, false]);
        newest(&mut paths, 1, 2);
        assert!(paths.may_send(150) && !paths.may_send(1));
        paths.on_response(place(3), &NUMBER);
        paths.on_response(place(2), &[8; 8]);
        assert!(!paths.may_send(1));
        paths.on_response(place(2), &NUMBER);
        assert!(paths.may_send(1_000_000));
        assert_eq!(paths.take_challenge(at(500), || NUMBER), None);
    }

    #[test]
    fn there_is_one_candidate_at_a_time_with_a_limited_number_of_copies() {
        let mut paths = validated();
        newest(&mut paths, 400, 2);
        newest(&mut paths, 500, 3);
        assert_eq!((0..99).filter_map(|_| paths.take_copy(1400)).collect::<Vec<_>>(), [place(2); 16]);
        newest(&mut paths, 900, 3);
        assert_eq!(paths.take_copy(150), Some(place(3)));
    }
}
