//! Frames in flight: each begins, then ends, at one station after another, nearest first.
//!
//! A frame takes a few microseconds to pass all stations. In a large network, other frames mostly pass other stations
//! at the same time, far away. Overlapping frames are ordered only if some station can hear both: an event at one
//! frame's stations while it passes cannot affect the stations of the other within that time, see [`Air::may_reorder`].
//! Frames that may share a hearer, and everything with a deadline, are handled in the order of their keys.

use multihop_core::{Instant, Interface, MANY_NODES, NodeId, prefetch_at};
use multihop_radio::frame::{BROADCAST, Frame, FrameKind, PacketHandle};
use multihop_radio::mac::{Bitmap, Transmission};
use multihop_radio::medium::{Leakage, Link};
use multihop_radio::params::Flavour;
use multihop_radio::phy_profile::RateIndex;

use super::action::Action;
use super::air::{Air, Taps};
use super::airs::{Airs, earliest};
use super::context::Context;
use super::flights::{Flight, Flights};
use super::ids::{FlightId, Neighbour};
use crate::engine::Key;
use crate::observe::Sent;
use crate::signals::Launch;

impl Air {
    /// Whether overlapping frames may be processed in any order if no station hears both.
    ///
    /// The effect of a signal on a station must not reach other stations before all signals that are passing now have
    /// passed. This holds if SIFS, the earliest response, and the link delay to the layers above are long enough; in the
    /// standard flavour, which may drop a packet at the end of a signal, it does not hold. Nothing may depend on the order
    /// either: no output that is written line by line, no monitor of all nodes, and no agent that learns another station's
    /// bit rate.
    pub(super) fn may_reorder(&self, context: &Context<'_>) -> bool {
        let pass = self.medium.longest_delay();
        let mac = &self.config.params;
        let settled_first =
            self.config.contention.sifs > pass && mac.link_delay > pass && mac.flavour == Flavour::Ns2;
        let is_watched = self.taps || context.reports_losses || context.reports_rates;
        settled_first && !is_watched && !context.observer.writes()
    }

    /// Prefetches the station of a node.
    pub(super) fn prefetch(&self, node: NodeId) {
        prefetch_at(&self.stations, node.index());
    }

    /// Returns a free entry for a departing frame.
    #[inline]
    pub(super) fn free_flight(&mut self, context: &mut Context<'_>, transmission: Transmission) -> FlightId {
        match self.flights.idle.pop() {
            Some((_, id)) => id,
            None => self.flights.add(&mut context.agenda, transmission),
        }
    }

    /// Starts the transmission of a frame by a station.
    pub(super) fn launch(&mut self, context: &mut Context<'_>, node: NodeId, transmission: Transmission) {
        let body = transmission.frame.body;
        if context.has_wifi {
            let rate = self.config.airtime.phy().rate(transmission.frame.rate).bit_rate;
            context.note_wifi_attempt(body, rate);
        }
        let id = self.free_flight(context, transmission);
        if !self.leaks.are_none() {
            self.leaks.note(node, &transmission);
            context.actions.request(Action::Leak(self.interface));
        }
        let flight = self.flights.all[id.index()].as_mut().expect(ONE_AT_A_TIME);
        flight.is_foreign = false;
        if self.config.aggregates() {
            let frame = &transmission.frame;
            flight.has_load = self.stations[node.index()].mac.load(frame, &mut flight.load, &self.config);
        }
        if self.stats.are_on() {
            let station = &self.stations[node.index()];
            let mpdus = if flight.has_load { flight.load.mpdus.len() } else { 1 };
            let busy_since = station.receiver.is_busy().then_some(station.busy_since);
            let served = || station.mac.in_service().next().map(|out| out.to);
            self.stats.transmits(context.now, &transmission, mpdus, served, busy_since);
        }
        let signal = self.flights.next_signal + 1;
        let interface = self.interface;
        let sent = || Sent { interface, transmission: &transmission, load: flight.load(Bitmap::ALL), signal };
        context.observer.frame(context.now, node, sent, &self.config.airtime, &context.packets);
        flight.origin = self.medium.links_of(node, context.now, &mut flight.links);
        if flight.links.is_empty() {
            let key = flight.key_of_nothing(context.now, node);
            self.flights.is_over(key, id);
            return;
        }
        if body != PacketHandle::NONE {
            context.packets.hold(body);
        }
        if flight.has_load {
            flight.load.packets.iter().for_each(|packed| context.packets.hold(packed.out.packet));
        }
        self.flights.next_signal = signal;
        if context.observer.needs_powers() {
            let power = |link: &Link| self.medium.power_mw(node, link, context.now);
            let power = (&context.scenario.radios[self.interface.index()].params, power);
            let launch = Launch { at: interface, over: interface, signal, transmission: &transmission };
            context.observer.launched(context.now, &launch, &flight.links, power);
        }
        flight.transmission = transmission;
        flight.signal = signal;
        flight.next = 0;
        flight.ending = false;
        let key = flight.key();
        self.flights.passes(key, id);
    }

