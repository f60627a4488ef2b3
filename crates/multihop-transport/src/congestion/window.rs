use super::start::{Halving, RecoveryExit, Start};

/// The congestion window in bytes, and the arithmetic that the Reno family shares.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    mss: u32,
    max: u32,
    initial: u32,
    cwnd: u32,
    ssthresh: u32,
    /// What duplicate ACKs have added during fast recovery.
    inflation: u32,
    halving: Halving,
    exit: RecoveryExit,
    byte_counting: bool,
}

impl Window {
    pub(super) fn new(start: &Start) -> Self {
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
        }
    }

    pub(super) fn cwnd(&self) -> u32 {
        self.cwnd
    }

    pub(super) fn initial(&self) -> u32 {
        self.initial
    }

    pub(super) fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    pub(super) fn total(&self) -> u32 {
        self.cwnd.saturating_add(self.inflation).min(self.max)
    }

    /// The clamp changes. A threshold that only the old clamp determined changes with it.
    pub(crate) fn set_max(&mut self, max: u32) {
        self.ssthresh = if self.ssthresh == self.max { max } else { self.ssthresh.min(max) };
        self.max = max;
        self.initial = self.initial.min(max);
        self.cwnd = self.cwnd.min(max);
    }

    /// Slow start or congestion avoidance, by one ACK.
    pub(super) fn grow(&mut self, acked: u32) {
        if self.byte_counting {
            return self.grow_by_bytes(acked);
        }
        let step = if self.cwnd < self.ssthresh {
            // RFC 5681 §3.1, equation 2
            acked.min(self.mss)
        } else {
            // RFC 5681 §3.1, equation 3
            // DEVIATION tcp-4: in whole bytes; ns-2 counts fractions of a packet.
            let square = u64::from(self.mss) * u64::from(self.mss);
            u32::try_from(square / u64::from(self.cwnd)).unwrap_or(self.mss).max(1)
        };
        self.cwnd = self.cwnd.saturating_add(step).min(self.max);
    }

    /// RFC 3465 §2 without its limit: up to the threshold all that was delivered, then a segment for each full window.
    fn grow_by_bytes(&mut self, acked: u32) {
        let below = acked.min(self.ssthresh.saturating_sub(self.cwnd));
        self.add(below);
        let above = u64::from(self.mss) * u64::from(acked - below) / u64::from(self.cwnd);
        self.add(u32::try_from(above).unwrap_or(u32::MAX));
    }

    /// For how many ACKs one of `acked` bytes counts, in segments.
    pub(super) fn acks(&self, acked: u32) -> f64 {
        if self.byte_counting { f64::from(acked) / f64::from(self.mss) } else { 1.0 }
    }

    pub(super) fn add(&mut self, bytes: u32) {
        self.cwnd = self.cwnd.saturating_add(bytes).min(self.max);
    }

    /// Fast retransmit: half the window, and room for the three segments that have left the network.
    pub(super) fn halve(&mut self, flight: u32) {
        self.cut(flight, Share::HALF);
    }

    /// The same with a share other than half.
    pub(super) fn cut(&mut self, flight: u32, share: Share) {
        let left = self.left(flight, share);
        self.ssthresh = left.ssthresh;
        self.cwnd = left.cwnd;
        // RFC 5681 §3.2 step 3
        self.inflation = 3 * self.mss;
    }

    /// Retransmission timeout: back to one segment.
    pub(super) fn collapse(&mut self, flight: u32, again: bool) {
        self.collapse_to(flight, again, Share::HALF);
    }

    /// The same with a share other than half for the threshold.
    pub(super) fn collapse_to(&mut self, flight: u32, again: bool, share: Share) {
        // The threshold is a share of the window without what duplicate ACKs have added, as in ns-2.
        self.inflation = 0;
        // RFC 5681 §3.1: ssthresh is kept when the same segment times out again.
        if !(again && self.halving != Halving::Window) {
            self.ssthresh = self.left(flight, share).ssthresh;
        }
        self.shrink();
    }

    /// Sets the threshold, to two segments at least.
    pub(super) fn set_ssthresh(&mut self, bytes: u32) {
        self.ssthresh = bytes.min(self.max).max(2 * self.mss);
    }

    /// Sets the window, to one segment at least.
    pub(super) fn set_cwnd(&mut self, bytes: u32) {
        self.cwnd = bytes.min(self.max).max(self.mss);
    }

    /// Sets the window to one segment, and keeps the threshold.
    pub(crate) fn shrink(&mut self) {
        self.cwnd = self.mss;
        self.inflation = 0;
    }

    /// Congestion avoidance from the threshold on. DEVIATION adtcp-4: but not from a larger window
    /// than before; a threshold that no loss has set yet is only the clamp.
    pub(super) fn resume(&mut self) {
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.set_ssthresh(self.cwnd);
        self.inflation = 0;
    }

    /// RFC 5681 §4.1
    pub(super) fn restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial);
    }

    pub(super) fn inflate(&mut self) {
        self.inflation = self.inflation.saturating_add(self.mss);
    }

    /// Reduces the inflated window by `bytes`, to one segment at least.
    pub(super) fn deflate(&mut self, bytes: u32) {
        let from_inflation = bytes.min(self.inflation);
        self.inflation -= from_inflation;
        self.cwnd = self.cwnd.saturating_sub(bytes - from_inflation).max(self.mss);
    }

    /// Fast retransmit without halving: this window, and room for the three segments that have left
    /// the network.
    pub(super) fn hold(&mut self, cwnd: u32) {
        self.cwnd = cwnd.min(self.max);
        self.inflation = 3 * self.mss;
    }

    /// The recovery after it is over.
    pub(super) fn release(&mut self, cwnd: u32) {
        self.cwnd = cwnd.min(self.max);
        self.inflation = 0;
    }

    /// Recovery is over. `limit` bounds the window if the exit follows the RFC.
    pub(super) fn leave_recovery(&mut self, acked: u32, limit: u32) {
        self.inflation = 0;
        match self.exit {
            RecoveryExit::Rfc => self.cwnd = self.ssthresh.min(limit),
            RecoveryExit::Grow => self.grow(acked),
            RecoveryExit::Threshold => self.cwnd = self.ssthresh,
        }
    }

    /// The last reduction was not necessary: no less than before it.
    pub(super) fn restore(&mut self, cwnd: u32, ssthresh: u32) {
        self.cwnd = self.cwnd.max(cwnd).min(self.max);
        self.ssthresh = self.ssthresh.max(ssthresh).min(self.max);
        self.inflation = 0;
    }

    pub(super) fn mss(&self) -> u32 {
        self.mss
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

/// The share of the window that remains after a loss, in tenths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share(pub(super) u32);

impl Share {
    const HALF: Self = Self(5);

    fn of(self, bytes: u32) -> u32 {
        u32::try_from(u64::from(bytes) * u64::from(self.0) / 10).unwrap_or(u32::MAX)
    }
}

/// Window and threshold after a loss.
struct Left {
    ssthresh: u32,
    cwnd: u32,
}

#[cfg(test)]
mod tests {
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
        // One segment up to the threshold, and five of the ten in a window.
        assert_eq!(window.cwnd(), 10_500);
        window.grow(10_500);
        assert_eq!(window.cwnd(), 11_500);
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
            window.halve(7000);
            assert_eq!((window.cwnd(), window.ssthresh()), (left, left));
            // The same segment again: nothing changes.
            window.collapse(20_000, true);
            assert_eq!(window.ssthresh(), left);
        }
    }

    #[test]
    fn a_timeout_in_fast_recovery_halves_the_window_that_is_not_inflated() {
        let mut window = Window::new(&Start { halving: Halving::Window, ..start(64) });
        window.set_cwnd(16_000);
        window.halve(16_000);
        for _ in 0..20 {
            window.inflate();
        }
        window.collapse(31_000, false);
        assert_eq!((window.ssthresh(), window.total()), (4000, 1000));
    }

    #[test]
    fn undoing_restores_no_less_than_there_was_and_no_more_than_the_clamp() {
        let mut window = window(false);
        window.halve(9000);
        window.restore(9000, 10_000);
        assert_eq!((window.cwnd(), window.ssthresh(), window.total()), (9000, 10_000, 9000));
        window.restore(1000, 100_000);
        assert_eq!((window.cwnd(), window.ssthresh()), (9000, 64_000));
    }
}
