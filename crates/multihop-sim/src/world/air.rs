//! The stations, and what signals do to them.

use multihop_core::{DropReason, Duration, Instant, NodeId};
use multihop_radio::channel_error::ChannelError;
use multihop_radio::frame::{BROADCAST, Frame, FrameKind};
use multihop_radio::mac::{Done, Mac, MacConfig, Transmission};
use multihop_radio::medium::{Link, Medium, Rate};
use multihop_radio::params::Model;
use multihop_radio::phy::sinr::Signal;
use multihop_radio::phy::threshold::{Arrival, Effect};
use multihop_radio::phy::{Receiver, Verdict};

use super::flights::{Flight, Flights};
use super::{World, stream};
use crate::engine::{Key, Rank};
use multihop_scenario::Scenario;

/// The radio side of the network.
pub(super) struct Air {
    pub(super) config: MacConfig,
    pub(super) stations: Vec<Station>,
    pub(super) medium: Medium,
    errors: ChannelError,
    /// Ratio of powers at which a reception survives (threshold model).
    capture: f64,
    pub(super) flights: Flights,
}

/// One node's radio.
///
/// In this order in memory, a pair of cache lines: see [`Mac`].
#[repr(C, align(128))]
pub(super) struct Station {
    receiver: Receiver,
    pub(super) busy_since: Instant,
    /// Time spent receiving, whatever came of it.
    pub(super) receiving: Duration,
    /// The deadline that the queue of events knows.
    armed: Instant,
    pub(super) mac: Mac,
}

const _: () = assert!(size_of::<Station>() == 128, "a pair of cache lines");

impl Air {
    pub(super) fn new(scenario: &Scenario, config: MacConfig, medium: Medium) -> Self {
        let capture = match &scenario.radio.model {
            Model::Threshold(threshold) => libm::pow(10.0, threshold.capture_db / 10.0),
            Model::Sinr(_) => 0.0,
        };
        let station = |n| {
            let node = NodeId(n);
            Station {
                mac: Mac::new(node, &config, stream(scenario, "mac/backoff", node)),
                receiver: Receiver::new(&scenario.radio.model, stream(scenario, "radio/reception", node)),
                busy_since: Instant::ZERO,
                receiving: Duration::ZERO,
                armed: Instant::FAR_FUTURE,
            }
        };
        let nodes = u32::try_from(scenario.topology.nodes()).expect("a checked number of nodes");
        Self {
            stations: (0..nodes).map(station).collect(),
            medium,
            errors: ChannelError::new(&scenario.radio, scenario.seed),
            capture,
            flights: Flights::default(),
            config,
        }
    }
}

