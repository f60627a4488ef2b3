//! Nodes in virtual time, on a radio channel with losses, collisions and carrier sense.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "helpers of tests: files are small, and a failure is a failed test"
)]

mod air;
mod spread;
