//! A user-defined transport: stop and wait, beside NewReno on the same chains.
//!
//!     cargo run --release -p multihop-sim --example stop_and_wait
//!
//! One segment is in flight at a time. The next one leaves when its ACK has arrived; if none comes, the
//! segment is retransmitted. docs/extending.md explains the parts.
#![expect(clippy::print_stdout, reason = "this program prints a table")]

use std::collections::VecDeque;
use std::error::Error;

use multihop_core::settings::Settings;
use multihop_core::{Instant, Payload};
use multihop_scenario::{Extension, Extensions, Scenario, Source};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run, unattended};
use multihop_transport::connection::{
    Connection, ConnectionConfig, Counters, Data, Event, FlowSetup, Message, Output, RoundTrip, Segment,
    SendError, Trip,
};
use multihop_transport::observe::{Quantity, Row, Value};
use multihop_transport::rtt::RttEstimator;
use multihop_transport::tcp;
use multihop_transport::{ByteQueue, SendQueue};

fn main() -> Result<(), Box<dyn Error>> {
    println!("Goodput over a chain of 200 m hops, kb/s (60 s, seed 1)\n");
    println!("{:>4}  {:>13}  {:>13}  {:>13}", "hops", "stop-and-wait", "newreno", "retransmitted");
    for hops in 1..=8 {
        let (own, newreno) = compare(hops, 60.0)?;
        println!(
            "{hops:>4}  {:>13.1}  {:>13.1}  {:>13}",
            own.totals.goodput_kbps, newreno.totals.goodput_kbps, own.flows[0].segments_retransmitted,
        );
    }
    Ok(())
}

/// The same chain under both transports.
pub(crate) fn compare(hops: u32, seconds: f64) -> Result<(RunResult, RunResult), Box<dyn Error>> {
    let text = format!(
        "duration = {seconds:?}\nwarmup = 5.0\ntopology = {{ kind = \"chain\", hops = {hops} }}\n\
         [[flow]]\n"
    );
    let source = Source::Toml { text, name: "chain.toml".into() };
    let extensions = Extensions::default().transport::<StopAndWait>(STOP_AND_WAIT);
    let result = |transport: &str| -> Result<RunResult, Box<dyn Error>> {
        let transport = [("flow.0.transport".to_owned(), transport.to_owned())];
        let scenario = Scenario::load_with(&source, &transport, &extensions)?;
        Ok(run(&scenario, Outputs::default(), &mut unattended)?)
    };
    Ok((result(STOP_AND_WAIT.name)?, result("newreno")?))
}

/// The name of the protocol in scenarios.
pub(crate) const STOP_AND_WAIT: Extension =
    Extension { name: "stop-and-wait", version: "1", help: "One segment in flight at a time." };

/// The parameters of the protocol.
#[derive(Clone, Debug, Settings)]
pub(crate) struct StopAndWait {
    /// Data bytes of a segment.
    ///
    /// With headers of 20 bytes each, the IP packet of a default one has 1500.
    #[key(1..=1460, default = 1460)]
    segment: u32,
}

impl ConnectionConfig for StopAndWait {
    fn ends(&self, flow: &mut FlowSetup<'_>) -> [Box<dyn Connection>; 2] {
        [flow.sink; 2].map(|sink| Box::new(StopAndWaitEnd::new(self.segment, sink)) as Box<dyn Connection>)
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }
}

/// One end: sends one segment at a time, and acknowledges each that it receives.
struct StopAndWaitEnd {
    /// Data bytes of a segment.
    segment: u32,
    /// Whether nobody reads what arrives.
    sink: bool,
    /// What the application has sent and the peer has not acknowledged.
    queue: SendQueue,
    /// The place in the queue that the next new segment begins at.
    position: u64,
    /// Number of the next new segment.
    next: u32,
    waiting: Option<Waiting>,
    rtt: RttEstimator,
    /// Number of the next new segment of the peer.
    expected: u32,
    /// What has arrived and has not been read.
    arrived: ByteQueue,
    counters: Counters,
    out: VecDeque<Output>,
}

/// The segment in flight.
struct Waiting {
    data: Payload,
    number: u32,
    /// When it left; `None` once it has been retransmitted (Karn's rule).
    sent: Option<Instant>,
    deadline: Instant,
}

