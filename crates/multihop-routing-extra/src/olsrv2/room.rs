//! Limits of a host's memory for TCs. TCs from one neighbour fill at most half of each limit, so that a flood leaves room for
//! the TCs of other neighbours. TCs with no more entries than known ones always have room.

use core::net::Ipv4Addr;

use multihop_core::{Duration, Instant};
use multihop_routing::link_state::table::Table;

use super::wire::Tc;
use super::{Agent, DUPLICATE_HOLD};

/// The neighbour that sent the latest TC of each originator.
pub(super) type Senders = Table<Ipv4Addr, Ipv4Addr>;

/// Numbers of originators, of their announced links, and of their networks.
type Counts = [usize; 3];

impl Agent {
    /// Whether the limits permit the information in a TC that a neighbour has sent. Always true in simulations.
    pub(super) fn has_room(&mut self, now: Instant, sender: Ipv4Addr, tc: &Tc) -> bool {
        let Some(senders) = &mut self.senders else { return true };
        senders.expire(now);
        let links_of =
            |of| self.topology.get(of).map_or([0; 2], |known| [known.links.len(), known.networks.len()]);
        let before = links_of(tc.originator);
        let [kept_links, kept_networks] = if tc.advertised.complete { [0; 2] } else { before };
        let after = [tc.advertised.links.len() + kept_links, tc.advertised.networks.len() + kept_networks];
        let is_known = senders.get(tc.originator).is_some();
        let is_more = !is_known || after[0] > before[0] || after[1] > before[1];
        if is_more {
            let mut all: Counts = [1, after[0], after[1]];
            let mut of_sender = all;
            let known = senders.keys().iter().zip(senders.values());
            for (originator, from) in known.filter(|(originator, _)| **originator != tc.originator) {
                let [links, networks] = links_of(*originator);
                let of_this = [1, links, networks];
                add(&mut all, of_this);
                if *from == sender {
                    add(&mut of_sender, of_this);
                }
            }
            let fits = |counts: Counts, part| counts.iter().zip(MAX).all(|(count, max)| *count <= max / part);
            if !fits(all, 1) || !fits(of_sender, 2) {
                return false;
            }
        }
        senders.put(tc.originator, sender, now + tc.validity.time().max(DUPLICATE_HOLD));
        true
    }
}

impl Agent {
    /// Whether a TC of an originator may be forwarded now: [`FORWARD_INTERVAL`] after the last one. Always true in simulations. A
    /// router that keeps to RFC 7181 sends TCs `TC_MIN_INTERVAL` apart (5.4.1, 1.25 s by default), so only floods are cut.
    pub(super) fn is_spaced(&mut self, now: Instant, originator: Ipv4Addr) -> bool {
        if self.senders.is_none() {
            return true;
        }
        self.recently_forwarded.expire(now);
        let is_spaced = self.recently_forwarded.get(originator).is_none();
        if is_spaced {
            self.recently_forwarded.put(originator, (), now + FORWARD_INTERVAL);
        }
        is_spaced
    }
}

fn add(sum: &mut Counts, more: Counts) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// Shortest time between two TCs of one originator that a host forwards, equal to the shortest time between early TCs of OLSR.
const FORWARD_INTERVAL: Duration = Duration::from_millis(200);
/// Largest numbers of originators, of announced links, and of networks that a host stores.
const MAX: Counts = [8_192, 65_536, 4_096];

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use multihop_core::Rng;

    use super::super::Config;
    use super::super::wire::{Advertised, TimeCode};
    use super::*;

    fn agent() -> Agent {
        Agent::new(Instant::ZERO, at(0), Arc::new(Config::default()), Rng::stream(1, "room", 0)).on_host(0)
    }

    fn at(n: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(n)
    }

    fn tc(originator: u32, links: u32) -> Tc {
        let links = (0..links).map(|to| (at(to), None)).collect();
        Tc {
            originator: at(originator),
            hop_limit: 1,
            hop_count: 0,
            sequence: 0,
            validity: TimeCode(80),
            interval: None,
            advertised: Arc::new(Advertised { complete: true, links, ..Advertised::default() }),
        }
    }

    /// Number of the first originator, of this and higher numbers, whose TC is refused.
    fn first_refused(agent: &mut Agent, sender: u32, from: u32, links: u32) -> u32 {
        let is_refused = |originator: &u32| {
            let tc = tc(*originator, links);
            let has_room = agent.has_room(Instant::ZERO, at(sender), &tc);
            if has_room {
                agent.topology.put(tc.originator, tc.advertised.clone(), Instant::FAR_FUTURE);
            }
            !has_room
        };
        (from..).find(is_refused).expect("a limit")
    }

    #[test]
    fn one_neighbour_fills_half_of_the_room_for_links() {
        let mut agent = agent();
        assert_eq!(first_refused(&mut agent, 1, 1000, 1000), 1000 + 32);
        assert!(agent.has_room(Instant::ZERO, at(1), &tc(1000, 1000)), "known information");
        assert_eq!(first_refused(&mut agent, 2, 2000, 1000), 2000 + 32);
        assert_eq!(first_refused(&mut agent, 3, 3000, 1000), 3000 + 1, "1536 links are left");
    }

    #[test]
    fn one_neighbour_fills_half_of_the_room_for_originators() {
        let mut agent = agent();
        assert_eq!(first_refused(&mut agent, 1, 10_000, 0), 10_000 + 4096);
        assert_eq!(first_refused(&mut agent, 2, 20_000, 0), 20_000 + 4096);
        let later = Instant::ZERO + DUPLICATE_HOLD;
        assert!(agent.has_room(later, at(1), &tc(30_000, 0)));
    }

    #[test]
    fn a_host_forwards_the_tcs_of_an_originator_200_ms_apart() {
        let mut agent = agent();
        let mut spaced =
            |ms, originator| agent.is_spaced(Instant::ZERO + Duration::from_millis(ms), at(originator));
        assert_eq!([spaced(0, 7), spaced(199, 7), spaced(199, 8), spaced(200, 7)], [true, false, true, true]);
    }

    #[test]
    fn simulations_have_no_limits() {
        let mut agent = Agent { senders: None, ..agent() };
        assert!((0..2).all(|_| agent.is_spaced(Instant::ZERO, at(7))));
        assert!((0..9000).all(|originator| agent.has_room(Instant::ZERO, at(1), &tc(originator, 0))));
    }
}
