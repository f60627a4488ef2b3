//! One end of a simulated flow over QUIC: events of the simulator in, datagrams and events out, for any stack.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time;

use multihop_core::{Duration, Instant, Payload};
use multihop_transport::connection::{
    Connection, Counters, Data, Ecn, Event, Output, RoundTrip, Segment, SendError, State, Summary, Trip,
    UdpDatagram,
};
use multihop_transport::observe::{Quantity, Row, Side, Value};

/// A QUIC stack with at most one connection. Data is zeros; the client sends on streams 0, 1, ....
pub(crate) trait QuicStack: Send {
    /// Opens the connection, if this end is a client that has not opened it yet.
    fn connect(&mut self, now: time::Instant);

    /// Handles a datagram of the peer.
    fn receive(&mut self, now: time::Instant, data: &[u8], ecn: Ecn);

    /// The next datagram for the peer.
    fn transmit(&mut self, now: time::Instant) -> Option<(Vec<u8>, Ecn)>;

    /// Runs every timer due at `now`.
    fn handle_timeout(&mut self, now: time::Instant);

    /// Next instant at which `handle_timeout` has work to do.
    fn timeout(&mut self) -> Option<time::Instant>;

    /// The next event of the connection; `None` once drained.
    fn poll(&mut self) -> Option<Happening>;

    /// Opens the next stream and returns its number; `None` while the peer permits no more.
    fn open(&mut self) -> Option<u64>;

    /// Queues up to `bytes` bytes on a stream; returns the accepted number.
    fn write(&mut self, stream: u64, bytes: u64) -> u64;

    /// Ends a stream once everything queued has been sent.
    fn finish(&mut self, stream: u64);

    /// Reads up to `max` bytes from the streams of the peer; returns their number.
    fn read(&mut self, max: u64) -> u64;

    /// Closes the connection at once.
    fn close(&mut self, now: time::Instant);

    /// Whether there was a connection, and it is gone.
    fn is_over(&self) -> bool;

    /// Measurements of the connection; `None` without one.
    fn measures(&mut self) -> Option<Measures>;
}

/// Events of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Happening {
    /// The handshake is complete.
    Connected,
    /// The peer has acknowledged all data and the end of this stream.
    Finished(u64),
    /// The peer has closed the connection.
    PeerClosed,
    /// The connection was reset or failed.
    Reset,
    /// The peer did not answer for the idle timeout.
    TimedOut,
}

/// Measurements of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measures {
    /// Bytes that the congestion controller allows in flight.
    pub(crate) cwnd: u64,
    /// Slow-start threshold, bytes; `None` for a control without one.
    pub(crate) ssthresh: Option<u64>,
    /// Largest UDP payload, bytes.
    pub(crate) mtu: u16,
    /// Smoothed round-trip time.
    pub(crate) round_trip: time::Duration,
    /// Number of ACK frames received.
    pub(crate) acks: u64,
    /// Number of packets declared lost.
    pub(crate) lost: u64,
    /// Numbers of STREAM frames sent and received.
    pub(crate) stream_frames: [u64; 2],
}

/// Peer address that both QUIC stacks of a flow see. The simulator addresses the packets by node, so one constant is enough.
pub(crate) const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);

/// One end of a flow over the stack `S`.
pub(crate) struct QuicEnd<S> {
    stack: S,
    /// Instant of the standard library at the simulation's time zero. Only differences matter.
    zero: time::Instant,
    /// Whether arriving data counts as read at once.
    sink: bool,
    connects: bool,
    /// Data that the application has sent, in order.
    pieces: VecDeque<Piece>,
    is_shut: bool,
    /// Whether the end of the connection has been reported.
    is_closed: bool,
    /// Bytes that have arrived and were not read, unless the end is a sink.
    unread: u64,
    counters: Counters,
    measures: Measures,
    deadline: Option<Instant>,
    out: VecDeque<Output>,
}

/// Data of one call of `send`, which is one stream.
#[derive(Clone, Copy, Debug)]
struct Piece {
    stream: Option<u64>,
    bytes: u64,
    /// Number of bytes that the stack has accepted.
    written: u64,
    is_endless: bool,
}

