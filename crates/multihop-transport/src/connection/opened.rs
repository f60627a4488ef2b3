//! Connections of transports that do not open and close connections themselves: user-defined transports, and
//! TCP on real networks.
//!
//! [`Opened`] opens, watches and closes a connection with control segments. After the handshake, segments of
//! the inner transport are messages in this connection. The connection closes after the peer has acknowledged
//! all data.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU8;

use multihop_core::{Duration, Instant, Notice, Payload, Timers, earliest};
use multihop_wire::control::{Cause, Control, Options, Reset, Syn, VERSION};
use multihop_wire::custom::{self, Ack, Acked};

use super::{
    Buffers, Connection, Counters, Data, Event, Message, Output, RoundTrip, Segment, SendError, State,
    StreamCounters, Summary,
};
use crate::lifecycle::{self, Ending, Lifecycle, Shutdown};
use crate::observe::{Quantity, Value};
use crate::refusals::Refusals;
use crate::tcp::Trip;

/// Configuration of [`Opened`] in addition to the configuration of the inner transport.
#[derive(Clone, Copy, Debug)]
pub struct OpenedConfig {
    /// Parameters for opening, watching and closing the connection.
    pub lifecycle: lifecycle::Config,
    /// IP TTL of the packets that this end sends.
    pub initial_ttl: u8,
    /// Bytes that may wait to be read before further data is dropped, unless the inner transport needs more.
    pub capacity: u64,
}

/// One end of a connection, around an inner transport without handshake.
pub struct Opened {
    config: OpenedConfig,
    inner: Box<dyn Connection>,
    life: Lifecycle,
    /// Connection number that this end has chosen.
    ours: u32,
    theirs: u32,
    peer_ttl: Option<NonZeroU8>,
    /// Length of the path in hops; `None` before it is known.
    hops: Option<u8>,
    handshake: Option<Duration>,
    /// Data that the inner transport has not taken yet.
    queue: VecDeque<Data>,
    /// Bytes that the application has queued and the peer has not acknowledged.
    unacked: u64,
    unread: u64,
    /// Whether the application reads what the peer sends.
    reads: bool,
    close: Closing,
    has_peer_closed: bool,
    /// Whether a keepalive is not answered yet.
    is_probing: bool,
    refusals: Refusals<()>,
    timers: Timers<Timer, 1>,
    out: VecDeque<Output>,
    /// Number of control segments sent.
    control_sent: u64,
    dropped: u64,
}

/// State of the close of this side.
#[derive(Clone, Copy, Debug, Default)]
struct Closing {
    is_due: bool,
    is_acked: bool,
    /// Number of `Close` segments sent so far.
    sent: u8,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Timer {
    Close,
}

impl Opened {
    /// Creates one end of a connection around the inner transport `inner`. `number` is random.
    pub fn new(inner: Box<dyn Connection>, config: OpenedConfig, number: u32) -> Self {
        Self {
            config,
            inner,
            life: Lifecycle::new(config.lifecycle),
            ours: number,
            theirs: 0,
            peer_ttl: None,
            hops: None,
            handshake: None,
            queue: VecDeque::new(),
            unacked: 0,
            unread: 0,
            reads: true,
            close: Closing::default(),
            has_peer_closed: false,
            is_probing: false,
            refusals: Refusals::new(),
            timers: Timers::new([Timer::Close]),
            out: VecDeque::new(),
            control_sent: 0,
            dropped: 0,
        }
    }

    fn is_open(&self) -> bool {
        self.life.state().is_connected()
    }

    fn emit(&mut self, segment: custom::Segment) {
        self.control_sent += 1;
        self.out.push_back(Output::Segment(Segment::Opened(segment)));
    }

    fn emit_reset(&mut self, reset: Reset) {
        self.emit(custom::Segment::Control(Control::Reset(reset)));
    }

    fn acknowledge(&mut self, of: Acked) {
        self.emit(custom::Segment::Ack(Ack { number: self.ours, of }));
    }

    fn on_control(&mut self, now: Instant, control: Control) {
        match control {
            Control::Syn(syn) => self.on_syn(now, &syn),
            Control::Reset(reset) => self.on_reset(&reset),
            Control::KeepAlive(number) => {
                if self.is_of_peer(number.wrapping_sub(1)) {
                    self.on_valid(now);
                    self.acknowledge(Acked::KeepAlive);
                } else {
                    self.on_unknown(now, number);
                }
            }
        }
    }

