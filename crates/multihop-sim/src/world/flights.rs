//! Table of the frames in flight.

use multihop_core::{Duration, Instant, Interface, NodeId};
use multihop_radio::mac::{Bitmap, Load, Transmission};
use multihop_radio::medium::{Link, Origin};
use multihop_radio::params::Flavour;

use super::agenda::Agenda;
use super::ids::FlightId;
use crate::engine::{Key, Rank};

/// All frames in flight.
#[derive(Default)]
pub(super) struct Flights {
    /// Frames in flight by slot; `None` for the frame that is being advanced, and for free slots.
    pub(super) all: Vec<Option<Box<Flight>>>,
    /// Free slots in the order in which their frames ended, which may differ from the order of processing.
    /// The next frame takes the last one, because slots decide ties.
    pub(super) idle: Vec<(Key, FlightId)>,
    /// Frames whose first or last bit is arriving at stations, with the key of the next arrival; the earliest
    /// is last. There are few even in large networks.
    pub(super) passing: Vec<(Key, FlightId)>,
    pub(super) next_signal: u64,
    /// Whether bits that reach a station at one instant are handled in the order of their departure. ns-2
    /// runs simultaneous events in the order in which they were scheduled, and schedules arrivals at
    /// departure.
    in_order_of_departure: bool,
    /// Radio whose stations hear these frames.
    interface: Interface,
}

/// A frame in flight.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) transmission: Transmission,
    /// Number of the transmission.
    pub(super) signal: u64,
    pub(super) origin: Origin,
    /// Links over which the frame is heard; not empty.
    pub(super) links: Vec<Link>,
    /// Index of the link with the next event.
    pub(super) next: usize,
    /// Whether the next event is the arrival of the last bit.
    pub(super) ending: bool,
    pub(super) slot: u32,
    in_order_of_departure: bool,
    /// Whether a radio of another channel transmits the frame: stations of this radio only sense its power.
    pub(super) is_foreign: bool,
    /// Whether `load` contains the contents of this frame.
    pub(super) has_load: bool,
    /// Contents of the frame if stations aggregate: packets, MPDUs or a block ACK.
    pub(super) load: Load,
}

impl Flight {
    /// Contents of the frame, and the bitmap of the MPDUs to consider; `None` if stations do not aggregate.
    pub(super) fn load(&self, bits: Bitmap) -> Option<(&Load, Bitmap)> {
        self.has_load.then_some((&self.load, bits))
    }

    pub(super) fn began(&self) -> Instant {
        self.origin.at()
    }

    /// Instant at which the first bit (the last bit if `ending`) left the antenna.
    pub(super) fn wave_began(&self) -> Instant {
        self.began() + if self.ending { self.transmission.airtime } else { Duration::ZERO }
    }

    /// Instant at which the next first or last bit arrives at a station.
    pub(super) fn at(&self) -> Instant {
        self.wave_began() + self.links[self.next].delay()
    }

    /// Key of the frame's next event.
    pub(super) fn key(&self) -> Key {
        self.key_at(self.next)
    }

    /// Event key for the end of a frame that no station senses.
    pub(super) fn key_of_nothing(&self, now: Instant, node: NodeId) -> Key {
        Key::new(now, Rank::Timer, node, self.slot)
    }

    /// Key of the arrival over the link with this index.
    pub(super) fn key_at(&self, link: usize) -> Key {
        let link = &self.links[link];
        self.arrival_key(link, self.wave_began() + link.delay())
    }

    /// Key of the arrival over a link at `at`.
    #[inline]
    pub(super) fn arrival_key(&self, link: &Link, at: Instant) -> Key {
        let rank = if self.ending { Rank::SignalEnd } else { Rank::SignalStart };
        if self.in_order_of_departure {
            Key::of_arrival(at, rank, link.to, link.delay(), self.slot)
        } else {
            Key::new(at, rank, link.to, self.slot)
        }
    }
}

impl Flights {
    pub(super) fn new(flavour: Flavour, interface: Interface) -> Self {
        Self { in_order_of_departure: flavour == Flavour::Ns2, interface, ..Self::default() }
    }

    /// Key of the next arrival among the frames in the list.
    #[inline]
    pub(super) fn first(&self) -> Key {
        if let [.., (key, _)] = self.passing[..] { key } else { Key::NEVER }
    }

    /// Removes the frame with the next arrival from the list.
    ///
    /// Panics if the list is empty.
    #[inline]
    pub(super) fn take_first(&mut self) -> FlightId {
        self.passing.pop().expect("the frame of the next event").1
    }

    #[cold]
    pub(super) fn add(&mut self, agenda: &mut Agenda, transmission: Transmission) -> FlightId {
        let id = FlightId(u32::try_from(self.all.len()).expect("fewer than 2^32 frames in flight"));
        let slot = agenda.flight_slot(self.interface, id);
        let origin = Origin::default();
        let flight = Flight {
            transmission,
            signal: 0,
            origin,
            links: Vec::new(),
            next: 0,
            ending: false,
            slot,
            in_order_of_departure: self.in_order_of_departure,
            is_foreign: false,
            has_load: false,
            load: Load::default(),
        };
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

/// Inserts an item in order, nearly always at the end.
fn insert(items: &mut Vec<(Key, FlightId)>, item: (Key, FlightId), in_order: fn(Key, Key) -> bool) {
    let before = items.iter().rposition(|other| in_order(other.0, item.0));
    items.insert(before.map_or(0, |before| before + 1), item);
}
