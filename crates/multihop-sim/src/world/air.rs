//! Stations of one radio, and the effect of signals on them.

use multihop_core::{BitRate, DropReason, Duration, Instant, Interface, NodeId, Rng};
use multihop_radio::channel_error::ChannelError;
use multihop_radio::frame::{BROADCAST, Category, FrameKind, Outgoing, PacketHandle};
use multihop_radio::mac::{Bitmap, Mac, MacConfig, Passed, Transmission};
use multihop_radio::medium::{Link, Medium, Zone};
use multihop_radio::mobility::Track;
use multihop_radio::params::{MacParams, Model, RadioParams};
use multihop_radio::phy::sinr::{ReceivedSignal, Signal};
use multihop_radio::phy::threshold::{Arrival, Effect};
use multihop_radio::phy::{Receiver, Verdict};

use super::action::Action;
use super::agenda::Direction;
use super::context::Context;
use super::flights::{Flight, Flights};
use super::fq_codel::FqCodel;
use super::ids::Neighbour;
use super::leaks::Leaks;
use super::mac_stats::MacStats;
use super::queues::Queues;
use crate::observe::Sent;
use crate::packet::{Body, Packet};
use multihop_scenario::Scenario;

/// One radio of all nodes: their stations, the medium between them, and frames in flight.
pub(super) struct Air {
    pub(super) interface: Interface,
    pub(super) config: MacConfig,
    pub(super) stations: Vec<Station>,
    /// Queues in front of the MACs, if CoDel or FQ-CoDel chooses the next packet.
    queues: Queues,
    pub(super) medium: Medium,
    pub(super) errors: ChannelError,
    /// Properties of the first bits of frames, by rate.
    first_bits: Vec<FirstBits>,
    /// Access category of each flow; `None` without EDCA.
    categories: Option<Vec<Category>>,
    /// Ratio of powers at which a reception survives (threshold model).
    capture: f64,
    pub(super) flights: Flights,
    /// Number of receptions lost because of another frame.
    pub(super) collisions: u64,
    pub(super) stats: MacStats,
    /// Bitmap of the MPDUs that the latest station received of a frame with a load; unused for other frames.
    intact: Bitmap,
    /// Nodes whose radio is asleep or without power; empty if there was none so far.
    silent: Vec<bool>,
    /// Whether the routing protocol uses overheard frames.
    pub(super) taps: bool,
    /// Whether overlapping frames may be processed in any order if no station hears both.
    pub(super) reorders: bool,
    /// Slot in the agenda of the MAC of node 0; the other nodes follow.
    slots: u32,
    /// Radios of the nodes for which this radio's transmissions are interference.
    pub(super) leaks: Leaks,
}

/// Receiver of frames that a station overhears although they are for another one.
pub(super) trait Taps {
    /// Called when a station receives a frame for another station without error.
    fn overhear(&mut self, context: &mut Context<'_>, node: NodeId, packet: PacketHandle);
}

/// Properties of the first bits of all frames at one rate, equal at all stations.
#[derive(Clone, Copy)]
pub(super) struct FirstBits {
    /// The farthest zone in which the frame can be decoded (threshold model).
    decodable: Zone,
    /// Airtime of preamble and PLCP header.
    plcp: Duration,
    /// A ratio to noise and interference above which no bit can be wrong (SINR model).
    safe_above: f64,
    /// Whether fading changes the power of links.
    fades: bool,
}

/// Radio of one node: receiver and MAC. [`Mac`] explains the layout in memory, a pair of cache lines.
#[repr(C, align(128))]
pub(super) struct Station {
    pub(super) receiver: Receiver,
    pub(super) busy_since: Instant,
    /// Time spent receiving, successfully or not.
    pub(super) receiving: Duration,
    /// Deadline of the station's MAC in the agenda, which may be earlier than the actual one because the MAC
    /// has postponed it.
    armed: Instant,
    pub(super) mac: Mac,
}

const _: () = assert!(size_of::<Station>() == 128, "a pair of cache lines");

impl Air {
    pub(super) fn new(
        (scenario, interface): (&Scenario, Interface),
        tracks: Vec<Track>,
        slots: u32,
        taps: bool,
        has_lists: bool,
    ) -> Self {
        let radio = &scenario.radios[interface.index()];
        let (params, seed) = (&radio.params, scenario.seed_of(interface));
        let config = MacConfig::new(params, &radio.mac);
        let capture = match &params.model {
            Model::Threshold(threshold) => libm::pow(10.0, threshold.capture_db / 10.0),
            Model::Sinr(_) => 0.0,
        };
        let nodes = u32::try_from(tracks.len()).expect("a checked number of nodes");
        let medium = Medium::new(params, tracks, seed);
        let mut air = Self {
            interface,
            queues: Queues::new(&radio.mac, nodes, &config),
            stations: (0..nodes).map(|n| Station::new(params, &config, seed, NodeId(n))).collect(),
            first_bits: FirstBits::of_rates(params, &config, &medium),
            medium,
            errors: ChannelError::new(params, seed),
            categories: categories(scenario, &radio.mac),
            capture,
            flights: Flights::new(radio.mac.flavour, interface),
            collisions: 0,
            stats: MacStats::new(nodes, &config, has_lists),
            silent: Vec::new(),
            intact: Bitmap::NONE,
            taps,
            reorders: false,
            slots,
            leaks: Leaks::default(),
            config,
        };
        (0..nodes).map(NodeId).filter(|node| !radio.is_at(*node)).for_each(|node| air.hide(node));
        air
    }

