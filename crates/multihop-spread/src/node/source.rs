//! The source of a file: when the next symbol leaves.

use multihop_core::{Duration, Instant, earliest};

use super::transfer::Transfer;
use super::{Event, Node, OWED_PER_BACKLOG};
use crate::config::Config;
use crate::packet::{Body, Symbol};

/// State of a source.
#[derive(Debug)]
pub(super) struct Source {
    stage: Stage,
    /// Block and number of the next content symbol.
    block: u32,
    symbol: u32,
    /// Content symbols that leave per second.
    rate: f64,
    next_at: Instant,
    offer_at: Instant,
    adjust_at: Instant,
    /// Symbols since the last adjustment.
    sent: u32,
    /// Whether the rate was never decreased.
    is_starting: bool,
    /// Whether the backlog of the neighbourhood holds symbols back.
    is_congested: bool,
    /// When the rate was decreased last.
    decreased: Instant,
    /// Whether the lead over receivers holds the next block back.
    is_held: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The source waits for receivers.
    Gathering,
    /// The source sends content symbols.
    Sending,
    /// All content symbols have left.
    Repairing,
    /// All known receivers have stored the file.
    Done,
}

impl Source {
    pub(super) fn new(now: Instant, config: &Config) -> Self {
        Self {
            stage: Stage::Gathering,
            block: 0,
            symbol: 0,
            rate: config.initial_rate,
            next_at: now,
            offer_at: now,
            adjust_at: now + ADJUST_INTERVAL,
            sent: 0,
            is_starting: true,
            is_congested: false,
            decreased: now,
            is_held: false,
        }
    }

    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let adjust = Some(self.offer_at.min(self.adjust_at));
        if self.is_sending() && self.next_at > now { earliest(adjust, Some(self.next_at)) } else { adjust }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    fn is_sending(&self) -> bool {
        self.stage == Stage::Sending && !self.is_held && !self.is_congested
    }

    /// Decreases the rate if the backlog holds symbols back, and increases it if it was used.
    fn adjust(&mut self, now: Instant) {
        let used = f64::from(self.sent) >= 0.8 * self.rate * ADJUST_INTERVAL.as_secs_f64();
        if self.is_congested {
            if now.saturating_since(self.decreased) >= DECREASE_INTERVAL {
                self.rate = (self.rate * 0.8).max(MIN_RATE);
                self.decreased = now;
            }
            self.is_starting = false;
        } else if used {
            self.rate = (self.rate * if self.is_starting { 1.2 } else { 1.05 }).min(MAX_RATE);
        }
        self.sent = 0;
    }
}

impl Transfer {
    /// Whether a content symbol may leave now.
    pub(super) fn sends(&self, now: Instant) -> bool {
        self.source.as_ref().is_some_and(|source| source.is_sending() && source.next_at <= now)
    }

    /// Whether receivers in step are close enough behind for a block to begin.
    fn may_begin(&self, now: Instant, block: u32, lead: u32) -> bool {
        let in_step = self
            .receivers
            .values()
            .filter(|receiver| !receiver.is_late && now.saturating_since(receiver.grown) < STALLED);
        in_step.map(|receiver| receiver.blocks.saturating_add(lead)).all(|most| block <= most)
    }

    /// Whether enough receivers are known, and no new one has come for a while.
    fn is_settled(&self, now: Instant, expect: usize, time: Duration) -> bool {
        let newest = self.receivers.values().map(|receiver| receiver.grown).max();
        self.receivers.len() >= expect.max(1) && newest.is_some_and(|at| now.saturating_since(at) >= time)
    }
}

impl Node {
    /// Handles the timers of a source.
    pub(super) fn drive_source(&mut self, now: Instant, transfer: &mut Transfer) {
        let Some(mut source) = transfer.source.take() else { return };
        self.drive(now, transfer, &mut source);
        transfer.source = Some(source);
    }

