use multihop_core::{Duration, Instant};

use super::control::CongestionControl;
use super::signals::Ack;
use super::start::Start;
use super::window::{Share, Window};

/// Westwood+ (Mascolo and others, 2001; Grieco and Mascolo, 2004): the rate at which data is
/// acknowledged determines the window after a loss. Everything else is NewReno.
#[derive(Clone, Debug)]
pub(crate) struct Westwood {
    window: Window,
    rate: Rate,
    rtt_min: Option<Duration>,
}

/// Rate at which data is acknowledged, in bytes per second, with one sample per round trip.
#[derive(Clone, Debug, Default)]
struct Rate {
    /// Outputs of the first filter, and of the second filter, whose input is the output of the first.
    filtered: Option<[u64; 2]>,
    since: Option<Instant>,
    bytes: u64,
    round_trip: Option<Duration>,
}

impl Rate {
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        self.round_trip = ack.round_trip.or(self.round_trip);
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        // DEVIATION tcp-8: Westwood counts bytes when they are acknowledged, not at duplicate ACKs. After a loss one
        // bandwidth sample is low and the next high.
        self.bytes += u64::from(ack.acked);
        let time = now.saturating_since(since);
        if self.round_trip.is_some_and(|round_trip| time > round_trip.max(SHORTEST)) {
            self.filter(self.bytes.saturating_mul(SECOND) / time.as_nanos());
            self.since = Some(now);
            self.bytes = 0;
        }
    }

    fn filter(&mut self, sample: u64) {
        self.filtered = Some(match self.filtered {
            None => [sample; 2],
            Some([first, second]) => {
                let first = smoothed(first, sample);
                [first, smoothed(second, first)]
            }
        });
    }
}

impl Westwood {
    pub(super) fn new(start: &Start) -> Self {
        Self { window: Window::new(start), rate: Rate::default(), rtt_min: None }
    }

    /// The bandwidth-delay product in bytes; `None` before it is known.
    fn bandwidth_delay(&self) -> Option<u32> {
        let [_, rate] = self.rate.filtered?;
        let bytes = u128::from(rate) * u128::from(self.rtt_min?.as_nanos()) / u128::from(SECOND);
        Some(u32::try_from(bytes).unwrap_or(u32::MAX))
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        self.rtt_min = self.rtt_min.into_iter().chain(ack.round_trip).min();
        self.rate.on_ack(now, ack);
        self.window.on_ack(ack);
    }

    fn on_loss(&mut self, _now: Instant, flight: u32) {
        let Some(bytes) = self.bandwidth_delay() else {
            return self.window.reduce(flight, Share::HALF);
        };
        let window = &mut self.window;
        window.set_ssthresh(bytes);
        window.hold(window.cwnd().min(window.ssthresh()));
    }

    fn on_timeout(&mut self, _now: Instant, flight: u32, again: bool) {
        let Some(bytes) = self.bandwidth_delay() else {
            return self.window.collapse(flight, again, Share::HALF);
        };
        let window = &mut self.window;
        window.set_ssthresh(bytes);
        window.shrink();
    }

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }
}

/// Moving average in which a new value has a weight of one eighth.
fn smoothed(old: u64, new: u64) -> u64 {
    u64::try_from((u128::from(old) * 7 + u128::from(new)) / 8).unwrap_or(u64::MAX)
}

/// The shortest time that one sample covers, as in Linux.
const SHORTEST: Duration = Duration::from_millis(50);
const SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, ms, start};
    use super::*;

    /// Westwood after ten segments, acknowledged one every 100 ms with round trips of 400 ms: 10 kB/s.
    fn westwood() -> Westwood {
        let mut westwood = Westwood::new(&start(64));
        for i in 0..=10 {
            westwood.on_ack(ms(100 * i), &ack(1000, 20_000, Some(400)));
        }
        westwood
    }

    #[test]
    fn a_sample_for_each_round_trip() {
        let westwood = westwood();
        // The second sample ended at 1.0 s.
        assert_eq!(westwood.rate.since, Some(ms(1000)));
        assert_eq!(westwood.rate.filtered, Some([10_000, 10_000]));
    }

    #[test]
    fn both_filters_by_hand() {
        let mut rate = Rate { filtered: Some([8000, 8000]), ..Rate::default() };
        rate.filter(16_000);
        // 8000 + 8000 / 8, 8000 + 1000 / 8
        assert_eq!(rate.filtered, Some([9000, 8125]));
    }

    #[test]
    fn a_loss_leaves_rate_times_shortest_round_trip() {
        let mut westwood = westwood();
        westwood.window_mut().set_cwnd(20_000);
        westwood.on_loss(ms(2000), 20_000);
        assert_eq!(
            (westwood.window().cwnd(), westwood.window().ssthresh(), westwood.window().total()),
            (4000, 4000, 7000)
        );
        westwood.on_timeout(ms(3000), 20_000, false);
        assert_eq!((westwood.window().cwnd(), westwood.window().ssthresh()), (1000, 4000));
    }

    #[test]
    fn a_window_below_that_stays_as_it_is() {
        let mut westwood = westwood();
        westwood.window_mut().set_cwnd(3000);
        westwood.on_loss(ms(2000), 3000);
        assert_eq!((westwood.window().cwnd(), westwood.window().ssthresh()), (3000, 4000));
    }

    #[test]
    fn without_a_sample_the_window_is_halved() {
        let mut westwood = Westwood::new(&start(64));
        westwood.window_mut().set_cwnd(20_000);
        westwood.on_loss(ms(0), 20_000);
        assert_eq!(westwood.window().cwnd(), 10_000);
    }
}
