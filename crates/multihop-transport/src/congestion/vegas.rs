use core::mem;

use multihop_core::{Duration, Instant};

use super::control::CongestionControl;
use super::signals::{Ack, AckKind};
use super::start::Start;
use super::window::Window;

/// Vegas (Brakmo and Peterson, 1995): once per round trip the window is compared with the amount of
/// data that fills the path without queues. Losses are handled as by NewReno.
///
/// If every ACK measures a round trip, the shortest one of a round counts, as in Linux, because delayed ACKs
/// and bursts lengthen the others. A round with few samples follows NewReno.
#[derive(Clone, Debug)]
pub(crate) struct Vegas {
    window: Window,
    /// The shortest round trip (`BaseRTT`).
    base_rtt: Option<Duration>,
    round: Round,
    /// Whether every ACK of new data measures a round trip.
    times_every_ack: bool,
    /// Whether the window stays constant in this round trip of slow start. Vegas doubles it in every other
    /// round trip.
    holds: bool,
}

/// Measurements of one round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Bytes to acknowledge until the round trip is over.
    left: u32,
    /// The shortest measured round trip.
    shortest: Option<Duration>,
    /// Number of measured round trips.
    samples: u32,
}

impl Round {
    /// Records an ACK. Returns the round if this is the first timed ACK after all data outstanding at the
    /// beginning of the round.
    fn take(&mut self, ack: &Ack) -> Option<Self> {
        self.left = self.left.saturating_sub(ack.acked);
        let round_trip = ack.round_trip?;
        self.shortest = self.shortest.into_iter().chain([round_trip]).min();
        self.samples = self.samples.saturating_add(1);
        if self.left > 0 {
            return None;
        }
        Some(mem::replace(self, Self { left: ack.flight, ..Self::default() }))
    }

    /// Discards the round-trip measurements, because a recovery has emptied the queues.
    fn forget(&mut self) {
        *self = Self { left: self.left, ..Self::default() };
    }
}

impl Vegas {
    pub(super) fn new(start: &Start) -> Self {
        let (round, times_every_ack) = (Round::default(), start.times_every_ack);
        Self { window: Window::new(start), base_rtt: None, round, times_every_ack, holds: false }
    }

    /// `Diff`, the expected rate minus the actual one, as the number of bytes in queues.
    fn queued(&self, ack: &Ack, round_trip: Duration) -> u32 {
        // A coarse clock may measure zero.
        let round_trip = round_trip.as_nanos().max(1);
        let base = self.base_rtt.map_or(round_trip, |base| base.as_nanos().max(1));
        // Bytes sent since the timed segment, which is included.
        let sent = u64::from(ack.flight) + u64::from(ack.acked);
        let on_the_way = u128::from(sent) * u128::from(base) / u128::from(round_trip);
        self.window.cwnd().saturating_sub(u32::try_from(on_the_way).unwrap_or(u32::MAX))
    }

    /// Adapts the window at the end of a round trip, whose last ACK is `ack`.
    fn on_round(&mut self, ack: &Ack, round: Round) {
        let Some(shortest) = round.shortest else { return };
        if !self.times_every_ack || round.samples >= MIN_SAMPLES {
            self.compare(ack, shortest);
            return;
        }
        self.holds = false;
        if !self.window.is_slow_start() {
            self.window.on_ack(ack);
        }
    }

