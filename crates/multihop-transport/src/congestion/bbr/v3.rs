use multihop_core::{Duration, Instant};

use super::filter::Largest;
use super::path::{Aggregation, BELOW, LEAST, ONE, Rounds, SLOW, amount, drawn, rate_of, times};
use crate::congestion::control::CongestionControl;
use crate::congestion::signals::Ack;
use crate::congestion::signals::RateSample;
use crate::congestion::start::Start;
use crate::congestion::window::Window;

/// BBR version 3 (draft-ietf-ccwg-bbr). Unlike version 1 it bounds the bytes in flight after losses above 2%. It
/// probes for bandwidth less often and in steps, and leaves room for other flows between probes.
// DEVIATION bbr-2: BBRv3 has no ECN. At a loss it uses the flight of the last lost segment; the draft interpolates
// the flight. The bound on the flight is at most one ACK's worth higher.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    window: Window,
    mode: Mode,
    rounds: Rounds,
    /// The bandwidth of the current and the last cycle of probing (`max_bw`), with the number of the cycle.
    bandwidth: Largest,
    cycle: u64,
    round_trip: RoundTrip,
    full: Full,
    bounds: Bounds,
    /// Bounds before the last recovery, restored if the recovery was unnecessary.
    before: Bounds,
    latest: Latest,
    probing: Probing,
    aggregation: Aggregation,
    rate: Option<u64>,
    prior: u32,
    recovers: bool,
    restarts: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Phase of the bandwidth probe to which arriving ACKs belong: the phase in which the acknowledged segments were sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Acks {
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The shortest round trip, and the shortest one of the last five seconds, which schedules probes.
#[derive(Clone, Debug, Default)]
struct RoundTrip {
    min: Option<Duration>,
    min_at: Instant,
    recent: Option<Duration>,
    recent_at: Instant,
    expired: bool,
    probe_ends: Option<Instant>,
    probe_round_over: bool,
}

#[derive(Clone, Debug, Default)]
struct Full {
    reached: bool,
    now: bool,
    bandwidth: u64,
    rounds: u8,
}

/// Bounds on bandwidth and bytes in flight, which losses have set.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The most bytes in flight without more losses than tolerated (`inflight_hi`).
    long: u64,
    /// Largest bandwidth after losses, until the next probe (`bw_lo`).
    bandwidth: u64,
    /// Largest number of bytes in flight after losses, until the next probe (`inflight_lo`).
    short: u64,
}

/// Bytes delivered and lost in the latest round, from which the loss rate is computed.
#[derive(Clone, Debug, Default)]
struct Latest {
    ends_at: u64,
    began: bool,
    bandwidth: u64,
    in_flight: u64,
    lost: bool,
    losses: u32,
}

/// State of the cycle of bandwidth probes.
#[derive(Clone, Debug)]
struct Probing {
    since: Instant,
    wait: Duration,
    /// Number of rounds since the last probe.
    rounds: u64,
    acks: Acks,
    /// Whether losses now concern bytes that the probe has sent.
    judged: bool,
    /// Rounds in the current phase UP, bytes acknowledged in it, and bytes for which `long` grows by one
    /// segment.
    up_rounds: u32,
    up_acked: u64,
    up_each: u64,
}

impl Bounds {
    const NONE: Self = Self { long: u64::MAX, bandwidth: u64::MAX, short: u64::MAX };

    fn widest(self, other: Self) -> Self {
        Self {
            long: self.long.max(other.long),
            bandwidth: self.bandwidth.max(other.bandwidth),
            short: self.short.max(other.short),
        }
    }
}