    /// Hides a node that has no radio of this kind: it neither transmits nor receives.
    fn hide(&mut self, node: NodeId) {
        self.silent.resize(self.stations.len(), false);
        self.silent[node.index()] = true;
        self.medium.hide(node);
    }

    /// Whether the radio of a node is asleep or without power, or the node has none.
    pub(super) fn is_silent(&self, node: NodeId) -> bool {
        self.silent.get(node.index()) == Some(&true)
    }

    /// Restarts the counters at the end of the warm-up.
    pub(super) fn restart(&mut self, now: Instant) {
        self.collisions = 0;
        self.stats.restart(now);
        for station in &mut self.stations {
            station.mac.clear_counts();
            station.receiving = Duration::ZERO;
            station.busy_since = now;
        }
    }

    /// Adds a packet to a station's interface queue; urgent packets precede others.
    pub(super) fn enqueue(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: NodeId,
        packet: PacketHandle,
    ) {
        if self.is_silent(node) {
            context.drop_packet(node, packet, DropReason::RadioOff);
            return;
        }
        if context.has_wifi && !matches!(context.packets.get(packet).body, Body::Wifi(_)) {
            // A dropped frame of a stack may have had the same handle, and its rates.
            self.stations[node.index()].mac.give_rates(packet, Vec::new());
        }
        let content = context.packets.get(packet);
        let urgent = content.is_urgent();
        let category = self.category(content, urgent);
        let bytes = content.bytes();
        let out = Outgoing { packet, to: next_hop, bytes, urgent, category, queued: context.now };
        self.stats.enters(node, category);
        let dropped = match self.queues.get_mut(node, category) {
            Some(queue) if !urgent => queue.push(context.now, out, &context.packets),
            _ => self.stations[node.index()].mac.enqueue(out).map(|refused| refused.packet),
        };
        if let Some(dropped) = dropped {
            self.stats.drops(node, category);
            context.drop_packet(node, dropped, DropReason::QueueFull);
        }
        self.settle(context, node);
    }

    /// The access category of a packet.
    fn category(&self, packet: &Packet, urgent: bool) -> Category {
        let Some(categories) = &self.categories else { return Category::BestEffort };
        if urgent {
            return Category::Voice;
        }
        match packet.dscp() {
            Some(dscp) => Category::of_dscp(dscp),
            None => packet.flow().and_then(|flow| categories.get(flow.index()).copied()).unwrap_or_default(),
        }
    }

    /// Switches off a node's radio, which falls asleep or loses its power. Packets in its station are
    /// dropped, and so are packets that arrive while the radio is off.
    pub(super) fn silence(&mut self, context: &mut Context<'_>, node: NodeId) {
        self.hide(node);
        let queued = self.take_queued(node, |_| true);
        let station = &mut self.stations[node.index()];
        let params = &context.scenario.radios[self.interface.index()].params;
        let mut fresh = Station::new(params, &self.config, context.scenario.seed_of(self.interface), node);
        fresh.receiving = station.receiving_until(context.now);
        let old = std::mem::replace(station, fresh);
        let own = old.mac.packets().chain(&queued).map(|out| out.packet);
        for packet in own.chain(old.mac.held()) {
            context.drop_packet(node, packet, DropReason::RadioOff);
        }
        station.mac.succeed(old.mac);
        context.agenda.arm_mac(self.slots, node, Instant::FAR_FUTURE);
        context.observer.queue(context.now, (self.interface, node), || 0);
    }