impl Piece {
    fn is_written(&self) -> bool {
        self.stream.is_some() && self.written == self.bytes
    }
}

impl<S: QuicStack> QuicEnd<S> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the stack's instants have no other origin, and none is shown"
    )]
    pub(crate) fn new(stack: S, sink: bool) -> Self {
        Self {
            stack,
            zero: time::Instant::now(),
            sink,
            connects: false,
            pieces: VecDeque::new(),
            is_shut: false,
            is_closed: false,
            unread: 0,
            counters: Counters::default(),
            measures: Measures::default(),
            deadline: None,
            out: VecDeque::new(),
        }
    }

    /// Time of the stack.
    fn std(&self, now: Instant) -> time::Instant {
        self.zero + time::Duration::from_nanos(now.as_nanos())
    }

    /// Time of the simulator, rounded up.
    fn sim(&self, at: time::Instant) -> Instant {
        let nanos = at.saturating_duration_since(self.zero).as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Handles the stack's events, and passes data in both directions.
    fn advance(&mut self, now: time::Instant) {
        if self.connects {
            self.stack.connect(now);
        }
        while let Some(happening) = self.stack.poll() {
            self.handle_happening(happening);
        }
        self.read_all();
        self.write_all();
        if self.is_shut && self.pieces.iter().all(|piece| piece.is_endless) && !self.is_closed {
            self.stack.close(now);
            self.is_closed = true;
            self.event(Event::Closed);
        }
    }

    fn handle_happening(&mut self, happening: Happening) {
        match happening {
            Happening::Connected => self.event(Event::Connected),
            Happening::Finished(stream) => {
                let at = self.pieces.iter().position(|piece| piece.stream == Some(stream));
                if let Some(piece) = at.and_then(|at| self.pieces.remove(at)) {
                    self.event(Event::Acked(piece.bytes));
                }
            }
            Happening::PeerClosed => {
                // Data that arrived before the close still counts.
                self.read_all();
                self.event(Event::PeerClosed);
                self.end(Event::Closed);
            }
            Happening::Reset => self.end(Event::Reset),
            Happening::TimedOut => self.end(Event::TimedOut),
        }
    }

    fn end(&mut self, event: Event) {
        if !self.is_closed {
            self.is_closed = true;
            self.event(event);
        }
    }

    fn event(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }

    fn read_all(&mut self) {
        let room = if self.sink { u64::MAX } else { MAX_UNREAD.saturating_sub(self.unread) };
        let read = if room == 0 { 0 } else { self.stack.read(room) };
        if read > 0 {
            self.event(Event::Delivered(read));
            self.unread += if self.sink { 0 } else { read };
        }
    }

    /// Passes data to the stack, piece by piece.
    fn write_all(&mut self) {
        for piece in &mut self.pieces {
            if piece.is_written() {
                continue;
            }
            if piece.stream.is_none() {
                piece.stream = self.stack.open();
            }
            let Some(stream) = piece.stream else { return };
            piece.written += self.stack.write(stream, piece.bytes - piece.written);
            if piece.written < piece.bytes {
                return;
            }
            self.stack.finish(stream);
        }
    }

    /// Measures the connection, and sets the next deadline.
    fn observe(&mut self, now: Instant) {
        self.measures = self.stack.measures().unwrap_or(self.measures);
        self.counters.retransmitted = self.measures.lost;
        let next = self.stack.timeout().map(|at| self.sim(at));
        self.deadline = next.map(|at| at.max(now + Duration::from_nanos(1)));
    }
}

impl<S: QuicStack> Connection for QuicEnd<S> {
    fn connect(&mut self) {
        self.connects = true;
    }

    fn send(&mut self, _now: Instant, data: Data) -> Result<(), SendError> {
        let (bytes, is_endless) = match data {
            Data::Bytes(bytes) => (bytes.len() as u64, false),
            Data::Virtual(bytes) => (bytes, false),
            Data::Endless => (ENDLESS, true),
        };
        if self.is_shut || self.is_closed {
            return Err(SendError::Closed);
        }
        if self.pieces.back().is_some_and(|last| last.is_endless) {
            return Err(SendError::Endless);
        }
        self.pieces.push_back(Piece { stream: None, bytes, written: 0, is_endless });
        Ok(())
    }

