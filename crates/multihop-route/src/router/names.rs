//! Names by which the agent refers to nodes of an IPv6 mesh, because the agent's addresses have 32 bits. Each
//! address of 128 bits gets a name that looks like an IPv4 address and is valid on this host only. The name
//! lasts as long as messages or the agent mention it. With IPv4, an address is its own name.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use multihop_core::{Duration, Instant};
use multihop_wire::olsr::{Address, Message};

use crate::prefix::Family;

/// Names of addresses, and of what else has the length of an address: networks and their masks.
#[derive(Debug)]
pub(super) enum Names {
    /// IPv4: each address serves as its own name.
    Same,
    /// IPv6: each address is given a name.
    Given(Box<Given>),
}

/// An address type of messages: IPv4 or IPv6.
pub(super) trait OfFamily: Address + Into<IpAddr> {
    fn of(address: IpAddr) -> Option<Self>;
}

impl OfFamily for Ipv4Addr {
    fn of(address: IpAddr) -> Option<Self> {
        if let IpAddr::V4(address) = address { Some(address) } else { None }
    }
}

impl OfFamily for Ipv6Addr {
    fn of(address: IpAddr) -> Option<Self> {
        if let IpAddr::V6(address) = address { Some(address) } else { None }
    }
}

impl Names {
    pub(super) fn new(family: Family) -> Self {
        match family {
            Family::Ipv4 => Self::Same,
            Family::Ipv6 => Self::Given(Box::default()),
        }
    }

    /// The name of an address, if it has one.
    pub(super) fn find(&self, address: IpAddr) -> Option<Ipv4Addr> {
        match (self, address) {
            (Self::Same, IpAddr::V4(address)) => Some(address),
            (Self::Given(given), IpAddr::V6(address)) => given.names.get(&address).copied(),
            _ => None,
        }
    }

    /// The name of an address that a message mentions. The name lasts at least until `until`. `None` if the
    /// table is full.
    pub(super) fn mention(&mut self, now: Instant, address: IpAddr, until: Instant) -> Option<Ipv4Addr> {
        match (self, address) {
            (Self::Given(given), IpAddr::V6(address)) => given.mention(now, address, Some(until + SPARE)),
            (names, address) => names.find(address),
        }
    }

    /// The name of an address of this host, which lasts until [`release`](Self::release).
    pub(super) fn own(&mut self, now: Instant, address: IpAddr) -> Option<Ipv4Addr> {
        match (self, address) {
            (Self::Given(given), IpAddr::V6(address)) => given.mention(now, address, None),
            (names, address) => names.find(address),
        }
    }

    /// Releases names of this host's former addresses.
    pub(super) fn release(&mut self, now: Instant) {
        if let Self::Given(given) = self {
            given.addresses.values_mut().for_each(|named| {
                named.until.get_or_insert(now + SPARE);
            });
        }
    }

    /// The address behind a name that the agent uses. The name then lasts some time longer.
    pub(super) fn address(&mut self, now: Instant, name: Ipv4Addr) -> Option<IpAddr> {
        match self {
            Self::Same => Some(name.into()),
            Self::Given(_) if name.is_unspecified() => Some(Ipv6Addr::UNSPECIFIED.into()),
            Self::Given(given) => {
                let named = given.addresses.get_mut(&name)?;
                named.until = named.until.map(|until| until.max(now + SPARE));
                Some(named.address.into())
            }
        }
    }

    /// A received message with names in place of addresses; `None` if the table has no room for the names.
    pub(super) fn named<A: OfFamily>(&mut self, now: Instant, message: &Message<A>) -> Option<Message> {
        let until = now + message.validity.time();
        message.readdress(&mut |address| self.mention(now, address.into(), until))
    }

    /// A message of the agent with addresses in place of names; `None` if a name has expired.
    pub(super) fn addressed<A: OfFamily>(&mut self, now: Instant, message: &Message) -> Option<Message<A>> {
        message.readdress(&mut |name| A::of(self.address(now, name)?))
    }

    /// Number of messages that mentioned an address for which the table had no room.
    pub(super) fn refused(&self) -> u64 {
        match self {
            Self::Same => 0,
            Self::Given(given) => given.refused,
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Same => 0,
            Self::Given(given) => given.addresses.len(),
        }
    }
}

