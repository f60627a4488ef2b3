//! The window: from the queueing delay of data, not from losses.
//!
//! docs/models/mesh.md has the argument.

use multihop_core::{Duration, Instant};

use super::config::Config;
use super::lowest::Lowest;
use super::rival::Rival;
use super::wire::{self, Queue, Turn, Wire};

/// Rate and window of one sender.
#[derive(Clone, Debug)]
pub struct Control {
    backlog: f64,
    /// Share of the configured backlog for this path; all of it if the connection has one path.
    part: f64,
    allowed: Duration,
    gain: f64,
    correction: f64,
    every: f64,
    /// Whether the rate falls as fast as a stable law permits, because urgent messages share the path.
    is_yielding: bool,
    /// Number of segments in a train: more than one where radios aggregate.
    train: f64,
    most: f64,
    stage: Stage,
    /// Round trip with empty queues.
    base: Lowest<Duration>,
    /// Queueing delay of data, by the newest ACKs.
    queueing: Duration,
    delivery: Delivery,
    /// Instant at which the queue was last observed, or made, almost empty.
    drained: Instant,
    wire: Wire,
    /// Competition with flows that fill the queue of a wire.
    rival: Rival,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The window doubles in each round trip.
    Start { window: f64 },
    Steady {
        /// Rate at which the backlog would remain constant, segments per second.
        rate: f64,
        /// Difference of the backlog from its target, as a fraction of the segments between two corrections.
        error: f64,
        /// Number of intervals for which the backlog has been below its target.
        spare: f64,
    },
}

/// The largest rate of arrivals in the last round trips.
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    since: Option<Instant>,
    arrived: u64,
    /// Whether the sender had nothing to send at a time in the current sample.
    is_idle: bool,
    rates: [f64; 2],
}

impl Delivery {
    fn add(&mut self, now: Instant, arrived: u64, round: Duration) {
        let since = *self.since.get_or_insert(now);
        self.arrived += arrived;
        let elapsed = now.saturating_since(since);
        if self.arrived >= SEGMENTS_OF_A_RATE && elapsed >= round {
            let rate = self.arrived as f64 / elapsed.as_secs_f64();
            if !self.is_idle || self.largest().is_none_or(|largest| rate > largest) {
                self.rates = [rate, self.rates[0]];
            }
            (self.since, self.arrived, self.is_idle) = (Some(now), 0, false);
        }
    }

    /// Ends the current sample of the delivery rate at a pause of the sender, so that the pause does not lower the
    /// rate.
    fn pause(&mut self) {
        (self.since, self.arrived, self.is_idle) = (None, 0, false);
    }

    fn largest(&self) -> Option<f64> {
        (self.rates[1] > 0.0).then(|| self.rates[0].max(self.rates[1]))
    }

    fn smallest(&self) -> Option<f64> {
        (self.rates[1] > 0.0).then(|| self.rates[0].min(self.rates[1]))
    }
}

/// Acknowledgement as the rate control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Number of segments that the ACK acknowledges for the first time.
    pub arrived: u64,
    /// Mean queueing delay of these segments.
    pub queueing: Duration,
    /// Whether more data waits to be sent, so that the window is used.
    pub is_limited: bool,
}

impl Control {
    /// Control without knowledge of the path.
    pub fn new(config: &Config) -> Self {
        let most = f64::from(config.window_max);
        Self {
            backlog: config.backlog,
            part: config.backlog,
            allowed: config.delay,
            gain: config.gain,
            correction: config.correction,
            every: f64::from(config.ack_every),
            is_yielding: false,
            train: 1.0,
            most,
            stage: Stage::Start { window: FIRST_WINDOW.min(most) },
            base: Lowest::new(MEMORY),
            queueing: Duration::ZERO,
            delivery: Delivery::default(),
            drained: Instant::ZERO,
            wire: Wire::new(config.delay),
            rival: Rival::default(),
        }
    }

