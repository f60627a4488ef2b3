//! Counts the elements of tables that agents read, write or move. Tests thus bound the processor time of a
//! message without a clock. Compiled to nothing without debug assertions, and for machines without an
//! operating system. A feature would make tests of the workspace and programs compile this crate, and all
//! that depend on it, twice.

/// Counts accesses to elements of tables.
#[cfg(any(not(debug_assertions), target_os = "none"))]
pub(crate) const fn count(_elements: usize) {}

#[cfg(all(debug_assertions, not(target_os = "none")))]
pub use counting::{count, taken};

#[cfg(all(debug_assertions, not(target_os = "none")))]
mod counting {
    extern crate std;

    use core::cell::Cell;

    std::thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// Adds `elements` to the work counted on this thread.
    pub fn count(elements: usize) {
        STEPS.with(|steps| steps.set(steps.get() + elements as u64));
    }

    /// Number of elements that agents on this thread have accessed since the last call.
    pub fn taken() -> u64 {
        STEPS.with(|steps| steps.replace(0))
    }
}