    fn on_syn(&mut self, now: Instant, syn: &Syn) {
        let answers = syn.answers == Some(self.ours) && self.life.has_sent_syn();
        match (self.life.state(), syn.answers) {
            (State::Listen, None) | (State::SynSent, None) => {
                if self.take_syn(syn) {
                    self.life.on_syn(syn.attempt);
                }
            }
            (State::SynSent, Some(_)) if answers => {
                if self.take_syn(syn) {
                    self.establish(now, Some(syn.attempt));
                    self.acknowledge(Acked::SynAck);
                }
            }
            (State::SynReceived, None) if syn.number == self.theirs => self.life.on_syn(syn.attempt),
            (State::SynReceived, Some(_)) if answers && syn.number == self.theirs => {
                self.establish(now, Some(syn.attempt));
                self.acknowledge(Acked::SynAck);
            }
            (State::Closed | State::Listen | State::SynSent | State::SynReceived, _) => self.dropped += 1,
            (_, Some(_)) if answers && syn.number == self.theirs => self.acknowledge(Acked::SynAck),
            // The keepalive makes a restarted peer reset the connection, which it no longer has.
            _ => self.emit(custom::Segment::Control(Control::KeepAlive(self.ours.wrapping_add(1)))),
        }
    }

    /// Takes the peer's SYN; refuses an unknown version, and an unknown option that must be understood.
    fn take_syn(&mut self, syn: &Syn) -> bool {
        if let Some(refusal) = syn.refusal() {
            self.dropped += 1;
            self.emit_reset(refusal);
            return false;
        }
        self.theirs = syn.number;
        self.peer_ttl = syn.options.initial_ttl;
        true
    }

    fn establish(&mut self, now: Instant, answered: Option<u8>) {
        self.handshake = self.life.establish(now, answered);
        self.out.push_back(Output::Event(Event::Connected));
        if self.life.is_passive() {
            self.inner.listen();
        } else {
            self.inner.connect();
        }
        if let Some(hops) = self.hops {
            self.inner.notice(now, Notice::PathInfo { hops });
        }
        self.update(now);
    }

    /// Ends the connection if the reset names a valid connection number, or the number after it.
    fn on_reset(&mut self, reset: &Reset) {
        let near = |number: u32| reset.number.wrapping_sub(number) <= 1;
        let is_valid = match self.life.state() {
            State::Closed | State::Listen | State::Linger => false,
            State::SynSent => self.life.has_sent_syn() && !reset.is_expected && reset.number == self.ours,
            _ if reset.is_expected => near(self.theirs),
            _ => near(self.ours),
        };
        if !is_valid {
            self.dropped += 1;
        } else if self.life.state() == State::SynReceived && self.life.is_passive() {
            self.life.end();
        } else {
            self.finish(Event::Reset);
        }
    }

    /// Whether a segment with this number comes from the peer and belongs to this connection.
    fn is_of_peer(&self, number: u32) -> bool {
        let is_known = self.life.state().is_synchronised() || self.life.state() == State::SynReceived;
        is_known && number == self.theirs
    }

    /// Answers a segment of an unknown connection with a reset, if this end waits for the answer to its SYN.
    fn on_unknown(&mut self, now: Instant, number: u32) {
        self.dropped += 1;
        if self.life.state() == State::SynSent && self.refusals.allow(now, ()) {
            self.emit_reset(Reset { cause: Cause::UNKNOWN_CONNECTION, number, ..Reset::default() });
        }
    }

    /// Handles a segment that proves that the peer has both connection numbers: completes the handshake, and restarts
    /// the timeouts.
    fn on_valid(&mut self, now: Instant) {
        if self.life.state() == State::SynReceived {
            self.establish(now, None);
        }
        self.is_probing = false;
        self.life.on_segment(now);
        if self.is_waiting() {
            self.life.on_answer(now);
        }
    }

    fn on_message(&mut self, now: Instant, header: &[u8], data: Payload) {
        let capacity = self.config.capacity.max(self.inner.buffers().receive);
        let has_room = data.is_empty() || self.unread < capacity;
        // In LINGER the inner transport still acknowledges retransmitted data.
        if self.life.state().is_synchronised() && has_room {
            self.inner.receive_message(now, header, data);
        }
    }

    fn is_waiting(&self) -> bool {
        let is_closing = self.close.sent > 0 && !self.close.is_acked;
        self.is_probing || self.unacked > 0 || is_closing
    }

    /// Updates the state after either side may have closed.
    fn update(&mut self, now: Instant) {
        if self.life.set_finished(self.close.is_acked, self.has_peer_closed) {
            self.timers.stop(Timer::Close);
            self.life.start_linger(now);
        }
    }