    /// Control that never applies the rules for wires, as `mh_mesh` in the kernel.
    pub fn without_wires(config: &Config) -> Self {
        let mut control = Self::new(config);
        control.exclude_wire();
        control
    }

    /// Never applies the rules for wires again.
    pub(super) fn exclude_wire(&mut self) {
        self.wire.exclude();
        self.rival = Rival::default();
    }

    /// Sets the length of the path to the peer. Segments of the first window leave at once, and must not queue behind
    /// each other.
    pub fn set_hops(&mut self, hops: u8) {
        if let (Stage::Start { window }, None) = (&mut self.stage, self.base.get()) {
            *window = (f64::from(hops) / FIRST_HOPS).max(1.0).min(self.most);
        }
        self.base.clear();
        self.wire.set_hops(hops);
        self.rival = Rival::default();
    }

    /// Congestion window in segments, backlog included. May be below 1.
    pub fn window(&self) -> f64 {
        match (self.stage, self.round()) {
            (Stage::Start { window }, _) => window,
            (Stage::Steady { rate, error, .. }, Some(round)) => {
                // A sender that yields keeps a segment in a round trip: its ACK tells when the queue is short.
                let least = if self.yields(error) { (rate * round).min(1.0) } else { 0.0 };
                let corrected = rate * (1.0 + self.correction_of(error) * error) * round;
                corrected.max(least).max(MIN_WINDOW).min(self.most)
            }
            (Stage::Steady { .. }, None) => FIRST_WINDOW.min(self.most),
        }
    }

    pub(super) const fn is_starting(&self) -> bool {
        matches!(self.stage, Stage::Start { .. })
    }

    /// Whether the rate is reduced to empty the queue, so that frequent ACKs pay.
    pub(super) const fn is_dip(&self) -> bool {
        self.wire.is_dip()
    }

    /// Number of segments per ACK on paths with few segments in a round trip.
    pub(super) fn every(&self) -> f64 {
        if self.train < 2.0 { self.every } else { self.train }
    }

    /// Sets the number of segments that leave together (a train).
    pub fn set_train(&mut self, size: f64) {
        self.train = size;
        if size >= 2.0 {
            self.exclude_wire();
        }
    }

    /// Aims at this share of the backlog, above 0, because other paths of the connection have the rest.
    pub(super) fn set_share(&mut self, share: f64) {
        self.part = self.backlog * share;
        self.exclude_wire();
    }

    /// Segments per second; 0 before the first round trip.
    pub(super) fn rate(&self) -> f64 {
        self.round().map_or(0.0, |round| self.window() / round)
    }

    /// The shortest round trip.
    pub fn base(&self) -> Option<Duration> {
        self.base.get()
    }

    /// Time between two segments at the current rate.
    pub fn gap(&self) -> Option<Duration> {
        let round = self.round()?;
        Some(Duration::from_secs_f64(round / (self.window() * self.wire.factor())).min(LONGEST))
    }

    /// Number of segments delivered in a shortest round trip. The smaller of two rate samples counts, because after a
    /// pause of a host many segments arrive at once.
    pub(super) fn carried(&self) -> Option<f64> {
        Some(self.delivery.smallest()? * self.base.get()?.as_secs_f64())
    }

    /// A round trip as the queues are now.
    fn round(&self) -> Option<f64> {
        let usual = self.base.get()? + self.queueing;
        Some(self.rival.round_trip().unwrap_or(usual).as_secs_f64().max(SHORTEST))
    }

    /// The smoothed queueing delay of data.
    pub(super) const fn queueing(&self) -> Duration {
        self.queueing
    }

    /// Resets the estimate of the queueing delay to zero.
    pub(super) const fn forget_queue(&mut self) {
        self.queueing = Duration::ZERO;
    }

    /// Processes a round-trip sample, from which the time for which the peer held the ACK is subtracted.
    pub fn on_round_trip(&mut self, now: Instant, sample: Duration) {
        self.base.add(now, sample);
        self.rival.on_round_trip(sample);
    }

