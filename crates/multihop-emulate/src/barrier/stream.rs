//! One TCP connection of a program in virtual time, between the program's socket and the simulated network.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use multihop_core::{Duration, Instant, Machine};
use multihop_transport::congestion::Algorithm;
use multihop_transport::tcp::{Config, Data, Event, Input, Output, Ports, State, TcpEnd};
use multihop_wire::tcp::{Segment, SeqNumber};
use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::{MsgFlags, Shutdown, recv, send, shutdown};

pub(super) struct Stream {
    end: TcpEnd,
    /// Bytes without meaning that fill the program's socket until the connection is open.
    plug: usize,
    /// Received bytes for which the program's socket had no room.
    received: Vec<u8>,
    has_connected: bool,
    /// Whether the program has shut down sending.
    has_finished: bool,
    /// Whether the peer has shut down sending.
    has_peer_finished: bool,
    /// Whether the program has received the end of the peer's data.
    has_passed_end: bool,
    /// Whether the program has closed its socket.
    is_closed: bool,
}

/// Output of a connection.
pub(super) enum StreamEvent {
    /// A segment for the peer.
    Segment(Segment),
    /// The handshake is complete.
    Connected,
    /// The connection has failed.
    Failed(Errno),
    /// Both sides have closed in order.
    Gone,
}

/// Counters of a connection for its program.
pub(super) struct Details {
    pub(super) mss: u32,
    pub(super) retransmitted: u64,
    /// Size of the congestion window in full segments.
    pub(super) window: u32,
    pub(super) round_trip: Duration,
}

/// Unacknowledged bytes up to which a connection always takes data from its program, as a fresh socket of Linux.
const MIN_QUEUE: u64 = 87_040;
/// Bytes that are moved at once.
const PIECE: usize = 65_536;
/// Largest window of a sender, segments, and receive buffer, bytes: room for 30 Mb/s over 1.6 s.
const MAX_WINDOW: u16 = 4096;
const RECEIVE_BUFFER: u32 = 6 << 20;

/// Configuration of connections: TCP of Linux 6, with buffers as large as Linux lets them grow.
pub(super) fn config(algorithm: Algorithm, mss: u16) -> Config {
    Config {
        congestion: algorithm,
        mss,
        window_max: MAX_WINDOW,
        recv_buffer: Some(RECEIVE_BUFFER),
        ..Config::linux_6()
    }
}

impl Stream {
    /// A connection that a program opens.
    pub(super) fn active(config: Config, local: u16, remote: u16, number: u32, plug: usize) -> Self {
        let mut stream = Self::new(TcpEnd::new(config, Ports { local, remote }, first_number(number)));
        stream.plug = plug;
        stream.end.connect();
        stream
    }

    /// A connection that waits for the SYN of its peer.
    pub(super) fn passive(config: Config, local: u16, number: u32) -> Self {
        let mut stream = Self::new(TcpEnd::new(config, Ports { local, remote: 0 }, first_number(number)));
        stream.end.listen();
        stream
    }

    fn new(end: TcpEnd) -> Self {
        Self {
            end,
            plug: 0,
            received: Vec::new(),
            has_connected: false,
            has_finished: false,
            has_peer_finished: false,
            has_passed_end: false,
            is_closed: false,
        }
    }

    /// The reset that answers a segment without a connection (RFC 9293 §3.10.7.1).
    pub(super) fn reset_for(segment: &Segment) -> Segment {
        let length = u32::try_from(segment.payload.len()).unwrap_or(0);
        let length = length + u32::from(segment.syn) + u32::from(segment.fin);
        Segment {
            source: segment.destination,
            destination: segment.source,
            rst: true,
            seq: segment.ack.unwrap_or_default(),
            ack: segment.ack.is_none().then(|| SeqNumber(segment.seq.0.wrapping_add(length))),
            ..Segment::default()
        }
    }

    pub(super) fn handle(&mut self, now: Instant, segment: Segment) {
        self.end.handle(now, Input::Segment(segment));
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.end.handle_timeout(now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.end.poll_timeout()
    }

    pub(super) fn is_opening(&self) -> bool {
        !self.has_connected
    }

    /// Whether the connection exists no longer.
    pub(super) fn is_gone(&self) -> bool {
        self.end.state() == State::Closed
    }

    /// The next output; `None` once there is none.
    pub(super) fn poll(&mut self, now: Instant) -> Option<StreamEvent> {
        loop {
            let event = match self.end.poll_output(now)? {
                Output::Segment(segment) => return Some(StreamEvent::Segment(segment)),
                Output::Event(event) => event,
            };
            match event {
                Event::Connected => {
                    self.has_connected = true;
                    return Some(StreamEvent::Connected);
                }
                Event::PeerClosed => self.has_peer_finished = true,
                Event::Closed => return Some(StreamEvent::Gone),
                Event::Reset => {
                    let refused = if self.has_connected { Errno::ECONNRESET } else { Errno::ECONNREFUSED };
                    return Some(StreamEvent::Failed(refused));
                }
                Event::TimedOut => return Some(StreamEvent::Failed(Errno::ETIMEDOUT)),
                Event::Delivered(_) | Event::Acked(_) | Event::Channels => {}
            }
        }
    }

    /// Empties the program's socket, which makes it writable.
    pub(super) fn unplug(&mut self, socket: &OwnedFd) {
        let mut bytes = vec![0; PIECE];
        while self.plug > 0 {
            let most = self.plug.min(PIECE);
            match recv(socket.as_raw_fd(), &mut bytes[..most], MsgFlags::MSG_DONTWAIT) {
                Ok(0) | Err(_) => break,
                Ok(length) => self.plug -= length,
            }
        }
    }

    /// Events of the program's socket that matter now.
    pub(super) fn interest(&self) -> PollFlags {
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::POLLIN, self.room() > 0);
        interest.set(PollFlags::POLLOUT, self.has_received());
        interest
    }

