//! Counts the heap allocations of a program.
#![expect(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, with a counter. A program installs one in a static:
///
/// ```
/// use multihop_testkit::CountingAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: CountingAllocator = CountingAllocator::new();
///
/// let before = ALLOCATOR.count();
/// let buffer = Vec::<u8>::with_capacity(10);
/// assert!(ALLOCATOR.count() > before, "{buffer:?}");
/// ```
#[derive(Debug)]
pub struct CountingAllocator {
    count: AtomicU64,
}

impl CountingAllocator {
    /// An allocator with a count of 0.
    #[must_use]
    pub const fn new() -> Self {
        Self { count: AtomicU64::new(0) }
    }

    /// Allocations and reallocations of all threads so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl Default for CountingAllocator {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: every pointer comes from `System` and goes back to it with the layout that the caller gives, so this
// allocator upholds the contract of `GlobalAlloc` exactly as `System` does. The counter is an atomic: it does
// not allocate, does not unwind, and is not part of any allocation.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller guarantees a layout of non-zero size, which is all that `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees that `ptr` was allocated here with `layout`, hence by `System`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.count.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller guarantees that `ptr` was allocated here with `layout`, hence by `System`, and that
        // `size` is not zero.
        unsafe { System.realloc(ptr, layout, size) }
    }
}