    /// Notes that nothing waits to be sent. The current sample of the delivery rate then shows the rate of the application,
    /// so that the sample counts only if it is larger than earlier ones.
    pub(super) const fn note_idle(&mut self) {
        self.delivery.is_idle = true;
    }

    /// Sets whether urgent messages share the path with the segments that this end sends.
    pub(super) const fn set_yielding(&mut self, is_yielding: bool) {
        self.is_yielding = is_yielding;
    }

    /// Whether urgent messages share the path with the segments that this end sends.
    pub(super) const fn is_yielding(&self) -> bool {
        self.is_yielding
    }

    /// Takes the loss of segments, which shows a full queue only where other flows fill it.
    pub(super) fn on_loss(&mut self, now: Instant) {
        self.rival.on_loss(now);
    }

    /// Corrects the rate after an ACK.
    pub fn on_ack(&mut self, now: Instant, report: Report) {
        if report.arrived == 0 {
            return;
        }
        let arrived = report.arrived as f64;
        let weight = if self.is_starting() { 1.0 } else { (arrived / SMOOTHED_OVER).min(1.0) };
        let (old, new) = (self.queueing.as_secs_f64(), report.queueing.min(LONGEST).as_secs_f64());
        self.queueing = Duration::from_secs_f64(old + (new - old) * weight);
        let (Some(base), Some(round)) = (self.base.get(), self.round()) else { return };
        self.update_wire(now, report, base);
        if self.wire.is_settled(now) {
            self.delivery.add(now, report.arrived, Duration::from_secs_f64(round));
        }
        if let (Stage::Steady { .. }, Some(window)) = (self.stage, self.compete(now, report)) {
            self.stage = Stage::Steady { rate: window / round, error: 0.0, spare: 0.0 };
            return;
        }
        // Only the second start is one on a wire.
        let allowed = if self.is_wire() { self.allowed.max(base / 2) } else { self.allowed };
        let queueing = self.queueing.saturating_sub(allowed).as_secs_f64();
        self.stage = match self.stage {
            Stage::Start { window } if window / round * queueing < self.backlog => {
                let grown = if report.is_limited { window + arrived } else { window };
                Stage::Start { window: grown.min(self.most) }
            }
            Stage::Start { window } => Stage::Steady { rate: window / round, error: 0.0, spare: 0.0 },
            Stage::Steady { rate, .. } if !self.wire.is_settled(now) => {
                Stage::Steady { rate, error: 0.0, spare: 0.0 }
            }
            Stage::Steady { rate, spare, .. } => {
                let target = self.target(rate);
                let interval = self.interval(rate, base, target);
                let backlog = rate * self.queueing.as_secs_f64();
                if rate * new < target * ALMOST_EMPTY {
                    self.drained = now;
                }
                let error = ((target - backlog) / interval).clamp(-1.0, 1.0);
                let part = (arrived / interval).min(1.0);
                let is_spare = report.is_limited && backlog < target;
                let spare = if is_spare { spare + part } else { 0.0 };
                // Without enough data nobody knows whether the path carries more.
                let change = if report.is_limited { error } else { error.min(0.0) };
                let boost = 1.0 + square((spare - PATIENCE).max(0.0));
                let change = (self.gain_at(now, change) * change * boost).min(MAX_GROWTH) * part;
                let next = self.bounded(rate * (1.0 + change), round);
                let sees_queue = backlog >= target / 2.0 || !report.is_limited;
                let next = if sees_queue { next } else { next.max(self.sparse(rate, arrived)) };
                Stage::Steady { rate: next, error, spare }
            }
        };
    }

    /// Whether the path was found to be wire.
    fn is_wire(&self) -> bool {
        self.wire.is_found()
    }

    /// Number of segments in an interval between two corrections. On wires a correction shows after a round trip with the queue.
    fn interval(&self, rate: f64, base: Duration, target: f64) -> f64 {
        let queued = if self.is_wire() { target } else { 0.0 };
        self.every() + rate * base.as_secs_f64() + queued
    }

