//! Frames in flight: each begins, then ends, at one station after another, nearest first.
//!
//! A frame takes a few microseconds to pass all stations. Another one may pass others meanwhile, and
//! in a large network mostly does, far away. Frames that no station hears both of need not take
//! turns: nothing that happens at one frame's stations while it passes reaches another's within
//! that time, see [`World::passes_may_overlap`]. Frames that may share a hearer, and everything that
//! has a deadline, do happen in the order of their keys.

use multihop_core::{Duration, Instant, MANY_NODES, NodeId, earliest, prefetch};
use multihop_radio::airtime::SIFS;
use multihop_radio::frame::PacketHandle;
use multihop_radio::mac::Transmission;
use multihop_radio::medium::{Link, Origin, Rate};
use multihop_radio::params::Flavour;

use super::{Owner, World};
use crate::engine::{Key, Rank};

/// All frames in flight.
#[derive(Default)]
pub(super) struct Flights {
    /// Without the one that is being advanced.
    all: Vec<Option<Box<Flight>>>,
    /// Those that are over, in the order in which they ended, whoever passed first: the next frame
    /// takes the latest one's slot, which decides ties.
    idle: Vec<(Key, FlightId)>,
    /// Those whose first or last bit is just passing the stations, and where it arrives next; the
    /// earliest comes last. There are never many, however large the network is.
    passing: Vec<(Key, FlightId)>,
    next_signal: u64,
}

/// A place in the table of flights.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlightId(u32);

/// A frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) transmission: Transmission,
    /// Names the transmission.
    pub(super) signal: u64,
    origin: Origin,
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
    pub(super) fn began(&self) -> Instant {
        self.origin.at()
    }

    /// When the first bits, or the last, leave the antenna.
    fn wave_began(&self) -> Instant {
        self.began() + if self.ending { self.transmission.airtime } else { Duration::ZERO }
    }

    /// When the next bit arrives.
    fn at(&self) -> Instant {
        self.wave_began() + self.links[self.next].delay()
    }

    /// Where the next bit comes in the order of events.
    fn key(&self) -> Key {
        self.key_at(self.next)
    }

    /// Where the bit on a link comes in the order of events.
    fn key_at(&self, link: usize) -> Key {
        let link = &self.links[link];
        let rank = if self.ending { Rank::SignalEnd } else { Rank::SignalStart };
        Key::new(self.wave_began() + link.delay(), rank, link.to, self.slot)
    }
}

impl Flights {
    /// Where the next bit of those that are passing arrives.
    #[inline]
    pub(super) fn first(&self) -> Option<Key> {
        self.passing.last().map(|&(key, _)| key)
    }

    /// It is about to arrive.
    pub(super) fn take_first(&mut self) {
        self.passing.pop();
    }

    fn passes(&mut self, key: Key, id: FlightId) {
        insert(&mut self.passing, (key, id), |before, after| before > after);
    }

    fn is_over(&mut self, key: Key, id: FlightId) {
        insert(&mut self.idle, (key, id), |before, after| before < after);
    }
}

/// Puts an item where it belongs: nearly always at the end.
fn insert(items: &mut Vec<(Key, FlightId)>, item: (Key, FlightId), in_order: fn(Key, Key) -> bool) {
    let mut place = items.len();
    items.push(item);
    while place > 0 && !in_order(items[place - 1].0, item.0) {
        items.swap(place - 1, place);
        place -= 1;
    }
}

