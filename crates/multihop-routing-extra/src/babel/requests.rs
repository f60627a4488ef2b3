//! Requests for newer sequence numbers that are not yet answered (RFC 8966, 3.2.7 and 3.8.2).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use multihop_core::{Duration, Instant};

use super::wire::{Prefix, RouterId, Seqno, SeqnoRequest};

/// Pending requests by destination and originator.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    pending: BTreeMap<(Prefix, RouterId), Pending>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    seqno: Seqno,
    /// Neighbour that receives the request; `None` for all neighbours.
    to: Option<IpAddr>,
    hop_count: u8,
    tries: u8,
    due: Instant,
}

impl Requests {
    /// Number of pending requests.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Records a pending request for a sequence number. False if a request for this or a newer sequence
    /// number is pending, so that no other must be sent.
    pub(super) fn add(&mut self, now: Instant, request: &SeqnoRequest, to: Option<IpAddr>) -> bool {
        let key = (request.prefix, request.router_id);
        if self.pending.get(&key).is_some_and(|pending| !request.seqno.newer_than(pending.seqno)) {
            return false;
        }
        if self.pending.len() >= MOST && !self.pending.contains_key(&key) {
            return false;
        }
        let (seqno, hop_count) = (request.seqno, request.hop_count);
        self.pending.insert(key, Pending { seqno, to, hop_count, tries: 1, due: now + FIRST_WAIT });
        true
    }

    /// Forgets the request that a route answers; returns whether there was one.
    pub(super) fn answer(&mut self, destination: Prefix, router: RouterId, seqno: Seqno) -> bool {
        let key = (destination, router);
        let answered = self.pending.get(&key).is_some_and(|pending| !pending.seqno.newer_than(seqno));
        answered && self.pending.remove(&key).is_some()
    }

    /// Takes the requests that are sent again, each with the neighbour that receives it.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<(Option<IpAddr>, SeqnoRequest)> {
        let mut again = Vec::new();
        self.pending.retain(|&(prefix, router_id), pending| {
            if pending.due > now {
                return true;
            }
            if pending.tries == TRIES {
                return false;
            }
            pending.due = now + FIRST_WAIT.saturating_mul(1 << pending.tries);
            pending.tries += 1;
            let Pending { seqno, to, hop_count, .. } = *pending;
            again.push((to, SeqnoRequest { prefix, seqno, hop_count, router_id }));
            true
        });
        again
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.pending.values().map(|pending| pending.due).min()
    }
}

/// Initial request timeout, which doubles with each request (RFC 8966, appendix B).
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// Number of transmissions of a request.
const TRIES: u8 = 3;
/// Largest number of pending requests, a limit of memory.
const MOST: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_repeated_twice_and_answered_by_newer_numbers() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let (to, router_id) = (Prefix::host([10, 0, 0, 9]), RouterId([7; 8]));
        let request = |seqno| SeqnoRequest { prefix: to, seqno: Seqno(seqno), hop_count: 64, router_id };
        let mut requests = Requests::default();
        assert!(requests.add(at(0), &request(5), None));
        assert!(!requests.add(at(1), &request(5), None) && !requests.add(at(1), &request(4), None));
        assert_eq!(requests.expire(at(1)), []);
        assert_eq!(requests.expire(at(2)), [(None, request(5))]);
        assert_eq!(requests.due(), Some(at(6)));
        assert_eq!(requests.expire(at(6)).len(), 1);
        assert_eq!(requests.expire(at(14)), []);
        assert_eq!(requests.due(), None, "given up");
        assert!(requests.add(at(20), &request(5), None) && requests.add(at(20), &request(6), None));
        assert!(!requests.answer(to, router_id, Seqno(5)) && requests.answer(to, router_id, Seqno(7)));
        assert!(!requests.answer(to, router_id, Seqno(7)));
    }
}
