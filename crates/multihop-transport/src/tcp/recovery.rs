//! Loss recovery (RFC 5681, RFC 6582, RFC 6675).

use multihop_core::{Duration, Instant};

use super::timer::Timer;
use super::{Event, TcpEnd};
use crate::congestion::start::PartialAckTimer;
use crate::congestion::{Ack, AckKind};

impl TcpEnd {
    /// Handles a duplicate ACK (RFC 5681 §2).
    pub(super) fn on_dup_ack(&mut self, now: Instant) {
        self.counters.dup_acks += 1;
        self.recovery.dup_acks = self.recovery.dup_acks.saturating_add(1);
        self.recovery.burst = 0;
        if self.marks_losses() {
            // Losses are detected in the list of transmissions instead.
        } else if self.recovery.active {
            if !self.sack {
                // RFC 5681 §3.2 step 4
                self.congestion.control_mut().on_dup_ack(now);
            }
        } else if self.recovery.dup_acks >= DUP_THRESHOLD || self.lost_by_sack() {
            self.enter_recovery(now);
        }
    }

    /// Handles an ACK of new data: all data before `una`. `round_trip` is the round trip that the ACK
    /// completed, if measured.
    pub(super) fn on_new_ack(&mut self, now: Instant, una: u64, round_trip: Option<Duration>) -> AckKind {
        let acked = una - self.send.una;
        self.send.una = una;
        self.send.next = self.send.next.max(una);
        self.recovery.board.advance(una);
        self.recovery.dup_acks = 0;
        self.recovery.burst = 0;
        self.recovery.timeout_at = None;
        self.retries = 0;
        let freed = self.send.queue.release(una);
        if freed > 0 {
            self.counters.bytes_acked += freed;
            self.emit(Event::Acked(freed));
        }
        let kind = self.ack_kind(una);
        let acked = u32::try_from(acked).unwrap_or(u32::MAX);
        if !(kind == AckKind::Partial && self.sack) {
            let srtt = self.rtt.srtt();
            let counted = self.counted(acked);
            let ack = Ack { acked, counted, flight: self.flight(), kind, round_trip, srtt };
            self.congestion.control_mut().on_ack(now, &ack);
        }
        self.rearm_after_ack(now, kind);
        kind
    }

    /// Bytes by which an ACK lets the window grow: `acked`, or with byte counting only the bytes that SACK
    /// has not reported before.
    fn counted(&self, acked: u32) -> u32 {
        match &self.transmissions {
            Some(sent) if self.config.byte_counting => u32::try_from(sent.newly().0).unwrap_or(u32::MAX),
            _ => acked,
        }
    }

    fn ack_kind(&mut self, una: u64) -> AckKind {
        if !self.recovery.active {
            return AckKind::Normal;
        }
        let goes_on = self.sack || self.congestion.control().continues_after_partial_ack();
        if goes_on && una < self.recovery.recover {
            self.recovery.partial_acks += 1;
            // RFC 6582 §3.2 step 5: retransmit the next segment. With SACK the scoreboard shows the missing
            // data.
            self.recovery.resend = !self.sack;
            return AckKind::Partial;
        }
        self.recovery.leave();
        AckKind::Full
    }

    fn rearm_after_ack(&mut self, now: Instant, kind: AckKind) {
        let impatient = self.config.newreno.timer == PartialAckTimer::Impatient && !self.sack;
        if self.send.una == self.send.max {
            // RFC 6298 §5.2
            self.timers.stop(Timer::Retransmit);
        } else if kind == AckKind::Partial && impatient && self.recovery.partial_acks > 1 {
            // RFC 6582 §4: the timer keeps the deadline set by the first partial ACK.
        } else {
            // RFC 6298 §5.3
            self.restart_retransmit_timer(now);
        }
    }

    fn lost_by_sack(&self) -> bool {
        self.sack && self.recovery.board.is_lost(self.send.una, self.mss)
    }

    pub(super) fn enter_recovery(&mut self, now: Instant) {
        // RFC 6582 §3.2 step 2: segments that the last recovery or timeout has already retransmitted start no
        // recovery.
        let repaired = self.recovery.recover;
        if !self.marks_losses() && (self.send.una < repaired || (self.send.una == repaired && !self.sack)) {
            return;
        }
        self.recovery.recover = self.send.max;
        self.recovery.active = true;
        self.recovery.resend = true;
        self.recovery.partial_acks = 0;
        self.recovery.board.start_recovery(self.send.una);
        self.counters.fast_retransmits += 1;
        // Karn: an ACK may cover the timed segment and a retransmitted one.
        self.timed = None;
        // RFC 5681 §3.2 step 2: segments sent by limited transmit do not count.
        let flight = self.flight().min(self.congestion.control().window().total());
        self.note_reduction();
        self.start_reduction(flight);
        self.congestion.control_mut().on_loss(now, flight);
        self.restart_retransmit_timer(now);
    }
}

/// Number of duplicate ACKs that begin fast retransmit (RFC 5681 §3.2).
const DUP_THRESHOLD: u32 = 3;
