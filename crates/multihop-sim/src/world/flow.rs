//! Measurements of each flow after the warm-up.

use multihop_core::{Duration, Instant};
use multihop_transport::connection::{Counters, Trip};

use crate::packet::{Packet, Trigger};
use crate::stats::{Histogram, Jitter, Times, jain};

/// Measurements of one flow, for its results.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowStats {
    /// When the application began.
    pub(crate) began: Option<Instant>,
    /// Instant at which the flow ended, if it has.
    pub(crate) ended: Option<Instant>,
    active_since: Option<Instant>,
    active: Duration,
    /// Number of application bytes delivered in order.
    pub(crate) delivered_bytes: u64,
    /// Number of application bytes acknowledged at the sender.
    pub(crate) acked_bytes: u64,
    /// Segments or datagrams with new data.
    arrivals: u64,
    /// Total number of links that the arrived packets crossed.
    hops: u64,
    /// Total links crossed by segments that arrived while a shortest path existed.
    hops_while_connected: u64,
    /// Total number of links of the shortest paths at the packets' arrival.
    shortest_hops: u64,
    pub(crate) delay: Times,
    pub(crate) jitter: Jitter,
    pub(crate) rtt: Times,
    /// Counters of both ends at the end of the warm-up.
    pub(crate) before: Counters,
    /// Declared counters at the end of the warm-up, without trailing zeros.
    pub(crate) declared_before: Vec<u64>,
}

impl FlowStats {
    /// Records that the application begins, or continues after a pause.
    pub(super) fn activate(&mut self, now: Instant) {
        self.began.get_or_insert(now);
        self.active_since.get_or_insert(now);
    }

    /// Records that the application pauses or ends.
    pub(super) fn deactivate(&mut self, now: Instant) {
        if let Some(since) = self.active_since.take() {
            self.active += now - since;
        }
    }

    /// Ends the measurement, after both ends have closed; `all`: the measurements of all such flows.
    pub(super) fn close(&mut self, all: &mut ClosedFlows) {
        self.delay.close(&mut all.delay);
        self.rtt.close(&mut all.rtt);
    }

    /// Time for which the application was active up to `now`.
    pub(super) fn active(&self, now: Instant) -> Duration {
        self.active + self.active_since.map_or(Duration::ZERO, |since| now - since)
    }

    /// Restarts the measurements at the end of the warm-up.
    pub(super) fn restart(&mut self, now: Instant, counts: Counters, declared: Vec<u64>) {
        *self = Self {
            began: self.began,
            ended: self.ended,
            active_since: self.active_since.map(|_| now),
            before: counts,
            declared_before: declared,
            ..Self::default()
        };
    }

    /// Measures a packet with new data. `shortest` is the number of links of the shortest path between the
    /// flow's ends, if known.
    pub(super) fn arrived(&mut self, now: Instant, arrival: Arrival, shortest: Option<u32>) {
        let hops = arrival.hops;
        self.arrivals += 1;
        self.hops += u64::from(hops);
        self.delay.add(now - arrival.created);
        self.jitter.add(now - arrival.created);
        if let Some(shortest) = shortest {
            self.hops_while_connected += u64::from(hops);
            self.shortest_hops += u64::from(shortest);
        }
    }

    pub(super) fn mean_hops(&self) -> Option<f64> {
        (self.arrivals > 0).then(|| self.hops as f64 / self.arrivals as f64)
    }

    /// Total links crossed, divided by the links of the shortest path at each arrival.
    pub(super) fn stretch(&self) -> Option<f64> {
        (self.shortest_hops > 0).then(|| self.hops_while_connected as f64 / self.shortest_hops as f64)
    }
}

/// Measured times of flows whose measurement has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClosedFlows {
    pub(crate) delay: Histogram,
    rtt: Histogram,
}

/// Data of an arriving packet that is measured after its contents have been passed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) created: Instant,
    pub(super) hops: u8,
    /// Data that the packet acknowledges.
    trigger: Option<Trigger>,
}

impl Arrival {
    /// Arrival of a packet that has just crossed its last link.
    pub(super) fn of(packet: &Packet) -> Self {
        Self { created: packet.created, hops: packet.hops.saturating_add(1), trigger: packet.trigger }
    }

    /// The round trip that the packet completes, split by direction.
    pub(super) fn trip(&self, now: Instant) -> Option<Trip> {
        self.trigger.map(|Trigger { sent, arrived }| Trip {
            there: arrived - sent,
            back: now - self.created,
            held: self.created - arrived,
            hops: self.hops,
        })
    }
}

/// Short-term fairness: Jain's index of each window with deliveries.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    end: Instant,
    /// Bytes of each flow; `None` for flows whose data a relay forwards.
    bytes: Vec<Option<u64>>,
    sum: f64,
    count: u32,
}

const WINDOW: Duration = Duration::from_secs(2);

impl Windows {
    /// Creates windows from an instant on. `ends`: for each flow, whether it is counted because no relay
    /// forwards its data.
    pub(super) fn new(ends: impl Iterator<Item = bool>, from: Instant) -> Self {
        Self { end: from + WINDOW, bytes: ends.map(|ends| ends.then_some(0)).collect(), sum: 0.0, count: 0 }
    }

    /// Records that a flow delivered `bytes` bytes at `now`.
    pub(super) fn add(&mut self, now: Instant, flow: usize, bytes: u64) {
        if now >= self.end {
            self.close();
            // Windows without deliveries are skipped.
            let past = (now - self.end).whole(WINDOW) + 1;
            self.end += WINDOW * past;
        }
        if let Some(sum) = &mut self.bytes[flow] {
            *sum += bytes;
        }
    }

    /// Mean over the windows that have ended by `now`.
    pub(super) fn mean(mut self, now: Instant) -> Option<f64> {
        if now >= self.end {
            self.close();
        }
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    fn close(&mut self) {
        if let Some(index) = jain(self.bytes.iter().flatten().map(|&b| b as f64)) {
            self.sum += index;
            self.count += 1;
        }
        self.bytes.iter_mut().flatten().for_each(|sum| *sum = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn fairness_skips_windows_without_deliveries() {
        let mut w = Windows::new([true; 2].into_iter(), s(0));
        w.add(s(0), 0, 100);
        w.add(s(1), 1, 100);
        w.add(s(11), 0, 50);
        // From 0 to 2 s both flows are equal; from 10 to 12 s only one delivers.
        assert_eq!(w.clone().mean(s(12)), Some(0.75));
        assert_eq!(w.mean(s(11)), Some(1.0), "a window that has not ended does not count");
    }

    #[test]
    fn pauses_are_not_active_time() {
        let mut f = FlowStats::default();
        f.activate(s(1));
        f.deactivate(s(3));
        f.activate(s(5));
        assert_eq!(f.active(s(6)), Duration::from_secs(3));
        f.restart(s(6), Counters::default(), Vec::new());
        assert_eq!(f.active(s(10)), Duration::from_secs(4));
        assert_eq!(f.began, Some(s(1)));
    }
}