    /// Whether a queue above its target must become short soon. Wires have gains of their own.
    fn yields(&self, error: f64) -> bool {
        self.is_yielding && error < 0.0 && !self.is_wire()
    }

    fn correction_of(&self, error: f64) -> f64 {
        if self.yields(error) { YIELDING_CORRECTION } else { self.correction }
    }

    fn gain_at(&self, now: Instant, error: f64) -> f64 {
        match (self.is_wire(), self.wire.is_refilled(now)) {
            (false, _) if self.yields(error) => YIELDING_GAIN,
            (false, _) => self.gain,
            (true, true) => self.gain * wire::GAIN,
            (true, false) => 0.0,
        }
    }

    /// Starts again if the path is found to be wire, and decides whether to reduce the rate for a while to empty the queue, and
    /// whether to compete.
    fn update_wire(&mut self, now: Instant, report: Report, base: Duration) {
        let Stage::Steady { rate, .. } = self.stage else { return };
        if self.wire.is_excluded() {
            return;
        }
        let carried = if report.is_limited { self.carried().unwrap_or(0.0) } else { 0.0 };
        if self.wire.detects(report.queueing, base, carried) {
            self.stage = Stage::Start { window: self.window() };
            self.rival.on_start(now, base, carried);
            return;
        }
        let target = Duration::from_secs_f64(self.target(rate) / rate);
        let queue = self.rival.queue(Queue { newest: report.queueing, target, base });
        if self.is_wire() {
            self.dip(now, queue);
        }
        if self.wire.is_refilled(now) {
            self.rival.on_delay(now, queue, self.arriving());
        }
        let (is_wire, window) = (self.is_wire(), self.arriving());
        if (is_wire || self.wire.may_be(queue, carried)) && self.rival.begins(now, queue, window, is_wire) {
            self.wire.find();
        }
    }

    /// Begins or ends a dip, and ends a competition whose queue is empty.
    fn dip(&mut self, now: Instant, queue: Queue) {
        if self.rival.ends(queue) {
            self.wire.on_silence();
        }
        match self.wire.on_delay(now, queue) {
            Some(Turn::Begin) => self.delivery.pause(),
            Some(Turn::End { is_empty }) => self.rival.on_dip(now, is_empty),
            None => {}
        }
    }

    /// The window, or the segments that arrive in the shortest round trip if those are fewer.
    fn arriving(&self) -> f64 {
        self.carried().map_or(self.window(), |carried| self.window().min(carried).max(MIN_WINDOW))
    }

    /// Window of a flow that competes with flows that fill the queue; `None` in a dip, whose rate must empty the queue.
    fn compete(&mut self, now: Instant, report: Report) -> Option<f64> {
        let arrived = if report.is_limited { report.arrived as f64 } else { 0.0 };
        if self.wire.is_dip() { None } else { self.rival.window(now, arrived, self.most) }
    }

    /// Rate of a flow without a queue: grows as in the start, up to one segment in every second round trip.
    fn sparse(&self, rate: f64, arrived: f64) -> f64 {
        let base = self.base.get().map_or(f64::INFINITY, |base| base.as_secs_f64().max(SHORTEST));
        (rate + arrived / base).min(SPARSE / base)
    }

    /// Target of the backlog: number of queued segments at which the rate does not change.
    fn target(&self, rate: f64) -> f64 {
        if self.is_wire() {
            return self.backlog + rate * wire::allowed(self.allowed, rate);
        }
        // Within a train segments do not wait for each other, and what delays a host delays a train once.
        let backlog = self.part * (2.0 * self.train - 1.0);
        let target = backlog + rate * self.allowed.as_secs_f64() / self.train;
        if !self.is_yielding {
            return target;
        }
        target.min(YIELDING_QUEUE.max(backlog).max((target - backlog) / YIELDING_DELAY))
    }

