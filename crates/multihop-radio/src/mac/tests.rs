//! A station for the tests of all components. 2 Mb/s data, 1 Mb/s basic rate, long preamble: RTS 352, CTS and ACK 304,
//! data of 1500 bytes 6304 us.

use super::*;
use crate::frame::{Category, PacketHandle};
use crate::params::Flavour;

pub(super) const ME: NodeId = NodeId(0);
pub(super) const PEER: NodeId = NodeId(1);
pub(super) const OTHER: NodeId = NodeId(2);

pub(super) struct Bench {
    pub(super) mac: Mac,
    pub(super) config: MacConfig,
}

/// A station with nothing to send.
pub(super) fn station(radio: &RadioParams, params: &MacParams) -> Bench {
    let config = MacConfig::new(radio, params);
    let [backoff, rates] = ["test", "rates"].map(|purpose| Rng::stream(1, purpose, 0));
    Bench { mac: Mac::new(ME, &config, backoff, rates), config }
}

pub(super) fn bench(flavour: Flavour, rts_threshold: Option<u32>) -> Bench {
    let params = MacParams { flavour, rts_threshold, ..MacParams::default() };
    station(&RadioParams::default(), &params)
}

pub(super) fn us(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

pub(super) fn packet(n: u32) -> Outgoing {
    Outgoing {
        packet: PacketHandle(n),
        to: PEER,
        bytes: 1500,
        urgent: false,
        category: Category::BestEffort,
        queued: Instant::ZERO,
    }
}

impl Bench {
    pub(super) fn sends(&mut self, now: Instant, out: Outgoing) {
        assert_eq!(self.mac.enqueue(out), None);
        self.mac.serve(now, &self.config);
    }

    /// Packet whose service has ended, and whether it was delivered.
    pub(super) fn outcome(&mut self) -> Option<(Outgoing, bool)> {
        self.mac.poll_done().map(|done| (done.out, done.delivered))
    }

    /// Runs the next deadline and returns its time.
    pub(super) fn step(&mut self) -> (Instant, Option<Transmission>) {
        let at = self.mac.deadline(&self.config);
        assert!(at < Instant::FAR_FUTURE, "nothing to wait for");
        let sent = self.mac.handle_timeout(at, &self.config);
        (at, sent)
    }

    /// Advances to the next transmitted frame, and returns it with its start.
    pub(super) fn next_frame(&mut self) -> (Instant, Frame) {
        loop {
            if let (at, Some(sent)) = self.step() {
                return (at, sent.frame);
            }
        }
    }

    /// Receives a frame whose last bit arrives at `end`.
    pub(super) fn hears(&mut self, from: Instant, end: Instant, frame: &Frame) -> bool {
        self.mac.carrier_busy(from, &self.config);
        let delivered = self.mac.receive(end, frame, &self.config);
        self.mac.carrier_idle(end, &self.config);
        self.mac.serve(end, &self.config);
        delivered
    }

    pub(super) fn hears_noise(&mut self, from: Instant, end: Instant) {
        self.mac.carrier_busy(from, &self.config);
        self.mac.receive_error(end, &self.config);
        self.mac.carrier_idle(end, &self.config);
    }

    pub(super) fn to_me(&self, kind: FrameKind, nav: u64) -> Frame {
        Frame::control(kind, PEER, ME, Duration::from_micros(nav), 14, RateIndex(0))
    }

    /// Slots between the end of the interframe space that began at `idle` and `at`.
    pub(super) fn slots(at: Instant, idle: Instant, space: Duration) -> u64 {
        let wait = (at - idle) - space;
        assert_eq!(wait.as_nanos() % 20_000, 0, "{at} is no slot boundary after {idle}");
        wait.as_micros() / 20
    }
}

pub(super) const DIFS: Duration = Duration::from_micros(50);

/// Frames transmitted for one packet that gets no response: kind, rate, airtime in us, and for an RTS the
/// announced duration in us.
pub(super) fn unanswered(b: &mut Bench) -> Vec<(FrameKind, u8, u64, u64)> {
    let mut sent = Vec::new();
    while b.mac.poll_done().is_none() {
        let (_, Some(t)) = b.step() else { continue };
        sent.push((
            t.frame.kind,
            t.frame.rate.0,
            t.airtime.as_nanos().div_ceil(1000),
            t.frame.nav.as_micros(),
        ));
    }
    sent
}
