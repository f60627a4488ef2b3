use alloc::boxed::Box;

use multihop_core::Instant;
use multihop_wire::tcp::{Options, Segment};

use super::adtcp::Meter;
use super::config::MAX_SCALE;
use super::sequence::at;
use super::state::State;
use super::timer::Timer;
use super::transmissions::Transmissions;
use super::{Event, TcpEnd};
use crate::congestion::Congestion;

impl TcpEnd {
    /// Opens the connection, by a SYN if the configuration has a handshake.
    pub fn connect(&mut self) {
        if self.state != State::Closed {
            return;
        }
        if self.config.handshake {
            self.state = State::SynSent;
        } else {
            self.skip_handshake();
        }
    }

    /// Waits for the peer to open the connection.
    pub fn listen(&mut self) {
        if self.state != State::Closed {
            return;
        }
        self.passive = true;
        if self.config.handshake {
            self.state = State::Listen;
        } else {
            self.skip_handshake();
        }
    }

    /// Opens the connection as if a handshake with this endpoint's own options had just ended at both ends.
    fn skip_handshake(&mut self) {
        let own = self.syn_options(Instant::ZERO);
        self.take_syn_options(&own);
        self.send.window = self.recv.capacity;
        self.send.max_window = self.send.window;
        (self.send.una, self.send.next, self.send.max) = (1, 1, 1);
        self.recv.queue.start();
        self.recv.edge = 1 + u64::from(self.recv.capacity);
        self.establish();
    }

    /// Takes options and numbers from the peer's SYN.
    pub(super) fn on_syn(&mut self, segment: &Segment) {
        self.recv.irs = segment.seq;
        self.recv.queue.start();
        self.take_syn_options(&segment.options);
        self.marks.on &= segment.ece && segment.cwr == segment.ack.is_none();
        if let Some(stamps) = segment.options.timestamps {
            self.peer_timestamp = stamps.value;
        }
        self.send.window = u32::from(segment.window);
        self.send.max_window = self.send.window;
    }

    /// Enters the established state at the end of the handshake.
    pub(super) fn establish(&mut self) {
        self.state = match (self.state, self.closing) {
            (_, true) => State::FinWait1,
            _ => State::Established,
        };
        self.retries = 0;
        self.timers.stop(Timer::Retransmit);
        // RFC 5681 §3.1: the window is one segment if the SYN or its ACK was lost.
        let initial = if self.syn_lost { 1 } else { self.config.initial_window };
        if self.syn_lost {
            self.rtt.syn_was_lost();
        }
        self.congestion = Congestion::new(&self.config.congestion, &self.config.start(self.mss, initial));
        let by_time = self.config.rack && self.sack;
        let is_measured = by_time || self.config.congestion.signals().rates;
        self.transmissions = is_measured.then(|| Box::new(Transmissions::new()));
        self.meter = self.config.timestamps.filter(|_| self.timestamps).and_then(|tick| {
            let density = &self.config.adtcp.density;
            self.config.is_adtcp().then(|| Box::new(Meter::new(density, tick)))
        });
        self.emit(Event::Connected);
    }

    /// Builds the SYN, with an ACK if the peer's SYN has arrived.
    pub(super) fn syn(&mut self, now: Instant) -> Segment {
        self.send.next = 1;
        self.send.max = 1;
        self.timed = (!self.syn_lost).then_some((1, now));
        self.start_retransmit_timer(now);
        // RFC 7323 §2.2: the window of a SYN is not scaled.
        let window = u16::try_from(self.recv.capacity).unwrap_or(u16::MAX);
        self.recv.edge = self.recv.edge.max(1 + u64::from(window));
        let answers = self.state == State::SynReceived;
        self.counters.segments_sent += 1;
        self.on_ack_sent();
        Segment {
            source: self.ports.local,
            destination: self.ports.remote,
            seq: self.send.number(0),
            ack: answers.then(|| at(self.recv.irs, 1)),
            syn: true,
            // RFC 3168 §6.1.1
            ece: self.marks.on,
            cwr: self.marks.on && !answers,
            window,
            options: self.syn_options(now),
            ..Segment::default()
        }
    }

    /// Options of this end's SYN; after the peer's SYN has arrived, only the options that both ends want.
    fn syn_options(&self, now: Instant) -> Options {
        // DEVIATION tcp-3: The SYN has an MSS option, and window scaling if needed. ns-2's SYN has no options, so
        // that a connection in multihop has 4 or 8 bytes more.
        Options {
            mss: Some(self.config.mss),
            window_scale: self.scaling.then(|| self.config.window_scale()),
            sack_permitted: self.sack,
            timestamps: self.timestamps.then(|| self.stamps(now)),
            ..Options::default()
        }
    }

    fn take_syn_options(&mut self, peer: &Options) {
        // An endpoint that needs no window scaling itself lets the peer use it.
        self.scaling = (self.scaling || self.passive) && peer.window_scale.is_some();
        self.sack &= peer.sack_permitted;
        self.timestamps &= peer.timestamps.is_some();
        if self.scaling {
            self.recv.scale = self.config.window_scale();
            // RFC 7323 §2.3: a shift above 14 counts as 14.
            self.send.scale = peer.window_scale.unwrap_or(0).min(MAX_SCALE);
        }
        // RFC 9293 §3.7.1: 536 unless the peer announces another value.
        let mss = self.config.mss.min(peer.mss.unwrap_or(DEFAULT_MSS));
        // RFC 6691: options reduce the data.
        let options = if self.timestamps { TIMESTAMPS_LEN } else { 0 };
        self.mss = u32::from(mss.saturating_sub(options).max(1));
    }
}

/// Largest segment that a peer accepts unless its SYN says otherwise (RFC 9293 §3.7.1), bytes.
const DEFAULT_MSS: u16 = 536;
/// Length of the timestamps option with its padding: 10 and 2 bytes.
const TIMESTAMPS_LEN: u16 = 12;