    fn drive(&mut self, now: Instant, transfer: &mut Transfer, source: &mut Source) {
        if source.offer_at <= now {
            transfer.offer.round += 1;
            transfer.offer.begun = transfer.begun;
            transfer.offered = now;
            source.offer_at = now + OFFER_INTERVAL;
            self.push(Body::Offer(transfer.offer.clone()));
        }
        if source.stage == Stage::Sending {
            let backlog = u32::from(self.backlogs[0].max(self.backlogs[1]))
                + transfer.owed_symbols() / OWED_PER_BACKLOG;
            let was_congested = source.is_congested;
            source.is_congested = backlog > MAX_BACKLOG;
            if was_congested && !source.is_congested {
                source.next_at = source.next_at.max(now);
            }
        }
        if source.is_held {
            source.is_held = !transfer.may_begin(now, source.block, self.config.lead);
            source.next_at = source.next_at.max(now);
        }
        if source.adjust_at > now {
            return;
        }
        source.adjust_at = now + ADJUST_INTERVAL;
        match source.stage {
            Stage::Gathering => {
                if transfer.is_settled(now, self.config.expect, GATHER) {
                    source.stage = Stage::Sending;
                    source.next_at = now;
                    let blocks = transfer.receivers.values().map(|receiver| receiver.blocks);
                    source.block = blocks.min().unwrap_or(0).min(transfer.header.blocks());
                    transfer.begun = transfer.begun.max(source.block);
                }
            }
            Stage::Sending => {
                source.adjust(now);
                if source.block >= transfer.header.blocks() {
                    source.stage = Stage::Repairing;
                }
            }
            Stage::Repairing => {
                let all = transfer.header.blocks() + 1;
                let is_over = transfer.receivers.values().all(|receiver| receiver.blocks >= all);
                if is_over && transfer.is_settled(now, self.config.expect, SETTLED) {
                    source.stage = Stage::Done;
                    self.events.push_back(Event::Done(transfer.id));
                }
            }
            Stage::Done => {}
        }
    }

    /// The next content symbol of a source.
    pub(super) fn next_content(&mut self, now: Instant, transfer: &mut Transfer) -> Option<Body> {
        let mut source = transfer.source.take()?;
        let body = self.content(now, transfer, &mut source);
        transfer.source = Some(source);
        body
    }

    fn content(&mut self, now: Instant, transfer: &mut Transfer, source: &mut Source) -> Option<Body> {
        if !source.is_sending() || source.next_at > now || source.block >= transfer.header.blocks() {
            return None;
        }
        let (block, id) = (source.block, source.symbol);
        if id == 0 && !transfer.may_begin(now, block, self.config.lead) {
            source.is_held = true;
            return None;
        }
        let data = transfer.contents(block, &mut self.events)?.content(id)?;
        transfer.begun = transfer.begun.max(block + 1);
        source.symbol += 1;
        if source.symbol >= transfer.header.block_symbols(block) {
            (source.block, source.symbol) = (block + 1, 0);
        }
        source.sent += 1;
        // A radio that was busy for a while gets no burst afterwards.
        let earliest = now.saturating_since(Instant::ZERO).saturating_sub(BURST);
        source.next_at =
            source.next_at.max(Instant::ZERO + earliest) + Duration::from_secs_f64(1.0 / source.rate);
        Some(Body::Symbol(Symbol { transfer: transfer.id, block, id, data }))
    }
}

/// Time between two offers.
const OFFER_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two adjustments of the rate.
const ADJUST_INTERVAL: Duration = Duration::from_millis(200);
/// Backlog above which no content symbol leaves.
const MAX_BACKLOG: u32 = 16;
/// Shortest time between two decreases of the rate.
const DECREASE_INTERVAL: Duration = Duration::from_secs(1);
/// Time without a new receiver after which the source begins.
const GATHER: Duration = Duration::from_millis(1500);
/// Time without progress after which a source whose receivers have the file ends.
const SETTLED: Duration = Duration::from_secs(2);
/// Time without progress after which a receiver does not hold the source back.
const STALLED: Duration = Duration::from_secs(5);
/// Largest burst after a pause of the radio, as a time at the present rate.
const BURST: Duration = Duration::from_millis(10);
/// Lowest rate, symbols per second.
const MIN_RATE: f64 = 2.0;
/// Highest rate, symbols per second: 1 Gb/s.
const MAX_RATE: f64 = 100_000.0;
