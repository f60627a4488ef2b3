//! The transport `mesh`: a paced window that follows the queueing delay of data, with few ACKs.
//!
//! [`MeshEnd`] is one end of a connection; it implements [`Connection`](crate::connection::Connection).
//! docs/models/mesh.md describes the design, docs/wire.md the segments.
//!
//! # Bytes
//!
//! ```text
//! caller                                  listener
//!    SYN: number a             --------->
//!             <---------------   SYN ACK: number b, answers a
//!    data a + 1, or ACK b + 1  --------->          established
//!    ...
//!    FIN a + n                 --------->
//!             <---------------   ACK a + n + 1
//!             <---------------   FIN b + m
//!    ACK b + m + 1             --------->          both linger
//! ```
//!
//! **Opening.** The caller retransmits its SYN after 1 s, then at doubling intervals up to its longest
//! timeout. The listener retransmits its SYN ACK too, and repeats it for a repeated SYN. A caller without
//! data sends an ACK without delay. The first data, or an ACK with `next` b + 1, ends the handshake. A
//! repeated SYN ACK is answered with an ACK. If both ends open the connection at once, each answers the
//! other's SYN with SYN ACK. The windows of SYN and SYN ACK bound the data before the first ACK.
//!
//! **Closing.** FIN takes the number behind all data, and is treated like data. Each direction closes
//! separately. Segments behind FIN are ignored. When both FINs are acknowledged, each end lingers for 2
//! minutes and answers late segments with an ACK. A SYN with another number opens a new connection.
//!
//! **Resetting.** An end that aborts sends RST with the number of the segment that it expects next. An end
//! that has sent a SYN answers another segment of an unknown connection with RST, once per second.
//!
//! An open connection answers a keepalive with an ACK at once. It also answers a SYN with an ACK, so that a
//! restarted peer resets the old connection first.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::num::NonZeroU16;

use multihop_core::{Duration, Instant, Payload, earliest};
use multihop_wire::control::{Cause, Control as ControlSegment, Options, Reset};
use multihop_wire::mesh::{Data as Wire, Segment};

mod channels;
mod config;
mod control;
mod counters;
mod frames;
mod handshake;
mod input;
mod lost;
mod lowest;
mod numbers;
mod observed;
mod path;
mod paths;
mod receiver;
mod rival;
mod sender;
mod several;
mod skipped;
mod trains;
mod wire;
mod worth;

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
pub(crate) use channels::GUARANTEED;
pub(crate) use observed::OBSERVED;

