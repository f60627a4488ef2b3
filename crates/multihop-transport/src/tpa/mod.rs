//! TPA, a transport for ad hoc networks (Anastasi, Ancillotti, Conti and Passarella, "Design and
//! performance evaluation of a transport protocol for ad hoc networks"; § numbers are its sections).
//!
//! [`Endpoint`] is one end of one connection. It speaks in typed segments, never in bytes, and
//! knows no addresses: those are the driver's business. Application calls are methods; after each
//! the driver drains [`poll_output`](Machine::poll_output) as after any input.
//!
//! Settings, counters and calls stand; the machine behind them is under construction.

use alloc::collections::VecDeque;

use multihop_core::{Instant, Machine, Notice, Payload};
use multihop_wire::tpa::{BlockSeq, Segment};

mod config;
mod counters;
mod rtt;
mod state;

pub use config::{Config, Fill};
pub use counters::Counters;
pub use multihop_wire::tpa::{AckPolicy, Framing};
pub use rtt::{RtoConfig, RttEstimator};
pub use state::{Phase, State};

pub use crate::connection::{Event, Ports, SendError};
use crate::pacing::Pacer;

/// One end of a TPA connection.
#[derive(Debug)]
pub struct Endpoint {
    config: Config,
    ports: Ports,
    state: State,
    iss: BlockSeq,
    rtt: RttEstimator,
    pacer: Option<Pacer>,
    counters: Counters,
    out: VecDeque<Output>,
}

/// What an endpoint takes from outside.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Input {
    /// A segment for this connection.
    Segment(Segment),
    /// News from the layers below.
    Notice(Notice),
}

/// What an endpoint gives to outside.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Output {
    /// A segment for the peer.
    Segment(Segment),
    /// Something the application may want to know.
    Event(Event),
}

impl Endpoint {
    /// An endpoint in state `Closed`. `iss` is the number of its SYN: unpredictable on a real network.
    pub fn new(config: Config, ports: Ports, iss: BlockSeq) -> Self {
        let config = config.in_bounds();
        Self {
            ports,
            state: State::Closed,
            iss,
            rtt: RttEstimator::new(config.rto),
            pacer: config.pacing.map(Pacer::new),
            counters: Counters::default(),
            out: VecDeque::new(),
            config,
        }
    }

    /// Opens the connection.
    pub fn connect(&mut self) {}

    /// Waits for the peer to open the connection.
    pub fn listen(&mut self) {}

    /// Queues data. Before the connection stands it waits.
    pub fn send(&mut self, _data: Payload) -> Result<(), SendError> {
        Err(SendError::Closed)
    }

    /// Queues `n` virtual bytes.
    pub fn send_virtual(&mut self, _n: u64) -> Result<(), SendError> {
        Err(SendError::Closed)
    }

    /// Sends virtual bytes until [`close`](Self::close) or [`shutdown`](Self::shutdown).
    pub fn send_forever(&mut self) -> Result<(), SendError> {
        Err(SendError::Closed)
    }

    /// Takes at most `max` bytes that have arrived in order.
    pub fn read(&mut self, _max: u32) -> Payload {
        Payload::EMPTY
    }

    /// Closes our side once everything queued has been sent (an endless source stops here); what the
    /// peer sends can still be read.
    pub fn shutdown(&mut self) {}

    /// Closes our side as [`shutdown`](Self::shutdown) does, and reads no more: data that waits to be
    /// read, or arrives later, resets the connection.
    pub fn close(&mut self) {}

    /// Ends the connection now and tells the peer.
    pub fn abort(&mut self) {}

    /// From the next block on, payloads have at most `mss` bytes. A segment that is longer already
    /// has its number, and must be sent in fragments.
    pub fn set_mss(&mut self, _mss: u16) {}

    /// Where the connection is.
    pub fn state(&self) -> State {
        self.state
    }

    /// What the sender takes the network to be like.
    pub fn phase(&self) -> Phase {
        Phase::Normal
    }

    /// Both ports.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What has been counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Round-trip time, its newest sample, and the retransmission timeout.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Adaptive pacing, if it is on.
    pub fn pacer(&self) -> Option<&Pacer> {
        self.pacer.as_ref()
    }

    /// The congestion window in segments.
    pub fn cwnd(&self) -> u8 {
        self.config.cwnd_max
    }

    /// Segments in flight.
    pub fn flight(&self) -> u8 {
        0
    }

    /// What may be in flight: the least of the congestion window and the peer's.
    pub fn window(&self) -> u8 {
        0
    }

    /// Payload bytes of a full segment of the next block.
    pub fn mss(&self) -> u32 {
        u32::from(self.config.mss)
    }

    /// Bytes queued and not acknowledged.
    pub fn unacked(&self) -> u64 {
        0
    }

    /// Bytes that wait to be read.
    pub fn unread(&self) -> u64 {
        0
    }
}

impl Machine for Endpoint {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, _now: Instant, _input: Input) {
        let _ = self.iss;
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_output(&mut self, _now: Instant) -> Option<Output> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
