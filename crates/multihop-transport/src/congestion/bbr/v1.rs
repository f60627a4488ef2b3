use multihop_core::{Duration, Instant};

use super::filter::Largest;
use super::path::{Aggregation, BELOW, LEAST, ONE, Rounds, SLOW, amount, drawn, rate_of, times};
use crate::congestion::control::CongestionControl;
use crate::congestion::signals::Ack;
use crate::congestion::signals::RateSample;
use crate::congestion::start::Start;
use crate::congestion::window::Window;

/// BBR version 1, as in Linux since 4.9 (draft-cardwell-iccrg-bbr-congestion-control-00). It paces at the
/// measured bandwidth and keeps twice the bandwidth-delay product in flight.
// DEVIATION bbr-1: BBR detects no policers, and draws its first phase from the clock instead of at random as Linux
// does. On radio links the difference has no effect.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    window: Window,
    mode: Mode,
    rounds: Rounds,
    /// Estimate of the bottleneck's bandwidth (`BtlBw`), bytes per second: the largest recent delivery rate.
    bandwidth: Largest,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    full: Full,
    cycle: Cycle,
    aggregation: Aggregation,
    rate: Option<u64>,
    probe: ProbeRtt,
    /// The window before recovery or before the probe of the round trip.
    prior: u32,
    recovers: bool,
    /// Whether recovery began less than a round trip ago. Until then no more bytes are sent than are
    /// delivered (packet conservation).
    conserves: bool,
    restarts: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// Whether the bandwidth has stopped growing.
#[derive(Clone, Debug, Default)]
struct Full {
    reached: bool,
    bandwidth: u64,
    rounds: u8,
}

/// Position in the cycle of gains.
#[derive(Clone, Debug)]
struct Cycle {
    index: usize,
    since: Instant,
}

#[derive(Clone, Debug, Default)]
struct ProbeRtt {
    ends: Option<Instant>,
    round_over: bool,
}

impl Bbr {
    pub(in crate::congestion) fn new(start: &Start) -> Self {
        Self {
            window: Window::new(start),
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: Largest::of(ROUNDS),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            full: Full::default(),
            cycle: Cycle { index: 0, since: Instant::ZERO },
            aggregation: Aggregation::of(AGGREGATION_ROUNDS),
            rate: None,
            probe: ProbeRtt::default(),
            prior: 0,
            recovers: false,
            conserves: false,
            restarts: false,
        }
    }

    fn mss(&self) -> u64 {
        u64::from(self.window.mss())
    }

    fn gains(&self) -> (u64, u64) {
        match self.mode {
            Mode::Startup => (HIGH, HIGH),
            Mode::Drain => (DRAIN, HIGH),
            Mode::ProbeBandwidth => (CYCLE[self.cycle.index], 2 * ONE),
            Mode::ProbeRtt => (ONE, ONE),
        }
    }

