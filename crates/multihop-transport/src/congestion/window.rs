//! The congestion window and the slow-start threshold, and their arithmetic.

use super::hystart::HyStart;
use super::signals::{Ack, AckKind};
use super::start::{Halving, RecoveryExit, Start};

/// The congestion window and the slow-start threshold of one connection, in bytes.
///
/// The methods are the arithmetic of Reno and NewReno. They keep the congestion window between one segment
/// and the clamp (`window_max`), and the threshold between two segments and the clamp. Scenario keys set the
/// details: `initial_window`, `hystart`, `byte_counting`, and the preset's rules for halving and for the end
/// of fast recovery.
#[derive(Clone, Debug)]
pub struct Window {
    mss: u32,
    max: u32,
    initial: u32,
    cwnd: u32,
    ssthresh: u32,
    /// Bytes that duplicate ACKs have added during fast recovery.
    inflation: u32,
    halving: Halving,
    exit: RecoveryExit,
    byte_counting: bool,
    /// Whether a partial ACK reduces the window by the acknowledged bytes (RFC 6582 §3.2 step 5).
    deflates: bool,
    /// HyStart++ (RFC 9406); `None` if it is off.
    hystart: Option<HyStart>,
}

impl Window {
    pub(crate) fn new(start: &Start) -> Self {
        let mss = start.mss;
        let max = u32::from(start.window_max.max(1)).saturating_mul(mss);
        let initial = u32::from(start.initial_window.max(1)).saturating_mul(mss).min(max);
        Self {
            mss,
            max,
            initial,
            cwnd: initial,
            ssthresh: max,
            inflation: 0,
            halving: start.halving,
            exit: start.exit,
            byte_counting: start.byte_counting,
            deflates: start.newreno.deflate,
            hystart: start.hystart.then(HyStart::default),
        }
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Changes the payload of a full segment, after discovery of the path MTU. The congestion window keeps its bytes,
    /// and is at least one segment.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss.max(1);
        self.cwnd = self.cwnd.max(self.mss);
    }

    /// The congestion window, without the inflation by duplicate ACKs.
    pub fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// The congestion window with which the connection began.
    pub fn initial(&self) -> u32 {
        self.initial
    }

    /// The slow-start threshold: at first the clamp.
    pub fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    /// Whether the congestion window is below the threshold.
    pub fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Bytes that may be in flight: the congestion window inflated by duplicate ACKs, at most the clamp.
    pub fn total(&self) -> u32 {
        self.cwnd.saturating_add(self.inflation).min(self.max)
    }

    /// Changes the clamp on the window. A threshold that equals the old clamp changes with it.
    pub(crate) fn set_max(&mut self, max: u32) {
        self.ssthresh = if self.ssthresh == self.max { max } else { self.ssthresh.min(max) };
        self.max = max;
        self.initial = self.initial.min(max);
        self.cwnd = self.cwnd.min(max);
    }

    /// The answer of NewReno to an ACK of new data: growth, the next step of fast recovery, or its end (RFC 5681, RFC 6582).
    pub fn on_ack(&mut self, ack: &Ack) {
        match ack.kind {
            AckKind::Normal if self.hystart.is_some() && self.is_slow_start() => self.start_slowly(ack),
            AckKind::Normal => self.grow(ack.counted),
            AckKind::Partial if self.deflates => {
                // RFC 6582 §3.2 step 5: subtract the acknowledged bytes, add one segment.
                let back = if ack.acked >= self.mss { self.mss } else { 0 };
                self.deflate(ack.acked - back);
            }
            AckKind::Partial => {}
            AckKind::Full => {
                // RFC 6582 §3.2 step 3, option 1
                let limit = ack.flight.max(self.mss).saturating_add(self.mss);
                self.leave_recovery(ack.acked, limit);
            }
        }
    }

    fn start_slowly(&mut self, ack: &Ack) {
        let Some(step) = self.hystart.as_mut().map(|hystart| hystart.on_ack(ack, self.mss)) else { return };
        self.add(step.growth);
        if step.is_over {
            self.set_ssthresh(self.cwnd);
        }
    }

    /// Grows the window by slow start or congestion avoidance, after one ACK of `acked` bytes.
    pub fn grow(&mut self, acked: u32) {
        if self.byte_counting {
            return self.grow_by_bytes(acked);
        }
        let step = if self.cwnd < self.ssthresh {
            // RFC 5681 §3.1, equation 2
            acked.min(self.mss)
        } else {
            // RFC 5681 §3.1, equation 3
            // DEVIATION tcp-4: The window counts bytes, and grows by MSS^2 / cwnd per ACK, rounded down. ns-2 counts
            // packets and adds 1/cwnd. The difference is less than one byte per ACK.
            let square = u64::from(self.mss) * u64::from(self.mss);
            u32::try_from(square / u64::from(self.cwnd)).unwrap_or(self.mss).max(1)
        };
        self.cwnd = self.cwnd.saturating_add(step).min(self.max);
    }

