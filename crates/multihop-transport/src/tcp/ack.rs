use multihop_core::{Duration, Instant};

use super::ato::Ato;
use super::config::{AckRule, Config, DelayedAck};
use crate::rtt::RttEstimator;

/// When to acknowledge segments that have arrived.
#[derive(Clone, Debug)]
pub(super) struct AckState {
    rule: AckRule,
    delay: Duration,
    /// Up to this segment, each one is acknowledged.
    quick: u64,
    /// In-order segments not acknowledged yet, and their bytes.
    pending: u32,
    bytes: u64,
    /// If the delay follows the time between segments.
    ato: Option<Ato>,
    due: Due,
}

/// A segment that arrived in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct InOrder {
    /// Its place in the stream, from 1.
    pub(super) number: u64,
    pub(super) bytes: u64,
    /// Bytes of a full segment.
    pub(super) mss: u32,
    /// The sender has no more for now, and the application has read it.
    pub(super) pushed: bool,
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
        let most = config.ack_delay_max.filter(|_| matches!(rule, AckRule::Delayed(_)));
        let ato = most.map(|most| Ato::new(config.ack_delay, most, config.quick_acks.into()));
        let quick = config.quick_acks.into();
        Self { rule, delay: config.ack_delay, quick, pending: 0, bytes: 0, ato, due: Due::No }
    }

    pub(super) fn due(&self) -> Due {
        self.due
    }

    /// Data arrived in order, whether its ACK may wait or not.
    pub(super) fn on_arrival(&mut self, now: Instant, rtt: &RttEstimator) {
        if let Some(ato) = &mut self.ato {
            ato.on_segment(now, rtt.rto());
        }
    }

    /// An in-order segment arrived whose ACK may wait. Returns when the ACK must leave at the latest if it does.
    pub(super) fn on_in_order(
        &mut self,
        now: Instant,
        segment: InOrder,
        rtt: &RttEstimator,
    ) -> Option<Instant> {
        self.pending += 1;
        self.bytes += segment.bytes;
        let is_due = match &self.ato {
            Some(ato) => self.bytes > segment.mss.into() || ato.is_quick(segment.pushed),
            None => self.pending >= self.every(segment.number),
        };
        if is_due {
            self.ask();
            return None;
        }
        let delay = self.ato.as_ref().map_or(self.delay, |ato| ato.delay(rtt));
        (self.pending == 1).then(|| now + delay)
    }

    /// Data arrived that had arrived before.
    pub(super) fn on_duplicate(&mut self) {
        if let Some(ato) = &mut self.ato {
            ato.on_duplicate();
        }
    }

    /// Data leaves.
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        if let Some(ato) = &mut self.ato {
            ato.on_data_sent(now);
        }
    }

    /// The delay is over.
    pub(super) fn on_expired(&mut self, rtt: &RttEstimator) {
        if let Some(ato) = &mut self.ato {
            ato.on_expired(rtt.rto());
        }
        self.ask();
    }

    /// The answer to our SYN arrived. A kernel acknowledges it before the application can send.
    pub(super) fn on_syn(&mut self) {
        if self.ato.is_some() {
            self.ask_bare();
        } else {
            self.ask();
        }
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
        if let Some(ato) = &mut self.ato
            && (self.pending > 0 || self.due != Due::No)
        {
            ato.on_ack_sent();
        }
        (self.pending, self.bytes) = (0, 0);
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
