//! History of the Hellos that arrived from a neighbour (RFC 8966, A.1).

use multihop_core::{Duration, Instant};

use super::config::LinkCost;
use super::time;
use super::wire::{Hello, INFINITY, Seqno};

/// History of the last 16 Hellos of a neighbour.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Bitmap of recent Hellos: the highest bit stands for the latest and is set if it arrived.
    bits: u16,
    expected: Seqno,
    /// Instant at which the next Hello counts as lost.
    due: Instant,
    interval: Duration,
    /// Bitmap before the first Hello of a neighbour that has just started.
    initial: u16,
}

impl History {
    /// A history without Hellos that expects this one. `presumes_link`: the first Hello of a neighbour suffices to use a link by
    /// [`LinkCost::Hops`], as if an earlier one had arrived.
    pub(super) fn silent(now: Instant, hello: &Hello, presumes_link: bool) -> Self {
        let initial = if presumes_link { LATEST } else { 0 };
        let (expected, due, interval) = (hello.seqno, now + UNPROMISED, UNPROMISED);
        Self { bits: 0, expected, due, interval, initial }
    }

    /// Records a Hello that arrived, and the loss of the missing Hellos before it.
    pub(super) fn record(&mut self, now: Instant, hello: &Hello) {
        let ahead = hello.seqno.0.wrapping_sub(self.expected.0).cast_signed();
        self.bits = match ahead {
            // The neighbour has restarted.
            ..-16 | 17.. => 0,
            // The interval between Hellos is longer than announced: some were counted as lost too early.
            -16..0 => self.bits.checked_shl(ahead.unsigned_abs().into()).unwrap_or(0),
            // Some Hellos before this one were lost.
            0..=16 => self.bits.checked_shr(ahead.unsigned_abs().into()).unwrap_or(0),
        };
        if self.is_silent() {
            self.bits = self.initial;
        }
        self.bits = self.bits >> 1 | LATEST;
        self.expected = hello.seqno.next();
        let interval = time(hello.interval);
        if interval > Duration::ZERO {
            self.interval = interval;
            self.due = now + interval + interval / 2;
        }
    }

    /// Counts Hellos that should have arrived.
    pub(super) fn expire(&mut self, now: Instant) {
        while self.due <= now && !self.is_silent() {
            self.bits >>= 1;
            self.expected = self.expected.next();
            self.due += self.interval;
        }
    }

    /// Instant at which the next Hello counts as lost.
    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// Whether none of the last 16 Hellos arrived.
    pub(super) const fn is_silent(&self) -> bool {
        self.bits == 0
    }

    /// The cost of receiving from the neighbour.
    pub(super) fn rxcost(&self, cost: LinkCost) -> u16 {
        match cost {
            // At least two of the last three Hellos arrived (A.2.1).
            LinkCost::Hops if (self.bits >> 13).count_ones() >= 2 => cost.nominal(),
            LinkCost::Hops => INFINITY,
            LinkCost::Etx if self.is_silent() => INFINITY,
            LinkCost::Etx => {
                let inverse = u32::from(cost.nominal()) * WHOLE / (self.arrived() + 1);
                u16::try_from(inverse).unwrap_or(INFINITY)
            }
        }
    }

    /// Share of the last 16 Hellos that arrived, or of all Hellos if fewer were sent.
    pub(super) fn share(&self) -> f64 {
        let sent = u16::BITS - self.bits.trailing_zeros();
        f64::from(self.bits.count_ones()) / f64::from(sent.max(1))
    }

    /// Weighted share of Hellos that arrived, below [`WHOLE`]. The latest three weigh a quarter each; before
    /// them the weight halves with every Hello.
    fn arrived(&self) -> u32 {
        let bits = u32::from(self.bits);
        ((bits & 0x8000) >> 2) + ((bits & 0x4000) >> 1) + (bits & 0x3fff)
    }
}

/// The interval of a neighbour that promises none.
const UNPROMISED: Duration = Duration::from_secs(20);
const LATEST: u16 = 0x8000;
/// Value for a history in which all Hellos arrived.
const WHOLE: u32 = 0x8000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::babel::wire::Centis;

    fn hello(seqno: u16) -> Hello {
        Hello { unicast: false, seqno: Seqno(seqno), interval: Centis(100), timestamp: None }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A history in which these Hellos arrived, one per second.
    fn heard(seqnos: &[u16]) -> History {
        let mut history = History::silent(at(0), &hello(seqnos[0]), false);
        history.record(at(0), &hello(seqnos[0]));
        for (n, seqno) in (1..).zip(&seqnos[1..]) {
            history.record(at(1000 * n), &hello(*seqno));
        }
        history
    }

    #[test]
    fn lost_hellos_raise_the_cost() {
        let all: Vec<u16> = (65_530..=65_535).chain(0..14).collect();
        assert_eq!(heard(&all).bits, 0xffff, "numbers wrap");
        assert_eq!(heard(&all).rxcost(LinkCost::Etx), 256);
        assert_eq!(heard(&[0]).rxcost(LinkCost::Etx), 1023, "a quarter");
        let mut lossy = heard(&(0..16).collect::<Vec<_>>());
        lossy.record(at(20_000), &hello(17));
        assert_eq!(lossy.bits, 0xbfff);
        assert_eq!(lossy.rxcost(LinkCost::Etx), 341, "three quarters");
    }

    #[test]
    fn two_of_the_last_three_hellos_make_a_link() {
        for (seqnos, up) in [(&[0][..], false), (&[0, 1], true), (&[0, 1, 3], true), (&[0, 1, 4], false)] {
            let cost = if up { 96 } else { INFINITY };
            assert_eq!(heard(seqnos).rxcost(LinkCost::Hops), cost, "{seqnos:?}");
        }
    }

    #[test]
    fn a_presumed_link_is_used_after_one_hello_and_ends_after_two_losses() {
        let mut history = History::silent(at(0), &hello(7), true);
        let used = |history: &History| history.rxcost(LinkCost::Hops) == 96;
        history.record(at(0), &hello(7));
        assert!(used(&history));
        history.expire(at(1500));
        assert!(used(&history), "one of three is lost");
        history.expire(at(2500));
        assert!(!used(&history), "two of three are lost");
        history.record(at(9000), &hello(900));
        assert!(used(&history), "the neighbour has restarted");
    }

    #[test]
    fn hellos_that_come_late_were_not_lost() {
        let mut history = heard(&[0, 1]);
        assert_eq!(history.due(), at(2500));
        history.expire(at(3600));
        assert_eq!((history.bits, history.expected), (0x3000, Seqno(4)));
        history.record(at(3700), &hello(2));
        assert_eq!((history.bits, history.expected), (0xe000, Seqno(3)));
    }

    #[test]
    fn a_neighbour_that_restarts_or_is_silent_has_no_history() {
        let mut history = heard(&[0, 1, 2]);
        history.record(at(3000), &hello(900));
        assert_eq!((history.bits, history.expected), (0x8000, Seqno(901)));
        history.expire(at(60_000));
        assert!(history.is_silent());
        assert_eq!(history.rxcost(LinkCost::Etx), INFINITY);
    }
}
