//! Address resolution: known addresses, and packets that wait for one.
//!
//! `ns2` is the ARP of the CMU extensions: it holds one packet for each destination and has no timer, so that a packet
//! may wait until the end of the run (Holland and Vaidya). `queueing` has the improvements that they ask for. `oracle`
//! knows all addresses.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::frame::PacketHandle;

use multihop_scenario::ArpKind;

/// The ARP table of one node.
#[derive(Debug)]
pub(super) struct AddressTable {
    kind: ArpKind,
    /// Neighbours with known addresses, which never expire. A moving node comes to know nearly all others.
    known: Vec<NodeId>,
    /// Sorted by neighbour.
    searches: Vec<(NodeId, Search)>,
}

/// The search for an address.
#[derive(Debug, Default)]
struct Search {
    held: VecDeque<PacketHandle>,
    requests: u32,
    /// When to repeat the request (`queueing`).
    retry_at: Option<Instant>,
}

/// The outcome for a packet that needs an address.
#[derive(Debug)]
pub(super) enum Resolution {
    /// The address is known.
    Known(PacketHandle),
    /// The packet is held and a request must be sent. An older packet may have been displaced.
    Asked { displaced: Option<PacketHandle> },
    /// A request has already been sent. The packet is held, or refused because the buffer is full.
    Waiting { refused: Option<PacketHandle> },
    /// There was no answer.
    Failed(Vec<PacketHandle>),
}

/// A request that was not answered in time.
#[derive(Debug)]
pub(super) struct Expiry {
    pub(super) next_hop: NodeId,
    pub(super) ask_again: bool,
    pub(super) failed: Vec<PacketHandle>,
}

/// ns-2 gives up at the first packet after the third request.
const MAX_REQUESTS: u32 = 3;
/// Packets that `queueing` holds for each destination.
const HELD: usize = 16;
/// How long `queueing` waits for an answer (RFC 1122 §2.3.2.1 allows one request a second).
const PATIENCE: Duration = Duration::from_secs(1);

impl AddressTable {
    pub(super) fn new(kind: ArpKind) -> Self {
        Self { kind, known: Vec::new(), searches: Vec::new() }
    }

    /// Returns the packet if `next_hop`'s address is known; otherwise holds it.
    pub(super) fn resolve(&mut self, now: Instant, next_hop: NodeId, packet: PacketHandle) -> Resolution {
        let kind = self.kind;
        if kind == ArpKind::Oracle || self.known.binary_search(&next_hop).is_ok() {
            return Resolution::Known(packet);
        }
        let search = self.search(next_hop);
        match kind {
            ArpKind::Ns2 => search.hold_one(packet),
            ArpKind::Queueing | ArpKind::Oracle => search.hold_many(now, packet),
        }
    }

    /// Learns the address of `neighbour` and returns the packets that waited for it.
    pub(super) fn learn(&mut self, neighbour: NodeId) -> VecDeque<PacketHandle> {
        match self.known.binary_search(&neighbour) {
            Ok(_) => VecDeque::new(),
            Err(at) => {
                self.known.insert(at, neighbour);
                let search = self.place(neighbour).ok().map(|at| self.searches.remove(at).1);
                search.map(|search| search.held).unwrap_or_default()
            }
        }
    }

    /// The search for an address, created if necessary.
    fn search(&mut self, next_hop: NodeId) -> &mut Search {
        let at = self.place(next_hop).unwrap_or_else(|at| {
            self.searches.insert(at, (next_hop, Search::default()));
            at
        });
        &mut self.searches[at].1
    }

    fn place(&self, next_hop: NodeId) -> Result<usize, usize> {
        self.searches.binary_search_by_key(&next_hop, |search| search.0)
    }

