//! The medium between the radios of `mac80211_hwsim`: frames enter the simulated network and leave it, without a clock or a
//! socket.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use multihop_core::{BitRate, Duration, Instant, Interface, NodeId, earliest};
use multihop_scenario::Scenario;
use multihop_sim::Outputs;
use multihop_sim::RunError;
use multihop_sim::live::{Live, WifiEvent};
use multihop_sim::results::RunResult;

use crate::hwsim::{Address, Outcome, RATES, Report, Transmitted, TxRate};

/// Simulated network with a radio of the kernel at each radio of its nodes.
pub(crate) struct Medium<'a> {
    live: Live<'a>,
    radios: Vec<Radio>,
    outgoing: VecDeque<Outgoing>,
    /// Beacons that wait for the time of their radio, by this time and their place in `radios`.
    beacons: BTreeMap<(Instant, usize), Transmitted>,
    /// Frames to addresses that no radio has.
    pub(crate) strays: u64,
}

/// Radio of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    /// Node of the simulated network.
    pub(crate) node: NodeId,
    /// Radio of the node.
    pub(crate) interface: Interface,
    /// Address of its first interface.
    pub(crate) address: Address,
    /// Address by which the kernel names the radio.
    hardware: Address,
    /// Addresses of all its interfaces.
    addresses: Vec<Address>,
    /// Frequency of its latest frame, MHz.
    mhz: u32,
    /// Frames whose outcome the kernel waits for.
    pending: BTreeMap<u64, Pending>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    to: Option<NodeId>,
    flags: u32,
    rates: [TxRate; RATES],
    uses_mcs: bool,
}

/// Message for the kernel.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Outgoing {
    /// A radio receives a frame.
    Received {
        /// Instant at which the frame arrived.
        at: Instant,
        /// Address by which the kernel names the receiver.
        radio: Address,
        /// The frame without its checksum.
        bytes: Arc<[u8]>,
        /// Index of the rate in the band.
        rate: u32,
        /// Power of the signal at the receiver, dBm.
        dbm: i32,
        /// Centre frequency of the transmitter's channel, MHz.
        mhz: u32,
    },
    /// A radio has finished a frame.
    Finished {
        /// Instant at which the outcome was known.
        at: Instant,
        /// Outcome of the frame.
        outcome: Outcome,
    },
}

impl<'a> Medium<'a> {
    /// Creates the network of a scenario, with a radio for each radio of each node.
    pub(crate) fn new(scenario: &'a Scenario) -> Result<Self, RunError> {
        let live = Live::new(scenario, Outputs::default(), None)?;
        let (nodes, radios) = (scenario.topology.nodes(), scenario.radios.len());
        let all = (0..radios).flat_map(|radio| (0..nodes).map(move |node| (radio, node)));
        let places = all.map(|(radio, node)| (Interface(index(radio)), NodeId(index(node))));
        let there = places.filter(|(radio, node)| scenario.radios[radio.index()].is_at(*node));
        let radios = there.map(|(interface, node)| Radio::new(node, interface)).collect();
        Ok(Self { live, radios, outgoing: VecDeque::new(), beacons: BTreeMap::new(), strays: 0 })
    }

    /// All radios, in the order in which they are made.
    pub(crate) fn radios(&self) -> &[Radio] {
        &self.radios
    }

