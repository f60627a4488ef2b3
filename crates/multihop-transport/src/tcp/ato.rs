//! Delayed ACKs of Linux: the delay is at least `ack_delay`, and longer if segments arrive seldom
//! (`tcp_event_data_recv`, `tcp_send_delayed_ack`).

use multihop_core::{Duration, Instant};

use crate::rtt::RttEstimator;

/// The timeout of delayed ACKs, and the number of ACKs that leave without delay.
#[derive(Clone, Debug)]
pub(super) struct Ato {
    least: Duration,
    most: Duration,
    /// Number of ACKs that leave without delay at the beginning of the connection, after a duplicate and
    /// after a long pause.
    quick_acks: u32,
    /// Number of quick ACKs that are left.
    quick: u32,
    timeout: Duration,
    /// Arrival of the last segment.
    last: Option<Instant>,
    /// Whether both ends send data in turn, so that data may include ACKs (`pingpong`).
    answers: bool,
}

impl Ato {
    pub(super) fn new(least: Duration, most: Duration, quick_acks: u32) -> Self {
        Self {
            least,
            most: most.max(least),
            quick_acks,
            quick: 0,
            timeout: least,
            last: None,
            answers: false,
        }
    }

    /// Adapts the delay to an in-order segment that arrives.
    pub(super) fn on_segment(&mut self, now: Instant, rto: Duration) {
        let gap = self.last.replace(now).map(|last| now.saturating_since(last));
        match gap {
            None => self.quick = self.quick_acks,
            Some(gap) if gap <= self.least / 2 => self.timeout = self.timeout / 2 + self.least / 2,
            Some(gap) if gap < self.timeout => self.timeout = (self.timeout / 2 + gap).min(rto),
            Some(gap) if gap > rto => self.quick = self.quick.max(self.quick_acks),
            Some(_) => {}
        }
    }

    /// Counts a segment that had arrived before.
    pub(super) fn on_duplicate(&mut self) {
        self.quick = self.quick.max(self.quick_acks);
        self.timeout = self.least;
        self.answers = false;
    }

    /// Restarts the measurement after an ACK of data has left.
    pub(super) fn on_ack_sent(&mut self) {
        if self.quick == 1 {
            self.timeout = self.least;
        }
        self.quick = self.quick.saturating_sub(1);
    }

    /// Records that data leaves at `now`. Data that leaves soon after a segment of the peer counts as an answer and
    /// makes the connection interactive, so that ACKs wait for data.
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        self.answers |= self.last.is_some_and(|last| now.saturating_since(last) < self.timeout);
    }

    /// Adapts the timeout after an ACK had to leave without data: doubles it, or resets it if both ends sent
    /// data in turn before.
    pub(super) fn on_expired(&mut self, rto: Duration) {
        self.timeout = if self.answers { self.least } else { (self.timeout * 2).min(rto) };
        self.answers = false;
    }

    /// Whether the next ACK leaves at once. `pushed`: the sender has no more data for now, and the
    /// application has read all data.
    pub(super) fn is_quick(&self, pushed: bool) -> bool {
        !self.answers && (self.quick > 0 || pushed)
    }

    /// Delay of an ACK at this moment.
    pub(super) fn delay(&self, rtt: &RttEstimator) -> Duration {
        let limit = rtt.srtt().map_or(self.most, |srtt| srtt.max(self.least));
        self.timeout.min(limit).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    const RTO: Duration = Duration::from_secs(1);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// The timeout after segments with these gaps, ms.
    fn after(gaps: &[u64]) -> Duration {
        let mut ato = Ato::new(ms(40), ms(200), 16);
        let mut now = Instant::ZERO;
        ato.on_segment(now, RTO);
        for &gap in gaps {
            now += ms(gap);
            ato.on_segment(now, RTO);
        }
        ato.timeout
    }

    #[test]
    fn the_timeout_follows_the_gaps_by_hand() {
        assert_eq!([after(&[]), after(&[20]), after(&[30]), after(&[30, 30])], [40, 40, 50, 55].map(ms));
        // A gap longer than the timeout changes nothing; short gaps shorten the timeout again.
        assert_eq!([after(&[41]), after(&[30, 55]), after(&[30, 10])], [40, 50, 45].map(ms));
    }

    #[test]
    fn waiting_in_vain_doubles_it_up_to_the_retransmission_timeout() {
        let mut ato = Ato::new(ms(40), ms(200), 16);
        let waited = [80, 160, 300, 300].map(|_| {
            ato.on_expired(ms(300));
            ato.timeout
        });
        assert_eq!(waited, [80, 160, 300, 300].map(ms));
    }

    #[test]
    fn no_ack_waits_longer_than_a_round_trip_or_the_most() {
        let mut rtt = RttEstimator::new(Config::linux_6().rto);
        let mut ato = Ato::new(ms(40), ms(200), 16);
        ato.on_expired(RTO);
        assert_eq!(ato.delay(&rtt), ms(80));
        rtt.sample(ms(10));
        assert_eq!(ato.delay(&rtt), ms(40));
        let mut slow = RttEstimator::new(Config::linux_6().rto);
        slow.sample(ms(900));
        for _ in 0..4 {
            ato.on_expired(RTO);
        }
        assert_eq!(ato.delay(&slow), ms(200));
    }

    #[test]
    fn the_first_acks_are_quick_and_those_after_a_duplicate_or_a_long_pause() {
        let mut ato = Ato::new(ms(40), ms(200), 2);
        let mut now = Instant::ZERO;
        ato.on_segment(now, RTO);
        let drain = |ato: &mut Ato| {
            let mut quick = 0;
            while ato.is_quick(false) {
                quick += 1;
                ato.on_ack_sent();
            }
            quick
        };
        assert_eq!(drain(&mut ato), 2);
        ato.on_duplicate();
        assert_eq!(drain(&mut ato), 2);
        now += ms(1000);
        ato.on_segment(now, RTO);
        assert_eq!(drain(&mut ato), 0);
        now += ms(1001);
        ato.on_segment(now, RTO);
        assert_eq!(drain(&mut ato), 2);
    }

    #[test]
    fn answers_delay_acks_until_one_has_waited_in_vain() {
        let mut ato = Ato::new(ms(40), ms(200), 2);
        ato.on_segment(Instant::ZERO, RTO);
        assert!(ato.is_quick(false));
        ato.on_data_sent(Instant::ZERO + ms(39));
        assert!(!ato.is_quick(true));
        ato.on_expired(RTO);
        assert!(ato.is_quick(true));
        assert_eq!(ato.timeout, ms(40));
    }
}
