//! List of the segments in flight, each with its departure time and the number of bytes delivered by then.
//! Delivery rates (draft-cheng-iccrg-delivery-rate-estimation) and loss detection by time (`rack.rs`) are
//! computed from this list.

use alloc::collections::VecDeque;

use multihop_core::{Duration, Instant};

use crate::congestion::{LostFlight, RateSample};

/// The segments in flight, oldest position first, without gaps.
#[derive(Clone, Debug)]
pub(super) struct Transmissions {
    segments: VecDeque<Sent>,
    /// Bytes delivered since the connection began (`C.delivered`), and the time of the last delivery.
    delivered: u64,
    delivered_at: Instant,
    /// Departure of the newest delivered segment (`C.first_sent_time`).
    first_sent: Instant,
    /// Number of delivered bytes until which the application limits the rate (`C.app_limited`).
    limited_until: Option<u64>,
    /// Bytes considered lost since the connection began (`C.lost`).
    lost: u64,
    /// Bytes neither delivered nor lost.
    in_flight: u64,
    /// Segments of the list that SACK has reported (RFC 8985 §6.2, `RACK.segs_sacked`).
    sacked: usize,
    /// Shortest round trip of a segment so far.
    min_rtt: Option<Duration>,
    ack: Delivery,
}

/// A segment in flight, with the state of the connection at its departure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Time at which the segment left last.
    pub(super) at: Instant,
    pub(super) again: bool,
    pub(super) sacked: bool,
    pub(super) lost: bool,
    /// Bytes that the connection had delivered when the segment left last.
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    lost_before: u64,
    limited: bool,
    /// Bytes in flight when the segment left, including the segment (`P.tx_in_flight`).
    in_flight: u64,
}

/// Deliveries and losses that the current ACK has reported so far.
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    newly: u64,
    newly_lost: u64,
    prior_in_flight: u64,
    newest: Option<Sent>,
    /// End of the first delivered segment that left only once.
    original: Option<u64>,
    last_lost: Option<Sent>,
    round_trip: Option<Duration>,
}

impl Sent {
    fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether the segment counts as being in the network.
    fn flies(&self) -> bool {
        !self.sacked && !self.lost
    }

    /// Key of the order of departures: last departure of the segment, and its end position.
    pub(super) fn departure(&self) -> (Instant, u64) {
        (self.at, self.end)
    }

    /// Whether the segment left after `other` (RFC 8985 §6.2, `RACK_sent_after`).
    pub(super) fn left_after(&self, other: &Self) -> bool {
        self.departure() > other.departure()
    }
}

impl Transmissions {
    pub(super) fn new() -> Self {
        Self {
            segments: VecDeque::new(),
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            limited_until: None,
            lost: 0,
            in_flight: 0,
            sacked: 0,
            min_rtt: None,
            ack: Delivery::default(),
        }
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(super) fn sacked(&self) -> usize {
        self.sacked
    }

    pub(super) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Sent> {
        self.segments.iter()
    }

    /// Adds a segment from `start` to `end` to those in flight.
    pub(super) fn on_sent(&mut self, now: Instant, start: u64, end: u64) {
        if self.in_flight == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let known = self.segments.back().map_or(start, |last| last.end);
        let sent = Sent {
            start: start.max(known),
            end,
            at: now,
            again: false,
            sacked: false,
            lost: false,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost_before: self.lost,
            limited: self.limited_until.is_some(),
            in_flight: self.in_flight + (end - start),
        };
        self.send_again(&sent, start, end.min(known));
        if sent.start < end {
            self.in_flight += sent.len();
            self.segments.push_back(sent);
        }
    }

    /// Records the retransmission of segments from `start` to `end`.
    fn send_again(&mut self, new: &Sent, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let (from, to) = (self.split(start), self.split(end));
        for old in self.segments.range_mut(from..to).filter(|old| !old.sacked) {
            if old.lost {
                self.in_flight += old.len();
            }
            *old = Sent { start: old.start, end: old.end, again: true, ..*new };
        }
    }

    /// Splits the segment around `position`, so that a segment begins there. Returns the index of the first
    /// segment at or after it.
    fn split(&mut self, position: u64) -> usize {
        let at = self.segments.partition_point(|sent| sent.end <= position);
        if let Some(sent) = self.segments.get_mut(at)
            && sent.start < position
        {
            let tail = Sent { start: position, ..*sent };
            sent.end = position;
            self.sacked += usize::from(tail.sacked);
            self.segments.insert(at + 1, tail);
            return at + 1;
        }
        at
    }

    /// Resets the count of bytes that the current ACK delivers.
    pub(super) fn begin_ack(&mut self) {
        self.ack = Delivery { prior_in_flight: self.in_flight, ..Delivery::default() };
    }

    /// Marks a range as received by the peer; calls `each` for every newly delivered segment.
    pub(super) fn on_sack(&mut self, now: Instant, start: u64, end: u64, mut each: impl FnMut(&Sent)) {
        let from = self.segments.partition_point(|sent| sent.start < start);
        for at in from..self.segments.len() {
            let sent = self.segments[at];
            if sent.end > end {
                return;
            }
            if !sent.sacked {
                self.deliver(now, &sent);
                self.segments[at].sacked = true;
                self.sacked += 1;
                each(&sent);
            }
        }
    }

    /// Marks everything before `una` as received by the peer.
    pub(super) fn on_ack(&mut self, now: Instant, una: u64, mut each: impl FnMut(&Sent)) {
        self.split(una);
        while let Some(sent) = self.segments.pop_front_if(|sent| sent.end <= una) {
            if sent.sacked {
                self.sacked -= 1;
            } else {
                self.deliver(now, &sent);
                each(&sent);
            }
        }
    }

    /// Counts a segment as delivered and updates the rate sample (draft-cheng-iccrg-delivery-rate-estimation §3.3,
    /// `UpdateRateSample`).
    fn deliver(&mut self, now: Instant, sent: &Sent) {
        if sent.flies() {
            self.in_flight -= sent.len();
        }
        self.delivered += sent.len();
        self.delivered_at = now;
        self.ack.newly += sent.len();
        if !sent.again {
            self.ack.original = Some(self.ack.original.map_or(sent.end, |end| end.min(sent.end)));
        }
        if self.ack.newest.is_none_or(|newest| sent.left_after(&newest)) {
            self.ack.newest = Some(*sent);
            self.first_sent = sent.at;
            if !sent.again {
                self.note_round_trip(now.saturating_since(sent.at));
            }
        }
    }

    /// Records the duration of the handshake as a round trip.
    pub(super) fn note_handshake(&mut self, round_trip: Duration) {
        self.min_rtt = Some(round_trip);
    }

    fn note_round_trip(&mut self, round_trip: Duration) {
        self.ack.round_trip = Some(round_trip);
        self.min_rtt = Some(self.min_rtt.map_or(round_trip, |least| least.min(round_trip)));
    }

    /// The round trip that the current ACK completed.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.ack.round_trip
    }

