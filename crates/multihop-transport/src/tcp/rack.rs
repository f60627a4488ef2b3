//! Detection of lost segments among the recorded transmissions: by time, with a probe for the last segment of
//! a flight (RACK-TLP, RFC 8985), or by count, for a control that measures rates without RACK.

use multihop_core::{Duration, Instant};

use super::TcpEnd;
use super::timer::Timer;
use super::transmissions::{Sent, Transmissions};
use super::undo::Undo;
use crate::congestion::{AckKind, RateSample};

/// Detects lost segments by time (RACK).
#[derive(Clone, Debug, Default)]
pub(super) struct Rack {
    /// The segment that left last among those delivered (`RACK.xmit_ts`, `RACK.end_seq`).
    newest: Option<Sent>,
    /// Round trip of the newest segment delivered.
    rtt: Duration,
    /// The highest position delivered (`RACK.fack`).
    furthest: u64,
    reordering_seen: bool,
    /// The reordering window, in quarters of the shortest round trip.
    quarters: u32,
    /// Number of further recoveries for which the widened reordering window remains.
    persists: u8,
    /// Position that must be acknowledged before further duplicates widen the window again.
    widened_until: u64,
    /// Unacknowledged tail loss probe: the end of the data sent before it, and whether the probe was a
    /// retransmission.
    tail: Option<(u64, bool)>,
    /// Whether a tail loss probe must be sent.
    pub(super) tail_due: bool,
    /// Departure times of the three delivered segments that were sent last, in ascending order; only without RACK.
    departures: [Departure; DUP_THRESHOLD],
}

/// Key of the order of departures: departure time of a segment, and the position of its end.
type Departure = (Instant, u64);

impl Rack {
    /// Records a delivered segment (RFC 8985 §6.2, steps 1 to 3). `before` is the highest position that
    /// earlier ACKs have delivered. The segments that a single ACK delivers prove no reordering among
    /// themselves.
    fn on_delivered(&mut self, sent: &Sent, before: u64) {
        self.furthest = self.furthest.max(sent.end);
        self.reordering_seen |= sent.end < before && !sent.again;
    }

    fn on_newest(&mut self, now: Instant, sent: &Sent, min_rtt: Option<Duration>) {
        let rtt = now.saturating_since(sent.at);
        // The ACK may be for the first transmission.
        if sent.again && min_rtt.is_none_or(|least| rtt < least) {
            return;
        }
        self.rtt = rtt;
        if self.newest.is_none_or(|newest| sent.left_after(&newest)) {
            self.newest = Some(*sent);
        }
    }

    /// Records the departure of a delivered segment, unless the ACK may belong to an earlier transmission.
    fn count_delivered(&mut self, now: Instant, sent: &Sent, min_rtt: Option<Duration>) {
        let is_ambiguous = sent.again && min_rtt.is_none_or(|least| now.saturating_since(sent.at) < least);
        let departure = sent.departure();
        if is_ambiguous || departure <= self.departures[0] {
            return;
        }
        self.departures[0] = departure;
        self.departures.sort_unstable();
    }

    /// Marks segments as lost that left earlier than three delivered segments (as in RFC 9002 §6.1.1).
    /// Returns the number of bytes marked.
    // DEVIATION tcp-11: `bbr` and `bbr3` without `rack` find lost retransmissions by RFC 9002 (6.1.1). Under RFC 6675
    // a lost retransmission waits for the timeout.
    fn detect_by_count(&self, sent: &mut Transmissions) -> u64 {
        sent.lose(|old| old.departure() < self.departures[0])
    }

    /// Time for which a segment may be reordered before it counts as lost (RFC 8985 §6.2 step 4).
    fn window(&self, recovers: bool, sent: &Transmissions, srtt: Option<Duration>) -> Duration {
        if !self.reordering_seen && (recovers || sent.sacked() >= DUP_THRESHOLD) {
            return Duration::ZERO;
        }
        let window = sent.min_rtt().unwrap_or(Duration::ZERO) / 4 * u64::from(self.quarters.max(1));
        window.min(srtt.unwrap_or(Duration::ZERO))
    }

    /// Widens the reordering window after a duplicate that the peer reports (RFC 8985 §6.2 step 4).
    fn on_duplicate(&mut self, una: u64, next: u64) {
        if una >= self.widened_until {
            self.widened_until = next;
            self.quarters = self.quarters.max(1) + 1;
            self.persists = PERSISTENCE;
        }
    }

    fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.quarters = 1;
        }
    }

    /// Marks segments as lost that left earlier than a delivered one by a round trip and the reordering
    /// window (RFC 8985 §6.2 step 5). Returns the number of bytes marked, and the instant at which more
    /// segments will count as lost.
    fn detect(&self, now: Instant, window: Duration, sent: &mut Transmissions) -> (u64, Option<Instant>) {
        let Some(newest) = self.newest else { return (0, None) };
        let patience = self.rtt + window;
        let bytes = sent.lose(|old| newest.left_after(old) && old.at + patience <= now);
        let waiting = sent.iter().filter(|old| !old.sacked && !old.lost && newest.left_after(old));
        (bytes, waiting.map(|old| old.at + patience).max())
    }
}

impl TcpEnd {
    /// Whether losses are found by time.
    pub(super) fn uses_rack(&self) -> bool {
        self.transmissions.is_some() && self.config.rack && self.sack
    }

    /// Whether losses are marked in the list of transmissions: by time with RACK, or by count if only rates
    /// are measured. Such a control learns of losses from that list.
    pub(super) fn marks_losses(&self) -> bool {
        self.transmissions.is_some() && self.sack
    }

    /// Updates the list of transmissions with the ranges of the peer's SACK option and cumulative ACK.
    pub(super) fn note_deliveries(
        &mut self,
        now: Instant,
        una: u64,
        ranges: impl Iterator<Item = (u64, u64)>,
    ) {
        let by_count = !self.uses_rack();
        let Some(sent) = &mut self.transmissions else { return };
        let rack = &mut self.rack;
        let (min_rtt, furthest) = (sent.min_rtt(), rack.furthest);
        let deliver = |rack: &mut Rack, one: &Sent| {
            rack.on_delivered(one, furthest);
            if by_count {
                rack.count_delivered(now, one, min_rtt);
            }
        };
        for (start, end) in ranges {
            sent.on_sack(now, start, end, |one| deliver(rack, one));
        }
        if una > self.send.una {
            sent.on_ack(now, una, |one| deliver(rack, one));
        }
        let (newest, min_rtt) = (sent.newest().copied(), sent.min_rtt());
        if let Some(newest) = newest {
            rack.on_newest(now, &newest, min_rtt);
        }
    }

    /// Records a duplicate that the peer reports (D-SACK), which widens the reordering window.
    pub(super) fn note_duplicate(&mut self, range: (u64, u64)) {
        self.rack.on_duplicate(self.send.una, self.send.next);
        if let Some(undo) = &mut self.undo {
            undo.on_duplicate(range, self.mss);
        }
        if let Some((_, true)) = self.rack.tail {
            // §7.4.2: the duplicate shows that the last segment and the probe arrived.
            self.rack.tail = None;
        }
    }

    /// Detects losses, and begins fast recovery if there are any.
    pub(super) fn detect_losses(&mut self, now: Instant) {
        if !self.marks_losses() {
            return;
        }
        let bytes = if self.uses_rack() { self.detect_by_time(now) } else { self.detect_by_count() };
        if bytes > 0 && !self.recovery.active && self.send.una >= self.recovery.recover {
            self.enter_recovery(now);
        }
    }

    fn detect_by_count(&mut self) -> u64 {
        self.transmissions.as_mut().map_or(0, |sent| self.rack.detect_by_count(sent))
    }

    fn detect_by_time(&mut self, now: Instant) -> u64 {
        let srtt = self.rtt.srtt();
        let recovers = self.recovery.active || self.send.una < self.recovery.recover;
        let Some(sent) = &mut self.transmissions else { return 0 };
        let window = self.rack.window(recovers, sent, srtt);
        let (bytes, later) = self.rack.detect(now, window, sent);
        match later {
            Some(at) => self.timers.set(Timer::Reorder, at),
            None => self.timers.stop(Timer::Reorder),
        }
        bytes
    }

    /// Marks segments as lost after an expired retransmission timer (RFC 8985 §6.3): the first segment, and
    /// those that left more than a round trip ago. Without RACK it marks all segments.
    pub(super) fn lose_all(&mut self, now: Instant) {
        let (una, patience) = (self.send.una, self.rack.rtt);
        let by_time = self.uses_rack();
        if let Some(sent) = &mut self.transmissions {
            sent.renege();
            sent.lose(|one| !by_time || one.start == una || one.at + patience <= now);
        }
        self.rack.tail = None;
        self.rack.tail_due = false;
        self.timers.stop(Timer::Reorder);
        self.timers.stop(Timer::Tail);
    }

    /// Handles the end of the reordering window: segments that have not arrived by now are lost (RFC 8985 §6.2 step 5).
    pub(super) fn on_reorder_timer(&mut self, now: Instant) {
        if let Some(sent) = &mut self.transmissions {
            sent.begin_ack();
        }
        let recovered = self.recovery.active;
        self.detect_losses(now);
        if self.recovery.active && !recovered {
            self.reduce_by_timer();
        }
        self.give_sample(now);
    }

