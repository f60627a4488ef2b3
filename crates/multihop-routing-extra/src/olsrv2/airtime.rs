//! The directional airtime metric (RFC 7779): the time that a bit takes from a neighbour to this node.

use multihop_core::{BitRate, Duration, Instant};

use super::wire::Metric;

/// Counts of one neighbour's packets, and the bit rate of its link.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    /// Packets that arrived and packets that were sent, second by second.
    slots: [(u16, u16); SLOTS],
    at: usize,
    /// Sequence number of the last packet.
    sequence: Option<u16>,
    /// Arrival of the last HELLO, and the neighbour's HELLO interval.
    hello: Option<(Instant, Duration)>,
    /// Bit rate of data from the neighbour; [`MIN_RATE`] until the driver reports one.
    rate: BitRate,
}

impl Meter {
    pub(super) const fn new() -> Self {
        Self { slots: [(0, 0); SLOTS], at: 0, sequence: None, hello: None, rate: MIN_RATE }
    }

    /// Counts a packet that arrived, and missing packets before it as lost.
    pub(super) fn packet(&mut self, sequence: u16) {
        let step = self.sequence.map_or(1, |before| sequence.wrapping_sub(before));
        self.sequence = Some(sequence);
        // A restart of the neighbour counts as no loss.
        let sent = if step > RESTART { 1 } else { step };
        let (received, total) = &mut self.slots[self.at];
        *received = received.saturating_add(1);
        *total = total.saturating_add(sent.max(1));
    }

    /// Records that a HELLO arrived, with the interval until the next one.
    pub(super) fn hello(&mut self, now: Instant, interval: Option<Duration>) {
        self.hello = interval.filter(|&interval| interval > Duration::ZERO).map(|interval| (now, interval));
    }

    pub(super) fn set_rate(&mut self, rate: BitRate) {
        self.rate = rate;
    }

    /// The new metric, once every [`REFRESH`]; `None` if no packet was received.
    pub(super) fn refresh(&mut self, now: Instant) -> Option<Metric> {
        let metric = self.metric(now);
        self.at = (self.at + 1) % SLOTS;
        self.slots[self.at] = (0, 0);
        metric
    }

    fn metric(&self, now: Instant) -> Option<Metric> {
        let sum =
            |pick: fn(&(u16, u16)) -> u16| self.slots.iter().map(|slot| u64::from(pick(slot))).sum::<u64>();
        let (received, total) = (sum(|slot| slot.0), sum(|slot| slot.1));
        self.sequence?;
        // The number of received packets is reduced by the share of the measured time in which HELLOs are
        // missing.
        let memory = REFRESH.as_nanos() * SLOTS as u64;
        let received = u128::from(received) * u128::from(memory.saturating_sub(self.silence(now)));
        let sent = u128::from(total) * u128::from(memory);
        // On average less than one packet was received.
        if received < u128::from(memory) {
            return Some(Metric::MAX);
        }
        let rate = u128::from((self.rate.0 / MIN_RATE.0).max(1));
        let (sent, received) = if sent > received * MAX_LOSS { (MAX_LOSS, 1) } else { (sent, received) };
        let cost = (SCALE * sent).div_ceil(received * rate);
        Some(Metric::at_least(u32::try_from(cost).unwrap_or(u32::MAX)))
    }

    /// Share of the packets in the measurement window that arrived.
    pub(super) fn share(&self) -> f64 {
        let sum =
            |pick: fn(&(u16, u16)) -> u16| self.slots.iter().map(|slot| u32::from(pick(slot))).sum::<u32>();
        f64::from(sum(|slot| slot.0)) / f64::from(sum(|slot| slot.1).max(1))
    }

    /// Time since the last HELLO in which HELLOs are missing, ns.
    fn silence(&self, now: Instant) -> u64 {
        let Some((last, interval)) = self.hello else { return 0 };
        // A HELLO counts as missing after 1.2 intervals.
        let late = now.saturating_since(last).as_nanos().saturating_sub(interval.as_nanos() / 5);
        late / interval.as_nanos() * interval.as_nanos()
    }
}

/// Interval between two measurements of the metric.
pub(super) const REFRESH: Duration = Duration::from_secs(1);
/// Length of the measurement window, in multiples of [`REFRESH`].
const SLOTS: usize = 64;
/// Step of sequence numbers above which a neighbour counts as restarted.
const RESTART: u16 = 256;
/// Largest number of transmissions per packet that the metric considers.
const MAX_LOSS: u128 = 8;
const MIN_RATE: BitRate = BitRate(1000);
/// Metric of a link without losses at the lowest rate: 2^24 / [`MAX_LOSS`].
const SCALE: u128 = 1 << 21;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    /// Metric after a minute of two packets per second, of which every `arrive`-th arrives.
    fn after(arrive: u16, rate: Option<u64>) -> u32 {
        let mut meter = Meter::new();
        rate.into_iter().for_each(|rate| meter.set_rate(BitRate(rate)));
        let mut metric = None;
        for n in 0..120_u16 {
            if n % arrive == 0 {
                meter.packet(n);
            }
            if n % 2 == 1 {
                metric = meter.refresh(at(u64::from(n / 2)));
            }
        }
        metric.expect("packets arrived").value()
    }

    #[test]
    fn the_metric_is_transmissions_over_bit_rate() {
        let code = |cost| Metric::at_least(cost).value();
        assert_eq!(after(1, Some(6_000_000)), code(350));
        assert_eq!(after(1, Some(54_000_000)), code(39));
        assert_eq!(after(1, None), code(1 << 21), "1000 bit/s");
        assert_eq!(after(2, Some(6_000_000)), code(694), "119 sent, 60 arrived");
        assert_eq!(after(10, Some(1_000_000)), code(2098 * 8), "at most eight transmissions");
        assert_eq!(Meter::new().refresh(at(1)), None);
    }

    #[test]
    fn numbers_wrap_and_restarts_lose_nothing() {
        let mut meter = Meter::new();
        for sequence in [0xfffe, 0xffff, 2, 2000, 2000, 2001] {
            meter.packet(sequence);
        }
        assert_eq!(meter.slots[0], (6, 1 + 1 + 3 + 1 + 1 + 1));
    }

    #[test]
    fn silence_costs_before_losses_can_be_counted() {
        let mut meter = Meter::new();
        meter.set_rate(BitRate(2_097_152));
        for n in 0..16 {
            meter.packet(n);
        }
        meter.hello(at(100), Some(Duration::from_secs(2)));
        let metric = |seconds| meter.metric(at(seconds)).map(Metric::value);
        let code = |cost| Some(Metric::at_least(cost).value());
        assert_eq!(metric(102), code(1001));
        assert_eq!(metric(103), code(1033), "one of 32 intervals is missing");
        assert_eq!(metric(133), code(2001), "16 are");
        assert_eq!(metric(161), code(8001), "30 are: one packet of 16 would be left");
        assert_eq!(metric(163), Some(Metric::MAX.value()), "less than one");
        assert_eq!(metric(170), Some(Metric::MAX.value()));
        for _ in 0..64 {
            meter.refresh(at(102));
        }
        assert_eq!(meter.refresh(at(102)), Some(Metric::MAX), "nothing in the memory");
    }
}
