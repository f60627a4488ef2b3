//! The transport `mesh`: a paced window that follows the queueing delay of data, with few ACKs.
//!
//! [`End`] is one end of a connection that exists already; it implements
//! [`Connection`](crate::connection::Connection). docs/models/mesh.md describes the design.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use multihop_core::{Duration, Instant, Notice, Payload, SegmentId, Timers};
use multihop_wire::mesh::{Ack, Data as Wire, Segment};

mod config;
mod control;
mod lowest;
mod numbers;
mod observed;
mod receiver;
mod sender;

pub use config::Config;
pub use control::{Control, Report};

use crate::connection::{Buffers, Counters};
use crate::event::{Data, Event, SendError};
use crate::pool::{Pool, Share};
use crate::rtt::RttEstimator;
pub(crate) use observed::OBSERVED;

use receiver::Receiver;
use sender::Sender;

/// Output of an end.
pub type Output = crate::event::Output<Segment>;

/// One end of a connection.
#[derive(Debug)]
pub struct End {
    config: Config,
    port: u16,
    /// Payload of a full segment.
    mss: u32,
    /// Whether the application has closed our side.
    closing: bool,
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
    out: VecDeque<Event>,
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

impl End {
    /// One end of a flow with this number as both ports.
    pub fn new(config: Config, port: u16) -> Self {
        Self::with_pool(config, port, None)
    }

    /// The same, with buffers that grow as long as there is something in this pool.
    pub fn with_pool(config: Config, port: u16, pool: Option<Pool>) -> Self {
        let config = config.in_bounds();
        Self {
            port,
            mss: u32::from(config.mss),
            closing: false,
            send: Sender::new(),
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
            timers: Timers::new([Timer::Ack, Timer::Pace, Timer::Loss, Timer::Silence]),
            counters: Counters::default(),
            out: VecDeque::with_capacity(4),
            config,
        }
    }

    /// Queues data.
    pub fn send(&mut self, data: Data) -> Result<(), SendError> {
        self.send.queue.if_open(!self.closing).map(|queue| queue.push(data))
    }

    /// No data follows what has been queued; an endless source ends.
    pub fn shutdown(&mut self) {
        self.closing = true;
        self.send.finish();
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
        self.mss = u32::from(mss.min(self.config.mss).max(1));
        self.recv.set_mss(self.mss);
    }

    /// Takes a segment of the peer.
    pub fn receive(&mut self, now: Instant, segment: Segment) {
        match segment {
            Segment::Data(data) => self.on_data(now, data),
            Segment::Ack(ack) => self.on_ack(now, &ack),
            Segment::Control(_) => {}
        }
    }

    /// Takes a notice from the layers below.
    pub fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::LinkFailed(lost) => {
                if let SegmentId::Custom(header) = lost.segment
                    && lost.source == self.port
                    && let Ok(Segment::Data(data)) = Segment::parse(&header)
                    && self.send.on_link_failed(data.number, data.transmission)
                {
                    self.counters.mesh.notices += 1;
                    self.freeze_and_probe();
                }
            }
            Notice::RouteLost => self.freeze_and_probe(),
            Notice::RouteRestored => self.probe_due = self.frozen.is_some(),
            Notice::PathInfo { hops } => {
                self.control.set_hops(hops);
                self.recv.on_new_path();
            }
        }
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
    }

    /// The next segment or event.
    pub fn poll_output(&mut self, now: Instant) -> Option<Output> {
        if let Some(event) = self.out.pop_front() {
            return Some(Output::Event(event));
        }
        let segment = match self.recv.ack(now) {
            Some(ack) => {
                self.counters.mesh.acks += 1;
                Some(Segment::Ack(ack))
            }
            None => self.next_data(now).map(Segment::Data),
        };
        if segment.is_none() {
            self.arm(now);
        }
        segment.map(Output::Segment)
    }

    /// The next deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
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

    /// Whether everything queued has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.send.is_empty() && !self.send.has_data()
    }

    /// The smallest time between two segments, once a round trip is known.
    pub fn gap(&self) -> Option<Duration> {
        self.control.gap()
    }

    /// What the sender does, for time series.
    pub fn state(&self) -> &'static str {
        match (self.frozen, self.control.is_starting()) {
            (Some(_), _) => "freeze",
            (None, true) => "start",
            (None, false) => "normal",
        }
    }

    fn on_data(&mut self, now: Instant, data: Wire) {
        let has_data = !data.payload.is_empty();
        let arrival = self.recv.take(now, data);
        self.counters.delivered += u64::from(arrival.is_new);
        self.counters.out_of_order += u64::from(arrival.out_of_order);
        self.counters.mesh.unwanted += u64::from(has_data && !arrival.is_new);
        if arrival.delivered > 0 {
            self.out.push_back(Event::Delivered(arrival.delivered));
        }
    }

    fn on_ack(&mut self, now: Instant, ack: &Ack) {
        // What the peer has no room for says nothing about the path.
        let is_limited = self.send.can_send();
        let Some(news) = self.send.on_ack(now, ack) else { return };
        if let Some(sample) = news.round_trip {
            self.rtt.sample(sample);
            self.control.on_round_trip(now, sample);
        }
        let answered = self.frozen.is_some_and(|since| self.send.newest() >= Some(since));
        if answered || self.send.is_empty() {
            self.frozen = None;
        }
        if !self.control.is_starting() {
            self.control.note_spacing(now.saturating_since(self.heard) <= AT_ONCE);
        }
        self.heard = now;
        let queueing = Duration::from_micros(ack.delay.into());
        self.control.on_ack(now, Report { arrived: news.arrived, queueing, is_limited });
        if news.freed > 0 {
            self.out.push_back(Event::Acked(news.freed));
        }
        self.timers.stop(Timer::Silence);
        self.grow();
        self.find_losses(now);
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
            self.counters.mesh.freezes += 1;
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
            self.counters.mesh.probes += 1;
            // The first one may be all that is missing; copies of it would wait where a route is searched for.
            let probe = self.send.probe(now, !self.probed);
            self.probed = self.frozen.is_some();
            if !probe.payload.is_empty() {
                self.count(true);
            }
            return Some(self.leave(now, probe));
        }
        if !self.may_send() || self.pace > now {
            return None;
        }
        let (data, is_retransmitted) = self.send.next(now, self.mss)?;
        self.count(is_retransmitted);
        Some(self.leave(now, data))
    }

    fn may_send(&self) -> bool {
        self.frozen.is_none() && self.send.can_send() && self.send.in_flight() < self.flight_limit()
    }

    fn count(&mut self, is_retransmitted: bool) {
        self.counters.sent += 1;
        self.counters.retransmitted += u64::from(is_retransmitted);
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
/// ACKs that arrive within this time came in one frame: the shortest exchange of a frame and its ACK takes longer.
const AT_ONCE: Duration = Duration::from_micros(100);
/// Segments in an ACK, at most.
const MAX_PER_ACK: u8 = 64;
