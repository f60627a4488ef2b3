//! Rate limits of requests and errors (RFC 3561, sections 6.3 and 6.11).

use alloc::collections::VecDeque;

use multihop_core::{Duration, Instant};

/// Limits the number of messages of one kind in any second.
#[derive(Clone, Debug)]
pub(super) struct RateLimit {
    below: Option<u8>,
    passed: VecDeque<Instant>,
}

impl RateLimit {
    pub(super) const fn new(below: Option<u8>) -> Self {
        Self { below, passed: VecDeque::new() }
    }

    /// Whether one more message may be sent now.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        let Some(below) = self.below else { return true };
        if self.passed.len() + 1 >= usize::from(below) {
            let window_is_full =
                self.passed.front().is_none_or(|&first| now.saturating_since(first) < SECOND);
            if window_is_full {
                return false;
            }
            self.passed.pop_front();
        }
        self.passed.push_back(now);
        true
    }
}

const SECOND: Duration = Duration::from_secs(1);
