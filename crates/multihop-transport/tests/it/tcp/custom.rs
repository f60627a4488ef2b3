//! User-defined congestion controls: what a connection does with them.

use std::sync::{Arc, Mutex};

use multihop_core::Instant;
use multihop_core::settings::Settings;
use multihop_transport::congestion::{
    Ack, AckKind, Algorithm, CongestionConfig, CongestionControl, RateSample, Share, Signals, Variant, Window,
};
use multihop_transport::connection::Connection;
use multihop_transport::observe::{Quantity, Row, Side, Value};
use multihop_transport::tcp::{Config, Ports, TcpEnd};
use multihop_wire::tcp::SeqNumber;

use super::policies::Path;
use super::templates::{MSS, config};

/// A control with the defaults of the port, which remembers its signals.
#[derive(Clone, Debug, Default, Settings)]
struct Plain {
    signals: Signals,
    /// Pacing rate in bytes per second.
    #[key(1..=1_000_000, name = "rate", off)]
    pacing_rate: Option<u64>,
    heard: Arc<Mutex<Vec<&'static str>>>,
}

impl Plain {
    fn take_heard(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.heard.lock().expect("no test has failed"))
    }
}

impl CongestionConfig for Plain {
    fn control(&self, window: Window) -> Box<dyn CongestionControl> {
        Box::new(Control { window, config: self.clone(), losses: 0 })
    }

    fn signals(&self) -> Signals {
        self.signals
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }
}

static OBSERVED: [Row<Control>; 2] = [
    Row::counter("losses", "Losses that the control was told of.", Side::Sender, |control| control.losses),
    Row::gauge(["threshold", "bytes"], "Slow-start threshold.", Side::Sender, |control| {
        Some(control.window.ssthresh().into())
    }),
];

#[derive(Debug)]
struct Control {
    window: Window,
    config: Plain,
    losses: u64,
}

impl Control {
    fn note(&self, signal: &'static str) {
        self.config.heard.lock().expect("no test has failed").push(signal);
    }
}

impl CongestionControl for Control {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, _now: Instant, ack: &Ack) {
        self.note(match ack.kind {
            AckKind::Normal => "ack",
            AckKind::Partial => "partial",
            AckKind::Full => "full",
        });
        self.window.on_ack(ack);
    }

    fn on_loss(&mut self, _now: Instant, flight: u32) {
        self.note("loss");
        self.losses += 1;
        self.window.reduce(flight, Share::HALF);
    }

    fn on_rate_sample(&mut self, _now: Instant, sample: &RateSample) {
        self.note(if sample.is_recovering { "sample in recovery" } else { "sample" });
    }

    fn on_undo(&mut self, _now: Instant, cwnd: u32, ssthresh: u32) {
        self.note("undo");
        self.window.restore(cwnd, ssthresh);
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.config.pacing_rate
    }

    fn state(&self) -> Option<&'static str> {
        (!self.window.is_slow_start()).then_some("steady")
    }

    fn value(&self, index: usize) -> Option<Value> {
        OBSERVED.get(index)?.value(self)
    }
}

fn path(algorithm: Algorithm, sack: bool) -> Path {
    Path::of(&Config { congestion: algorithm, sack, window_max: 32, ..config() }, [10, 90])
}

#[test]
fn the_defaults_of_the_port_are_newreno() {
    for sack in [false, true] {
        for hystart in [false, true] {
            let paths = [Algorithm::custom(Plain::default()), Variant::NewReno.into()].map(|algorithm| {
                let config = Config { congestion: algorithm, sack, hystart, window_max: 32, ..config() };
                let mut path = Path::of(&config, [10, 90]);
                let seen: Vec<_> = (0..40)
                    .map(|n| {
                        path.loses = n % 7 == 3;
                        path.run_ms(250);
                        let end = &path.ends[0];
                        (end.cwnd(), end.ssthresh(), end.window(), *end.counters())
                    })
                    .collect();
                seen
            });
            assert_eq!(paths[0], paths[1], "sack {sack}, hystart {hystart}");
            let counters = &paths[0].last().expect("40 looks").3;
            assert!(counters.fast_retransmits > 3, "{counters:?}");
        }
    }
}

#[test]
fn signals_come_in_the_documented_order() {
    let plain = Plain { signals: Signals { rates: true, ..Signals::default() }, ..Plain::default() };
    let config = Config { congestion: Algorithm::custom(plain.clone()), rack: true, sack: true, ..config() };
    let mut path = Path::of(&config, [10, 90]);
    path.run(2);
    let calm = plain.take_heard();
    assert!(calm.windows(2).all(|pair| pair[0] != "ack" || pair[1] == "sample"), "{calm:?}");
    assert!(calm.contains(&"ack") && !calm.contains(&"loss"), "{calm:?}");
    path.loses = true;
    path.run(3);
    let heard = plain.take_heard();
    let loss = heard.iter().position(|signal| *signal == "loss").expect("a segment is lost");
    assert_eq!(heard[loss + 1], "sample in recovery");
    let full = heard.iter().position(|signal| *signal == "full").expect("recovery ends");
    assert!(full > loss && heard[full + 1] == "sample", "{heard:?}");
    assert_eq!(heard.iter().filter(|signal| **signal == "loss").count(), 1);
}

#[test]
fn signals_that_cost_something_come_on_request_only() {
    let plain = Plain::default();
    let mut path = path(Algorithm::custom(plain.clone()), true);
    path.run(2);
    assert!(plain.take_heard().iter().all(|signal| *signal == "ack"));
    let asks = |notices| {
        let signals = Signals { notices, ..Signals::default() };
        let congestion = Algorithm::custom(Plain { signals, ..Plain::default() });
        let config = Config { congestion, ..config() };
        TcpEnd::new(config, Ports { local: 1, remote: 2 }, SeqNumber(0)).wants_notices()
    };
    assert_eq!([false, true].map(asks), [false, true]);
}

#[test]
fn a_pacing_rate_needs_no_rate_samples() {
    let plain = Plain { pacing_rate: Some(50 * u64::from(MSS)), ..Plain::default() };
    let mut path = path(Algorithm::custom(plain), false);
    path.run(10);
    let delivered = path.ends[1].counters().delivered;
    // The path could carry twice as much.
    assert!((490..=500).contains(&delivered), "{delivered} in 10 s");
    let rate = path.ends[0].observed("rate").and_then(Value::number);
    assert_eq!(rate.map(|kbps| kbps.round().to_bits()), Some(400.0_f64.to_bits()));
}

#[test]
fn the_quantities_of_a_control_follow_those_of_tcp() {
    let mut path = path(Algorithm::custom(Plain::default()), false);
    path.run(5);
    path.loses = true;
    path.run(5);
    let end = &path.ends[0];
    let names: Vec<_> =
        (0..).map_while(|index| Connection::quantity(end, index)).map(|row| row.key()).collect();
    assert!(
        names.starts_with(&["cwnd".into(), "rtt_ms".into()])
            && names.ends_with(&["losses".into(), "threshold_bytes".into()]),
        "{names:?}"
    );
    assert_eq!(end.observed("losses"), Some(Value::Count(1)));
    assert_eq!(end.observed("threshold"), Some(Value::Number(end.ssthresh().into())));
    assert_eq!((end.observed("unheard_of"), end.value(names.len())), (None, None));
}

#[test]
fn the_state_of_a_control_is_shown() {
    let mut path = path(Algorithm::custom(Plain::default()), false);
    assert_eq!(path.ends[0].state_name(), "slow-start");
    path.run(5);
    path.loses = true;
    path.run(5);
    assert_eq!(path.ends[0].state_name(), "steady");
}
