//! A congestion control of multihop as a controller of quinn and noq.
//!
//! The port and QUIC differ in four points. QUIC acknowledges packets, so "bytes of payload" of the port are bytes of
//! QUIC packets here. QUIC has no retransmission timeout that empties the window: `on_timeout` reports persistent
//! congestion (RFC 9002 §7.6). A packet that is acknowledged or lost leaves the flight at once, so that windows are
//! never inflated. quinn paces by window and round trip and ignores `pacing_rate`, noq uses it.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use multihop_transport::congestion::{Ack, AckKind, Algorithm, CongestionControl};
use multihop_transport::tcp;

use crate::samples::Samples;

/// Makes controllers of quinn and noq from a congestion control of multihop, or from one written against its port.
#[derive(Clone, Debug)]
pub struct ControlFactory {
    /// Settings of the window; its `mss` is replaced by the MTU of each connection.
    config: tcp::Config,
}

impl ControlFactory {
    /// Creates a factory for a built-in [`Variant`](multihop_transport::congestion::Variant), or for
    /// [`Algorithm::custom`]. The window begins with 10 datagrams, has no clamp, and grows by acknowledged bytes.
    pub fn new(algorithm: impl Into<Algorithm>) -> Self {
        let config =
            tcp::Config { congestion: algorithm.into(), window_max: u16::MAX, ..tcp::Config::linux_6() };
        Self { config }
    }

    fn make(&self, mtu: u16) -> PortController {
        let config = tcp::Config { mss: mtu, ..self.config.clone() };
        let control = config.control();
        let wants_rates = config.congestion.signals().rates;
        let window = allowed(&*control);
        PortController {
            factory: self.clone(),
            control: Mutex::new(control),
            wants_rates,
            mtu,
            window,
            initial: window,
            epoch: None,
            flight: 0,
            recovery: None,
            batch: Batch::default(),
            samples: Samples::default(),
        }
    }
}

/// Bytes that a control allows in flight. A stack sends only if a whole datagram is below the window, so the least is
/// two datagrams (RFC 9002 §7.2).
fn allowed(control: &dyn CongestionControl) -> u64 {
    let window = control.window();
    u64::from(window.total().max(2 * window.mss()))
}

/// A congestion control of multihop for one path of a QUIC connection.
pub(crate) struct PortController {
    factory: ControlFactory,
    /// Congestion control, behind a lock that makes it `Sync`. Stacks call it with exclusive access, without locking.
    control: Mutex<Box<dyn CongestionControl>>,
    wants_rates: bool,
    mtu: u16,
    /// Bytes that may be in flight.
    window: u64,
    /// Window of a new connection.
    initial: u64,
    /// Instant of the first call, which is time zero of the control.
    epoch: Option<Instant>,
    /// Bytes sent and neither acknowledged nor lost.
    flight: u64,
    /// Beginning of fast recovery, which ends with an ACK of a packet sent later.
    recovery: Option<Instant>,
    batch: Batch,
    samples: Samples,
}

/// Packets that the current ACK frame has acknowledged so far.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    /// Departure of the newest packet.
    newest: Option<Instant>,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
}

impl PortController {
    fn sent(&mut self, now: Instant, bytes: u64) {
        self.epoch.get_or_insert(now);
        if self.wants_rates {
            self.samples.on_sent(now, bytes, self.flight);
        }
        self.flight += bytes;
    }

    fn acked(&mut self, sent: Instant, bytes: u64, srtt: Duration, min_rtt: Duration) {
        self.batch.bytes += bytes;
        self.batch.newest = self.batch.newest.max(Some(sent));
        (self.batch.srtt, self.batch.min_rtt) = (Some(srtt), Some(min_rtt));
    }

