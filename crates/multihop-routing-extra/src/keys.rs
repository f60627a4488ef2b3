//! Keys of a host, by which packets are signed and checked.

use alloc::vec::Vec;
use core::fmt;

/// Keys of a host. Debug output has their number only.
#[derive(Clone)]
pub(crate) struct Keys(pub(crate) Vec<[u8; 32]>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}