    /// Bytes that should be in flight at `gain` (`bbr_inflight`): enough to fill the path, plus the bursts
    /// that hosts accumulate before they send.
    fn in_flight(&self, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return u64::from(self.window.initial()) };
        self.with_groups(amount(self.bandwidth.get(), min_rtt, gain))
    }

    /// Adds three bursts of one segment, as at radio rates, and rounds up to an even number of segments; two
    /// more segments where the cycle probes.
    fn with_groups(&self, bytes: u64) -> u64 {
        let mss = self.mss();
        let group = (self.rate.unwrap_or(0) >> 10).min(65_535) / mss;
        let least = if self.rate.unwrap_or(0) < SLOW { 1 } else { 2 };
        let segments = bytes.div_ceil(mss) + 3 * group.max(least);
        let probes = self.mode == Mode::ProbeBandwidth && self.cycle.index == 0;
        (segments.next_multiple_of(2) + if probes { 2 } else { 0 }) * mss
    }

    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.rounds.update(sample);
        if self.rounds.began {
            self.conserves = false;
        }
        if let Some(rate) = sample.rate
            && (!sample.is_app_limited || rate >= self.bandwidth.get())
        {
            self.bandwidth.add(self.rounds.count, rate);
        }
    }

    fn update_cycle(&mut self, now: Instant, sample: &RateSample) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let is_long = self.min_rtt.is_some_and(|rtt| now.saturating_since(self.cycle.since) > rtt);
        let gain = CYCLE[self.cycle.index];
        let is_over = if gain > ONE {
            is_long && (sample.newly_lost > 0 || sample.prior_in_flight >= self.in_flight(gain))
        } else if gain < ONE {
            is_long || sample.prior_in_flight <= self.in_flight(ONE)
        } else {
            is_long
        };
        if is_over {
            self.cycle = Cycle { index: (self.cycle.index + 1) % CYCLE.len(), since: now };
        }
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.full.reached || !self.rounds.began || sample.is_app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= times(self.full.bandwidth, GROWS) {
            self.full = Full { reached: false, bandwidth, rounds: 0 };
            return;
        }
        self.full.rounds += 1;
        self.full.reached = self.full.rounds >= 3;
    }

    fn check_drain(&mut self, now: Instant, sample: &RateSample) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            let target = u32::try_from(self.in_flight(ONE)).unwrap_or(u32::MAX);
            self.window.set_ssthresh(target);
        }
        if self.mode == Mode::Drain && sample.in_flight <= self.in_flight(ONE) {
            self.start_cycle(now);
        }
    }

    /// Starts the cycle of gains in a random phase, but not in the one with the gain below 1.
    fn start_cycle(&mut self, now: Instant) {
        self.mode = Mode::ProbeBandwidth;
        let skipped = usize::try_from(drawn(now, CYCLE.len() as u64 - 1)).unwrap_or(0);
        self.cycle = Cycle { index: (CYCLE.len() - skipped) % CYCLE.len(), since: now };
    }

    fn update_min_rtt(&mut self, now: Instant, sample: &RateSample) {
        let expired = now > self.min_rtt_at + MIN_RTT_FOR;
        if let Some(rtt) = sample.round_trip
            && (expired || self.min_rtt.is_none_or(|least| rtt < least))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
        if expired && !self.restarts && self.mode != Mode::ProbeRtt {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.probe = ProbeRtt::default();
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(now, sample);
        }
        if sample.newly_delivered > 0 {
            self.restarts = false;
        }
    }

    fn probe_rtt(&mut self, now: Instant, sample: &RateSample) {
        match self.probe.ends {
            None if sample.in_flight <= LEAST * self.mss() => {
                self.probe = ProbeRtt { ends: Some(now + PROBE_RTT_FOR), round_over: false };
                self.rounds.ends_at = sample.delivered;
            }
            None => {}
            Some(ends) => {
                self.probe.round_over |= self.rounds.began;
                if self.probe.round_over && now > ends {
                    self.end_probe_rtt(now);
                }
            }
        }
    }

    fn end_probe_rtt(&mut self, now: Instant) {
        self.min_rtt_at = now;
        self.window.set_cwnd(self.window.cwnd().max(self.prior));
        if self.full.reached {
            self.start_cycle(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_rate(&mut self, sample: &RateSample, pacing: u64) {
        if self.rate.is_none()
            && let Some(rtt) = sample.round_trip
        {
            self.rate = Some(rate_of(u64::from(self.window.cwnd()), rtt, HIGH));
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth > 0 {
            let rate = times(times(bandwidth, pacing), BELOW);
            if self.full.reached || self.rate.is_none_or(|old| rate > old) {
                self.rate = Some(rate.max(1));
            }
        }
    }

    fn set_window(&mut self, sample: &RateSample, gain: u64) {
        let mut cwnd = u64::from(self.window.cwnd());
        if sample.newly_delivered > 0 && !self.recover_or_restore(sample, &mut cwnd) {
            let bdp = self
                .min_rtt
                .map_or(u64::from(self.window.initial()), |rtt| amount(self.bandwidth.get(), rtt, gain));
            let extra = if self.full.reached { self.aggregation.extra(self.bandwidth.get()) } else { 0 };
            let target = self.with_groups(bdp + extra);
            if self.full.reached {
                cwnd = (cwnd + sample.newly_delivered).min(target);
            } else if cwnd < target || sample.delivered < u64::from(self.window.initial()) {
                cwnd += sample.newly_delivered;
            }
            cwnd = cwnd.max(LEAST * self.mss());
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(LEAST * self.mss());
        }
        self.window.set_cwnd(u32::try_from(cwnd).unwrap_or(u32::MAX));
    }

    /// Sets the window in recovery and at its end (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, sample: &RateSample, cwnd: &mut u64) -> bool {
        if sample.newly_lost > 0 {
            *cwnd = cwnd.saturating_sub(sample.newly_lost).max(self.mss());
        }
        if sample.is_recovering && !self.recovers {
            self.conserves = true;
            self.rounds.ends_at = sample.delivered;
            *cwnd = sample.in_flight + sample.newly_delivered;
        } else if self.recovers && !sample.is_recovering {
            *cwnd = (*cwnd).max(u64::from(self.prior));
            self.conserves = false;
        }
        self.recovers = sample.is_recovering;
        if self.conserves {
            *cwnd = (*cwnd).max(sample.in_flight + sample.newly_delivered);
        }
        self.conserves
    }

    fn save_window(&mut self) {
        let cwnd = self.window.cwnd();
        let restored = !self.recovers && self.mode != Mode::ProbeRtt;
        self.prior = if restored { cwnd } else { self.prior.max(cwnd) };
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, _now: Instant, _ack: &Ack) {}

    fn on_handshake(&mut self, now: Instant, round_trip: Duration) {
        (self.min_rtt, self.min_rtt_at) = (Some(round_trip), now);
        self.rate = Some(rate_of(u64::from(self.window.cwnd()), round_trip, HIGH));
    }

    fn on_rate_sample(&mut self, now: Instant, sample: &RateSample) {
        self.update_bandwidth(sample);
        self.aggregation.update(now, sample, self.rounds.began, self.bandwidth.get(), self.window.cwnd());
        self.update_cycle(now, sample);
        self.check_full(sample);
        self.check_drain(now, sample);
        self.update_min_rtt(now, sample);
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
        if self.mode == Mode::ProbeBandwidth {
            self.rate = Some(times(self.bandwidth.get(), BELOW).max(1));
        }
    }

    fn on_loss(&mut self, _now: Instant, _flight: u32) {
        self.save_window();
    }

    fn on_timeout(&mut self, _now: Instant, _flight: u32, again: bool) {
        if !again {
            self.save_window();
        }
        self.recovers = true;
        self.full.bandwidth = 0;
        self.window.shrink();
    }

    /// Keeps the model: the window recovers when the recovery ends, and the bandwidth may still grow.
    fn on_undo(&mut self, _now: Instant, _cwnd: u32, _ssthresh: u32) {
        (self.full.bandwidth, self.full.rounds) = (0, 0);
    }

    /// Does nothing: BBR's model of the path determines the window, not losses.
    fn on_congestion(&mut self, _now: Instant, _flight: u32) {}

    fn on_idle(&mut self, _now: Instant) {}

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

/// Gain of the start-up, 2 / ln 2: the smallest that doubles the rate in each round.
const HIGH: u64 = 2885;
const DRAIN: u64 = 1_000_000 / HIGH;
const CYCLE: [u64; 8] = [1250, 750, ONE, ONE, ONE, ONE, ONE, ONE];
/// Growth of the bandwidth in three rounds, in thousandths, above which the path does not count as full.
const GROWS: u64 = 1250;
/// Number of rounds for which the bandwidth is remembered.
const ROUNDS: u64 = 10;
const AGGREGATION_ROUNDS: u64 = 10;
const MIN_RTT_FOR: Duration = Duration::from_secs(10);
const PROBE_RTT_FOR: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::super::super::tests::{ms, start};
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn after_a_late_handshake_the_shortest_round_trip_is_new() {
        let mut bbr = Bbr::new(&start(64));
        bbr.on_handshake(ms(20_000), Duration::from_millis(30));
        bbr.on_rate_sample(ms(20_400), &sample());
        assert_eq!((bbr.mode, bbr.min_rtt), (Mode::Startup, Some(Duration::from_millis(30))));
    }

    #[test]
    fn after_an_undone_recovery_the_bandwidth_may_grow_again() {
        let mut bbr = Bbr::new(&start(64));
        bbr.full = Full { reached: false, bandwidth: 25_000, rounds: 2 };
        bbr.on_undo(ms(0), 0, 0);
        assert_eq!((bbr.full.bandwidth, bbr.full.rounds), (0, 0));
    }
}