    /// Grows the window by delivered bytes (RFC 3465 §2 without its limit): up to the threshold by all of
    /// them, then by one segment per full window.
    fn grow_by_bytes(&mut self, acked: u32) {
        let below = acked.min(self.ssthresh.saturating_sub(self.cwnd));
        self.add(below);
        let above = u64::from(self.mss) * u64::from(acked - below) / u64::from(self.cwnd);
        self.add(u32::try_from(above).unwrap_or(u32::MAX));
    }

    /// Number of ACKs of single segments that an ACK of `acked` bytes counts for.
    pub(super) fn acks(&self, acked: u32) -> f64 {
        if self.byte_counting { f64::from(acked) / f64::from(self.mss) } else { 1.0 }
    }

    /// Enlarges the congestion window, at most to the clamp.
    pub fn add(&mut self, bytes: u32) {
        self.cwnd = self.cwnd.saturating_add(bytes).min(self.max);
    }

    /// Reduces the windows at a fast retransmit: `share` of the flight remains, inflated by the three segments that
    /// duplicate ACKs reported.
    pub fn reduce(&mut self, flight: u32, share: Share) {
        let left = self.left(flight, share);
        self.ssthresh = left.ssthresh;
        self.cwnd = left.cwnd;
        // RFC 5681 §3.2 step 3
        self.inflation = 3 * self.mss;
    }

    /// Retransmission timeout: the threshold is this share of the flight, the congestion window one segment. `again` if the timer
    /// has already expired for the same segment.
    pub fn collapse(&mut self, flight: u32, again: bool, share: Share) {
        // As in ns-2, the threshold is a share of the window without the inflation by duplicate ACKs.
        self.inflation = 0;
        // RFC 5681 §3.1: ssthresh is kept when the same segment times out again.
        if !(again && self.halving != Halving::Window) {
            self.ssthresh = self.left(flight, share).ssthresh;
        }
        self.shrink();
    }

    /// Sets the threshold, to two segments at least.
    pub fn set_ssthresh(&mut self, bytes: u32) {
        self.ssthresh = bytes.min(self.max).max(2 * self.mss);
    }

    /// Sets the congestion window, to one segment at least.
    pub fn set_cwnd(&mut self, bytes: u32) {
        self.cwnd = bytes.min(self.max).max(self.mss);
    }

    /// Sets the congestion window to one segment, and keeps the threshold.
    pub fn shrink(&mut self) {
        self.cwnd = self.mss;
        self.inflation = 0;
    }

    /// Congestion avoidance from the threshold on, but not from a larger window
    /// than before; a threshold that no loss has set yet is only the clamp.
    // DEVIATION adtcp-4: On leaving a disconnection, window and threshold become the lesser of both. In ADTCP (2.1)
    // the window becomes the threshold, by which a timeout could release `window_max` segments.
    pub fn resume(&mut self) {
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.set_ssthresh(self.cwnd);
        self.inflation = 0;
    }

    /// Limits the window after a pause to the initial window (RFC 5681 §4.1).
    pub fn restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial);
    }

    /// Inflates the window by a duplicate ACK: one more segment has left the network (RFC 5681 §3.2 step 4).
    pub fn inflate(&mut self) {
        self.inflation = self.inflation.saturating_add(self.mss);
    }

    /// Reduces the inflated window by `bytes`, to one segment at least.
    fn deflate(&mut self, bytes: u32) {
        let from_inflation = bytes.min(self.inflation);
        self.inflation -= from_inflation;
        self.cwnd = self.cwnd.saturating_sub(bytes - from_inflation).max(self.mss);
    }

    /// Sets the congestion window at a fast retransmit, inflated by the three segments that duplicate ACKs reported.
    /// The slow-start threshold is unchanged.
    pub fn hold(&mut self, cwnd: u32) {
        self.set_cwnd(cwnd);
        self.inflation = 3 * self.mss;
    }

    /// Ends fast recovery with this congestion window.
    pub fn release(&mut self, cwnd: u32) {
        self.set_cwnd(cwnd);
        self.inflation = 0;
    }

    /// Ends fast recovery and sets the window. `limit` bounds the window if the exit follows the RFC.
    pub(super) fn leave_recovery(&mut self, acked: u32, limit: u32) {
        self.inflation = 0;
        match self.exit {
            RecoveryExit::Rfc => self.cwnd = self.ssthresh.min(limit),
            RecoveryExit::Grow => self.grow(acked),
            RecoveryExit::Threshold => self.cwnd = self.ssthresh,
        }
    }

    /// Undoes a reduction: raises window and threshold to at least the values before it.
    pub fn restore(&mut self, cwnd: u32, ssthresh: u32) {
        self.cwnd = self.cwnd.max(cwnd).min(self.max);
        self.ssthresh = self.ssthresh.max(ssthresh).min(self.max);
        self.inflation = 0;
    }

    fn left(&self, flight: u32, share: Share) -> Left {
        let least = 2 * self.mss;
        match self.halving {
            Halving::Flight => {
                let left = share.of(flight).max(least);
                Left { ssthresh: left, cwnd: left }
            }
            Halving::Segments => {
                let left = share.of(flight);
                let left = (left - left % self.mss).max(least);
                Left { ssthresh: left, cwnd: left }
            }
            Halving::Window => {
                let left = share.of(self.total());
                Left { ssthresh: (left - left % self.mss).max(least), cwnd: left.max(self.mss) }
            }
        }
    }
}

