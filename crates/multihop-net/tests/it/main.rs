//! Streams over real sockets.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod capture;
#[cfg(target_os = "linux")]
mod chain;
mod channels;
mod example;
mod faults;
mod loopback;
mod sealed;
mod second;
#[cfg(target_os = "linux")]
mod two_paths;

use std::time::Duration;

/// Runs a test, with a time limit.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LIMIT, test).await.expect("the test hangs") })
}

/// Time limit of one test, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
