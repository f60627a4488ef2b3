//! Address resolution: known addresses, and packets that wait for one.
//!
//! `ns2` is the ARP of the CMU extensions: it holds one packet for each destination and has no timer, so that
//! a packet may wait until the end of the run (Holland and Vaidya). `queueing` has the improvements that
//! Holland and Vaidya recommend, and delays its requests at random: stations of the standard transmit at once
//! on an idle medium, so that broadcasts of stations that start at the same instant would all collide. With
//! `oracle`, all addresses are known from the start.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, NodeId, Rng};
use multihop_radio::frame::PacketHandle;

use multihop_scenario::ArpKind;

/// The ARP table of one node.
#[derive(Debug)]
pub(super) struct AddressTable {
    kind: ArpKind,
    /// Neighbours with known addresses, which never expire. Over time a moving node learns nearly all
    /// addresses.
    known: Vec<NodeId>,
    /// Searches for the addresses of neighbours, sorted by neighbour.
    searches: Vec<(NodeId, Search)>,
    /// Draws the delay of each request (`queueing`), so that neighbours do not transmit at once.
    jitter: Rng,
}

/// The search for the address of one neighbour.
#[derive(Debug, Default)]
struct Search {
    held: VecDeque<PacketHandle>,
    /// Requests since the last failure.
    requests: u32,
    /// Instant of the next request or of the failure (`queueing`).
    due: Option<Instant>,
}

/// Result of a request for the address of a packet's next hop.
#[derive(Debug)]
pub(super) enum Resolution {
    /// The address is known.
    Known(PacketHandle),
    /// The packet waits and a request must be sent. An older packet may have been displaced.
    Requested { displaced: Option<PacketHandle> },
    /// A request has been sent or is scheduled. The packet waits, or is refused because the buffer is full.
    Waiting { refused: Option<PacketHandle> },
    /// No neighbour answered; these packets are dropped.
    Failed(Vec<PacketHandle>),
}

/// A search whose next step is due: a request, or its failure.
#[derive(Debug)]
pub(super) struct Expiry {
    pub(super) next_hop: NodeId,
    pub(super) is_request: bool,
    pub(super) failed: Vec<PacketHandle>,
}

/// Number of ARP requests after which ns-2 drops the next packet for an unresolved address.
const MAX_REQUESTS: u32 = 3;
/// Largest number of packets that `queueing` holds for each destination.
const MAX_HELD: usize = 16;
/// Time for which `queueing` waits for an answer (RFC 1122 §2.3.2.1 allows one request per second).
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// Largest delay of a request of `queueing`, as in ns-3 (`ArpL3Protocol::RequestJitter`).
const MAX_JITTER: Duration = Duration::from_millis(10);

impl AddressTable {
    pub(super) fn new(kind: ArpKind, seed: u64, node: NodeId) -> Self {
        let jitter = Rng::stream(seed, "arp/jitter", u64::from(node.0));
        Self { kind, known: Vec::new(), searches: Vec::new(), jitter }
    }

    /// Returns the packet if the address of `next_hop` is known; otherwise stores it.
    pub(super) fn resolve(&mut self, now: Instant, next_hop: NodeId, packet: PacketHandle) -> Resolution {
        let kind = self.kind;
        if kind == ArpKind::Oracle || self.known.binary_search(&next_hop).is_ok() {
            return Resolution::Known(packet);
        }
        match kind {
            ArpKind::Ns2 => self.search(next_hop).hold_one(packet),
            ArpKind::Queueing | ArpKind::Oracle => {
                let first = now + self.jitter.duration_below(MAX_JITTER);
                self.search(next_hop).hold_many(first, packet)
            }
        }
    }

    /// Records the address of `neighbour`, and returns the packets that waited for it.
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

