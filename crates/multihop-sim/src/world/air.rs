//! Frames in flight, and the stations they reach.

use multihop_core::{DropReason, Duration, Instant, NodeId};
use multihop_radio::channel_error::ChannelError;
use multihop_radio::frame::{BROADCAST, Frame, FrameKind, PacketHandle};
use multihop_radio::mac::{Done, Mac, MacConfig, Transmission};
use multihop_radio::medium::{Link, Medium, Rate};
use multihop_radio::params::Model;
use multihop_radio::phy::sinr::Signal;
use multihop_radio::phy::threshold::{Arrival, Effect};
use multihop_radio::phy::{Receiver, Verdict};

use super::{Owner, World, stream};
use crate::engine::{Key, Rank};
use crate::scenario::Scenario;

/// The radio side of the network.
pub(super) struct Air {
    pub(super) config: MacConfig,
    pub(super) stations: Vec<Station>,
    medium: Medium,
    errors: ChannelError,
    /// Ratio of powers at which a reception survives (threshold model).
    capture: f64,
    /// Without the one that is being advanced.
    flights: Vec<Option<Box<Flight>>>,
    idle_flights: Vec<FlightId>,
    next_signal: u64,
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

/// A place in the table of flights.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlightId(u32);

/// A frame on its way: it begins, then ends, at each station that hears it, nearest first.
#[derive(Clone, Debug)]
struct Flight {
    transmission: Transmission,
    /// Names the transmission.
    signal: u64,
    began: Instant,
    /// The links over which it is heard; never none.
    links: Vec<Link>,
    /// The link where something happens next.
    next: usize,
    /// Whether that is the arrival of the last bit.
    ending: bool,
    slot: u32,
}

impl FlightId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Flight {
    /// When the first bits, or the last, leave the antenna.
    fn wave_began(&self) -> Instant {
        self.began + if self.ending { self.transmission.airtime } else { Duration::ZERO }
    }

    /// When the next bit arrives.
    fn at(&self) -> Instant {
        self.wave_began() + self.links[self.next].delay.into()
    }

    /// Where the next bit comes in the order of events.
    fn key(&self) -> Key {
        self.key_at(self.next)
    }

    /// Where the bit on a link comes in the order of events.
    fn key_at(&self, link: usize) -> Key {
        let link = &self.links[link];
        let rank = if self.ending { Rank::SignalEnd } else { Rank::SignalStart };
        Key::new(self.wave_began() + link.delay.into(), rank, link.to, self.slot)
    }
}

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
            flights: Vec::new(),
            idle_flights: Vec::new(),
            next_signal: 0,
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
        let station = &mut self.air.stations[node.index()];
        self.observer.queue(self.now, node, station.mac.queue().len());
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

    /// A frame leaves the antenna.
    fn launch(&mut self, node: NodeId, transmission: Transmission) {
        let body = transmission.frame.body;
        self.observer.frame(self.now, node, &transmission, &self.air.config.airtime, &self.packets);
        let id = match self.air.idle_flights.pop() {
            Some(id) => id,
            None => self.add_flight(transmission),
        };
        let flight = self.air.flights[id.index()].as_mut().expect(AWAY);
        self.air.medium.links_of(node, self.now, &mut flight.links);
        if flight.links.is_empty() {
            self.air.idle_flights.push(id);
            return;
        }
        if body != PacketHandle::NONE {
            self.packets.hold(body);
        }
        self.air.next_signal += 1;
        flight.transmission = transmission;
        flight.signal = self.air.next_signal;
        flight.began = self.now;
        flight.next = 0;
        flight.ending = false;
        let key = flight.key();
        self.deadlines.set_soon(key);
    }

    fn add_flight(&mut self, transmission: Transmission) -> FlightId {
        let id = FlightId(u32::try_from(self.air.flights.len()).expect("fewer than 2^32 frames in flight"));
        let slot = self.deadlines.add_slot();
        self.owners.push(Owner::Flight(id));
        let (signal, began, links) = (0, self.now, Vec::new());
        let flight = Flight { transmission, signal, began, links, next: 0, ending: false, slot };
        self.air.flights.push(Some(Box::new(flight)));
        id
    }