/// The share of the window that remains after a loss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share(u16);

impl Share {
    /// The share one half, as in Reno.
    pub const HALF: Self = Self(500);

    /// A share given in thousandths, at most 1000.
    pub const fn thousandths(n: u16) -> Self {
        Self(if n < 1000 { n } else { 1000 })
    }

    fn of(self, bytes: u32) -> u32 {
        u32::try_from(u64::from(bytes) * u64::from(self.0) / 1000).unwrap_or(u32::MAX)
    }
}

/// Window and threshold that remain after a loss.
struct Left {
    ssthresh: u32,
    cwnd: u32,
}

#[cfg(test)]
mod tests {
    use multihop_core::Duration;

    use super::super::tests::start;
    use super::*;

    fn window(byte_counting: bool) -> Window {
        let mut window = Window::new(&Start { byte_counting, ..start(64) });
        window.set_cwnd(9000);
        window.set_ssthresh(10_000);
        window
    }

    #[test]
    fn what_is_left_above_the_threshold_adds_a_segment_for_each_window() {
        let mut window = window(true);
        window.grow(6000);
        // Growth is one segment up to the threshold, then five segments above it in a window of ten.
        assert_eq!(window.cwnd(), 10_500);
        window.grow(10_500);
        assert_eq!(window.cwnd(), 11_500);
    }

    #[test]
    fn hystart_ends_slow_start_with_the_window_that_it_has_reached() {
        let mut window = Window::new(&Start { hystart: true, ..start(1000) });
        window.set_cwnd(10_000);
        let mut grow = |millis| {
            for _ in 0..400 {
                window.on_ack(&Ack { flight: 10_000, round_trip: Some(millis), ..Ack::of(1000) });
            }
            (window.cwnd(), window.ssthresh(), window.is_slow_start())
        };
        let (cwnd, ssthresh, _) = grow(Duration::from_millis(80));
        assert_eq!((cwnd, ssthresh), (410_000, 1_000_000));
        let (cwnd, ssthresh, is_slow_start) = grow(Duration::from_millis(200));
        assert!(ssthresh < cwnd && !is_slow_start, "{cwnd} {ssthresh}");
    }

    #[test]
    fn an_ack_counts_once_or_for_each_of_its_segments() {
        let [once, each] = [false, true].map(|by_bytes| window(by_bytes).acks(2500));
        assert_eq!([once.to_bits(), each.to_bits()], [1.0_f64.to_bits(), 2.5_f64.to_bits()]);
    }

    #[test]
    fn linux_keeps_whole_segments() {
        for (halving, left) in [(Halving::Flight, 3500), (Halving::Segments, 3000)] {
            let mut window = Window::new(&Start { halving, ..start(64) });
            window.reduce(7000, Share::HALF);
            assert_eq!((window.cwnd(), window.ssthresh()), (left, left));
            // A second timeout of the same segment changes nothing.
            window.collapse(20_000, true, Share::HALF);
            assert_eq!(window.ssthresh(), left);
        }
    }

    #[test]
    fn a_timeout_in_fast_recovery_halves_the_window_that_is_not_inflated() {
        let mut window = Window::new(&Start { halving: Halving::Window, ..start(64) });
        window.set_cwnd(16_000);
        window.reduce(16_000, Share::HALF);
        for _ in 0..20 {
            window.inflate();
        }
        window.collapse(31_000, false, Share::HALF);
        assert_eq!((window.ssthresh(), window.total()), (4000, 1000));
    }

    #[test]
    fn undoing_restores_no_less_than_there_was_and_no_more_than_the_clamp() {
        let mut window = window(false);
        window.reduce(9000, Share::HALF);
        window.restore(9000, 10_000);
        assert_eq!((window.cwnd(), window.ssthresh(), window.total()), (9000, 10_000, 9000));
        window.restore(1000, 100_000);
        assert_eq!((window.cwnd(), window.ssthresh()), (9000, 64_000));
    }
}
