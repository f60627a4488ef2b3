//! Rate limit of handshakes, whose Diffie-Hellman operations are expensive. Callers with proved addresses
//! wait in a queue that is fair among addresses.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use multihop_core::Instant;

use super::crowd::Crowd;
use super::limit::RateLimit;
use crate::datagram::IncomingDatagram;

/// Queue of callers that wait for a handshake. Waiting datagrams are served in the order of their rounds
/// (start-time fair queueing): the first datagram of an address is in the current round, the next one of the
/// same address a round later, and so on. If many addresses share a prefix, their datagrams wait slightly
/// longer. A genuine caller therefore does not wait for the whole flood, only for one handshake of each
/// address that is as crowded as its own.
#[derive(Debug)]
pub(super) struct Turns {
    rate: RateLimit,
    /// Largest number of waiting datagrams: as many as are served in a second.
    most: usize,
    waiting: Vec<Waiting>,
    crowd: Crowd,
    /// Round of the datagram that was served last.
    round: u64,
    arrivals: u64,
}

/// A datagram waiting for its handshake.
#[derive(Debug)]
pub(super) struct Waiting {
    round: u64,
    arrival: u64,
    from: SocketAddr,
    local: Option<IpAddr>,
    ttl: Option<u8>,
    bytes: Vec<u8>,
}

impl Turns {
    pub(super) fn new(per_second: usize) -> Self {
        Self {
            rate: RateLimit::new(per_second),
            most: per_second.max(1),
            waiting: Vec::new(),
            crowd: Crowd::default(),
            round: 0,
            arrivals: 0,
        }
    }

    /// Permits a handshake at once, if the rate allows it and no datagram waits. Returns whether it did.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.waiting.is_empty() && !self.rate.is_exceeded(now)
    }

    /// Queues a datagram for a later handshake; returns whether there is room for it.
    pub(super) fn wait(&mut self, datagram: &IncomingDatagram<'_>) -> bool {
        let &IncomingDatagram { from, local, ttl, bytes } = datagram;
        let [_, _, here] = self.crowd.counts(from);
        if bytes.len() > LONGEST || here >= MAX_WAITING_PER_ADDRESS || (here > 0 && self.has(from, bytes)) {
            return false;
        }
        self.crowd.add(from);
        if self.waiting.len() >= self.most && !self.displace(from) {
            self.crowd.remove(from);
            return false;
        }
        let [wide, middle, here] = self.crowd.counts(from).map(u64::from);
        let round = self.round + (here - 1) + (middle - 1) / 4 + (wide - 1) / 16;
        self.arrivals += 1;
        let arrival = self.arrivals;
        self.waiting.push(Waiting { round, arrival, from, local, ttl, bytes: bytes.to_vec() });
        true
    }

    /// Next waiting datagram whose handshake may begin now.
    pub(super) fn next(&mut self, now: Instant) -> Option<Waiting> {
        let order = |n: &usize| (self.waiting[*n].round, self.waiting[*n].arrival);
        let first = (0..self.waiting.len()).min_by_key(order)?;
        if self.rate.is_exceeded(now) {
            return None;
        }
        let next = self.waiting.swap_remove(first);
        self.crowd.remove(next.from);
        self.round = self.round.max(next.round);
        Some(next)
    }

    /// Instant at which the next waiting datagram may be served.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(|| self.rate.next())
    }

    fn has(&self, from: SocketAddr, bytes: &[u8]) -> bool {
        self.waiting.iter().any(|waiting| waiting.from == from && waiting.bytes == bytes)
    }

    /// Removes a waiting datagram whose address is more crowded than `from`. A sample is sufficient, because
    /// most waiting datagrams belong to the flood.
    fn displace(&mut self, from: SocketAddr) -> bool {
        self.arrivals += 1;
        let len = self.waiting.len();
        let start = usize::try_from(self.arrivals).unwrap_or(0);
        let sample = (0..SAMPLE.min(len)).map(|n| (start + n * (len / SAMPLE).max(1)) % len);
        let most = sample.max_by_key(|&n| self.crowd.counts(self.waiting[n].from));
        let worse = |&n: &usize| self.crowd.counts(self.waiting[n].from) > self.crowd.counts(from);
        let Some(victim) = most.filter(worse) else { return false };
        let victim = self.waiting.swap_remove(victim);
        self.crowd.remove(victim.from);
        true
    }
}

impl Waiting {
    pub(super) fn datagram(&self) -> IncomingDatagram<'_> {
        let Self { from, local, ttl, ref bytes, .. } = *self;
        IncomingDatagram { from, local, ttl, bytes }
    }
}

/// Largest length of a waiting datagram, bytes; genuine ones are shorter.
const LONGEST: usize = 512;
/// Largest number of waiting datagrams from one address.
const MAX_WAITING_PER_ADDRESS: u32 = 8;
/// Number of waiting datagrams that are compared to choose the one that a new datagram displaces.
const SAMPLE: usize = 16;

#[cfg(test)]
mod tests {
    use multihop_core::Duration;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn wait(turns: &mut Turns, from: SocketAddr, byte: u8) -> bool {
        turns.wait(&IncomingDatagram { from, local: None, ttl: None, bytes: &[byte] })
    }

    /// A queue for ten handshakes per second, whose burst of ten has been used.
    fn turns() -> Turns {
        let mut turns = Turns::new(10);
        assert_eq!((0..20).filter(|_| turns.take(at(0))).count(), 10);
        turns
    }

    fn served(turns: &mut Turns, ms: u64) -> Option<SocketAddr> {
        turns.next(at(ms)).map(|waiting| waiting.from)
    }

    #[test]
    fn a_caller_waits_for_one_turn_of_a_flood_from_one_address() {
        let mut turns = turns();
        let flood = address("203.0.113.1:1");
        assert_eq!((0..20).filter(|&n| wait(&mut turns, flood, n)).count(), 8);
        let caller = address("10.0.0.1:1");
        assert!(wait(&mut turns, caller, 0));
        assert!(!wait(&mut turns, caller, 0), "a retransmission waits already");
        assert_eq!(turns.deadline(), Some(at(100)));
        assert_eq!(
            [50, 100, 200, 250].map(|ms| served(&mut turns, ms)),
            [None, Some(flood), Some(caller), None]
        );
        assert!(!turns.take(at(300)), "others wait");
    }

    #[test]
    fn a_caller_displaces_a_flood_from_many_addresses_and_is_served_first() {
        for (flood, caller) in [("203.0.113.", "10.0.0.1:1"), ("[2001:db8:0:", "[2001:db9::1]:1")] {
            let mut turns = turns();
            let sources = (1..200).map(|n| match flood.strip_prefix('[') {
                None => address(&format!("{flood}{n}:1")),
                Some(_) => address(&format!("{flood}{n}::1]:1")),
            });
            assert_eq!(sources.filter(|&from| wait(&mut turns, from, 0)).count(), 10, "the room is full");
            assert!(wait(&mut turns, address(caller), 0));
            assert_eq!(turns.waiting.len(), 10);
            let all: Vec<_> = (1..11).map(|n| served(&mut turns, 100 * n).unwrap()).collect();
            // The first addresses of a prefix are treated like any other.
            assert!(all[..5].contains(&address(caller)), "{all:?}");
            assert_eq!(turns.deadline(), None);
        }
    }

    #[test]
    fn a_long_datagram_does_not_wait() {
        let mut turns = turns();
        let long = IncomingDatagram { from: address("10.0.0.1:1"), local: None, ttl: None, bytes: &[0; 513] };
        assert!(!turns.wait(&long));
    }
}