/// Names of addresses of IPv6. `::` is always 0.0.0.0, which is no node's.
#[derive(Debug, Default)]
pub(super) struct Given {
    names: BTreeMap<Ipv6Addr, Ipv4Addr>,
    addresses: BTreeMap<Ipv4Addr, Named>,
    /// The name that was given last. Names ascend: a name is reused only after 2^32 others, long after the
    /// agent has forgotten it.
    last: u32,
    /// Instant before which no search for expired names begins.
    sweep_at: Instant,
    refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Named {
    address: Ipv6Addr,
    /// Instant until which the name is kept; `None` for an address of this host.
    until: Option<Instant>,
}

impl Given {
    fn mention(&mut self, now: Instant, address: Ipv6Addr, until: Option<Instant>) -> Option<Ipv4Addr> {
        if address.is_unspecified() {
            return Some(Ipv4Addr::UNSPECIFIED);
        }
        if let Some(&name) = self.names.get(&address) {
            let named = self.addresses.get_mut(&name).expect("a name has an address");
            named.until = named.until.zip(until).map(|(before, until)| before.max(until));
            return Some(name);
        }
        self.sweep(now);
        if self.addresses.len() >= MAX_NAMES && until.is_some() {
            self.refused += 1;
            return None;
        }
        let name = self.unused();
        self.names.insert(address, name);
        self.addresses.insert(name, Named { address, until });
        Some(name)
    }

    fn unused(&mut self) -> Ipv4Addr {
        loop {
            self.last = self.last.wrapping_add(1);
            let name = Ipv4Addr::from_bits(self.last);
            if !name.is_unspecified() && !self.addresses.contains_key(&name) {
                return name;
            }
        }
    }

    /// Forgets names that have expired, once in a while.
    fn sweep(&mut self, now: Instant) {
        if now < self.sweep_at {
            return;
        }
        self.sweep_at = now + SWEEP;
        let names = &mut self.names;
        self.addresses.retain(|_, named| {
            let stays = named.until.is_none_or(|until| now < until);
            if !stays {
                names.remove(&named.address);
            }
            stays
        });
    }
}

/// Largest number of names: the number of links that the agent remembers with the usual limits.
const MAX_NAMES: usize = 65_536;
/// Time for which the agent may remember a node after the last message about it: as a neighbour, in the list
/// of received messages, or in a broken link.
const SPARE: Duration = Duration::from_secs(120);
const SWEEP: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn address(n: u128) -> IpAddr {
        Ipv6Addr::from_bits(0xfd00 << 112 | n).into()
    }

    #[test]
    fn a_name_lasts_as_long_as_somebody_uses_it() {
        let mut names = Names::new(Family::Ipv6);
        let own = names.own(at(0), address(1)).unwrap();
        let other = names.mention(at(0), address(2), at(10)).unwrap();
        assert_ne!(own, other);
        assert_eq!(names.mention(at(5), address(2), at(6)), Some(other));
        assert_eq!(names.address(at(129), other), Some(address(2)));
        // 120 s after its last use by the agent.
        names.mention(at(248), address(3), at(248));
        assert_eq!(names.find(address(2)), Some(other));
        names.mention(at(250), address(4), at(250));
        assert_eq!((names.find(address(2)), names.address(at(250), other)), (None, None));
        assert_eq!(names.address(at(100_000), own), Some(address(1)));
        assert_ne!(
            names.mention(at(250), address(2), at(260)),
            Some(other),
            "names are not given again soon"
        );
        names.release(at(251));
        names.mention(at(400), address(5), at(400));
        assert_eq!(names.find(address(1)), None);
    }

    #[test]
    fn addresses_that_are_too_many_get_no_name_until_others_expire() {
        let mut names = Names::new(Family::Ipv6);
        let many = 2 * MAX_NAMES as u128;
        let named = (1..=many).filter(|n| names.mention(at(0), address(*n), at(3_968)).is_some()).count();
        assert_eq!((named, names.len(), names.refused()), (MAX_NAMES, MAX_NAMES, MAX_NAMES as u64));
        assert!(names.own(at(1), address(many + 1)).is_some(), "there is always room for this host");
        assert!(names.find(address(1)).is_some(), "the first ones stay");
        assert_eq!(names.mention(at(4_000), address(many), at(4_001)), None);
        assert!(names.mention(at(4_100), address(many), at(4_101)).is_some());
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn the_unspecified_address_is_no_node() {
        let mut names = Names::new(Family::Ipv6);
        let none = names.mention(at(0), Ipv6Addr::UNSPECIFIED.into(), at(1));
        assert_eq!(none, Some(Ipv4Addr::UNSPECIFIED));
        assert_eq!(names.address(at(0), Ipv4Addr::UNSPECIFIED), Some(Ipv6Addr::UNSPECIFIED.into()));
        assert_eq!(names.mention(at(0), [10, 0, 0, 1].into(), at(1)), None, "the other family");
        let mut same = Names::new(Family::Ipv4);
        assert_eq!(same.mention(at(0), [10, 0, 0, 1].into(), at(1)), Some(Ipv4Addr::new(10, 0, 0, 1)));
        assert_eq!(same.mention(at(0), address(1), at(1)), None);
    }
}