    /// Handles the end of an ACK frame, with `flight` bytes outstanding after it.
    fn ended(&mut self, now: Instant, flight: u64, app_limited: bool) {
        let batch = std::mem::take(&mut self.batch);
        let before = self.flight;
        self.flight = flight;
        let Some(newest) = batch.newest else { return };
        let kind = match self.recovery {
            None => AckKind::Normal,
            Some(since) if newest > since => AckKind::Full,
            Some(_) => AckKind::Partial,
        };
        if kind == AckKind::Full {
            self.recovery = None;
        }
        let trip = now.saturating_duration_since(newest);
        // A window that the application does not fill does not grow (RFC 9002 §7.8).
        let holds = kind == AckKind::Partial || (kind == AckKind::Normal && app_limited);
        if !holds {
            let acked = bounded(batch.bytes);
            let ack = Ack {
                acked,
                counted: acked,
                flight: bounded(flight),
                kind,
                round_trip: Some(trip.into_port()),
                srtt: batch.srtt.map(IntoPort::into_port),
            };
            let now = self.now(now);
            self.control().on_ack(now, &ack);
        }
        if self.wants_rates {
            self.samples.on_ack(now, newest, batch.bytes, [before, flight], app_limited, batch.min_rtt);
            let sample = self.samples.take(trip.into_port(), self.recovery.is_some());
            let now = self.now(now);
            self.control().on_rate_sample(now, &sample);
        }
        self.window = allowed(self.control());
    }

    /// Handles the loss of `bytes` bytes, the last of them sent at `sent`; 0 bytes for an ECN mark.
    fn congested(&mut self, now: Instant, sent: Instant, persistent: bool, bytes: u64) {
        let flight = bounded(self.flight);
        if self.wants_rates {
            self.samples.on_lost(sent, bytes);
        }
        self.flight = self.flight.saturating_sub(bytes);
        let at = self.now(now);
        let is_new = self.recovery.is_none_or(|since| sent > since);
        if persistent {
            self.recovery = None;
            self.control().on_timeout(at, flight, false);
        } else if is_new {
            if bytes == 0 {
                self.control().on_congestion(at, flight);
            } else {
                self.control().on_loss(at, flight);
            }
            // Lost packets have left the flight, so no duplicate ACKs inflate the window.
            let cwnd = self.control().window().cwnd();
            self.control().window_mut().release(cwnd);
            self.recovery = Some(now);
        }
        self.window = allowed(self.control());
    }

    fn set_mtu(&mut self, mtu: u16) {
        self.mtu = mtu;
        self.control().window_mut().set_mss(mtu.into());
        self.window = allowed(self.control());
    }

    fn control(&mut self) -> &mut dyn CongestionControl {
        &mut **self.control.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time of the control.
    fn now(&mut self, now: Instant) -> multihop_core::Instant {
        let since = now.saturating_duration_since(*self.epoch.get_or_insert(now));
        multihop_core::Instant::ZERO + since.into_port()
    }

    fn ssthresh(&self) -> Option<u64> {
        let control = self.control.try_lock().ok()?;
        Some(control.window().ssthresh().into())
    }

    /// Pacing rate in bytes per second.
    fn pacing_rate(&self) -> Option<u64> {
        self.control.try_lock().ok()?.pacing_rate()
    }

    /// A controller for a new path, which begins like that of a new connection (RFC 9000 §9.4).
    fn fresh(&self) -> Box<Self> {
        Box::new(self.factory.make(self.mtu))
    }
}

impl fmt::Debug for PortController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { window, flight, .. } = self;
        f.debug_struct("PortController")
            .field("window", window)
            .field("flight", flight)
            .finish_non_exhaustive()
    }
}

/// Conversion of durations of the standard library.
trait IntoPort {
    fn into_port(self) -> multihop_core::Duration;
}

impl IntoPort for Duration {
    fn into_port(self) -> multihop_core::Duration {
        multihop_core::Duration::from_nanos(u64::try_from(self.as_nanos()).unwrap_or(u64::MAX))
    }
}

