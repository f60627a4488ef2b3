use crate::time::Instant;

/// The timers of one machine: at most one deadline for each of `N` kinds.
///
/// A kind is a field-less enum whose discriminants run from 0 to `N - 1`.
#[derive(Clone, Debug)]
pub struct Timers<K, const N: usize> {
    kinds: [K; N],
    at: [Option<Instant>; N],
}

impl<K: Copy + PartialEq, const N: usize> Timers<K, N> {
    /// Creates stopped timers of these kinds. Their order decides which of two timers due at the same time comes first.
    pub const fn new(kinds: [K; N]) -> Self {
        Self { kinds, at: [None; N] }
    }

    /// Arms `kind` for `at`, replacing an earlier setting.
    pub fn set(&mut self, kind: K, at: Instant) {
        self.at[self.slot(kind)] = Some(at);
    }

    /// Disarms the timer of this kind.
    pub fn stop(&mut self, kind: K) {
        self.at[self.slot(kind)] = None;
    }

    /// Deadline of the timer of this kind; `None` if it is stopped.
    pub fn at(&self, kind: K) -> Option<Instant> {
        self.at[self.slot(kind)]
    }

    /// Earliest deadline of all armed timers; `None` if every timer is stopped.
    pub fn next(&self) -> Option<Instant> {
        self.at.iter().flatten().min().copied()
    }

    /// Disarms and returns the earliest timer due at `now`; the order of the kinds decides ties.
    pub fn pop_expired(&mut self, now: Instant) -> Option<K> {
        let slot = (0..N).filter(|&i| self.at[i].is_some_and(|at| at <= now)).min_by_key(|&i| self.at[i])?;
        self.at[slot] = None;
        Some(self.kinds[slot])
    }

    fn slot(&self, kind: K) -> usize {
        self.kinds.iter().position(|&k| k == kind).expect("every kind is listed at construction")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Kind {
        Retransmit,
        DelayedAck,
    }

    #[test]
    fn the_earliest_is_first_and_ties_are_in_declaration_order() {
        let mut t = Timers::new([Kind::Retransmit, Kind::DelayedAck]);
        t.set(Kind::Retransmit, Instant::from_nanos(20));
        t.set(Kind::DelayedAck, Instant::from_nanos(10));
        assert_eq!(t.next(), Some(Instant::from_nanos(10)));
        assert_eq!(t.pop_expired(Instant::from_nanos(9)), None);
        assert_eq!(t.pop_expired(Instant::from_nanos(20)), Some(Kind::DelayedAck));
        t.set(Kind::DelayedAck, Instant::from_nanos(20));
        assert_eq!(t.pop_expired(Instant::from_nanos(20)), Some(Kind::Retransmit));
        t.stop(Kind::DelayedAck);
        assert_eq!(t.next(), None);
    }
}
