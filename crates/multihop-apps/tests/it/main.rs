//! Transfers, measurements, tunnels and bridges between the ends of real connections.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod bridge;
mod classes;
mod files;
mod perf;
mod tunnel;

use std::time::Duration;

/// Runs a test, with a time limit.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LIMIT, test).await.expect("the test hangs") })
}

/// Time limit of one test; a busy machine may need it.
const LIMIT: Duration = Duration::from_secs(60);
