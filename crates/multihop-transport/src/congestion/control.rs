//! The interface of a congestion control. Its inputs are in `signals.rs`.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

use multihop_core::settings::Settings;
use multihop_core::{Duration, Instant, Notice};

use super::signals::{Ack, RateSample, Signals};
use super::window::{Share, Window};
use crate::observe::{Quantity, Value};

/// Congestion control of one connection: decides how much may be in flight, and how fast it leaves.
///
/// A control owns a [`Window`], which holds the congestion window and the slow-start threshold. The endpoint owns everything else:
/// sequence numbers, round-trip estimation, detection of losses, retransmission and timers. Every method has a default, and the
/// defaults together are NewReno (RFC 5681, RFC 6582). A control therefore implements [`window`](Self::window),
/// [`window_mut`](Self::window_mut), and only the signals that it answers differently.
///
/// # Who calls what, and when
///
/// [`CongestionConfig::control`] makes a control for each end of a connection. Only that end calls it, and `now` never goes
/// backwards. One ACK leads to these calls, in this order, each at most once:
///
/// 1. [`on_congestion`](Self::on_congestion), if the ACK echoes an ECN mark (RFC 3168; at most once per window), or
///    [`on_marks`](Self::on_marks), for a control that wants [`Signals::marks`];
/// 2. [`on_ack`](Self::on_ack), if the ACK acknowledges new data, or else [`on_dup_ack`](Self::on_dup_ack), for a duplicate during
///    fast recovery without SACK, or [`on_loss`](Self::on_loss), if the duplicate begins fast recovery;
/// 3. [`on_undo`](Self::on_undo), if the ACK shows that the last reduction was unnecessary;
/// 4. [`on_loss`](Self::on_loss), if losses are found among recorded transmissions and fast recovery begins: with RACK, or for a
///    control that wants [`Signals::rates`];
/// 5. [`on_rate_sample`](Self::on_rate_sample), for a control that wants [`Signals::rates`].
///
/// Fast recovery begins with `on_loss`. It ends with an ACK of kind [`AckKind::Full`](super::AckKind::Full), with [`on_timeout`](Self::on_timeout), or
/// with `on_undo`. Between two signals the endpoint sends what the answers permit: bytes in flight are bounded by
/// [`Window::total`], the clamp `window_max` and the peer's window, and data leaves at the [`pacing_rate`](Self::pacing_rate), if
/// there is one. With proportional rate reduction (`prr`) the endpoint itself shrinks the flight to [`Window::ssthresh`] during
/// fast recovery, unless the control wants rates.
///
/// # Units
///
/// Windows and flights are bytes of payload, rates are bytes per second. `flight` is the number of bytes sent and not acknowledged.
///
/// # Example
///
/// A control that keeps 0.8 of the window after a loss, and is NewReno otherwise:
///
/// ```
/// use multihop_core::settings::Settings;
/// use multihop_core::{Duration, Instant};
/// use multihop_transport::congestion::{
///     Ack, AckKind, Algorithm, CongestionConfig, CongestionControl, Share, Window,
/// };
/// use multihop_transport::tcp::Config;
///
/// /// The parameters, with their keys in scenarios.
/// #[derive(Clone, Debug, Settings)]
/// struct GentleConfig {
///     /// Share of the window that is kept after a loss.
///     #[key(0.1..=0.95, thousandths)]
///     kept: u16,
/// }
///
/// impl CongestionConfig for GentleConfig {
///     fn control(&self, window: Window) -> Box<dyn CongestionControl> {
///         Box::new(Gentle { window, kept: Share::thousandths(self.kept) })
///     }
/// }
///
/// #[derive(Debug)]
/// struct Gentle {
///     window: Window,
///     kept: Share,
/// }
///
/// impl CongestionControl for Gentle {
///     fn window(&self) -> &Window {
///         &self.window
///     }
///
///     fn window_mut(&mut self) -> &mut Window {
///         &mut self.window
///     }
///
///     fn on_loss(&mut self, _now: Instant, flight: u32) {
///         self.window.reduce(flight, self.kept);
///     }
/// }
///
/// // The window with which a connection of this configuration begins: 4 segments of 1000 bytes.
/// let tcp = Config { mss: 1000, initial_window: 4, ..Config::rfc() };
/// let gentle = GentleConfig { kept: 800 };
/// let mut control = gentle.control(tcp.window());
/// let now = Instant::ZERO + Duration::from_millis(100);
/// for _ in 0..6 {
///     control.on_ack(now, &Ack { flight: 4000, ..Ack::of(1000) });
/// }
/// assert_eq!(control.window().cwnd(), 10_000, "slow start");
/// control.on_loss(now, 10_000);
/// assert_eq!(control.window().ssthresh(), 8000);
/// assert_eq!(control.window().total(), 11_000, "three segments have left the network");
/// control.on_ack(now, &Ack { kind: AckKind::Full, flight: 10_000, ..Ack::of(1000) });
/// assert_eq!(control.window().total(), 8000);
///
/// // A connection that uses it:
/// let tcp = Config { congestion: Algorithm::custom(gentle), ..tcp };
/// ```
pub trait CongestionControl: fmt::Debug + Send {
    /// Congestion window and slow-start threshold of this control.
    fn window(&self) -> &Window;

    /// Mutable access to the windows, for the endpoint: it clamps the window to the number of hops, and reduces it to
    /// one segment after stand-by (`restore = "window"`).
    fn window_mut(&mut self) -> &mut Window;

