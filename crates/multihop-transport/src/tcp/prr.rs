//! Proportional rate reduction (RFC 9937, rounded as in Linux): during fast recovery segments leave in
//! proportion to delivered bytes, so that the bytes in flight reach the threshold at the end of the recovery.

use super::TcpEnd;

/// A reduction of the window in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// Bytes in flight when the reduction began (`RecoverFS`).
    before: u64,
    /// Bytes delivered and sent since the reduction began (`prr_delivered`, `prr_out`).
    delivered: u64,
    out: u64,
    /// Bytes that may be in flight now.
    window: u64,
}

/// Changes that an ACK has reported, after losses have been looked for.
struct Step {
    delivered: u64,
    in_flight: u64,
    /// Whether the ACK acknowledges new data, and no further segment is lost.
    is_safe: bool,
}

impl Prr {
    fn new(before: u32) -> Self {
        Self { before: before.max(1).into(), delivered: 0, out: 0, window: 0 }
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn on_sent(&mut self, bytes: u32) {
        self.out += u64::from(bytes);
    }

    /// Sets the window after an ACK, by proportional rate reduction (RFC 9937 §6.2).
    fn on_ack(&mut self, step: &Step, ssthresh: u64, mss: u64) {
        if step.delivered == 0 {
            return;
        }
        self.delivered += step.delivered;
        let allowed = if step.in_flight > ssthresh {
            let share = (self.delivered * ssthresh).div_ceil(self.before);
            share.next_multiple_of(mss).saturating_sub(self.out)
        } else {
            let arrived = self.delivered.saturating_sub(self.out).max(step.delivered);
            (arrived + if step.is_safe { mss } else { 0 }).min(ssthresh - step.in_flight)
        };
        let first = if self.out == 0 { mss } else { 0 };
        self.window = step.in_flight + allowed.max(first);
    }
}

impl TcpEnd {
    /// Begins the reduction at the start of fast recovery, with `flight` bytes outstanding. A control that
    /// measures rates reduces the window itself.
    pub(super) fn start_reduction(&mut self, flight: u32) {
        if self.config.prr && self.uses_rack() && !self.config.congestion.signals().rates {
            self.recovery.prr = Some(Prr::new(flight));
        }
    }

    /// Reduces the window in proportion to the bytes that an ACK reports as delivered. `is_new`: the ACK
    /// acknowledges new data.
    pub(super) fn reduce_by_ack(&mut self, is_new: bool) {
        let Some(sent) = &self.transmissions else { return };
        let (delivered, lost) = sent.newly();
        self.reduce(delivered, is_new && lost == 0);
    }

    /// Reduces the window after losses that a timer has found: Linux counts such an event as an ACK of one segment.
    pub(super) fn reduce_by_timer(&mut self) {
        self.reduce(self.mss.into(), false);
    }

    fn reduce(&mut self, delivered: u64, is_safe: bool) {
        if let (Some(prr), Some(sent)) = (&mut self.recovery.prr, &self.transmissions) {
            let step = Step { delivered, in_flight: sent.in_flight(), is_safe };
            prr.on_ack(&step, self.congestion.control().window().ssthresh().into(), self.mss.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn allowed(prr: &mut Prr, in_flight: u64, is_safe: bool) -> u64 {
        prr.on_ack(&Step { delivered: MSS, in_flight, is_safe }, 10 * MSS, MSS);
        prr.window() - in_flight
    }

    /// RFC 6937 §4, figure 1: 20 segments are in flight, the first is lost, and half of them should remain.
    #[test]
    fn every_second_arrival_releases_a_segment() {
        let mut prr = Prr::new(20_000);
        let mut in_flight = 17 * MSS;
        let sent: Vec<u64> = (0..17)
            .map(|_| {
                let segments = allowed(&mut prr, in_flight, false) / MSS;
                prr.on_sent(u32::try_from(segments * MSS).unwrap());
                in_flight = in_flight + segments * MSS - MSS;
                segments
            })
            .collect();
        // Every second ACK releases a segment until 10 of 17 segments are in flight; then each ACK does.
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]);
    }

    /// Below the threshold each delivered segment releases another one, plus one more if that is safe, until
    /// the flight reaches the threshold.
    #[test]
    fn after_many_losses_the_flight_grows_up_to_the_threshold() {
        let mut prr = Prr::new(20_000);
        assert_eq!(allowed(&mut prr, 4 * MSS, false), MSS);
        prr.on_sent(1000);
        assert_eq!(allowed(&mut prr, 4 * MSS, false), MSS);
        prr.on_sent(1000);
        assert_eq!(allowed(&mut prr, 4 * MSS, true), 2 * MSS);
        prr.on_sent(2000);
        assert_eq!(allowed(&mut prr, 9 * MSS + 500, true), 500);
    }

    #[test]
    fn nothing_changes_where_nothing_arrives() {
        let mut prr = Prr::new(20_000);
        allowed(&mut prr, 17 * MSS, false);
        let before = prr.window();
        prr.on_ack(&Step { delivered: 0, in_flight: 3 * MSS, is_safe: true }, 10 * MSS, MSS);
        assert_eq!(prr.window(), before);
    }
}
