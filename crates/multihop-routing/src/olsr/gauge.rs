//! Measurements of one neighbour's HELLOs: delay and loss.

use multihop_core::Instant;

/// The measurements of one link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gauge {
    /// Sequence number of the last HELLO.
    number: u16,
    /// Bitmap of earlier HELLOs: bit n is set if the n-th HELLO before the latest number arrived.
    seen: u16,
    /// Number of valid bits in the history.
    span: u8,
    /// The neighbour's clock when it sent the last HELLO, and this node's clock at arrival.
    pub(super) stamp: u32,
    pub(super) arrived: u32,
    /// Moving average of the delay from the neighbour, in ns.
    average: Option<u64>,
    /// The neighbour's measurement of the opposite direction.
    pub(super) reported: Option<u32>,
    /// Cost of transmissions to the neighbour beyond the measurements of HELLOs, as measured by this node's
    /// host.
    pub(super) local_delay: u32,
}

impl Gauge {
    /// Records the number of a HELLO.
    pub(super) fn count(&mut self, number: u16) {
        let step = number.wrapping_sub(self.number);
        (self.seen, self.span) = match u8::try_from(step) {
            Ok(step @ 1..COUNTED) if self.span > 0 => (self.seen << step | 1, COUNTED.min(self.span + step)),
            // This is the first HELLO, or the first after a long gap, or the neighbour has restarted.
            _ => (1, 1),
        };
        self.number = number;
    }

    /// Adds a delay to the average, with a weight in millionths.
    pub(super) fn take(&mut self, micros: u32, weight: u32) {
        let delay = u64::from(micros) * 1000;
        let weight = u64::from(weight);
        self.average = Some(match self.average {
            None => delay,
            Some(average) => (weight * delay + (MILLION - weight) * average) / MILLION,
        });
    }

    /// The average delay from the neighbour, microseconds.
    pub(super) fn delay(&self) -> Option<u32> {
        self.average.map(|average| u32::try_from(average / 1000).unwrap_or(u32::MAX))
    }

    /// The share of the neighbour's last HELLOs that arrived, in millionths.
    pub(super) fn received(&self) -> Option<u32> {
        let window = u32::from(self.seen) & ((1 << self.span) - 1);
        (self.span > 0).then(|| window.count_ones() * 1_000_000 / u32::from(self.span))
    }
}

/// Time of this node's clock as the microsecond time stamp of HELLOs, which wraps after 2^32.
#[expect(clippy::cast_possible_truncation, reason = "stamps wrap")]
pub(super) const fn micros(now: Instant) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// The number of HELLOs over which losses are averaged, as in De Couto et al.
const COUNTED: u8 = 10;
pub(super) const MILLION: u64 = 1_000_000;