    /// Compares the window with the number of segments that fill the path.
    fn compare(&mut self, ack: &Ack, round_trip: Duration) {
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
            let cwnd = (cwnd - mss).max(MIN_WINDOW * mss);
            window.set_cwnd(cwnd);
            window.set_ssthresh(window.ssthresh().min(cwnd));
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        self.base_rtt = self.base_rtt.into_iter().chain(ack.round_trip).min();
        if ack.kind != AckKind::Normal {
            // DEVIATION tcp-7: Vegas retransmits as NewReno does, without the fine-grained timer of Vegas. Recovery
            // takes as long as NewReno's.
            self.round.forget();
            return self.window.on_ack(ack);
        }
        if self.window.is_slow_start() && !self.holds {
            self.window.on_ack(ack);
        }
        if let Some(round) = self.round.take(ack) {
            self.on_round(ack, round);
        }
    }

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

/// Number of segments in queues below which the window grows.
const ALPHA: u32 = 1;
/// Number of segments in queues above which the window shrinks.
const BETA: u32 = 3;
/// Number of segments in queues above which slow start ends.
const GAMMA: u32 = 1;
/// Smallest number of samples in a round that Vegas uses if every ACK measures a round trip, as in Linux.
const MIN_SAMPLES: u32 = 3;
/// Smallest window, segments, as in ns-2.
const MIN_WINDOW: u32 = 2;

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, ms, start};
    use super::*;

    /// Vegas in congestion avoidance with a window of `segments` and a shortest round trip of 100 ms.
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
    fn the_shortest_round_trip_of_a_round_decides() {
        // The other segments of a round wait for a delayed ACK or behind a burst: 10 * (1 - 100 / 130) = 2.3
        // segments.
        let window = |round_trips: [Option<u64>; 4]| {
            let mut vegas = vegas(10);
            vegas.round.left = 7000;
            for round_trip in round_trips {
                vegas.on_ack(ms(0), &ack(2000, 8000, round_trip));
            }
            vegas.window().cwnd()
        };
        assert_eq!(window([Some(130), Some(105), Some(130), Some(130)]), 11_000);
        assert_eq!(window([Some(105), Some(130), Some(130), None]), 10_000, "no timed ACK ends the round");
        assert_eq!(window([Some(130); 4]), 10_000);
    }

    #[test]
    fn a_round_of_fewer_than_three_of_many_samples_is_newreno_s() {
        let window = |times_every_ack, acks: u32| {
            let mut vegas = vegas(4);
            vegas.times_every_ack = times_every_ack;
            vegas.round.left = 4000;
            for _ in 0..acks {
                vegas.on_ack(ms(0), &ack(4000 / acks, 0, Some(1000)));
            }
            vegas.window().cwnd()
        };
        // 4 * (1 - 100 / 1000) = 3.6 segments in queues; NewReno adds a quarter of a segment for the last ACK of a round.
        assert_eq!([1, 2, 4].map(|acks| window(true, acks)), [4250, 4250, 3000]);
        assert_eq!(window(false, 1), 3000);
    }

    #[test]
    fn slow_start_never_holds_a_window_with_few_samples() {
        let mut vegas = Vegas::new(&start(64));
        vegas.times_every_ack = true;
        vegas.window_mut().set_cwnd(2000);
        let windows = [2000, 3000, 4000].map(|acked| {
            vegas.on_ack(ms(0), &ack(acked, 0, Some(100)));
            vegas.window().cwnd()
        });
        assert_eq!(windows, [3000, 4000, 5000], "one ACK in each round trip");
    }

    #[test]
    fn measurements_before_a_loss_do_not_decide_after_it() {
        let mut vegas = vegas(10);
        vegas.round.left = 2000;
        vegas.on_ack(ms(0), &ack(1000, 8000, Some(100)));
        vegas.on_ack(ms(0), &Ack { kind: AckKind::Partial, ..ack(0, 9000, None) });
        assert_eq!((vegas.round.left, vegas.round.samples, vegas.round.shortest), (1000, 0, None));
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let mut vegas = Vegas::new(&start(64));
        vegas.window_mut().set_cwnd(1000);
        let mut windows = [0; 6];
        for window in &mut windows {
            let cwnd = vegas.window().cwnd();
            for _ in 0..cwnd / 1000 {
                // Only the last ACK ends the round trip.
                vegas.on_ack(ms(0), &ack(1000, cwnd - 1000, None));
            }
            vegas.round.left = 0;
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
