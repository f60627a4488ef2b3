//! Frames in flight: each begins, then ends, at one station after another, nearest first.
//!
//! A frame takes a few microseconds to pass all stations. Another frame may pass other stations
//! meanwhile; in a large network it mostly does, far away. Overlapping frames are ordered only if
//! some station can hear both: nothing that happens at one frame's stations while it passes reaches
//! another's within that time, see [`Air::may_reorder`]. Frames that may share a hearer, and
//! everything that has a deadline, happen in the order of their keys.

use multihop_core::{Instant, MANY_NODES, NodeId, earliest, prefetch};
use multihop_radio::frame::PacketHandle;
use multihop_radio::mac::Transmission;
use multihop_radio::params::Flavour;

use super::action::Action;
use super::air::{Air, Taps};
use super::context::Context;
use super::flights::{Flight, Flights};
use super::ids::FlightId;
use crate::engine::{Key, Rank};

impl Air {
    /// Whether frames may pass their stations at the same time in any order, if no station hears
    /// both.
    ///
    /// What a signal does to a station must reach no other one before all signals that are passing
    /// now have passed: a station answers after SIFS at the earliest, and what it tells the layers
    /// above takes a while to get there (except in the standard flavour, which may drop a packet at
    /// the end of a signal). Nor may anybody ask for the order: an output that is written line by
    /// line, or an observer of all nodes together.
    pub(super) fn may_reorder(&self, context: &Context<'_>) -> bool {
        let pass = self.medium.longest_delay();
        let mac = &self.config.params;
        let settled_first =
            self.config.contention.sifs > pass && mac.link_delay > pass && mac.flavour == Flavour::Ns2;
        settled_first && !self.taps && !context.reports_losses && !context.observer.writes()
    }

    /// A frame leaves the antenna.
    pub(super) fn launch(&mut self, context: &mut Context<'_>, node: NodeId, transmission: Transmission) {
        let body = transmission.frame.body;
        context.observer.frame(context.now, node, &transmission, &self.config.airtime, &context.packets);
        let id = match self.flights.idle.pop() {
            Some((_, id)) => id,
            None => self.flights.add(&mut context.agenda, transmission),
        };
        let flight = self.flights.all[id.index()].as_mut().expect(AWAY);
        flight.origin = self.medium.links_of(node, context.now, &mut flight.links);
        if flight.links.is_empty() {
            let key = Key::new(context.now, Rank::Timer, node, flight.slot);
            self.flights.is_over(key, id);
            return;
        }
        if body != PacketHandle::NONE {
            context.packets.hold(body);
        }
        self.flights.next_signal += 1;
        flight.transmission = transmission;
        flight.signal = self.flights.next_signal;
        flight.next = 0;
        flight.ending = false;
        let key = flight.key();
        self.flights.passes(key, id);
    }

    /// The first or the last bit of a frame reaches the next station, and those after it, for as
    /// long as nothing that matters to them comes in between. A frame `resumes` after other parts
    /// have acted on what happened at a station.
    #[inline(never)]
    pub(super) fn advance_flight(
        &mut self,
        context: &mut Context<'_>,
        taps: &mut impl Taps,
        id: FlightId,
        resumes: bool,
    ) {
        let mut flight = self.flights.all[id.index()].take().expect(AWAY);
        let near = self.first_pass_near(&flight);
        let mut others = Others::of(context, near);
        let progress = if resumes && flight.next == flight.links.len() {
            Progress::IsOver
        } else if resumes && !others.let_pass(context, flight.at(), || flight.key()) {
            Progress::Passes
        } else {
            self.go_on(context, taps, &mut flight, &mut others)
        };
        match progress {
            Progress::Waits => context.agenda.arm_flight(flight.key()),
            Progress::Passes => self.flights.passes(flight.key(), id),
            Progress::Pauses => context.ask(Action::ResumeFlight(id)),
            Progress::IsOver => self.land(context, id, &flight),
        }
        self.flights.all[id.index()] = Some(flight);
    }

    /// The next bit of the other frames that are passing, as far as it matters to this one.
    #[inline]
    fn first_pass_near(&self, flight: &Flight) -> Option<Key> {
        let Flights { all, passing, .. } = &self.flights;
        let near = |other: FlightId| {
            let other = all[other.index()].as_ref().expect(AWAY);
            !self.reorders || self.medium.may_share_hearers(flight.origin, other.origin)
        };
        passing.iter().rfind(|&&(_, other)| near(other)).map(|&(key, _)| key)
    }

