//! A transport of one's own: stop and wait, beside NewReno on the same chains.
//!
//!     cargo run --release -p multihop-sim --example stop_and_wait
//!
//! One segment is under way at a time. The next one leaves when its ACK is there; if none comes, the
//! same one leaves again. docs/extending.md explains the parts.
#![expect(clippy::print_stdout, reason = "a table is what this program is for")]

use std::collections::VecDeque;
use std::error::Error;

use multihop_core::{Instant, Machine};
use multihop_scenario::{Scenario, Source};
use multihop_sim::extension::{Extensions, Message, TransportEnds, TransportInput, TransportOutput};
use multihop_sim::results::RunResult;
use multihop_sim::{Outputs, run, run_with};
use multihop_transport::rtt::RttEstimator;
use multihop_transport::tcp;

fn main() -> Result<(), Box<dyn Error>> {
    println!("Goodput over a chain of 200 m hops, kb/s (60 s, seed 1)\n");
    println!("{:>4}  {:>13}  {:>13}  {:>10}", "hops", "stop-and-wait", "newreno", "sent again");
    for hops in 1..=8 {
        let (own, newreno) = compare(hops, 60.0)?;
        println!(
            "{hops:>4}  {:>13.1}  {:>13.1}  {:>10}",
            own.totals.goodput_kbps, newreno.totals.goodput_kbps, own.flows[0].segments_retransmitted,
        );
    }
    Ok(())
}

/// The same chain under both transports.
pub(crate) fn compare(hops: u32, seconds: f64) -> Result<(RunResult, RunResult), Box<dyn Error>> {
    let text = format!(
        "duration = {seconds:?}\nwarmup = 5.0\ntopology = {{ kind = \"chain\", hops = {hops} }}\n\
         [[flow]]\ntransport = \"newreno\"\n"
    );
    let scenario = Scenario::load(&Source::Toml { text, name: "chain.toml".into() }, &[])?;
    let own = |_| Some(stop_and_wait());
    let extensions = Extensions { transport: Some(&own), ..Extensions::default() };
    Ok((
        run_with(&scenario, &extensions, Outputs::default(), &mut |_| {})?,
        run(&scenario, Outputs::default(), &mut |_| {})?,
    ))
}

/// Both ends of a flow.
pub(crate) fn stop_and_wait() -> TransportEnds {
    TransportEnds {
        name: "stop-and-wait".into(),
        sender: Box::new(Sender::default()),
        receiver: Box::new(Receiver::default()),
    }
}

/// Sends one segment at a time.
pub(crate) struct Sender {
    /// Bytes that the application still has.
    left: u64,
    /// Number of the next new segment.
    next: u32,
    waiting: Option<Waiting>,
    rtt: RttEstimator,
    out: VecDeque<TransportOutput>,
}

/// The segment under way.
struct Waiting {
    bytes: u32,
    number: u32,
    /// When it left; nothing once it has been sent twice (Karn's rule).
    sent: Option<Instant>,
    deadline: Instant,
}

impl Sender {
    fn on_ack(&mut self, now: Instant, ack: &Message) {
        let number = number_of(ack);
        let Some(acked) = self.waiting.take_if(|waiting| Some(waiting.number) == number) else { return };
        if let Some(sent) = acked.sent {
            self.rtt.sample(now - sent);
            self.out.push_back(TransportOutput::RoundTrip(now - sent));
        }
        self.out.push_back(TransportOutput::Acked(u64::from(acked.bytes)));
    }

    fn send_next(&mut self, now: Instant) {
        if self.waiting.is_some() || self.left == 0 {
            return;
        }
        let bytes = u32::try_from(self.left).unwrap_or(u32::MAX).min(SEGMENT);
        self.left -= u64::from(bytes);
        let deadline = now + self.rtt.rto();
        self.waiting = Some(Waiting { bytes, number: self.next, sent: Some(now), deadline });
        self.out.push_back(TransportOutput::Send(message(self.next, bytes, false)));
        self.next = self.next.wrapping_add(1);
    }
}

impl Default for Sender {
    fn default() -> Self {
        let rtt = RttEstimator::new(tcp::Config::default().rto);
        Self { left: 0, next: 0, waiting: None, rtt, out: VecDeque::new() }
    }
}

impl Machine for Sender {
    type Input = TransportInput;
    type Output = TransportOutput;

    fn handle(&mut self, now: Instant, input: TransportInput) {
        match input {
            TransportInput::Data(bytes) => self.left = self.left.saturating_add(bytes.unwrap_or(u64::MAX)),
            TransportInput::Stop => (self.left, self.waiting) = (0, None),
            TransportInput::Message(ack) => self.on_ack(now, &ack),
            TransportInput::Notice(_) => {}
        }
        self.send_next(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.deadline <= now) else { return };
        self.rtt.back_off();
        waiting.sent = None;
        waiting.deadline = now + self.rtt.rto();
        self.out.push_back(TransportOutput::TimedOut);
        self.out.push_back(TransportOutput::Send(message(waiting.number, waiting.bytes, true)));
    }

    fn poll_output(&mut self, _now: Instant) -> Option<TransportOutput> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|waiting| waiting.deadline)
    }
}

/// Takes segments in order and acknowledges each.
#[derive(Default)]
pub(crate) struct Receiver {
    /// Number of the next new segment.
    next: u32,
    out: VecDeque<TransportOutput>,
}

impl Machine for Receiver {
    type Input = TransportInput;
    type Output = TransportOutput;

    fn handle(&mut self, _now: Instant, input: TransportInput) {
        let TransportInput::Message(segment) = input else { return };
        let Some(number) = number_of(&segment) else { return };
        if number == self.next {
            self.next = number.wrapping_add(1);
            self.out.push_back(TransportOutput::Delivered(u64::from(segment.data)));
        }
        // An old segment is here again because its ACK was lost: that ACK is due again.
        self.out.push_back(TransportOutput::Send(message(number, 0, false)));
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_output(&mut self, _now: Instant) -> Option<TransportOutput> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

/// A segment, or its ACK if it has no data: the number, padded to the length of a TCP header.
fn message(number: u32, data: u32, again: bool) -> Message {
    let mut header = number.to_be_bytes().to_vec();
    header.resize(HEADER, 0);
    Message { header, data, again }
}

fn number_of(message: &Message) -> Option<u32> {
    message.header.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

const HEADER: usize = 20;
/// Bytes of data: with headers of 20 bytes each an IP packet has 1500.
const SEGMENT: u32 = 1460;