    /// Passes queued data to the inner transport. Sends `Close` once the application has closed and the peer has
    /// acknowledged all data.
    fn pass_on(&mut self, now: Instant) {
        while self.is_open()
            && let Some(data) = self.queue.pop_front()
        {
            if self.inner.send(now, data).is_err() {
                self.abort();
            }
        }
        let is_first = self.close.sent == 0 && self.life.is_closing() && self.unacked == 0;
        if self.is_open() && (is_first || self.close.is_due) && !self.close.is_acked {
            self.close.is_due = false;
            self.close.sent = self.close.sent.saturating_add(1);
            let wait = self.retransmission_time().saturating_mul(1 << self.close.sent.min(MAX_DOUBLINGS));
            self.timers.set(Timer::Close, now + wait.min(MAX_CLOSE_WAIT));
            self.emit(custom::Segment::Close(self.ours));
        }
    }

    fn retransmission_time(&self) -> Duration {
        let measured = self.inner.round_trip().map(|round_trip| round_trip.latest).or(self.handshake);
        measured.unwrap_or(MIN_CLOSE_WAIT).max(MIN_CLOSE_WAIT)
    }

    /// Passes an event of the inner transport to the application, except the events of opening and closing.
    fn on_event(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Delivered(bytes) => {
                self.unread += bytes;
                if !self.reads {
                    self.abort();
                    return Some(Event::Reset);
                }
            }
            Event::Acked(bytes) => {
                self.unacked = self.unacked.saturating_sub(bytes);
            }
            Event::Reset | Event::TimedOut => self.abort(),
            Event::Connected | Event::Channels | Event::PeerClosed | Event::Closed => return None,
        }
        Some(event)
    }

    /// Wraps a segment of the inner transport in a message of this connection; `None` for a segment of
    /// another transport.
    fn message(&self, segment: Segment) -> Option<custom::Segment> {
        let Message { header, data } = match segment {
            Segment::Tcp(segment) => segment.into(),
            Segment::Custom(message) => message,
            Segment::Mesh(_)
            | Segment::Tpa(_)
            | Segment::Datagram(_)
            | Segment::Opened(_)
            | Segment::Udp(_) => {
                return None;
            }
        };
        let is_short = u16::try_from(header.len()).is_ok();
        is_short.then_some(custom::Segment::Message(custom::Message { number: self.ours, header, data }))
    }

    fn syn(&self, syn: lifecycle::Syn) -> custom::Segment {
        let options = Options {
            version: VERSION,
            initial_ttl: NonZeroU8::new(self.config.initial_ttl),
            ..Options::default()
        };
        let attempt = syn.answers.unwrap_or(syn.attempt);
        let answers = syn.answers.map(|_| self.theirs);
        custom::Segment::Control(Control::Syn(Syn {
            number: self.ours,
            attempt,
            answers,
            window: 0,
            options,
        }))
    }

    /// Ends the connection with this event.
    fn finish(&mut self, event: Event) {
        self.life.end();
        self.timers.stop(Timer::Close);
        self.out.push_back(Output::Event(event));
    }
}

impl Connection for Opened {
    fn listen(&mut self) {
        self.life.listen();
    }

    fn connect(&mut self) {
        self.life.connect();
    }

    fn send(&mut self, _now: Instant, data: Data) -> Result<(), SendError> {
        if self.life.is_closing() || matches!(self.life.state(), State::Closed | State::Linger) {
            return Err(SendError::Closed);
        }
        let Data::Bytes(bytes) = data else { return Err(SendError::Endless) };
        self.unacked += bytes.len() as u64;
        self.queue.push_back(Data::Bytes(bytes));
        Ok(())
    }

    fn read_into(&mut self, into: &mut [u8]) -> usize {
        // More data may have arrived than the polled events have reported.
        let unread = usize::try_from(self.unread).unwrap_or(usize::MAX);
        let max = into.len().min(unread);
        let taken = self.inner.read_into(&mut into[..max]);
        self.unread -= taken as u64;
        taken
    }

    fn set_mss(&mut self, mss: u16) {
        self.inner.set_mss(mss.saturating_sub(custom::Segment::MESSAGE_HEADER));
    }

    fn shutdown(&mut self, now: Instant) {
        match self.life.shutdown(self.unacked > 0) {
            Shutdown::NoEffect => {}
            Shutdown::Over => self.finish(Event::Closed),
            Shutdown::Closing => self.update(now),
        }
    }

    fn close(&mut self, now: Instant) {
        self.reads = false;
        if self.unread > 0 {
            self.abort();
        } else {
            self.shutdown(now);
        }
    }

    fn abort(&mut self) {
        if self.life.is_known_to_peer() {
            self.emit_reset(Reset { cause: Cause::ABORTED, number: self.theirs, ..Reset::default() });
        }
        self.life.end();
        self.timers.stop(Timer::Close);
    }

    fn connect_again(&mut self) {
        self.life.repeat_syn();
    }

    fn state(&self) -> State {
        self.life.state()
    }

    fn peer_ttl(&self) -> Option<u8> {
        self.peer_ttl.map(NonZeroU8::get)
    }

