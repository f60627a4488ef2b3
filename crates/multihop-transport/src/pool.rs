//! Pool of memory that the connections of a socket share.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that the connections of one socket share, for buffers beyond the guaranteed size of each connection.
#[derive(Clone, Debug)]
pub struct Pool(Arc<AtomicUsize>);

impl Pool {
    /// Creates a pool of this many bytes, or as many as the machine can address.
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicUsize::new(usize::try_from(bytes).unwrap_or(usize::MAX))))
    }

    /// Bytes of the pool that no buffer has taken.
    pub fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed) as u64
    }

    fn take(&self, bytes: usize) -> bool {
        let rest = |left: usize| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }
}

/// Bytes that one buffer has taken from a pool; they return to the pool when the share is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    pool: Option<Pool>,
    taken: usize,
}

impl Share {
    /// A share of `pool` without any bytes yet. Without a pool the buffer cannot grow.
    pub(crate) const fn of(pool: Option<Pool>) -> Self {
        Self { pool, taken: 0 }
    }

    /// Another share of the same pool, without any bytes yet.
    pub(crate) fn another(&self) -> Self {
        Self::of(self.pool.clone())
    }

    /// Takes further bytes from the pool, if there is one; returns false if the pool has fewer.
    pub(crate) fn reserve(&mut self, bytes: u64) -> bool {
        self.pool.is_none() || self.grow(bytes)
    }

    /// Takes further bytes from the pool; returns false if the pool has fewer.
    pub(crate) fn grow(&mut self, bytes: u64) -> bool {
        let Ok(bytes) = usize::try_from(bytes) else { return false };
        let grows = self.pool.as_ref().is_some_and(|pool| pool.take(bytes));
        self.taken += if grows { bytes } else { 0 };
        grows
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            pool.0.fetch_add(self.taken, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_takes_what_there_is_and_returns_it() {
        let pool = Pool::new(100);
        let (mut one, mut other) = (Share::of(Some(pool.clone())), Share::of(Some(pool.clone())));
        assert!(one.grow(60) && !other.grow(41) && other.grow(40));
        assert_eq!(pool.left(), 0);
        drop(one);
        assert_eq!(pool.left(), 60);
        assert!(!Share::of(None).grow(1) && Share::of(None).reserve(1));
        assert!(!other.another().reserve(61) && other.another().reserve(60));
        assert_eq!(pool.left(), 60, "the other shares were dropped");
    }
}
