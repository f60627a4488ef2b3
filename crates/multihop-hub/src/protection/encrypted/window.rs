//! Replay protection: detects datagrams of the peer that have already been accepted.

/// Record of seen counters. Each of the newest [`SIZE`] counters is recorded exactly; older ones count as
/// seen (RFC 6479, with a ring of 64-bit words).
#[derive(Clone, Debug)]
pub(crate) struct ReplayWindow {
    /// The highest counter seen, plus one.
    end: u64,
    words: [u64; WORDS],
}

/// Number of counters whose state is known exactly.
pub(crate) const SIZE: u64 = 1024;

impl ReplayWindow {
    /// Creates a window that has seen no datagram.
    pub(crate) const fn new() -> Self {
        Self { end: 0, words: [0; WORDS] }
    }

    /// The highest counter seen, plus one.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// Whether the counter is certainly new.
    pub(crate) fn is_new(&self, counter: u64) -> bool {
        if counter >= self.end {
            return true;
        }
        let (word, bit) = place(counter);
        !self.is_too_old(counter) && self.words[word] & bit == 0
    }

    /// Whether the counter lies before the window.
    pub(crate) fn is_too_old(&self, counter: u64) -> bool {
        self.end.saturating_sub(counter) > SIZE
    }

    /// Whether the counter is higher than all that were seen.
    pub(crate) fn is_newest(&self, counter: u64) -> bool {
        counter >= self.end
    }

    /// Marks the counter as seen: only once its datagram has been verified.
    pub(crate) fn mark(&mut self, counter: u64) {
        if counter >= self.end {
            let first = self.end.div_ceil(64).max(counter / 64 + 1 - (WORDS as u64).min(counter / 64 + 1));
            for word in first..=counter / 64 {
                self.words[ring(word)] = 0;
            }
            self.end = counter.saturating_add(1);
        }
        let (word, bit) = place(counter);
        self.words[word] |= bit;
    }
}

fn place(counter: u64) -> (usize, u64) {
    (ring(counter / 64), 1 << (counter % 64))
}

fn ring(word: u64) -> usize {
    usize::try_from(word % WORDS as u64).expect("below WORDS")
}

/// Number of words: one more than the window needs, since it may begin inside a word.
const WORDS: usize = 17;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_counter_is_new_once_and_none_before_the_window() {
        let mut window = ReplayWindow::new();
        for counter in [0, 1, 5, 1023, 1024, 2000] {
            assert!(window.is_new(counter) && window.is_newest(counter));
            window.mark(counter);
            assert!(!window.is_new(counter));
        }
        assert!(window.is_new(977) && !window.is_new(976), "2000 and the 1023 before it");
        assert!(!window.is_new(1023) && window.is_new(1025) && !window.is_newest(1999));
        window.mark(u64::MAX - 1);
        assert!(!window.is_new(1025) && !window.is_new(u64::MAX - 1) && window.is_new(u64::MAX));
    }

    proptest! {
        #[test]
        fn the_window_agrees_with_a_list_of_all_counters_seen(steps in prop::collection::vec((0_u64..3000, any::<bool>()), 1..300)) {
            let (mut window, mut seen, mut top) = (ReplayWindow::new(), BTreeSet::new(), 0_u64);
            for (step, is_back) in steps {
                let counter = if is_back { top.saturating_sub(step) } else { top + step % 200 };
                let in_reach = seen.is_empty() || counter + SIZE > top;
                prop_assert_eq!(window.is_new(counter), in_reach && !seen.contains(&counter));
                prop_assert_eq!(window.is_newest(counter), seen.is_empty() || counter > top);
                if window.is_new(counter) {
                    window.mark(counter);
                    seen.insert(counter);
                    top = top.max(counter);
                }
            }
        }
    }
}
