//! The transport `mesh`: a paced window that follows the queueing delay of data, with few ACKs.
//!
//! [`MeshEnd`] is one end of a connection; it implements [`Connection`](crate::connection::Connection).
//! docs/models/mesh.md describes the design, docs/wire.md the segments.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU16;

use multihop_core::{Duration, Instant, Payload, Timers, earliest};
use multihop_wire::control::{Cause, Control as ControlSegment, Options, Reset};
use multihop_wire::mesh::{Data as Wire, Segment};

mod config;
mod control;
mod counters;
mod handshake;
mod input;
mod lowest;
mod numbers;
mod observed;
mod receiver;
mod sender;

pub use config::Config;
pub use control::{Control, Report};
pub use counters::Counters;
pub use handshake::NAME;
pub use input::reset_for;

use crate::connection::Buffers;
use crate::event::{Data, Event, SendError};
use crate::lifecycle::{Ending, Lifecycle, Shutdown, State};
use crate::pool::{Pool, Share};
use crate::refusals::Refusals;
use crate::rtt::RttEstimator;
pub(crate) use observed::OBSERVED;

use receiver::Receiver;
use sender::Sender;

/// Output of an end.
pub type Output = crate::event::Output<Segment>;

/// One end of a connection.
#[derive(Debug)]
pub struct MeshEnd {
    config: Config,
    port: u16,
    life: Lifecycle,
    /// Whether the application reads what the peer sends.
    reads: bool,
    /// What the peer announced in its SYN.
    peer: Options,
    /// The reset that ended the connection.
    reset: Option<Reset>,
    refusals: Refusals<()>,
    /// Whether the SYN was repeated after a notice, and its timer has not expired since.
    is_syn_repeated: bool,
    /// Whether a keepalive has left that the peer has not answered.
    asked: bool,
    /// The longest payload that fits the path.
    path_mss: u16,
    /// Payload of a full segment.
    mss: u32,
    send: Sender,
    /// Bytes that the application may queue, if that is more than others may.
    send_buffer: u64,
    share: Share,
    recv: Receiver,
    control: Control,
    rtt: RttEstimator,
    /// When the newest ACK arrived.
    heard: Instant,
    /// When the next segment may leave.
    pace: Instant,
    /// Only probes leave until a transmission from this one on is acknowledged.
    frozen: Option<u64>,
    /// A probe must leave.
    probe_due: bool,
    /// Whether a probe has left since the sender froze.
    probed: bool,
    /// The longest time that the ACK of the newest transmission may wait.
    hold: Duration,
    timers: Timers<Timer, 4>,
    counters: Counters,
    out: VecDeque<Output>,
}

/// The timers of an end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Timer {
    Ack,
    Pace,
    /// A segment that a later one has overtaken counts as lost.
    Loss,
    /// Nothing was heard for a timeout.
    Silence,
}

impl Timer {
    const ALL: [Self; 4] = [Self::Ack, Self::Pace, Self::Loss, Self::Silence];
}

impl MeshEnd {
    /// One end of a flow with this number as both ports. `number` is its connection number: unpredictable on a real
    /// network.
    pub fn new(config: Config, port: u16, number: u32) -> Self {
        Self::with_pool(config, port, number, None)
    }

    /// One end of a flow, with buffers that grow as long as there is something in this pool.
    pub fn with_pool(config: Config, port: u16, number: u32, pool: Option<Pool>) -> Self {
        let config = config.in_bounds();
        Self {
            port,
            life: Lifecycle::new(config.lifecycle()),
            reads: true,
            peer: Options::default(),
            reset: None,
            refusals: Refusals::new(),
            is_syn_repeated: false,
            asked: false,
            path_mss: u16::MAX,
            mss: u32::from(config.mss),
            send: Sender::new(number),
            send_buffer: 0,
            share: Share::of(pool.clone()),
            recv: Receiver::new(&config, Share::of(pool)),
            control: Control::new(&config),
            rtt: RttEstimator::new(config.rto()),
            heard: Instant::ZERO,
            pace: Instant::ZERO,
            frozen: None,
            probe_due: false,
            probed: false,
            hold: Duration::ZERO,
            timers: Timers::new(Timer::ALL),
            counters: Counters::default(),
            out: VecDeque::with_capacity(4),
            config,
        }
    }

    /// Queues data. It waits until the connection is established.
    pub fn send(&mut self, data: Data) -> Result<(), SendError> {
        let is_open = !self.life.is_closing() && !matches!(self.state(), State::Closed | State::Linger);
        self.send.queue.if_open(is_open).map(|queue| queue.push(data))
    }