    /// Handles one search that is due.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<Expiry> {
        let &mut (next_hop, ref mut search) =
            self.searches.iter_mut().find(|(_, search)| search.due.is_some_and(|at| at <= now))?;
        if search.requests < MAX_REQUESTS {
            search.requests += 1;
            search.due = Some(now + REQUEST_INTERVAL + self.jitter.duration_below(MAX_JITTER));
            return Some(Expiry { next_hop, is_request: true, failed: Vec::new() });
        }
        search.requests = 0;
        search.due = None;
        Some(Expiry { next_hop, is_request: false, failed: search.held.drain(..).collect() })
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.kind {
            ArpKind::Queueing => self.searches.iter().filter_map(|(_, search)| search.due).min(),
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
        // ns-2 stores at most one packet.
        self.held.reserve_exact(1);
        self.held.push_back(packet);
        Resolution::Requested { displaced }
    }

    /// Stores a packet for an unresolved address. `first` is the time of the first request, if none is
    /// scheduled.
    fn hold_many(&mut self, first: Instant, packet: PacketHandle) -> Resolution {
        if self.held.len() == MAX_HELD {
            return Resolution::Waiting { refused: Some(packet) };
        }
        self.held.push_back(packet);
        self.due.get_or_insert(first);
        Resolution::Waiting { refused: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: NodeId = NodeId(7);

    fn table(kind: ArpKind) -> AddressTable {
        AddressTable::new(kind, 1, NodeId(0))
    }

    fn numbers(packets: impl IntoIterator<Item = PacketHandle>) -> Vec<u32> {
        packets.into_iter().map(|packet| packet.0).collect()
    }

    #[test]
    fn ns2_holds_one_packet_and_fails_at_the_fourth() {
        let mut table = table(ArpKind::Ns2);
        let mut resolve = |n| table.resolve(Instant::ZERO, PEER, PacketHandle(n));
        assert!(matches!(resolve(1), Resolution::Requested { displaced: None }));
        assert!(matches!(resolve(2), Resolution::Requested { displaced: Some(p) } if p.0 == 1));
        assert!(matches!(resolve(3), Resolution::Requested { displaced: Some(p) } if p.0 == 2));
        let Resolution::Failed(failed) = resolve(4) else { panic!("not failed after three requests") };
        assert_eq!(numbers(failed), [3, 4]);
        assert!(matches!(resolve(5), Resolution::Requested { displaced: None }), "the count restarts");
        assert_eq!(table.deadline(), None, "there is no timer");
        assert_eq!(numbers(table.learn(PEER)), [5]);
        assert!(matches!(table.resolve(Instant::ZERO, PEER, PacketHandle(6)), Resolution::Known(_)));
    }

    #[test]
    fn queueing_holds_sixteen_and_reports_a_failure() {
        let mut table = table(ArpKind::Queueing);
        for n in 0..16 {
            let resolution = table.resolve(Instant::ZERO, PEER, PacketHandle(n));
            assert!(matches!(resolution, Resolution::Waiting { refused: None }));
        }
        let seventeenth = table.resolve(Instant::ZERO, PEER, PacketHandle(16));
        assert!(matches!(seventeenth, Resolution::Waiting { refused: Some(p) } if p.0 == 16));
        for _ in 0..3 {
            assert!(table.handle_timeout(table.deadline().unwrap()).unwrap().is_request);
        }
        let failure = table.handle_timeout(table.deadline().unwrap()).unwrap();
        assert_eq!(numbers(failure.failed), (0..16).collect::<Vec<_>>());
        assert_eq!(table.deadline(), None);
    }

    #[test]
    fn queueing_delays_requests_by_up_to_ten_milliseconds_differently_at_each_node() {
        let delays: Vec<_> = (0..20)
            .map(|node| {
                let mut table = AddressTable::new(ArpKind::Queueing, 1, NodeId(node));
                table.resolve(Instant::ZERO, PEER, PacketHandle(0));
                table.deadline().unwrap() - Instant::ZERO
            })
            .collect();
        assert!(delays.iter().all(|&delay| delay < MAX_JITTER), "{delays:?}");
        let distinct: std::collections::BTreeSet<_> = delays.iter().collect();
        assert_eq!(distinct.len(), delays.len());
    }

    #[test]
    fn the_oracle_knows_all_addresses() {
        let mut table = table(ArpKind::Oracle);
        assert!(matches!(table.resolve(Instant::ZERO, PEER, PacketHandle(1)), Resolution::Known(_)));
    }
}