    /// Handles one overdue answer.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<Expiry> {
        let &mut (next_hop, ref mut search) =
            self.searches.iter_mut().find(|(_, search)| search.retry_at.is_some_and(|at| at <= now))?;
        if search.requests < MAX_REQUESTS {
            search.requests += 1;
            search.retry_at = Some(now + PATIENCE);
            return Some(Expiry { next_hop, ask_again: true, failed: Vec::new() });
        }
        search.requests = 0;
        search.retry_at = None;
        Some(Expiry { next_hop, ask_again: false, failed: search.held.drain(..).collect() })
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.kind {
            ArpKind::Queueing => self.searches.iter().filter_map(|(_, search)| search.retry_at).min(),
            ArpKind::Ns2 | ArpKind::Oracle => None,
        }
    }

    pub(super) fn held(&self) -> impl Iterator<Item = PacketHandle> {
        self.searches.iter().flat_map(|(_, search)| search.held.iter().copied())
    }
}

impl Search {
    fn hold_one(&mut self, packet: PacketHandle) -> Resolution {
        if self.requests == MAX_REQUESTS {
            self.requests = 0;
            self.held.push_back(packet);
            return Resolution::Failed(self.held.drain(..).collect());
        }
        self.requests += 1;
        let displaced = self.held.pop_front();
        // Never more than one.
        self.held.reserve_exact(1);
        self.held.push_back(packet);
        Resolution::Asked { displaced }
    }

    fn hold_many(&mut self, now: Instant, packet: PacketHandle) -> Resolution {
        if self.held.len() == HELD {
            return Resolution::Waiting { refused: Some(packet) };
        }
        self.held.push_back(packet);
        if self.retry_at.is_some() {
            return Resolution::Waiting { refused: None };
        }
        self.requests = 1;
        self.retry_at = Some(now + PATIENCE);
        Resolution::Asked { displaced: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: NodeId = NodeId(7);

    fn numbers(packets: impl IntoIterator<Item = PacketHandle>) -> Vec<u32> {
        packets.into_iter().map(|packet| packet.0).collect()
    }

    #[test]
    fn ns2_holds_one_packet_and_fails_at_the_fourth() {
        let mut table = AddressTable::new(ArpKind::Ns2);
        let mut resolve = |n| table.resolve(Instant::ZERO, PEER, PacketHandle(n));
        assert!(matches!(resolve(1), Resolution::Asked { displaced: None }));
        assert!(matches!(resolve(2), Resolution::Asked { displaced: Some(p) } if p.0 == 1));
        assert!(matches!(resolve(3), Resolution::Asked { displaced: Some(p) } if p.0 == 2));
        let Resolution::Failed(failed) = resolve(4) else { panic!("not failed after three requests") };
        assert_eq!(numbers(failed), [3, 4]);
        assert!(matches!(resolve(5), Resolution::Asked { displaced: None }), "the count restarts");
        assert_eq!(table.deadline(), None, "there is no timer");
        assert_eq!(numbers(table.learn(PEER)), [5]);
        assert!(matches!(table.resolve(Instant::ZERO, PEER, PacketHandle(6)), Resolution::Known(_)));
    }

    #[test]
    fn queueing_holds_sixteen_and_reports_a_failure() {
        let mut table = AddressTable::new(ArpKind::Queueing);
        for n in 0..16 {
            let resolution = table.resolve(Instant::ZERO, PEER, PacketHandle(n));
            assert_eq!(matches!(resolution, Resolution::Asked { .. }), n == 0);
        }
        let seventeenth = table.resolve(Instant::ZERO, PEER, PacketHandle(16));
        assert!(matches!(seventeenth, Resolution::Waiting { refused: Some(p) } if p.0 == 16));
        for _ in 0..2 {
            assert!(table.handle_timeout(table.deadline().unwrap()).unwrap().ask_again);
        }
        let failure = table.handle_timeout(table.deadline().unwrap()).unwrap();
        assert_eq!(numbers(failure.failed), (0..16).collect::<Vec<_>>());
        assert_eq!(table.deadline(), None);
    }

    #[test]
    fn the_oracle_knows_all_addresses() {
        let mut table = AddressTable::new(ArpKind::Oracle);
        assert!(matches!(table.resolve(Instant::ZERO, PEER, PacketHandle(1)), Resolution::Known(_)));
    }
}
