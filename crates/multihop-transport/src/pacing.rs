//! Adaptive pacing (ElRakabawy, Klemm and Lindemann, TCP-AP, sections 4.2 to 4.4): how long a sender
//! waits after each data packet, from the round trips it measures and the length of its path.

use alloc::collections::VecDeque;

use multihop_core::settings::{Settings, Visitor};
use multihop_core::{BitRate, Duration, Instant};

/// Every constant of the pacer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PacingConfig {
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
    /// Factor on each sample in the deviation (K of the TPA paper, Equation 3).
    pub k: u8,
    /// What `k` does to the mean.
    pub k_mean: KMean,
    /// Bit rate of the wireless links (b).
    pub bandwidth: BitRate,
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
    /// From the round trip, what data and ACK differ by in size made up for (section 4.3).
    Own,
    /// From the one-way delay that a receiver with the same clock measures (section 5.1.1).
    Synchronised,
}

/// What a factor on the samples does to their mean in the deviation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KMean {
    /// Nothing, as Equation 3 of the TPA paper is printed: (K - 1) times the mean is in each deviation.
    Raw,
    /// It is scaled as well: K times the variation.
    Scaled,
}

/// The pacer of one sender.
#[derive(Clone, Debug)]
pub struct Pacer {
    config: PacingConfig,
    hops: Option<u8>,
    history: History,
    /// Average delay of n hops.
    delay: Option<Duration>,
    /// Coefficient of variation, millionths.
    cov: u64,
    gap: Option<Duration>,
}

