//! Table of the senders whose datagrams were refused, and the reasons.

use std::collections::BTreeMap;
use std::net::IpAddr;

use multihop_core::Instant;
use serde::Serialize;

use super::Counters;

/// Reason for which a datagram was not used.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The datagram is not a packet of the protocol, or contains a list longer than any node needs.
    Malformed,
    /// The sender is not in the list of neighbours.
    NotAllowed,
    /// The datagram has no signature.
    Unsigned,
    /// The signature has another version.
    OtherVersion,
    /// The signature was made with another key, or for another packet.
    WrongKey,
    /// The counter is not greater than that of an earlier packet.
    Replayed,
    /// The sender has not answered a challenge yet.
    Unproven,
    /// The table of neighbours is full.
    TooMany,
}

/// Refused datagrams of one sender with the same reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// Address from which the refused datagrams came.
    pub from: IpAddr,
    /// Reason why the datagrams were not used.
    pub reason: Reason,
    /// Number of refused datagrams.
    pub count: u64,
    /// Instant at which the last datagram was refused.
    pub last: Instant,
}

/// Counters of recent refusals, by sender and reason.
#[derive(Debug, Default)]
pub(super) struct Refusals(BTreeMap<(IpAddr, Reason), (u64, Instant)>);

impl Reason {
    /// The name of this reason in logs and in the status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::NotAllowed => "not_allowed",
            Self::Unsigned => "unsigned",
            Self::OtherVersion => "other_version",
            Self::WrongKey => "wrong_key",
            Self::Replayed => "replayed",
            Self::Unproven => "unproven",
            Self::TooMany => "too_many",
        }
    }

    pub(super) fn counter(self, counters: &mut Counters) -> &mut u64 {
        match self {
            Self::Malformed => &mut counters.malformed,
            Self::NotAllowed => &mut counters.not_allowed,
            Self::Unsigned => &mut counters.unsigned,
            Self::OtherVersion => &mut counters.other_version,
            Self::WrongKey => &mut counters.wrong_key,
            Self::Replayed => &mut counters.replayed,
            Self::Unproven => &mut counters.unproven,
            Self::TooMany => &mut counters.too_many,
        }
    }
}

impl Refusals {
    /// Records that a datagram was refused. In a full table the oldest of the entries with the fewest
    /// datagrams makes room, so that a flood from many addresses displaces only itself.
    pub(super) fn note(&mut self, now: Instant, from: IpAddr, reason: Reason) {
        let place = (from, reason);
        if !self.0.contains_key(&place) && self.0.len() >= MAX_REFUSALS {
            let least = self.0.iter().min_by_key(|(_, noted)| **noted).map(|(place, _)| *place);
            self.0.remove(&least.expect("a full table has entries"));
        }
        let (count, last) = self.0.entry(place).or_insert((0, now));
        *count += 1;
        *last = now;
    }

    /// All remembered refusals, by sender and reason.
    pub(super) fn iter(&self) -> impl Iterator<Item = Refusal> {
        let refusal = |(&(from, reason), &(count, last)): (&_, &_)| Refusal { from, reason, count, last };
        self.0.iter().map(refusal)
    }
}

/// Largest number of remembered pairs of sender and reason.
const MAX_REFUSALS: usize = 64;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use multihop_core::Duration;

    use super::*;

    #[test]
    fn a_flood_from_many_addresses_displaces_itself() {
        let mut refusals = Refusals::default();
        let genuine = IpAddr::from([10, 0, 1, 2]);
        let mut now = Instant::ZERO;
        for _ in 0..3 {
            refusals.note(now, genuine, Reason::WrongKey);
        }
        for n in 0..10_000 {
            now += Duration::from_millis(1);
            refusals.note(now, Ipv4Addr::from_bits(0x0b00_0000 + n).into(), Reason::Malformed);
        }
        assert_eq!(refusals.iter().count(), MAX_REFUSALS);
        let kept = refusals.iter().find(|one| one.from == genuine);
        let wanted = Refusal { from: genuine, reason: Reason::WrongKey, count: 3, last: Instant::ZERO };
        assert_eq!(kept, Some(wanted));
        assert!(refusals.iter().any(|one| one.last == now), "the newest is there");
    }
}
