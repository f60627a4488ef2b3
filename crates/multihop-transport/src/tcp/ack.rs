use multihop_core::{Duration, Instant};

use super::config::{AckRule, Config, DelayedAck};

/// When to acknowledge segments that have arrived.
#[derive(Clone, Debug)]
pub(super) struct AckState {
    rule: AckRule,
    delay: Duration,
    /// Up to this segment, each one is acknowledged.
    quick: u64,
    /// In-order segments not acknowledged yet.
    pending: u32,
    due: Due,
}

/// Whether an ACK must leave.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Due {
    /// Not now.
    No,
    /// Now; data may carry it.
    Now,
    /// Now, in a segment without data, because the sender counts these.
    Bare,
}

impl AckState {
    pub(super) fn new(config: &Config) -> Self {
        let rule = match config.ack_rule {
            AckRule::Delayed(DelayedAck::Linux) if config.window_max <= 2 => AckRule::Every,
            rule => rule,
        };
        Self { rule, delay: config.ack_delay, quick: config.quick_acks.into(), pending: 0, due: Due::No }
    }

    pub(super) fn due(&self) -> Due {
        self.due
    }

    /// An in-order segment arrived, the `number`-th of the stream from 1. Returns when the ACK must
    /// leave at the latest if it may wait.
    pub(super) fn on_in_order(&mut self, now: Instant, number: u64) -> Option<Instant> {
        self.pending += 1;
        if self.pending >= self.every(number) {
            self.ask();
            return None;
        }
        (self.pending == 1).then(|| now + self.delay)
    }

    /// Acknowledge at once.
    pub(super) fn ask(&mut self) {
        if self.due == Due::No {
            self.due = Due::Now;
        }
    }

    /// Acknowledge at once, in a segment of its own.
    pub(super) fn ask_bare(&mut self) {
        self.due = Due::Bare;
    }

    /// Whether data has arrived that is not acknowledged yet.
    pub(super) fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// An ACK has left.
    pub(super) fn on_sent(&mut self) {
        self.pending = 0;
        self.due = Due::No;
    }

    /// How many segments one ACK acknowledges.
    fn every(&self, number: u64) -> u32 {
        match self.rule {
            _ if number <= self.quick => 1,
            AckRule::Every => 1,
            AckRule::Delayed(_) => 2,
            AckRule::Dynamic => match number {
                0..2 => 1,
                2..5 => 2,
                5..9 => 3,
                _ => 4,
            },
        }
    }
}
