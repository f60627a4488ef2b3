//! Runs, journals and sweeps, as the Python package uses them.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use multihop_sim::journal::{self, Entry};
use multihop_sim::sweep::Plan;
use multihop_sim::{Progress, batch};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::RunError;
use crate::congestion::{go_on, raised};
use crate::interrupt::{Flag, Watch};
use crate::request::{Request, refused};

/// The key of a run and its scenario.
type Keyed = (String, Request);

/// A shard of a list of runs, numbered from 1.
#[pyclass(frozen, eq, from_py_object)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Shard(journal::Shard);

#[pymethods]
impl Shard {
    /// Reads a shard written as `I/N`.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        let shard =
            text.parse().map_err(|error| PyValueError::new_err(format!("found {text:?}, {error}")))?;
        Ok(Self(shard))
    }

    /// Whether the run at this index of the list, from 0, belongs to the shard.
    const fn has(&self, index: usize) -> bool {
        self.0.has(index)
    }

    fn __repr__(&self) -> String {
        format!("Shard({})", self.0)
    }
}

/// Finished runs in a folder; without a folder, in memory only.
#[pyclass(frozen)]
pub(crate) struct Journal(Mutex<journal::Journal>);

impl Journal {
    /// Calls `read` with the journal.
    fn with<T>(&self, read: impl FnOnce(&mut journal::Journal) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn entry(&self, key: &str) -> PyResult<Entry> {
        self.with(|journal| journal.entry(key)).ok_or_else(|| PyKeyError::new_err(key.to_owned()))
    }
}

#[pymethods]
impl Journal {
    #[new]
    #[pyo3(signature = (folder=None, shard=None))]
    fn new(folder: Option<PathBuf>, shard: Option<Shard>) -> PyResult<Self> {
        let Some(folder) = folder else { return Ok(Self(Mutex::new(journal::Journal::in_memory()))) };
        Ok(Self(Mutex::new(journal::Journal::open(&folder, shard.map(|shard| shard.0))?)))
    }

    fn __contains__(&self, key: &str) -> bool {
        self.with(|journal| journal.contains(key))
    }

    fn __len__(&self) -> usize {
        self.with(|journal| journal.len())
    }

    /// Adds a run: the line that `perform` returned.
    fn append(&self, line: &str) -> PyResult<()> {
        let entry = Entry::from_line(line).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(self.with(|journal| journal.append(&entry))?)
    }

    /// Writes all runs to the disk.
    fn sync(&self) -> PyResult<()> {
        Ok(self.with(journal::Journal::sync)?)
    }

    /// The result of a run as JSON, and its series as CSV, which may be empty.
    fn result(&self, key: &str) -> PyResult<(String, String)> {
        let Entry { result, series, .. } = self.entry(key)?;
        Ok((
            serde_json::to_string(&result).expect("every key of a result is a string"),
            series.unwrap_or_default(),
        ))
    }

    /// CPU time of a run, s; wall-clock time if CPU time was not measured.
    fn cost(&self, key: &str) -> PyResult<f64> {
        let entry = self.entry(key)?;
        Ok(entry.cost.or(entry.result.wall_seconds).unwrap_or_default())
    }
}

/// Identifies the run of a scenario in a journal.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
pub(crate) fn key(request: Request) -> PyResult<String> {
    let scenario = request.load()?;
    multihop_sim::key(&request.source, &request.overrides, &scenario).map_err(refused)
}

/// The files that a scenario refers to: pairs of key and path.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
pub(crate) fn files(request: Request) -> PyResult<Vec<(String, PathBuf)>> {
    multihop_scenario::files(&request.source, &request.overrides).map_err(refused)
}

/// The series of a scenario's `record` table that have no row in `series`, the text of its file.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
pub(crate) fn missing_series(request: Request, series: &str) -> PyResult<Vec<String>> {
    let scenario = request.load()?;
    let missing = scenario.record.map(|record| multihop_sim::missing_series(&record, series.as_bytes()));
    Ok(missing.transpose()?.unwrap_or_default())
}

/// Notes on settings of a scenario, or of a combination of its `sweep` table, that are allowed but probably not meant.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
pub(crate) fn notes(request: Request) -> PyResult<Vec<String>> {
    let scenario = request.load()?;
    match scenario.sweep {
        Some(_) => planned(&request)?.notes().map_err(refused),
        None => Ok(multihop_sim::notes(&scenario)),
    }
}

/// Runs one scenario; returns its line for a journal, with nodes, links and queues if `lists`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
pub(crate) fn perform(py: Python<'_>, key: String, request: Request, lists: bool) -> PyResult<String> {
    let mut watch = Watch::new(Flag::default());
    let line = py.detach(|| line(&key, &request, lists, &mut |_| watch.check()));
    watch.raised().map_or(line, Err)
}

/// Runs scenarios on several threads; an iterator of journal lines in order of completion.
#[pyclass(frozen)]
pub(crate) struct Batch {
    lines: Mutex<Receiver<PyResult<String>>>,
    cancelled: Flag,
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.cancelled.set();
    }
}

