//! Adaptive pacing (ElRakabawy, Klemm and Lindemann, TCP-AP, sections 4.2 to 4.4). The sender waits between
//! data packets, for a time that depends on measured round trips and on the length of the path.

use alloc::collections::VecDeque;

use multihop_core::settings::{Field, Settings, Visitor};
use multihop_core::{BitRate, Duration, Instant};

/// Every constant of the pacer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct PacingConfig {
    /// Rules of adaptive pacing where the paper's text and its authors' implementation differ; also sets cov and, for TCP,
    /// `ap_rtt`.
    #[key(then = Self::take_rules)]
    pub rules: Rules,
    /// Weight of earlier samples in the average time that data needs for `reuse_hops` hops.
    ///
    /// In thousandths (alpha).
    #[key(0.0..=1.0, thousandths)]
    pub alpha: u16,
    /// Number of round-trip times from which the variation is computed (N).
    #[key(1..=10_000)]
    pub history: u16,
    /// Number of hops that a segment should be away, or at its destination, before the next one leaves.
    #[key(1..=64)]
    pub reuse_hops: u8,
    /// Variation of round-trip times: their standard deviation (std), or their mean absolute deviation (mad).
    #[key]
    pub cov: Cov,
    /// Measurement from which the delay over `reuse_hops` hops is computed. Only TCP has a key for it.
    pub clock: Clock,
    /// Factor on each round-trip time in the deviation (K in Equation 3 of the TPA paper).
    #[key(1..=100, name = "pacing_k")]
    pub k: u8,
    /// Effect of `pacing_k` on the mean: none, as the equation is printed (raw), or the mean is scaled too, so that the
    /// variation is `pacing_k` times as large (scaled).
    #[key(name = "pacing_k_mean")]
    pub k_mean: KMean,
    /// Bit rate of the wireless links (b).
    pub bandwidth: BitRate,
}

/// Rules of adaptive pacing where the text of the TCP-AP paper and its authors' implementation (TCP-AP 1.0 for ns-2)
/// differ.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Rules {
    /// Rules of the paper's text: the variation of round-trip times, and on paths with fewer than `reuse_hops` hops the delay
    /// of the whole path.
    Paper,
    /// Rules of the authors' implementation: the variation of the delays without the long ones, and on paths with fewer than
    /// `reuse_hops` hops the delay of one hop.
    Authors,
}

/// Measure of the spread of round trips, as a share of their mean.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Cov {
    /// Sample standard deviation (section 4.2).
    Std,
    /// Mean absolute deviation, which needs no square root (section 4.4).
    Mad,
}

/// Source of the delay of n hops, which the pacer needs.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Clock {
    /// Delay from the round-trip time, corrected for the different sizes of data and ACK (section 4.3).
    Own,
    /// Delay of one way, which a receiver with the same clock measures (section 5.1.1).
    Synchronised,
}

/// Effect of the factor K on the mean that the deviation subtracts.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum KMean {
    /// No effect, as Equation 3 of the TPA paper is printed: each deviation includes (K - 1) times the mean.
    Raw,
    /// The mean is scaled as well: the variation is K times as large.
    Scaled,
}

/// The pacer of one sender.
#[derive(Clone, Debug)]
pub struct Pacer {
    config: PacingConfig,
    hops: Option<u8>,
    history: History,
    /// Average time that a packet waits at a hop; only by the rules of the authors' implementation.
    queueing: Option<Duration>,
    /// Average delay over `reuse_hops` hops.
    delay: Option<Duration>,
    /// Coefficient of variation of the samples, in millionths.
    cov: u64,
    gap: Option<Duration>,
}

impl PacingConfig {
    /// Reason for which the keys do not exist where a transport is not paced.
    pub const REASON: &str = "is not paced, allowed with: the suffix +ap";

    /// Values that the TCP-AP paper recommends (section 4.5).
    pub const fn new(bandwidth: BitRate) -> Self {
        Self {
            rules: Rules::Paper,
            reuse_hops: 4,
            alpha: 700,
            history: 50,
            cov: Cov::Std,
            clock: Clock::Own,
            k: 1,
            k_mean: KMean::Raw,
            bandwidth,
        }
    }

    fn take_rules(&mut self, _: &mut dyn Visitor) {
        *self = self.with_rules(self.rules);
    }

