//! Executes lists of runs on several threads.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use multihop_scenario::Scenario;

use crate::journal::Entry;
use crate::key::BUILD;
use crate::observe::Outputs;
use crate::run::{Progress, RunError, run};

/// Runs a scenario; `key` identifies the run in a journal. If `lists`, the result includes the lists of
/// nodes, links and queues.
pub fn perform(
    key: &str,
    scenario: &Scenario,
    lists: bool,
    progress: Progress<'_>,
) -> Result<Entry, RunError> {
    let series = Buffer::default();
    let record = scenario.record.is_some().then(|| -> Box<dyn Write + Send> { Box::new(series.clone()) });
    let outputs = Outputs { record, without_lists: !lists, ..Outputs::default() };
    let begin = thread_time();
    let result = run(scenario, outputs, progress)?;
    let cost = begin.and_then(|begin| Some(thread_time()?.saturating_sub(begin).as_secs_f64()));
    let cost = cost.or(result.wall_seconds).map(|seconds| (seconds * 1e4).round() / 1e4);
    let (key, version) = (key.to_owned(), BUILD.to_owned());
    Ok(Entry { key, version, cost, result, series: series.into_text() })
}

/// Calls `work` for every number below `count` on `jobs` threads, and `done` with each answer as soon as it
/// is available. An error from `done` stops the list.
pub fn as_completed<T: Send, E>(
    count: usize,
    jobs: usize,
    work: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (answers, inbox) = mpsc::channel();
        for _ in 0..jobs.clamp(1, count.max(1)) {
            let (answers, next, work) = (answers.clone(), &next, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    // The receiver was dropped if `done` has failed.
                    if index >= count || answers.send((index, work(index))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(answers);
        inbox.into_iter().try_for_each(|(index, answer)| done(index, answer))
    })
}

/// Like [`as_completed`], but passes the answers in ascending order of the numbers.
pub fn in_order<T: Send, E>(
    count: usize,
    jobs: usize,
    work: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let mut early = BTreeMap::new();
    let mut expected = 0;
    as_completed(count, jobs, work, |index, answer| {
        early.insert(index, answer);
        while let Some(answer) = early.remove(&expected) {
            done(expected, answer)?;
            expected += 1;
        }
        Ok(())
    })
}

/// Collects a run's series in memory.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    /// The collected text; `None` if it is empty.
    fn into_text(self) -> Option<String> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let text = String::from_utf8(bytes).expect("series are ASCII");
        (!text.is_empty()).then_some(text)
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// CPU time of this thread. No result depends on it.
#[cfg(unix)]
fn thread_time() -> Option<Duration> {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

/// Processor time of this thread; `None`, because other systems are not supported.
#[cfg(not(unix))]
fn thread_time() -> Option<Duration> {
    None
}