    /// Instant of the next event in the simulated network.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        earliest(self.live.next_event(), self.beacons.keys().next().map(|(at, _)| *at))
    }

    /// Virtual time that the network has reached.
    pub(crate) fn now(&self) -> Instant {
        self.live.now()
    }

    /// Handles all events before `end`.
    pub(crate) fn advance(&mut self, end: Instant) {
        while let Some(first) = self.beacons.first_entry().filter(|first| first.key().0 < end) {
            let ((at, place), beacon) = first.remove_entry();
            self.live.advance(at.max(self.live.now()));
            self.transmit(place, &beacon);
        }
        self.live.advance(end);
        self.collect();
    }

    /// Handles a message of the kernel now.
    pub(crate) fn handle(&mut self, report: Report) {
        match report {
            Report::Frame(frame) => self.accept(frame),
            Report::Address { radio, address, is_added } => {
                if let Some(radio) = self.radios.iter_mut().find(|one| one.is_named(radio)) {
                    radio.addresses.retain(|one| *one != address);
                    if is_added {
                        radio.addresses.push(address);
                    }
                }
            }
        }
        self.collect();
    }

    /// The next message for the kernel.
    pub(crate) fn poll(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    /// Ends the run now.
    pub(crate) fn finish(self) -> Result<RunResult, RunError> {
        self.live.finish()
    }

    /// Takes a frame of a radio. The kernel's radios share one clock, so that all beacons begin at the same instants and would
    /// always collide. Beacons therefore wait for a time that is different for each radio, as radios that are
    /// switched on at different times have.
    fn accept(&mut self, frame: Transmitted) {
        let Some(place) = self.radios.iter().position(|radio| radio.is_named(frame.radio)) else { return };
        if frame.is_beacon() {
            self.beacons.insert((self.live.now() + beacon_delay(place), place), frame);
        } else {
            self.transmit(place, &frame);
        }
    }

    /// Lets a frame of a radio enter the simulated network.
    fn transmit(&mut self, place: usize, frame: &Transmitted) {
        let Some(receiver) = frame.receiver() else { return };
        let interface = self.radios[place].interface;
        let is_group = receiver[0] & GROUP != 0;
        let to = if is_group { Some(NodeId::BROADCAST) } else { self.owner(interface, receiver) };
        let radio = &mut self.radios[place];
        (radio.hardware, radio.mhz) = (frame.radio, frame.mhz);
        let pending = Pending {
            to: to.filter(|_| !is_group),
            flags: frame.flags,
            rates: frame.rates,
            uses_mcs: frame.uses_mcs,
        };
        radio.pending.insert(frame.cookie, pending);
        let node = radio.node;
        match to {
            Some(to) => self.live.enter_wifi(node, interface, to, &frame.bytes, frame.cookie),
            None => {
                self.strays += 1;
                self.finish_frame(place, self.live.now(), frame.cookie, false, 0);
            }
        }
    }

    /// The node whose radio has an address.
    fn owner(&self, interface: Interface, address: Address) -> Option<NodeId> {
        let mut here = self.radios.iter().filter(|radio| radio.interface == interface);
        here.find(|radio| radio.addresses.contains(&address)).map(|radio| radio.node)
    }

    /// Turns the events of the simulated network into messages for the kernel.
    fn collect(&mut self) {
        while let Some(event) = self.live.poll_wifi() {
            match event {
                WifiEvent::Received { at, node, interface, from, bytes } => {
                    let [Some(to), Some(sender)] = [node, from].map(|node| self.place(node, interface))
                    else {
                        continue;
                    };
                    let dbm = self.signal(interface, from, node);
                    let is_group = bytes.get(4).is_some_and(|first| first & GROUP != 0);
                    let mhz = self.radios[sender].mhz;
                    let rate = if is_group { 0 } else { self.rate(interface, from, node, mhz) };
                    let radio = self.radios[to].hardware;
                    self.outgoing.push_back(Outgoing::Received { at, radio, bytes, rate, dbm, mhz });
                }
                WifiEvent::Finished { at, node, interface, cookie, is_delivered, retries } => {
                    if let Some(place) = self.place(node, interface) {
                        self.finish_frame(place, at, cookie, is_delivered, retries);
                    }
                }
            }
        }
    }

    fn finish_frame(&mut self, place: usize, at: Instant, cookie: u64, is_delivered: bool, retries: u32) {
        let Some(pending) = self.radios[place].pending.remove(&cookie) else { return };
        let Radio { node, interface, mhz, hardware: radio, .. } = self.radios[place];
        let mut rates = [TxRate::NONE; RATES];
        rates[0] = pending.rates[0];
        if let Some(to) = pending.to.filter(|_| !pending.uses_mcs) {
            let index = self.rate(interface, node, to, mhz);
            rates[0].index = i8::try_from(index).expect("a band has 12 rates");
        }
        rates[0].count = u8::try_from(retries + 1).unwrap_or(u8::MAX);
        let is_acknowledged = is_delivered && pending.to.is_some();
        let dbm = pending.to.map_or(WEAKEST, |to| self.signal(interface, to, node));
        let outcome = Outcome { radio, flags: pending.flags, is_acknowledged, rates, dbm, cookie };
        self.outgoing.push_back(Outgoing::Finished { at, outcome });
    }

    fn place(&self, node: NodeId, interface: Interface) -> Option<usize> {
        self.radios.iter().position(|radio| (radio.node, radio.interface) == (node, interface))
    }

    fn rate(&self, interface: Interface, from: NodeId, to: NodeId, mhz: u32) -> u32 {
        rate_index(self.live.wifi_rate(interface, from, to), mhz)
    }

    #[expect(clippy::cast_possible_truncation, reason = "float casts saturate")]
    fn signal(&mut self, interface: Interface, from: NodeId, to: NodeId) -> i32 {
        let dbm = self.live.signal_dbm(interface, from, to);
        dbm.map_or(WEAKEST, |dbm| (dbm.round() as i32).clamp(WEAKEST, 0))
    }
}

impl Radio {
    fn new(node: NodeId, interface: Interface) -> Self {
        // Addresses are those of the nodes; those of further radios differ in the second byte.
        let mut address = node.mac();
        address[1] = interface.0;
        let (addresses, pending) = (vec![address], BTreeMap::new());
        Self { node, interface, address, hardware: address, addresses, mhz: 0, pending }
    }

    /// Whether the kernel names the radio by this address: that of its first interface, or with a further bit.
    fn is_named(&self, address: Address) -> bool {
        address[1..] == self.address[1..] && address[0] & !SECOND == self.address[0]
    }
}

/// Delay of the beacons of a radio: less than a tenth of a second, and far from those of other radios (multiples of the
/// golden ratio).
fn beacon_delay(place: usize) -> Duration {
    let place: u64 = index(place);
    Duration::from_micros((place + 1) * 61_803 % 100_000)
}

/// Index of a bit rate among the rates of a band without MCS, or of the next lower one.
fn rate_index(rate: BitRate, mhz: u32) -> u32 {
    let band = if mhz < FIRST_OF_5_GHZ { &KBPS[..] } else { &KBPS[OFDM..] };
    let slower = band.iter().enumerate().filter(|(_, kbps)| u64::from(**kbps) * 1_000 <= rate.0);
    let best = slower.max_by_key(|(_, kbps)| **kbps).map_or(0, |(place, _)| place);
    index(best)
}

fn index<T: TryFrom<usize>>(n: usize) -> T {
    T::try_from(n).ok().expect("a checked number of nodes, radios and rates")
}

/// Bit rates of 2.4 GHz in the order of the kernel's radios, kbit/s; those of 5 GHz begin with OFDM.
const KBPS: [u32; 12] =
    [1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
const OFDM: usize = 4;
const FIRST_OF_5_GHZ: u32 = 4_000;
/// Bit of a group in the first byte of an address.
const GROUP: u8 = 1;
/// Bit by which the kernel's name of a radio may differ from the radio's address.
const SECOND: u8 = 0x40;
/// Power of signals that receivers do not sense, dBm.
const WEAKEST: i32 = -100;

#[cfg(test)]
mod tests;
