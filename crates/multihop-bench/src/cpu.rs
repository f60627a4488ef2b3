//! Clock of the CPU time of the calling thread.

use std::fs;

/// CPU time of this thread in seconds; Linux only.
pub(crate) fn seconds() -> Option<f64> {
    let status = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(status.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
}