    fn go_on(
        &mut self,
        context: &mut Context<'_>,
        taps: &mut impl Taps,
        flight: &mut Flight,
        others: &mut Others,
    ) -> Progress {
        if flight.next == 0 && self.stations.len() >= MANY_NODES {
            // Processors fetch the other line of a pair by themselves.
            flight.links.iter().for_each(|link| prefetch(&self.stations[link.to.index()]));
        }
        if !flight.ending {
            if !self.first_bits_arrive(context, flight, others) {
                return Progress::Passes;
            }
            flight.next = 0;
            flight.ending = true;
            // By then all others have passed, however far they are.
            let all_are_near = self.flights.first() == others.near;
            if !all_are_near || !others.let_pass(context, flight.at(), || flight.key()) {
                return Progress::Waits;
            }
        }
        self.last_bits_arrive(context, taps, flight, others)
    }

    /// First bits arrive at one station after another; true if it was the last one.
    #[inline]
    fn first_bits_arrive(
        &mut self,
        context: &mut Context<'_>,
        flight: &mut Flight,
        others: &mut Others,
    ) -> bool {
        let (began, farthest) = (flight.wave_began(), self.medium.farthest(flight.transmission.rate));
        self.signal_starts(context, flight, &flight.links[flight.next], farthest);
        for next in flight.next + 1..flight.links.len() {
            let link = &flight.links[next];
            if !others.let_pass(context, began + link.delay(), || flight.key_at(next)) {
                flight.next = next;
                return false;
            }
            self.signal_starts(context, flight, link, farthest);
        }
        true
    }

    /// Last bits arrive at one station after another, until other parts have to act.
    #[inline]
    fn last_bits_arrive(
        &mut self,
        context: &mut Context<'_>,
        taps: &mut impl Taps,
        flight: &mut Flight,
        others: &mut Others,
    ) -> Progress {
        let began = flight.wave_began();
        self.signal_ends(context, taps, flight, &flight.links[flight.next]);
        for next in flight.next + 1..flight.links.len() {
            if !context.actions.is_empty() {
                flight.next = next;
                return Progress::Pauses;
            }
            let link = &flight.links[next];
            if !others.let_pass(context, began + link.delay(), || flight.key_at(next)) {
                flight.next = next;
                return Progress::Passes;
            }
            self.signal_ends(context, taps, flight, link);
        }
        if context.actions.is_empty() {
            return Progress::IsOver;
        }
        flight.next = flight.links.len();
        Progress::Pauses
    }

    /// The frame is over everywhere.
    fn land(&mut self, context: &mut Context<'_>, id: FlightId, flight: &Flight) {
        if flight.transmission.frame.body != PacketHandle::NONE {
            context.packets.release(flight.transmission.frame.body);
        }
        self.flights.is_over(flight.key_at(flight.links.len() - 1), id);
    }
}

/// How far a frame has come.
enum Progress {
    /// Its first bit has passed everybody.
    Waits,
    /// Its first or its last bit is passing.
    Passes,
    /// It goes on when other parts have acted on what happened.
    Pauses,
    IsOver,
}

/// Everything but the frame that is being advanced.
struct Others {
    /// The next bit of other frames that are passing.
    near: Option<Key>,
    first: Option<Key>,
    /// Nothing happens before.
    until: Instant,
    version: u64,
}

impl Others {
    fn of(context: &Context<'_>, near: Option<Key>) -> Self {
        let first = earliest(context.agenda.first(), near);
        let until = first.map_or(context.horizon, |key| key.at().min(context.horizon));
        Self { near, first, until, version: context.agenda.version() }
    }

    /// Whether what happens at `at`, and has a certain key, comes before everything else; if so, it
    /// is the next event.
    #[inline]
    fn let_pass(&mut self, context: &mut Context<'_>, at: Instant, key: impl Fn() -> Key) -> bool {
        if context.agenda.version() != self.version {
            *self = Self::of(context, self.near);
        }
        if at >= self.until && (at >= context.horizon || self.first.is_some_and(|first| first < key())) {
            return false;
        }
        context.now = at;
        context.events += 1;
        true
    }
}

const AWAY: &str = "no other frame is advanced meanwhile";