    /// Wakes a node's radio: its station transmits and receives again.
    pub(super) fn wake(&mut self, node: NodeId, now: Instant) {
        self.silent[node.index()] = false;
        self.medium.show(node, now);
    }

    /// Removes packets from a station's interface queue.
    pub(super) fn take_queued(&mut self, node: NodeId, which: impl Fn(&Outgoing) -> bool) -> Vec<Outgoing> {
        let mut taken = self.stations[node.index()].mac.remove_if(&which);
        taken.extend(self.queues.remove_if(node, &which));
        taken
    }

    /// Drops packets other than routing messages that wait for a neighbour and have this destination, or any destination if
    /// `None`.
    pub(super) fn discard(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        next_hop: NodeId,
        destination: Option<NodeId>,
    ) {
        let packets = &context.packets;
        let concerned = |out: &Outgoing| {
            let packet = packets.get(out.packet);
            out.to == next_hop
                && !packet.is_routing()
                && destination.is_none_or(|destination| packet.destination == destination)
        };
        for out in self.take_queued(node, concerned) {
            context.drop_packet(node, out.packet, DropReason::NoRoute);
        }
    }

    /// Drops the packets in interface queues and in service.
    pub(super) fn end_packets(&self, context: &mut Context<'_>) {
        for (id, station) in (0..).map(NodeId).zip(&self.stations) {
            let waiting = self.queues.of(id).iter().flat_map(FqCodel::iter);
            let own = station.mac.packets().chain(waiting).map(|out| out.packet);
            for packet in own.chain(station.mac.held()) {
                let packet = context.packets.get(packet);
                context.observer.dropped(context.now, id, packet, DropReason::End);
            }
        }
    }

    /// Ends the measurement of times in which stations transmitted while their receivers were occupied.
    pub(super) fn end_overlaps(&mut self, now: Instant) {
        for (node, station) in (0..).map(NodeId).zip(&self.stations) {
            if station.receiver.is_busy() {
                self.stats.overlaps(now, node, station.busy_since);
            }
        }
    }

    /// The bit rate of data from one node to another.
    pub(super) fn bit_rate(&self, from: NodeId, to: NodeId) -> BitRate {
        self.stations[from.index()].mac.bit_rate(to, &self.config)
    }

    pub(super) fn queue_len(&self, node: NodeId) -> usize {
        let before = self.queues.of(node).iter().map(FqCodel::len).sum::<usize>();
        self.stations[node.index()].mac.queued() + before
    }

    /// Number of further packets of programs that the interface queue of a node accepts.
    pub(super) fn room(&self, node: NodeId) -> usize {
        let mac = || self.stations[node.index()].mac.room(Category::BestEffort);
        self.queues.get(node, Category::BestEffort).map_or_else(mac, FqCodel::room)
    }

    pub(super) fn handle_mac_timeout(&mut self, context: &mut Context<'_>, node: NodeId) {
        let station = &mut self.stations[node.index()];
        let Some(expired) = station.mac.expired(context.now, &self.config) else {
            if self.queues.exist() {
                return self.settle(context, node);
            }
            // Nothing but the deadline has changed, and `Mac::is_unsettled` would access further cache lines.
            debug_assert!(!station.mac.is_unsettled(), "every event settles its station");
            return self.rearm(context, node);
        };
        if let Some(transmission) = station.mac.handle_expiry(expired, context.now, &self.config) {
            station.receiver.transmit(context.now + transmission.airtime);
            self.launch(context, node, transmission);
        }
        self.settle(context, node);
    }

    /// Updates the state after an event at a station's MAC: finished packets, the next packet, the next deadline.
    #[inline(never)]
    fn settle(&mut self, context: &mut Context<'_>, node: NodeId) {
        let is_settled = !self.queues.exist() && !self.stations[node.index()].mac.is_unsettled();
        if is_settled || self.move_on(context, node) {
            let station = &self.stations[node.index()];
            context.observer.queue(context.now, (self.interface, node), || self.queue_len(node));
            context.observer.access(context.now, (self.interface, node), || station.mac.access(&self.config));
            self.rearm(context, node);
        }
    }