    fn gives_way_to(&self, segment: &Segment) -> bool {
        let Segment::Opened(custom::Segment::Control(Control::Syn(syn))) = segment else { return false };
        self.life.state() == State::Linger && syn.answers.is_none() && syn.number != self.theirs
    }

    fn unacked(&self) -> u64 {
        self.unacked
    }

    fn unread(&self) -> u64 {
        self.unread
    }

    fn receive(&mut self, now: Instant, segment: Segment, _trip: Option<Trip>) {
        let Segment::Opened(segment) = segment else { return };
        let number = match segment {
            custom::Segment::Control(control) => return self.on_control(now, control),
            custom::Segment::Ack(Ack { number, .. }) | custom::Segment::Close(number) => number,
            custom::Segment::Message(custom::Message { number, .. }) => number,
        };
        if !self.is_of_peer(number) {
            return self.on_unknown(now, number);
        }
        self.on_valid(now);
        match segment {
            custom::Segment::Ack(Ack { of: Acked::Close, .. }) => self.close.is_acked = self.close.sent > 0,
            custom::Segment::Ack(_) | custom::Segment::Control(_) => {}
            custom::Segment::Close(_) => {
                self.acknowledge(Acked::Close);
                if self.life.state().receives() && !self.has_peer_closed {
                    self.has_peer_closed = true;
                    self.out.push_back(Output::Event(Event::PeerClosed));
                }
            }
            custom::Segment::Message(message) => self.on_message(now, &message.header, message.data),
        }
        self.update(now);
    }

    fn notice(&mut self, now: Instant, notice: Notice) {
        if let Notice::PathInfo { hops } = notice {
            self.hops = Some(hops);
        }
        if self.is_open() {
            self.inner.notice(now, notice);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while self.life.poll_timeout().is_some_and(|at| at <= now) {
            match self.life.handle_timeout(now) {
                None => {}
                Some(Ending::TimedOut) => self.finish(Event::TimedOut),
                Some(Ending::Closed) => self.finish(Event::Closed),
            }
        }
        while let Some(Timer::Close) = self.timers.pop_expired(now) {
            self.close.is_due = true;
        }
        if self.is_open() {
            self.inner.handle_timeout(now);
        }
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        loop {
            self.pass_on(now);
            if let Some(output) = self.out.pop_front() {
                return Some(output);
            }
            if let Some(syn) = self.life.poll_syn(now) {
                self.control_sent += 1;
                return Some(Output::Segment(Segment::Opened(self.syn(syn))));
            }
            if self.life.take_keepalive() {
                self.is_probing = true;
                self.emit(custom::Segment::Control(Control::KeepAlive(self.ours.wrapping_add(1))));
                continue;
            }
            if !self.life.state().is_synchronised() {
                return None;
            }
            match self.inner.poll_output(now) {
                None => {
                    let is_waiting = self.is_waiting();
                    self.life.set_waiting(now, is_waiting);
                    return None;
                }
                Some(Output::Segment(segment)) => {
                    if let Some(message) = self.message(segment) {
                        return Some(Output::Segment(Segment::Opened(message)));
                    }
                }
                Some(Output::Event(event)) => {
                    if let Some(event) = self.on_event(event) {
                        return Some(Output::Event(event));
                    }
                }
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let inner = self.inner.poll_timeout().filter(|_| self.is_open());
        earliest(earliest(self.life.poll_timeout(), self.timers.next()), inner)
    }

    fn buffers(&self) -> Buffers {
        self.inner.buffers()
    }

    fn reuse(&mut self, memory: Vec<u8>) {
        self.inner.reuse(memory);
    }

    fn spare(&mut self) -> Option<Vec<u8>> {
        self.inner.spare()
    }

    fn is_closed(&self) -> bool {
        self.life.state() == State::Closed
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        self.inner.round_trip()
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        self.inner.quantity(index)
    }

    fn value(&self, index: usize) -> Option<Value> {
        self.inner.value(index)
    }

    fn summary(&self) -> Summary {
        let inner = self.inner.summary();
        let counters = StreamCounters {
            segments_sent: inner.counters.segments_sent + self.control_sent,
            dropped: inner.counters.dropped + self.dropped,
            ..inner.counters
        };
        Summary {
            smoothed_rtt: inner.smoothed_rtt.or(self.handshake),
            latest_rtt: inner.latest_rtt.or(self.handshake),
            counters,
            ..inner
        }
    }
}

/// Shortest and longest time before a close is retransmitted, and doublings of the first.
const MIN_CLOSE_WAIT: Duration = Duration::from_millis(200);
const MAX_CLOSE_WAIT: Duration = Duration::from_secs(60);
const MAX_DOUBLINGS: u8 = 9;