impl Bbr3 {
    pub(in crate::congestion) fn new(start: &Start) -> Self {
        Self {
            window: Window::new(start),
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: Largest::of(CYCLES),
            cycle: 0,
            round_trip: RoundTrip::default(),
            full: Full::default(),
            bounds: Bounds::NONE,
            before: Bounds::NONE,
            latest: Latest::default(),
            probing: Probing {
                since: Instant::ZERO,
                wait: Duration::ZERO,
                rounds: 0,
                acks: Acks::Refilling,
                judged: false,
                up_rounds: 0,
                up_acked: 0,
                up_each: u64::MAX,
            },
            aggregation: Aggregation::of(AGGREGATION_ROUNDS),
            rate: None,
            prior: 0,
            recovers: false,
            restarts: false,
        }
    }

    fn mss(&self) -> u64 {
        u64::from(self.window.mss())
    }

    fn least(&self) -> u64 {
        LEAST * self.mss()
    }

    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (STARTUP, 2 * ONE),
            Mode::Drain => (DRAIN, 2 * ONE),
            Mode::Down => (DOWN, 2 * ONE),
            Mode::Cruise | Mode::Refill => (ONE, 2 * ONE),
            Mode::Up => (UP, UP_WINDOW),
            Mode::ProbeRtt => (ONE, HALF),
        }
    }

    /// Estimate of the bandwidth that the model uses (`bw`).
    fn usable(&self) -> u64 {
        self.bandwidth.get().min(self.bounds.bandwidth)
    }

    fn is_probing(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up)
    }

    fn cycles(&self) -> bool {
        matches!(self.mode, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    fn bdp(&self, bandwidth: u64, gain: u64) -> u64 {
        self.round_trip.min.map_or(u64::from(self.window.initial()), |rtt| amount(bandwidth, rtt, gain))
    }

    /// Adds room for segments that a host sends in one burst (§5.6.4.2, `BBRQuantizationBudget`).
    fn with_groups(&self, bytes: u64) -> u64 {
        let rate = self.rate.unwrap_or(0);
        let least = if rate < SLOW { 1 } else { 2 } * self.mss();
        let group = (rate / 1000).min(65_535).max(least);
        let room = bytes.max(3 * group).max(self.least());
        if self.mode == Mode::Up { room + 2 * self.mss() } else { room }
    }

    fn in_flight(&self, gain: u64) -> u64 {
        self.with_groups(self.bdp(self.bandwidth.get(), gain))
    }

    fn with_headroom(&self) -> u64 {
        if self.bounds.long == u64::MAX {
            return u64::MAX;
        }
        let headroom = times(self.bounds.long, HEADROOM).max(self.mss());
        self.bounds.long.saturating_sub(headroom).max(self.least())
    }

    fn target(&self) -> u64 {
        self.bdp(self.usable(), ONE).min(u64::from(self.window.cwnd()))
    }

    fn is_window_limited(&self, sample: &RateSample) -> bool {
        sample.prior_in_flight + self.mss() > u64::from(self.window.cwnd())
    }

    fn start_round(&mut self, sample: &RateSample) {
        self.rounds.ends_at = sample.delivered;
    }

    /// Updates the delivery and loss signals of the latest round (§5.5.10.3).
    fn update_signals(&mut self, sample: &RateSample) {
        self.latest.began = sample.prior_delivered.is_some_and(|prior| prior >= self.latest.ends_at);
        if self.latest.began {
            self.latest.ends_at = sample.delivered;
        }
        self.latest.bandwidth = self.latest.bandwidth.max(sample.rate.unwrap_or(0));
        self.latest.in_flight = self.latest.in_flight.max(sample.interval_delivered);
        self.rounds.update(sample);
        self.probing.rounds += u64::from(self.rounds.began);
        if let Some(rate) = sample.rate
            && (!sample.is_app_limited || rate >= self.bandwidth.get())
        {
            self.bandwidth.add(self.cycle, rate);
        }
        if sample.newly_lost > 0 {
            self.latest.lost = true;
            self.latest.losses += 1;
        }
        if self.latest.began {
            if self.latest.lost && !self.is_probing() {
                self.lower_bounds();
            }
            self.check_startup_losses(sample);
            (self.latest.lost, self.latest.losses) = (false, 0);
        }
    }

    /// Lowers the bounds after losses (§5.5.10.3, `BBRInitLowerBounds` and `BBRLossLowerBounds`).
    fn lower_bounds(&mut self) {
        let bandwidth = self.bounds.bandwidth.min(self.bandwidth.get());
        let short =
            if self.bounds.short == u64::MAX { u64::from(self.window.cwnd()) } else { self.bounds.short };
        self.bounds.bandwidth = self.latest.bandwidth.max(times(bandwidth, BETA));
        self.bounds.short = self.latest.in_flight.max(times(short, BETA));
    }

    /// Ends start-up in a round with many losses (§5.3.1.3).
    fn check_startup_losses(&mut self, sample: &RateSample) {
        if self.mode == Mode::Startup
            && sample.is_recovering
            && self.latest.losses >= STARTUP_LOSSES
            && is_too_high(sample)
        {
            self.full.reached = true;
            self.bounds.long = self.bdp(self.bandwidth.get(), ONE).max(self.latest.in_flight);
        }
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.full.now || !self.rounds.began || sample.is_app_limited {
            return;
        }
        let rate = sample.rate.unwrap_or(0);
        if rate >= times(self.full.bandwidth, GROWS) {
            self.restart_full(rate);
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= 3;
        self.full.reached |= self.full.now;
    }

    fn restart_full(&mut self, bandwidth: u64) {
        self.full = Full { reached: self.full.reached, now: false, bandwidth, rounds: 0 };
    }

    fn check_drain(&mut self, now: Instant, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            self.window.set_ssthresh(u32::try_from(self.in_flight(ONE)).unwrap_or(u32::MAX));
        }
        if self.mode == Mode::Drain && sample.in_flight <= self.in_flight(ONE) {
            self.go_down(now, sample);
        }
    }

    /// Advances the cycle of probes for bandwidth (§5.3.3.6, `BBRUpdateProbeBWCyclePhase`).
    fn update_cycle(&mut self, now: Instant, sample: &RateSample) {
        if !self.full.reached {
            return;
        }
        self.adapt_long(now, sample);
        let is_over = self.mode == Mode::Up && self.is_time_to_go_down(sample);
        match self.mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(now) => self.refill(sample),
            Mode::Down if sample.in_flight <= self.with_headroom().min(self.in_flight(ONE)) => {
                self.mode = Mode::Cruise;
            }
            Mode::Refill if self.rounds.began => self.go_up(now, sample),
            Mode::Up if is_over => self.go_down(now, sample),
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Instant) -> bool {
        let reno = (self.target() / self.mss()).min(RENO_ROUNDS);
        now > self.probing.since + self.probing.wait || self.probing.rounds >= reno
    }

    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        if self.is_window_limited(sample) && u64::from(self.window.cwnd()) >= self.bounds.long {
            self.restart_full(sample.rate.unwrap_or(0));
        }
        self.full.now
    }

    fn go_down(&mut self, now: Instant, sample: &RateSample) {
        (self.latest.lost, self.latest.bandwidth, self.latest.in_flight) = (false, 0, 0);
        self.probing = Probing {
            since: now,
            wait: Duration::from_secs(2) + Duration::from_millis(drawn(now, 1000)),
            rounds: drawn(now, 2),
            acks: Acks::Stopping,
            up_each: u64::MAX,
            ..self.probing
        };
        self.start_round(sample);
        self.mode = Mode::Down;
    }

    fn refill(&mut self, sample: &RateSample) {
        (self.bounds.bandwidth, self.bounds.short) = (u64::MAX, u64::MAX);
        (self.probing.up_rounds, self.probing.up_acked) = (0, 0);
        self.probing.acks = Acks::Refilling;
        self.start_round(sample);
        self.mode = Mode::Refill;
    }

    fn go_up(&mut self, now: Instant, sample: &RateSample) {
        self.probing.judged = true;
        self.probing.acks = Acks::Starting;
        self.probing.since = now;
        self.start_round(sample);
        self.restart_full(sample.rate.unwrap_or(0));
        self.mode = Mode::Up;
        self.steepen();
    }

    /// Halves the number of acknowledged bytes for which `long` grows by one segment, from the next round on
    /// (`BBRRaiseInflightLongtermSlope`).
    fn steepen(&mut self) {
        let growth = self.mss() << self.probing.up_rounds;
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(MAX_UP_ROUNDS);
        let each = u128::from(self.window.cwnd()) * u128::from(self.mss()) / u128::from(growth);
        self.probing.up_each = u64::try_from(each).unwrap_or(u64::MAX).max(1);
    }

    /// Adapts the long-term bound on bytes in flight: down after losses, up after rounds without losses
    /// (`BBRAdaptLongTermModel`).
    fn adapt_long(&mut self, now: Instant, sample: &RateSample) {
        if self.probing.acks == Acks::Starting && self.rounds.began {
            self.probing.acks = Acks::Feedback;
        }
        if self.probing.acks == Acks::Stopping && self.rounds.began {
            self.probing.judged = false;
            self.probing.acks = Acks::Feedback;
            if self.cycles() && !sample.is_app_limited {
                self.cycle += 1;
            }
        }
        if is_too_high(sample) {
            if self.probing.judged {
                self.on_too_high(now, sample);
            }
        } else if self.bounds.long < u64::MAX {
            self.bounds.long = self.bounds.long.max(sample.sent_in_flight);
            if self.mode == Mode::Up {
                self.raise_long(sample);
            }
        }
    }

    fn raise_long(&mut self, sample: &RateSample) {
        if !self.is_window_limited(sample) || u64::from(self.window.cwnd()) < self.bounds.long {
            return;
        }
        self.probing.up_acked += sample.newly_delivered;
        let steps = self.probing.up_acked / self.probing.up_each;
        self.probing.up_acked -= steps * self.probing.up_each;
        self.bounds.long = self.bounds.long.saturating_add(steps.saturating_mul(self.mss()));
        if self.rounds.began {
            self.steepen();
        }
    }

    /// Lowers the long-term bound after too many losses in a probe (`BBRHandleInflightTooHigh`).
    fn on_too_high(&mut self, now: Instant, sample: &RateSample) {
        self.probing.judged = false;
        if !sample.is_app_limited {
            let in_flight = sample.last_lost.map_or(sample.sent_in_flight, |of| of.in_flight);
            self.bounds.long = in_flight.max(times(self.target(), BETA));
        }
        if self.mode == Mode::Up {
            self.go_down(now, sample);
        }
    }

    fn update_min_rtt(&mut self, now: Instant, sample: &RateSample) {
        let trip = &mut self.round_trip;
        trip.expired = now > trip.recent_at + PROBE_RTT_EVERY;
        if let Some(rtt) = sample.round_trip
            && (trip.expired || trip.recent.is_none_or(|least| rtt <= least))
        {
            (trip.recent, trip.recent_at) = (Some(rtt), now);
        }
        let is_old = now > trip.min_at + MIN_RTT_FOR;
        if is_old || trip.min.is_none() || trip.recent < trip.min {
            (trip.min, trip.min_at) = (trip.recent, trip.recent_at);
        }
    }

    fn check_probe_rtt(&mut self, now: Instant, sample: &RateSample) {
        if self.mode != Mode::ProbeRtt && self.round_trip.expired && !self.restarts {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.round_trip.probe_ends = None;
            self.probing.acks = Acks::Stopping;
            self.start_round(sample);
        }
        if self.mode == Mode::ProbeRtt {
            match self.round_trip.probe_ends {
                None if sample.in_flight <= self.probe_window() => {
                    self.round_trip.probe_ends = Some(now + PROBE_RTT_FOR);
                    self.round_trip.probe_round_over = false;
                    self.start_round(sample);
                }
                None => {}
                Some(ends) => {
                    self.round_trip.probe_round_over |= self.rounds.began;
                    if self.round_trip.probe_round_over && now > ends {
                        self.end_probe_rtt(now, sample);
                    }
                }
            }
        }
        if sample.newly_delivered > 0 {
            self.restarts = false;
        }
    }

    fn probe_window(&self) -> u64 {
        self.bdp(self.usable(), HALF).max(self.least())
    }

    fn end_probe_rtt(&mut self, now: Instant, sample: &RateSample) {
        self.round_trip.recent_at = now;
        self.window.set_cwnd(self.window.cwnd().max(self.prior));
        (self.bounds.bandwidth, self.bounds.short) = (u64::MAX, u64::MAX);
        if self.full.reached {
            self.go_down(now, sample);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_rate(&mut self, sample: &RateSample, gain: u64) {
        if self.rate.is_none()
            && let Some(rtt) = sample.round_trip
        {
            self.rate = Some(rate_of(u64::from(self.window.cwnd()), rtt, STARTUP));
        }
        let bandwidth = self.usable();
        if bandwidth > 0 {
            let rate = times(times(bandwidth, gain), BELOW);
            if self.full.reached || self.rate.is_none_or(|old| rate > old) {
                self.rate = Some(rate.max(1));
            }
        }
    }

    /// Sets the congestion window from the model of the path (§5.6.4.6, `BBRSetCwnd`).
    fn set_window(&mut self, sample: &RateSample, gain: u64) {
        let mut cwnd = u64::from(self.window.cwnd());
        if self.recovers && !sample.is_recovering {
            cwnd = cwnd.max(u64::from(self.prior));
        }
        self.recovers = sample.is_recovering;
        let extra = if self.full.reached { self.aggregation.extra(self.bandwidth.get()) } else { 0 };
        let most = self.with_groups(self.bdp(self.usable(), gain) + extra);
        if self.full.reached {
            cwnd = (cwnd + sample.newly_delivered).min(most);
        } else if cwnd < most || sample.delivered < u64::from(self.window.initial()) {
            cwnd += sample.newly_delivered;
        }
        cwnd = cwnd.max(self.least());
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(self.probe_window());
        }
        let cap = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.bounds.long,
            Mode::ProbeRtt | Mode::Cruise => self.with_headroom(),
            Mode::Startup | Mode::Drain => u64::MAX,
        };
        cwnd = cwnd.min(cap.min(self.bounds.short).max(self.least()));
        self.window.set_cwnd(u32::try_from(cwnd).unwrap_or(u32::MAX));
    }

    fn save_window(&mut self) {
        let cwnd = self.window.cwnd();
        let restored = !self.recovers && self.mode != Mode::ProbeRtt;
        self.prior = if restored { cwnd } else { self.prior.max(cwnd) };
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, _now: Instant, _ack: &Ack) {}

    fn on_handshake(&mut self, now: Instant, round_trip: Duration) {
        let trip = &mut self.round_trip;
        (trip.min, trip.min_at) = (Some(round_trip), now);
        (trip.recent, trip.recent_at) = (Some(round_trip), now);
        self.rate = Some(rate_of(u64::from(self.window.cwnd()), round_trip, STARTUP));
    }

    fn on_rate_sample(&mut self, now: Instant, sample: &RateSample) {
        self.update_signals(sample);
        self.aggregation.update(now, sample, self.rounds.began, self.bandwidth.get(), self.window.cwnd());
        self.check_full(sample);
        self.check_drain(now, sample);
        self.update_cycle(now, sample);
        self.update_min_rtt(now, sample);
        self.check_probe_rtt(now, sample);
        if self.latest.began {
            self.latest.bandwidth = sample.rate.unwrap_or(0);
            self.latest.in_flight = sample.interval_delivered;
        }
        let (pacing, window) = self.gains();
        self.set_rate(sample, pacing);
        self.set_window(sample, window);
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.rate
    }

    fn on_restart(&mut self, now: Instant) {
        self.restarts = true;
        self.aggregation.restart(now);
        if self.cycles() {
            self.rate = Some(times(self.usable(), BELOW).max(1));
        }
    }

    fn on_loss(&mut self, _now: Instant, _flight: u32) {
        self.save_window();
        self.before = self.bounds;
    }

    fn on_timeout(&mut self, _now: Instant, _flight: u32, again: bool) {
        if !again {
            self.save_window();
            self.before = self.bounds;
        }
        self.recovers = true;
        self.window.shrink();
    }

    /// Does nothing: BBR's model of the path determines the window.
    fn on_congestion(&mut self, _now: Instant, _flight: u32) {}

    /// Handles a spurious loss (`BBRHandleSpuriousLossDetection`). The window recovers when the recovery
    /// ends.
    fn on_undo(&mut self, _now: Instant, _cwnd: u32, _ssthresh: u32) {
        (self.full.bandwidth, self.full.rounds) = (0, 0);
        self.bounds = self.bounds.widest(self.before);
    }

    fn on_idle(&mut self, _now: Instant) {}

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

/// Whether more than the tolerated share of the bytes in flight with a lost segment was lost (`IsInflightTooHigh`).
fn is_too_high(sample: &RateSample) -> bool {
    sample.last_lost.is_some_and(|of| of.lost > times(of.in_flight, LOSSES))
}

/// Gain of the start-up, 4 ln 2, in thousandths.
const STARTUP: u64 = 2773;
const DRAIN: u64 = 500;
const DOWN: u64 = 900;
const UP: u64 = 1250;
const UP_WINDOW: u64 = 2250;
const HALF: u64 = 500;
/// Share of a bound that remains after losses, in thousandths.
const BETA: u64 = 700;
/// Tolerated share of losses, in thousandths.
const LOSSES: u64 = 20;
/// Share of the bytes in flight that is left unused between probes for other flows, in thousandths.
const HEADROOM: u64 = 150;
const GROWS: u64 = 1250;
/// Number of probing cycles for which the bandwidth is remembered.
const CYCLES: u64 = 2;
const AGGREGATION_ROUNDS: u64 = 10;
/// Number of ACKs with losses in one round that end start-up.
const STARTUP_LOSSES: u32 = 6;
/// Largest number of rounds between probes. A flow with Reno recovers its window within these rounds.
const RENO_ROUNDS: u64 = 63;
const MAX_UP_ROUNDS: u32 = 30;
const MIN_RTT_FOR: Duration = Duration::from_secs(10);
const PROBE_RTT_EVERY: Duration = Duration::from_secs(5);
const PROBE_RTT_FOR: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::super::super::tests::{ms, start};
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn after_a_late_handshake_the_shortest_round_trip_is_new() {
        let mut bbr = Bbr3::new(&start(64));
        bbr.on_handshake(ms(20_000), Duration::from_millis(30));
        bbr.on_rate_sample(ms(20_400), &sample());
        assert_eq!((bbr.mode, bbr.round_trip.min), (Mode::Startup, Some(Duration::from_millis(30))));
    }

    #[test]
    fn an_undone_recovery_leaves_the_wider_bounds() {
        let mut bbr = Bbr3::new(&start(64));
        bbr.bounds = Bounds { long: 9000, bandwidth: 25_000, short: 8000 };
        bbr.on_loss(ms(0), 10_000);
        bbr.bounds = Bounds { long: 7000, bandwidth: 30_000, short: 6000 };
        bbr.full = Full { bandwidth: 25_000, rounds: 2, ..Full::default() };
        bbr.on_undo(ms(0), 0, 0);
        let Bounds { long, bandwidth, short } = bbr.bounds;
        assert_eq!((long, bandwidth, short, bbr.full.rounds), (9000, 30_000, 8000, 0));
    }
}
