//! The medium between the radios of `mac80211_hwsim`: frames enter the simulated network and leave it, without a clock or a
//! socket.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use multihop_core::{BitRate, Duration, Instant, Interface, NodeId, earliest};
use multihop_radio::rate_control::RateControlParams;
use multihop_scenario::Scenario;
use multihop_sim::Outputs;
use multihop_sim::RunError;
use multihop_sim::live::{Attempts, Live, WifiEvent};
use multihop_sim::results::RunResult;

use crate::AirError;
use crate::hwsim::{Address, Outcome, RATES, Report, Transmitted, TxRate};

/// Simulated network with a radio of the kernel at each radio of its nodes.
pub(crate) struct Medium<'a> {
    /// One network for all nodes. Without contention, a network for the frames of each node: stations then neither hear nor
    /// disturb the frames of others.
    networks: Vec<Live<'a>>,
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
    /// Whether the kernel's choice of rates holds.
    has_kernel_rates: bool,
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
    /// Creates the network of a scenario, with a radio for each radio of each node. `addresses` are those of the first radios,
    /// or empty.
    pub(crate) fn new(
        scenario: &'a Scenario,
        no_contention: bool,
        addresses: &[Address],
    ) -> Result<Self, AirError> {
        let (nodes, radios) = (scenario.topology.nodes(), scenario.radios.len());
        if no_contention && nodes > MAX_WITHOUT_CONTENTION {
            return Err(AirError::TooMany(nodes));
        }
        let copies = if no_contention { nodes } else { 1 };
        let networks = (0..copies).map(|_| Live::new(scenario, Outputs::default(), None));
        let networks = networks.collect::<Result<_, _>>()?;
        let all = (0..radios).flat_map(|radio| (0..nodes).map(move |node| (radio, node)));
        let places = all.map(|(radio, node)| (Interface(index(radio)), NodeId(index(node))));
        let there = places.filter(|(radio, node)| scenario.radios[radio.index()].is_at(*node));
        let made = there.map(|(interface, node)| {
            let rate_control = &scenario.radios[interface.index()].mac.rate_control;
            let given = addresses.get(node.index()).filter(|_| interface == Interface(0));
            Radio::new(node, interface, given.copied(), *rate_control == RateControlParams::Kernel)
        });
        let radios = made.collect();
        Ok(Self { networks, radios, outgoing: VecDeque::new(), beacons: BTreeMap::new(), strays: 0 })
    }

    /// All radios, in the order in which they are made.
    pub(crate) fn radios(&self) -> &[Radio] {
        &self.radios
    }

    /// Instant of the next event in the simulated network.
    pub(crate) fn next_event(&self) -> Option<Instant> {
        let beacon = self.beacons.keys().next().map(|(at, _)| *at);
        self.networks.iter().map(Live::next_event).fold(beacon, earliest)
    }

    /// Virtual time that the network has reached.
    pub(crate) fn now(&self) -> Instant {
        self.networks[0].now()
    }

    /// The network for the frames of a node.
    fn network(&mut self, node: NodeId) -> &mut Live<'a> {
        let place = node.index() % self.networks.len();
        &mut self.networks[place]
    }

    fn advance_networks(&mut self, end: Instant) {
        self.networks.iter_mut().for_each(|network| network.advance(end));
    }

    /// Handles all events before `end`.
    pub(crate) fn advance(&mut self, end: Instant) {
        while let Some(first) = self.beacons.first_entry().filter(|first| first.key().0 < end) {
            let ((at, place), beacon) = first.remove_entry();
            self.advance_networks(at.max(self.now()));
            self.transmit(place, &beacon);
        }
        self.advance_networks(end);
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

    /// Ends the run now. Without contention, the measurements are those of the first node's frames.
    pub(crate) fn finish(self) -> Result<RunResult, RunError> {
        let first = self.networks.into_iter().next().expect("a network has a node");
        first.finish()
    }

    /// Takes a frame of a radio. The kernel's radios share one clock, so that all beacons begin at the same instants and would
    /// always collide. Beacons therefore wait for a time that is different for each radio, as radios that are
    /// switched on at different times have.
    fn accept(&mut self, frame: Transmitted) {
        let Some(place) = self.radios.iter().position(|radio| radio.is_named(frame.radio)) else { return };
        if frame.is_beacon() {
            self.beacons.insert((self.now() + beacon_delay(place), place), frame);
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
        let pending = Pending { to: to.filter(|_| !is_group), flags: frame.flags, rates: frame.rates };
        radio.pending.insert(frame.cookie, pending);
        let node = radio.node;
        let rates: Vec<_> = chosen(&frame.rates).flat_map(|rate| attempts(rate, frame.mhz)).collect();
        match to {
            Some(to) => {
                self.network(node).enter_wifi(node, interface, to, &frame.bytes, frame.cookie, &rates)
            }
            None => {
                self.strays += 1;
                self.finish_frame(place, self.now(), frame.cookie, (false, 0), &[]);
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
        while let Some(event) = self.networks.iter_mut().find_map(Live::poll_wifi) {
            match event {
                WifiEvent::Received { at, node, interface, from, bytes, rate } => {
                    let [Some(to), Some(sender)] = [node, from].map(|node| self.place(node, interface))
                    else {
                        continue;
                    };
                    let dbm = self.signal(interface, from, node);
                    let mhz = self.radios[sender].mhz;
                    let rate = rate.unwrap_or(self.network(from).wifi_rate(interface, from, node));
                    let rate = index(rate_index(rate, mhz));
                    let radio = self.radios[to].hardware;
                    self.outgoing.push_back(Outgoing::Received { at, radio, bytes, rate, dbm, mhz });
                }
                WifiEvent::Finished { at, node, interface, cookie, is_delivered, retries, attempts } => {
                    if let Some(place) = self.place(node, interface) {
                        self.finish_frame(place, at, cookie, (is_delivered, retries), &attempts);
                    }
                }
            }
        }
    }

    fn finish_frame(
        &mut self,
        place: usize,
        at: Instant,
        cookie: u64,
        (is_delivered, retries): (bool, u32),
        attempts: &[Attempts],
    ) {
        let Some(pending) = self.radios[place].pending.remove(&cookie) else { return };
        let Radio { node, mhz, hardware: radio, interface, has_kernel_rates, .. } = self.radios[place];
        let rates = match attempts {
            // A delivered frame without attempts of its own was transmitted only in aggregates.
            [] if is_delivered && !has_kernel_rates && !pending.rates[0].is_mcs() => {
                let to = pending.to.unwrap_or(NodeId::BROADCAST);
                let rate = self.network(node).wifi_rate(interface, node, to);
                let count = u8::try_from(retries + 1).unwrap_or(u8::MAX);
                by_index(&[Attempts { rate, count }], mhz)
            }
            // The RTS failed, the frame is for nobody, or it was transmitted only in aggregates.
            [] => used(&pending.rates, retries + 1),
            _ if has_kernel_rates || pending.rates[0].is_mcs() => {
                used(&pending.rates, attempts.iter().map(|one| u32::from(one.count)).sum())
            }
            _ => by_index(attempts, mhz),
        };
        let is_acknowledged = is_delivered && pending.to.is_some();
        let dbm = pending.to.map_or(WEAKEST, |to| self.signal(interface, to, node));
        let outcome = Outcome { radio, flags: pending.flags, is_acknowledged, rates, dbm, cookie };
        self.outgoing.push_back(Outgoing::Finished { at, outcome });
    }

    fn place(&self, node: NodeId, interface: Interface) -> Option<usize> {
        self.radios.iter().position(|radio| (radio.node, radio.interface) == (node, interface))
    }

    #[expect(clippy::cast_possible_truncation, reason = "float casts saturate")]
    fn signal(&mut self, interface: Interface, from: NodeId, to: NodeId) -> i32 {
        let dbm = self.network(from).signal_dbm(interface, from, to);
        dbm.map_or(WEAKEST, |dbm| (dbm.round() as i32).clamp(WEAKEST, 0))
    }
}

impl Radio {
    fn new(node: NodeId, interface: Interface, given: Option<Address>, has_kernel_rates: bool) -> Self {
        // Addresses are those of the nodes; those of further radios differ in the second byte.
        let mut own = node.mac();
        own[1] = interface.0;
        let address = given.unwrap_or(own);
        let (addresses, pending) = (vec![address], BTreeMap::new());
        Self { node, interface, address, hardware: address, addresses, has_kernel_rates, mhz: 0, pending }
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

/// The rates of a list of the kernel.
fn chosen(rates: &[TxRate; RATES]) -> impl Iterator<Item = TxRate> {
    rates.iter().copied().take_while(|rate| rate.index >= 0 && rate.count > 0)
}

/// The bit rate of each attempt with a rate of the kernel.
fn attempts(rate: TxRate, mhz: u32) -> impl Iterator<Item = BitRate> {
    let of_band = usize::try_from(rate.index).ok().and_then(|index| band(mhz).get(index));
    let rate_bps = rate.mcs_rate().or(of_band.map(|kbps| BitRate(u64::from(*kbps) * 1_000)));
    rate_bps.into_iter().flat_map(move |bps| std::iter::repeat_n(bps, rate.count.into()))
}

/// The part of the kernel's rates that a number of attempts has used.
fn used(rates: &[TxRate; RATES], attempts: u32) -> [TxRate; RATES] {
    let (mut used, mut left) = ([TxRate::NONE; RATES], attempts);
    let last = chosen(rates).count().saturating_sub(1);
    for (place, rate) in rates.iter().enumerate().take(last + 1) {
        let count = if place == last { left } else { left.min(rate.count.into()) };
        if count > 0 {
            used[place] = TxRate { count: u8::try_from(count).unwrap_or(u8::MAX), ..*rate };
        }
        left -= count;
    }
    used
}

/// Attempts with rates of the simulated MAC, as the kernel counts them. Of more rates than the kernel counts, the last ones
/// are reported.
fn by_index(attempts: &[Attempts], mhz: u32) -> [TxRate; RATES] {
    let mut rates = [TxRate::NONE; RATES];
    let first = attempts.len().saturating_sub(RATES);
    for (rate, made) in rates.iter_mut().zip(&attempts[first..]) {
        *rate = TxRate { index: index(rate_index(made.rate, mhz)), count: made.count, flags: 0 };
    }
    rates
}

/// Bit rates of a band without MCS, kbit/s.
fn band(mhz: u32) -> &'static [u32] {
    if mhz < FIRST_OF_5_GHZ { &KBPS[..] } else { &KBPS[OFDM..] }
}

/// Index of a bit rate among the rates of a band without MCS, or of the next lower one.
fn rate_index(rate: BitRate, mhz: u32) -> usize {
    let slower = band(mhz).iter().enumerate().filter(|(_, kbps)| u64::from(**kbps) * 1_000 <= rate.0);
    slower.max_by_key(|(_, kbps)| **kbps).map_or(0, |(place, _)| place)
}

fn index<T: TryFrom<usize>>(n: usize) -> T {
    T::try_from(n).ok().expect("a checked number of nodes, radios and rates")
}

/// Bit rates of 2.4 GHz in the order of the kernel's radios, kbit/s; those of 5 GHz begin with OFDM.
const KBPS: [u32; 12] =
    [1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
const OFDM: usize = 4;
/// Largest number of nodes without contention, where each node has a simulated network with all nodes.
pub(crate) const MAX_WITHOUT_CONTENTION: usize = 100;
const FIRST_OF_5_GHZ: u32 = 4_000;
/// Bit of a group in the first byte of an address.
const GROUP: u8 = 1;
/// Bit by which the kernel's name of a radio may differ from the radio's address.
const SECOND: u8 = 0x40;
/// Power of signals that receivers do not sense, dBm.
const WEAKEST: i32 = -100;

#[cfg(test)]
mod tests;
