//! Link measurements by HELLOs: delay and loss.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use multihop_core::Instant;
use multihop_wire::olsr::{Echo, Report};

use super::config::{Clocks, Metric};
use super::gauge::{Gauge, micros};
use crate::link_state::table::Table;

/// Measurements of links, by the interface address of the neighbour.
pub(super) type Gauges = Table<Ipv4Addr, Gauge>;

impl Gauges {
    /// Handles a HELLO; returns whether the cost of the link has changed.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        [from, own]: [Ipv4Addr; 2],
        report: &Report,
        metric: &Metric,
        until: Instant,
    ) -> bool {
        if report.quantity != metric.kind.quantity {
            return false;
        }
        let before = self.get(from).copied();
        let mut gauge = before.unwrap_or_default();
        let cost = before.map(|gauge| metric.kind.cost_of(&gauge));
        gauge.count(report.number);
        (gauge.stamp, gauge.arrived) = (report.stamp, micros(now));
        gauge.reported = report.heard.iter().find(|(of, _)| *of == own).map(|&(_, value)| value);
        let delay = match metric.clocks {
            Clocks::Synchronised => Some(gauge.arrived.wrapping_sub(report.stamp)),
            Clocks::Echoed => report.echoes.iter().find(|echo| echo.address == own).map(|echo| {
                // RFC 9616 §3.2: the round-trip time minus the time between arrival and return of the stamp
                // at the neighbour.
                let kept = report.stamp.wrapping_sub(echo.arrived);
                gauge.arrived.wrapping_sub(echo.stamp).wrapping_sub(kept) / 2
            }),
        };
        if let Some(delay) = delay.filter(|&delay| delay < IMPLAUSIBLE) {
            gauge.take(delay, metric.weight);
        }
        self.put(from, gauge, until);
        cost != Some(metric.kind.cost_of(&gauge))
    }

    /// The cost of the link to a neighbour; [`ASSUMED`] if it was not measured.
    pub(super) fn cost(&self, to: Ipv4Addr, metric: &Metric) -> u32 {
        let local = self.get(to).map_or(0, |gauge| gauge.local_delay);
        self.measured(to, metric).unwrap_or(ASSUMED).saturating_add(local)
    }

    /// The measured cost of the link to a neighbour; `None` without HELLOs.
    pub(super) fn measured(&self, to: Ipv4Addr, metric: &Metric) -> Option<u32> {
        self.get(to).and_then(|gauge| metric.kind.cost_of(gauge))
    }

    /// Sets the extra costs of packets to neighbours, by the neighbour's interface address; all other neighbours have
    /// none. Returns whether this changed anything.
    pub(super) fn set_local_delays(&mut self, costs: &[(Ipv4Addr, u32)]) -> bool {
        let mut has_changed = false;
        for (to, gauge) in self.iter_mut() {
            let now = costs.iter().find(|(of, _)| *of == to).map_or(0, |&(_, cost)| cost);
            has_changed |= now != gauge.local_delay;
            gauge.local_delay = now;
        }
        has_changed
    }

    /// The measurements for the next HELLO.
    pub(super) fn report(&self, number: u16, metric: &Metric) -> Report {
        let links = || self.keys().iter().copied().zip(self.values()).take(REPORTED_MAX);
        let heard: Vec<_> =
            links().filter_map(|(from, gauge)| Some((from, (metric.kind.measure)(gauge)?))).collect();
        let echoed = metric.clocks == Clocks::Echoed;
        let echo =
            |(address, gauge): (_, &Gauge)| Echo { address, stamp: gauge.stamp, arrived: gauge.arrived };
        let echoes = links().filter(|_| echoed).map(echo).collect();
        // The time stamp is set when the HELLO leaves.
        Report { number, quantity: metric.kind.quantity, stamp: 0, heard, echoes }
    }
}