    /// Lets a station's MAC deliver its finished packets and take the next one. Returns false if the MAC could not deliver a
    /// packet: the layers above must react before the MAC takes the next one.
    #[inline(never)]
    fn move_on(&mut self, context: &mut Context<'_>, node: NodeId) -> bool {
        let station = &mut self.stations[node.index()];
        if self.queues.exist() {
            self.queues.refill(context, node, &mut station.mac, &self.config, &mut self.stats);
        }
        if station.mac.is_unsettled() {
            while let Some(done) = station.mac.poll_done() {
                self.stats.finished(context.now, node, &done);
                if context.has_wifi {
                    station.mac.give_rates(done.out.packet, Vec::new());
                    context.finish_wifi(node, &done);
                }
                if !done.delivered {
                    let (interface, Outgoing { packet, to, .. }) = (self.interface, done.out);
                    let (next_hop, reason) = (Neighbour { interface, node: to }, DropReason::RetryLimit);
                    context.actions.request(Action::Unreachable { node, next_hop, packet, reason });
                    context.actions.request(Action::Serve { interface, node });
                    return false;
                }
                if context.has_spread {
                    let airtime = self.config.airtime.data(&done.out, self.config.airtime.basic_rate());
                    context.note_left(node, done.out.packet, airtime);
                }
                context.packets.release(done.out.packet);
            }
            station.mac.serve(context.now, &self.config);
            if self.queues.exist() {
                // A transmission opportunity continues only with a packet that is already in the MAC.
                self.queues.refill(context, node, &mut station.mac, &self.config, &mut self.stats);
            }
        }
        true
    }

    /// Lets a station's MAC take its next packet after one that it could not deliver.
    pub(super) fn serve(&mut self, context: &mut Context<'_>, node: NodeId) {
        self.settle(context, node);
    }

    /// Updates the deadline in the agenda.
    // Without inlining, this function costs 1% of all instructions on a chain.
    #[inline(always)]
    fn rearm(&mut self, context: &mut Context<'_>, node: NodeId) {
        let station = &mut self.stations[node.index()];
        let deadline = station.mac.deadline(&self.config);
        if deadline != station.armed {
            station.arm(context, self.slots, node, deadline);
        }
    }

    /// Moves a station's deadline in the agenda if it became earlier or has expired. A later deadline is not
    /// moved at once, because the MAC often postpones it several times before it expires.
    #[inline]
    fn advance_deadline(&mut self, context: &mut Context<'_>, node: NodeId) {
        let station = &mut self.stations[node.index()];
        let deadline = station.mac.deadline(&self.config);
        if deadline < station.armed || station.armed <= context.now {
            station.arm(context, self.slots, node, deadline);
        }
    }

    /// Properties of the first bits of a frame. A frame of another radio cannot be decoded.
    #[inline]
    pub(super) fn first_bits(&self, flight: &Flight) -> FirstBits {
        let first_bits = self.first_bits[usize::from(flight.transmission.frame.rate.0)];
        if flight.is_foreign { FirstBits { decodable: Zone::CENTRE, ..first_bits } } else { first_bits }
    }

    #[inline]
    pub(super) fn signal_starts(
        &mut self,
        context: &mut Context<'_>,
        flight: &Flight,
        link: &Link,
        first_bits: &FirstBits,
    ) {
        let now = context.now;
        let Transmission { frame, airtime, .. } = &flight.transmission;
        let station = &mut self.stations[link.to.index()];
        let turned_busy = match &mut station.receiver {
            Receiver::Threshold(receiver) => {
                let arrival = Arrival {
                    id: flight.signal,
                    power: link.power_mw,
                    decodable: link.is_within(first_bits.decodable),
                    end: now + *airtime,
                };
                let effect = receiver.signal_starts(now, &arrival, self.capture);
                if effect == Effect::TooWeakToDisturb {
                    station.mac.overheard_weak(now, *airtime, &self.config);
                }
                effect == Effect::Occupied
            }
            Receiver::Sinr(receiver) if flight.is_foreign => receiver
                .interference_starts(now, ReceivedSignal { id: flight.signal, power_mw: link.power_mw }),
            Receiver::Sinr(receiver) => {
                let medium = &self.medium;
                let faded = || medium.power_mw(frame.from, link, flight.began());
                let power_mw = if first_bits.fades { faded() } else { link.power_mw };
                receiver.signal_starts(now, ReceivedSignal { id: flight.signal, power_mw }, |heard| Signal {
                    heard,
                    rate: frame.rate,
                    preamble_end: now + first_bits.plcp,
                    end: now + *airtime,
                    bits: 8 * frame.bytes,
                    safe_above: first_bits.safe_above,
                    is_aggregate: frame.kind == FrameKind::Aggregate,
                })
            }
        };
        if turned_busy {
            station.busy_since = now;
            station.mac.carrier_busy(now, &self.config);
            context.observer.access(now, (self.interface, link.to), || station.mac.access(&self.config));
            if station.armed <= now + *airtime {
                self.rearm(context, link.to);
            }
        }
    }