    /// Copies the configuration with other rules, and with the measure of variation of those rules.
    pub const fn with_rules(self, rules: Rules) -> Self {
        let cov = match rules {
            Rules::Paper => Cov::Std,
            Rules::Authors => Cov::Mad,
        };
        Self { rules, cov, ..self }
    }
}

impl Pacer {
    /// A pacer without information about its path.
    pub fn new(config: PacingConfig) -> Self {
        let history = History::new(config.history);
        Self { hops: None, history, queueing: None, delay: None, cov: 0, gap: None, config }
    }

    /// Sets the length of the path to the peer for all later samples.
    pub fn set_hops(&mut self, hops: u8) {
        self.hops = Some(hops.max(1));
    }

    /// Records the round-trip time of a data packet that was sent exactly once. `there` is the one-way delay,
    /// if both ends have synchronized clocks. A full packet has `payload` bytes more than its ACK; the
    /// headers of both are equally long.
    pub fn sample(&mut self, payload: u32, round_trip: Duration, there: Option<Duration>) {
        match self.config.rules {
            Rules::Paper => {
                self.history.push(round_trip.min(LONGEST));
                self.cov = self.variation();
                if let Some(delay) = self.delay_of_reuse_hops(payload, round_trip, there) {
                    self.average(delay);
                }
            }
            Rules::Authors => {
                if let Some(delay) = self.authors_delay(payload, round_trip) {
                    self.history.push(delay);
                    self.cov = self.variation();
                    self.average(delay);
                }
            }
        }
    }

    fn average(&mut self, sample: Duration) {
        let alpha = u64::from(self.config.alpha.min(1000));
        let delay = self.delay.map_or(sample, |old| (old * alpha + sample * (1000 - alpha)) / 1000);
        self.delay = Some(delay);
        // Section 4.4: R = 1 / (FHD (1 + 2 cov)).
        let extra = Duration::from_nanos(scaled(2 * self.cov, delay.as_nanos(), MILLION));
        self.gap = Some(delay + extra);
    }

    /// Time between two data packets; `None` before the first sample.
    pub fn gap(&self) -> Option<Duration> {
        self.gap
    }

    /// Departure time of the next data packet after one at `last`; `None` if it may leave now. The current
    /// gap counts, so a new sample also affects a packet that already waits.
    pub(crate) fn holds_until(&self, now: Instant, last: Option<Instant>) -> Option<Instant> {
        let at = last? + self.gap?;
        (at > now).then_some(at)
    }

    /// Rate of the pacer, data packets per second.
    pub fn rate(&self) -> Option<f64> {
        self.gap.map(|gap| 1.0 / gap.as_secs_f64())
    }

    /// Payload rate in kb/s, with `payload` bytes in each packet.
    pub fn rate_kbps(&self, payload: u32) -> Option<f64> {
        Some(self.rate()? * f64::from(payload) * 8e-3)
    }

    /// Coefficient of variation of the recent round trips; 0 with fewer than two samples.
    pub fn cov(&self) -> f64 {
        self.cov as f64 / MILLION as f64
    }

    /// Average time in which a data packet crosses `reuse_hops` links, or the whole path if it is shorter.
    pub fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// Number of links between this host and the peer.
    pub fn hops(&self) -> Option<u8> {
        self.hops
    }

    fn delay_of_reuse_hops(
        &self,
        payload: u32,
        round_trip: Duration,
        there: Option<Duration>,
    ) -> Option<Duration> {
        let hops = u64::from(self.hops?);
        let n = hops.min(u64::from(self.config.reuse_hops.max(1)));
        let delay = match (self.config.clock, there) {
            (Clock::Synchronised, Some(there)) => there.min(LONGEST) * n / hops,
            _ => {
                // The difference s_data - s_ack of the paper, as transmission time.
                let difference = self.config.bandwidth.time_for(payload);
                // FHD = n (t_q + t_data) with t_q = (RTT / h - t_data - t_ack) / 2.
                round_trip.min(LONGEST) * n / (2 * hops) + difference * n / 2
            }
        };
        Some(delay.max(SHORTEST))
    }