    /// The handshake ended and took `round_trip`. Called only with the keys `all_rtt` and `rack`.
    fn on_handshake(&mut self, _now: Instant, _round_trip: Duration) {}

    /// An ACK acknowledged new data. With SACK there is no call for
    /// [`AckKind::Partial`](super::AckKind::Partial): the scoreboard shows the missing data.
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        self.window_mut().on_ack(ack);
    }

    /// Handles one more duplicate ACK in fast recovery without SACK: a segment has left the network.
    fn on_dup_ack(&mut self, _now: Instant) {
        self.window_mut().inflate();
    }

    /// Losses were detected and fast recovery begins, with `flight` bytes outstanding. Further losses among
    /// the data sent before this call cause no second call.
    fn on_loss(&mut self, _now: Instant, flight: u32) {
        self.window_mut().reduce(flight, Share::HALF);
    }

    /// The retransmission timer expired with `flight` bytes outstanding. `again`: the timer has already
    /// expired for the first of these bytes.
    fn on_timeout(&mut self, _now: Instant, flight: u32, again: bool) {
        self.window_mut().collapse(flight, again, Share::HALF);
    }

    /// Congestion without a loss to repair: the peer echoes an ECN mark, or a tail loss probe has repaired
    /// the loss (RFC 8985).
    fn on_congestion(&mut self, now: Instant, flight: u32) {
        self.on_loss(now, flight);
        let cwnd = self.window().cwnd();
        self.window_mut().release(cwnd);
    }

    /// Handles an ACK of `acked` bytes with `flight` bytes outstanding after it. `marked`: the ACK reports
    /// congestion marks (ECN). Called only with [`Signals::marks`].
    fn on_marks(&mut self, _now: Instant, _acked: u32, _marked: bool, _flight: u32) {}

    /// Reports one ACK as a measurement of the path, or losses that a timer has found. Called only if
    /// transmissions are recorded: with [`Signals::rates`] or with `rack`.
    fn on_rate_sample(&mut self, _now: Instant, _sample: &RateSample) {}

    /// Called before data leaves after an idle time of a retransmission timeout (RFC 5681 §4.1). Only with
    /// `idle_restart`.
    fn on_idle(&mut self, _now: Instant) {
        self.window_mut().restart();
    }

    /// Called before data leaves while nothing is in flight, after the application paused. Only where transmissions
    /// are recorded.
    fn on_restart(&mut self, _now: Instant) {}

    /// The last reduction was unnecessary: `cwnd` and `ssthresh` are the values before it. Only with `undo`.
    fn on_undo(&mut self, _now: Instant, cwnd: u32, ssthresh: u32) {
        // DEVIATION tcp-10: Undoing a false loss restores only window and threshold, as in Linux. RFC 9438 (4.9) also
        // restores CUBIC's function; in multihop a new, flat stage of CUBIC begins.
        self.window_mut().restore(cwnd, ssthresh);
    }

    /// Reports a notice from the layers below: the path's length, or a route lost or restored. With
    /// [`Signals::notices`] or stand-by (`+elfn`) also a segment lost at a failed link.
    fn on_notice(&mut self, _now: Instant, _notice: &Notice) {}

    /// Called at the end of stand-by, when a lost path has been restored. The windows already have the values
    /// that the scenario's key `restore` selects.
    fn on_path_restored(&mut self, _now: Instant) {}

    /// Pacing rate in bytes per second; `None` sends as soon as the window permits. Read when a segment
    /// leaves, to determine the earliest departure of the next one.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Whether fast recovery without SACK continues after a partial ACK (RFC 6582). If not, the first ACK of new data ends it (RFC
    /// 5681).
    fn continues_after_partial_ack(&self) -> bool {
        true
    }

    /// The name of the control's state, for the viewer. `None` shows the phase of TCP: slow start, congestion avoidance or fast
    /// recovery.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// The current value of the quantity that [`CongestionConfig::quantity`] declares; `None` if the quantity
    /// has no value yet.
    fn value(&self, _index: usize) -> Option<Value> {
        None
    }
}

/// The parameters of a user-defined congestion control, which create the control of each connection.
/// [`Settings`] lists the keys that scenarios can set, in addition to the keys of TCP.
pub trait CongestionConfig: CloneConfig + Settings + fmt::Debug + Send + Sync {
    /// Creates the control of a connection with this initial window. Called twice for each end: when the end
    /// is created, and after the handshake, which determines the length of segments.
    fn control(&self, window: Window) -> Box<dyn CongestionControl>;

    /// The signals that the control needs and that cost something to provide.
    fn signals(&self) -> Signals {
        Signals::default()
    }

    /// Quantity number `index` that the control declares for observation: one row of a table of
    /// [`Row`](crate::observe::Row). Results and time series include it like the quantities of TCP.
    fn quantity(&self, _index: usize) -> Option<&'static Quantity> {
        None
    }
}

/// Clones a configuration behind a pointer. Implemented for every [`CongestionConfig`] that is `Clone`.
pub trait CloneConfig {
    /// A copy of the configuration that nobody else holds.
    fn clone_config(&self) -> Arc<dyn CongestionConfig>;
}

impl<C: CongestionConfig + Clone + 'static> CloneConfig for C {
    fn clone_config(&self) -> Arc<dyn CongestionConfig> {
        Arc::new(self.clone())
    }
}