    /// Numbers of bytes that the current ACK delivered, and that it showed to be lost.
    pub(super) fn newly(&self) -> (u64, u64) {
        (self.ack.newly, self.ack.newly_lost)
    }

    /// End position of the first segment that the current ACK delivered and that was not retransmitted.
    pub(super) fn original(&self) -> Option<u64> {
        self.ack.original
    }

    /// Number of retransmitted segments that may still arrive.
    pub(super) fn resent(&self) -> usize {
        self.segments.iter().filter(|sent| sent.again && sent.flies()).count()
    }

    /// Returns every segment that counted as lost to the flight, because nothing was lost after all.
    pub(super) fn find_all(&mut self) {
        for sent in self.segments.iter_mut().filter(|sent| sent.lost && !sent.sacked) {
            sent.lost = false;
            self.in_flight += sent.len();
        }
    }

    /// The segment that left last among those that the current ACK delivered.
    pub(super) fn newest(&self) -> Option<&Sent> {
        self.ack.newest.as_ref()
    }

    /// Marks all segments that `which` selects as lost, except delivered and lost ones. Returns the number of
    /// bytes.
    pub(super) fn lose(&mut self, which: impl Fn(&Sent) -> bool) -> u64 {
        let mut bytes = 0;
        for sent in self.segments.iter_mut().filter(|sent| sent.flies()) {
            if which(sent) {
                sent.lost = true;
                bytes += sent.len();
                self.ack.last_lost = Some(*sent);
            }
        }
        self.in_flight -= bytes;
        self.lost += bytes;
        self.ack.newly_lost += bytes;
        bytes
    }

    /// If SACK reports the first segment, the receiver must have discarded it since (RFC 2018 §8): marks all
    /// such segments as not delivered.
    pub(super) fn renege(&mut self) {
        if self.segments.front().is_none_or(|first| !first.sacked) {
            return;
        }
        for sent in self.segments.iter_mut().filter(|sent| sent.sacked) {
            (sent.sacked, sent.lost) = (false, false);
            self.in_flight += sent.len();
        }
        self.sacked = 0;
    }

    /// First segment that is lost and has not been retransmitted.
    pub(super) fn first_lost(&self) -> Option<&Sent> {
        self.segments.iter().find(|sent| sent.lost && !sent.sacked)
    }

    /// Marks the connection as limited by the application: rates measured from now on are only lower bounds.
    pub(super) fn on_app_limited(&mut self) {
        self.limited_until = Some(self.delivered + self.in_flight.max(1));
    }

    /// Whether the next segment is the first after a pause of the application.
    pub(super) fn restarts(&self) -> bool {
        self.in_flight == 0 && self.limited_until.is_some()
    }

    fn lost_with(&self, sent: &Sent) -> LostFlight {
        LostFlight { in_flight: sent.in_flight, lost: self.lost - sent.lost_before }
    }