impl World<'_> {
    pub(super) fn handle_mac_timeout(&mut self, node: NodeId) {
        let station = &mut self.air.stations[node.index()];
        if let Some(transmission) = station.mac.handle_timeout(self.now, &self.air.config) {
            station.receiver.transmit(self.now + transmission.airtime);
            self.launch(node, transmission);
        }
        self.settle(node);
    }

    /// After anything has happened to a station's MAC: finished packets, the next packet, the next
    /// deadline.
    #[inline]
    pub(super) fn settle(&mut self, node: NodeId) {
        if self.air.stations[node.index()].mac.is_unsettled() {
            self.finish_and_serve(node);
        }
        let station = &self.air.stations[node.index()];
        self.observer.queue(self.now, node, || station.mac.queue().len());
        self.rearm(node);
    }

    /// After carrier has come or gone: only the next deadline may be another.
    #[inline]
    fn rearm(&mut self, node: NodeId) {
        let station = &mut self.air.stations[node.index()];
        let deadline = station.mac.deadline();
        if deadline != station.armed {
            station.armed = deadline;
            self.arm_mac(node, deadline);
        }
    }

    fn finish_and_serve(&mut self, node: NodeId) {
        if let Some(done) = self.air.stations[node.index()].mac.poll_done() {
            self.finish_packet(node, done);
        }
        self.air.stations[node.index()].mac.serve(self.now, &self.air.config);
    }

    fn arm_mac(&mut self, node: NodeId, deadline: Instant) {
        let slot = Self::mac_slot(node);
        if deadline == Instant::FAR_FUTURE {
            self.deadlines.clear(slot);
        } else {
            self.deadlines.set(Key::new(deadline, Rank::Timer, node, slot));
        }
    }

    fn finish_packet(&mut self, node: NodeId, done: Done) {
        if done.delivered {
            self.packets.release(done.out.packet);
        } else {
            self.link_failed(node, done.out);
        }
    }

    #[inline]
    pub(super) fn signal_starts(&mut self, flight: &Flight, link: &Link, rate: Rate) {
        let (now, air) = (self.now, &mut self.air);
        let Transmission { frame, airtime, .. } = &flight.transmission;
        let station = &mut air.stations[link.to.index()];
        let turned_busy = match &mut station.receiver {
            Receiver::Threshold(receiver) => {
                let arrival = Arrival {
                    id: flight.signal,
                    power: link.power_mw,
                    decodable: link.decodes(rate),
                    end: now + *airtime,
                };
                let effect = receiver.signal_starts(now, &arrival, air.capture);
                if effect == Effect::TooWeakToDisturb {
                    station.mac.overheard_weak(now, *airtime, &air.config);
                }
                effect == Effect::Occupied
            }
            Receiver::Sinr(receiver) => {
                let was_busy = receiver.is_busy();
                let signal = Signal {
                    id: flight.signal,
                    power_mw: air.medium.power_mw(frame.from, link, flight.began()),
                    rate: flight.transmission.rate,
                    preamble_end: now + air.config.airtime.plcp,
                    end: now + *airtime,
                    bits: 8 * frame.bytes,
                };
                receiver.signal_starts(now, &signal);
                !was_busy && receiver.is_busy()
            }
        };
        if turned_busy {
            station.busy_since = now;
            let waited = station.mac.waits_for_carrier();
            station.mac.carrier_busy(now);
            if waited {
                self.rearm(link.to);
            }
        }
    }

    #[inline]
    pub(super) fn signal_ends(&mut self, flight: &Flight, link: &Link) {
        let (now, to, air) = (self.now, link.to, &mut self.air);
        let frame = &flight.transmission.frame;
        let station = &mut air.stations[to.index()];
        let was_busy = station.receiver.is_busy();
        let mut verdict = station.receiver.signal_ends(now, flight.signal);
        if verdict == Verdict::Good && air.errors.damages_frame(frame.from, to) {
            verdict = Verdict::Error;
        }
        let mut delivered = false;
        match verdict {
            Verdict::Ignored | Verdict::Deaf => {}
            Verdict::Good => delivered = station.mac.receive(now, frame, &air.config),
            Verdict::Error => station.mac.receive_error(now, &air.config),
            Verdict::Collision => {
                station.mac.counters_mut().collisions += 1;
                station.mac.receive_error(now, &air.config);
            }
        }
        let mut settles = verdict == Verdict::Good && frame.to == to;
        let mut waited = false;
        if was_busy && !station.receiver.is_busy() {
            settles |= station.mac.gives_up_at_idle();
            waited = station.mac.waits_for_carrier();
            station.receiving += now - station.busy_since;
            station.mac.carrier_idle(now, &air.config);
        }
        if verdict == Verdict::Good && (frame.to == to || frame.to == BROADCAST) {
            self.observer.frame(now, to, &flight.transmission, &air.config.airtime, &self.packets);
        }
        if settles {
            self.settle(to);
        } else if waited {
            self.rearm(to);
        }
        if delivered {
            self.receive_from_mac(to, frame);
        } else if self.taps && verdict == Verdict::Good && frame.is_overheard_by(to) {
            self.overhear(to, frame);
        }
    }

    fn receive_from_mac(&mut self, node: NodeId, frame: &Frame) {
        debug_assert_eq!(frame.kind, FrameKind::Data, "only data frames carry packets");
        let unicast = frame.to != BROADCAST;
        if unicast && self.air.errors.loses_packet(frame.from, node) {
            let packet = self.packets.get(frame.body).clone();
            self.drop_packet(node, &packet, DropReason::ChannelError);
            return;
        }
        self.pass_up(node, frame.from, frame.body);
    }
}