    fn read(&mut self, max: u32) -> Payload {
        let taken = self.unread.min(max.into());
        self.unread -= taken;
        Payload::Virtual(u32::try_from(taken).unwrap_or(max))
    }

    fn shutdown(&mut self, _now: Instant) {
        self.is_shut = true;
    }

    fn abort(&mut self) {
        self.pieces.clear();
        self.is_shut = true;
    }

    fn state(&self) -> State {
        if self.is_closed() { State::Closed } else { State::Established }
    }

    fn unacked(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    fn unread(&self) -> u64 {
        self.unread
    }

    fn receive(&mut self, now: Instant, segment: Segment, _trip: Option<Trip>) {
        let Segment::Udp(UdpDatagram { payload: Payload::Bytes(bytes), ecn }) = segment else { return };
        self.stack.receive(self.std(now), &bytes, ecn);
        let frames = self.measures.stream_frames[1];
        self.measures = self.stack.measures().unwrap_or(self.measures);
        self.counters.delivered += u64::from(self.measures.stream_frames[1] > frames);
    }

    fn wants_notices(&self) -> bool {
        false
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.stack.handle_timeout(self.std(now));
    }

    fn poll_output(&mut self, now: Instant) -> Option<Output> {
        if self.out.is_empty() {
            let at = self.std(now);
            self.advance(at);
            let frames = self.measures.stream_frames[0];
            if let Some((payload, ecn)) = self.stack.transmit(at) {
                let datagram = UdpDatagram { payload: Payload::Bytes(payload), ecn };
                self.out.push_back(Output::Segment(Segment::Udp(datagram)));
            }
            self.observe(now);
            self.counters.sent += u64::from(self.measures.stream_frames[0] > frames);
        }
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    fn is_closed(&self) -> bool {
        self.stack.is_over()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        let nanos = u64::try_from(self.measures.round_trip.as_nanos()).unwrap_or(u64::MAX);
        let samples = self.measures.acks;
        (samples > 0).then_some(RoundTrip { latest: Duration::from_nanos(nanos), samples })
    }

    fn summary(&self) -> Summary {
        let Measures { mtu, ssthresh, .. } = self.measures;
        // Controllers of the stacks begin with the largest number.
        let ssthresh = ssthresh.filter(|bytes| *bytes < u64::MAX);
        let smoothed_rtt = self.round_trip().map(|round_trip| round_trip.latest);
        Summary { smoothed_rtt, mss: mtu.into(), ssthresh, ..Summary::of(self) }
    }

    fn quantity(&self, index: usize) -> Option<&'static Quantity> {
        quantity(index)
    }

    fn value(&self, index: usize) -> Option<Value> {
        OBSERVED.get(index)?.value(&Observed { measures: self.measures, round_trip: self.round_trip() })
    }
}

/// Quantity with this index that ends of both QUIC stacks declare; `None` after the last one.
pub(crate) fn quantity(index: usize) -> Option<&'static Quantity> {
    OBSERVED.get(index).map(Row::quantity)
}

/// State of an end that the rows read.
struct Observed {
    measures: Measures,
    round_trip: Option<RoundTrip>,
}

static OBSERVED: [Row<Observed>; 4] = [
    Row::cwnd(|end| {
        let mtu = end.measures.mtu;
        (mtu > 0).then(|| end.measures.cwnd as f64 / f64::from(mtu))
    }),
    Row::round_trip(|end| end.round_trip),
    Row::phase(|end| match end.measures.ssthresh {
        None => "normal",
        Some(threshold) if end.measures.cwnd < threshold => "slow-start",
        Some(_) => "congestion-avoidance",
    }),
    Row::recorded_counter("lost_packets", "Packets declared lost.", Side::Sender, |end| end.measures.lost),
];

/// Length of an endless source, bytes.
const ENDLESS: u64 = 1 << 60;
/// Largest number of unread bytes at an end that is no sink.
const MAX_UNREAD: u64 = 64 * 1460;
