//! A node: source, relay and receiver of files.

mod neighbors;
mod relay;
mod repair;
mod report;
mod source;
mod transfer;

use std::collections::{BTreeMap, VecDeque};

use multihop_core::{Duration, Instant, Rng, earliest};

use crate::config::Config;
use crate::header::{Header, TransferId};
use crate::packet::{Body, Offer, Packet, UNKNOWN};
use crate::schedule::Schedule;
use neighbors::Neighbors;
use relay::Relays;
pub use report::Receiver;
use transfer::Transfer;

/// A node of the mesh.
pub struct Node {
    config: Config,
    rng: Rng,
    transfers: BTreeMap<TransferId, Transfer>,
    relays: Relays,
    /// Offers that answer neighbours which seek transfers, with the times at which the offers leave.
    replies: Schedule<TransferId>,
    /// Requests, reports and offers that wait for the radio.
    control: VecDeque<Body>,
    events: VecDeque<Event>,
    seek_at: Instant,
    seek_interval: Duration,
    /// Greatest backlog that nodes farther from the source have reported, in this interval and in the one before.
    backlogs: [u8; 2],
    backlogs_turn: Instant,
    neighbors: Neighbors,
    counters: Counters,
}

/// Input of a node.
#[derive(Clone, Debug)]
pub enum Input {
    /// A neighbour has sent a packet. The driver has verified the signature of an offer.
    Packet {
        /// Number of the neighbour, different for each.
        from: u64,
        /// Packet of the neighbour.
        packet: Packet,
    },
    /// Answer to [`Event::Offered`]: this node takes the file.
    Accept(TransferId),
    /// Answer to [`Event::Offered`], or later after a failure of the disk: this node does not take the file.
    Refuse(TransferId),
    /// Answer to [`Event::Survey`].
    Surveyed {
        /// Identifier of the transfer.
        transfer: TransferId,
        /// Numbers of the blocks that this host has, from 1.
        whole: Vec<u32>,
    },
    /// Answer to [`Event::Read`].
    Contents {
        /// Identifier of the transfer.
        transfer: TransferId,
        /// Number of the block, from 1.
        block: u32,
        /// Contents of the block; `None` if they cannot be read.
        contents: Option<Vec<u8>>,
    },
    /// Answer to [`Event::Complete`]: the file is verified and has its name.
    Stored(TransferId),
}

/// Work that a node requests, and news.
#[derive(Clone, Debug)]
pub enum Event {
    /// A file is offered. The driver answers [`Input::Accept`] or [`Input::Refuse`].
    Offered {
        /// Identifier of the transfer.
        transfer: TransferId,
        /// Description of the file.
        header: Header,
    },
    /// The manifest is known ([`Node::manifest`]). The driver answers with the blocks that an earlier run has stored.
    Survey {
        /// Identifier of the transfer.
        transfer: TransferId,
    },
    /// A verified block is to be stored.
    Store {
        /// Identifier of the transfer.
        transfer: TransferId,
        /// Number of the block, from 1.
        block: u32,
        /// Contents of the block.
        contents: Vec<u8>,
    },
    /// A neighbour lacks symbols of a stored block. The driver answers [`Input::Contents`].
    Read {
        /// Identifier of the transfer.
        transfer: TransferId,
        /// Number of the block, from 1.
        block: u32,
    },
    /// All blocks are stored. The driver verifies the hash of the file, gives it its name, and answers [`Input::Stored`].
    Complete(TransferId),
    /// The progress of a receiver has grown ([`Node::receivers`]).
    Progress(TransferId),
    /// At the source: all known receivers have stored the file.
    Done(TransferId),
}

/// Counts of a node.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Content symbols that this node sent as the source.
    pub contents: u64,
    /// Content symbols of others that this node repeated.
    pub relayed: u64,
    /// Packets that this node did not repeat, because it heard enough copies.
    pub suppressed: u64,
    /// Repair symbols that this node sent.
    pub repairs: u64,
    /// Requests that this node sent.
    pub needs: u64,
    /// Reports that this node sent.
    pub reports: u64,
    /// Offers and searches that this node sent.
    pub offers: u64,
    /// Blocks that did not agree with the manifest and were dropped.
    pub poisoned: u64,
    /// Packets that made no sense in this node's state, for example of an unknown transfer.
    pub ignored: u64,
}

