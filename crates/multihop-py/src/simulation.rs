//! A run that Python advances step by step.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use multihop_core::{Duration, Instant};
use multihop_sim::Outputs;
use multihop_sim::live::Live;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::RunError;
use crate::congestion::{go_on, raised};
use crate::request::Request;

/// A scenario whose virtual time Python advances. Its controllers run in a thread of the simulation, while `advance`
/// waits.
#[pyclass(frozen)]
pub(crate) struct Simulation {
    /// Ends of steps for the thread, and the answers: the instant that the run has reached.
    steps: Mutex<(Sender<Instant>, Receiver<PyResult<Instant>>)>,
    is_paused: Arc<AtomicBool>,
}

#[pymethods]
impl Simulation {
    /// Creates the network at its beginning; raises ScenarioError if the scenario is invalid.
    #[new]
    fn new(py: Python<'_>, request: Request) -> PyResult<Self> {
        let (steps, ends) = channel();
        let (answers, reached) = channel();
        let is_paused = Arc::new(AtomicBool::new(false));
        let paused = is_paused.clone();
        std::thread::spawn(move || simulate(&request, &ends, &answers, &paused));
        let simulation = Self { steps: Mutex::new((steps, reached)), is_paused };
        py.detach(|| answer(&simulation.steps.lock().unwrap_or_else(PoisonError::into_inner).1))?;
        Ok(simulation)
    }

    /// Simulates until `end`, s, or until a controller calls `pause`; returns the virtual time, s.
    fn advance(&self, py: Python<'_>, end: f64) -> PyResult<f64> {
        if !(0.0..=MAX_SECONDS).contains(&end) {
            return Err(PyValueError::new_err(format!("found {end} s, allowed: 0 to {MAX_SECONDS}")));
        }
        py.detach(|| {
            let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
            let (ends, reached) = &*steps;
            // An error means that the thread has ended, which `answer` reports.
            let _ = ends.send(Instant::ZERO + Duration::from_secs_f64(end));
            self.interruptible(reached).map(Instant::as_secs_f64)
        })
    }

    /// Ends `advance` as soon as the events of this instant have been handled. Controllers call this method.
    fn pause(&self) {
        self.is_paused.store(true, Ordering::Relaxed);
    }
}

impl Simulation {
    /// Waits for the end of the step. A signal such as that of Ctrl-C ends the step early, and its exception is raised;
    /// the simulation can go on afterwards.
    fn interruptible(&self, reached: &Receiver<PyResult<Instant>>) -> PyResult<Instant> {
        let mut interrupted = Ok(());
        loop {
            match reached.recv_timeout(SIGNAL_CHECK) {
                Err(RecvTimeoutError::Timeout) if interrupted.is_ok() => {
                    interrupted = Python::attach(|py| py.check_signals());
                }
                // The thread clears the flag when it begins with the step, which may be later than the signal.
                Err(RecvTimeoutError::Timeout) => self.pause(),
                Err(RecvTimeoutError::Disconnected) => return interrupted.and_then(|()| answer(reached)),
                Ok(instant) => return interrupted.and(instant),
            }
        }
    }
}

fn answer(reached: &Receiver<PyResult<Instant>>) -> PyResult<Instant> {
    reached.recv().unwrap_or_else(|_| Err(PyRuntimeError::new_err("the simulation has failed before")))
}

/// The thread of a simulation: answers each step, until the simulation is dropped or a controller fails.
fn simulate(
    request: &Request,
    ends: &Receiver<Instant>,
    answers: &Sender<PyResult<Instant>>,
    is_paused: &AtomicBool,
) {
    let scenario = match request.load() {
        Ok(scenario) => scenario,
        Err(error) => return drop(answers.send(Err(error))),
    };
    let live = Live::new(&scenario, Outputs { without_lists: true, ..Outputs::default() }, None);
    let mut live = match live {
        Ok(live) => live,
        Err(error) => return drop(answers.send(Err(RunError::new_err(error.to_string())))),
    };
    let mut reached = raised().map_or(Ok(live.now()), Err);
    loop {
        let has_failed = reached.is_err();
        if answers.send(reached).is_err() || has_failed {
            return;
        }
        let Ok(end) = ends.recv() else { return };
        step(&mut live, end, is_paused);
        reached = raised().map_or(Ok(live.now()), Err);
    }
}

/// Advances to `end`, to the instant at which a controller pauses, or to the first exception of a controller.
fn step(live: &mut Live<'_>, end: Instant, is_paused: &AtomicBool) {
    is_paused.store(false, Ordering::Relaxed);
    while let Some(next) = live.next_event().filter(|next| *next < end) {
        live.advance((next + TICK).max(live.now()));
        if is_paused.load(Ordering::Relaxed) || go_on().is_break() {
            return;
        }
    }
    live.advance(end.max(live.now()));
}

/// The shortest time: the simulator handles the events before an instant.
const TICK: Duration = Duration::from_nanos(1);
/// Interval between checks for signals during a step.
const SIGNAL_CHECK: std::time::Duration = std::time::Duration::from_millis(50);
/// Latest end of a step, s.
const MAX_SECONDS: f64 = 1e9;