    /// Rate limited to little above the rate of arrivals and to the bounds of the window.
    fn bounded(&self, rate: f64, round: f64) -> f64 {
        let arrives = self.delivery.largest().map_or(f64::INFINITY, |largest| largest * HEADROOM);
        rate.min(arrives).min(self.most / round).max(MIN_WINDOW / round)
    }

    /// Reduces the window after a timeout in which nothing arrived. In steady state it is halved only if the queue
    /// was long; otherwise the path counts as broken, not congested.
    pub fn on_timeout(&mut self) {
        self.delivery.pause();
        self.wire.on_silence();
        self.rival = Rival::default();
        let (Some(round), Some(base)) = (self.round(), self.base.get()) else { return };
        self.stage = match self.stage {
            // A queue would have ended the start.
            Stage::Start { window } => Stage::Start { window: (window / 2.0).max(1.0) },
            Stage::Steady { rate, .. } => {
                let rate = if self.queueing > base { rate / 2.0 } else { rate };
                Stage::Steady { rate: self.bounded(rate, round), error: 0.0, spare: 0.0 }
            }
        };
    }

    /// Duration of a pause that empties the queue; zero if the queue was almost empty recently. All flows through the
    /// queue observe the pause, so that their next pauses coincide and each measures the path's shortest delay.
    pub fn drain(&mut self, now: Instant) -> Duration {
        let Stage::Steady { rate, .. } = self.stage else { return Duration::ZERO };
        if self.is_wire() || now.saturating_since(self.drained) < DRAIN_EVERY {
            return Duration::ZERO;
        }
        self.drained = now;
        // A longer queue is that of others.
        let own = self.target(rate) * OWN_QUEUE / rate;
        self.queueing.min(Duration::from_secs_f64(own))
    }
}

fn square(x: f64) -> f64 {
    x * x
}