fn bounded(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl quinn_proto::congestion::ControllerFactory for ControlFactory {
    fn build(self: Arc<Self>, _now: Instant, mtu: u16) -> Box<dyn quinn_proto::congestion::Controller> {
        Box::new(self.make(mtu))
    }
}

impl quinn_proto::congestion::Controller for PortController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last: u64) {
        self.sent(now, bytes);
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        _app_limited: bool,
        rtt: &quinn_proto::RttEstimator,
    ) {
        self.acked(sent, bytes, rtt.get(), rtt.min());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.ended(now, in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.congested(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.set_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn metrics(&self) -> quinn_proto::congestion::ControllerMetrics {
        let mut metrics = quinn_proto::congestion::ControllerMetrics::default();
        metrics.congestion_window = self.window;
        metrics.ssthresh = self.ssthresh();
        metrics.pacing_rate = self.pacing_rate().map(|bytes| 8 * bytes);
        metrics
    }

    fn clone_box(&self) -> Box<dyn quinn_proto::congestion::Controller> {
        self.fresh()
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl noq_proto::congestion::ControllerFactory for ControlFactory {
    fn build(self: Arc<Self>, _now: Instant, mtu: u16) -> Box<dyn noq_proto::congestion::Controller> {
        Box::new(self.make(mtu))
    }
}

impl noq_proto::congestion::Controller for PortController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _largest: u64) {
        self.sent(now, bytes);
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        _number: u64,
        _app_limited: bool,
        rtt: &noq_proto::RttEstimator,
    ) {
        self.acked(sent, bytes, rtt.get(), rtt.min());
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.ended(now, in_flight, app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        _largest_lost: u64,
    ) {
        self.congested(now, sent, is_persistent, if is_ecn { 0 } else { lost_bytes });
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.set_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn metrics(&self) -> noq_proto::congestion::ControllerMetrics {
        let mut metrics = noq_proto::congestion::ControllerMetrics::default();
        metrics.congestion_window = self.window;
        metrics.ssthresh = self.ssthresh();
        metrics.pacing_rate = self.pacing_rate();
        metrics
    }

    fn clone_box(&self) -> Box<dyn noq_proto::congestion::Controller> {
        self.fresh()
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use multihop_transport::congestion::Variant;

    use super::*;

    const TRIP: Duration = Duration::from_millis(100);

    fn reno() -> PortController {
        ControlFactory::new(Variant::NewReno).make(1200)
    }

    /// Sends `packets` packets of 1200 bytes at `now`, and acknowledges them one round trip later.
    fn round(controller: &mut PortController, now: Instant, packets: u64) -> Instant {
        (0..packets).for_each(|_| controller.sent(now, 1200));
        (0..packets).for_each(|_| controller.acked(now, 1200, TRIP, TRIP));
        controller.ended(now + TRIP, 0, false);
        now + TRIP
    }

    #[test]
    fn slow_start_grows_by_what_is_acknowledged() {
        let mut controller = reno();
        assert_eq!(controller.window, 12_000);
        round(&mut controller, Instant::now(), 10);
        assert_eq!(controller.window, 24_000);
    }

    #[test]
    fn a_window_that_is_not_filled_does_not_grow() {
        let (mut controller, now) = (reno(), Instant::now());
        controller.sent(now, 1200);
        controller.acked(now, 1200, TRIP, TRIP);
        controller.ended(now + TRIP, 0, true);
        assert_eq!(controller.window, 12_000);
    }

    #[test]
    fn a_loss_halves_the_flight_once_until_a_later_packet_is_acknowledged() {
        let (mut controller, now) = (reno(), Instant::now());
        (0..10).for_each(|_| controller.sent(now, 1200));
        controller.congested(now + TRIP, now, false, 1200);
        assert_eq!(controller.window, 6000);
        controller.congested(now + TRIP, now, false, 1200);
        assert_eq!((controller.window, controller.flight), (6000, 9600));
        controller.acked(now, 9600, TRIP, TRIP);
        controller.ended(now + TRIP, 0, false);
        assert_eq!(controller.window, 6000, "packets from before the loss do not count");
        round(&mut controller, now + TRIP + TRIP, 5);
        assert_eq!(controller.window, 6000, "recovery has ended at the threshold");
        round(&mut controller, now + 4 * TRIP, 5);
        assert_eq!(controller.window, 7200, "congestion avoidance");
    }

    #[test]
    fn persistent_congestion_leaves_two_datagrams_and_marks_are_no_loss() {
        let (mut controller, now) = (reno(), Instant::now());
        (0..10).for_each(|_| controller.sent(now, 1200));
        controller.congested(now + TRIP, now, false, 0);
        assert_eq!((controller.window, controller.flight), (6000, 12_000));
        controller.congested(now + 9 * TRIP, now, true, 12_000);
        assert_eq!((controller.window, controller.flight), (2400, 0));
    }

    #[test]
    fn discovery_of_the_mtu_keeps_the_window_in_bytes() {
        let mut controller = reno();
        controller.set_mtu(1452);
        assert_eq!(controller.window, 12_000);
        assert_eq!(controller.control().window().mss(), 1452);
    }
}
