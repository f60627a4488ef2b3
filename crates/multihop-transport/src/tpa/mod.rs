//! TPA, a transport for ad hoc networks (Anastasi, Ancillotti, Conti and Passarella, "Design and
//! performance evaluation of a transport protocol for ad hoc networks"; § numbers are its sections).
//!
//! [`TpaEnd`] is one end of one connection. Its segments are typed values, not bytes. Only the driver handles
//! addresses. Application calls are methods; after each the driver drains
//! [`poll_output`](Machine::poll_output) as after any input.

use alloc::collections::VecDeque;
use core::mem;

use multihop_core::{Instant, Machine, Notice, Payload, Timers, earliest};
use multihop_wire::tpa::{Ack, BlockSeq, Body, Options, Segment};

mod acks;
mod block;
mod config;
mod counters;
mod handshake;
mod input;
mod observed;
mod output;
mod phases;
mod receiver;
mod rtt;
mod sender;
mod state;
mod timers;
mod transmissions;

pub use config::{Config, Fill, HoldIn, PROFILES, Profile};
pub use counters::Counters;
pub use handshake::reset_for;
pub use multihop_wire::tpa::{AckPolicy, Framing};
pub use rtt::{RtoConfig, RttEstimator};
pub use state::Phase;

pub use crate::event::{Data, Event, Ports, SendError};
pub use crate::lifecycle::State;
use crate::lifecycle::{Lifecycle, Shutdown};
use crate::pacing::Pacer;
use crate::refusals::Refusals;
use crate::sendq::SendQueue;
pub(crate) use observed::OBSERVED;

use acks::Acks;
use phases::Phases;
use receiver::Receiver;
use sender::Sender;
use timers::Timer;

/// One end of a TPA connection.
#[derive(Debug)]
pub struct TpaEnd {
    config: Config,
    ports: Ports,
    life: Lifecycle,
    /// Whether the application reads what the peer sends.
    reads: bool,
    /// Options in the peer's SYN; default values before it arrives.
    peer: Options,
    /// Payload of a full segment of the next block.
    mss: u32,
    /// The longest payload that fits the path.
    path_mss: u16,
    send: Sender,
    recv: Receiver,
    acks: Acks,
    phases: Phases,
    rtt: RttEstimator,
    pacer: Option<Pacer>,
    refusals: Refusals<()>,
    timers: Timers<Timer, 6>,
    counters: Counters,
    out: VecDeque<Output>,
}

/// Input of an endpoint.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Input {
    /// A segment for this connection.
    Segment(Segment),
    /// A notice from the layers below.
    Notice(Notice),
}

/// Output of an endpoint.
pub type Output = crate::event::Output<Segment>;

impl TpaEnd {
    /// An endpoint in state `Closed`. `iss` is the number of its SYN: unpredictable on a real network.
    pub fn new(config: Config, ports: Ports, iss: BlockSeq) -> Self {
        let config = config.in_bounds();
        let iss = config.framing.block_after(iss, 0);
        Self {
            ports,
            life: Lifecycle::new(config.lifecycle()),
            reads: true,
            peer: Options::default(),
            mss: u32::from(config.mss),
            path_mss: u16::MAX,
            send: Sender::new(iss),
            recv: Receiver::new(&config),
            acks: Acks::default(),
            phases: Phases::new(),
            rtt: RttEstimator::new(config.rto),
            pacer: config.pacing.map(Pacer::new),
            refusals: Refusals::new(),
            timers: Timers::new(Timer::ALL),
            counters: Counters::default(),
            out: VecDeque::with_capacity(OUTPUTS),
            config,
        }
    }

    /// Queues data. It waits until the connection is established.
    pub fn send(&mut self, data: impl Into<Data>) -> Result<(), SendError> {
        self.open_queue().map(|queue| queue.push(data.into()))
    }

    /// Takes at most `max` bytes that have arrived in order.
    pub fn read(&mut self, max: u32) -> Payload {
        let data = self.recv.read(max);
        self.on_read();
        data
    }

    /// Takes as many bytes that have arrived in order as fit; returns how many.
    pub fn read_into(&mut self, into: &mut [u8]) -> usize {
        let taken = self.recv.read_into(into);
        self.on_read();
        taken
    }

    /// Closes this side after all queued data has been sent (an endless source stops here). Data of the peer
    /// can still be read.
    pub fn shutdown(&mut self) {
        match self.life.shutdown(self.unacked() > 0) {
            Shutdown::NoEffect => {}
            Shutdown::Over => self.finish(Event::Closed),
            Shutdown::Closing => {
                self.send.queue.finish(self.send.base + self.send.block.bytes);
                self.update_close();
            }
        }
    }

    /// Closes this side as [`shutdown`](Self::shutdown) does, and reads no more. Unread data, and data that
    /// arrives later, reset the connection.
    pub fn close(&mut self) {
        self.reads = false;
        if self.unread() > 0 {
            self.abort();
        } else {
            self.shutdown();
        }
    }

