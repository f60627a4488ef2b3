//! Delay of data to a neighbour in addition to the delay that HELLOs measure: pure functions of the kernel's
//! counters.
//!
//! HELLOs are short broadcasts at a basic rate, each sent once, which many queues let overtake data. Half of their round
//! trip is the delay of the medium and of the queues in which they do wait; the rest is computed here.

use multihop_core::{Duration, Instant};
use serde::Serialize;

/// Measurements of the link to a neighbour in addition to the delay of HELLOs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Known {
    /// Waiting time of a packet in the queue of the interface; `None` if HELLOs wait in that queue, too.
    pub(crate) queue: Option<Duration>,
    /// Time that a packet would wait in the Wi-Fi card's queue for this neighbour, in which no broadcast waits.
    pub(crate) card: Option<Duration>,
    /// Report of the Wi-Fi card about its transmissions to the neighbour.
    pub(crate) radio: Option<Radio>,
}

/// How a Wi-Fi card transmits to a neighbour.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Radio {
    /// Bit rate of transmissions, bit/s.
    pub rate: Option<u64>,
    /// Number of transmissions per packet, in thousandths.
    pub transmissions: Option<u64>,
    /// Throughput that the card expects, in bit/s: rate and transmissions in one number.
    pub throughput: Option<u64>,
    /// Strength of the last signal from the neighbour, dBm.
    pub signal: Option<i8>,
}

/// Parts of the delay of data in addition to the delay that HELLOs measure.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct LocalDelay {
    /// Wait in queues of this host; `None` if it is not known.
    pub(crate) queue: Option<Duration>,
    /// Time on the medium; `None` if it is not known.
    pub(crate) transmission: Option<Duration>,
}

impl Known {
    /// Parts of the delay that measurements cover.
    pub(crate) fn local_delay(self) -> LocalDelay {
        let queue = match (self.queue, self.card) {
            (Some(queue), Some(card)) => Some(Duration::from_nanos(queue.as_nanos() + card.as_nanos())),
            (queue, card) => queue.or(card),
        };
        LocalDelay { queue, transmission: self.radio.and_then(Radio::transmission) }
    }
}

impl Radio {
    /// The expected time of the transmissions of a packet of data (ETT: Draves, Padhye and Zill, MobiCom 2004).
    fn transmission(self) -> Option<Duration> {
        let once = |rate: u64| DATA * 8 * 1_000_000_000 / rate.max(1);
        let nanos = match (self.throughput.filter(|rate| *rate > 0), self.rate) {
            (Some(throughput), _) => once(throughput),
            (None, Some(rate)) => once(rate) * self.transmissions.unwrap_or(1_000) / 1_000,
            (None, None) => return None,
        };
        Some(Duration::from_nanos(nanos).min(LONGEST))
    }
}

impl LocalDelay {
    /// Sum of both delays, in microseconds.
    pub(crate) fn micros(self) -> u32 {
        let micros = |part: Option<Duration>| part.unwrap_or_default().as_micros();
        u32::try_from(micros(self.queue) + micros(self.transmission)).unwrap_or(u32::MAX)
    }
}

/// The counters of a queue at one instant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Look {
    pub(crate) at: Instant,
    /// Number of bytes that wait in the queue.
    pub(crate) waiting: u64,
    /// Number of bytes that have left the queue.
    pub(crate) sent: u64,
}

/// Mean waiting time in a queue: the average backlog, divided by the rate at which the queue empties while it
/// is busy.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueGauge {
    last: Option<Look>,
    /// Number of measurements since the last mean; `waiting` is the sum of the bytes that waited.
    looks: u64,
    waiting: u64,
    /// Time since the last mean in which the queue was not empty; `left` counts the bytes that left the queue
    /// in that time.
    busy: Duration,
    left: u64,
    /// Busy time in nanoseconds of the last interval with a busy queue, and the bytes that left the queue in
    /// that time.
    service: Option<(u64, u64)>,
    average: Option<Duration>,
}

impl QueueGauge {
    /// Updates the sums of the current interval with counts of the queue, read at one instant.
    pub(crate) fn look(&mut self, look: Look) {
        if let Some(last) = self.last.filter(|last| last.waiting > 0 && look.waiting > 0)
            && let Some(left) = look.sent.checked_sub(last.sent)
        {
            self.busy = Duration::from_nanos(
                self.busy.as_nanos().saturating_add(look.at.saturating_since(last.at).as_nanos()),
            );
            self.left = self.left.saturating_add(left);
        }
        self.looks += 1;
        self.waiting = self.waiting.saturating_add(look.waiting);
        self.last = Some(look);
    }

    /// Ends an interval: its mean enters the moving average with a weight in millionths.
    pub(crate) fn average(&mut self, weight: u32) {
        let Some(mean) = self.waiting.checked_div(self.looks) else { return };
        if self.busy > Duration::ZERO {
            // If nothing has left, one packet takes longer than this interval.
            self.service = Some((self.busy.as_nanos(), self.left.max(DATA)));
        }
        // A queue that never had packets in two samples in a row empties faster than the sampling interval.
        let wait =
            self.service.map_or(0, |(nanos, bytes)| u128::from(mean) * u128::from(nanos) / u128::from(bytes));
        let wait = Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX)).min(LONGEST);
        self.average = Some(self.average.map_or(wait, |average| mix(wait, average, weight)));
        (self.looks, self.waiting, self.busy, self.left) = (0, 0, Duration::ZERO, 0);
    }

    /// The mean wait so far; `None` before the end of the first interval.
    pub(crate) const fn wait(&self) -> Option<Duration> {
        self.average
    }
}