impl StopAndWaitEnd {
    fn new(segment: u32, sink: bool) -> Self {
        let queue = SendQueue::new();
        Self {
            segment,
            sink,
            position: queue.end(),
            queue,
            next: 0,
            waiting: None,
            rtt: RttEstimator::new(tcp::Config::default().rto),
            expected: 0,
            arrived: ByteQueue::default(),
            counters: Counters::default(),
            out: VecDeque::new(),
        }
    }

    fn send_next(&mut self, now: Instant) {
        let left = self.queue.end() - self.position;
        if self.waiting.is_some() || left == 0 {
            return;
        }
        let bytes = u32::try_from(left).unwrap_or(u32::MAX).min(self.segment);
        let data = self.queue.payload(self.position, bytes);
        self.position += u64::from(bytes);
        self.counters.sent += 1;
        self.out.push_back(segment(self.next, data.clone()));
        let deadline = now + self.rtt.rto();
        self.waiting = Some(Waiting { data, number: self.next, sent: Some(now), deadline });
        self.next = self.next.wrapping_add(1);
    }

    fn on_ack(&mut self, now: Instant, number: u32) {
        let Some(acked) = self.waiting.take_if(|waiting| waiting.number == number) else { return };
        if let Some(sent) = acked.sent {
            self.rtt.sample(now - sent);
        }
        self.queue.release(self.position);
        self.out.push_back(Output::Event(Event::Acked(acked.data.len() as u64)));
    }

    fn on_data(&mut self, number: u32, data: Payload) {
        if number == self.expected {
            self.expected = number.wrapping_add(1);
            self.counters.delivered += 1;
            self.out.push_back(Output::Event(Event::Delivered(data.len() as u64)));
            if !self.sink {
                self.arrived.push(data);
            }
        }
        // A duplicate means that the ACK was lost: acknowledge it once more.
        self.out.push_back(segment(number, Payload::EMPTY));
    }
}

impl Connection for StopAndWaitEnd {
    fn send(&mut self, now: Instant, data: Data) -> Result<(), SendError> {
        self.queue.push(data);
        self.send_next(now);
        Ok(())
    }

    fn read(&mut self, max: u32) -> Payload {
        self.arrived.read(max)
    }

    fn set_mss(&mut self, mss: u16) {
        self.segment = self.segment.min(u32::from(mss.saturating_sub(HEADER))).max(1);
    }

    fn shutdown(&mut self, _now: Instant) {
        self.queue.finish(self.position);
    }

    fn receive(&mut self, now: Instant, arrived: Segment, _trip: Option<Trip>) {
        let Segment::Custom(Message { header, data }) = arrived else { return };
        let Some(number) = header.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)) else { return };
        if data.is_empty() {
            self.on_ack(now, number);
            self.send_next(now);
        } else {
            self.on_data(number, data);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.deadline <= now) else { return };
        self.rtt.back_off();
        waiting.sent = None;
        waiting.deadline = now + self.rtt.rto();
        self.counters.timeouts += 1;
        self.counters.sent += 1;
        self.counters.retransmitted += 1;
        self.out.push_back(segment(waiting.number, waiting.data.clone()));
    }

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|waiting| waiting.deadline)
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        Some(RoundTrip { latest: self.rtt.latest()?, samples: self.rtt.samples() })
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        OBSERVED.get(index).map(Row::quantity)
    }

    fn value(&self, index: usize) -> Option<Value> {
        OBSERVED.get(index)?.value(self)
    }
}

/// What series and the viewer show of a sender.
static OBSERVED: [Row<StopAndWaitEnd>; 3] =
    [Row::cwnd(|_| Some(1.0)), Row::round_trip(Connection::round_trip), Row::phase(|_| "normal")];

/// A segment, or its ACK if it has no data: the number, padded to the length of a TCP header.
fn segment(number: u32, data: Payload) -> Output {
    let mut header = number.to_be_bytes().to_vec();
    header.resize(usize::from(HEADER), 0);
    Output::Segment(Segment::Custom(Message { header, data }))
}

const HEADER: u16 = 20;
