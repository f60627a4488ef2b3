//! State of one file at a node.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use multihop_core::{Instant, Rng, earliest};

use super::repair::{Owed, Request};
use super::report::Receiver;
use super::source::Source;
use super::{Event, Node};
use crate::block::{OpenBlock, WholeBlock};
use crate::config::Config;
use crate::header::{Header, TransferId};
use crate::packet::{Offer, REFUSED, Symbol};

/// A file at this node.
pub(super) struct Transfer {
    pub(super) id: TransferId,
    pub(super) header: Header,
    /// Newest offer that this node has heard.
    pub(super) offer: Offer,
    /// When an offer was heard or sent last.
    pub(super) offered: Instant,
    pub(super) distance: u8,
    pub(super) step: Step,
    /// The manifest; empty while it is unknown.
    pub(super) manifest: Vec<u8>,
    /// Whether each block is stored.
    pub(super) whole: Vec<bool>,
    /// Number of leading stored blocks.
    pub(super) prefix: u32,
    pub(super) open: BTreeMap<u32, OpenBlock>,
    /// Blocks whose symbols the source has begun to send.
    pub(super) begun: u32,
    /// When the last symbol of any block arrived.
    pub(super) heard: Instant,
    /// Content symbols that were heard, by block.
    seen: BTreeMap<u32, BTreeSet<u32>>,
    /// Blocks from which repair symbols are made, the newest last.
    cached: VecDeque<(u32, WholeBlock)>,
    reading: BTreeSet<u32>,
    pub(super) requests: BTreeMap<u32, Request>,
    pub(super) request_at: Instant,
    pub(super) owed: BTreeMap<u32, Owed>,
    /// Number of the next repair symbol of this node.
    pub(super) repair_number: u32,
    pub(super) receivers: BTreeMap<u64, Receiver>,
    pub(super) report_at: Option<Instant>,
    pub(super) source: Option<Source>,
}

/// How far this node is with a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// The driver has not decided whether to take the file.
    Offered,
    /// The manifest is missing.
    Manifest,
    /// The driver looks for blocks of an earlier run.
    Survey,
    /// Blocks of the file are missing.
    Blocks,
    /// The driver verifies the file.
    Verification,
    /// The file is stored.
    Stored,
    /// The driver does not take the file.
    Refused,
}

impl Transfer {
    pub(super) fn new(now: Instant, header: Header, offer: Offer, distance: u8, repair_number: u32) -> Self {
        let blocks = header.blocks();
        Self {
            id: header.id(),
            begun: offer.begun.min(blocks),
            whole: vec![false; blocks as usize],
            header,
            offer,
            offered: now,
            distance: distance.saturating_add(1),
            step: Step::Offered,
            manifest: Vec::new(),
            prefix: 0,
            open: BTreeMap::new(),
            heard: now,
            seen: BTreeMap::new(),
            cached: VecDeque::new(),
            reading: BTreeSet::new(),
            requests: BTreeMap::new(),
            request_at: now,
            owed: BTreeMap::new(),
            repair_number,
            receivers: BTreeMap::new(),
            report_at: None,
            source: None,
        }
    }

    pub(super) fn of_source(
        now: Instant,
        header: Header,
        offer: Offer,
        manifest: Vec<u8>,
        rng: &mut Rng,
        config: &Config,
    ) -> Self {
        let blocks = header.blocks();
        let new = Self::new(now, header, offer, 0, rng.below(1 << 23));
        Self {
            distance: 0,
            step: Step::Stored,
            manifest,
            whole: vec![true; blocks as usize],
            prefix: blocks,
            source: Some(Source::new(now, config)),
            ..new
        }
    }

    /// Whether this node needs no more symbols and is not the source.
    pub(super) fn is_over(&self) -> bool {
        self.source.is_none() && matches!(self.step, Step::Stored | Step::Refused)
    }

    /// Whether this node lacks blocks that it wants.
    pub(super) fn is_receiving(&self) -> bool {
        matches!(self.step, Step::Manifest | Step::Survey | Step::Blocks)
    }

