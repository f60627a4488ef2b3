//! `mesh` or a user-defined transport in place of TPA.
//!
//! A TPA endpoint without data opens, watches and closes the connection, so that cookies, keys, resets,
//! keepalives and FIN are those of TPA. After the handshake the messages of the user-defined transport travel in
//! [envelopes](envelope). FIN follows when the peer has acknowledged all data.

use std::collections::VecDeque;
use std::{fmt, mem};

use multihop_core::{Instant, Notice, SegmentId, earliest};
use multihop_transport::connection::{
    Buffers, Connection, Counters, Data, Event, Message, Output, Segment, SendError, StreamCounters, Summary,
};
use multihop_transport::tcp::Trip;
use multihop_transport::tpa::{self, State};
use multihop_wire::tpa::{Body, Segment as TpaSegment};

use super::endpoint::Endpoint;

mod envelope;

/// A user-defined transport, and the TPA endpoint that opens and closes its connection.
pub(super) struct Shim {
    control: tpa::Endpoint,
    inner: Box<dyn Connection>,
    stage: Stage,
    /// Whether the connection began by listening.
    passive: bool,
    /// Data that the inner transport has not taken yet.
    queue: VecDeque<Data>,
    /// Bytes that the application has sent and the peer has not acknowledged.
    unacked: u64,
    /// Bytes that have arrived and the application has not read.
    unread: u64,
    /// Bytes that may wait to be read before further data is dropped, unless the inner transport needs more.
    capacity: u64,
    /// Whether the application has closed our side.
    closing: bool,
    /// Whether the application reads what the peer sends.
    reads: bool,
    /// Length of the path, once it is known.
    hops: Option<u8>,
    bytes_acked: u64,
    bytes_delivered: u64,
    /// For the next envelope.
    memory: Vec<u8>,
    /// Of the message that has arrived last.
    header: Vec<u8>,
}

/// The state of the inner transport.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// Not started: the handshake is in progress.
    Opening,
    Open,
    /// Stopped.
    Over,
}

impl Shim {
    /// A connection that `control` opens and that `inner` uses.
    pub(super) fn new(control: tpa::Endpoint, inner: Box<dyn Connection>) -> Self {
        let config = control.config();
        let default = tpa::Config::DEFAULT_BUFFER * u32::from(config.mss);
        let capacity = config.recv_buffer.unwrap_or(default).into();
        Self {
            control,
            inner,
            stage: Stage::Opening,
            passive: false,
            queue: VecDeque::new(),
            unacked: 0,
            unread: 0,
            capacity,
            closing: false,
            reads: true,
            hops: None,
            bytes_acked: 0,
            bytes_delivered: 0,
            memory: Vec::new(),
            header: Vec::new(),
        }
    }

    /// Starts the inner transport when the handshake has ended.
    fn update_stage(&mut self, now: Instant) {
        match (self.stage, self.control.state()) {
            (Stage::Opening | Stage::Open, State::Closed) => self.stage = Stage::Over,
            (Stage::Opening, State::Listen | State::SynSent | State::SynReceived) => {}
            (Stage::Opening, _) => {
                self.stage = Stage::Open;
                self.limit_messages();
                if self.passive {
                    self.inner.listen()
                } else {
                    self.inner.connect()
                }
                if let Some(hops) = self.hops {
                    self.inner.notice(now, Notice::PathInfo { hops });
                }
            }
            (Stage::Open | Stage::Over, _) => {}
        }
    }

    /// Messages must fit into the longest segments of both ends and the path.
    fn limit_messages(&mut self) {
        let mss = u16::try_from(self.control.mss()).unwrap_or(u16::MAX);
        self.inner.set_mss(mss.saturating_sub(envelope::PREFIX));
    }

