use multihop_core::{Duration, Instant};
use multihop_wire::tpa::{Ack, Bitmap, BlockSeq, Body, Options, Segment, VERSION};

use super::{Event, State, TpaEnd};
use crate::lifecycle::Syn;

impl TpaEnd {
    /// Opens the connection, beginning with a SYN.
    pub fn connect(&mut self) {
        self.life.connect();
    }

    /// Retransmits the SYN at once, because the encryption layer has received a cookie for it.
    pub fn connect_again(&mut self) {
        self.life.repeat_syn();
    }

    /// Waits for the peer to open the connection.
    pub fn listen(&mut self) {
        self.life.listen();
    }

    /// Whether `segment` opens a new connection that replaces this one. Only a connection in LINGER, which
    /// merely answers late segments, is replaced; the driver then creates a new endpoint.
    pub fn gives_way_to(&self, segment: &Segment) -> bool {
        let opens = matches!(segment.body, Body::Syn(_)) && segment.ack.is_none();
        self.state() == State::Linger && opens && segment.block != self.recv.irs
    }

    /// Options in the peer's SYN; default values before it arrives.
    pub fn peer(&self) -> &Options {
        &self.peer
    }

    pub(super) fn in_listen(&mut self, segment: &Segment) {
        let Body::Syn(options) = segment.body else {
            self.counters.dropped += 1;
            return;
        };
        if segment.ack.is_some() || !self.take_syn(segment, options) {
            return;
        }
        self.ports.remote = segment.source;
        self.life.on_syn(segment.tx_seq);
    }

    pub(super) fn in_syn_sent(&mut self, now: Instant, segment: &Segment) {
        let answers = segment.ack.filter(|ack| ack.block == self.send.iss && self.life.has_sent_syn());
        match segment.body {
            Body::Reset if answers.is_some() => self.finish(Event::Reset),
            Body::Reset => self.counters.dropped += 1,
            Body::Syn(_) if segment.ack.is_some() && answers.is_none() => self.counters.dropped += 1,
            Body::Syn(options) => {
                if !self.take_syn(segment, options) {
                    return;
                }
                if let Some(ack) = answers {
                    self.establish(now, Some(ack));
                    self.acks.ask(segment.tx_seq);
                } else {
                    // Simultaneous open: answer with a SYN and an ACK.
                    self.life.on_syn(segment.tx_seq);
                }
            }
            // The segment belongs to a connection that the peer still considers open.
            _ => {
                self.counters.dropped += 1;
                if self.refusals.allow(now, ()) {
                    self.counters.segments_sent += 1;
                    self.emit_segment(reset_for(segment));
                }
            }
        }
    }

    /// Takes the peer's SYN; refuses an unknown version.
    fn take_syn(&mut self, segment: &Segment, options: Options) -> bool {
        if options.version != VERSION {
            self.counters.dropped += 1;
            self.counters.segments_sent += 1;
            self.emit_segment(reset_for(segment));
            return false;
        }
        self.recv.irs = segment.block;
        self.peer = options;
        self.mss = self.mss.min(u32::from(options.mss));
        self.send.window = segment.window;
        true
    }

    /// Whether a segment ends the handshake that the peer began: an ACK of this end's SYN, or data if that
    /// ACK was lost.
    pub(super) fn completes_handshake(&mut self, now: Instant, segment: &Segment) -> bool {
        let acks = segment.ack.filter(|ack| ack.block == self.send.iss && self.life.has_sent_syn());
        let is_piece = matches!(segment.body, Body::Data { .. } | Body::Fin { .. });
        let first = is_piece && self.config.framing.distance(self.recv.irs, segment.block) == 1;
        if acks.is_none() && (segment.ack.is_some() || !first) {
            return false;
        }
        self.send.window = segment.window;
        self.establish(now, acks);
        true
    }

    fn establish(&mut self, now: Instant, ack: Option<Ack>) {
        if let Some(round_trip) = self.life.establish(now, ack.map(|ack| ack.tx_seq)) {
            // A SYN is much shorter than the data segments whose round trips pacing needs.
            self.rtt.short_sample(round_trip);
        }
        self.emit(Event::Connected);
        self.update_state(now);
    }

