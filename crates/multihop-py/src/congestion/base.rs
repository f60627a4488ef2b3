//! The base class of controllers in Python, whose methods are NewReno.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::signals::{Ack, RateSample};
use super::window::PyWindow;

/// Base class of congestion controls in Python, for `multihop.run(..., controllers={"mine": Mine})`.
///
/// The methods have the names and the order of the Rust trait `CongestionControl`, and together they are NewReno.
/// Override what differs; methods that are not overridden run without Python. Times are seconds, windows and flights
/// segments. `self.window` is the `Window`. `self.pacing_interval` is the time between two full segments, s; `None`
/// sends as soon as the window permits.
///
/// `Mine(window)` is called up to twice for each end of a connection: when the end exists, and when the handshake has
/// settled the length of segments. `__init__`, if there is one, takes the window.
#[pyclass(name = "CongestionControl", module = "multihop", subclass)]
pub(crate) struct Base {
    #[pyo3(get)]
    pub(super) window: Py<PyWindow>,
    #[pyo3(get, set)]
    pub(super) pacing_interval: Option<f64>,
}

#[pymethods]
#[expect(unused_variables, reason = "Python sees the names of the arguments")]
impl Base {
    /// A control that begins with this window.
    #[new]
    #[pyo3(signature = (window, *args, **kwargs))]
    const fn new(
        window: Py<PyWindow>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> Self {
        Self { window, pacing_interval: None }
    }

    /// The handshake ended and took `round_trip`, s. Called only with the keys `all_rtt` and `rack`.
    fn on_handshake(&self, now: f64, round_trip: f64) {}

    /// An ACK acknowledged new data. With SACK there is no call for the kind "partial".
    fn on_ack(&self, py: Python<'_>, now: f64, ack: &Ack) {
        self.window.borrow_mut(py).0.on_ack(&ack.0);
    }

    /// One more duplicate ACK in fast recovery without SACK: a segment has left the network.
    fn on_dup_ack(&self, py: Python<'_>, now: f64) {
        self.window.borrow_mut(py).0.inflate();
    }

    /// Losses were detected and fast recovery begins, with `flight` segments outstanding.
    fn on_loss(&self, py: Python<'_>, now: f64, flight: f64) -> PyResult<()> {
        self.window.borrow_mut(py).reduce(flight, 0.5)
    }

    /// The retransmission timer expired with `flight` segments outstanding; `again`: not for the first time.
    fn on_timeout(&self, py: Python<'_>, now: f64, flight: f64, again: bool) -> PyResult<()> {
        self.window.borrow_mut(py).collapse(flight, again, 0.5)
    }

    /// Congestion without a loss to repair: an ECN mark, or a tail loss probe has repaired the loss.
    fn on_congestion(slf: &Bound<'_, Self>, now: f64, flight: f64) -> PyResult<()> {
        slf.call_method1("on_loss", (now, flight))?;
        let window = slf.borrow().window.clone_ref(slf.py());
        let mut window = window.borrow_mut(slf.py());
        let cwnd = window.0.cwnd();
        window.0.release(cwnd);
        Ok(())
    }

    /// An ACK of `acked` segments with `flight` outstanding after it, with ECN marks or not. Overriding this method asks
    /// for the mark of each segment.
    fn on_marks(&self, now: f64, acked: f64, marked: bool, flight: f64) {}

    /// An ACK as a measurement of the path. Overriding this method asks for rate samples, which need SACK.
    fn on_rate_sample(&self, now: f64, sample: &RateSample) {}

    /// Data leaves after an idle time of a retransmission timeout. Only with the key `idle_restart`.
    fn on_idle(&self, py: Python<'_>, now: f64) {
        self.window.borrow_mut(py).0.restart();
    }

    /// Data leaves while nothing is in flight, after the application paused. Only where transmissions are recorded.
    fn on_restart(&self, now: f64) {}

    /// The last reduction was unnecessary: window and threshold before it, segments. Only with the key `undo`.
    fn on_undo(&self, py: Python<'_>, now: f64, cwnd: f64, ssthresh: f64) -> PyResult<()> {
        self.window.borrow_mut(py).restore(cwnd, ssthresh)
    }

    /// A notice from the layers below: "link-failed", "route-lost", "route-restored", or "path" with its hops.
    #[pyo3(signature = (now, notice, hops=None))]
    fn on_notice(&self, now: f64, notice: &str, hops: Option<u8>) {}

    /// A lost path has been restored, at the end of stand-by.
    fn on_path_restored(&self, now: f64) {}
}