impl Node {
    /// Creates a node without transfers. Nodes with equal seeds choose equal repair symbols, so each needs a seed of its own.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "spread", 0);
        let seek_at = Instant::ZERO + rng.duration_below(SEEK);
        Self {
            config,
            rng,
            transfers: BTreeMap::new(),
            relays: Relays::default(),
            replies: Schedule::new(),
            control: VecDeque::new(),
            events: VecDeque::new(),
            seek_at,
            seek_interval: SEEK,
            backlogs: [0; 2],
            backlogs_turn: Instant::ZERO,
            neighbors: Neighbors::default(),
            counters: Counters::default(),
        }
    }

    /// Makes this node the source of a file. `start` must be greater than that of an earlier source of this file:
    /// milliseconds since 1970.
    pub fn offer(
        &mut self,
        now: Instant,
        header: Header,
        signature: [u8; 64],
        manifest: Vec<u8>,
        start: u64,
    ) {
        let offer = Offer { start, round: 0, begun: 0, header: header.emit(), signature };
        let transfer = Transfer::of_source(now, header, offer, manifest, &mut self.rng, &self.config);
        self.transfers.insert(transfer.id, transfer);
    }

    /// Handles one input. Packets that make no sense are counted.
    pub fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Packet { from, packet } => self.receive(now, from, packet),
            Input::Accept(id) => self.with(id, |node, transfer| node.accept(now, transfer)),
            Input::Refuse(id) => self.with(id, |node, transfer| node.refuse(now, transfer)),
            Input::Surveyed { transfer, whole } => {
                self.with(transfer, |node, transfer| node.surveyed(now, transfer, &whole));
            }
            Input::Contents { transfer, block, contents } => {
                self.with(transfer, |_, transfer| transfer.cache(block, contents));
            }
            Input::Stored(id) => self.with(id, |node, transfer| node.stored(now, transfer)),
        }
    }

    /// Handles every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.seek_at <= now {
            self.push(Body::Seek);
            self.seek_at = now + self.seek_interval + self.rng.duration_below(self.seek_interval);
            self.seek_interval = (self.seek_interval * 2).min(MAX_SEEK);
        }
        if self.backlogs_turn <= now {
            self.backlogs = [0, self.backlogs[0]];
            self.backlogs_turn = now + BACKLOG_INTERVAL;
        }
        self.relays.become_due(now);
        while let Some(id) = self.replies.pop_due(now) {
            self.with(id, |node, transfer| node.reply(now, transfer));
        }
        for id in self.ids() {
            self.with(id, |node, transfer| {
                node.request(now, transfer);
                node.report(now, transfer);
                node.drive_source(now, transfer);
            });
        }
    }

    /// The next request or piece of news for the driver.
    pub fn poll_output(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next packet for all neighbours. To be called when the radio can take one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let body = self.next_body(now)?;
        let distance = match &body {
            Body::Seek => UNKNOWN,
            Body::Offer(offer) => self.distance_of_header(&offer.header),
            Body::Symbol(symbol) => self.distance(symbol.transfer),
            Body::Need { transfer, .. } | Body::Report { transfer, .. } => self.distance(*transfer),
        };
        Some(Packet { distance, backlog: self.backlog(), body })
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) and [`poll_transmit`](Self::poll_transmit) again, apart from
    /// packets that wait for the radio already ([`wants_transmit`](Self::wants_transmit)).
    pub fn poll_timeout(&self, now: Instant) -> Option<Instant> {
        let mut next = earliest(Some(self.seek_at.min(self.backlogs_turn)), self.relays.next());
        next = earliest(next, self.replies.next());
        self.transfers.values().fold(next, |next, transfer| earliest(next, transfer.next(now)))
    }

    /// Whether a packet waits for the radio now.
    pub fn wants_transmit(&self, now: Instant) -> bool {
        !self.control.is_empty()
            || self.relays.has_due()
            || self.transfers.values().any(|transfer| transfer.owes(now) || transfer.sends(now))
    }

    /// Counts of this node.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Manifest of a transfer; empty while it is unknown.
    pub fn manifest(&self, transfer: TransferId) -> &[u8] {
        self.transfers.get(&transfer).map_or(&[], |transfer| &transfer.manifest)
    }

    /// Header of a transfer.
    pub fn header(&self, transfer: TransferId) -> Option<&Header> {
        self.transfers.get(&transfer).map(|transfer| &transfer.header)
    }

    /// Receivers of a transfer, this node included unless it is the source.
    pub fn receivers(&self, transfer: TransferId) -> impl Iterator<Item = (u64, &Receiver)> {
        self.transfers.get(&transfer).into_iter().flat_map(Transfer::receivers)
    }

    /// Rate of a source, symbols per second; `None` at other nodes.
    pub fn rate(&self, transfer: TransferId) -> Option<f64> {
        self.transfers.get(&transfer)?.source.as_ref().map(|source| source.rate())
    }

    fn receive(&mut self, now: Instant, from: u64, packet: Packet) {
        let Packet { distance, backlog, body } = packet;
        self.neighbors.hear(now, from, distance);
        match body {
            Body::Seek => {
                for id in self.ids() {
                    let at = now + self.rng.duration_below(REPLY_DELAY);
                    if self.replies.len() < MAX_CONTROL {
                        self.replies.add(at, id);
                    }
                }
            }
            Body::Offer(offer) => self.receive_offer(now, distance, offer),
            Body::Symbol(symbol) => {
                let id = symbol.transfer;
                self.hear(id, distance, backlog);
                self.with(id, |node, transfer| node.receive_symbol(now, transfer, distance, symbol));
            }
            Body::Need { transfer, blocks } => {
                self.hear(transfer, distance, backlog);
                self.with(transfer, |node, transfer| node.receive_need(now, transfer, &blocks));
            }
            Body::Report { transfer, receivers } => {
                self.hear(transfer, distance, backlog);
                self.with(transfer, |node, transfer| {
                    node.receive_report(now, transfer, distance, &receivers)
                });
            }
        }
    }

    /// Remembers the backlog of nodes farther from the source.
    fn hear(&mut self, id: TransferId, distance: u8, backlog: u8) {
        if distance > self.distance(id) {
            self.backlogs[0] = self.backlogs[0].max(backlog);
        }
    }

    fn next_body(&mut self, now: Instant) -> Option<Body> {
        if let Some(body) = self.control.pop_front() {
            self.count(&body);
            return Some(body);
        }
        if let Some(body) = self.next_relay() {
            return Some(body);
        }
        for id in self.ids() {
            let body = self.with_some(id, |node, transfer| node.next_repair(now, transfer));
            if body.is_some() {
                self.counters.repairs += 1;
                return body;
            }
        }
        for id in self.ids() {
            let body = self.with_some(id, |node, transfer| node.next_content(now, transfer));
            if body.is_some() {
                self.counters.contents += 1;
                return body;
            }
        }
        None
    }

    fn count(&mut self, body: &Body) {
        match body {
            Body::Need { .. } => self.counters.needs += 1,
            Body::Report { .. } => self.counters.reports += 1,
            Body::Offer(_) | Body::Seek => self.counters.offers += 1,
            Body::Symbol(_) => {}
        }
    }

    /// Appends a packet without symbols to those that wait; the oldest is dropped if too many wait.
    fn push(&mut self, body: Body) {
        if self.control.len() >= MAX_CONTROL {
            self.control.pop_front();
        }
        self.control.push_back(body);
    }

    /// Packets that wait here, and half of those that wait farther from the source.
    fn backlog(&self) -> u8 {
        let owed: u32 = self.transfers.values().map(Transfer::owed_symbols).sum();
        let own = self.relays.due() + (owed / OWED_PER_BACKLOG) as usize;
        let farther = self.backlogs[0].max(self.backlogs[1]) / 2;
        u8::try_from(own).unwrap_or(u8::MAX).max(farther)
    }

    fn distance(&self, id: TransferId) -> u8 {
        self.transfers.get(&id).map_or(UNKNOWN, |transfer| transfer.distance)
    }

    fn distance_of_header(&self, header: &[u8]) -> u8 {
        let found = self.transfers.values().find(|transfer| transfer.offer.header == header);
        found.map_or(UNKNOWN, |transfer| transfer.distance)
    }

    fn ids(&self) -> Vec<TransferId> {
        self.transfers.keys().copied().collect()
    }

    /// Calls `work` with a transfer, which is out of the map meanwhile; an unknown transfer is counted.
    fn with(&mut self, id: TransferId, work: impl FnOnce(&mut Self, &mut Transfer)) {
        let Some(mut transfer) = self.transfers.remove(&id) else {
            self.counters.ignored += 1;
            return;
        };
        work(self, &mut transfer);
        self.transfers.insert(id, transfer);
    }

    fn with_some<T>(
        &mut self,
        id: TransferId,
        work: impl FnOnce(&mut Self, &mut Transfer) -> Option<T>,
    ) -> Option<T> {
        let mut transfer = self.transfers.remove(&id)?;
        let done = work(self, &mut transfer);
        self.transfers.insert(id, transfer);
        done
    }
}

/// First interval between two searches.
const SEEK: Duration = Duration::from_secs(1);
/// Longest interval between two searches.
const MAX_SEEK: Duration = Duration::from_secs(64);
/// Owed repair symbols that count as one packet of the backlog: neighbours share them.
const OWED_PER_BACKLOG: u32 = 4;
/// Longest random delay of an answer to a search.
const REPLY_DELAY: Duration = Duration::from_millis(100);
/// Time for which the greatest backlog of others is kept, once or twice.
const BACKLOG_INTERVAL: Duration = Duration::from_millis(200);
/// Largest number of packets without symbols that wait for the radio.
const MAX_CONTROL: usize = 64;
/// Largest number of transfers of which a node has state.
const MAX_TRANSFERS: usize = 8;
