//! Requests for missing symbols, and answers.

use multihop_core::{Duration, Instant};

use super::Node;
use super::transfer::{Step, Transfer};
use crate::packet::{Body, Symbol};

/// The latest request for a block, of this node or of a neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    at: Instant,
    /// Requests since the last symbol of the block.
    tries: u32,
}

/// Repair symbols that this node will send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    count: u32,
    /// When the next symbol may leave.
    pub(super) at: Instant,
}

impl Request {
    /// Notes that a symbol of the block has arrived.
    pub(super) fn progress(&mut self) {
        self.tries = 0;
    }
}

impl Transfer {
    /// Number of repair symbols that this node owes.
    pub(super) fn owed_symbols(&self) -> u32 {
        self.owed.values().map(|owed| owed.count).sum::<u32>().min(MAX_OWED)
    }

    /// Whether a repair symbol may leave now.
    pub(super) fn owes(&self, now: Instant) -> bool {
        self.owed.iter().any(|(block, owed)| owed.at <= now && self.can_repair(*block))
    }

    /// Missing blocks that are due, the oldest first, with the number of missing symbols.
    fn due(&self, now: Instant) -> Vec<(u32, u16)> {
        let is_quiet = now.saturating_since(self.heard) >= QUIET;
        let end = if is_quiet { self.begun } else { self.begun.saturating_sub(1) };
        // Nothing can be verified before the manifest is there.
        let end = if self.step == Step::Manifest { end.min(1) } else { end };
        let missing = (self.prefix..end).filter(|block| !self.has(*block));
        let lacks = |block| {
            let all = self.header.block_symbols(block);
            let lacks = self.open.get(&block).map_or(all, |open| open.lacks());
            (block, u16::try_from(lacks).unwrap_or(u16::MAX))
        };
        missing.map(lacks).filter(|(_, lacks)| *lacks > 0).take(MAX_REQUESTED).collect()
    }

    /// Whether a block was requested or repaired too recently for another request.
    fn waits(&self, now: Instant, block: u32) -> bool {
        let request = self.requests.get(&block);
        let heard = self.open.get(&block).map(|open| open.heard);
        let Some(last) = heard.into_iter().chain(request.map(|request| request.at)).max() else {
            return false;
        };
        let tries = request.map_or(0, |request| request.tries.saturating_sub(1)).min(8);
        now.saturating_since(last) < (REQUEST_WAIT * (1 << tries)).min(MAX_REQUEST_WAIT)
    }
}

impl Node {
    /// Requests symbols of blocks that are due.
    pub(super) fn request(&mut self, now: Instant, transfer: &mut Transfer) {
        if transfer.request_at > now || !transfer.is_receiving() {
            return;
        }
        transfer.request_at = now + REQUEST_TICK + self.rng.duration_below(REQUEST_TICK);
        if transfer.step == Step::Survey {
            return;
        }
        let mut blocks = transfer.due(now);
        blocks.retain(|(block, _)| !transfer.waits(now, *block));
        for (block, _) in &blocks {
            let request = transfer.requests.entry(*block).or_insert(Request { at: now, tries: 0 });
            *request = Request { at: now, tries: request.tries + 1 };
        }
        if !blocks.is_empty() {
            self.push(Body::Need { transfer: transfer.id, blocks });
        }
    }

    /// Handles a neighbour's request for repair symbols. For blocks that this node has, it schedules an answer. For blocks that
    /// this node lacks as well, the request replaces this node's own if it asks for about as many symbols.
    pub(super) fn receive_need(&mut self, now: Instant, transfer: &mut Transfer, blocks: &[(u32, u16)]) {
        for (block, count) in blocks.iter().take(MAX_REQUESTED) {
            if transfer.has(*block) {
                let wanted = u32::from(*count).min(transfer.header.block_symbols(*block));
                let at = now + self.rng.duration_below(REPAIR_DELAY);
                let owed = transfer.owed.entry(*block).or_insert(Owed { count: 0, at });
                owed.count = owed.count.max(wanted + wanted / 8 + 1);
                transfer.contents(*block, &mut self.events);
            } else if transfer.is_receiving() && *block < transfer.header.blocks() {
                let all = transfer.header.block_symbols(*block);
                let lacks = transfer.open.get(block).map_or(all, |open| open.lacks());
                if u32::from(*count) * 4 >= lacks * 3 {
                    let request = transfer.requests.entry(*block).or_insert(Request { at: now, tries: 0 });
                    request.at = now;
                }
            }
        }
        while transfer.owed.len() > MAX_BLOCKS_OWED {
            transfer.owed.pop_last();
        }
        while transfer.requests.len() > MAX_REQUESTS {
            transfer.requests.pop_last();
        }
    }

    /// Notes that another node has sent a repair symbol.
    pub(super) fn owe_less(&mut self, now: Instant, transfer: &mut Transfer, block: u32) {
        let Some(owed) = transfer.owed.get_mut(&block) else { return };
        owed.count -= 1;
        owed.at = owed.at.max(now + LISTEN + self.rng.duration_below(LISTEN));
        if owed.count == 0 {
            transfer.owed.remove(&block);
        }
    }

    /// The next repair symbol for neighbours.
    pub(super) fn next_repair(&mut self, now: Instant, transfer: &mut Transfer) -> Option<Body> {
        let due: Vec<u32> =
            transfer.owed.iter().filter(|(_, owed)| owed.at <= now).map(|(block, _)| *block).collect();
        for block in due {
            let number = transfer.repair_number;
            let Some(contents) = transfer.contents(block, &mut self.events) else { continue };
            let data = contents.repair(number);
            transfer.repair_number = (number + 1) % (1 << 23);
            if let Some(owed) = transfer.owed.get_mut(&block) {
                owed.count -= 1;
                if owed.count == 0 {
                    transfer.owed.remove(&block);
                }
            }
            let id = transfer.header.block_symbols(block) + number;
            return Some(Body::Symbol(Symbol { transfer: transfer.id, block, id, data }));
        }
        None
    }
}

/// Silence after which the block that was begun last is due.
const QUIET: Duration = Duration::from_millis(300);
/// Silence after which a request is repeated for the first time.
const REQUEST_WAIT: Duration = Duration::from_millis(150);
/// Longest silence before a request is repeated.
const MAX_REQUEST_WAIT: Duration = Duration::from_secs(2);
/// Shortest time between two requests of a node; the longest is twice as long.
const REQUEST_TICK: Duration = Duration::from_millis(40);
/// Longest random delay of an answer.
const REPAIR_DELAY: Duration = Duration::from_millis(30);
/// Time for which a node lets another one send repair symbols; up to twice as long.
const LISTEN: Duration = Duration::from_millis(8);
/// Largest number of blocks in one request.
const MAX_REQUESTED: usize = 4;
/// Largest number of blocks of which a node owes symbols.
const MAX_BLOCKS_OWED: usize = 8;
/// Largest number of blocks whose requests a node remembers.
const MAX_REQUESTS: usize = 64;
/// Largest number of owed symbols in the backlog.
const MAX_OWED: u32 = 64;
