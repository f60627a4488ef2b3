//! Counts the elements of tables that agents read, write or move: how tests bound the processor time of a message
//! without a clock. Compiled to nothing unless the feature `steps` is on, which only tests of this workspace use.

/// Counts elements.
#[cfg(not(any(test, feature = "steps")))]
pub(crate) const fn count(_elements: usize) {}

#[cfg(any(test, feature = "steps"))]
pub use counting::{count, taken};

#[cfg(any(test, feature = "steps"))]
mod counting {
    extern crate std;

    use core::cell::Cell;

    std::thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// Counts elements.
    pub fn count(elements: usize) {
        STEPS.with(|steps| steps.set(steps.get() + elements as u64));
    }

    /// The elements that agents on this thread have touched since the last call.
    pub fn taken() -> u64 {
        STEPS.with(|steps| steps.replace(0))
    }
}