    /// Takes a message of the peer. It shows that the peer is alive and that our SYN ACK has arrived, which the
    /// TPA endpoint learns from the same segment without its data.
    fn on_envelope(&mut self, now: Instant, mut segment: TpaSegment) {
        let is_ours = envelope::is_of(&self.control, &segment);
        let Body::Data { payload, .. } = mem::take(&mut segment.body) else { return };
        if !is_ours || self.stage == Stage::Over {
            return;
        }
        self.control.receive(now, Segment::Tpa(segment), None);
        self.update_stage(now);
        let Some(data) = envelope::take(payload, &mut self.header) else { return };
        let has_room = data.is_empty() || self.unread < self.capacity();
        if self.stage == Stage::Open && has_room {
            self.inner.receive_message(now, &self.header, data);
        }
    }

    fn capacity(&self) -> u64 {
        self.capacity.max(self.inner.buffers().receive)
    }

    /// Hands over the data, and closes once the peer has all of it.
    fn pass_on(&mut self, now: Instant) {
        while self.stage == Stage::Open
            && let Some(data) = self.queue.pop_front()
        {
            if self.inner.send(now, data).is_err() {
                self.fail();
            }
        }
        if self.closing && self.unacked == 0 {
            self.control.shutdown();
        }
    }

    /// Passes an event of the inner transport to the application, except those of opening and closing.
    fn on_event(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Delivered(bytes) => {
                self.unread += bytes;
                self.bytes_delivered += bytes;
                if !self.reads {
                    self.fail();
                    return Some(Event::Reset);
                }
            }
            Event::Acked(bytes) => {
                self.unacked = self.unacked.saturating_sub(bytes);
                self.bytes_acked += bytes;
            }
            Event::Reset | Event::TimedOut => self.fail(),
            Event::Connected | Event::PeerClosed | Event::Closed => return None,
        }
        Some(event)
    }

    /// The envelope of a segment of the inner transport.
    fn envelop(&mut self, segment: Segment) -> Option<TpaSegment> {
        let memory = mem::take(&mut self.memory);
        let (envelope, data) = match segment {
            Segment::Mesh(segment) => {
                let emit = |out: &mut Vec<u8>| segment.emit_header(out);
                (envelope::put(&self.control, memory, emit, segment.payload()), segment.into_payload())
            }
            segment => {
                let Message { header, data } = message_of(segment)?;
                let emit = |out: &mut Vec<u8>| out.extend_from_slice(&header);
                (envelope::put(&self.control, memory, emit, &data), data)
            }
        };
        if let Some(memory) = data.into_buffer() {
            self.inner.reuse(memory);
        }
        envelope
    }

    /// The inner transport has failed.
    fn fail(&mut self) {
        self.control.abort();
        self.stage = Stage::Over;
    }
}

/// The message that carries a segment of the inner transport; `None` if it is of another family.
fn message_of(segment: Segment) -> Option<Message> {
    match segment {
        Segment::Tcp(segment) => Some(segment.into()),
        Segment::Custom(message) => Some(message),
        Segment::Mesh(_) | Segment::Tpa(_) | Segment::Datagram(_) => None,
    }
}

impl Connection for Shim {
    fn listen(&mut self) {
        self.passive = true;
        self.control.listen();
    }

    fn connect(&mut self) {
        self.control.connect();
    }

    fn send(&mut self, _now: Instant, data: Data) -> Result<(), SendError> {
        if self.closing || matches!(self.control.state(), State::Closed | State::Linger) {
            return Err(SendError::Closed);
        }
        let Data::Bytes(bytes) = data else { return Err(SendError::Endless) };
        self.unacked += bytes.len() as u64;
        self.queue.push_back(Data::Bytes(bytes));
        Ok(())
    }

    fn read_into(&mut self, into: &mut [u8]) -> usize {
        // More may have arrived, of which the event has not been polled.
        let unread = usize::try_from(self.unread).unwrap_or(usize::MAX);
        let max = into.len().min(unread);
        let taken = self.inner.read_into(&mut into[..max]);
        self.unread -= taken as u64;
        taken
    }