    /// Rate sample of the current ACK (§3.3, `GenerateRateSample`).
    pub(super) fn sample(&mut self) -> RateSample {
        if self.limited_until.is_some_and(|until| self.delivered > until) {
            self.limited_until = None;
        }
        let newest = self.ack.newest;
        let over = newest.map_or(0, |sent| self.delivered - sent.delivered);
        let rate = newest.and_then(|sent| {
            let sending = sent.at.saturating_since(sent.first_sent);
            let arriving = self.delivered_at.saturating_since(sent.delivered_at);
            let interval = sending.max(arriving);
            // An interval shorter than any round trip means that ACKs were compressed or the path has
            // changed.
            let is_usable = interval > Duration::ZERO && self.min_rtt.is_none_or(|least| interval >= least);
            is_usable.then(|| rate(over, interval))
        });
        RateSample {
            rate,
            interval_delivered: over,
            is_app_limited: newest.is_some_and(|sent| sent.limited),
            delivered: self.delivered,
            prior_delivered: newest.map(|sent| sent.delivered),
            newly_delivered: self.ack.newly,
            newly_lost: self.ack.newly_lost,
            last_lost: self.ack.last_lost.map(|sent| self.lost_with(&sent)),
            prior_in_flight: self.ack.prior_in_flight,
            in_flight: self.in_flight,
            sent_in_flight: newest.map_or(0, |sent| sent.in_flight),
            round_trip: self.ack.round_trip,
            is_recovering: false,
        }
    }
}

/// Rate of `bytes` in `time`, bytes per second.
fn rate(bytes: u64, time: Duration) -> u64 {
    let per_second = u128::from(bytes) * 1_000_000_000 / u128::from(time.as_nanos());
    u64::try_from(per_second).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    /// Ten segments of 1000 bytes, one every 10 ms from 0 on.
    fn ten() -> Transmissions {
        let mut list = Transmissions::new();
        for n in 0..10 {
            list.on_sent(ms(10 * n), 1 + 1000 * n, 1001 + 1000 * n);
        }
        list
    }

    #[test]
    fn a_rate_by_hand() {
        let mut list = ten();
        list.begin_ack();
        list.on_ack(ms(100), 1001, |_| {});
        // Nothing had been delivered when this segment left: one segment in 100 ms.
        assert_eq!(list.sample().rate, Some(10_000));
        list.begin_ack();
        list.on_ack(ms(140), 5001, |_| {});
        // The fifth segment left at 40 ms, before any delivery: 5 segments in 140 ms.
        assert_eq!((list.sample().rate, list.sample().interval_delivered), (Some(35_714), 5000));
        assert_eq!((list.in_flight(), list.min_rtt()), (5000, Some(Duration::from_millis(100))));
        // The next segment leaves after them, at 140 ms: 6 segments arrive in the 100 ms until its ACK.
        list.on_sent(ms(140), 10_001, 11_001);
        list.begin_ack();
        list.on_ack(ms(240), 11_001, |_| {});
        let sample = list.sample();
        assert_eq!(
            (sample.rate, sample.interval_delivered, sample.prior_delivered),
            (Some(60_000), 6000, Some(5000))
        );
    }

    #[test]
    fn a_short_interval_is_no_sample() {
        let mut list = ten();
        list.begin_ack();
        list.on_ack(ms(190), 10_001, |_| {});
        list.on_sent(ms(190), 10_001, 11_001);
        list.on_sent(ms(191), 11_001, 12_001);
        list.begin_ack();
        // Two segments arrive within 2 ms, in which they cannot have crossed the path.
        list.on_ack(ms(192), 12_001, |_| {});
        list.min_rtt = Some(Duration::from_millis(90));
        assert_eq!(list.sample().rate, None);
    }

    #[test]
    fn what_is_in_flight_follows_losses_and_retransmissions() {
        let mut list = ten();
        list.begin_ack();
        list.on_sack(ms(100), 3001, 6001, |_| {});
        assert_eq!(list.in_flight(), 7000);
        assert_eq!(list.lose(|sent| sent.end <= 3001), 3000);
        assert_eq!((list.in_flight(), list.first_lost().map(|sent| sent.start)), (4000, Some(1)));
        // Half of a lost segment is retransmitted: only that half is in flight.
        list.on_sent(ms(110), 1, 501);
        assert_eq!((list.in_flight(), list.first_lost().map(|sent| sent.start)), (4500, Some(501)));
        list.begin_ack();
        list.on_ack(ms(200), 6001, |_| {});
        // 2500 bytes that counted as lost arrived after all, and 500 retransmitted bytes.
        assert_eq!((list.in_flight(), list.sample().newly_delivered), (4000, 3000));
        assert_eq!(list.sample().delivered, 6000);
    }

    #[test]
    fn too_little_to_send_marks_the_rates_until_it_is_delivered() {
        let mut list = ten();
        list.on_app_limited();
        list.on_sent(ms(100), 10_001, 11_001);
        list.begin_ack();
        list.on_ack(ms(190), 10_001, |_| {});
        assert!(!list.sample().is_app_limited);
        list.begin_ack();
        list.on_ack(ms(200), 11_001, |_| {});
        assert!(list.sample().is_app_limited);
        list.on_sent(ms(200), 11_001, 12_001);
        list.begin_ack();
        list.on_ack(ms(300), 12_001, |_| {});
        assert!(!list.sample().is_app_limited);
    }
}
