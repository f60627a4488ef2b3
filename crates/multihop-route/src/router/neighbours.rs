//! Table of the neighbours that were heard over each interface.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use multihop_core::{Duration, Instant};

/// Interface addresses of neighbours, by the agent's names for them.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    known: BTreeMap<Ipv4Addr, Neighbour>,
    /// Number of changes of the neighbours or of the interfaces that hear them.
    pub(super) changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Neighbour {
    /// Number of the interface of this host that hears the neighbour.
    interface: u32,
    /// The neighbour's main address, by its name.
    main: Ipv4Addr,
    heard: Instant,
    /// Record of received packets; `None` if the interface's packets have no sequence numbers.
    received: Option<Received>,
}

/// Bitmap of the recent packets of a neighbour's interface that have arrived, by sequence number.
#[derive(Clone, Copy, Debug)]
struct Received {
    last: u16,
    /// Bitmap of recent packets: bit n is set if the n-th packet before the last arrived.
    seen: u32,
    /// Number of valid bits.
    span: u32,
}

impl Received {
    const fn first(sequence: u16) -> Self {
        Self { last: sequence, seen: 1, span: 1 }
    }

    fn take(self, sequence: u16) -> Self {
        match sequence.wrapping_sub(self.last) {
            // The packet is a duplicate or late.
            0 | 0xff00.. => self,
            step if u32::from(step) < u32::BITS => Self {
                last: sequence,
                seen: self.seen << step | 1,
                span: (self.span + u32::from(step)).min(u32::BITS),
            },
            // The neighbour was silent for long, or has restarted.
            _ => Self::first(sequence),
        }
    }

    fn share(self) -> f64 {
        f64::from(self.seen.count_ones()) / f64::from(self.span)
    }
}

/// A neighbour's interface, as displays and the status show it.
#[derive(Clone, Copy, Debug)]
pub struct NeighbourInterface {
    /// Address of the neighbour's interface.
    pub address: IpAddr,
    /// Number of the interface of this host that hears the neighbour.
    pub interface: u32,
    /// The neighbour's main address.
    pub main: IpAddr,
    /// The agent's name for the neighbour.
    pub name: Ipv4Addr,
    /// Name by which the agent refers to this interface of the neighbour.
    pub link: Ipv4Addr,
    /// Instant at which the neighbour was last heard.
    pub at: Instant,
    /// Share of the neighbour's last packets, at most 32, that arrived; `None` if the packets have no
    /// sequence numbers.
    pub received: Option<f64>,
}

/// Whether a datagram is used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Known {
    Yes,
    /// The sender was heard over another interface a moment ago.
    Elsewhere,
    /// The table of neighbours is full.
    TooMany,
}

impl Neighbours {
    /// Records a packet that has arrived; `main` is the main address in its HELLO, if it has one.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        interface: u32,
        from: Ipv4Addr,
        main: Option<Ipv4Addr>,
        sequence: Option<u16>,
    ) -> Known {
        let is_full = self.known.len() >= MAX_NEIGHBOURS;
        match self.known.get_mut(&from) {
            Some(known) if known.interface != interface && now < known.heard + FAITHFUL => Known::Elsewhere,
            Some(known) => {
                let main = main.unwrap_or(known.main);
                // Sequence numbers belong to one interface.
                let before = known.received.filter(|_| known.interface == interface);
                let received = sequence.map(|sequence| match before {
                    Some(before) => before.take(sequence),
                    None => Received::first(sequence),
                });
                self.changes += u64::from(known.interface != interface);
                *known = Neighbour { interface, main, heard: now.max(known.heard), received };
                Known::Yes
            }
            None if is_full => Known::TooMany,
            None => {
                let (main, received) = (main.unwrap_or(from), sequence.map(Received::first));
                self.changes += 1;
                self.known.insert(from, Neighbour { interface, main, heard: now, received });
                Known::Yes
            }
        }
    }

    pub(super) fn interface(&self, of: Ipv4Addr) -> Option<u32> {
        self.known.get(&of).map(|neighbour| neighbour.interface)
    }

    /// Forgets neighbours on interfaces for which `counts` is false.
    pub(super) fn keep(&mut self, counts: impl Fn(u32) -> bool) {
        self.retain(|neighbour| counts(neighbour.interface));
    }

    pub(super) fn expire(&mut self, now: Instant) {
        self.retain(|neighbour| now < neighbour.heard + MEMORY);
    }

    fn retain(&mut self, keeps: impl Fn(&Neighbour) -> bool) {
        let before = self.known.len();
        self.known.retain(|_, neighbour| keeps(neighbour));
        self.changes += u64::from(self.known.len() != before);
    }

    pub(super) fn iter(
        &self,
        mut address: impl FnMut(Ipv4Addr) -> Option<IpAddr>,
    ) -> impl Iterator<Item = NeighbourInterface> {
        self.known.iter().filter_map(move |(name, known)| {
            Some(NeighbourInterface {
                address: address(*name)?,
                interface: known.interface,
                main: address(known.main)?,
                name: known.main,
                link: *name,
                at: known.heard,
                received: known.received.map(Received::share),
            })
        })
    }
}

/// Silence of three HELLO intervals of the RFC, after which a neighbour's interface that two interfaces of
/// this host hear may belong to the second one.
const FAITHFUL: Duration = Duration::from_secs(6);
/// Time for which a silent neighbour is remembered. With the usual intervals it is longer than the time for
/// which the agent keeps an unconfirmed link.
const MEMORY: Duration = Duration::from_secs(60);
/// Largest number of neighbours' interfaces that are remembered.
const MAX_NEIGHBOURS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_packets_that_arrive_follows_the_sequence_numbers() {
        let arrived = |sequences: &[u16]| {
            let first = Received::first(sequences[0]);
            let Received { seen, span, .. } = sequences[1..].iter().fold(first, |all, next| all.take(*next));
            (seen.count_ones(), span)
        };
        assert_eq!(arrived(&[7]), (1, 1));
        assert_eq!(arrived(&[65_534, 65_535, 0, 1]), (4, 4));
        assert_eq!(arrived(&[1, 3, 5, 5, 4, 7]), (4, 7), "packets that come again or late count for nothing");
        let half: Vec<u16> = (0..100).map(|n| 2 * n).collect();
        assert_eq!(arrived(&half), (16, 32));
        assert_eq!(arrived(&[1, 2, 3, 40]), (1, 1), "a long silence");
        assert_eq!(arrived(&[40_000, 40_001, 3]), (1, 1), "a restart");
    }
}