/// Cost of a link without measurements: 10 ms, or 10 transmissions.
pub(super) const ASSUMED: u32 = 10_000;
/// Largest plausible delay, 60 s in microseconds: above it, a clock is wrong or was set.
const IMPLAUSIBLE: u32 = 60_000_000;
/// Largest plausible delay, 60 s in microseconds: for a longer one, a clock must be wrong or was set.
const REPORTED_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use multihop_wire::olsr::Quantity;

    use super::*;
    use crate::olsr::metric::{DELAY, ETX, LinkMetric};

    const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn metric(kind: &'static LinkMetric, clocks: Clocks) -> Metric {
        Metric { kind, clocks, weight: 200_000, ..Metric::default() }
    }

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    fn report(number: u16, quantity: Quantity, stamp: u32) -> Report {
        Report { number, quantity, stamp, heard: Vec::new(), echoes: Vec::new() }
    }

    fn hear(gauges: &mut Gauges, now: u64, report: &Report, metric: &Metric) -> bool {
        gauges.hear(at(now), [OTHER, OWN], report, metric, at(now + 6_000_000))
    }

    #[test]
    fn delays_are_averaged_from_the_first_on() {
        let metric = metric(&DELAY, Clocks::Synchronised);
        let mut gauges = Gauges::new();
        assert_eq!(gauges.cost(OTHER, &metric), ASSUMED);
        let mut hello = |number, sent, delay| {
            let report = report(number, DELAY.quantity, sent);
            assert!(hear(&mut gauges, u64::from(sent) + delay, &report, &metric));
            gauges.cost(OTHER, &metric)
        };
        assert_eq!(hello(1, 1_000_000, 1_000), 1_000);
        assert_eq!(hello(2, 3_000_000, 6_000), 2_000, "0.2 of 6 ms and 0.8 of 1 ms");
        assert_eq!(hello(4, 7_000_000, 2_500), 2_100);
        // Maximum number of neighbours in a HELLO; with echoes they take 12 kB.
        let wrapped = u64::from(u32::MAX) + 1_001;
        assert!(hear(&mut gauges, wrapped, &report(5, DELAY.quantity, u32::MAX), &metric));
        assert_eq!(gauges.cost(OTHER, &metric), 1_880, "1 ms more");
        // The 32-bit clock wraps around.
        for stamp in [2_000_000_u32, 7_000_000_u32.wrapping_sub(3_600_000_000)] {
            assert!(!hear(&mut gauges, 1_900_000, &report(6, DELAY.quantity, stamp), &metric));
        }
    }

    #[test]
    fn the_neighbours_measurement_takes_precedence() {
        let metric = metric(&DELAY, Clocks::Synchronised);
        let mut gauges = Gauges::new();
        let heard = alloc::vec![(Ipv4Addr::new(10, 0, 0, 3), 5), (OWN, 7_000)];
        let next = Report { heard, ..report(1, DELAY.quantity, 0) };
        assert!(hear(&mut gauges, 1_000, &next, &metric));
        assert_eq!(gauges.cost(OTHER, &metric), 7_000);
        assert_eq!(gauges.report(9, &metric).heard, [(OTHER, 1_000)]);
        assert!(!hear(&mut gauges, 5_000, &report(2, ETX.quantity, 0), &metric), "another quantity");
    }

    #[test]
    fn round_trips_need_no_synchronised_clocks() {
        let metric = metric(&DELAY, Clocks::Echoed);
        let mut gauges = Gauges::new();
        assert!(hear(&mut gauges, 500, &report(1, DELAY.quantity, 77), &metric));
        assert_eq!(gauges.cost(OTHER, &metric), ASSUMED);
        assert_eq!(gauges.report(1, &metric).echoes, [Echo { address: OTHER, stamp: 77, arrived: 500 }]);
        // The stamp of a clock that is ahead, or an hour behind, gives no delay.
        let echo = Echo { address: OWN, stamp: 1_000, arrived: 900_000 };
        let back = Report { echoes: alloc::vec![echo], ..report(2, DELAY.quantity, 940_000) };
        assert!(hear(&mut gauges, 44_000, &back, &metric));
        assert_eq!(gauges.cost(OTHER, &metric), 1_500);
    }

    #[test]
    fn missing_hello_numbers_are_losses() {
        let metric = metric(&ETX, Clocks::Synchronised);
        let mut gauges = Gauges::new();
        let mut after = |number| {
            hear(&mut gauges, 0, &report(number, ETX.quantity, 0), &metric);
            gauges.cost(OTHER, &metric)
        };
        assert_eq!(after(0xffff), 1_000);
        assert_eq!(after(0), 1_000, "numbers wrap");
        assert_eq!(after(2), 1_777, "3 of 4 in each direction");
        for number in 3..11 {
            after(number);
        }
        assert_eq!(after(11), 1_000, "the last ten arrived");
        assert_eq!(after(50), 1_000, "restarts after a long gap");
        let heard = alloc::vec![(OWN, 500_000)];
        let next = Report { heard, ..report(51, ETX.quantity, 0) };
        hear(&mut gauges, 0, &next, &metric);
        assert_eq!(gauges.cost(OTHER, &metric), 2_000, "half are lost in the opposite direction");
        let heard = alloc::vec![(OWN, 0)];
        let next = Report { heard, ..report(52, ETX.quantity, 0) };
        hear(&mut gauges, 0, &next, &metric);
        assert_eq!(gauges.cost(OTHER, &metric), u32::MAX);
    }
}
