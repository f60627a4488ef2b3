//! A prefetch hint for the processor.

/// Number of nodes from which prefetching helps: with fewer, the data that a frame needs of each node fits into a
/// processor's second-level cache.
pub const MANY_NODES: usize = 1000;

/// Length of a processor's cache line, bytes.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches the cache lines of the value at `index`; of a value that is not aligned to them, all but the last one. Does not
/// check the index: beyond the end, the hint is useless, but harmless. Worth the instructions from [`MANY_NODES`] on.
#[inline]
pub fn prefetch_at<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the hint reads nothing and takes any address")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let value = values.as_ptr().wrapping_add(index).cast::<i8>();
        for line in 0..size_of::<T>().div_ceil(LINE) {
            _mm_prefetch::<_MM_HINT_T0>(value.wrapping_add(line * LINE));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}

/// Prefetches the first cache line of `value`.
#[inline]
pub fn prefetch_start<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the hint reads nothing and takes any address")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(value).cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
