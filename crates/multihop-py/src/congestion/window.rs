//! The congestion window of a controller in Python, in segments.

use multihop_transport::congestion::{Share, Window};
use multihop_transport::tcp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::signals::{Ack, segments};

/// Congestion window and slow-start threshold of one connection, in segments, with the arithmetic of NewReno.
///
/// The congestion window is at least one segment, the threshold at least two, and both are at most the clamp of the
/// scenario (`window_max`). `Window(mss=1000, initial=2)` is a window for tests of a controller.
#[pyclass(name = "Window", module = "multihop")]
pub(crate) struct PyWindow(pub(super) Window);

impl PyWindow {
    pub(super) fn segments(&self, bytes: u32) -> f64 {
        segments(bytes, self.0.mss())
    }

    /// The bytes of this many segments, rounded down.
    pub(super) fn bytes(&self, segments: f64) -> PyResult<u32> {
        if !(segments >= 0.0 && segments.is_finite()) {
            return Err(PyValueError::new_err(format!("found {segments} segments, allowed: 0 or more")));
        }
        // One part in 10^9 more, so that a window that was read comes back to its own number of bytes.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rounds down, and saturates"
        )]
        Ok((segments * f64::from(self.0.mss()) * (1.0 + 1e-9)) as u32)
    }
}

#[pymethods]
impl PyWindow {
    /// A window of an own connection, for tests: payload bytes of a segment, and the initial window in segments.
    #[new]
    #[pyo3(signature = (mss=1000, initial=2))]
    fn new(mss: u16, initial: u16) -> PyResult<Self> {
        if mss == 0 || initial == 0 {
            return Err(PyValueError::new_err("found 0, allowed: mss and initial of 1 or more"));
        }
        Ok(Self(tcp::Config { mss, initial_window: initial, ..tcp::Config::default() }.window()))
    }

    /// Payload bytes of a full segment.
    #[getter]
    fn mss(&self) -> u32 {
        self.0.mss()
    }

    /// The congestion window, segments, without the inflation by duplicate ACKs.
    #[getter]
    fn cwnd(&self) -> f64 {
        self.segments(self.0.cwnd())
    }

    #[setter]
    fn set_cwnd(&mut self, segments: f64) -> PyResult<()> {
        let bytes = self.bytes(segments)?;
        self.0.set_cwnd(bytes);
        Ok(())
    }

    /// The slow-start threshold, segments: at first the clamp.
    #[getter]
    fn ssthresh(&self) -> f64 {
        self.segments(self.0.ssthresh())
    }

    #[setter]
    fn set_ssthresh(&mut self, segments: f64) -> PyResult<()> {
        let bytes = self.bytes(segments)?;
        self.0.set_ssthresh(bytes);
        Ok(())
    }

    /// The congestion window with which the connection began, segments.
    #[getter]
    fn initial(&self) -> f64 {
        self.segments(self.0.initial())
    }

    /// Segments that may be in flight: the congestion window and its inflation by duplicate ACKs, at most the clamp.
    #[getter]
    fn total(&self) -> f64 {
        self.segments(self.0.total())
    }

    /// Whether the congestion window is below the threshold.
    #[getter]
    fn is_slow_start(&self) -> bool {
        self.0.is_slow_start()
    }

    /// Answer of NewReno to an ACK of new data: growth, the next step of fast recovery, or its end.
    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(&ack.0);
    }

    /// Grows the window by slow start or congestion avoidance, after an ACK of this many segments.
    fn grow(&mut self, acked: f64) -> PyResult<()> {
        let bytes = self.bytes(acked)?;
        self.0.grow(bytes);
        Ok(())
    }

    /// Enlarges the congestion window by this many segments.
    fn add(&mut self, segments: f64) -> PyResult<()> {
        let bytes = self.bytes(segments)?;
        self.0.add(bytes);
        Ok(())
    }

    /// Fast retransmit: this share of `flight` (segments) remains, inflated by three segments.
    #[pyo3(signature = (flight, share=0.5))]
    pub(super) fn reduce(&mut self, flight: f64, share: f64) -> PyResult<()> {
        let (flight, share) = (self.bytes(flight)?, thousandths(share)?);
        self.0.reduce(flight, share);
        Ok(())
    }

    /// Timeout: the threshold is this share of `flight` (segments), the congestion window one segment.
    #[pyo3(signature = (flight, again=false, share=0.5))]
    pub(super) fn collapse(&mut self, flight: f64, again: bool, share: f64) -> PyResult<()> {
        let (flight, share) = (self.bytes(flight)?, thousandths(share)?);
        self.0.collapse(flight, again, share);
        Ok(())
    }

    /// Sets the congestion window to one segment and keeps the threshold.
    fn shrink(&mut self) {
        self.0.shrink();
    }

    /// Limits the window to the initial window.
    fn restart(&mut self) {
        self.0.restart();
    }

    /// Inflates the window by a duplicate ACK: one more segment has left the network.
    fn inflate(&mut self) {
        self.0.inflate();
    }

    /// Fast retransmit with this congestion window (segments), inflated by three segments; keeps the threshold.
    fn hold(&mut self, cwnd: f64) -> PyResult<()> {
        let bytes = self.bytes(cwnd)?;
        self.0.hold(bytes);
        Ok(())
    }

    /// Ends fast recovery with this congestion window, segments.
    fn release(&mut self, cwnd: f64) -> PyResult<()> {
        let bytes = self.bytes(cwnd)?;
        self.0.release(bytes);
        Ok(())
    }

    /// Undoes a reduction: raises window and threshold (segments) to at least these values.
    pub(super) fn restore(&mut self, cwnd: f64, ssthresh: f64) -> PyResult<()> {
        let (cwnd, ssthresh) = (self.bytes(cwnd)?, self.bytes(ssthresh)?);
        self.0.restore(cwnd, ssthresh);
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("Window(cwnd={}, ssthresh={})", self.cwnd(), self.ssthresh())
    }
}

fn thousandths(share: f64) -> PyResult<Share> {
    if !(0.0..=1.0).contains(&share) {
        return Err(PyValueError::new_err(format!("found the share {share}, allowed: 0 to 1")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked share")]
    Ok(Share::thousandths((share * 1000.0).round() as u16))
}
