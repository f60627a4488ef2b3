//! CUBIC, Vegas and Westwood over a path with one bottleneck.

use multihop_transport::connection::Data;
use std::collections::VecDeque;

use multihop_core::{Duration, Instant, Machine};
use multihop_transport::congestion::Variant;
use multihop_transport::tcp::{Config, Input, Output, Ports, TcpEnd};
use multihop_wire::tcp::{Segment, SeqNumber};

use super::templates::{MSS, config};

/// Carries one data segment per `gap`; all others wait in an endless queue. A round trip without
/// queue lasts `delay` and one gap.
pub(super) struct Path {
    pub(super) ends: [TcpEnd; 2],
    /// Segments under way to each end, with the times of arrival.
    flying: [VecDeque<(Instant, Segment)>; 2],
    gap: Duration,
    delay: Duration,
    /// Time at which the bottleneck has sent all segments that it has.
    free: Instant,
    now: Instant,
    /// Whether the next data segment is lost.
    pub(super) loses: bool,
    /// Whether the next retransmission is lost.
    pub(super) loses_retransmission: bool,
}

impl Path {
    fn new(variant: Variant, [initial_window, window_max]: [u16; 2], times: [u64; 2]) -> Self {
        Self::of(&Config { congestion: variant.into(), initial_window, window_max, ..config() }, times)
    }

    /// A path with these times in ms.
    pub(super) fn of(config: &Config, times: [u64; 2]) -> Self {
        Self::of_us(config, times.map(|millis| 1000 * millis))
    }

    /// A path with these times in microseconds.
    fn of_us(config: &Config, [gap, delay]: [u64; 2]) -> Self {
        let config = Config { handshake: false, ..config.clone() };
        let mut ends = [(1, 2), (2, 1)]
            .map(|(local, remote)| TcpEnd::new(config.clone(), Ports { local, remote }, SeqNumber(0)));
        ends[1].listen();
        ends[0].connect();
        ends[0].send(Data::Endless).expect("it is open");
        let [gap, delay] = [gap, delay].map(Duration::from_micros);
        let (flying, now) = (Default::default(), Instant::ZERO);
        let mut path =
            Self { ends, flying, gap, delay, free: now, now, loses: false, loses_retransmission: false };
        path.take_outputs();
        path
    }

    fn take_outputs(&mut self) {
        for from in 0..2 {
            loop {
                let resent = self.ends[from].counters().retransmitted;
                let Some(output) = self.ends[from].poll_output(self.now) else { break };
                let Output::Segment(segment) = output else { continue };
                let is_again = self.ends[from].counters().retransmitted > resent;
                let is_data = !segment.payload.is_empty();
                if is_data {
                    self.free = self.free.max(self.now) + self.gap;
                }
                let is_lost = is_again && std::mem::take(&mut self.loses_retransmission);
                if is_lost || (is_data && std::mem::take(&mut self.loses)) {
                    continue;
                }
                let left = if is_data { self.free } else { self.now };
                self.flying[1 - from].push_back((left + self.delay / 2, segment));
            }
        }
    }

    pub(super) fn run(&mut self, seconds: u64) {
        self.run_ms(1000 * seconds);
    }

    pub(super) fn run_ms(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        loop {
            let arrivals = self.flying.iter().filter_map(|flying| flying.front().map(|(at, _)| *at));
            let timeouts = self.ends.iter().filter_map(TcpEnd::poll_timeout);
            let next = arrivals.chain(timeouts).min().expect("it sends for ever");
            self.now = next.min(end);
            if next > end {
                return;
            }
            for to in 0..2 {
                if let Some((_, segment)) = self.flying[to].pop_front_if(|(at, _)| *at <= self.now) {
                    self.ends[to].handle(self.now, Input::Segment(segment));
                }
                self.ends[to].handle_timeout(self.now);
                self.take_outputs();
            }
        }
    }

    /// The congestion window in segments.
    pub(super) fn cwnd(&self) -> f64 {
        f64::from(self.ends[0].cwnd()) / f64::from(MSS)
    }
}

/// 10 segments fill the path.
const TEN: [u64; 2] = [10, 90];

#[test]
fn vegas_keeps_one_to_three_segments_in_the_queue() {
    let mut vegas = Path::new(Variant::Vegas, [2, 64], TEN);
    for _ in 0..20 {
        vegas.run(3);
        assert!((11.0..=13.0).contains(&vegas.cwnd()), "{} at {}", vegas.cwnd(), vegas.now);
    }
    let delivered = vegas.ends[1].counters().delivered;
    assert!(delivered > 5900, "{delivered} of the 6000 that the path carries in 60 s");
    // NewReno fills every queue.
    let mut newreno = Path::new(Variant::NewReno, [2, 64], TEN);
    newreno.run(10);
    assert_eq!(newreno.ends[0].cwnd(), 64 * MSS);
}

#[test]
fn vegas_fills_a_path_whose_receiver_delays_acks() {
    // 84 segments fill the path. The first window leaves as a burst, and a delayed ACK echoes the timestamp of the first of
    // its segments.
    let mut config =
        Config { congestion: Variant::Vegas.into(), sink: true, nagle: false, ..Config::linux_6() };
    (config.rack, config.prr, config.undo, config.all_rtt) = (false, false, false, false);
    (config.mss, config.initial_window, config.window_max) = (1000, 10, 600);
    let mut path = Path::of_us(&config, [1190, 98_810]);
    path.run(20);
    let before = path.ends[1].counters().delivered;
    path.run(10);
    let delivered = path.ends[1].counters().delivered - before;
    assert!(delivered > 8200, "{delivered} of the 8403 that the path carries in 10 s");
}

#[test]
fn westwood_goes_back_to_what_fills_the_path() {
    let left = |variant| {
        let mut path = Path::new(variant, [2, 64], TEN);
        // The rates of slow start need that long to fade from the filter.
        path.run(60);
        assert_eq!(path.ends[0].cwnd(), 64 * MSS);
        path.loses = true;
        // The loss is known after a round trip, in which the queue has 54 segments.
        path.run(1);
        assert_eq!(path.ends[0].counters().fast_retransmits, 1);
        path.ends[0].ssthresh()
    };
    let westwood = left(Variant::Westwood);
    assert!((9500..=10_000).contains(&westwood), "{westwood}");
    assert_eq!(left(Variant::NewReno), 32 * MSS);
}

#[test]
fn cubic_is_flat_where_the_last_loss_was_and_steep_beyond() {
    // There is no queue: 1000 segments per second, round trips of 501 ms.
    let mut cubic = Path::new(Variant::Cubic, [40, 400], [1, 500]);
    // The lost segment is the 41st: the ACKs of those before it have doubled the window.
    cubic.loses = true;
    cubic.run(2);
    assert_eq!(cubic.ends[0].counters().fast_retransmits, 1);
    assert_eq!(cubic.ends[0].ssthresh(), 56 * MSS);
    let windows = [0; 8].map(|_| {
        cubic.run(1);
        cubic.cwnd()
    });
    let steps: Vec<_> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // K = (24 / 0.4)^(1/3) = 3.9 s after the recovery.
    assert!(steps[..3].is_sorted_by(|a, b| a > b) && steps[2..].is_sorted_by(|a, b| a < b), "{steps:?}");
    assert!((79.0..80.0).contains(&windows[2]) && (79.0..80.0).contains(&windows[3]), "{windows:?}");
}
