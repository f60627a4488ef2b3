//! Comparison of `bpf/mesh_math.h`, compiled for the host, with the congestion control of the simulator, without its rules
//! for wires.

use std::fmt::Write;

use multihop_core::{Duration, Instant};
use multihop_transport::mesh::{Config, Control, Report};

use crate::host;
use crate::math::noise;

/// An event that is reported to the congestion control.
#[derive(Clone, Copy, Debug)]
struct Event {
    us: u64,
    /// Segments that an ACK covers for the first time, and the round trip of the newest in us; none at a timeout.
    ack: Option<(u64, u64)>,
    hops: u8,
    is_limited: bool,
    /// Half segments of a train.
    halves: u8,
}

/// Results of the congestion control after an event.
#[derive(Clone, Copy, Debug)]
struct Step {
    gap: f64,
    window: f64,
    pause: f64,
}

fn in_c(name: &str, events: &[Event]) -> Option<Vec<Step>> {
    let mut lines = String::new();
    for Event { us, ack, hops, is_limited, halves } in events {
        let (arrived, round_trip) = ack.map_or((-1, 0), |(arrived, us)| (arrived.cast_signed(), us));
        let limited = u8::from(*is_limited);
        writeln!(lines, "{us} {arrived} {round_trip} {hops} {limited} {halves}").unwrap();
    }
    Some(host::filter("mesh.c", name, lines)?.lines().map(step).collect())
}

fn step(line: &str) -> Step {
    let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
    let &[gap, window, _, pause] = numbers.as_slice() else { panic!("{line}") };
    Step { gap: gap / 1e9, window: window / 1e6, pause: pause / 1e6 }
}

/// The simulator's congestion control, which handles one event after another.
struct Law {
    control: Control,
    hops: u8,
}

impl Law {
    fn new() -> Self {
        Self { control: Control::without_wires(&Config::default()), hops: 0 }
    }

    fn take(&mut self, event: Event) -> Step {
        let now = Instant::ZERO + Duration::from_micros(event.us);
        if event.hops != self.hops {
            self.hops = event.hops;
            self.control.set_hops(event.hops);
        }
        self.control.set_train(f64::from(event.halves) / 2.0);
        match event.ack {
            None => self.control.on_timeout(),
            Some((arrived, us)) => {
                let sample = Duration::from_micros(us);
                self.control.on_round_trip(now, sample);
                let queueing = sample.saturating_sub(self.control.base().unwrap());
                self.control.on_ack(now, Report { arrived, queueing, is_limited: event.is_limited });
            }
        }
        let pause = self.control.drain(now).as_secs_f64();
        let gap = self.control.gap().map_or(0.0, Duration::as_secs_f64);
        Step { gap, window: self.control.window(), pause }
    }
}

/// A flow over paths whose length and capacity change: its own queue, those of others, timeouts, and times without data. The
/// simulator's law sets its rate.
fn flow(number: usize) -> (Vec<Event>, Vec<Step>) {
    let mut state = 11;
    let mut law = Law::new();
    let (mut now, mut queue, mut hops, mut capacity) = (1_000.0, 0.0, 4, 30.0);
    let (mut events, mut steps): (Vec<Event>, Vec<Step>) = Default::default();
    let mut rate = 30.0;
    for n in 0..number {
        if n % 700 == 699 {
            hops = u8::try_from(1 + noise(&mut state) % 10).unwrap();
            capacity = 20.0 * 10.0_f64.powf(noise(&mut state) as f64 % 1000.0 / 400.0);
        }
        let arrived = 1 + noise(&mut state) % 3;
        let passed = arrived as f64 / rate;
        now += passed * 1e6;
        queue = (queue + (rate - capacity) * passed).max(0.0);
        let others = (noise(&mut state) % 8000) as f64 * f64::from(u8::from(n % 300 > 100));
        let round_trip = 8e3 * f64::from(hops) + 1e6 * queue / capacity + others;
        let is_timeout = noise(&mut state).is_multiple_of(100);
        let event = Event {
            us: whole(now),
            ack: (!is_timeout).then_some((arrived, whole(round_trip))),
            hops,
            is_limited: !noise(&mut state).is_multiple_of(20),
            halves: [2, 31][n / 2_000 % 2],
        };
        let step = law.take(event);
        rate = if step.gap > 0.0 { 1.0 / step.gap } else { 30.0 };
        events.push(event);
        steps.push(step);
    }
    (events, steps)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "microseconds of a test, never negative"
)]
fn whole(us: f64) -> u64 {
    us as u64
}

fn assert_near(found: f64, expected: f64, within: f64, what: &dyn std::fmt::Debug) {
    assert!((found - expected).abs() <= within * expected.abs(), "{found} beside {expected}: {what:?}");
}

#[test]
fn pace_window_and_pauses_are_those_of_the_simulator() {
    let (events, expected) = flow(20_000);
    let Some(found) = in_c("same", &events) else { return };
    assert_eq!(found.len(), expected.len());
    let mut pauses = 0;
    for (n, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let what = (n, events[n]);
        assert_near(found.gap, expected.gap, 0.005, &what);
        assert_near(found.window, expected.window, 0.005, &what);
        assert!(
            (found.pause - expected.pause).abs() < 2e-5 + 5e-4 * expected.pause,
            "{} beside {}: {what:?}",
            found.pause,
            expected.pause
        );
        pauses += usize::from(found.pause > 0.0);
    }
    let rates = expected.iter().filter(|step| step.gap > 0.0).map(|step| 1.0 / step.gap);
    let (least, most) =
        rates.fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    assert!(pauses > 5 && most > 20.0 * least, "{pauses} pauses, {least} to {most} segments/s");
}

#[test]
fn extreme_samples_overflow_nothing() {
    let round_trips = [0, 1, u64::from(u32::MAX), 17_000_000, 50, 2, 2, 2];
    let events: Vec<_> = (1..4000)
        .map(|n: u64| {
            let us = if n % 1000 < 500 { n } else { n * 40_000_000 };
            let ack = (!n.is_multiple_of(37)).then(|| (n % 5 * 100_000, round_trips[(n % 8) as usize]));
            Event { us, ack, hops: (n % 251) as u8, is_limited: !n.is_multiple_of(3), halves: (n % 49) as u8 }
        })
        .collect();
    let Some(steps) = in_c("extreme", &events) else { return };
    assert_eq!(steps.len(), events.len());
    for step in steps {
        // The longest round trips that count, and the smallest window.
        assert!((0.0..=4.0 * 34.0).contains(&step.gap) && (0.0..=4096.0).contains(&step.window), "{step:?}");
    }
}
