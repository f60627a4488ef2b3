//! Handshake of `mesh`: SYNs with options and their answers.

use core::num::{NonZeroU8, NonZeroU16};

use multihop_core::Instant;
use multihop_wire::control::{Control, Features, Names, Options, Syn, VERSION};
use multihop_wire::mesh::Segment;

use super::MeshEnd;
use crate::event::Event;
use crate::lifecycle::{self, Lifecycle, State};

/// Name and version of the transport on real networks.
pub const NAME: &str = "mesh/3";

impl MeshEnd {
    /// Opens the connection, beginning with a SYN.
    pub fn connect(&mut self) {
        self.life.connect();
    }

    /// Retransmits the SYN at once, because the protection now has a cookie for it.
    pub fn connect_again(&mut self) {
        self.life.repeat_syn();
    }

    /// Waits for the peer to open the connection.
    pub fn listen(&mut self) {
        self.life.listen();
    }

    /// Whether `segment` opens a new connection that replaces this one. Only a connection that merely answers late
    /// segments is replaced; the driver then creates a new end.
    pub fn gives_way_to(&self, segment: &Segment) -> bool {
        let Segment::Control(Control::Syn(syn)) = segment else { return false };
        self.state() == State::Linger && syn.answers.is_none() && syn.number != self.recv.initial()
    }

    pub(super) fn in_listen(&mut self, syn: &Syn) {
        if syn.answers.is_none() && self.take_syn(syn) {
            self.life.on_syn(syn.attempt);
        }
    }

    pub(super) fn in_syn_sent(&mut self, now: Instant, syn: &Syn) {
        match syn.answers {
            Some(number) if number == self.send.initial() && self.life.has_sent_syn() => {
                if self.take_syn(syn) {
                    self.establish(now, Some(syn.attempt));
                    // A segment with data shows the peer that its SYN has arrived.
                    if !self.may_send(0, false) {
                        self.recv.request_ack();
                    }
                }
            }
            Some(_) => {}
            // Both opened at once: this end's SYN ACK answers the peer's SYN.
            None => {
                if self.take_syn(syn) {
                    self.life.on_syn(syn.attempt);
                }
            }
        }
    }

    /// Answers a retransmitted SYN of the peer.
    pub(super) fn on_syn_again(&mut self, now: Instant, syn: &Syn) {
        let is_same = syn.number == self.recv.initial();
        match (self.state(), syn.answers) {
            (State::SynReceived, None) if is_same => self.life.on_syn(syn.attempt),
            (State::SynReceived, Some(number)) if is_same && number == self.send.initial() => {
                self.establish(now, Some(syn.attempt));
                self.recv.request_ack();
            }
            (State::SynReceived, _) => {}
            // A retransmission, or a peer that has restarted: it resets a connection that it does not know.
            _ => self.recv.request_ack(),
        }
    }

    /// Takes the peer's SYN; refuses one that this end does not support.
    fn take_syn(&mut self, syn: &Syn) -> bool {
        if let Some(refusal) = syn.refusal() {
            self.emit_control(Control::Reset(refusal));
            return false;
        }
        self.peer = syn.options.clone();
        self.update_mss();
        self.recv.open(syn.number);
        self.send.open(syn.window);
        true
    }

    /// Whether a segment ends the handshake that the peer began: the ACK of this end's SYN, or data, if that ACK is
    /// lost or data leaves at once.
    pub(super) fn completes_handshake(&mut self, now: Instant, segment: &Segment) -> bool {
        let is_first = match segment {
            Segment::Ack(ack) => self.life.has_sent_syn() && self.send.is_next(ack.next),
            Segment::Data(data) => self.life.has_sent_syn() && self.recv.has_near(data.number),
            Segment::Control(_) => false,
        };
        if is_first {
            self.establish(now, None);
        }
        is_first
    }

    fn establish(&mut self, now: Instant, answered: Option<u8>) {
        if let Some(round_trip) = self.life.establish(now, answered) {
            self.paths[0].on_handshake(round_trip);
        }
        self.emit(Event::Connected);
        self.update_state(now);
    }

    /// Returns to the state LISTEN: discards the peer's state, but keeps the application's requests and the path.
    pub(super) fn listen_again(&mut self) {
        let is_closing = self.life.is_closing();
        self.life = Lifecycle::new(self.config.lifecycle());
        self.life.listen();
        self.peer = Options::default();
        self.update_mss();
        if is_closing {
            self.shutdown();
        }
    }

    /// The SYN, or the SYN ACK if the peer's SYN has arrived.
    pub(super) fn syn(&mut self, syn: lifecycle::Syn) -> Segment {
        Segment::Control(Control::Syn(Syn {
            number: self.send.initial(),
            attempt: syn.answers.unwrap_or(syn.attempt),
            answers: syn.answers.map(|_| self.recv.initial()),
            window: self.recv.offer(),
            options: self.options(),
        }))
    }

    fn options(&self) -> Options {
        Options {
            version: VERSION,
            transports: Names::new(&[NAME]).unwrap_or_default(),
            features: self.features(),
            initial_ttl: NonZeroU8::new(self.config.initial_ttl),
            mss: NonZeroU16::new(self.config.mss),
            channels: self.config.channels.then(|| self.config.channel_limits()),
            ..Options::default()
        }
    }

    /// Optional features of this end.
    fn features(&self) -> Features {
        let channels = self.config.channels;
        let features = [(self.config.second_path, SECOND_PATH), (channels, CHANNELS), (channels, SKIPS)];
        let supported = features.into_iter().filter(|(is_supported, _)| *is_supported);
        supported.fold(Features::default(), |all, (_, feature)| all.with(feature))
    }

    /// Whether both ends let the connection have channels.
    pub(super) fn agrees_on_channels(&self) -> bool {
        self.features().and(self.peer.features).has(CHANNELS)
    }

    /// Whether both ends understand that segments are skipped.
    pub(super) fn agrees_on_skips(&self) -> bool {
        self.features().and(self.peer.features).has(SKIPS)
    }

    /// Whether both ends let the connection have a second path.
    pub(super) fn agrees_on_second_path(&self) -> bool {
        self.features().and(self.peer.features).has(SECOND_PATH)
    }
}

/// Number of the feature that an end understands segments of a second path.
const SECOND_PATH: u8 = 0;
/// Number of the feature that an end understands segments of channels.
const CHANNELS: u8 = 1;
/// Number of the feature that an end understands chunks of the kind SKIP.
const SKIPS: u8 = 2;