    pub(super) fn has(&self, block: u32) -> bool {
        self.whole.get(block as usize).copied().unwrap_or(false)
    }

    /// Deadline of the next timer.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let source = self.source.as_ref().and_then(|source| source.next(now));
        let mut next = earliest(self.report_at, source);
        if self.is_receiving() {
            next = earliest(next, Some(self.request_at));
        }
        let later = self.owed.values().map(|owed| owed.at).filter(|at| *at > now);
        later.fold(next, |next, at| earliest(next, Some(at)))
    }

    /// Marks a content symbol as heard; returns whether it was heard for the first time.
    pub(super) fn is_first(&mut self, block: u32, id: u32) -> bool {
        let is_first = self.seen.entry(block).or_default().insert(id);
        while self.seen.len() > MAX_SEEN {
            self.seen.pop_first();
        }
        is_first
    }

    /// Forgets which symbols were heard: a new source sends them again.
    pub(super) fn forget_seen(&mut self) {
        self.seen.clear();
    }

    /// Whether the contents of a block are in memory.
    pub(super) fn can_repair(&self, block: u32) -> bool {
        self.cached.iter().any(|(cached, _)| *cached == block)
    }

    /// The contents of a whole block; if they are not in memory, the driver is asked for them.
    pub(super) fn contents(&mut self, block: u32, events: &mut VecDeque<Event>) -> Option<&mut WholeBlock> {
        if !self.can_repair(block) {
            if block == 0 {
                self.cache(0, Some(self.manifest.clone()));
            } else if self.reading.insert(block) {
                events.push_back(Event::Read { transfer: self.id, block });
            }
        }
        self.cached.iter_mut().find(|(cached, _)| *cached == block).map(|(_, whole)| whole)
    }

    /// Keeps the contents of a block in memory, in place of the oldest.
    pub(super) fn cache(&mut self, block: u32, contents: Option<Vec<u8>>) {
        self.reading.remove(&block);
        let Some(contents) = contents.filter(|contents| contents.len() == self.header.block_len(block))
        else {
            self.owed.remove(&block);
            return;
        };
        if !self.can_repair(block) {
            self.cached.push_back((block, WholeBlock::new(contents, self.header.symbol)));
        }
        if self.cached.len() > MAX_CACHED {
            self.cached.pop_front();
        }
    }

    /// Progress of this node.
    pub(super) fn progress(&self) -> Option<u32> {
        match self.step {
            Step::Offered => None,
            Step::Refused => Some(REFUSED),
            Step::Stored => Some(self.header.blocks() + 1),
            _ => Some(self.prefix),
        }
    }
}

impl Node {
    /// Begins to receive a file.
    pub(super) fn accept(&mut self, now: Instant, transfer: &mut Transfer) {
        if transfer.step != Step::Offered {
            return;
        }
        transfer.step = if transfer.whole.is_empty() { Step::Verification } else { Step::Manifest };
        if transfer.whole.is_empty() {
            self.events.push_back(Event::Complete(transfer.id));
        }
        self.update_own(now, transfer);
    }

    /// Stops receiving a file and forgets its symbols, unless this node is the source or has stored the file.
    pub(super) fn refuse(&mut self, now: Instant, transfer: &mut Transfer) {
        if transfer.source.is_some() || transfer.step == Step::Stored {
            return;
        }
        transfer.step = Step::Refused;
        transfer.open.clear();
        transfer.whole.fill(false);
        transfer.owed.clear();
        self.update_own(now, transfer);
    }

    /// Counts blocks of an earlier run as received.
    pub(super) fn surveyed(&mut self, now: Instant, transfer: &mut Transfer, whole: &[u32]) {
        if transfer.step != Step::Survey {
            return;
        }
        transfer.step = Step::Blocks;
        for block in whole {
            if let Some(whole) = transfer.whole.get_mut(*block as usize) {
                *whole = true;
                transfer.open.remove(block);
            }
        }
        // Symbols of these blocks may have arrived before the manifest.
        let ready: Vec<u32> = transfer.open.keys().copied().collect();
        ready.into_iter().for_each(|block| self.finish(now, transfer, block));
        self.advance(now, transfer);
    }

