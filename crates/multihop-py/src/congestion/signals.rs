//! The signals of a controller in Python: times in seconds, amounts in segments.

use multihop_core::{Duration, Notice};
use multihop_transport::congestion::{self, AckKind};
use pyo3::prelude::*;

/// An ACK of new data. Amounts are segments, times are seconds.
#[pyclass(frozen, module = "multihop")]
pub(crate) struct Ack(pub(super) congestion::Ack, pub(super) u32);

#[pymethods]
impl Ack {
    /// Segments that the ACK acknowledges cumulatively for the first time.
    #[getter]
    fn acked(&self) -> f64 {
        segments(self.0.acked, self.1)
    }

    /// Segments by which the window may grow: `acked`, or with `byte_counting` the newly delivered segments.
    #[getter]
    fn counted(&self) -> f64 {
        segments(self.0.counted, self.1)
    }

    /// Segments still in flight after the ACK.
    #[getter]
    fn flight(&self) -> f64 {
        segments(self.0.flight, self.1)
    }

    /// Effect on fast recovery: "normal" (none is going on), "partial" (it continues) or "full" (the ACK ends it).
    #[getter]
    const fn kind(&self) -> &'static str {
        match self.0.kind {
            AckKind::Normal => "normal",
            AckKind::Partial => "partial",
            AckKind::Full => "full",
        }
    }

    /// Round-trip time that the ACK completes, s; `None` if it measures none.
    #[getter]
    fn round_trip(&self) -> Option<f64> {
        seconds(self.0.round_trip)
    }

    /// The smoothed round-trip time, s; `None` before the first sample.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        seconds(self.0.srtt)
    }

    fn __repr__(&self) -> String {
        format!("Ack(acked={}, flight={}, kind={:?})", self.acked(), self.flight(), self.kind())
    }
}

/// An ACK as a measurement of the path. Amounts are segments, times are seconds.
#[pyclass(frozen, get_all, module = "multihop")]
pub(crate) struct RateSample {
    /// Delivery rate, segments per second; `None` if it could not be measured.
    rate: Option<f64>,
    /// Segments delivered in the interval over which `rate` was measured.
    interval_delivered: f64,
    /// Whether the application had too little data to send, so that the rate is a lower bound.
    is_app_limited: bool,
    /// Segments delivered since the connection began.
    delivered: f64,
    /// Value of `delivered` when the newest delivered segment was sent.
    prior_delivered: Option<f64>,
    /// Segments that this ACK delivered.
    newly_delivered: f64,
    /// Segments that this ACK showed to be lost.
    newly_lost: f64,
    /// Segments in flight before this ACK.
    prior_in_flight: f64,
    /// Segments in flight after this ACK, without those considered lost.
    in_flight: f64,
    /// Segments in flight when the newest delivered segment was sent, with that segment.
    sent_in_flight: f64,
    /// Round-trip time of the newest delivered segment that was sent once, s.
    round_trip: Option<f64>,
    /// Whether losses are being repaired.
    is_recovering: bool,
}

impl RateSample {
    pub(super) fn new(sample: &congestion::RateSample, mss: u32) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 bytes")]
        let segments = |bytes: u64| bytes as f64 / f64::from(mss);
        Self {
            rate: sample.rate.map(segments),
            interval_delivered: segments(sample.interval_delivered),
            is_app_limited: sample.is_app_limited,
            delivered: segments(sample.delivered),
            prior_delivered: sample.prior_delivered.map(segments),
            newly_delivered: segments(sample.newly_delivered),
            newly_lost: segments(sample.newly_lost),
            prior_in_flight: segments(sample.prior_in_flight),
            in_flight: segments(sample.in_flight),
            sent_in_flight: segments(sample.sent_in_flight),
            round_trip: seconds(sample.round_trip),
            is_recovering: sample.is_recovering,
        }
    }
}

/// Name of a notice, and the number of hops of a notice about the path.
pub(super) const fn words(notice: &Notice) -> (&'static str, Option<u8>) {
    match notice {
        Notice::LinkFailed(_) => ("link-failed", None),
        Notice::RouteLost => ("route-lost", None),
        Notice::RouteRestored => ("route-restored", None),
        Notice::PathInfo { hops } => ("path", Some(*hops)),
    }
}

/// Converts bytes to segments of `mss` bytes.
pub(super) fn segments(bytes: u32, mss: u32) -> f64 {
    f64::from(bytes) / f64::from(mss)
}

fn seconds(time: Option<Duration>) -> Option<f64> {
    time.map(|time| time.as_secs_f64())
}
