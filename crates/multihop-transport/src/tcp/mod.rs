//! TCP (RFC 9293) as a state machine. Congestion control is exchangeable: see
//! [`congestion`](crate::congestion).
//!
//! [`TcpEnd`] is one end of one connection. Its segments are typed values, not bytes. Only the driver handles
//! addresses. Application calls are methods; after each the driver drains
//! [`poll_output`](Machine::poll_output) as after any input.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use multihop_core::{Instant, Machine, Notice, Payload, Timers};
use multihop_wire::tcp::{Segment, SeqNumber};

mod ack;
mod adtcp;
mod ato;
mod config;
mod counters;
mod ecn;
mod elfn;
mod handshake;
mod input;
mod losses;
mod observed;
mod outage;
mod output;
mod pace;
mod prr;
mod rack;
mod receiver;
mod recovery;
mod recvq;
mod report;
mod scoreboard;
mod sender;
mod sequence;
mod spacing;
mod standby;
mod state;
mod timer;
mod timers;
mod transmissions;
mod undo;

pub use crate::congestion::start::{Halving, NewRenoConfig, PartialAckTimer, RecoveryExit};
pub use adtcp::{AdtcpConfig, DensityConfig, Identify, Level, Levels, Values};
pub use config::{AckRule, Config, DelayedAck, PRESETS, Preset, window_for_hops};
pub use counters::Counters;
pub use outage::{Ending, Exit, Probe, ProbeInterval, Probing, Restore, Standby};
pub use pace::{Pacing, RoundTrips};
pub use state::{Phase, State};

pub use crate::event::{Data, Event, Ports, SendError, Trip};

use crate::congestion::Congestion;
use crate::pacing::Pacer;
use crate::rtt::RttEstimator;
use crate::sendq::SendQueue;
pub(crate) use adtcp::OBSERVED as OBSERVED_OF_ADTCP;
pub(crate) use observed::OBSERVED;

use ack::AckState;
use adtcp::Meter;
use ecn::Marks;
use losses::Recovery;
use outage::Waiting;
use pace::Pace;
use rack::Rack;
use receiver::Receiver;
use scoreboard::Scoreboard;
use sender::Sender;
use timer::Timer;
use transmissions::Transmissions;
use undo::Undo;

/// One end of a TCP connection.
#[derive(Debug)]
pub struct TcpEnd {
    config: Config,
    ports: Ports,
    state: State,
    /// Whether the connection began by listening.
    passive: bool,
    /// Whether the application has closed its side.
    closing: bool,
    /// Payload bytes of a full segment.
    mss: u32,
    /// Whether this end wants selective acknowledgement; after the peer's SYN, whether both ends do.
    sack: bool,
    /// Whether this end wants timestamps; after the peer's SYN, whether both ends do.
    timestamps: bool,
    /// Whether this end wants window scaling; after the peer's SYN, whether both ends do.
    scaling: bool,
    /// The newest timestamp of the peer (RFC 7323 §4.3, `TS.Recent`).
    peer_timestamp: u32,
    syn_lost: bool,
    send: Sender,
    recv: Receiver,
    ack: AckState,
    /// ADTCP's measurements; `None` unless the peer's segments have timestamps.
    meter: Option<Box<Meter>>,
    rtt: RttEstimator,
    /// The segment whose round trip is being timed: its end position and its departure time.
    timed: Option<(u64, Instant)>,
    /// Number of retransmissions since the last segment of the peer.
    retries: u16,
    /// Departure of the newest data segment.
    last_data: Option<Instant>,
    congestion: Congestion,
    pace: Option<Pace>,
    recovery: Recovery,
    /// List of transmitted segments. Only exists if losses are detected by time (RACK), or the congestion control measures
    /// rates.
    transmissions: Option<Box<Transmissions>>,
    rack: Rack,
    /// The last reduction of the window; `None` if it can no longer be undone.
    undo: Option<Undo>,
    marks: Marks,
    /// Earliest departure of the next data segment; only with a congestion control that paces.
    departs: Instant,
    /// State of stand-by; `None` unless the path is considered lost.
    waiting: Option<Waiting>,
    timers: Timers<Timer, 8>,
    counters: Counters,
    out: VecDeque<Output>,
}