impl Settings for PacingConfig {
    fn keys(&mut self, keys: &mut dyn Visitor) {
        keys.about("Weight of the past in the average time that data takes over reuse_hops hops.")
            .thousandths("alpha", &mut self.alpha, 0.0..=1.0);
        keys.about("Number of round-trip times whose variation is taken.").whole(
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

    /// What the TCP-AP paper settles on (section 4.5).
    pub const fn new(bandwidth: BitRate) -> Self {
        Self {
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
}

impl Pacer {
    /// A pacer that knows nothing of its path yet.
    pub fn new(config: PacingConfig) -> Self {
        Self { hops: None, history: History::new(config.history), delay: None, cov: 0, gap: None, config }
    }

    /// The path to the peer is this long. Samples from now on are read with it.
    pub fn set_hops(&mut self, hops: u8) {
        self.hops = Some(hops.max(1));
    }

    /// Takes the round trip of a data packet that was sent exactly once, and the way there if the
    /// receiver's clock is that of the sender. A full packet has `payload` bytes that its ACK has not;
    /// all headers are alike.
    pub fn sample(&mut self, payload: u32, round_trip: Duration, there: Option<Duration>) {
        self.history.push(round_trip.min(LONGEST));
        self.cov = self.variation();
        let Some(sample) = self.delay_of_reuse_hops(payload, round_trip, there) else { return };
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

    /// When the next data packet may leave after one at `last`, if that is later than `now`: by the gap
    /// as it is now, so that a new sample also moves a packet that waits.
    pub(crate) fn holds_until(&self, now: Instant, last: Option<Instant>) -> Option<Instant> {
        let at = last? + self.gap?;
        (at > now).then_some(at)
    }

    /// Data packets per second.
    pub fn rate(&self) -> Option<f64> {
        self.gap.map(|gap| 1.0 / gap.as_secs_f64())
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

    /// Of the samples, each taken `k` times, about their mean, taken once.
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
/// Longer times than this, 4.6 min, count as this long, so that no sum overflows.
const LONGEST: Duration = Duration::from_nanos(1 << 38);
/// A gap of zero would be no pacing.
const SHORTEST: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// 1500 bytes and 40: (s_data - s_ack) / b is 5.84 ms at 2 Mb/s.
    const PAYLOAD: u32 = 1460;

    fn config() -> PacingConfig {
        PacingConfig::new(BitRate(2_000_000))
    }

    fn pacer(config: PacingConfig, hops: u8) -> Pacer {
        let mut pacer = Pacer::new(config);
        pacer.set_hops(hops);
        pacer
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn us(n: u64) -> Option<Duration> {
        Some(Duration::from_micros(n))
    }

    fn sample_all(pacer: &mut Pacer, round_trips: &[u64]) {
        for &round_trip in round_trips {
            pacer.sample(PAYLOAD, ms(round_trip), None);
        }
    }

    #[test]
    fn the_first_sample_over_four_hops_by_hand() {
        let mut pacer = pacer(config(), 4);
        assert_eq!((pacer.gap(), pacer.rate(), pacer.delay()), (None, None, None));
        pacer.sample(PAYLOAD, ms(100), None);
        // FHD = 2 (100 / 4 + 5.84) = 61.68 ms, and one sample does not vary.
        assert_eq!((pacer.delay(), pacer.gap()), (us(61_680), us(61_680)));
        assert!((pacer.rate().unwrap() - 16.213).abs() < 0.001);
    }

    #[test]
    fn the_delay_is_that_of_four_hops_on_a_longer_path_and_of_all_on_a_shorter() {
        // n/2 (RTT / h + 5.84): 2 (160 / 8 + 5.84), 3/2 (60 / 3 + 5.84), 1/2 (15 + 5.84)
        for (hops, round_trip, delay) in [(8, 160, 51_680), (3, 60, 38_760), (1, 15, 10_420)] {
            let mut pacer = pacer(config(), hops);
            pacer.sample(PAYLOAD, ms(round_trip), None);
            assert_eq!(pacer.delay(), us(delay), "{hops} hops");
        }
    }

    /// Options take their room from the payload; they, and a second IP header, are in the ACK as well.
    #[test]
    fn data_and_ack_differ_by_the_payload() {
        let mut pacer = pacer(config(), 4);
        pacer.sample(1448, ms(100), None);
        // 2 (100 / 4 + 5.792)
        assert_eq!(pacer.delay(), us(61_584));
    }

    #[test]
    fn another_reuse_distance_by_hand() {
        let mut pacer = pacer(PacingConfig { reuse_hops: 3, ..config() }, 6);
        pacer.sample(PAYLOAD, ms(120), None);
        // 3/2 (120 / 6 + 5.84)
        assert_eq!(pacer.delay(), us(38_760));
    }

    #[test]
    fn three_samples_by_hand() {
        let mut pacer = pacer(config(), 4);
        sample_all(&mut pacer, &[80, 120, 100]);
        // FHD: 51.68, 71.68, 61.68 ms; averaged with alpha = 0.7:
        // 0.7 * 51.68 + 0.3 * 71.68 = 57.68; 0.7 * 57.68 + 0.3 * 61.68 = 58.88
        assert_eq!(pacer.delay(), us(58_880));
        // Mean 100, squares 400 + 400 + 0 over 2: deviation 20, cov 0.2.
        assert!((pacer.cov() - 0.2).abs() < 1e-6);
        // 58.88 * 1.4
        assert_eq!(pacer.gap(), us(82_432));
    }

    #[test]
    fn the_mean_absolute_deviation_by_hand() {
        let mut pacer = pacer(PacingConfig { cov: Cov::Mad, ..config() }, 4);
        sample_all(&mut pacer, &[80, 120, 100, 100]);
        // (20 + 20 + 0 + 0) / 4 over 100
        assert!((pacer.cov() - 0.1).abs() < 1e-6);
    }

    #[test]
    fn samples_older_than_the_history_are_forgotten() {
        let config = PacingConfig { history: 3, ..config() };
        let mut long = pacer(config, 4);
        sample_all(&mut long, &[900, 1, 500, 80, 120, 100]);
        assert!((long.cov() - 0.2).abs() < 1e-6);
        assert_eq!(long.history.samples.len(), 3);
    }

    #[test]
    fn k_as_printed_and_with_the_mean_scaled_too() {
        let of = |k, k_mean| {
            let mut pacer = pacer(PacingConfig { k, k_mean, ..config() }, 4);
            sample_all(&mut pacer, &[80, 120, 100]);
            pacer.cov()
        };
        let expect = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found}");
        expect(of(1, KMean::Scaled), 0.2);
        expect(of(2, KMean::Scaled), 0.4);
        expect(of(3, KMean::Scaled), 0.6);
        // 160 - 100, 240 - 100, 200 - 100: sqrt((3600 + 19600 + 10000) / 2) = 128.841
        expect(of(2, KMean::Raw), 1.288_41);
        // 140, 260, 200: sqrt((19600 + 67600 + 40000) / 2) = 252.190
        expect(of(3, KMean::Raw), 2.521_90);
    }

    #[test]
    fn k_in_the_mean_absolute_deviation() {
        let mut pacer = pacer(PacingConfig { cov: Cov::Mad, k: 2, ..config() }, 4);
        sample_all(&mut pacer, &[80, 120, 100]);
        // (60 + 140 + 100) / 3 over 100
        assert!((pacer.cov() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_synchronised_clock_takes_the_way_there_alone() {
        let mut pacer = pacer(PacingConfig { clock: Clock::Synchronised, ..config() }, 8);
        pacer.sample(PAYLOAD, ms(500), us(72_000));
        // T n / h = 72 * 4 / 8
        assert_eq!(pacer.delay(), us(36_000));
        pacer.sample(PAYLOAD, ms(160), None);
        // Without it the formula stands in: 0.7 * 36 + 0.3 * 2 (160 / 8 + 5.84)
        assert_eq!(pacer.delay(), us(40_704));
    }

    #[test]
    fn without_the_length_of_the_path_samples_count_only_for_the_variation() {
        let mut pacer = Pacer::new(config());
        sample_all(&mut pacer, &[80, 120]);
        assert_eq!(pacer.gap(), None);
        pacer.set_hops(4);
        pacer.sample(PAYLOAD, ms(100), None);
        assert!((pacer.cov() - 0.2).abs() < 1e-6);
        // 61.68 * 1.4
        assert_eq!(pacer.gap(), us(86_352));
    }

    #[test]
    fn a_new_route_holds_from_the_next_sample_on() {
        let mut pacer = pacer(config(), 4);
        pacer.sample(PAYLOAD, ms(100), None);
        pacer.set_hops(8);
        assert_eq!(pacer.delay(), us(61_680));
        pacer.sample(PAYLOAD, ms(100), None);
        // 0.7 * 61.68 + 0.3 * 2 (100 / 8 + 5.84)
        assert_eq!(pacer.delay(), us(54_180));
    }

    #[test]
    fn absurd_samples_and_settings_neither_overflow_nor_stop_the_sender() {
        for (k_mean, cov, samples) in
            [(KMean::Raw, Cov::Std, 200_000_u32), (KMean::Scaled, Cov::Mad, 300), (KMean::Raw, Cov::Mad, 300)]
        {
            let config = PacingConfig {
                alpha: u16::MAX,
                reuse_hops: 0,
                history: u16::MAX,
                k: u8::MAX,
                k_mean,
                cov,
                ..config()
            };
            let mut pacer = pacer(config, 0);
            for i in 0..samples {
                pacer.sample(PAYLOAD, if i % 3 == 0 { Duration::ZERO } else { Duration::MAX }, None);
            }
            assert!(pacer.gap().unwrap() >= SHORTEST);
        }
        let mut short = pacer(config(), 1);
        (0..3).for_each(|_| short.sample(0, Duration::ZERO, None));
        assert_eq!((short.gap(), short.cov().to_bits()), (Some(SHORTEST), 0));
    }
}