    /// Moves bytes in both directions; returns whether there were any.
    pub(super) fn exchange(&mut self, socket: &OwnedFd, now: Instant) -> io::Result<bool> {
        let has_sent = self.take(socket)?;
        let has_received = self.pass(socket, now)?;
        Ok(has_sent || has_received)
    }

    /// Closes the connection, because the program has closed its socket.
    pub(super) fn close(&mut self, socket: &OwnedFd) -> io::Result<()> {
        while self.has_connected && !self.has_finished && self.take_piece(socket, PIECE)? {}
        self.is_closed = true;
        if !self.has_connected || self.has_received() {
            self.end.abort();
        } else {
            self.end.close();
        }
        Ok(())
    }

    /// Bytes that the connection takes from its program now.
    fn room(&self) -> usize {
        if !self.has_connected || self.has_finished || self.is_gone() {
            return 0;
        }
        let queue = MIN_QUEUE.max(2 * u64::from(self.end.cwnd()));
        usize::try_from(queue.saturating_sub(self.end.unacked())).unwrap_or(usize::MAX)
    }

    fn has_received(&self) -> bool {
        !self.received.is_empty() || self.end.unread() > 0 || (self.has_peer_finished && !self.has_passed_end)
    }

    fn take(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        let mut has_taken = false;
        loop {
            let room = self.room();
            if room == 0 || !self.take_piece(socket, room)? {
                return Ok(has_taken);
            }
            has_taken = true;
        }
    }

    /// Takes at most `most` bytes from the program; returns whether there were any, or the end of them.
    fn take_piece(&mut self, socket: &OwnedFd, most: usize) -> io::Result<bool> {
        let mut bytes = vec![0; most.min(PIECE)];
        match recv(socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => {
                self.has_finished = true;
                self.end.close();
            }
            Ok(length) => {
                bytes.truncate(length);
                // An error means that the connection has ended, which the program learns from its socket.
                let _ = self.end.send(Data::Bytes(bytes));
            }
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(false),
            Err(Errno::ECONNRESET) => {
                self.has_finished = true;
                self.end.close();
            }
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Passes received bytes, and the end of them, to the program.
    fn pass(&mut self, socket: &OwnedFd, _now: Instant) -> io::Result<bool> {
        let mut has_passed = false;
        loop {
            if self.received.is_empty() && self.end.unread() > 0 {
                let data = self.end.read(u32::try_from(PIECE).expect("a small number"));
                data.emit(&mut self.received);
            }
            if self.received.is_empty() {
                break;
            }
            match send(socket.as_raw_fd(), &self.received, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
                Ok(length) => drop(self.received.drain(..length)),
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(has_passed),
                Err(Errno::EPIPE | Errno::ECONNRESET) => {
                    // The program has closed its socket, or does not receive any more.
                    self.received.clear();
                    self.end.abort();
                    return Ok(true);
                }
                Err(error) => return Err(error.into()),
            }
            has_passed = true;
        }
        if self.has_peer_finished && !self.has_passed_end {
            self.has_passed_end = true;
            let _ = shutdown(socket.as_raw_fd(), Shutdown::Write);
            has_passed = true;
        }
        Ok(has_passed)
    }

    pub(super) fn details(&self) -> Details {
        let mss = self.end.mss();
        Details {
            mss,
            retransmitted: self.end.counters().retransmitted,
            window: self.end.cwnd() / mss.max(1),
            round_trip: self.end.rtt().latest().unwrap_or(Duration::ZERO),
        }
    }
}

/// Shuts down the socket of a failed connection, and discards its unread bytes, with which the kernel would report a
/// reset to the program.
pub(super) fn discard(socket: &OwnedFd) {
    let _ = shutdown(socket.as_raw_fd(), Shutdown::Both);
    let mut bytes = vec![0; PIECE];
    while let Ok(1..) | Err(Errno::EINTR) = recv(socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {}
}

/// Initial sequence number of the connection with this number: the same in each run.
fn first_number(number: u32) -> SeqNumber {
    SeqNumber(number.wrapping_mul(2_654_435_761))
}