#[pymethods]
impl Batch {
    /// Starts the runs on `jobs` threads. Dropping the iterator cancels those that have not finished. Results have
    /// nodes, links and queues if `lists`.
    #[new]
    fn new(runs: Vec<Keyed>, jobs: usize, lists: bool) -> Self {
        let (lines, inbox) = channel();
        let cancelled = Flag::default();
        let flag = cancelled.clone();
        std::thread::spawn(move || {
            let work = |index: usize| {
                let (key, request) = &runs[index];
                line(key, request, lists, &mut |_| flag.control())
            };
            // An error means that the iterator was dropped.
            let _ = batch::as_completed(runs.len(), jobs, work, |_, line| lines.send(line));
        });
        Self { lines: Mutex::new(inbox), cancelled }
    }

    const fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        loop {
            py.check_signals()?;
            let next = || self.lines.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS);
            match py.detach(next) {
                Ok(line) => return line.map(Some),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// The runs of a scenario's sweep, as JSON: the values of the axes, the key and the overrides of each.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
pub(crate) fn plan(request: Request) -> PyResult<String> {
    let plan = planned(&request)?;
    let runs = (0..plan.runs()).map(|index| {
        let run = plan.run(index).map_err(refused)?;
        let values = plan.values(run.combination).iter().cloned();
        let axes: Vec<_> = plan.keys().iter().cloned().zip(values).collect();
        Ok(serde_json::json!({ "sweep": axes, "key": run.key, "overrides": run.overrides }))
    });
    let runs: PyResult<Vec<_>> = runs.collect();
    Ok(serde_json::Value::from(runs?).to_string())
}

/// The scenario of a sweep, in the format of the file sweep.json in the folder of the sweep's results.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
pub(crate) fn sweep_request(request: Request) -> PyResult<String> {
    let request = multihop_scenario::Request::new(&request.source, &request.overrides);
    Ok(serde_json::to_string_pretty(&request).expect("every key of a request is a string"))
}

/// The finished runs of a scenario's sweep: a line of JSON for each, in the order of the sweep. Without `timed`, values
/// that depend on the machine are null.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives the value away")]
pub(crate) fn sweep_lines(request: Request, journal: &Journal, timed: bool) -> PyResult<Vec<String>> {
    let plan = planned(&request)?;
    let finished = journal.with(|journal| plan.finished(journal)).map_err(refused)?;
    let line = |result: multihop_sim::sweep::SweepResult| {
        if timed { result.to_line() } else { result.timeless().to_line() }
    };
    Ok(finished.into_iter().map(line).collect())
}

fn planned(request: &Request) -> PyResult<Plan> {
    Plan::new_with(&request.source, &request.overrides, &request.extensions).map_err(refused)
}

fn line(key: &str, request: &Request, lists: bool, progress: Progress<'_>) -> PyResult<String> {
    let scenario = request.load()?;
    let entry = batch::perform(key, &scenario, lists, &mut |share| {
        if go_on().is_break() { ControlFlow::Break(()) } else { progress(share) }
    });
    // The exception of a controller is the reason of a run that was cancelled.
    if let Some(raised) = raised() {
        return Err(raised);
    }
    Ok(entry.map_err(|error| RunError::new_err(error.to_string()))?.to_line())
}

/// How often a waiting thread checks for an interrupt from the keyboard.
const SIGNALS: Duration = Duration::from_millis(100);