    /// Reports to the congestion control what an ACK measures of the path.
    fn give_sample(&mut self, now: Instant) {
        let is_recovering = self.recovery.active || self.send.una < self.recovery.recover;
        if let Some(sent) = &mut self.transmissions {
            let sample = RateSample { is_recovering, ..sent.sample() };
            self.congestion.control_mut().on_rate_sample(now, &sample);
        }
    }

    /// Chooses the next segment if losses are marked in the list of transmissions: lost segments come before
    /// new data.
    pub(super) fn choose_lost_or_new(&self) -> Option<(u64, u32)> {
        let sent = self.transmissions.as_ref()?;
        let allowed = self.congestion.control().window();
        let window = match self.recovery.prr {
            Some(prr) => prr.window(),
            None if self.recovery.active => allowed.cwnd().into(),
            None => allowed.total().into(),
        };
        let room = window.saturating_sub(sent.in_flight());
        let ahead = (self.send.next - self.send.una).saturating_add(room);
        let new = || self.choose_next(u32::try_from(ahead).unwrap_or(u32::MAX).min(self.bound()));
        if self.undo.as_ref().is_some_and(Undo::prefers_new)
            && let Some(new) = new()
        {
            return Some(new);
        }
        if let Some(lost) = sent.first_lost() {
            let end = lost.end.min(self.send.queue.end());
            let len = self.up_to_mss(end.saturating_sub(lost.start));
            // The first retransmission leaves at once (RFC 6675 §5 step 4.3).
            let fits = self.recovery.resend || u64::from(len) <= room || sent.in_flight() == 0;
            return fits.then_some((lost.start, len));
        }
        new()
    }

    /// Updates recovery after an ACK: detects losses, ends a completed recovery, and handles or reschedules
    /// the probe of the tail.
    pub(super) fn after_ack(&mut self, now: Instant, kind: Option<AckKind>) {
        self.detect_losses(now);
        self.reduce_by_ack(kind.is_some());
        self.give_sample(now);
        if !self.uses_rack() {
            return;
        }
        if kind == Some(AckKind::Full) {
            self.rack.on_recovered();
        }
        if let Some((end, again)) = self.rack.tail
            && self.send.una >= end
        {
            self.rack.tail = None;
            // §7.4.2: the probe repaired a loss that nothing else has shown; otherwise the peer would have
            // reported a duplicate.
            if again && !self.recovery.active {
                let flight = self.mss.max(self.flight());
                self.congestion.control_mut().on_congestion(now, flight);
            }
        }
        self.start_tail_timer(now);
    }

    /// Starts the timer of a tail loss probe, if one may be sent (RFC 8985 §7.2).
    pub(super) fn start_tail_timer(&mut self, now: Instant) {
        let recovers = self.recovery.active || self.send.una < self.recovery.recover;
        let is_idle = self.send.una == self.send.max;
        let is_reported = self.transmissions.as_ref().is_some_and(|sent| sent.sacked() > 0);
        if !self.uses_rack() || self.rack.tail.is_some() || recovers || is_idle || is_reported {
            self.timers.stop(Timer::Tail);
            return;
        }
        let Some(srtt) = self.rtt.srtt() else { return };
        let alone = self.send.max - self.send.una <= u64::from(self.mss);
        let wait = srtt * 2 + if alone { MAX_ACK_DELAY } else { Duration::ZERO };
        let at = now + wait;
        if self.timers.at(Timer::Retransmit).is_some_and(|timeout| at < timeout) {
            self.timers.set(Timer::Tail, at);
        } else {
            self.timers.stop(Timer::Tail);
        }
    }

    /// Chooses the contents of a tail loss probe: new data, or without new data the last segment again (RFC
    /// 8985 §7.3).
    pub(super) fn choose_tail(&mut self) -> Option<(u64, u32)> {
        self.rack.tail_due = false;
        let new = self.choose_next(self.bound()).filter(|&(position, _)| position >= self.send.max);
        let last = || {
            let sent = self.transmissions.as_ref()?.iter().next_back()?;
            let end = sent.end.min(self.send.queue.end());
            Some((
                sent.start,
                u32::try_from(end.saturating_sub(sent.start)).unwrap_or(u32::MAX).min(self.mss),
            ))
        };
        let chosen = new.or_else(last)?;
        self.rack.tail = Some((self.send.max.max(chosen.0 + u64::from(chosen.1)), new.is_none()));
        Some(chosen)
    }
}

/// Number of duplicate ACKs that show a loss (RFC 5681 §3.2).
const DUP_THRESHOLD: usize = 3;
/// Number of recoveries without a duplicate after which the reordering window is narrow again (RFC 8985 §6.2 step 4).
const PERSISTENCE: u8 = 16;
/// Longest time for which a peer may delay an ACK (RFC 8985 §7.2). RFC 9293 allows 500 ms; Linux delays by 200 ms at
/// most.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