    /// Handles a station of another radio that begins to transmit at a node.
    pub(super) fn disturb(
        &mut self,
        context: &mut Context<'_>,
        from: Neighbour,
        sent: &Transmission,
        leakage: &mut Leakage,
    ) {
        let node = from.node;
        // Only the signal matters: neither its contents nor its rate, which this physical layer may lack, are
        // read.
        let (body, rate) = (PacketHandle::NONE, RateIndex(0));
        let frame = Frame { kind: FrameKind::Data, to: BROADCAST, body, rate, ..sent.frame };
        let transmission = Transmission { frame, airtime: sent.airtime };
        let id = self.free_flight(context, transmission);
        let mut flight = self.flights.all[id.index()].take().expect(ONE_AT_A_TIME);
        flight.origin = leakage.links_of(node, context.now, &mut flight.links);
        flight.links.retain(|link| !self.is_silent(link.to));
        (flight.is_foreign, flight.has_load) = (true, false);
        (flight.transmission, flight.next, flight.ending) = (transmission, 0, false);
        if flight.links.is_empty() {
            self.flights.is_over(flight.key_of_nothing(context.now, node), id);
        } else {
            self.flights.next_signal += 1;
            flight.signal = self.flights.next_signal;
            if context.observer.needs_powers() {
                let (at, over, signal) = (self.interface, from.interface, flight.signal);
                let launch = Launch { at, over, signal, transmission: sent };
                let radio = &context.scenario.radios[at.index()].params;
                let power = (radio, |link: &Link| link.power_mw);
                context.observer.launched(context.now, &launch, &flight.links, power);
            }
            self.flights.passes(flight.key(), id);
        }
        self.flights.all[id.index()] = Some(flight);
    }

    /// Moves the first or last bit of a frame to the next station, and to those after it until another event
    /// must come first, also one of a frame of `other_radios`. Returns whether the frame pauses, so that other
    /// parts can act on an event at a station; `resumes` is set in the call after a pause.
    #[inline]
    pub(super) fn advance_flight(
        &mut self,
        context: &mut Context<'_>,
        taps: &mut impl Taps,
        id: FlightId,
        resumes: bool,
        other_radios: &[Self],
    ) -> bool {
        let mut flight = self.flights.all[id.index()].take().expect(ONE_AT_A_TIME);
        let near = earliest(self.first_pass_near(&flight), other_radios);
        let others = Others::of(context, near);
        let progress = if resumes && flight.next == flight.links.len() {
            Progress::IsOver
        } else if resumes && let Some(key) = others.precede(context, flight.at(), || flight.key()) {
            Progress::Passes(key)
        } else {
            self.go_on(context, taps, &mut flight, &others)
        };
        match progress {
            Progress::Waits => context.agenda.arm_flight(flight.key()),
            Progress::Passes(key) => self.flights.passes(key, id),
            Progress::Pauses => {}
            Progress::IsOver => self.land(context, id, &flight),
        }
        self.flights.all[id.index()] = Some(flight);
        matches!(progress, Progress::Pauses)
    }

    /// Key of the next event among frames in flight that may share a hearer with this frame.
    #[inline]
    fn first_pass_near(&self, flight: &Flight) -> Key {
        let Flights { all, passing, .. } = &self.flights;
        // The list is empty for most frames; without this condition, its search takes 15 instructions.
        if passing.is_empty() {
            return Key::NEVER;
        }
        let near = |other: FlightId| {
            let other = all[other.index()].as_ref().expect(ONE_AT_A_TIME);
            !self.reorders || self.medium.may_share_hearers(flight.origin, other.origin)
        };
        passing.iter().rfind(|&&(_, other)| near(other)).map_or(Key::NEVER, |&(key, _)| key)
    }