    /// Answers a retransmitted SYN of the peer.
    pub(super) fn on_syn_again(&mut self, now: Instant, segment: &Segment) {
        let same = segment.block == self.recv.irs;
        match (self.state(), segment.ack) {
            (State::SynReceived, None) if same => self.life.on_syn(segment.tx_seq),
            (State::SynReceived, Some(ack)) if same && ack.block == self.send.iss => {
                self.establish(now, Some(ack));
                self.acks.ask(segment.tx_seq);
            }
            (State::SynReceived, _) => self.counters.dropped += 1,
            _ if same && self.recv.number == 0 => self.acks.ask(segment.tx_seq),
            // Either the peer has retransmitted its SYN, or it has restarted and will reset the connection
            // that it does not know.
            _ => self.acks.ask_anyway(),
        }
    }

    /// Builds the SYN, with an ACK if the peer's SYN has arrived.
    pub(super) fn syn(&mut self, syn: Syn) -> Segment {
        let ack = syn.answers.map(|tx_seq| Ack {
            block: self.recv.irs,
            bitmap: Bitmap::EMPTY,
            tx_seq,
            held: false,
        });
        let options = self.options();
        Segment { tx_seq: syn.attempt, congested: false, ..self.plain(Body::Syn(options), ack) }
    }

    fn options(&self) -> Options {
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        Options {
            version: VERSION,
            mss: self.config.mss,
            block_size: self.config.block_size,
            cwnd_max: self.config.cwnd_max,
            ack_policy: self.config.ack_policy,
            ack_block_end: self.config.ack_block_end,
            ack_gaps: self.config.ack_gaps,
            takes_notices: self.config.notices,
            initial_ttl: self.config.initial_ttl,
            ack_interval: micros(self.config.ack_interval),
            rto_min: micros(self.config.rto.min),
        }
    }

    /// Longest delay of the ACK of a peer's segment that requests `delay` ms; 0 means the delay in the options of the
    /// peer's SYN.
    pub(super) fn ack_delay(&self, delay: u8) -> Duration {
        let half = Duration::from_micros(u64::from(self.peer.rto_min)) / 2;
        let usual = Duration::from_micros(u64::from(self.peer.ack_interval)).min(half);
        delay_of(delay, usual)
    }

    /// Longest delay of the ACK of this end's segment that requests `delay` ms, by the same computation as at the
    /// peer.
    pub(super) fn requested_delay(&self, delay: u8) -> Duration {
        delay_of(delay, self.config.ack_interval.min(self.config.rto.min / 2))
    }

    /// ACK delay that the next data segment requests, ms: one round-trip time, within which the segments that
    /// complete the window arrive. 0 requests nothing; a segment with an ACK has no field for the request.
    pub(super) fn ack_delay_request(&self) -> u8 {
        let has_room = self.acks.due().is_none();
        let follows = has_room && self.config.rto.covers_hold;
        let Some(min) = self.config.ack_interval_min.filter(|_| follows) else { return 0 };
        let wait = self.rtt.srtt().unwrap_or(min).min(self.config.ack_interval).max(min);
        u8::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u8::MAX)
    }

    /// Number of the block being sent, as on the wire.
    pub(super) fn sending(&self) -> BlockSeq {
        self.config.framing.block_after(self.send.iss, self.send.block.number)
    }

    /// Number of the block being received, as on the wire.
    pub(super) fn receiving(&self) -> BlockSeq {
        self.config.framing.block_after(self.recv.irs, self.recv.number)
    }
}

/// A reset that the sender of `segment` accepts, because it names that sender's own block.
pub fn reset_for(segment: &Segment) -> Segment {
    Segment {
        source: segment.destination,
        destination: segment.source,
        body: Body::Reset,
        ack: Some(Ack { block: segment.block, ..Ack::default() }),
        ..Segment::default()
    }
}

/// `delay` in milliseconds, or `usual` for 0. A timer of zero would expire endlessly.
fn delay_of(delay: u8, usual: Duration) -> Duration {
    if delay == 0 { usual.max(Duration::from_micros(1)) } else { Duration::from_millis(u64::from(delay)) }
}
