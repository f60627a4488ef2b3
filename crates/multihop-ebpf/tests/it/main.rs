//! Tests of the programs: their arithmetic on the host, the compiled file beside its source, and what they do
//! in the kernel.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod adtcp;
mod compiled;
mod host;
#[cfg(target_os = "linux")]
mod kernel;
mod math;
mod mesh;
#[cfg(target_os = "linux")]
mod path;
mod trains;

/// Prints that this machine lacks something that a test needs.
#[expect(clippy::print_stdout, reason = "such lines are counted")]
fn skip(reason: impl std::fmt::Display) {
    println!("skipped: {reason}");
}
