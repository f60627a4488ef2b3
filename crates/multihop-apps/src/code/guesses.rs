//! Limit on wrong guesses of a code.

use std::sync::atomic::{AtomicU8, Ordering};

/// Number of guesses that peers still have before the code expires.
#[derive(Debug)]
pub(super) struct Guesses(AtomicU8);

/// A guess that counts as wrong unless it turns out to be right.
pub(super) struct Guess<'a>(&'a Guesses);

impl Default for Guesses {
    fn default() -> Self {
        Self(AtomicU8::new(GUESSES))
    }
}

impl Guesses {
    /// Uses up a guess before it is verified, so that simultaneous callers cannot have more guesses.
    pub(super) fn take(&self) -> Option<Guess<'_>> {
        let less = |left: u8| left.checked_sub(1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok().map(|_| Guess(self))
    }

    /// Whether peers have no guess left.
    pub(super) fn are_used_up(&self) -> bool {
        self.left() == 0
    }

    pub(super) fn left(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Guess<'_> {
    /// Gives the guess back, because the code was right.
    pub(super) fn was_right(self) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Number of guesses allowed for one code.
const GUESSES: u8 = 3;