    fn go_on(
        &mut self,
        context: &mut Context<'_>,
        taps: &mut impl Taps,
        flight: &mut Flight,
        others: &Others,
    ) -> Progress {
        if flight.next == 0 && self.stations.len() >= MANY_NODES {
            flight.links.iter().for_each(|link| prefetch_at(&self.stations, link.to.index()));
        }
        if !flight.ending {
            if let Some(key) = self.first_bits_arrive(context, flight, others) {
                return Progress::Passes(key);
            }
            flight.next = 0;
            flight.ending = true;
            // All other frames have passed by then, even distant ones.
            let all_are_near = self.flights.first() == others.near;
            if !all_are_near || others.precede(context, flight.at(), || flight.key()).is_some() {
                return Progress::Waits;
            }
        }
        self.last_bits_arrive(context, taps, flight, others)
    }

    /// Moves the first bit from station to station until another event must come first. Returns the key of the next
    /// arrival, or `None` if the bit has reached the last station.
    #[inline]
    fn first_bits_arrive(
        &mut self,
        context: &mut Context<'_>,
        flight: &mut Flight,
        others: &Others,
    ) -> Option<Key> {
        let (began, first_bits) = (flight.wave_began(), self.first_bits(flight));
        let mut next = flight.next;
        loop {
            self.signal_starts(context, flight, &flight.links[next], &first_bits);
            next += 1;
            let link = flight.links.get(next)?;
            let at = began + link.delay();
            if let Some(key) = others.precede(context, at, || flight.arrival_key(link, at)) {
                flight.next = next;
                return Some(key);
            }
        }
    }

    /// Moves the last bit from station to station until other parts must act.
    #[inline]
    fn last_bits_arrive(
        &mut self,
        context: &mut Context<'_>,
        taps: &mut impl Taps,
        flight: &mut Flight,
        others: &Others,
    ) -> Progress {
        let began = flight.wave_began();
        let mut next = flight.next;
        loop {
            self.signal_ends(context, taps, flight, &flight.links[next]);
            next += 1;
            if context.actions.has_new() {
                flight.next = next;
                return Progress::Pauses;
            }
            let Some(link) = flight.links.get(next) else { return Progress::IsOver };
            let at = began + link.delay();
            if let Some(key) = others.precede(context, at, || flight.arrival_key(link, at)) {
                flight.next = next;
                return Progress::Passes(key);
            }
        }
    }

    /// Removes a frame from the table after its last bit has reached the last station.
    fn land(&mut self, context: &mut Context<'_>, id: FlightId, flight: &Flight) {
        if flight.transmission.frame.body != PacketHandle::NONE {
            context.packets.release(flight.transmission.frame.body);
        }
        if flight.has_load {
            flight.load.packets.iter().for_each(|packed| context.packets.release(packed.out.packet));
        }
        self.flights.is_over(flight.key_at(flight.links.len() - 1), id);
    }
}

impl Airs {
    /// Passes a transmission that has just begun on a radio to the stations of other radios.
    pub(super) fn leak(&mut self, context: &mut Context<'_>, from: Interface) {
        let mut leaks = std::mem::take(&mut self[from].leaks);
        if let Some((node, transmission)) = leaks.begun.take() {
            for (interface, leakage) in &mut leaks.to {
                let from = Neighbour { interface: from, node };
                self[*interface].disturb(context, from, &transmission, leakage);
            }
        }
        self[from].leaks = leaks;
    }
}

/// The state of a frame after an advance.
enum Progress {
    /// The first bit of the frame has reached all stations; the last bit has not been transmitted yet.
    Waits,
    /// The first or the last bit of the frame is reaching stations; the key is that of the next arrival.
    Passes(Key),
    /// The frame pauses until other parts have acted.
    Pauses,
    IsOver,
}

/// The next events besides those of the frame that is being advanced.
struct Others {
    /// Key of the next event of other frames in flight.
    near: Key,
    /// Instant of the next event of other frames in flight, or of the end of the run if that is earlier.
    until: Instant,
}

impl Others {
    fn of(context: &Context<'_>, near: Key) -> Self {
        Self { near, until: near.at().min(context.horizon) }
    }

    /// Returns the key of the event at `at` if another event, or the end of the horizon, precedes it. Otherwise counts the
    /// event as the next one and returns `None`.
    #[inline]
    fn precede(&self, context: &mut Context<'_>, at: Instant, key: impl Fn() -> Key) -> Option<Key> {
        let first = self.until.min(context.agenda.next_at());
        if at >= first {
            let key = key();
            if at > first || at >= context.horizon || self.near.min(context.agenda.next()) < key {
                return Some(key);
            }
        }
        context.now = at;
        context.events += 1;
        None
    }
}

/// Panic message for a frame that is missing from the list of flights.
const ONE_AT_A_TIME: &str = "only one frame is advanced at a time";
