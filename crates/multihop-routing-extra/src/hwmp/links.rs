//! The airtime link metric (IEEE 802.11-2020, 14.9): the time for which a test frame occupies the channel.

use alloc::collections::BTreeMap;
use core::net::Ipv4Addr;

use multihop_core::{BitRate, Duration};
use multihop_routing::agent::LinkRates;

use super::config::{Config, LinkMetric};

/// The bit rates of a node's links.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkRateTable {
    rates: BTreeMap<Ipv4Addr, BitRate>,
}

impl LinkRateTable {
    /// Sets the bit rates of a link. HWMP uses the slower one for both directions.
    pub(super) fn set_rates(&mut self, neighbour: Ipv4Addr, rates: LinkRates) {
        let slower = if rates.incoming.0 < rates.outgoing.0 { rates.incoming } else { rates.outgoing };
        self.rates.insert(neighbour, slower);
    }

    /// Cost of the link to a neighbour, in the unit of the metric.
    pub(super) fn metric(&self, config: &Config, neighbour: Ipv4Addr) -> u32 {
        match config.metric {
            LinkMetric::Hops => 1,
            LinkMetric::Airtime => {
                airtime(config.overhead, self.rates.get(&neighbour).copied().unwrap_or(UNREPORTED))
            }
        }
    }
}

// DEVIATION hwmp-2: The error rate in the airtime metric counts as 0; 802.11-2020 (14.9) includes it. Lossy links
// stay in use until rate control slows them down.
fn airtime(overhead: Duration, rate: BitRate) -> u32 {
    let bits = TEST_FRAME * 1_000_000_000 / rate.0.max(1);
    u32::try_from((overhead.as_nanos() + bits).div_ceil(UNIT)).unwrap_or(u32::MAX)
}

/// Length of the test frame, bits.
const TEST_FRAME: u64 = 8192;
/// Unit of the airtime metric, ns: a hundredth of a time unit.
const UNIT: u64 = 10_240;
/// Bit rate assumed for a link until the driver reports one.
const UNREPORTED: BitRate = BitRate(1_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metric_is_the_time_of_a_test_frame_in_hundredths_of_a_time_unit() {
        let metric = |rate| airtime(Duration::from_micros(180), BitRate(rate));
        assert_eq!(metric(1_000_000), 818, "8372 us");
        assert_eq!(metric(11_000_000), 91, "924.7 us");
        assert_eq!(metric(54_000_000), 33, "331.7 us");
        assert_eq!(airtime(Duration::ZERO, BitRate(8_000_000)), 100, "1024 us");
    }

    #[test]
    fn the_slower_direction_of_a_link_counts() {
        let (neighbour, config) = (Ipv4Addr::new(10, 0, 0, 2), Config::default());
        let mut links = LinkRateTable::default();
        assert_eq!(links.metric(&config, neighbour), 818, "unknown");
        for (incoming, outgoing, cost) in [(1, 11, 818), (11, 1, 818), (11, 11, 91)] {
            let rate = |mega: u64| BitRate(mega * 1_000_000);
            links.set_rates(neighbour, LinkRates { incoming: rate(incoming), outgoing: rate(outgoing) });
            assert_eq!(links.metric(&config, neighbour), cost);
        }
    }
}