impl World<'_> {
    /// Whether frames may pass their stations at the same time without taking turns, if no station
    /// hears both.
    ///
    /// What a signal does to a station must reach no other one before all signals that are passing
    /// now have passed: a station answers after SIFS at the earliest, and what it tells the layers
    /// above takes a while to get there (but for a standard one that gives up at the end of a signal).
    /// Nor may anybody ask for the order: an output that is written line by line, or what watches all
    /// nodes together.
    pub(super) fn passes_may_overlap(&self) -> bool {
        let pass = self.air.medium.longest_delay();
        let mac = &self.air.config.params;
        let settled_first = SIFS > pass && mac.link_delay > pass && mac.flavour == Flavour::Ns2;
        settled_first && !self.taps && self.losses.is_none() && !self.observer.writes()
    }

    /// A frame leaves the antenna.
    pub(super) fn launch(&mut self, node: NodeId, transmission: Transmission) {
        let body = transmission.frame.body;
        self.observer.frame(self.now, node, &transmission, &self.air.config.airtime, &self.packets);
        let id = match self.air.flights.idle.pop() {
            Some((_, id)) => id,
            None => self.add_flight(transmission),
        };
        let flight = self.air.flights.all[id.index()].as_mut().expect(AWAY);
        flight.origin = self.air.medium.links_of(node, self.now, &mut flight.links);
        if flight.links.is_empty() {
            let key = Key::new(self.now, Rank::Timer, node, flight.slot);
            self.air.flights.is_over(key, id);
            return;
        }
        if body != PacketHandle::NONE {
            self.packets.hold(body);
        }
        self.air.flights.next_signal += 1;
        flight.transmission = transmission;
        flight.signal = self.air.flights.next_signal;
        flight.next = 0;
        flight.ending = false;
        let key = flight.key();
        self.air.flights.passes(key, id);
    }

    fn add_flight(&mut self, transmission: Transmission) -> FlightId {
        let flights = &mut self.air.flights.all;
        let id = FlightId(u32::try_from(flights.len()).expect("fewer than 2^32 frames in flight"));
        let slot = self.deadlines.add_slot();
        self.owners.push(Owner::Flight(id));
        let origin = Origin::default();
        let flight =
            Flight { transmission, signal: 0, origin, links: Vec::new(), next: 0, ending: false, slot };
        flights.push(Some(Box::new(flight)));
        id
    }

    /// The first or the last bit of a frame reaches the next station, and the one after it, for as
    /// long as nothing that matters to them comes in between.
    pub(super) fn advance_flight(&mut self, id: FlightId) {
        let mut flight = self.air.flights.all[id.index()].take().expect(AWAY);
        match self.goes_through(&mut flight) {
            Progress::Waits => self.deadlines.set(flight.key()),
            Progress::Passes => self.air.flights.passes(flight.key(), id),
            Progress::IsOver => self.land(id, &flight),
        }
        self.air.flights.all[id.index()] = Some(flight);
    }

    /// The next bit of the other frames that are passing, as far as it matters to this one.
    fn first_pass_near(&self, flight: &Flight) -> Option<Key> {
        let Flights { all, passing, .. } = &self.air.flights;
        let near = |other: FlightId| {
            let other = all[other.index()].as_ref().expect(AWAY);
            !self.overlap || self.air.medium.may_share_hearers(flight.origin, other.origin)
        };
        passing.iter().rfind(|&&(_, other)| near(other)).map(|&(key, _)| key)
    }

    fn goes_through(&mut self, flight: &mut Flight) -> Progress {
        let near = self.first_pass_near(flight);
        let mut others = Others::of(self, near);
        if flight.next == 0 && self.air.stations.len() >= MANY_NODES {
            // Processors fetch the other line of a pair by themselves.
            flight.links.iter().for_each(|link| prefetch(&self.air.stations[link.to.index()]));
        }
        if !flight.ending {
            let rate = Rate::from(flight.transmission.rate);
            let starts =
                |world: &mut Self, flight: &Flight, link: &Link| world.signal_starts(flight, link, rate);
            if !self.passes(flight, &mut others, starts) {
                return Progress::Passes;
            }
            flight.next = 0;
            flight.ending = true;
            // By then all others have passed, however far they are.
            let all_are_near = self.air.flights.first() == near;
            if !all_are_near || !self.is_next(flight.at(), &mut others, || flight.key()) {
                return Progress::Waits;
            }
        }
        if self.passes(flight, &mut others, Self::signal_ends) { Progress::IsOver } else { Progress::Passes }
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
            if !self.is_next(began + link.delay(), others, || flight.key_at(next)) {
                flight.next = next;
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
        if self.version() != others.version {
            *others = Others::of(self, others.near);
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
        self.air.flights.is_over(flight.key_at(flight.links.len() - 1), id);
    }
}

/// How far a frame has come.
enum Progress {
    /// Its first bit has passed everybody.
    Waits,
    /// Its first or its last bit is passing.
    Passes,
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
    fn of(world: &World<'_>, near: Option<Key>) -> Self {
        let first = earliest(world.first_to_wait(), near);
        let until = first.map_or(world.horizon, |key| key.at().min(world.horizon));
        Self { near, first, until, version: world.version() }
    }
}

const AWAY: &str = "no other frame is advanced meanwhile";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extension::Extensions;
    use crate::observe::Observer;
    use crate::results::RunResult;
    use multihop_scenario::{Scenario, Source};

    /// Five times as wide as a signal reaches.
    const WIDE: &str = "duration = 4.0\nseed = 7\n\
        topology = { kind = \"random\", nodes = 300, area = [2750.0, 2750.0], connected = false }\n\
        mobility = { kind = \"random-waypoint\", speed = [1.0, 20.0] }\n\
        routing = { protocol = \"aodv\" }\n";

    fn run(text: &str, turns: bool) -> (RunResult, bool) {
        let source = Source::Toml { text: text.to_owned(), name: "wide.toml".to_owned() };
        let scenario = Scenario::load(&source, &[]).unwrap();
        let layout = scenario.topology.place(scenario.seed).unwrap();
        let mut world = World::new(&scenario, &layout, &Extensions::default(), Observer::default());
        let overlap = world.overlap;
        world.overlap &= !turns;
        world.run_until(Instant::ZERO + scenario.duration);
        (world.finish(std::time::Duration::ZERO).0, overlap)
    }

    fn wide(more: &str) -> String {
        let flow = |n: u32| format!("[[flow]]\nfrom = {n}\nto = {}\ntransport = \"newreno\"\n", 299 - n);
        format!("{WIDE}{more}{}", (0..30).map(flow).collect::<String>())
    }

    #[test]
    fn frames_that_take_no_turns_do_the_same() {
        let (result, overlap) = run(&wide(""), false);
        assert!(overlap && result.events > 100_000);
        let (in_turns, _) = run(&wide(""), true);
        let json = |result| serde_json::to_string(result).unwrap();
        assert_eq!(json(&result), json(&in_turns));
    }

    #[test]
    fn far_signals_and_close_layers_keep_the_order() {
        let far = wide("[radio]\nsense_range = 3100.0\n");
        assert!(!run(&far, false).1, "an answer may be sent before a frame has passed all");
        let close = wide("mac = { link_delay = 0.0 }\n");
        assert!(!run(&close, false).1, "a packet may be up before a frame has passed all");
        let standard = wide("mac = { flavour = \"standard\" }\n");
        assert!(!run(&standard, false).1, "a station may give up while a frame passes");
    }
}
