//! Adaptive pacing (ElRakabawy, Klemm and Lindemann, TCP-AP, sections 4.2 to 4.4): how long a sender
//! waits after each data packet, from the round trips it measures and the length of its path.

use alloc::collections::VecDeque;

use multihop_core::settings::{Settings, Visitor};
use multihop_core::{BitRate, Duration, Instant};

/// Every constant of the pacer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PacingConfig {
    /// Whether the text of the paper holds, or its authors' implementation.
    pub rules: Rules,
    /// A packet is sent once the one before it is this many hops away.
    pub reuse_hops: u8,
    /// Weight of the past in the average n-hop delay (alpha), thousandths.
    pub alpha: u16,
    /// Round trips over which the variation is taken (N).
    pub history: u16,
    /// How the variation is measured.
    pub cov: Cov,
    /// Where the delay of n hops comes from.
    pub clock: Clock,
    /// Factor of each sample in the deviation (K of the TPA paper, Equation 3).
    pub k: u8,
    /// What `k` does to the mean.
    pub k_mean: KMean,
    /// Bit rate of the wireless links (b).
    pub bandwidth: BitRate,
}

/// Where the text of the TCP-AP paper and its authors' implementation (TCP-AP 1.0 for ns-2) differ, which of
/// them holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rules {
    /// Variation of round trips; the delay of the whole path where it has fewer hops than `reuse_hops`.
    Paper,
    /// Variation of the delays themselves, the long ones left out; one hop's delay on such short paths.
    Authors,
}

/// How the spread of round trips is measured, as a share of their mean.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cov {
    /// Sample standard deviation (section 4.2).
    Std,
    /// Mean absolute deviation, which needs no square root (section 4.4).
    Mad,
}

/// Where the delay of n hops comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Clock {
    /// From the round-trip time, corrected for the different sizes of data and ACK (section 4.3).
    Own,
    /// From the one-way delay that a receiver with the same clock measures (section 5.1.1).
    Synchronised,
}

/// What a factor on the samples does to their mean in the deviation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KMean {
    /// Nothing, as Equation 3 of the TPA paper is printed: each deviation includes (K - 1) times the mean.
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
    /// Average time that a packet waits at a hop; for the authors' rules alone.
    queueing: Option<Duration>,
    /// Average delay of n hops.
    delay: Option<Duration>,
    /// Coefficient of variation, millionths.
    cov: u64,
    gap: Option<Duration>,
}

impl Settings for PacingConfig {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        let before = self.rules;
        keys.about(
            "Rules of adaptive pacing where the paper's text and its authors' implementation differ; also \
                sets cov and, for TCP, ap_rtt.",
        )
        .word("rules", &mut self.rules, &[("paper", Rules::Paper), ("authors", Rules::Authors)]);
        if self.rules != before {
            *self = self.with_rules(self.rules);
        }
        keys.about("Weight of earlier samples in the average time that data needs for reuse_hops hops.")
            .thousandths("alpha", &mut self.alpha, 0.0..=1.0);
        keys.about("Number of round-trip times from which the variation is computed.").whole(
            "history",
            &mut self.history,
            1..=10_000,
        );
        keys.about(
            "A segment leaves when the one before it should be this many hops away, or at its \
                destination.",
        )
        .whole("reuse_hops", &mut self.reuse_hops, 1..=64);
        keys.about(
            "Variation of round-trip times: their standard deviation, or their mean absolute \
                deviation.",
        )
        .word("cov", &mut self.cov, &[("std", Cov::Std), ("mad", Cov::Mad)]);
        keys.about("Factor on each round-trip time in the deviation (K in Equation 3 of the TPA paper).")
            .whole("pacing_k", &mut self.k, 1..=100);
        let means = [("raw", KMean::Raw), ("scaled", KMean::Scaled)];
        keys.about(
            "Whether pacing_k leaves the mean as it is, as the equation is printed, or scales it \
                too, so that the variation is pacing_k times as large.",
        )
        .word("pacing_k_mean", &mut self.k_mean, &means);
    }
}

impl PacingConfig {
    /// Why the keys do not exist where a transport is not paced.
    pub const REASON: &str = "is not paced, allowed with: +ap";

