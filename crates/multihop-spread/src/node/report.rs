//! Progress of receivers, which travels towards the source.

use multihop_core::{Duration, Instant};

use super::transfer::Transfer;
use super::{Event, Node};
use crate::packet::{Body, MAX_PACKET, Progress, REFUSED};

/// A receiver of a file, as far as this node knows.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Number of leading whole blocks; one more than the file has once the file is verified; or [`REFUSED`].
    pub blocks: u32,
    /// Name of the receiver, for people.
    pub name: String,
    /// Progress that a node closer to the source is known to have.
    confirmed: Option<u32>,
    /// Whether this node must forward the progress.
    is_ours: bool,
    /// When to send the progress again, and the wait after that.
    again: Instant,
    wait: Duration,
    /// When the progress has grown.
    pub(super) grown: Instant,
    /// Whether the receiver joined far behind the source and has not caught up.
    pub(super) is_late: bool,
}

impl Receiver {
    /// Whether the receiver does not take the file.
    pub fn has_refused(&self) -> bool {
        self.blocks == REFUSED
    }

    fn is_unconfirmed(&self) -> bool {
        self.is_ours && self.confirmed.is_none_or(|confirmed| confirmed < self.blocks)
    }
}

impl Transfer {
    /// The receivers that this node knows.
    pub(super) fn receivers(&self) -> impl Iterator<Item = (u64, &Receiver)> {
        self.receivers.iter().map(|(id, receiver)| (*id, receiver))
    }

    /// Arms the timer of reports if one must be sent.
    fn schedule_report(&mut self, earliest: Instant) {
        let next = self.receivers.values().filter(|receiver| receiver.is_unconfirmed());
        self.report_at = next.map(|receiver| receiver.again.max(earliest)).min();
    }

    /// Notes the progress of a receiver; returns whether it has grown.
    fn grow(&mut self, now: Instant, lead: u32, progress: &Progress) -> bool {
        let Progress { receiver, blocks, name } = progress;
        let is_late = |blocks: u32, begun: u32| begun > blocks.saturating_add(lead);
        if !self.receivers.contains_key(receiver) {
            if self.receivers.len() >= MAX_RECEIVERS {
                return false;
            }
            let new = Receiver {
                blocks: *blocks,
                name: name.clone(),
                confirmed: None,
                is_ours: false,
                again: now,
                wait: REPORT_WAIT,
                grown: now,
                is_late: is_late(*blocks, self.begun),
            };
            self.receivers.insert(*receiver, new);
            return true;
        }
        let begun = self.begun;
        let known = self.receivers.get_mut(receiver).expect("it is there");
        if *blocks <= known.blocks {
            return false;
        }
        known.blocks = *blocks;
        known.grown = now;
        known.again = now;
        known.wait = REPORT_WAIT;
        known.is_late &= is_late(*blocks, begun);
        true
    }
}

impl Node {
    /// Notes the progress of this node.
    pub(super) fn update_own(&mut self, now: Instant, transfer: &mut Transfer) {
        let Some(blocks) = transfer.progress().filter(|_| transfer.source.is_none()) else { return };
        let progress = Progress { receiver: self.config.receiver, blocks, name: self.config.name.clone() };
        if transfer.grow(now, self.config.lead, &progress) {
            self.events.push_back(Event::Progress(transfer.id));
        }
        if let Some(own) = transfer.receivers.get_mut(&self.config.receiver) {
            own.is_ours = true;
        }
        self.arm_report(now, transfer);
    }

    /// Handles the report of a neighbour at a distance from the source.
    pub(super) fn receive_report(
        &mut self,
        now: Instant,
        transfer: &mut Transfer,
        distance: u8,
        receivers: &[Progress],
    ) {
        let (own, is_source) = (transfer.distance, transfer.source.is_some());
        for progress in receivers {
            if progress.receiver == self.config.receiver {
                // Nobody but this node can have news of it.
                Self::confirm(now, transfer, distance, progress);
                continue;
            }
            if transfer.grow(now, self.config.lead, progress) {
                self.events.push_back(Event::Progress(transfer.id));
            }
            let Some(known) = transfer.receivers.get_mut(&progress.receiver) else { continue };
            known.is_ours |= distance > own;
            if is_source && progress.blocks <= known.blocks {
                // The node repeats it because it has not heard the confirmation.
                known.confirmed = None;
                known.again = known.again.min(now);
            } else {
                Self::confirm(now, transfer, distance, progress);
            }
        }
        self.arm_report(now, transfer);
    }

    /// Handles a receiver's progress in a neighbour's report: a neighbour closer to the source has it, and one at the same distance
    /// is sending it, so that this node postpones its own.
    fn confirm(now: Instant, transfer: &mut Transfer, distance: u8, progress: &Progress) {
        let own = transfer.distance;
        let Some(known) = transfer.receivers.get_mut(&progress.receiver) else { return };
        if distance < own {
            known.confirmed = known.confirmed.max(Some(progress.blocks));
        } else if distance == own && progress.blocks >= known.blocks {
            known.again = known.again.max(now + known.wait);
        }
    }

    fn arm_report(&mut self, now: Instant, transfer: &mut Transfer) {
        if transfer.report_at.is_none() {
            let jitter = REPORT_INTERVAL / 2 + self.rng.duration_below(REPORT_INTERVAL / 2);
            transfer.schedule_report(now + jitter);
        }
    }

    /// Sends the progress of receivers that nodes closer to the source may not have.
    pub(super) fn report(&mut self, now: Instant, transfer: &mut Transfer) {
        if transfer.report_at.is_none_or(|at| at > now) {
            return;
        }
        let (mut receivers, mut length) = (Vec::new(), REPORT_HEADER);
        let is_source = transfer.source.is_some();
        for (id, receiver) in &mut transfer.receivers {
            if !receiver.is_unconfirmed() || receiver.again > now {
                continue;
            }
            let (blocks, name) = (receiver.blocks, receiver.name.clone());
            let progress = Progress { receiver: *id, blocks, name };
            if length + progress.len() > MAX_PACKET {
                break;
            }
            length += progress.len();
            receivers.push(progress);
            if is_source {
                receiver.confirmed = Some(blocks);
            }
            receiver.again = now + receiver.wait + self.rng.duration_below(receiver.wait);
            receiver.wait = (receiver.wait * 2).min(MAX_REPORT_WAIT);
        }
        if !receivers.is_empty() {
            self.push(Body::Report { transfer: transfer.id, receivers });
        }
        transfer.report_at = None;
        self.arm_report(now, transfer);
    }

    /// A new source knows no receivers: all must report again.
    pub(super) fn restart(&mut self, now: Instant, transfer: &mut Transfer) {
        transfer.forget_seen();
        for receiver in transfer.receivers.values_mut() {
            receiver.confirmed = None;
            receiver.again = now;
            receiver.wait = REPORT_WAIT;
        }
        transfer.report_at = None;
        self.arm_report(now, transfer);
    }
}

/// Mean time between two reports of a node is three quarters of this.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which an unconfirmed entry is sent again for the first time; up to twice as long.
const REPORT_WAIT: Duration = Duration::from_secs(1);
/// Longest time after which an unconfirmed entry is sent again; up to twice as long.
const MAX_REPORT_WAIT: Duration = Duration::from_secs(8);
/// Largest number of receivers of which a node remembers the progress.
const MAX_RECEIVERS: usize = 1024;
/// Bytes of a report without entries.
const REPORT_HEADER: usize = 11;