    /// Closes this side once everything queued has been sent (an endless source stops here); what the peer sends can
    /// still be read.
    pub fn shutdown(&mut self) {
        match self.life.shutdown(self.unacked() > 0) {
            Shutdown::NoEffect => {}
            Shutdown::Over => self.finish(Event::Closed),
            Shutdown::Closing => {
                self.send.finish();
                self.life.set_finished(false, self.recv.is_finished);
            }
        }
    }

    /// Closes this side as [`shutdown`](Self::shutdown) does, and reads no more: data that waits to be read, or arrives
    /// later, resets the connection.
    pub fn close(&mut self) {
        self.reads = false;
        if self.unread() > 0 {
            self.abort();
        } else {
            self.shutdown();
        }
    }

    /// Ends the connection now and tells the peer.
    pub fn abort(&mut self) {
        if self.life.is_known_to_peer() {
            self.send_reset();
        }
        self.forget();
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.life.state()
    }

    /// What the peer announced in its SYN; before that, nothing.
    pub fn peer(&self) -> &Options {
        &self.peer
    }

    /// The reset or refusal of the peer that ended the connection.
    pub fn reset(&self) -> Option<&Reset> {
        self.reset.as_ref()
    }

    /// Bytes queued and not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.send.unacked()
    }

    /// Takes at most `max` bytes that have arrived in order.
    pub fn read(&mut self, max: u32) -> Payload {
        self.recv.read(|unread| unread.read(max))
    }

    /// Takes as many bytes that have arrived in order as fit; returns how many.
    pub fn read_into(&mut self, into: &mut [u8]) -> usize {
        self.recv.read(|unread| unread.read_into(into))
    }

    /// Takes memory for the next segment.
    pub fn reuse(&mut self, memory: Vec<u8>) {
        self.send.memory = Some(memory);
    }

    /// The memory of a segment that has arrived.
    pub fn spare(&mut self) -> Option<Vec<u8>> {
        self.recv.memory.take()
    }

    /// New segments have at most this payload.
    pub fn set_mss(&mut self, mss: u16) {
        self.path_mss = mss;
        self.update_mss();
        self.recv.set_mss(u32::from(mss.min(self.config.mss).max(1)));
    }

    /// New segments have no more payload than this end, the path and the peer allow.
    fn update_mss(&mut self) {
        let peer = self.peer.mss.map_or(u16::MAX, NonZeroU16::get);
        self.mss = u32::from(self.path_mss.min(self.config.mss).min(peer).max(1));
    }

    /// Runs every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.pop_expired(now) {
            match timer {
                Timer::Ack | Timer::Pace => {}
                Timer::Loss => self.find_losses(now),
                Timer::Silence => self.on_silence(),
            }
        }
        while self.life.poll_timeout().is_some_and(|at| at <= now) {
            self.on_lifecycle_timeout(now);
        }
    }

    fn on_lifecycle_timeout(&mut self, now: Instant) {
        self.is_syn_repeated = false;
        match self.life.handle_timeout(now) {
            None => {}
            Some(Ending::TimedOut) => self.finish(Event::TimedOut),
            Some(Ending::Closed) => self.finish(Event::Closed),
        }
    }

    /// The next segment or event.
    pub fn poll_output(&mut self, now: Instant) -> Option<Output> {
        if let Some(output) = self.out.pop_front() {
            return Some(output);
        }
        let segment = self.next_segment(now);
        if segment.is_none() {
            self.arm(now);
        }
        segment.map(Output::Segment)
    }

    fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        if !self.state().is_synchronised() {
            return self.life.poll_syn(now).map(|syn| self.syn(syn));
        }
        if let Some(ack) = self.recv.ack(now) {
            self.counters.acks += 1;
            return Some(Segment::Ack(ack));
        }
        if self.life.take_keepalive() {
            self.asked = true;
            return Some(Segment::Control(ControlSegment::KeepAlive(self.send.next_number())));
        }
        self.next_data(now).map(Segment::Data)
    }

    /// The next deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.timers.next(), self.life.poll_timeout())
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Round trips without the time for which ACKs were held.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// The congestion window, in segments; may be below 1.
    pub fn window(&self) -> f64 {
        self.control.window()
    }

    /// Largest number of segments in flight.
    pub fn flight_limit(&self) -> usize {
        // Segments whose ACK the peer may hold are on the path no longer; half as many for an ACK that is late.
        let every = usize::from(self.every());
        let held = if self.control.is_starting() { 0 } else { every + every / 2 };
        self.whole_window() + held
    }

    /// Payload of a full segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Segments in flight.
    pub fn flight(&self) -> usize {
        self.send.in_flight()
    }

    /// Bytes that have arrived and wait to be read.
    pub fn unread(&self) -> u64 {
        self.recv.unread()
    }

    /// What this end may keep.
    pub fn buffers(&self) -> Buffers {
        Buffers { send: self.send_buffer, receive: self.recv.buffer() }
    }

    /// Whether everything queued has been acknowledged, FIN included.
    pub fn is_idle(&self) -> bool {
        self.send.is_empty() && !self.send.has_data()
    }

    /// The smallest time between two segments, once a round trip is known.
    pub fn gap(&self) -> Option<Duration> {
        self.control.gap()
    }

    /// What the sender does, for time series.
    pub fn phase(&self) -> &'static str {
        match (self.frozen, self.control.is_starting()) {
            (Some(_), _) => "freeze",
            (None, true) => "start",
            (None, false) => "normal",
        }
    }

    /// Lets the application queue what the path carries in some round trips: one on the way, others for segments that
    /// are lost more than once, and for a rate that still grows.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as saturates")]
    fn grow(&mut self) {
        let Some(carried) = self.control.carried() else { return };
        let wanted = (QUEUED_ROUNDS * carried).min(f64::from(self.config.window_max) * 2.0) as u64;
        let wanted = wanted * u64::from(self.mss);
        if wanted > self.send_buffer {
            // In steps, because the rate changes with every ACK.
            let wanted = wanted.next_power_of_two();
            if self.share.grow(wanted - self.send_buffer) {
                self.send_buffer = wanted;
            }
        }
    }

    fn find_losses(&mut self, now: Instant) {
        let Some(latest) = self.rtt.latest() else { return };
        let patience =
            latest.max(self.rtt.srtt().unwrap_or(latest)) + self.control.base().unwrap_or(latest) / 4;
        match self.send.find_losses(now, patience) {
            Some(at) => self.timers.set(Timer::Loss, at),
            None => self.timers.stop(Timer::Loss),
        }
    }

    /// Nothing was heard for a timeout: probes, and no data until the peer answers one.
    fn on_silence(&mut self) {
        // What silenced the data may have silenced the first probe too, and be over.
        if self.frozen.is_some() || self.send.is_empty() {
            self.rtt.back_off();
        }
        self.probe_due = true;
        if !self.send.is_empty() {
            self.counters.timeouts += 1;
            if self.frozen.is_none() {
                self.control.on_timeout();
                self.freeze();
            }
        }
    }

    fn freeze(&mut self) {
        if self.frozen.is_none() && !self.send.is_empty() {
            self.frozen = Some(self.send.transmissions());
            self.counters.freezes += 1;
            self.probed = false;
            // Probes are acknowledged at once.
            self.timers.stop(Timer::Silence);
        }
    }

    /// After a notice: routing that searches on demand does so when there is a packet to carry.
    fn freeze_and_probe(&mut self) {
        self.freeze();
        self.probe_due |= self.frozen.is_some() && !self.probed;
    }

    fn next_data(&mut self, now: Instant) -> Option<Wire> {
        if self.probe_due {
            self.probe_due = false;
            self.counters.probes += 1;
            // The first one may be all that is missing; copies of it would wait where a route is searched for.
            let probe = self.send.probe(now, !self.probed);
            self.probed = self.frozen.is_some();
            self.count(&probe, true);
            return Some(self.leave(now, probe));
        }
        if !self.may_send() || self.pace > now {
            return None;
        }
        let (data, is_retransmitted) = self.send.next(now, self.mss)?;
        self.count(&data, is_retransmitted);
        Some(self.leave(now, data))
    }

    fn may_send(&self) -> bool {
        self.frozen.is_none() && self.send.can_send() && self.send.in_flight() < self.flight_limit()
    }

    fn count(&mut self, data: &Wire, is_retransmitted: bool) {
        if !data.payload.is_empty() {
            self.counters.sent += 1;
            self.counters.retransmitted += u64::from(is_retransmitted);
        }
    }

    /// Completes a segment that leaves now.
    fn leave(&mut self, now: Instant, data: Wire) -> Wire {
        let gap = self.control.gap().unwrap_or(Duration::ZERO);
        // What was not used may be made up for, but only little of it.
        let earliest = (now + gap).saturating_since(Instant::ZERO + BURST);
        self.pace = (self.pace + gap).max(Instant::ZERO + earliest) + self.control.drain(now);
        self.timers.stop(Timer::Silence);
        let every = self.every();
        self.hold = (gap * u64::from(every)).min(self.config.ack_hold);
        let hold = u16::try_from(self.hold.as_micros() / 100).unwrap_or(u16::MAX);
        // The last segment, or the last that the window allows: nothing follows that would cause an ACK.
        let ask = data.ask || !self.send.can_send() || self.send.in_flight() >= self.flight_limit();
        Wire { ask, more: self.send.is_held_back(), every, hold, ..data }
    }

    /// Segments for which one ACK is requested: a quarter of a round trip on fast paths.
    fn every(&self) -> u8 {
        if self.control.is_starting() {
            return 1;
        }
        let quarter = u8::try_from(self.whole_window() / 4).unwrap_or(u8::MAX);
        let most = MAX_PER_ACK.max(self.config.ack_every);
        quarter.clamp(self.least_per_ack().min(most), most)
    }

    /// The same on paths with few segments in a round trip.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as saturates")]
    fn least_per_ack(&self) -> u8 {
        self.control.every() as u8
    }

    /// The shortest wait for the pace: several segments that are due within it leave together.
    fn pause(&self) -> Duration {
        let is_fast = self.control.gap().is_some_and(|gap| gap * MIN_TOGETHER <= TOGETHER);
        if is_fast { TOGETHER } else { Duration::ZERO }
    }

    /// The window, rounded up.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by window_max")]
    fn whole_window(&self) -> usize {
        let window = self.control.window();
        let whole = window as usize;
        whole + usize::from(window > whole as f64)
    }

    /// How long to wait for an ACK that is not held.
    fn timeout(&self) -> Duration {
        let usual = self.rtt.srtt().unwrap_or_default() + self.rtt.rttvar() * 4;
        self.rtt.rto().min(self.config.rto_max.max(usual))
    }

    /// Sets the timers when nothing more leaves.
    fn arm(&mut self, now: Instant) {
        if !self.state().is_synchronised() {
            return;
        }
        match self.recv.due() {
            Some(due) => self.timers.set(Timer::Ack, due),
            None => self.timers.stop(Timer::Ack),
        }
        match self.may_send() && self.pace > now {
            true => self.timers.set(Timer::Pace, self.pace.max(now + self.pause())),
            false => self.timers.stop(Timer::Pace),
        }
        let waits = !self.send.is_empty() || (self.send.has_data() && !self.send.can_send());
        if !waits {
            self.timers.stop(Timer::Silence);
        } else if self.timers.at(Timer::Silence).is_none() {
            let hold = if self.frozen.is_some() { Duration::ZERO } else { self.hold };
            self.timers.set(Timer::Silence, now + self.timeout() + hold);
        }
        self.life.set_waiting(now, waits || self.asked);
    }

    /// Updates the state after either side may have closed.
    fn update_state(&mut self, now: Instant) {
        let may_have_closed = self.life.is_closing() || self.recv.is_finished;
        if may_have_closed && self.life.set_finished(self.send.is_fin_acked(), self.recv.is_finished) {
            self.life.start_linger(now);
        }
    }

    fn send_reset(&mut self) {
        let number = self.recv.next();
        self.emit_control(ControlSegment::Reset(Reset { cause: Cause::ABORTED, number, ..Reset::default() }));
    }

    fn emit_control(&mut self, control: ControlSegment) {
        self.out.push_back(Output::Segment(Segment::Control(control)));
    }

    fn emit(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }

    /// The connection is gone.
    fn finish(&mut self, event: Event) {
        self.forget();
        self.emit(event);
    }

    fn forget(&mut self) {
        self.life.end();
        Timer::ALL.into_iter().for_each(|timer| self.timers.stop(timer));
    }
}

/// Between two batches of segments, half of what may be made up for.
const TOGETHER: Duration = Duration::from_micros(500);
/// Segments of a batch, at least.
const MIN_TOGETHER: u64 = 4;
/// Round trips whose data may be queued.
const QUEUED_ROUNDS: f64 = 8.0;
/// Time without a transmission that may be made up for.
const BURST: Duration = Duration::from_millis(1);
/// Segments in an ACK, at most.
const MAX_PER_ACK: u8 = 64;