    fn set_mss(&mut self, mss: u16) {
        self.control.set_mss(mss);
        self.limit_messages();
    }

    fn shutdown(&mut self, now: Instant) {
        self.closing = true;
        self.pass_on(now);
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
        self.fail();
    }

    fn connect_again(&mut self) {
        self.control.connect_again();
    }

    fn state(&self) -> State {
        self.control.state()
    }

    fn peer_ttl(&self) -> Option<u8> {
        self.control.peer_ttl()
    }

    fn gives_way_to(&self, segment: &Segment) -> bool {
        Connection::gives_way_to(&self.control, segment)
    }

    fn unacked(&self) -> u64 {
        self.unacked
    }

    fn unread(&self) -> u64 {
        self.unread
    }

    fn receive(&mut self, now: Instant, segment: Segment, trip: Option<Trip>) {
        match segment {
            Segment::Tpa(segment @ TpaSegment { body: Body::Data { .. }, .. }) => {
                self.on_envelope(now, segment);
            }
            segment => self.control.receive(now, segment, trip),
        }
    }

    fn notice(&mut self, now: Instant, notice: Notice) {
        self.control.notice(now, notice);
        if let Notice::PathInfo { hops } = notice {
            self.hops = Some(hops);
        }
        if self.stage == Stage::Open {
            self.inner.notice(now, notice);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        Connection::handle_timeout(&mut self.control, now);
        if self.stage == Stage::Open {
            self.inner.handle_timeout(now);
        }
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        loop {
            self.update_stage(now);
            self.pass_on(now);
            if let Some(output) = Connection::poll_output(&mut self.control, now) {
                return Some(output);
            }
            if self.stage != Stage::Open {
                return None;
            }
            match self.inner.poll_output(now)? {
                Output::Segment(segment) => {
                    if let Some(envelope) = self.envelop(segment) {
                        return Some(Output::Segment(Segment::Tpa(envelope)));
                    }
                }
                Output::Event(event) => {
                    if let Some(event) = self.on_event(event) {
                        return Some(Output::Event(event));
                    }
                }
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let inner = self.inner.poll_timeout().filter(|_| self.stage == Stage::Open);
        earliest(Connection::poll_timeout(&self.control), inner)
    }

    fn buffers(&self) -> Buffers {
        self.inner.buffers()
    }

    fn reuse(&mut self, memory: Vec<u8>) {
        self.memory = memory;
    }

    fn spare(&mut self) -> Option<Vec<u8>> {
        self.inner.spare()
    }

    fn is_closed(&self) -> bool {
        self.control.state() == State::Closed
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn summary(&self) -> Summary {
        let (inner, control) = (self.inner.summary(), self.control.summary());
        let counters = StreamCounters {
            segments_sent: control.counters.segments_sent + inner.counters.segments_sent,
            dropped: control.counters.dropped,
            bytes_acked: self.bytes_acked,
            bytes_delivered: self.bytes_delivered,
            ..inner.counters
        };
        // Before the first round trip of data there is that of the handshake.
        let smoothed_rtt = inner.smoothed_rtt.or(control.smoothed_rtt);
        let latest_rtt = inner.latest_rtt.or(control.latest_rtt);
        Summary { smoothed_rtt, latest_rtt, rto: control.rto, mss: control.mss, counters, ..inner }
    }
}

impl Endpoint for Shim {
    fn carried_by(self: Box<Self>, inner: Box<dyn Connection>) -> Box<dyn Endpoint> {
        Box::new(Self::new(self.control, inner))
    }

    fn id_of(&self, segment: &TpaSegment) -> SegmentId {
        match &segment.body {
            Body::Data { payload, .. } => envelope::id(payload),
            _ => segment.id(),
        }
    }
}

impl fmt::Debug for Shim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shim")
            .field("control", &self.control)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
