//! System calls on processors for which there is no compiler of filters.

use std::io;

use crate::Needs;

/// A compiled filter; no value of this type exists.
#[derive(Debug)]
pub(crate) enum Program {}

/// Returns an empty list: no filter can be compiled for this processor.
pub(crate) const fn filters(_: &Needs) -> io::Result<Vec<Program>> {
    Ok(Vec::new())
}

/// Denies no system calls, and logs that there is no filter.
pub(crate) fn deny(_: &[Program]) -> io::Result<()> {
    tracing::debug!("no filter for system calls on this processor ({})", std::env::consts::ARCH);
    Ok(())
}
