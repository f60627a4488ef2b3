//! Limits of a host's memory for flooded messages. Messages from one neighbour fill at most half of each
//! limit, so that a flood leaves room for the messages of other neighbours. Updates of known entries always
//! have room.

use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::{Body, Message};

use super::Agent;
use crate::link_state::table::Table;
use crate::steps;

/// The neighbour that forwarded the latest message of each originator.
pub(super) type Senders = Table<Ipv4Addr, Ipv4Addr>;

/// Number of entries in an information set.
#[derive(Clone, Copy, Default)]
struct Count {
    all: usize,
    /// Number of entries of originators whose messages come from one neighbour.
    of_sender: usize,
}

impl Senders {
    /// Counts entries, each with its originator.
    fn count(&self, sender: Ipv4Addr, entries: impl Iterator<Item = (Ipv4Addr, usize)>) -> Count {
        entries.fold(Count::default(), |Count { all, of_sender }, (originator, entries)| {
            steps::count(1);
            let is_of_sender = self.get(originator) == Some(&sender);
            Count { all: all + entries, of_sender: of_sender + if is_of_sender { entries } else { 0 } }
        })
    }
}

impl Count {
    fn has_room(self, new: usize, max: usize) -> bool {
        self.all + new <= max && self.of_sender + new <= max / 2
    }
}

impl Agent {
    /// Whether the limits permit the information of a flooded message that a neighbour has sent. Always true in
    /// simulations.
    pub(super) fn has_room(&mut self, now: Instant, sender: Ipv4Addr, message: &Message) -> bool {
        if self.host.is_none() {
            return true;
        }
        let until = now + message.validity.time().max(self.config.duplicate_hold);
        let has_room = self.has_room_for_originator(now, sender, message.originator)
            && self.has_room_for_body(sender, message);
        if let Some(host) = &mut self.host {
            if has_room {
                host.senders.put(message.originator, sender, until);
            } else {
                host.refused += 1;
            }
        }
        has_room
    }

    fn has_room_for_originator(&mut self, now: Instant, sender: Ipv4Addr, originator: Ipv4Addr) -> bool {
        let Some(host) = &mut self.host else { return true };
        host.senders.expire(now);
        if host.senders.get(originator).is_some() {
            return true;
        }
        steps::count(host.senders.keys().len());
        let of_sender = host.senders.values().iter().filter(|of| **of == sender).count();
        Count { all: host.senders.keys().len(), of_sender }.has_room(1, MAX_NODES)
    }

    fn has_room_for_body(&self, sender: Ipv4Addr, message: &Message) -> bool {
        let Some(host) = &self.host else { return true };
        let (senders, originator) = (&host.senders, message.originator);
        match &message.body {
            Body::Tc(tc) => {
                let known = self.topology.of(originator);
                let is_more = known.iter().any(|before| before.sequence == tc.sequence);
                let links = known.iter().map(|tc| tc.neighbours.len()).sum::<usize>();
                let after = tc.neighbours.len() + if is_more { links } else { 0 };
                if is_more && known == core::slice::from_ref(tc) || after <= links {
                    return true;
                }
                let all = self.topology.keys().iter().zip(self.topology.values());
                let all = all.map(|(originator, tc)| (*originator, tc.neighbours.len()));
                known.len() < MAX_PARTS && senders.count(sender, all).has_room(after - links, MAX_LINKS)
            }
            Body::Costs(costs) => {
                let before = self.priced().find(|(of, _)| *of == originator).map_or(0, |(_, links)| links);
                let new = costs.costs.len().saturating_sub(before);
                new == 0 || senders.count(sender, self.priced()).has_room(new, MAX_LINKS)
            }
            Body::Mid(mid) => {
                let new = mid.interfaces.iter().filter(|one| self.interfaces.get(**one).is_none()).count();
                let all = self.interfaces.values().iter().map(|originator| (*originator, 1));
                new == 0 || senders.count(sender, all).has_room(new, MAX_OUTSIDE)
            }
            Body::Hna(hna) => {
                let is_new = |&(address, mask): &_| {
                    let network = super::BehindGateway { gateway: originator, address, mask };
                    host.networks.get(network).is_none()
                };
                let new = hna.networks.iter().filter(|network| is_new(network)).count();
                let all = host.networks.keys().iter().map(|network| (network.gateway, 1));
                new == 0 || senders.count(sender, all).has_room(new, MAX_OUTSIDE)
            }
            Body::Hello(_) | Body::Opaque(_) => true,
        }
    }
}

/// Largest number of advertised links (from TCs) that a host stores, and of their costs.
const MAX_LINKS: usize = 65_536;
/// Largest number of TCs of one originator and sequence number that a host remembers.
const MAX_PARTS: usize = 16;
/// Largest number of interfaces (from MIDs) that a host stores, and of networks (from HNA messages).
const MAX_OUTSIDE: usize = 4_096;
/// Largest number of originators of flooded messages that a host stores.
const MAX_NODES: usize = 8_192;
