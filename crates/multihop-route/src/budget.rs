//! Shares of the processor's time: how much time a daemon may spend on one kind of work, and how the senders
//! of messages divide that time. The caller measures the time; nothing in this module reads a clock.

use std::collections::BTreeMap;

use multihop_core::{Duration, Instant};

/// A share of the processor's time for one kind of work.
///
/// Work that took longer than the share allows is paid for by a pause. Time that was not used is saved, up to a limit, so
/// that a few messages at once are not delayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// Inverse of the share of the processor's time.
    part: u64,
    /// The longest time for which the share is saved.
    max_saved: Duration,
    /// Instant at which pauses have paid for all work so far.
    paid_at: Instant,
}

impl Allowance {
    /// Allows one `part`-th of the processor's time; unused time is saved, up to `max_saved`.
    pub(crate) const fn one_in(part: u64, max_saved: Duration) -> Self {
        Self { part, max_saved, paid_at: Instant::ZERO }
    }

    /// Counts work that took `cost`.
    pub(crate) fn spend(&mut self, now: Instant, cost: Duration) {
        self.paid_at = self.paid_at.max(before(now, self.max_saved)) + cost.saturating_mul(self.part);
    }

    /// Instant at which the next work may begin; it may last longer than the saved time.
    pub(crate) const fn ready_at(&self) -> Instant {
        self.paid_at
    }

    /// Returns whether pauses have paid for all earlier work, so that the next work may begin now.
    pub(crate) fn is_ready(&self, now: Instant) -> bool {
        self.paid_at <= now
    }
}

/// Fair queueing: serves next the waiting sender that has used the least time since it began to wait. A
/// sender without recent use comes before senders that always wait, but cannot claim time for its idle past.
/// Only senders that have used as much time as the one in service are remembered.
#[derive(Debug)]
pub(crate) struct Shares<K> {
    /// Time that the sender served last had used when it was chosen.
    served: Duration,
    used: BTreeMap<K, Duration>,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self { served: Duration::ZERO, used: BTreeMap::new() }
    }
}

impl<K: Copy + Ord> Shares<K> {
    /// Chooses the sender that is served next among those that wait.
    pub(crate) fn next(&self, waiting: impl Iterator<Item = K>) -> Option<K> {
        // Among senders with equal use, one without recent use comes first.
        waiting.min_by_key(|one| (self.used(*one), self.used.contains_key(one)))
    }

    /// Counts time that serving a sender took.
    pub(crate) fn spend(&mut self, by: K, cost: Duration) {
        let used = self.used(by);
        self.served = used;
        self.used.insert(by, used + cost);
        self.used.retain(|_, used| *used >= self.served);
    }

    fn used(&self, by: K) -> Duration {
        self.used.get(&by).copied().unwrap_or(self.served)
    }
}

/// Reorders items so that their owners take turns: first the first item of each owner, then the second ones.
pub(crate) fn take_turns<T, K: Ord>(items: &mut Vec<T>, owner: impl Fn(&T) -> K) {
    let mut counts = BTreeMap::new();
    let turn = |item: T| {
        let count = counts.entry(owner(&item)).or_insert(0_usize);
        *count += 1;
        (*count, item)
    };
    let mut turns: Vec<_> = std::mem::take(items).into_iter().map(turn).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    items.extend(turns.into_iter().map(|(_, item)| item));
}

/// The instant `by` before `instant`, or zero if that would be negative.
pub(crate) fn before(instant: Instant, by: Duration) -> Instant {
    Instant::ZERO + instant.saturating_since(Instant::ZERO + by)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(milliseconds: u64) -> Instant {
        Instant::ZERO + MS * milliseconds
    }

    /// Total time of work in ten seconds if each piece takes `cost` and a piece always waits.
    fn runs(allowance: &mut Allowance, cost: Duration) -> Duration {
        let (mut now, mut sum) = (at(1_000), Duration::ZERO);
        while now < at(11_000) {
            if allowance.is_ready(now) {
                allowance.spend(now, cost);
                now += cost;
                sum += cost;
            } else {
                now = allowance.ready_at();
            }
        }
        sum
    }

    #[test]
    fn work_takes_its_share_and_what_was_saved_whatever_one_piece_costs() {
        for cost in [MS / 10, MS, MS * 7, MS * 100] {
            let sum = runs(&mut Allowance::one_in(8, MS * 80), cost);
            // 1250 ms, and 10 ms that were saved; the last piece may last longer.
            assert!(sum >= MS * 1_250 && sum <= MS * 1_262 + cost, "{sum:?} in pieces of {cost:?}");
        }
    }

    #[test]
    fn unused_time_is_saved_up_to_a_limit() {
        let mut allowance = Allowance::one_in(10, MS * 100);
        let mut pieces = 0;
        while allowance.is_ready(at(60_000)) {
            allowance.spend(at(60_000), MS);
            pieces += 1;
        }
        assert_eq!(pieces, 11, "ten are saved, and one begins with the last of it");
        assert!(!allowance.is_ready(at(60_009)) && allowance.is_ready(at(60_010)));
    }

    /// Order in which waiting senders are served; `waits` selects those that wait, and each turn takes its `cost`.
    fn turns(count: usize, cost: impl Fn(u8) -> Duration, waits: impl Fn(usize, u8) -> bool) -> Vec<u8> {
        let mut shares = Shares::default();
        let mut served = Vec::new();
        for turn in 0..count {
            let Some(next) = shares.next((0..3).filter(|one| waits(turn, *one))) else { continue };
            shares.spend(next, cost(next));
            served.push(next);
        }
        served
    }

    #[test]
    fn those_that_always_wait_have_equal_times_whatever_their_work_costs() {
        let served = turns(1_300, |one| if one == 0 { MS * 10 } else { MS }, |_, _| true);
        let times = |of: u8| served.iter().filter(|one| **one == of).count();
        assert!(times(0).abs_diff(62) <= 1 && times(1).abs_diff(619) <= 10, "{} {}", times(0), times(1));
    }

    #[test]
    fn one_that_seldom_waits_is_served_at_once_and_saves_nothing() {
        let seldom = |turn: usize, one: u8| one != 2 || turn % 100 == 99;
        let served = turns(1_000, |_| MS, seldom);
        for (turn, one) in served.iter().enumerate() {
            assert_eq!(*one == 2, turn % 100 == 99, "in turn {turn}");
        }
        let late = turns(400, |_| MS, |turn, one| one != 2 || turn >= 100);
        let since = late[100..].iter().filter(|one| **one == 2).count();
        assert!(since.abs_diff(100) <= 1, "a third of the turns since it waits: {since}");
    }

    #[test]
    fn owners_take_turns_and_keep_the_order_of_their_items() {
        let mut items = vec!["a1", "a2", "a3", "b1", "a4", "c1", "b2"];
        take_turns(&mut items, |item| item.as_bytes()[0]);
        assert_eq!(items, ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
    }

    #[test]
    fn those_that_no_longer_wait_are_forgotten() {
        let mut shares = Shares::default();
        for one in 0..100_000_u32 {
            shares.spend(one, MS);
            shares.spend(0, MS);
        }
        assert!(shares.used.len() <= 3, "{}", shares.used.len());
    }
}
