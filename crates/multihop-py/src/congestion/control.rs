//! A congestion control whose methods are those of a Python object.

use std::cell::RefCell;
use std::ops::ControlFlow;

use multihop_core::settings::{Settings, Visitor};
use multihop_core::{Duration, Instant, Notice};
use multihop_transport::congestion::{
    self, CongestionConfig, CongestionControl, RateSample, Share, Signals, Window,
};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::base::Base;
use super::signals::{self, Ack, segments, words};
use super::window::PyWindow;
use crate::RunError;

/// A class of Python that makes the control of each connection.
#[derive(Debug)]
pub(super) struct Class {
    name: String,
    class: Py<PyType>,
    /// The methods that the class overrides.
    own: Methods,
}

/// Whether a class overrides each method of the base class.
#[derive(Clone, Copy, Debug)]
struct Methods {
    handshake: bool,
    ack: bool,
    dup_ack: bool,
    loss: bool,
    timeout: bool,
    congestion: bool,
    marks: bool,
    rate_sample: bool,
    idle: bool,
    restart: bool,
    undo: bool,
    notice: bool,
    path_restored: bool,
}

impl Class {
    pub(super) fn new(name: String, class: &Bound<'_, PyType>) -> PyResult<Self> {
        let base = class.py().get_type::<Base>();
        if !class.is_subclass(&base)? {
            let found = class.fully_qualified_name()?;
            let message =
                format!("the controller {name:?} is {found}, allowed: a class of CongestionControl");
            return Err(PyTypeError::new_err(message));
        }
        let overrides =
            |method: &str| -> PyResult<bool> { Ok(!class.getattr(method)?.is(&base.getattr(method)?)) };
        let own = Methods {
            handshake: overrides("on_handshake")?,
            ack: overrides("on_ack")?,
            dup_ack: overrides("on_dup_ack")?,
            loss: overrides("on_loss")?,
            timeout: overrides("on_timeout")?,
            congestion: overrides("on_congestion")?,
            marks: overrides("on_marks")?,
            rate_sample: overrides("on_rate_sample")?,
            idle: overrides("on_idle")?,
            restart: overrides("on_restart")?,
            undo: overrides("on_undo")?,
            notice: overrides("on_notice")?,
            path_restored: overrides("on_path_restored")?,
        };
        Ok(Self { name, class: class.clone().unbind(), own })
    }
}

