use super::start::{Halving, RecoveryExit, Start};

/// The congestion window in bytes, and the arithmetic that the Reno family shares.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Window {
    mss: u32,
    max: u32,
    initial: u32,
    cwnd: u32,
    ssthresh: u32,
    /// What duplicate ACKs have added during fast recovery.
    inflation: u32,
    halving: Halving,
    exit: RecoveryExit,
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
    pub(in crate::tcp) fn set_max(&mut self, max: u32) {
        self.ssthresh = if self.ssthresh == self.max { max } else { self.ssthresh.min(max) };
        self.max = max;
        self.initial = self.initial.min(max);
        self.cwnd = self.cwnd.min(max);
    }

    /// Slow start or congestion avoidance, by one ACK.
    pub(super) fn grow(&mut self, acked: u32) {
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
        // RFC 5681 §3.1: ssthresh is kept when the same segment times out again.
        if !(again && self.halving == Halving::Flight) {
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
    pub(in crate::tcp) fn shrink(&mut self) {
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
        }
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
