use multihop_core::{Duration, Instant};

use super::control::CongestionControl;
use super::signals::{Ack, AckKind};
use super::start::Start;
use super::window::Window;

/// Vegas (Brakmo and Peterson, 1995): once per round trip the window is compared with the amount of
/// data that fills the path without queues. Losses are handled as by NewReno.
#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    window: Window,
    /// The shortest round trip (`BaseRTT`).
    base_rtt: Option<Duration>,
    /// Bytes to be acknowledged before the current round trip is over.
    left: u32,
    /// Whether slow start holds its window for this round trip.
    holds: bool,
}

impl Vegas {
    pub(super) fn new(start: &Start) -> Self {
        Self { window: Window::new(start), base_rtt: None, left: 0, holds: false }
    }

    /// The first timed ACK after everything that was outstanding when the last round trip ended.
    fn ends_round(&mut self, ack: &Ack) -> Option<Duration> {
        self.left = self.left.saturating_sub(ack.acked);
        let round_trip = ack.round_trip.filter(|_| self.left == 0)?;
        self.left = ack.flight;
        Some(round_trip)
    }

    /// `Diff`, the expected rate minus the actual one, as the number of bytes in queues.
    fn queued(&self, ack: &Ack, round_trip: Duration) -> u32 {
        // A coarse clock may measure zero.
        let round_trip = round_trip.as_nanos().max(1);
        let base = self.base_rtt.map_or(round_trip, |base| base.as_nanos().max(1));
        // Sent since the segment that was timed, itself included.
        let sent = u64::from(ack.flight) + u64::from(ack.acked);
        let on_the_way = u128::from(sent) * u128::from(base) / u128::from(round_trip);
        self.window.cwnd().saturating_sub(u32::try_from(on_the_way).unwrap_or(u32::MAX))
    }

    fn on_round(&mut self, ack: &Ack, round_trip: Duration) {
        let queued = self.queued(ack, round_trip);
        let slow_start = self.window.is_slow_start();
        let holds = self.holds;
        let window = &mut self.window;
        let (mss, cwnd) = (window.mss(), window.cwnd());
        if slow_start {
            if holds && queued > GAMMA * mss {
                window.set_ssthresh(cwnd);
            }
            self.holds = !holds;
        } else if queued < ALPHA * mss {
            window.set_cwnd(cwnd.saturating_add(mss));
        } else if queued > BETA * mss {
            let cwnd = (cwnd - mss).max(LEAST * mss);
            window.set_cwnd(cwnd);
            window.set_ssthresh(window.ssthresh().min(cwnd));
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        self.base_rtt = self.base_rtt.into_iter().chain(ack.round_trip).min();
        if ack.kind != AckKind::Normal {
            // DEVIATION tcp-7: no retransmission earlier than NewReno's.
            return self.window.on_ack(ack);
        }
        if self.window.is_slow_start() && !self.holds {
            self.window.on_ack(ack);
        }
        if let Some(round_trip) = self.ends_round(ack) {
            self.on_round(ack, round_trip);
        }
    }

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

/// Fewer segments than this in queues: the window grows.
const ALPHA: u32 = 1;
/// More than this: it shrinks.
const BETA: u32 = 3;
/// More than this: slow start is over.
const GAMMA: u32 = 1;
/// Segments below which it does not shrink, as in ns-2.
const LEAST: u32 = 2;

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, ms, start};
    use super::*;

    /// In congestion avoidance with `segments`, and a shortest round trip of 100 ms.
    fn vegas(segments: u32) -> Vegas {
        let mut vegas = Vegas::new(&start(64));
        vegas.base_rtt = Some(Duration::from_millis(100));
        vegas.window_mut().set_cwnd(segments * 1000);
        vegas.window_mut().set_ssthresh(2000);
        vegas
    }

    /// The window after a round trip of `millis` with a full window of `segments`.
    fn after(segments: u32, millis: u64) -> u32 {
        let mut vegas = vegas(segments);
        vegas.on_ack(ms(0), &ack(1000, (segments - 1) * 1000, Some(millis)));
        vegas.window().cwnd()
    }

    #[test]
    fn between_one_and_three_segments_in_queues_by_hand() {
        // 10 * (1 - 100 / 110) = 0.9 segments in queues, 10 * (1 - 100 / 125) = 2, 10 * (1 - 100 / 150) = 3.3
        assert_eq!([110, 125, 150].map(|millis| after(10, millis)), [11_000, 10_000, 9000]);
        // 2 segments of the window have no room for 3 in queues.
        assert_eq!(after(2, 10_000), 2000);
        // 3 * (1 - 1 / 100) = 2.97
        assert_eq!(after(3, 10_000), 3000);
    }

    #[test]
    fn a_decision_for_each_round_trip() {
        let mut vegas = vegas(4);
        let windows = [3000, 4000, 4000, 4000, 4000].map(|flight| {
            vegas.on_ack(ms(0), &ack(1000, flight, Some(100)));
            vegas.window().cwnd()
        });
        assert_eq!(windows, [5000, 5000, 5000, 6000, 6000]);
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let mut vegas = Vegas::new(&start(64));
        vegas.window_mut().set_cwnd(1000);
        let mut windows = [0; 6];
        for window in &mut windows {
            let cwnd = vegas.window().cwnd();
            for _ in 0..cwnd / 1000 {
                // Only the last ends the round trip.
                vegas.on_ack(ms(0), &ack(1000, cwnd - 1000, None));
            }
            vegas.left = 0;
            vegas.on_ack(ms(0), &Ack { acked: 0, ..ack(0, cwnd, Some(100)) });
            *window = vegas.window().cwnd();
        }
        assert_eq!(windows, [2000, 2000, 4000, 4000, 8000, 8000]);
    }

    #[test]
    fn slow_start_ends_when_a_held_window_queues() {
        let mut vegas = vegas(8);
        vegas.window_mut().set_ssthresh(64_000);
        vegas.holds = true;
        // 8 * (1 - 100 / 120) = 1.3
        vegas.on_ack(ms(0), &ack(1000, 7000, Some(120)));
        assert_eq!((vegas.window().cwnd(), vegas.window().ssthresh()), (8000, 8000));
    }
}