    /// Delay over `reuse_hops` hops, or over one hop on a shorter path; `None` if the rules of the authors'
    /// implementation ignore the sample.
    fn authors_delay(&mut self, payload: u32, round_trip: Duration) -> Option<Duration> {
        let hops = u64::from(self.hops?);
        let reuse = u64::from(self.config.reuse_hops.max(1));
        let n = if hops < reuse { 1 } else { reuse };
        let [data, ack] = [payload, 0].map(|bytes| self.config.bandwidth.time_for(bytes + HEADERS));
        let waits = (round_trip / hops).saturating_sub(data + ack) / 2;
        let delay = (self.queueing_of(waits)? + data) * n;
        (delay < TOO_LONG).then_some(delay)
    }

    /// Queueing delay in a sample, or the average if the sample is too long.
    fn queueing_of(&mut self, sample: Duration) -> Option<Duration> {
        if sample > TOO_LONG {
            return self.queueing;
        }
        self.queueing = Some(self.queueing.map_or(sample, |old| (old + sample) / 2));
        Some(sample)
    }

    /// Coefficient of variation of the samples, in millionths.
    fn variation(&self) -> u64 {
        let PacingConfig { k, k_mean, cov, .. } = self.config;
        // Multiplying samples and mean by k multiplies the deviation by k.
        let (inside, outside) = match k_mean {
            KMean::Raw => (u64::from(k), 1),
            KMean::Scaled => (1, u64::from(k)),
        };
        let deviation = match cov {
            Cov::Std => self.history.standard_deviation(inside),
            Cov::Mad => self.history.absolute_deviation(inside),
        };
        self.history.mean().map_or(0, |mean| scaled(deviation * outside, MILLION, mean))
    }
}

/// The last N round trips in nanoseconds, with their sum and the sum of their squares. Integers prevent a
/// drift as samples are added and removed.
#[derive(Clone, Debug)]
struct History {
    samples: VecDeque<u64>,
    limit: usize,
    sum: u64,
    squares: u128,
}

impl History {
    fn new(limit: u16) -> Self {
        let limit = usize::from(limit.max(1));
        Self { samples: VecDeque::with_capacity(limit), limit, sum: 0, squares: 0 }
    }

    fn push(&mut self, sample: Duration) {
        if self.samples.len() == self.limit
            && let Some(oldest) = self.samples.pop_front()
        {
            self.sum -= oldest;
            self.squares -= square(oldest);
        }
        let sample = sample.as_nanos();
        self.samples.push_back(sample);
        self.sum += sample;
        self.squares += square(sample);
    }

    fn len(&self) -> u64 {
        self.samples.len() as u64
    }

    fn mean(&self) -> Option<u64> {
        self.sum.checked_div(self.len())
    }

    /// Standard deviation of the samples, each multiplied by `k`, from their unscaled mean.
    fn standard_deviation(&self, k: u64) -> u64 {
        let (n, k) = (u128::from(self.len()), u128::from(k));
        if n < 2 {
            return 0;
        }
        // n times the sum of (k x - mean)^2.
        let scaled = k * k * n * self.squares;
        let squares = (scaled + square(self.sum)).saturating_sub(2 * k * square(self.sum));
        u64::try_from((squares / (n * (n - 1))).isqrt()).unwrap_or(u64::MAX)
    }

    /// Mean absolute deviation of the samples, each multiplied by `k`, from their unscaled mean.
    fn absolute_deviation(&self, k: u64) -> u64 {
        let n = self.len();
        if n < 2 {
            return 0;
        }
        let mean = self.sum / n;
        let total: u64 = self.samples.iter().map(|&sample| mean.abs_diff(k * sample)).sum();
        total / n
    }
}

fn square(n: u64) -> u128 {
    u128::from(n) * u128::from(n)
}

/// `a * b / c`, or 0 if `c` is 0.
fn scaled(a: u64, b: u64, c: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product.checked_div(u128::from(c)).map_or(0, |n| u64::try_from(n).unwrap_or(u64::MAX))
}

const MILLION: u64 = 1_000_000;
/// Longest time that is used without truncation (4.6 min), so that no sum overflows.
const LONGEST: Duration = Duration::from_nanos(1 << 38);
/// Shortest delay that the authors' rules ignore.
const TOO_LONG: Duration = Duration::from_millis(500);
/// Header bytes of a data packet and of an ACK in the authors' rules; real headers on the air are shorter.
const HEADERS: u32 = 112;
/// Shortest gap: a gap of zero would disable pacing.
const SHORTEST: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests;
