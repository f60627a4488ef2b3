//! The table of frames in flight.

use multihop_core::{Duration, Instant};
use multihop_radio::mac::Transmission;
use multihop_radio::medium::{Link, Origin};

use super::agenda::Agenda;
use super::ids::FlightId;
use crate::engine::{Key, Rank};

/// All frames in flight.
#[derive(Default)]
pub(super) struct Flights {
    /// Without the one that is being advanced.
    pub(super) all: Vec<Option<Box<Flight>>>,
    /// Those that are over, in the order in which they ended, whoever passed first: the next frame
    /// takes the latest one's slot, which decides ties.
    pub(super) idle: Vec<(Key, FlightId)>,
    /// Those whose first or last bit is just passing the stations, and where it arrives next; the
    /// earliest comes last. There are never many, however large the network is.
    pub(super) passing: Vec<(Key, FlightId)>,
    pub(super) next_signal: u64,
}

/// A frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) transmission: Transmission,
    /// Names the transmission.
    pub(super) signal: u64,
    pub(super) origin: Origin,
    /// The links over which it is heard; never none.
    pub(super) links: Vec<Link>,
    /// The link where something happens next.
    pub(super) next: usize,
    /// Whether that is the arrival of the last bit.
    pub(super) ending: bool,
    pub(super) slot: u32,
}

impl Flight {
    pub(super) fn began(&self) -> Instant {
        self.origin.at()
    }

    /// When the first bits, or the last, leave the antenna.
    pub(super) fn wave_began(&self) -> Instant {
        self.began() + if self.ending { self.transmission.airtime } else { Duration::ZERO }
    }

    /// When the next bit arrives.
    pub(super) fn at(&self) -> Instant {
        self.wave_began() + self.links[self.next].delay()
    }

    /// Where the next bit comes in the order of events.
    pub(super) fn key(&self) -> Key {
        self.key_at(self.next)
    }

    /// Where the bit on a link comes in the order of events.
    pub(super) fn key_at(&self, link: usize) -> Key {
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

    pub(super) fn add(&mut self, agenda: &mut Agenda, transmission: Transmission) -> FlightId {
        let id = FlightId(u32::try_from(self.all.len()).expect("fewer than 2^32 frames in flight"));
        let slot = agenda.flight_slot(id);
        let origin = Origin::default();
        let flight =
            Flight { transmission, signal: 0, origin, links: Vec::new(), next: 0, ending: false, slot };
        self.all.push(Some(Box::new(flight)));
        id
    }

    pub(super) fn passes(&mut self, key: Key, id: FlightId) {
        insert(&mut self.passing, (key, id), |before, after| before > after);
    }

    pub(super) fn is_over(&mut self, key: Key, id: FlightId) {
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