    #[inline]
    pub(super) fn signal_ends(
        &mut self,
        context: &mut Context<'_>,
        taps: &mut impl Taps,
        flight: &Flight,
        link: &Link,
    ) {
        let (now, to) = (context.now, link.to);
        let frame = &flight.transmission.frame;
        let station = &mut self.stations[to.index()];
        let (verdict, turned_idle) = if frame.kind == FrameKind::Aggregate {
            let was_busy = station.receiver.is_busy();
            let verdict = aggregate_ends(station, &mut self.errors, &mut self.intact, now, flight, to);
            (verdict, was_busy && !station.receiver.is_busy())
        } else {
            let (verdict, turned_idle) = station.receiver.signal_ends(now, flight.signal);
            let is_damaged = verdict == Verdict::Good && self.errors.damages_frame(now, frame.from, to);
            (if is_damaged { Verdict::Error } else { verdict }, turned_idle)
        };
        context.observer.ended(now, (self.interface, to), flight.signal, frame, verdict);
        if verdict == Verdict::Ignored && !turned_idle {
            // Only the power of the frame mattered here, as at most stations that hear it.
            return;
        }
        let mut delivered = false;
        match verdict {
            Verdict::Ignored | Verdict::Deaf => self.stats.overlaps(now, to, station.busy_since),
            Verdict::Good if flight.has_load => {
                if frame.kind != FrameKind::Aggregate {
                    self.intact = Bitmap::first(1);
                }
                receive_load(context, station, &self.config, flight, self.intact);
            }
            Verdict::Good => delivered = station.mac.receive(now, frame, &self.config),
            Verdict::Missed => {
                self.stats.overlaps(now, to, station.busy_since);
                lose(station, verdict, now, &self.config);
            }
            Verdict::Error => lose(station, verdict, now, &self.config),
            Verdict::Collision | Verdict::MissedCollision => {
                self.collisions += 1;
                self.stats.overlaps(now, to, station.busy_since);
                lose(station, verdict, now, &self.config);
                context.observer.collided(now, (self.interface, to), frame);
            }
        }
        let mut settles = verdict == Verdict::Good && frame.to == to;
        let mut waited = false;
        if turned_idle {
            settles |= station.mac.gives_up_at_idle(now, &self.config);
            waited = station.mac.waits_for_carrier();
            station.receiving += now - station.busy_since;
            station.mac.carrier_idle(now, &self.config);
        }
        context.observer.access(now, (self.interface, to), || station.mac.access(&self.config));
        if verdict == Verdict::Good && (frame.to == to || frame.to == BROADCAST) {
            let (interface, transmission) = (self.interface, &flight.transmission);
            let load = || flight.load(self.intact);
            let sent = || Sent { interface, transmission, load: load(), signal: flight.signal };
            context.observer.frame(now, to, sent, &self.config.airtime, &context.packets);
            self.stats.receives(to, flight.transmission.airtime);
        }
        if settles {
            self.settle(context, to);
        } else if waited {
            self.advance_deadline(context, to);
        }
        if delivered {
            debug_assert_eq!(frame.kind, FrameKind::Data, "only data frames carry packets");
            let (from, is_unicast, packet) = (frame.from, frame.to != BROADCAST, frame.body);
            if !context.actions.has_new() {
                self.deliver(context, to, from, is_unicast, packet);
            } else {
                let from = Neighbour { interface: self.interface, node: from };
                context.actions.request(Action::Deliver { node: to, from, is_unicast, packet });
            }
        } else if self.taps && verdict == Verdict::Good && frame.is_overheard_by(to) {
            if let Some((load, intact)) = flight.load(self.intact) {
                let packets = load.selected(intact).flat_map(|mpdu| load.packets_of(mpdu));
                packets.for_each(|packed| taps.overhear(context, to, packed.out.packet));
            } else {
                taps.overhear(context, to, frame.body);
            }
        } else if self.config.aggregates() && frame.to == to {
            self.pass_arrivals(context, to);
        }
    }