    /// Notes that the file is verified.
    pub(super) fn stored(&mut self, now: Instant, transfer: &mut Transfer) {
        if transfer.step == Step::Verification {
            transfer.step = Step::Stored;
            self.update_own(now, transfer);
        }
    }

    /// Handles a symbol of a neighbour.
    pub(super) fn receive_symbol(
        &mut self,
        now: Instant,
        transfer: &mut Transfer,
        distance: u8,
        symbol: Symbol,
    ) {
        let (block, blocks) = (symbol.block, transfer.header.blocks());
        if block >= blocks || symbol.data.len() != usize::from(transfer.header.symbol) {
            self.counters.ignored += 1;
            return;
        }
        transfer.heard = now;
        transfer.begun = transfer.begun.max(block + 1);
        if symbol.id < transfer.header.block_symbols(block) {
            self.relay_symbol(now, transfer, distance, &symbol);
        } else {
            self.owe_less(now, transfer, block);
        }
        if !transfer.is_receiving() || transfer.has(block) {
            return;
        }
        if let Some(request) = transfer.requests.get_mut(&block) {
            request.progress();
        }
        let length = transfer.header.block_len(block);
        if transfer.open.len() >= MAX_OPEN
            && !transfer.open.contains_key(&block)
            && !transfer.make_room(block)
        {
            return;
        }
        let size = transfer.header.symbol;
        let open = transfer.open.entry(block).or_insert_with(|| OpenBlock::new(now, length, size));
        open.heard = now;
        if open.add(symbol.id, &symbol.data) {
            self.finish(now, transfer, block);
            self.advance(now, transfer);
        }
    }

    /// Verifies and stores a block whose contents are known, if the manifest is known as well.
    fn finish(&mut self, now: Instant, transfer: &mut Transfer, block: u32) {
        let may = if block == 0 { transfer.step == Step::Manifest } else { transfer.step == Step::Blocks };
        let Some(contents) = transfer.open.get(&block).and_then(OpenBlock::contents).filter(|_| may) else {
            return;
        };
        let is_genuine = transfer.header.is_block(block, contents, &transfer.manifest);
        let contents = transfer.open.remove(&block).and_then(OpenBlock::into_contents);
        let Some(contents) = contents.filter(|_| is_genuine) else {
            self.counters.poisoned += 1;
            return;
        };
        transfer.requests.remove(&block);
        transfer.whole[block as usize] = true;
        transfer.cache(block, Some(contents.clone()));
        if block == 0 {
            transfer.manifest = contents;
            transfer.step = Step::Survey;
            self.events.push_back(Event::Survey { transfer: transfer.id });
        } else {
            self.events.push_back(Event::Store { transfer: transfer.id, block, contents });
        }
        transfer.heard = now;
    }

    /// Counts leading blocks after a change.
    fn advance(&mut self, now: Instant, transfer: &mut Transfer) {
        while transfer.has(transfer.prefix) {
            transfer.prefix += 1;
        }
        if transfer.step == Step::Blocks && transfer.prefix == transfer.header.blocks() {
            transfer.step = Step::Verification;
            self.events.push_back(Event::Complete(transfer.id));
        }
        self.update_own(now, transfer);
    }
}

impl Transfer {
    /// Makes room for symbols of an older block: those of the newest one are forgotten.
    fn make_room(&mut self, block: u32) -> bool {
        match self.open.last_key_value() {
            Some((newest, _)) if *newest > block => self.open.pop_last().is_some(),
            _ => false,
        }
    }
}

/// Largest number of blocks of which symbols are kept: 5 MB.
const MAX_OPEN: usize = 16;
/// Largest number of whole blocks in memory: 2.6 MB, as much again for their encoders.
const MAX_CACHED: usize = 8;
/// Number of blocks of which a node remembers which content symbols it has heard.
const MAX_SEEN: usize = 64;