/// Window until the length of the path or a round trip is known, segments.
const FIRST_WINDOW: f64 = 2.0;
/// Smallest window, segments: with many flows each has less than one segment in a round trip.
const MIN_WINDOW: f64 = 0.25;
/// Number of hops for each segment of the first window. Stations that are four hops apart can transmit at the same
/// time.
const FIRST_HOPS: f64 = 8.0;
/// Number of segments in a shortest round trip up to which a flow may grow at once if it sees no queue.
const SPARSE: f64 = 0.5;
/// Fraction of the target backlog up to which a queue counts as empty.
const ALMOST_EMPTY: f64 = 0.25;
/// Longest pause for emptying the queue, as a multiple of the time in which the target backlog drains: a longer queue
/// belongs to other flows.
const OWN_QUEUE: f64 = 4.0;
/// Fraction of the error that the window corrects at once while urgent messages share the path.
const YIELDING_CORRECTION: f64 = 1.0;
/// Gain while urgent messages share the path. With the whole error as correction *c*, both roots of the law are 1/2, so that the
/// queue falls as fast as possible without a swing (*g* = *c*² / 4).
const YIELDING_GAIN: f64 = 0.25;
/// Longest queue that the allowance for delays may cause while urgent messages share the path, segments: on fast radios the
/// allowance is several segments, and each of them delays an urgent message by an exchange on a hop.
const YIELDING_QUEUE: f64 = 1.0;
/// Ratio of the usual allowance for delays to the least one while urgent messages share the path. On fast networks, delays
/// by timers and busy processors are many segments.
const YIELDING_DELAY: f64 = 2.0;
/// Number of segments over which the queueing delay is smoothed.
const SMOOTHED_OVER: f64 = 8.0;
/// Number of intervals with the backlog below its target after which growth accelerates. Noise alone seldom lasts so
/// long.
const PATIENCE: f64 = 20.0;
/// Largest growth of the rate in an interval, as a fraction.
const MAX_GROWTH: f64 = 0.5;
/// Number of arrivals in a sample of the delivery rate.
const SEGMENTS_OF_A_RATE: u64 = 16;
/// Largest ratio of the sending rate to the delivery rate.
const HEADROOM: f64 = 1.5;
/// Shortest time for which the shortest round trip is remembered.
const MEMORY: Duration = Duration::from_secs(10);
/// Time without an empty queue until a pause: receivers remember the shortest delay for longer.
const DRAIN_EVERY: Duration = Duration::from_secs(5);
/// Bound on delays and gaps, so that no sum overflows.
const LONGEST: Duration = Duration::from_secs(60);
/// Shortest round trip that counts, s: one of no time would make the rate infinite.
const SHORTEST: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_of_the_application_does_not_lower_the_rate() {
        let mut control = Control::without_wires(&Config::default());
        let ms = Duration::from_millis;
        let mut now = Instant::ZERO;
        let report = |is_limited| Report { arrived: 1, queueing: ms(8), is_limited };
        for _ in 0..400 {
            now += ms(10);
            control.on_round_trip(now, ms(20));
            control.on_ack(now, report(true));
        }
        let before = control.rate();
        // A message and its ACK in each second.
        for _ in 0..40 {
            now += ms(1000);
            control.on_round_trip(now, ms(20));
            control.note_idle();
            control.on_ack(now, report(false));
        }
        assert!(control.rate() > 0.8 * before, "{} after {before} per second", control.rate());
    }

    /// Queue in segments 2 s after the capacity of a path has fallen from 100 to 50 segments per second.
    fn yields_to(is_yielding: bool) -> f64 {
        let mut control = Control::without_wires(&Config::default());
        control.set_yielding(is_yielding);
        let (mut now, mut queue) = (Instant::ZERO, 0.0_f64);
        for (segments, seconds) in [(100_u32, 20), (50, 2)] {
            let capacity = f64::from(segments);
            for _ in 0..segments * seconds {
                now += Duration::from_secs_f64(1.0 / capacity);
                queue = (queue + (control.window() / control.round().unwrap_or(1.0) - capacity) / capacity)
                    .max(0.0);
                control.on_round_trip(now, Duration::from_millis(20));
                let queueing = Duration::from_secs_f64(queue / capacity);
                control.on_ack(now, Report { arrived: 1, queueing, is_limited: true });
            }
        }
        queue
    }

    #[test]
    fn a_queue_is_short_soon_where_urgent_messages_share_the_path() {
        let (fast, slow) = (yields_to(true), yields_to(false));
        assert!(fast < 2.0 && slow > 2.0 * fast, "{fast} and {slow} segments");
    }

    #[test]
    fn a_sender_that_yields_to_urgent_messages_keeps_a_segment_in_a_round_trip() {
        let mut control = Control::without_wires(&Config::default());
        let ms = Duration::from_millis;
        let mut now = Instant::ZERO;
        for queueing in [[8; 400].as_slice(), &[440]].concat() {
            now += ms(10);
            control.on_round_trip(now, ms(20));
            control.on_ack(now, Report { arrived: 8, queueing: ms(queueing), is_limited: true });
        }
        control.set_yielding(true);
        assert!((control.window() - 1.0).abs() < 1e-9, "{}", control.window());
        control.set_yielding(false);
        assert!(control.window() > 1.0, "{}", control.window());
    }

    fn is(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found} and {wanted}");
    }

    #[test]
    fn a_train_is_acknowledged_as_a_whole_and_its_segments_do_not_count_as_backlog_of_each_other() {
        let mut control = Control::new(&Config::default());
        is(control.every(), 8.0);
        is(control.target(100.0), 0.4 + 100.0 * 0.005);
        control.set_train(12.0);
        is(control.every(), 12.0);
        is(control.target(1200.0), 0.4 * 23.0 + 1200.0 * 0.005 / 12.0);
    }

    #[test]
    fn the_queue_is_shorter_beside_urgent_messages_on_fast_paths() {
        let mut control = Control::new(&Config::default());
        is(control.target(400.0), 2.4);
        control.set_yielding(true);
        is(control.target(400.0), 1.0);
        is(control.target(40.0), 0.6);
        is(control.target(10_000.0), 25.0);
    }
}