/// Configuration of a congestion control in Python. It has no keys: parameters are attributes of the class.
#[derive(Clone, Copy, Debug)]
pub(super) struct PyConfig(pub(super) &'static Class);

impl Settings for PyConfig {
    fn keys(&mut self, _keys: &mut dyn Visitor) {}
}

impl CongestionConfig for PyConfig {
    fn control(&self, window: Window) -> Box<dyn CongestionControl> {
        let made = Python::attach(|py| {
            let shared = Py::new(py, PyWindow(window.clone()))?;
            let object = self.0.class.bind(py).call1((shared.clone_ref(py),))?;
            let object = object.cast_into::<Base>().map_err(PyErr::from)?.unbind();
            Ok((object, shared))
        });
        let mut control = Control { class: self.0, window, object: None, pacing: None };
        match made {
            Ok((object, shared)) => {
                control.object = Some((object, shared));
                Python::attach(|py| control.take(py))
                    .unwrap_or_else(|error| control.fail(Instant::ZERO, "__init__", error));
            }
            Err(error) => control.fail(Instant::ZERO, "__init__", error),
        }
        Box::new(control)
    }

    fn signals(&self) -> Signals {
        let own = self.0.own;
        Signals { rates: own.rate_sample, marks: own.marks, notices: own.notice }
    }
}

/// The control of one end of a connection.
#[derive(Debug)]
struct Control {
    class: &'static Class,
    window: Window,
    /// The object of the user's class, and its window; `None` after an exception.
    object: Option<(Py<Base>, Py<PyWindow>)>,
    /// Pacing rate in bytes per second.
    pacing: Option<u64>,
}

impl Control {
    /// Calls a method of the Python object with the present window, and takes over what the method has changed.
    fn call<A>(&mut self, now: Instant, method: &'static str, arguments: A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let Some((object, shared)) = &self.object else { return };
        let called = Python::attach(|py| {
            shared.borrow_mut(py).0.clone_from(&self.window);
            object.bind(py).call_method1(method, arguments).map(drop)
        });
        let taken = called.and_then(|()| Python::attach(|py| self.take(py)));
        if let Err(error) = taken {
            self.fail(now, method, error);
        }
    }

    /// Takes over window and pacing of the Python object.
    fn take(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some((object, shared)) = &self.object else { return Ok(()) };
        self.window.clone_from(&shared.borrow(py).0);
        self.pacing = pacing(object.borrow(py).pacing_interval, self.window.mss())?;
        Ok(())
    }

    /// Stops calling Python, and keeps the exception until the run ends.
    fn fail(&mut self, at: Instant, method: &'static str, error: PyErr) {
        self.object = None;
        FAILURE.with_borrow_mut(|failure| {
            failure.get_or_insert(Failure { name: self.class.name.clone(), method, at, error });
        });
    }

    fn segments(&self, bytes: u32) -> f64 {
        segments(bytes, self.window.mss())
    }
}

/// Pacing rate, bytes per second, of an interval between two segments.
fn pacing(interval: Option<f64>, mss: u32) -> PyResult<Option<u64>> {
    let Some(interval) = interval.filter(|interval| *interval != 0.0) else { return Ok(None) };
    if !(interval > 0.0 && interval.is_finite()) {
        let message =
            format!("found pacing_interval = {interval}, allowed: a positive number of seconds, or None");
        return Err(pyo3::exceptions::PyValueError::new_err(message));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    Ok(Some(((f64::from(mss) / interval) as u64).max(1)))
}

impl CongestionControl for Control {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_handshake(&mut self, now: Instant, round_trip: Duration) {
        if self.class.own.handshake {
            self.call(now, "on_handshake", (now.as_secs_f64(), round_trip.as_secs_f64()));
        }
    }

    fn on_ack(&mut self, now: Instant, ack: &congestion::Ack) {
        if self.class.own.ack {
            self.call(now, "on_ack", (now.as_secs_f64(), Ack(*ack, self.window.mss())));
        } else {
            self.window.on_ack(ack);
        }
    }

    fn on_dup_ack(&mut self, now: Instant) {
        if self.class.own.dup_ack {
            self.call(now, "on_dup_ack", (now.as_secs_f64(),));
        } else {
            self.window.inflate();
        }
    }

    fn on_loss(&mut self, now: Instant, flight: u32) {
        if self.class.own.loss {
            self.call(now, "on_loss", (now.as_secs_f64(), self.segments(flight)));
        } else {
            self.window.reduce(flight, Share::HALF);
        }
    }

    fn on_timeout(&mut self, now: Instant, flight: u32, again: bool) {
        if self.class.own.timeout {
            self.call(now, "on_timeout", (now.as_secs_f64(), self.segments(flight), again));
        } else {
            self.window.collapse(flight, again, Share::HALF);
        }
    }

    fn on_congestion(&mut self, now: Instant, flight: u32) {
        if self.class.own.congestion {
            return self.call(now, "on_congestion", (now.as_secs_f64(), self.segments(flight)));
        }
        self.on_loss(now, flight);
        let cwnd = self.window.cwnd();
        self.window.release(cwnd);
    }

    fn on_marks(&mut self, now: Instant, acked: u32, marked: bool, flight: u32) {
        if self.class.own.marks {
            let (acked, flight) = (self.segments(acked), self.segments(flight));
            self.call(now, "on_marks", (now.as_secs_f64(), acked, marked, flight));
        }
    }

    fn on_rate_sample(&mut self, now: Instant, sample: &RateSample) {
        if self.class.own.rate_sample {
            let sample = signals::RateSample::new(sample, self.window.mss());
            self.call(now, "on_rate_sample", (now.as_secs_f64(), sample));
        }
    }

    fn on_idle(&mut self, now: Instant) {
        if self.class.own.idle {
            self.call(now, "on_idle", (now.as_secs_f64(),));
        } else {
            self.window.restart();
        }
    }

    fn on_restart(&mut self, now: Instant) {
        if self.class.own.restart {
            self.call(now, "on_restart", (now.as_secs_f64(),));
        }
    }

    fn on_undo(&mut self, now: Instant, cwnd: u32, ssthresh: u32) {
        if self.class.own.undo {
            self.call(now, "on_undo", (now.as_secs_f64(), self.segments(cwnd), self.segments(ssthresh)));
        } else {
            self.window.restore(cwnd, ssthresh);
        }
    }

    fn on_notice(&mut self, now: Instant, notice: &Notice) {
        if self.class.own.notice {
            let (word, hops) = words(notice);
            self.call(now, "on_notice", (now.as_secs_f64(), word, hops));
        }
    }

    fn on_path_restored(&mut self, now: Instant) {
        if self.class.own.path_restored {
            self.call(now, "on_path_restored", (now.as_secs_f64(),));
        }
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing
    }
}

/// The first exception of a controller in the run of this thread.
struct Failure {
    name: String,
    method: &'static str,
    at: Instant,
    error: PyErr,
}

thread_local! {
    /// A run takes place in one thread, and its end empties this.
    static FAILURE: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

/// Whether the run of this thread goes on: no controller has raised an exception.
pub(crate) fn go_on() -> ControlFlow<()> {
    if FAILURE.with_borrow(Option::is_some) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The exception that ended the run of this thread: a `RunError` with the simulated time, caused by the controller's
/// exception. Interrupts from the keyboard and exits stay what they are.
pub(crate) fn raised() -> Option<PyErr> {
    let Failure { name, method, at, error } = FAILURE.take()?;
    Some(Python::attach(|py| {
        if !error.is_instance_of::<PyException>(py) {
            return error;
        }
        let at = at.as_secs_f64();
        let message =
            format!("the controller {name:?} failed in {method} at {at:.6} s of simulated time: {error}");
        let failed = RunError::new_err(message);
        failed.set_cause(py, Some(error));
        failed
    }))
}