    /// Passes received packets of a station that aggregates to the layer above, as far as no earlier packet is
    /// missing.
    fn pass_arrivals(&mut self, context: &mut Context<'_>, node: NodeId) {
        while let Some(Passed { from, packet }) = self.stations[node.index()].mac.poll_arrival() {
            self.deliver(context, node, from, true, packet);
            context.packets.release(packet);
        }
    }

    /// Passes the packet of a received data frame from a station to the layer above.
    pub(super) fn deliver(
        &mut self,
        context: &mut Context<'_>,
        node: NodeId,
        from: NodeId,
        is_unicast: bool,
        packet: PacketHandle,
    ) {
        if is_unicast && self.errors.loses_packet(from, node) {
            context.note_drop(node, packet, DropReason::ChannelError);
            return;
        }
        context.packets.hold(packet);
        let from = Neighbour { interface: self.interface, node: from };
        context.pass(node, packet, Direction::Up { from });
    }
}

/// Access category of each flow; `None` without EDCA.
fn categories(scenario: &Scenario, mac: &MacParams) -> Option<Vec<Category>> {
    mac.edca.as_ref().map(|_| scenario.flows.iter().map(|flow| flow.category).collect())
}

/// Tells the MAC that a frame ended which the station did not receive.
#[inline]
fn lose(station: &mut Station, verdict: Verdict, now: Instant, config: &MacConfig) {
    if matches!(verdict, Verdict::Missed | Verdict::MissedCollision) {
        station.mac.miss_frame(now, config);
    } else {
        station.mac.receive_error(now, config);
    }
}

/// Processes the last bit of an aggregate at a station. Sets the bits of `intact` for the MPDUs received without
/// error.
#[cold]
fn aggregate_ends(
    station: &mut Station,
    errors: &mut ChannelError,
    intact: &mut Bitmap,
    now: Instant,
    flight: &Flight,
    to: NodeId,
) -> Verdict {
    let (verdict, received) = station.receiver.aggregate_ends(now, flight.signal, &flight.load.mpdus);
    *intact = received.and(flight.load.all());
    if verdict != Verdict::Good {
        return verdict;
    }
    for bit in 0..flight.load.mpdus.len() {
        if errors.damages_frame(now, flight.transmission.frame.from, to) {
            intact.set(bit, false);
        }
    }
    if intact.is_empty() { Verdict::Error } else { verdict }
}

/// Processes a received frame with several packets. The station keeps the new packets.
#[cold]
fn receive_load(
    context: &mut Context<'_>,
    station: &mut Station,
    config: &MacConfig,
    flight: &Flight,
    intact: Bitmap,
) {
    let load = &flight.load;
    let new = station.mac.receive_load(context.now, &flight.transmission.frame, load, intact, config);
    for packed in load.selected(new).flat_map(|mpdu| load.packets_of(mpdu)) {
        context.packets.hold(packed.out.packet);
    }
}

impl FirstBits {
    /// Properties for each rate of the physical layer.
    fn of_rates(params: &RadioParams, config: &MacConfig, medium: &Medium) -> Vec<Self> {
        let of_rate = |rate| Self {
            decodable: medium.farthest(rate),
            plcp: config.airtime.plcp(rate),
            safe_above: params.phy.safe_above(rate, params.preamble),
            fades: medium.fades(),
        };
        params.phy.rate_indices().map(of_rate).collect()
    }
}

impl Station {
    /// Time spent receiving until `now`, including a part of a frame that is being received.
    pub(super) fn receiving_until(&self, now: Instant) -> Duration {
        let current = if self.receiver.is_busy() { now - self.busy_since } else { Duration::ZERO };
        self.receiving + current
    }

    fn arm(&mut self, context: &mut Context<'_>, slots: u32, node: NodeId, deadline: Instant) {
        self.armed = deadline;
        context.agenda.arm_mac(slots, node, deadline);
    }

    fn new(params: &RadioParams, config: &MacConfig, seed: u64, node: NodeId) -> Self {
        let stream = |purpose| Rng::stream(seed, purpose, u64::from(node.0));
        Self {
            mac: Mac::new(node, config, stream("mac/backoff"), stream("mac/rates")),
            receiver: Receiver::new(params, stream("radio/reception")),
            busy_since: Instant::ZERO,
            receiving: Duration::ZERO,
            armed: Instant::FAR_FUTURE,
        }
    }
}
