//! Ends runs early: at an interrupt from the keyboard, or when another thread says so.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

/// A flag that cancels all runs that were given it.
#[pyclass(frozen)]
#[derive(Clone, Default)]
pub(crate) struct Flag(Arc<AtomicBool>);

#[pymethods]
impl Flag {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Cancels the runs, which end as soon as they can.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Flag {
    /// Whether runs go on.
    pub(crate) fn control(&self) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Watch over one run: lets Python handle signals, and ends the run if a handler raises.
pub(crate) struct Watch {
    flag: Flag,
    /// Exception that a handler of a signal raised, such as `KeyboardInterrupt`.
    raised: Option<PyErr>,
}

impl Watch {
    pub(crate) const fn new(flag: Flag) -> Self {
        Self { flag, raised: None }
    }

    /// Runs the handlers of signals that have arrived. Python does this in its main thread only.
    pub(crate) fn check(&mut self) -> ControlFlow<()> {
        self.raised = Python::attach(|py| py.check_signals()).err();
        if self.raised.is_some() { ControlFlow::Break(()) } else { self.flag.control() }
    }

    /// Returns the exception that a handler of a signal raised, if any.
    pub(crate) fn raised(self) -> Option<PyErr> {
        self.raised
    }
}