    /// Ends the connection at once with a reset to the peer.
    pub fn abort(&mut self) {
        if self.life.is_known_to_peer() {
            self.send_reset();
        }
        self.forget();
    }

    /// Limits payloads to `mss` bytes from the next block on.
    pub fn set_mss(&mut self, mss: u16) {
        self.path_mss = mss;
        let is_known = !matches!(self.state(), State::Closed | State::Listen | State::SynSent);
        let peer = if is_known { self.peer.mss } else { u16::MAX };
        self.mss = u32::from(mss.min(self.config.mss).min(peer).max(1));
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.life.state()
    }

    /// The phase of the sender.
    pub fn phase(&self) -> Phase {
        self.phases.phase
    }

    /// Ports of both ends of the connection.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// Configuration with which the endpoint was made.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Counters of the endpoint since it was made.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Round-trip time, its newest sample, and the retransmission timeout.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The state of adaptive pacing; `None` if it is off.
    pub fn pacer(&self) -> Option<&Pacer> {
        self.pacer.as_ref()
    }

    /// Number of segments in flight.
    pub fn flight(&self) -> u8 {
        self.send.block.in_flight.len()
    }

    /// The limit of segments in flight: the smaller of the congestion window and the peer's window.
    pub fn window(&self) -> u8 {
        self.allowed()
    }

    /// Payload bytes of a full segment of the next block.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Bytes queued and not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.send.queue.end() - self.send.base - self.send.acked
    }

    /// Bytes that wait to be read.
    pub fn unread(&self) -> u64 {
        self.recv.unread()
    }

    /// Sends a window update if the peer may be waiting for one.
    fn on_read(&mut self) {
        if self.recv.advertised == 0 && self.recv.window() > 0 && self.state().receives() {
            self.acks.ask_anyway();
        }
    }

    /// The send queue; an error if the application may no longer send.
    fn open_queue(&mut self) -> Result<&mut SendQueue, SendError> {
        let is_open = !self.life.is_closing() && !matches!(self.state(), State::Closed | State::Linger);
        self.send.queue.if_open(is_open)
    }

    /// Updates the state after either side may have closed.
    fn update_state(&mut self, now: Instant) {
        if self.update_close() {
            for timer in Timer::ALL.into_iter().filter(|&timer| timer != Timer::Ack) {
                self.timers.stop(timer);
            }
            self.life.start_linger(now);
        }
    }

    /// Sets the state from what both sides have closed; returns whether the connection is closed.
    fn update_close(&mut self) -> bool {
        self.life.set_finished(self.send.fin_acked(), self.recv.finished)
    }

    /// Ends the connection if the reset names this end's current or previous block.
    fn on_reset(&mut self, reset: &Segment) {
        let distance = reset.ack.map(|ack| self.config.framing.distance(self.sending(), ack.block));
        if self.state() == State::Linger || !distance.is_some_and(|distance| (-1..=0).contains(&distance)) {
            self.counters.dropped += 1;
        } else if self.state() == State::SynReceived && self.life.is_passive() {
            self.listen_again();
        } else {
            self.finish(Event::Reset);
        }
    }

    /// Returns to the state LISTEN: discards the peer's state, but keeps the application's requests and the path.
    fn listen_again(&mut self) {
        let fresh = Self::new(self.config.clone(), self.ports, self.send.iss);
        let old = mem::replace(self, fresh);
        (self.counters, self.send.queue) = (old.counters, old.send.queue);
        (self.reads, self.pacer) = (old.reads, old.pacer);
        self.set_mss(old.path_mss);
        self.listen();
        if old.life.is_closing() {
            self.shutdown();
        }
    }

    fn send_reset(&mut self) {
        let ack = Ack { block: self.receiving(), ..Ack::default() };
        let reset = self.plain(Body::Reset, Some(ack));
        self.emit_segment(reset);
    }

    /// Ends the connection and reports the event.
    fn finish(&mut self, event: Event) {
        self.forget();
        self.emit(event);
    }

    fn forget(&mut self) {
        self.life.end();
        for timer in Timer::ALL {
            self.timers.stop(timer);
        }
    }

    fn emit(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }
}

impl Machine for TpaEnd {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Segment(segment) => self.handle_segment(now, segment),
            Input::Notice(notice) => self.on_notice(now, &notice),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        loop {
            let (ours, lifes) = (self.timers.next(), self.life.poll_timeout());
            if lifes.is_some_and(|at| at <= now && ours.is_none_or(|ours| at < ours)) {
                self.on_lifecycle_timeout(now);
            } else if let Some(timer) = self.timers.pop_expired(now) {
                self.on_timer(now, timer);
            } else {
                return;
            }
        }
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        if let Some(output) = self.out.pop_front() {
            return Some(output);
        }
        let segment = self.next_segment(now);
        if segment.is_none() {
            self.rearm(now);
        }
        segment.map(Output::Segment)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.timers.next(), self.life.poll_timeout())
    }
}

/// Initial capacity for outputs: enough for the events and replies of one input.
const OUTPUTS: usize = 4;