    /// The values that the TCP-AP paper chooses (section 4.5).
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

    /// The same with these rules, and the variation as they have it.
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

    /// The path to the peer is this long. It applies to samples from now on.
    pub fn set_hops(&mut self, hops: u8) {
        self.hops = Some(hops.max(1));
    }

    /// Takes the round-trip time of a data packet that was sent exactly once, and the one-way delay if
    /// the receiver's clock is that of the sender. A full packet has `payload` bytes that its ACK has
    /// not; all headers are equally long.
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

    /// When the next data packet may leave after one at `last`, if that is later than `now`. The
    /// current gap counts, so a new sample also affects a packet that already waits.
    pub(crate) fn holds_until(&self, now: Instant, last: Option<Instant>) -> Option<Instant> {
        let at = last? + self.gap?;
        (at > now).then_some(at)
    }

    /// Data packets per second.
    pub fn rate(&self) -> Option<f64> {
        self.gap.map(|gap| 1.0 / gap.as_secs_f64())
    }

    /// Payload rate in kb/s, with `payload` bytes in each packet.
    pub fn rate_kbps(&self, payload: u32) -> Option<f64> {
        Some(self.rate()? * f64::from(payload) * 8e-3)
    }

    /// Coefficient of variation of the last round trips; 0 with fewer than two.
    pub fn cov(&self) -> f64 {
        self.cov as f64 / MILLION as f64
    }

    /// Average time in which a data packet crosses `reuse_hops` links, or the whole path if that is
    /// shorter.
    pub fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// Links between here and the peer.
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
                // s_data - s_ack
                let difference = self.config.bandwidth.time_for(payload);
                // FHD = n (t_q + t_data) with t_q = (RTT / h - t_data - t_ack) / 2.
                round_trip.min(LONGEST) * n / (2 * hops) + difference * n / 2
            }
        };
        Some(delay.max(SHORTEST))
    }

    /// The delay of `reuse_hops` hops, or of one on a shorter path; `None` if it does not count.
    fn authors_delay(&mut self, payload: u32, round_trip: Duration) -> Option<Duration> {
        let hops = u64::from(self.hops?);
        let reuse = u64::from(self.config.reuse_hops.max(1));
        let n = if hops < reuse { 1 } else { reuse };
        let [data, ack] = [payload, 0].map(|bytes| self.config.bandwidth.time_for(bytes + HEADERS));
        let waits = (round_trip / hops).saturating_sub(data + ack) / 2;
        let delay = (self.queueing_of(waits)? + data) * n;
        (delay < TOO_LONG).then_some(delay)
    }

    /// The time in a queue, or the average if it is too long.
    fn queueing_of(&mut self, sample: Duration) -> Option<Duration> {
        if sample > TOO_LONG {
            return self.queueing;
        }
        self.queueing = Some(self.queueing.map_or(sample, |old| (old + sample) / 2));
        Some(sample)
    }

    /// The coefficient of variation, millionths.
    fn variation(&self) -> u64 {
        let PacingConfig { k, k_mean, cov, .. } = self.config;
        // Scaling samples and mean alike scales the deviation.
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

/// The last N round trips in nanoseconds, with their sum and the sum of their squares: integers, so
/// that nothing drifts as samples come and go.
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

    /// See [`standard_deviation`](Self::standard_deviation).
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

/// `a * b / c`; 0 if `c` is.
fn scaled(a: u64, b: u64, c: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product.checked_div(u128::from(c)).map_or(0, |n| u64::try_from(n).unwrap_or(u64::MAX))
}

const MILLION: u64 = 1_000_000;
/// Longer times than this (4.6 min) are truncated, so that no sum overflows.
const LONGEST: Duration = Duration::from_nanos(1 << 38);
/// Delays of the authors' rules that do not count.
const TOO_LONG: Duration = Duration::from_millis(500);
/// Bytes of headers in a data packet and in an ACK by the authors' rules; on the air they are fewer.
const HEADERS: u32 = 112;
/// A gap of zero would disable pacing.
const SHORTEST: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests;