/// Moving average: `weight` millionths of the latest value plus the rest of the previous average.
fn mix(latest: Duration, before: Duration, weight: u32) -> Duration {
    let weight = u64::from(weight.min(MILLION));
    let sum = weight * latest.as_nanos() + (u64::from(MILLION) - weight) * before.as_nanos();
    Duration::from_nanos(sum / u64::from(MILLION))
}

/// Transmissions for each packet, in thousandths, from the growth of a card's counters.
pub(crate) fn transmissions(packets: u64, retries: u64) -> Option<u64> {
    Some(1_000 + retries.saturating_mul(1_000).checked_div(packets)?)
}

/// Bytes of a packet of data.
const DATA: u64 = 1_500;
/// Longest queueing delay that is reported: that of a stalled queue, or of a rate near zero.
const LONGEST: Duration = Duration::from_secs(10);
const MILLION: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHT: u32 = 200_000;

    fn ms(millis: u64) -> Option<Duration> {
        Some(Duration::from_millis(millis))
    }

    fn gauge(looks: &[(u64, u64, u64)]) -> QueueGauge {
        let mut gauge = QueueGauge::default();
        for &(millis, waiting, sent) in looks {
            gauge.look(Look { at: Instant::ZERO + Duration::from_millis(millis), waiting, sent });
        }
        gauge.average(WEIGHT);
        gauge
    }

    #[test]
    fn a_queue_waits_for_its_bytes_at_the_rate_at_which_it_empties() {
        // 10 kB in 100 ms, and 5 kB wait.
        let looks = [(0, 5_000, 0), (100, 6_000, 10_000), (200, 4_000, 20_000)];
        assert_eq!(gauge(&looks).wait(), ms(50));
        assert_eq!(gauge(&[]).wait(), None, "nobody has looked");
        assert_eq!(
            gauge(&[(0, 0, 0), (100, 0, 90_000)]).wait(),
            ms(0),
            "an empty queue is no delay at any rate"
        );
        assert_eq!(gauge(&[(0, 0, 0), (100, 500, 90_000), (200, 0, 99_000)]).wait(), ms(0), "a short burst");
        assert_eq!(
            gauge(&[(0, 100, 50_000), (100, 100, 0)]).wait(),
            ms(0),
            "another queue, which counts anew"
        );
    }

    #[test]
    fn a_queue_that_stands_still_is_a_long_delay_but_a_bounded_one() {
        assert_eq!(gauge(&[(0, 1_500, 7), (2_000, 1_500, 7)]).wait(), ms(2_000));
        assert_eq!(gauge(&[(0, 90_000, 7), (2_000, 90_000, 7)]).wait(), ms(10_000));
        let extreme = [(0, u64::MAX, 0), (u64::MAX / 1_000_000, u64::MAX, 1)];
        assert_eq!(gauge(&extreme).wait(), ms(10_000));
    }

    #[test]
    fn waits_are_averaged_as_delays_of_hellos_are() {
        let mut gauge = gauge(&[(0, 5_000, 0), (100, 5_000, 10_000)]);
        gauge.look(Look { at: Instant::ZERO + Duration::from_millis(200), waiting: 0, sent: 15_000 });
        gauge.average(WEIGHT);
        assert_eq!(gauge.wait(), ms(40), "0.8 of 50 ms and 0.2 of none");
        gauge.look(Look { at: Instant::ZERO + Duration::from_millis(300), waiting: 10_000, sent: 15_000 });
        gauge.average(WEIGHT);
        assert_eq!(gauge.wait(), ms(52), "100 ms at the rate of before");
    }

    #[test]
    fn parts_without_a_signal_count_nothing() {
        assert_eq!(Known::default().local_delay(), LocalDelay::default());
        assert_eq!(Known::default().local_delay().micros(), 0);
        let queue = Known { queue: ms(3), ..Known::default() };
        assert_eq!(queue.local_delay(), LocalDelay { queue: ms(3), transmission: None });
        let both = Known { card: ms(4), ..queue };
        assert_eq!((both.local_delay().queue, both.local_delay().micros()), (ms(7), 7_000));
        let endless = Known { queue: Some(Duration::from_secs(100_000)), ..Known::default() };
        assert_eq!(endless.local_delay().micros(), u32::MAX);
    }

    #[test]
    fn a_slow_or_lossy_radio_is_a_delay() {
        let part = |radio: Radio| Known { radio: Some(radio), ..Known::default() }.local_delay().transmission;
        let slow = Radio { rate: Some(1_000_000), ..Radio::default() };
        assert_eq!(part(slow), ms(12));
        assert_eq!(part(Radio { transmissions: transmissions(1_000, 250), ..slow }), ms(15));
        assert_eq!(
            part(Radio { throughput: Some(2_000_000), ..slow }),
            ms(6),
            "what the card expects comes first"
        );
        assert_eq!(
            part(Radio { throughput: Some(0), ..slow }),
            ms(12),
            "a card that expects nothing does not know"
        );
        assert_eq!(part(Radio { rate: Some(0), ..slow }), ms(10_000));
        assert_eq!(part(Radio { signal: Some(-60), ..Radio::default() }), None);
        assert_eq!((transmissions(0, 7), transmissions(4, 4)), (None, Some(2_000)));
    }
}