    /// The first or the last bit of a frame reaches the next station, and the one after it, for as
    /// long as nothing else comes in between.
    pub(super) fn advance_flight(&mut self, id: FlightId) {
        let mut flight = self.air.flights[id.index()].take().expect(AWAY);
        if self.goes_through(&mut flight) {
            self.land(id, &flight);
        }
        self.air.flights[id.index()] = Some(flight);
    }

    /// True if the frame is over everywhere.
    fn goes_through(&mut self, flight: &mut Flight) -> bool {
        let mut others = Others::of(self);
        if !flight.ending {
            let rate = Rate::from(flight.transmission.rate);
            if !self
                .passes(flight, &mut others, |world, flight, link| world.signal_starts(flight, link, rate))
            {
                return false;
            }
            flight.next = 0;
            flight.ending = true;
            if !self.is_next(flight.at(), &mut others, || flight.key()) {
                self.deadlines.set(flight.key());
                return false;
            }
        }
        self.passes(flight, &mut others, Self::signal_ends)
    }

    /// First bits, or last bits, `arrive` at one station after another; true if it was the last.
    #[inline]
    fn passes(
        &mut self,
        flight: &mut Flight,
        others: &mut Others,
        arrive: impl Fn(&mut Self, &Flight, &Link),
    ) -> bool {
        let began = flight.wave_began();
        arrive(self, flight, &flight.links[flight.next]);
        for next in flight.next + 1..flight.links.len() {
            let link = &flight.links[next];
            if !self.is_next(began + link.delay.into(), others, || flight.key_at(next)) {
                flight.next = next;
                self.deadlines.set_soon(flight.key());
                return false;
            }
            arrive(self, flight, link);
        }
        true
    }

    /// Whether what happens at `at`, and has a certain key, comes before everything else; if so, it is
    /// the next event.
    #[inline]
    fn is_next(&mut self, at: Instant, others: &mut Others, key: impl Fn() -> Key) -> bool {
        if self.deadlines.version() != others.version {
            *others = Others::of(self);
        }
        if at >= others.until && (at >= self.horizon || others.first.is_some_and(|first| first < key())) {
            return false;
        }
        self.now = at;
        self.events += 1;
        true
    }

    /// The frame is over everywhere.
    fn land(&mut self, id: FlightId, flight: &Flight) {
        if flight.transmission.frame.body != PacketHandle::NONE {
            self.packets.release(flight.transmission.frame.body);
        }
        self.air.idle_flights.push(id);
    }

    #[inline]
    fn signal_starts(&mut self, flight: &Flight, link: &Link, rate: Rate) {
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
                    power_mw: air.medium.power_mw(frame.from, link, flight.began),
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
                self.settle(link.to);
            }
        }
    }

    #[inline]
    fn signal_ends(&mut self, flight: &Flight, link: &Link) {
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
        let mut affected = verdict == Verdict::Good && frame.to == to;
        if was_busy && !station.receiver.is_busy() {
            affected |= station.mac.waits_for_carrier();
            station.receiving += now - station.busy_since;
            station.mac.carrier_idle(now, &air.config);
        }
        if verdict == Verdict::Good && (frame.to == to || frame.to == BROADCAST) {
            self.observer.frame(now, to, &flight.transmission, &air.config.airtime, &self.packets);
        }
        if affected {
            self.settle(to);
        }
        if delivered {
            self.receive_from_mac(to, frame);
        } else if self.taps && verdict == Verdict::Good && frame.is_overheard_by(to) {
            self.overhear(to, frame);
        }
    }

    fn receive_from_mac(&mut self, node: NodeId, frame: &Frame) {
        debug_assert_eq!(frame.kind, FrameKind::Data, "only data frames carry packets");
        let packet = self.packets.get(frame.body).clone();
        let unicast = frame.to != BROADCAST;
        if unicast && self.air.errors.loses_packet(frame.from, node) {
            self.drop_packet(node, &packet, DropReason::ChannelError);
            return;
        }
        self.pass_up(node, frame.from, packet);
    }
}

/// Everything but the frame that is being advanced.
struct Others {
    first: Option<Key>,
    /// Nothing happens before.
    until: Instant,
    version: u64,
}

impl Others {
    fn of(world: &World<'_>) -> Self {
        let first = world.deadlines.first();
        let until = first.map_or(world.horizon, |key| key.at().min(world.horizon));
        Self { first, until, version: world.deadlines.version() }
    }
}

const AWAY: &str = "no other frame is advanced meanwhile";