use channels::ReceiveSide;
use path::{Path, Timer};
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
    /// Options in the peer's SYN; empty before it arrives.
    peer: Options,
    /// The reset that ended the connection.
    reset: Option<Reset>,
    refusals: Refusals<()>,
    /// Whether the SYN was repeated after a notice, and its timer has not expired since.
    is_syn_repeated: bool,
    /// Whether a keepalive has been sent that the peer has not answered.
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
    /// Messages of channels that have arrived, once there are channels.
    received: Option<Box<ReceiveSide>>,
    /// Departure or arrival of the newest message of an urgent class.
    urgent: Option<Instant>,
    /// Arrival of the peer's newest message of an urgent class.
    urgent_arrival: Option<Instant>,
    /// The paths to the peer, of which the first one always exists; at most two.
    paths: Vec<Path>,
    counters: Counters,
    out: VecDeque<Output>,
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
            received: None,
            urgent: None,
            urgent_arrival: None,
            paths: Vec::from([Path::new(&config)]),
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
        if self.unread() > 0 || self.received.as_ref().is_some_and(|received| received.is_readable()) {
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

    /// Options in the peer's SYN; empty before it arrives.
    pub fn peer(&self) -> &Options {
        &self.peer
    }

    /// The reset or refusal of the peer that ended the connection.
    pub fn reset(&self) -> Option<&Reset> {
        self.reset.as_ref()
    }

    /// Bytes queued and not acknowledged, those of messages included.
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

    /// Accepts a buffer that the next segment will reuse.
    pub fn reuse(&mut self, memory: Vec<u8>) {
        self.send.memory = Some(memory);
    }

    /// The memory of a segment that has arrived.
    pub fn spare(&mut self) -> Option<Vec<u8>> {
        self.recv.memory.take()
    }

    /// Limits the payload of new segments.
    pub fn set_mss(&mut self, mss: u16) {
        self.path_mss = mss;
        self.update_mss();
        self.recv.set_mss(u32::from(mss.min(self.config.mss).max(1)));
    }

    /// Limits the payload of new segments to the least that this end, the path and the peer allow.
    fn update_mss(&mut self) {
        let peer = self.peer.mss.map_or(u16::MAX, NonZeroU16::get);
        self.mss = u32::from(self.path_mss.min(self.config.mss).min(peer).max(1));
    }

    /// Runs every timer due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        for path in 0..self.paths.len() {
            while let Some(timer) = self.paths[path].timers.pop_expired(now) {
                match timer {
                    Timer::Ack | Timer::Pace | Timer::Trickle => {}
                    Timer::Loss => self.find_losses(now, path),
                    Timer::Silence => self.on_silence(path),
                }
            }
        }
        if let Some(channels) = &mut self.send.channels {
            channels.expire(now);
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
        self.send.latest_class = None;
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

    /// Next time at which the driver must call this end.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let paths = self.paths.iter().filter_map(|path| path.timers.next()).min();
        let others = earliest(paths, self.life.poll_timeout());
        match &self.send.channels {
            Some(channels) if self.state().is_synchronised() => earliest(others, channels.next_expiry()),
            _ => others,
        }
    }

    /// Counters of this end since it was made.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Round trips, without the time for which ACKs were held, on the path in use.
    pub fn rtt(&self) -> &RttEstimator {
        &self.path_in_use().rtt
    }

    /// The congestion window of all paths in use, in segments; may be below 1.
    pub fn window(&self) -> f64 {
        self.each_in_use().map(|path| path.control.window()).sum()
    }

    /// Largest number of segments in flight, on all paths in use.
    pub fn flight_limit(&self) -> usize {
        self.each_in_use().map(|path| path.flight_limit(&self.config)).sum()
    }

    /// Payload of a full segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Number of segments in flight.
    pub fn flight(&self) -> usize {
        (0..self.paths.len()).map(|path| self.send.in_flight(path)).sum()
    }

    /// Bytes that have arrived and wait to be read.
    pub fn unread(&self) -> u64 {
        self.recv.unread()
    }

    /// Bytes that this end may keep of sent and of received data.
    pub fn buffers(&self) -> Buffers {
        Buffers { send: self.send_buffer, receive: self.recv.buffer() }
    }

    /// Whether everything queued has been acknowledged, FIN included.
    pub fn is_idle(&self) -> bool {
        self.send.is_empty() && !self.send.has_data()
    }

    /// The smallest time between two segments on the path in use, once a round trip is known.
    pub fn gap(&self) -> Option<Duration> {
        self.path_in_use().control.gap()
    }

    /// Name of the sender's phase on the path in use, for time series: `freeze`, `start` or `normal`.
    pub fn phase(&self) -> &'static str {
        self.path_in_use().phase()
    }

    /// Enlarges the send buffer to the data of a few round trips. One is in flight; the others allow for segments
    /// lost repeatedly, and for growth of the rate.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as saturates")]
    fn grow(&mut self) {
        let Some(carried) = self.carried() else { return };
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

    fn find_losses(&mut self, now: Instant, path: usize) {
        let Path { rtt, control, timers, .. } = &mut self.paths[path];
        let Some(latest) = rtt.latest() else { return };
        let patience = latest.max(rtt.srtt().unwrap_or(latest)) + control.base().unwrap_or(latest) / 4;
        let lost = self.send.lost.len();
        let again = self.send.find_losses(now, path, patience);
        if self.send.lost.len() > lost {
            control.on_loss(now);
        }
        match again {
            Some(at) => timers.set(Timer::Loss, at),
            None => timers.stop(Timer::Loss),
        }
    }

    /// Probes a path on which nothing arrived for a timeout, and sends no data until the peer answers a probe.
    fn on_silence(&mut self, path: usize) {
        let (waits, one) = (self.has_outstanding(path), &mut self.paths[path]);
        if waits && one.may_request_ack() {
            (one.has_requested_ack, one.probe_due, one.probed) = (true, true, false);
            return;
        }
        // What silenced the data may have silenced the first probe too, and be over.
        if one.is_frozen() || !waits {
            one.rtt.back_off();
        }
        one.probe_due = true;
        if waits {
            self.counters.timeouts += 1;
            if !one.is_frozen() {
                one.control.on_timeout();
                self.freeze(path);
            }
        }
    }

    fn freeze(&mut self, path: usize) {
        let one = &mut self.paths[path];
        if !one.is_frozen() && !self.send.is_empty() {
            one.frozen = Some(self.send.transmissions(path));
            self.counters.freezes += 1;
            one.probed = false;
            // Probes are acknowledged at once.
            one.timers.stop(Timer::Silence);
            self.move_from_frozen_paths();
        }
    }

    /// Freezes a path after a notice of its loss, and probes it: on-demand routing searches for a route only when
    /// there is a packet.
    fn freeze_and_probe(&mut self, path: usize) {
        self.freeze(path);
        let one = &mut self.paths[path];
        one.probe_due |= one.is_frozen() && !one.probed;
    }

    fn next_data(&mut self, now: Instant) -> Option<Wire> {
        if let Some(path) = self.paths.iter().position(|path| path.probe_due) {
            return Some(self.next_probe(now, path));
        }
        let Some(path) = self.next_path(now) else { return self.next_trickle(now) };
        self.forget_old_queue(path);
        if self.send.is_urgent(self.mss) && !self.is_on_time(now, path) {
            self.paths[path].leave_early(now, self.send.transmissions(path));
        }
        let (data, is_retransmitted) = self.send.next(now, path, self.mss)?;
        self.count(&data, is_retransmitted);
        Some(self.leave(now, path, data))
    }

    /// A segment of messages with a deadline that leaves although the window is full or the path is frozen: nothing else
    /// would deliver them in time. Without such messages, a path that is frozen or has no round trip yet gets the oldest segment
    /// of channels again.
    fn next_trickle(&mut self, now: Instant) -> Option<Wire> {
        let has_messages = self.send.class_with_deadline().is_some();
        let path = (0..self.paths.len()).find(|&path| {
            self.may_trickle(path, has_messages) && self.paths[path].trickle(&self.config) <= now
        })?;
        let (data, is_retransmitted) = match self.send.next_with_deadline(now, path, self.mss) {
            Some(next) => next,
            None if self.repeats_oldest(path) => (self.send.probe(now, path, true), true),
            None => return None,
        };
        self.counters.trickles += 1;
        self.count(&data, is_retransmitted);
        Some(self.leave(now, path, data))
    }

    /// Whether a path has something that may leave without room in the window.
    fn may_trickle(&self, path: usize, has_messages: bool) -> bool {
        let is_frozen = self.paths[path].is_frozen();
        let loses = is_frozen || self.send.loses(path);
        ((has_messages && loses) || self.repeats_oldest(path)) && !(is_frozen && self.has_other_path(path))
    }

    /// Whether the oldest segment of channels leaves again although nothing shows that it is lost: the path is frozen, or has
    /// no round trip yet, so that only the initial timeout, of up to a second, would show the loss.
    fn repeats_oldest(&self, path: usize) -> bool {
        let one = &self.paths[path];
        (one.is_frozen() || (path == 0 && !one.has_round_trip())) && self.send.begins_with_channels()
    }

    fn next_probe(&mut self, now: Instant, path: usize) -> Wire {
        self.counters.probes += 1;
        // The first one may be all that is missing; copies of it would wait where a route is searched for. With another path in
        // use, nothing is missing here.
        let has_other_path = self.has_other_path(path);
        let one = &mut self.paths[path];
        // Before the first round trip, probes leave as often as segments without room, and take their place.
        let is_first = one.rtt.srtt().is_none() && !has_other_path;
        let repeats = !one.probed || (is_first && self.send.begins_with_channels());
        one.probe_due = false;
        one.probed = one.is_frozen();
        let new = if is_first { self.send.next_with_deadline(now, path, self.mss) } else { None };
        let (probe, is_repeated) =
            new.unwrap_or_else(|| (self.send.probe(now, path, repeats && !has_other_path), true));
        self.count(&probe, is_repeated);
        self.leave(now, path, probe)
    }

    /// Whether the window of a path has room for the next segment.
    fn may_send(&self, path: usize, is_urgent: bool) -> bool {
        let one = &self.paths[path];
        let has_room = || one.has_room(self.send.in_flight(path), is_urgent, &self.config);
        !one.is_frozen() && self.send.can_send() && has_room()
    }

    /// Whether a segment that is not urgent may leave now on a path.
    fn is_on_time(&self, now: Instant, path: usize) -> bool {
        self.paths[path].is_its_turn(now, false) && self.may_send(path, false)
    }

    fn count(&mut self, data: &Wire, is_retransmitted: bool) {
        if !data.payload.is_empty() || !data.chunks.is_empty() {
            self.counters.sent += 1;
            self.counters.retransmitted += u64::from(is_retransmitted);
        }
    }

    /// Completes the header of a segment that leaves now on a path.
    fn leave(&mut self, now: Instant, path: usize, data: Wire) -> Wire {
        if self.send.has_urgent(&data.chunks) {
            self.urgent = Some(now);
        }
        let ack_hold = self.send.ack_hold(path, &data);
        let (every, hold) = self.paths[path].leave(now, &self.config, ack_hold);
        let one = &self.paths[path];
        // The last segment, or the last that the window allows: nothing follows that would cause an ACK.
        let ends_train = one.uses_trains() && !one.trains.is_leaving() && !one.trains.shares_ack();
        let ask = data.ask
            || ends_train
            || (ack_hold.is_none() && !self.send.can_send())
            || self.send.in_flight(path) >= one.flight_limit(&self.config);
        Wire { ask, more: self.needs_room(), every, hold, ..data }
    }

    /// Whether segments of later classes wait beside urgent messages of this end or the peer.
    fn yields(&self, now: Instant) -> bool {
        is_recent(self.urgent, now) && self.send.has_later_than_urgent()
    }

    /// Sets the timers, when no more segments leave for now.
    fn arm(&mut self, now: Instant) {
        if !self.state().is_synchronised() {
            return;
        }
        let is_blocked = self.send.has_data() && !self.send.can_send();
        let (mut any_waits, is_split) = (false, self.paths.len() > 1);
        // A silent path may be back, which matters as long as data leaves or arrives.
        let receives = is_split && (0..self.paths.len()).any(|path| self.recv.due(path).is_some());
        let has_messages = self.send.class_with_deadline().is_some();
        let is_urgent = self.send.is_urgent(self.mss);
        for path in 0..self.paths.len() {
            let is_early = self.paths[path].wait(now, is_urgent) > Duration::ZERO;
            let may_send = is_early && self.may_send(path, is_urgent) && !self.waits_for_faster(now, path);
            let waits = self.has_outstanding(path) || is_blocked;
            let may_trickle = self.may_trickle(path, has_messages);
            let one = &mut self.paths[path];
            one.arm_ack(self.recv.due(path));
            one.arm_pace(now, may_send, is_urgent);
            one.arm_trickle(now, may_trickle, &self.config);
            if waits || (receives && one.is_frozen()) {
                one.arm_silence(now, &self.config);
            } else if !(is_split && one.is_frozen()) {
                // A silent second path gets one more probe: it may be back when there is data again.
                one.timers.stop(Timer::Silence);
            }
            any_waits |= waits;
        }
        self.life.set_waiting(now, any_waits || self.asked);
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

    /// Ends the connection and reports the event.
    fn finish(&mut self, event: Event) {
        self.forget();
        self.emit(event);
    }

    fn forget(&mut self) {
        self.life.end();
        self.paths.iter_mut().for_each(Path::stop_timers);
    }
}

/// Whether an urgent message left or arrived less than [`YIELDING`] ago.
fn is_recent(message: Option<Instant>, now: Instant) -> bool {
    message.is_some_and(|newest| now.saturating_since(newest) < YIELDING)
}

/// Time for which a path counts as shared after an urgent message: messages sent once a second keep the rule in effect.
const YIELDING: Duration = Duration::from_secs(5);
/// Number of round trips whose data may be queued.
const QUEUED_ROUNDS: f64 = 8.0;
