use multihop_core::{Duration, Instant};

use super::ato::Ato;
use super::config::{AckRule, Config, DelayedAck};
use crate::rtt::RttEstimator;

/// Decides when the receiver acknowledges arrived segments.
#[derive(Clone, Debug)]
pub(super) struct AckState {
    rule: AckRule,
    delay: Duration,
    /// Number of segments at the start of a connection that are acknowledged at once.
    quick: u64,
    /// Number of in-order segments not acknowledged yet, and their bytes.
    pending: u32,
    bytes: u64,
    /// Arrival of the first of the segments that wait for an ACK.
    since: Instant,
    /// Shortest round trip that this end has measured.
    shortest: Option<Duration>,
    /// Timer of delayed ACKs that follows the time between segments, if configured.
    ato: Option<Ato>,
    due: Due,
}

/// A segment that arrived in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct InOrder {
    /// Index of the segment in the stream, from 1.
    pub(super) number: u64,
    pub(super) bytes: u64,
    /// Bytes of a full segment.
    pub(super) mss: u32,
    /// Whether the sender has no more data for now, and the application has read the segment.
    pub(super) pushed: bool,
}

/// Urgency of a pending ACK.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Due {
    /// No ACK must leave now.
    No,
    /// An ACK must leave now; a data segment may include it.
    Now,
    /// An ACK must leave now in a segment without data, because the sender counts duplicate ACKs.
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
        Self {
            rule,
            delay: config.ack_delay,
            quick,
            pending: 0,
            bytes: 0,
            since: Instant::ZERO,
            shortest: None,
            ato,
            due: Due::No,
        }
    }

    pub(super) fn due(&self) -> Due {
        self.due
    }

    /// Records the arrival of in-order data, whether its ACK may wait or not.
    pub(super) fn on_arrival(&mut self, now: Instant, rtt: &RttEstimator) {
        if let Some(ato) = &mut self.ato {
            ato.on_segment(now, rtt.rto());
        }
    }

    /// Counts an in-order segment whose ACK may wait. Returns the latest instant for its ACK, or `None` if
    /// the ACK is due now.
    pub(super) fn on_in_order(
        &mut self,
        now: Instant,
        segment: InOrder,
        rtt: &RttEstimator,
    ) -> Option<Instant> {
        self.pending += 1;
        self.bytes += segment.bytes;
        if self.pending == 1 {
            self.since = now;
        }
        let has_enough = match &self.ato {
            Some(ato) => self.bytes > segment.mss.into() || ato.is_quick(segment.pushed),
            None => self.pending >= self.every(segment.number),
        };
        if has_enough {
            let earliest = self.since + self.interval(rtt);
            if now >= earliest {
                self.ask();
                return None;
            }
            return Some(earliest);
        }
        let delay = self.ato.as_ref().map_or(self.delay, |ato| ato.delay(rtt));
        (self.pending == 1).then(|| now + delay)
    }

    /// Requests an immediate ACK for data that had arrived before.
    pub(super) fn on_duplicate(&mut self) {
        if let Some(ato) = &mut self.ato {
            ato.on_duplicate();
        }
    }

    /// Records that a data segment leaves at `now`, which includes the acknowledgement.
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        if let Some(ato) = &mut self.ato {
            ato.on_data_sent(now);
        }
    }

    /// Makes an ACK due, because the timer of delayed ACKs has expired.
    pub(super) fn on_expired(&mut self, rtt: &RttEstimator) {
        if let Some(ato) = &mut self.ato {
            ato.on_expired(rtt.rto());
        }
        self.ask();
    }

    /// Acknowledges segments of the handshake at once: a kernel acknowledges the answer to its SYN before the
    /// application can send.
    pub(super) fn on_syn(&mut self) {
        if self.ato.is_some() {
            self.ask_bare();
        } else {
            self.ask();
        }
    }

    /// Requests an ACK that leaves at once, possibly in a data segment.
    pub(super) fn ask(&mut self) {
        if self.due == Due::No {
            self.due = Due::Now;
        }
    }

    /// Requests an ACK that leaves at once, in a segment without data.
    pub(super) fn ask_bare(&mut self) {
        self.due = Due::Bare;
    }

    /// Whether data has arrived that is not acknowledged yet.
    pub(super) fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// Records that an ACK has left.
    pub(super) fn on_sent(&mut self) {
        if let Some(ato) = &mut self.ato
            && (self.pending > 0 || self.due != Due::No)
        {
            ato.on_ack_sent();
        }
        (self.pending, self.bytes) = (0, 0);
        self.due = Due::No;
    }

    /// Shortest time between the first segment that an ACK acknowledges and the ACK.
    fn interval(&mut self, rtt: &RttEstimator) -> Duration {
        if self.rule != AckRule::Tack {
            return Duration::ZERO;
        }
        self.shortest = self.shortest.into_iter().chain(rtt.latest()).min();
        self.shortest.unwrap_or_default() / TACKS
    }

    /// Number of segments per ACK at this position of the stream.
    fn every(&self, number: u64) -> u32 {
        match self.rule {
            _ if number <= self.quick => 1,
            AckRule::Every => 1,
            AckRule::Delayed(_) | AckRule::Tack => 2,
            AckRule::Dynamic => match number {
                0..2 => 1,
                2..5 => 2,
                5..9 => 3,
                _ => 4,
            },
        }
    }
}

/// Largest number of ACKs per round trip with TACK.
const TACKS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Times in ms at which TACK sends ACKs for segments that arrive at these times; the round trip is 80 ms.
    fn acks(arrivals: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let config = Config { ack_rule: AckRule::Tack, ack_delay: ms(100), ..Config::rfc() };
        let mut rtt = RttEstimator::new(config.rto);
        rtt.sample(ms(80));
        let mut ack = AckState::new(&config);
        let (mut timer, mut found) = (None, Vec::new());
        for (number, at) in (1..).zip(arrivals) {
            let now = Instant::ZERO + ms(at);
            if let Some(due) = timer.take_if(|due| *due <= now) {
                found.push(due);
                ack.on_sent();
            }
            let segment = InOrder { number, bytes: 1460, mss: 1460, pushed: false };
            timer = ack.on_in_order(now, segment, &rtt).or(timer);
            if ack.due() == Due::Now {
                (timer, _) = (None, found.push(now));
                ack.on_sent();
            }
        }
        found.into_iter().chain(timer).map(|at| at.as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn fast_segments_have_four_acks_in_a_round_trip_and_slow_ones_an_ack_for_two() {
        assert_eq!(acks((0..60).map(|n| n + 1)), [21, 41, 61], "a segment in each millisecond");
        assert_eq!(acks([0, 30, 60, 90]), [30, 90], "two segments in 30 ms");
        assert_eq!(acks([0]), [100], "a single segment waits for the delay");
    }
}
