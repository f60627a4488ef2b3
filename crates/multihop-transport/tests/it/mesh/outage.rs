//! An outage of 20 s in the middle of a connection with commands, telemetry and images.

use multihop_core::{Duration, Instant, Machine};
use multihop_testkit::{LinkConfig, Pair, Port};
use multihop_transport::channel::{ChannelId, Channels, Content, Options};
use multihop_transport::connection::Data;
use multihop_transport::lifecycle::State;
use multihop_transport::mesh::Output;
use multihop_wire::mesh::Segment;

use super::channels::config;
use super::pair::{Watched, take};

/// An end that receives nothing during the outage, with a timer for its application.
#[derive(Debug)]
struct Cut(Watched, Instant);

impl Machine for Cut {
    type Input = Segment;
    type Output = Output;

    fn handle(&mut self, now: Instant, segment: Segment) {
        if !(at(BEGIN)..at(END)).contains(&now) {
            self.0.handle(now, segment);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.1 <= now {
            self.1 = now + TICK;
        }
        Machine::handle_timeout(&mut self.0, now);
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        Machine::poll_output(&mut self.0, now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let tick = Some(self.1).filter(|&tick| tick <= at(STOP + 100));
        multihop_core::earliest(Machine::poll_timeout(&self.0), tick)
    }
}

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Messages of one channel: when each was sent, and when each arrived or was given up.
#[derive(Debug)]
struct Flow {
    id: ChannelId,
    interval: u64,
    len: u64,
    sent: Vec<Instant>,
    arrived: Vec<(u64, Instant)>,
    given_up: u64,
}

impl Flow {
    fn new(pair: &mut Pair<Cut, Segment>, options: Options, interval: u64, len: u64) -> Self {
        let id = pair.call(0, |cut| cut.0.end.open_channel(options)).expect("the peer has channels");
        Self { id, interval, len, sent: vec![], arrived: vec![], given_up: 0 }
    }

    /// Sends the messages that are due.
    fn send(&mut self, pair: &mut Pair<Cut, Segment>) {
        let now = pair.now();
        while now < at(STOP) && now >= at(START + self.interval * self.sent.len() as u64) {
            let data = Data::Virtual(self.len);
            if pair.call(0, |cut| cut.0.end.send_message(now, self.id, data)).is_err() {
                return;
            }
            self.sent.push(now);
        }
    }

    /// Reads what has arrived; no message older than its deadline arrives without the mark.
    fn read(&mut self, pair: &mut Pair<Cut, Segment>, deadline: Option<Duration>) {
        let now = pair.now();
        let id = self.id.at_peer();
        while let Some(received) = pair.call(1, |cut| cut.0.end.poll_message_of(now, id)) {
            match received.content {
                Content::Gap(count) => self.given_up += count,
                Content::Part { is_last: false, .. } => {}
                _ => {
                    let age = now - self.sent[usize::try_from(received.message).expect("few messages")];
                    let is_fresh = deadline.is_none_or(|deadline| age <= deadline);
                    assert!(is_fresh || received.is_late, "message {} is {age} old", received.message);
                    self.arrived.push((received.message, now));
                }
            }
        }
    }

    /// Time from the end of the outage to the arrival of the last message that was sent before that end.
    fn recovery(&self) -> Duration {
        let before = self.sent.iter().filter(|&&sent| sent < at(END)).count() as u64;
        let arrivals = self.arrived.iter().filter(|(number, _)| *number < before);
        arrivals.map(|(_, arrived)| *arrived).max().expect("messages") - at(END)
    }
}

#[test]
fn after_an_outage_commands_come_first_and_nothing_late_is_fresh() {
    let link = LinkConfig { delay: Duration::from_millis(20), loss: 0.05, ..LinkConfig::default() };
    let ends = Watched::two([&config(); 2]).map(|watched| Cut(watched, Instant::ZERO));
    let mut pair = Pair::new(ends, Port { take, give: |segment| segment }, link, 1);
    assert!(
        pair.drive(at(START), |pair| { pair.ends.iter().all(|cut| cut.0.end.state() == State::Established) })
    );
    let deadline = Some(Duration::from_millis(200));
    let of =
        |priority, deadline, is_ordered| Options { priority, deadline, is_ordered, ..Options::default() };
    let mut command = Flow::new(&mut pair, of(0, None, true), 500, 100);
    let mut telemetry = Flow::new(&mut pair, of(1, deadline, false), 20, 200);
    let mut image = Flow::new(&mut pair, of(6, None, true), 2000, 100_000);
    let done = pair.drive(at(300_000), |pair| {
        for flow in [&mut command, &mut telemetry, &mut image] {
            flow.send(pair);
        }
        command.read(pair, None);
        telemetry.read(pair, deadline);
        image.read(pair, None);
        pair.now() >= at(STOP) && pair.ends[0].0.end.is_idle()
    });
    assert!(done, "not over at {}", pair.now());
    for flow in [&command, &image] {
        let numbers: Vec<u64> = flow.arrived.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (0..flow.sent.len() as u64).collect::<Vec<_>>(), "all, once, in order");
    }
    let sent = telemetry.sent.len() as u64;
    assert_eq!(telemetry.arrived.len() as u64 + telemetry.given_up, sent, "arrived or known as missing");
    let outage = (END - BEGIN) / telemetry.interval;
    assert!((outage..outage + 60).contains(&telemetry.given_up), "{} given up", telemetry.given_up);
    let (first, last) = (command.recovery(), image.recovery());
    let next = image
        .arrived
        .iter()
        .map(|(_, arrived)| *arrived)
        .find(|&arrived| arrived >= at(END))
        .expect("images")
        - at(END);
    println!("last command {first}, first image {next} and last image {last} after the outage");
    assert!(first < Duration::from_millis(1500) && next > first, "{first}, {next} and {last}");
    // Fresh telemetry arrives as soon as the path is back.
    let fresh = telemetry.arrived.iter().find(|(_, arrived)| *arrived >= at(END)).expect("telemetry");
    assert!(fresh.1 < at(END + 1000), "{}", fresh.1);
}

/// Time between two calls of the application.
const TICK: Duration = Duration::from_millis(10);
/// Milliseconds: first messages, the outage, and the end of the messages.
const START: u64 = 1000;
const BEGIN: u64 = 10_000;
const END: u64 = 30_000;
const STOP: u64 = 40_000;