/// Input of an endpoint.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Input {
    /// A segment for this connection.
    Segment(Segment),
    /// A segment for this connection, with the parts of the round trip that the segment completes.
    Timed(Segment, Trip),
    /// A notice from the layers below.
    Notice(Notice),
}

/// Output of an endpoint.
pub type Output = crate::event::Output<Segment>;

impl TcpEnd {
    /// An endpoint in state `Closed`. `iss` is the number of its SYN: unpredictable on a real
    /// network (RFC 6528), and not used when the handshake is off.
    pub fn new(config: Config, ports: Ports, iss: SeqNumber) -> Self {
        let iss = if config.handshake { iss } else { SeqNumber(0) };
        let mss = u32::from(config.mss.max(1));
        Self {
            ports,
            state: State::Closed,
            passive: false,
            closing: false,
            mss,
            sack: config.sack,
            timestamps: config.timestamps.is_some(),
            scaling: config.window_scale() > 0,
            peer_timestamp: 0,
            syn_lost: false,
            send: Sender::new(iss),
            recv: Receiver::new(&config),
            ack: AckState::new(&config),
            meter: None,
            rtt: RttEstimator::new(config.rto),
            timed: None,
            retries: 0,
            last_data: None,
            congestion: Congestion::new(&config.congestion, &config.start(mss, config.initial_window)),
            pace: config.pacing.as_ref().map(Pace::new),
            recovery: Recovery::default(),
            transmissions: None,
            rack: Rack::default(),
            undo: None,
            marks: Marks::new(config.uses_marks()),
            departs: Instant::ZERO,
            waiting: None,
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
        let data = self.recv.queue.read(max);
        self.offer_window();
        data
    }

    /// Closes this side once everything queued has been sent (an endless source stops here).
    pub fn close(&mut self) {
        if self.closing {
            return;
        }
        match self.state {
            State::Closed => {}
            // Unlike in RFC 9293 §3.10.4, data that was queued early is still sent.
            State::Listen | State::SynSent if self.unacked() == 0 => self.finish(Event::Closed),
            state => {
                self.closing = true;
                self.send.queue.finish(self.send.max);
                self.state = match state {
                    State::Established => State::FinWait1,
                    State::CloseWait => State::LastAck,
                    other => other,
                };
            }
        }
    }

    /// Ends the connection at once with a reset to the peer.
    pub fn abort(&mut self) {
        if self.state.is_synchronised() || self.state == State::SynReceived {
            let reset = self.reset_segment();
            self.emit_segment(reset);
        }
        self.forget();
    }

    /// Limits segments, header included, to the length that the path can transmit.
    pub fn set_path_max(&mut self, len: u16) {
        let has_lists = self.config.sack || self.config.is_adtcp();
        let header = HEADER_LEN + if has_lists { OPTIONS_LEN } else { 0 };
        self.config.mss = self.config.mss.min(len.saturating_sub(header)).max(1);
        self.mss = self.mss.min(u32::from(self.config.mss));
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.state
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

    /// The congestion window in bytes, without the inflation by duplicate ACKs.
    pub fn cwnd(&self) -> u32 {
        self.congestion.control().window().cwnd()
    }

    /// The slow-start threshold in bytes.
    pub fn ssthresh(&self) -> u32 {
        self.congestion.control().window().ssthresh()
    }

    /// The state of the congestion control.
    pub fn phase(&self) -> Phase {
        if self.waiting.is_some() {
            Phase::StandBy
        } else if self.recovery.active {
            Phase::FastRecovery
        } else if self.cwnd() < self.ssthresh() {
            Phase::SlowStart
        } else {
            Phase::CongestionAvoidance
        }
    }

    /// Name of the congestion control's own state, or of its [`phase`](Self::phase).
    pub fn state_name(&self) -> &'static str {
        let own = self.congestion.control().state().filter(|_| self.waiting.is_none());
        own.unwrap_or_else(|| self.phase().name())
    }

    /// Pacing rate of the congestion control in bytes per second; `None` if it does not pace.
    pub fn pacing_rate(&self) -> Option<u64> {
        self.congestion.control().pacing_rate()
    }

    /// The state of adaptive pacing; `None` if it is off.
    pub fn pacer(&self) -> Option<&Pacer> {
        self.pace.as_ref().map(|pace| &pace.pacer)
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Number of sequence numbers sent and not acknowledged. After a timeout only retransmitted ones count.
    pub fn flight(&self) -> u32 {
        u32::try_from(self.send.next - self.send.una).unwrap_or(u32::MAX)
    }

    /// Bytes that may be in flight: the least of the congestion window inflated by duplicate ACKs, the clamp,
    /// and the peer's window.
    pub fn window(&self) -> u32 {
        self.congestion.control().window().total().min(self.bound())
    }

    /// Bytes queued and not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.send.queue.end() - self.send.una.clamp(1, self.send.queue.end())
    }

    /// Bytes that wait to be read.
    pub fn unread(&self) -> u64 {
        self.recv.queue.unread()
    }

    fn handle_timed(&mut self, now: Instant, segment: Segment, trip: Trip) {
        if let Some(pace) = &mut self.pace {
            pace.trip = Some(trip);
        }
        self.handle_segment(now, segment);
        if let Some(pace) = &mut self.pace {
            pace.trip = None;
        }
    }

    fn handle_notice(&mut self, now: Instant, notice: &Notice) {
        match notice {
            Notice::LinkFailed(lost) => self.on_link_failed(now, *lost),
            Notice::PathInfo { hops } => self.on_path_length(*hops),
            Notice::RouteLost | Notice::RouteRestored => {}
        }
        self.congestion.control_mut().on_notice(now, notice);
    }

    fn on_path_length(&mut self, hops: u8) {
        if let Some(pace) = &mut self.pace {
            pace.pacer.set_hops(hops);
        }
        if self.config.window_by_hops {
            self.config.window_max = window_for_hops(u32::from(hops));
            let max = u32::from(self.config.window_max).saturating_mul(self.mss);
            self.congestion.control_mut().window_mut().set_max(max);
        }
    }

    /// The send queue; an error if the application may no longer send.
    fn open_queue(&mut self) -> Result<&mut SendQueue, SendError> {
        let is_open = !self.closing && !matches!(self.state, State::Closed | State::TimeWait);
        self.send.queue.if_open(is_open)
    }

    /// Ends the connection, with this event for the application.
    fn finish(&mut self, event: Event) {
        self.forget();
        self.emit(event);
    }

    fn forget(&mut self) {
        self.state = State::Closed;
        self.waiting = None;
        for timer in Timer::ALL {
            self.timers.stop(timer);
        }
        self.ack.on_sent();
        self.recovery.board = Scoreboard::default();
        self.transmissions = None;
        self.undo = None;
        self.send.queue.forget();
        self.recv.queue.forget();
    }

    fn emit(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }
}

impl Machine for TcpEnd {
    type Input = Input;
    type Output = Output;

    fn handle(&mut self, now: Instant, input: Input) {
        match input {
            Input::Segment(segment) => self.handle_segment(now, segment),
            Input::Timed(segment, trip) => self.handle_timed(now, segment, trip),
            Input::Notice(notice) => self.handle_notice(now, &notice),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.pop_expired(now) {
            self.on_timer(now, timer);
        }
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        if let Some(output) = self.out.pop_front() {
            return Some(output);
        }
        self.next_segment(now).map(Output::Segment)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }
}

/// Initial capacity for outputs: enough for the events and replies of one input.
const OUTPUTS: usize = 4;
/// Bytes of a header without options, and of the longest options.
const HEADER_LEN: u16 = 20;
const OPTIONS_LEN: u16 = 40;

#[cfg(test)]
mod tests;
