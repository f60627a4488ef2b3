//! The radio and MAC parameters of a scenario. The defaults are ns-2's.

use std::collections::BTreeMap;
use std::sync::Arc;

use multihop_core::settings::{Field, Settings};
use multihop_core::{BitRate, Duration, Instant, NodeId};

use crate::budget::Budget;
use crate::decibels::from_db;
use crate::keys::{CHANCE, DBM, DECIBELS, METRES, WINDOW};
use crate::measured::{Interpolation, LinkTraces};
use crate::phy_profile::{DOT11B, PhyProfile, Preamble, RateIndex};

pub use crate::error_rate::ErrorModel;
pub use crate::propagation::antenna::{Antennas, Facing, Pattern};
pub use crate::propagation::environment::{Building, ENVIRONMENTS, Environment};
pub use crate::propagation::fading::{Change, Fading};
pub use crate::propagation::obstacles::{Obstacle, Obstacles};
pub use crate::propagation::path_loss::PathLoss;
use crate::rate_control::RateControlParams;

/// The physical layer and the channel.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct RadioParams {
    /// Physical layer of the radio: rates, airtimes and channel width.
    #[key(with = Self::phy_key)]
    pub phy: &'static PhyProfile,
    /// Source of the defaults of `[radio]` and `[mac]`: ns-2's radio, on which the papers' networks ran, or a device sold today indoors,
    /// in a street or over open ground. Default: ns-2 with 802.11b, street with all others.
    #[key(with = Self::budget_key)]
    pub budget: Budget,
    /// Bit rate of unicast data; in OFDM the lowest by default, or MCS0 where there is one.
    ///
    /// `link_rates` has exceptions.
    #[key(with = Self::rate_key)]
    pub rate: RateIndex,
    /// Whether the scenario names `rate`, so that by default no rate control chooses another.
    pub is_rate_given: bool,
    /// Rates of unicast data that differ by sender and receiver.
    pub link_rates: LinkRates,
    /// Limit of spatial streams of data, with 802.11n and later. Rate control uses no rate with more. Default: those of radio.rate,
    /// one if it is not given; with the budget ns-2 the most that the physical layer has.
    #[key(with = Self::streams_key)]
    pub streams: u8,
    /// Bit rate of RTS and broadcasts. Default: 1M with 802.11b and with the budget ns-2 with 802.11g; 6M with all others of 20 MHz and
    /// more, 3M with 802.11p, MCS0 with 802.11ah. CTS and ACK have it as well in 802.11b; in OFDM they have the highest mandatory rate
    /// up to that of the frame that they answer, and in 802.11ah they are preambles.
    #[key(with = Self::basic_rate_key)]
    pub basic_rate: RateIndex,
    /// Preamble of a frame: for 802.11b, long takes 192 us, short 96 us; OFDM has one of its own.
    #[key(with = Self::preamble_key)]
    pub preamble: &'static Preamble,
    /// Probability that a data packet is lost on one hop after the MAC has delivered it.
    #[key(CHANCE)]
    pub loss: f64,
    /// Probability that a frame is received in error; the MAC retries.
    #[key(CHANCE)]
    pub frame_loss: f64,
    /// Bursts of frame errors on each link (Gilbert-Elliott): a link is good or bad, and each frame may change its state.
    #[key(table)]
    pub burst: Option<Burst>,
    /// How reception is decided.
    // Last, because it decides which other keys there are.
    #[key(with = Self::model_key)]
    pub model: Model,
}

/// Rates of unicast data that differ from the scenario's rate: for all data of a station, or for its data to
/// one receiver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkRates {
    /// Fixed rates by sender and receiver; `None` stands for all receivers.
    list: BTreeMap<(NodeId, Option<NodeId>), RateIndex>,
}

impl LinkRates {
    /// Sets the rate from a station to one receiver, or to all receivers that have no entry. Returns the
    /// previous rate.
    pub fn set(&mut self, from: NodeId, to: Option<NodeId>, rate: RateIndex) -> Option<RateIndex> {
        self.list.insert((from, to), rate)
    }

    /// The rate from one station to another, if it differs from the scenario's.
    pub fn of(&self, from: NodeId, to: NodeId) -> Option<RateIndex> {
        [Some(to), None].into_iter().find_map(|to| self.list.get(&(from, to))).copied()
    }

    /// Whether all links have the rate of the scenario.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Rates of one sender, by receiver; `None` stands for all receivers.
    pub(crate) fn of_sender(&self, from: NodeId) -> Vec<(Option<NodeId>, RateIndex)> {
        self.list
            .range((from, None)..)
            .take_while(|((id, _), _)| *id == from)
            .map(|((_, to), rate)| (*to, *rate))
            .collect()
    }
}

/// Model of reception: the rules that decide whether a frame is received.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// Fixed ranges and pairwise capture, as in ns-2.
    Threshold(Threshold),
    /// Signal to interference and noise ratio over the whole frame.
    Sinr(Sinr),
}

/// Parameters of ns-2's reception model: fixed ranges, and capture by power.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct Threshold {
    /// Metres up to which a frame can be decoded, for each rate of the profile.
    pub range: Vec<f64>,
    /// Distance up to which a frame is sensed, m.
    #[key(METRES)]
    pub sense_range: f64,
    /// Ratio of powers with which the first frame survives a second, dB.
    #[key(DECIBELS)]
    pub capture_db: f64,
}

/// Parameters of the SINR model: propagation, antennas and the receiver.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct Sinr {
    /// Transmit power of every station, dBm. Default: 24.5 with the budget ns-2; otherwise 18, with 802.11p 20, with 802.11ah 21.
    #[key(DBM)]
    pub tx_power_dbm: f64,
    /// Law by which power falls with distance.
    pub path_loss: PathLoss,
    /// Standard deviation of log-normal shadowing, dB; one draw for each pair of nodes. Default: 8.03 with the budget indoor, otherwise
    /// 0.
    #[key(DECIBELS)]
    pub shadowing_db: f64,
    /// Fading of each frame on top of the mean received power.
    pub fading: Fading,
    /// The height of each node's antenna, metres; empty: the height in `path_loss`.
    pub heights: Vec<f64>,
    /// Antennas; without this table they are omnidirectional, with a gain of 0 dBi with the budget ns-2 and with 802.11p, 3.4 dBi with
    /// 802.11ah, otherwise 2 dBi at 2.4 GHz and 3 dBi at 5 GHz.
    #[key(name = "antenna", with = Self::antenna_key)]
    pub antennas: Option<Antennas>,
    /// Obstacles between the nodes; `None` is open ground.
    pub obstacles: Option<Arc<Obstacles>>,
    /// Links that were measured: their SNR or losses over time take the place of path loss, antennas, obstacles, shadowing and fading.
    /// Pairs of nodes without a trace do not hear each other.
    #[key(table)]
    pub measured: Option<Box<Measured>>,
    /// Thermal noise over the channel width and the noise figure together, dBm. The noise figure is 7 dB with the budget ns-2 (-93.55
    /// dBm for 802.11b, -93.96 for 802.11a), otherwise 5 dB (802.11a: -95.96).
    #[key(DBM)]
    pub noise_floor_dbm: f64,
    /// Received power at which the medium counts as busy, dBm. Default: -78.071 with the budget ns-2; otherwise -62 for a 20 MHz
    /// channel, and the same power per hertz for other channel widths.
    #[key(DBM)]
    pub cca_dbm: f64,
    /// Model of the errors of OFDM frames: that of NIST, or that of the simulator YANS.
    #[key]
    pub error_model: ErrorModel,
    /// Weakest frame that a receiver locks to, dBm.
    pub sensitivity_dbm: f64,
    /// Smallest ratio of signal to noise and interference at which a receiver locks to a frame, dB; if not given, any. ns-3 has 4.
    ///
    /// The ratio at the first bit of the frame counts.
    #[key(DECIBELS)]
    pub detection_db: Option<f64>,
    /// Ratio of powers with which a second frame takes over a receiver in the preamble of the first, dB.
    #[key(DECIBELS)]
    pub capture_db: f64,
}

/// Measured links in place of path loss, antennas, obstacles, shadowing and fading.
#[derive(Clone, Debug, Default, PartialEq, Settings)]
pub struct Measured {
    /// CSV file with the columns time (s), from, to, and snr_db or loss, in any order; relative to the scenario's folder.
    #[key(500, required)]
    pub file: String,
    /// Values between two samples of a link: that of the earlier one (hold), or on a straight line (linear).
    #[key]
    pub interpolation: Interpolation,
    /// Traces in the file.
    pub traces: Arc<LinkTraces>,
}

/// Gilbert-Elliott: each direction of a link is good or bad, and each frame may change its state.
#[derive(Clone, Copy, Debug, PartialEq, Settings)]
pub struct Burst {
    /// Frame error rate of a good link.
    #[key(CHANCE, default = 0.0)]
    pub good: f64,
    /// Frame error rate of a bad link.
    #[key(CHANCE, default = 1.0)]
    pub bad: f64,
    /// Probability, for each frame, that a good link turns bad.
    #[key(CHANCE, required)]
    pub p: f64,
    /// Probability, for each frame, that a bad link turns good.
    #[key(CHANCE, required)]
    pub r: f64,
}

/// Settings of the 802.11 MAC, which all stations of a radio share.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct MacParams {
    /// Rules that hold where ns-2 departs from IEEE 802.11. Default: ns2 with the budget ns-2, otherwise standard.
    #[key]
    pub flavour: Flavour,
    /// Frame sizes that count: those of the standard (dsss), or the accounting of the papers of 1999 to 2001 (ns2-1999).
    #[key]
    pub timing: Timing,
    /// Length from which on frames are announced by RTS, bytes as the flavour counts them; off: no frame is. Default: 0 with the budget
    /// ns-2, otherwise off.
    #[key(0..=100_000, off)]
    pub rts_threshold: Option<u32>,
    /// Protection of unicast data at a rate of OFDM without RTS, which stations of 802.11b do not hear: none, or a CTS that a station
    /// sends to itself. With 802.11g, a `basic_rate` of 802.11b and flavour standard.
    #[key]
    pub protection: Protection,
    /// Whether a station that heard an error waits longer (EIFS).
    #[key]
    pub eifs: bool,
    /// Whether every data frame has 8 bytes of LLC/SNAP. Default: false with the budget ns-2, otherwise true.
    #[key]
    pub llc: bool,
    /// Length of the interface queue, packets.
    #[key(1..=1_000_000)]
    pub queue: usize,
    /// How the interface queue prefers routing messages.
    pub queue_kind: QueueKind,
    /// Which packets leave the interface queue, and how.
    #[key(flatten)]
    pub codel: CodelParams,
    /// Limit of transmissions of an RTS, or of a data frame without RTS; off: no limit.
    #[key(1..=1_000_000, off)]
    pub short_retry: Option<u32>,
    /// Limit of transmissions of a data frame after RTS; off: no limit.
    #[key(1..=1_000_000, off)]
    pub long_retry: Option<u32>,
    /// Time that a packet takes between IP and MAC, in each direction, s.
    #[key(0.0..=1e9)]
    pub link_delay: Duration,
    /// Choice of the rate of unicast data. All but fixed begin with radio.rate, Minstrel-HT with MCS 0. Default: fixed; with the budget
    /// of a device minstrel, unless radio.rate or `data_rate` is given.
    #[key(with = Self::rate_control_key)]
    pub rate_control: RateControlParams,
    /// Smallest contention window (CWmin), slots; by default that of the physical layer. The windows of edca that are not given follow
    /// from it.
    #[key(WINDOW)]
    pub cw_min: Option<u32>,
    /// Largest contention window (CWmax), slots; by default that of the physical layer.
    #[key(WINDOW)]
    pub cw_max: Option<u32>,
    /// Answer that resets the contention window: the ACK, as in IEEE 802.11 and ns-2, or already the CTS. Default: ack; cts with 802.11b
    /// and flavour standard.
    #[key]
    pub window_reset: Option<WindowReset>,
    /// Four access categories (EDCA) instead of DCF, with the parameters of the standard or those given; flavour standard only. Flows
    /// have a category, urgent routing messages are voice. Default: false with the budget ns-2, otherwise true.
    // DEVIATION edca-2: Only aggregates have the 2 bytes of QoS control. In EDCA all data has them; a frame in
    // multihop is 1.5 us shorter at 11 Mb/s.
    #[key(with = Self::edca_key)]
    pub edca: Option<EdcaParams>,
    /// Limit of MPDUs of a frame (A-MPDU), answered by a block ACK; off: one. With 802.11n or 802.11ac up to 64, with 802.11ax up to
    /// 256; flavour standard only. Default: off with the budget ns-2, otherwise the most of the physical layer.
    #[key(2..=256, off)]
    pub ampdu: Option<u32>,
    /// Limit of bytes of several packets in one MPDU (A-MSDU), 3839 or 7935 in the standard; off: one packet. With 802.11n, 802.11ac or
    /// 802.11ax and flavour standard.
    #[key(256..=7935, off)]
    pub amsdu: Option<u32>,
    /// Whether a station pauses for a starving station near it; a table sets the parameters. No part of IEEE 802.11.
    #[key(with = Self::turns_key)]
    pub turns: Option<TurnParams>,
}

/// When a station requests a turn, and which stations pause for it.
#[derive(Clone, Copy, Debug, PartialEq, Settings)]
pub struct TurnParams {
    /// Failed transmissions of a packet from which on its station starves.
    #[key(1..=1_000_000)]
    pub failures: u32,
    /// Time that a packet is in service from which on its station starves, s.
    #[key(0.0..=1000.0)]
    pub patience: Duration,
    /// Time for which a station counts as starving after its latest transmission with a packet that failed `failures` times or was in
    /// service for `patience`, s.
    #[key(0.0..=1000.0)]
    pub hold: Duration,
    /// Time for which responses pass a decoded request on, s.
    #[key(0.0..=1000.0)]
    pub pass_on: Duration,
    /// Longest pause of a station after one request, s. A pause is as long as the data that the station transmitted since its latest pause.
    #[key(0.0..=10.0)]
    pub longest: Duration,
    /// Time constant with which the airtime of acknowledged data decays, s.
    #[key(0.001..=1000.0)]
    pub memory: Duration,
    /// A station pauses if its data had at least this many times the airtime of the starving station's data.
    #[key(0.0..=1000.0)]
    pub ratio: f64,
}

impl Default for TurnParams {
    fn default() -> Self {
        Self {
            failures: 5,
            patience: Duration::from_millis(50),
            hold: Duration::from_millis(100),
            pass_on: Duration::from_millis(20),
            longest: Duration::from_millis(20),
            memory: Duration::from_millis(500),
            ratio: 2.0,
        }
    }
}

/// How stations of 802.11b, which do not hear OFDM, learn of data at a rate of it.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Protection {
    /// Data frames are sent without protection.
    Off,
    /// Data is announced by a CTS that the station sends to itself at the basic rate.
    CtsToSelf,
}

/// Which answer resets the contention window.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum WindowReset {
    /// A CTS, and an ACK.
    Cts,
    /// An ACK: IEEE 802.11, and ns-2.
    Ack,
}

/// Contention parameters that replace those of the standard, for each category of EDCA.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdcaParams {
    /// Contention parameters of each category, in the order of [`crate::frame::Category::ALL`].
    pub categories: [CategoryParams; 4],
}

/// One access category; `None`: as the standard has it.
#[derive(Clone, Debug, Default, PartialEq, Settings)]
pub struct CategoryParams {
    /// Number of slots of the interframe space after SIFS.
    #[key(1..=15)]
    pub aifsn: Option<u32>,
    /// Smallest contention window of the category, slots.
    #[key(WINDOW)]
    pub cw_min: Option<u32>,
    /// Largest contention window of the category, slots.
    #[key(WINDOW)]
    pub cw_max: Option<u32>,
    /// Limit of a transmission opportunity, s; 0: one packet.
    #[key(0.0..=0.01)]
    pub txop: Option<Duration>,
}

/// A discipline of the interface queue.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Discipline {
    /// Packets leave in the order of arrival; a packet that finds the queue full is dropped.
    DropTail,
    /// Packets that have waited too long are marked or dropped (RFC 8289).
    Codel,
    /// CoDel for each flow, with flows taking turns (RFC 8290).
    FqCodel,
}

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Settings)]
pub struct CodelParams {
    /// Discipline of the interface queue: packets leave in their order (drop-tail); CoDel (RFC 8289) drops or marks those that have
    /// waited too long; FQ-CoDel (RFC 8290) lets flows take turns as well.
    #[key]
    pub discipline: Discipline,
    /// Wait of packets that CoDel allows, s.
    #[key(0.0..=1000.0, name = "codel_target")]
    pub target: Duration,
    /// Time for which packets may wait longer than `codel_target` before CoDel drops or marks one, s.
    #[key(0.000_001..=1000.0, name = "codel_interval")]
    pub interval: Duration,
    /// Wait from which on CoDel marks packets of prague, s.
    #[key(0.0..=1000.0)]
    pub mark_above: Duration,
}

impl Default for CodelParams {
    /// Values of RFC 8289 §4.2 to §4.4, and the threshold of RFC 9332 §A.1 for present-day links.
    fn default() -> Self {
        Self {
            discipline: Discipline::DropTail,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mark_above: Duration::from_millis(1),
        }
    }
}

/// Preference for routing messages in the interface queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QueueKind {
    /// One queue; routing messages go to its head, the newest first (ns-2's PriQueue).
    Single,
    /// Routing messages have their own queue, served first and in order (CMUPriQueue, which DSR uses).
    ByPriority,
}

/// Which rules the MAC follows where ns-2 deviates from the standard.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Flavour {
    /// Follows ns-2's Mac802_11 where it departs from the standard.
    Ns2,
    /// Follows the frame exchange of IEEE 802.11.
    Standard,
}

/// Which frame sizes and rates apply.
#[derive(Clone, Copy, Debug, Eq, Field, PartialEq)]
pub enum Timing {
    /// Frames of IEEE 802.11: RTS 20, CTS and ACK 14, data header 28 bytes, behind preamble and PLCP header.
    #[word("dsss")]
    Standard,
    /// The accounting of the papers of 1999 to 2001: RTS 40, CTS and ACK 39, data header 47 bytes,
    /// all at the data rate, nothing for the PLCP.
    #[word("ns2-1999")]
    Ns2Of1999,
}

impl RadioParams {
    /// Creates the parameters of a PHY profile with ns-2's radio.
    pub fn new(phy: &'static PhyProfile) -> Self {
        let range = vec![250.0; phy.rates.len()];
        Self {
            phy,
            budget: Budget::Ns2,
            streams: phy.most_streams(),
            is_rate_given: false,
            rate: phy.data_rate,
            link_rates: LinkRates::default(),
            basic_rate: phy.basic_rate,
            preamble: &phy.preambles[0],
            model: Model::Threshold(Threshold { range, ..Threshold::default() }),
            loss: 0.0,
            frame_loss: 0.0,
            burst: None,
        }
    }

    /// Creates the parameters of a PHY profile with the radio of a budget.
    pub fn with_budget(phy: &'static PhyProfile, budget: Budget) -> Self {
        let ns2 = Self::new(phy);
        if !budget.is_device() {
            return ns2;
        }
        let mut sinr = budget.sinr(phy);
        let basic_rate = budget.basic_rate(phy);
        sinr.sensitivity_dbm = detects_from(phy, [phy.data_rate, basic_rate], &sinr);
        Self { budget, streams: 1, basic_rate, model: Model::Sinr(sinr), ..ns2 }
    }

    /// The rates whose number of spatial streams the stations support, in the order of the profile.
    pub fn usable_rates(&self) -> impl Iterator<Item = RateIndex> + use<> {
        let (phy, most) = (self.phy, self.streams);
        phy.rate_indices().filter(move |&rate| phy.rate(rate).label.streams().is_none_or(|n| n <= most))
    }

    /// The bit rate of unicast data.
    pub fn bit_rate(&self) -> BitRate {
        self.phy.rate(self.rate).bit_rate
    }

    /// Distance in metres over which unicast data can be decoded at the scenario's rate.
    pub fn decode_range(&self) -> f64 {
        self.range_of(self.rate)
    }

    /// The longest range of all rates, which rate control may use.
    pub fn longest_range(&self) -> f64 {
        self.usable_rates().map(|rate| self.range_of(rate)).fold(0.0, f64::max)
    }

    /// Distance in metres over which one station decodes unicast data of another without rate control.
    pub fn range_between(&self, from: NodeId, to: NodeId) -> f64 {
        self.range_of(self.link_rates.of(from, to).unwrap_or(self.rate))
    }

    /// The traces of measured links.
    pub fn measured(&self) -> Option<&LinkTraces> {
        let Model::Sinr(sinr) = &self.model else { return None };
        sinr.measured.as_ref().map(|measured| &*measured.traces)
    }

    /// Whether a measured link carries frames at a rate at the start of the run; `None` if no links were measured.
    pub fn measured_link_carries(&self, from: NodeId, to: NodeId, rate: RateIndex) -> Option<bool> {
        let Model::Sinr(sinr) = &self.model else { return None };
        let traces = &sinr.measured.as_ref()?.traces;
        let dbm = sinr.noise_floor_dbm + traces.snr_db(from, to, Instant::ZERO);
        Some(dbm >= self.weakest_dbm(rate, sinr))
    }

    /// Distance in metres over which a station senses frames without interference: where the mean signal
    /// falls to the carrier-sense threshold of the SINR model, or to the sensitivity of the receiver.
    pub fn sense_range(&self) -> f64 {
        match &self.model {
            Model::Threshold(threshold) => threshold.sense_range,
            Model::Sinr(sinr) => sinr.distance_to(sinr.cca_dbm.min(sinr.sensitivity_dbm)),
        }
    }

    /// Distance in metres over which a frame at this rate can be decoded without interference. Under the SINR
    /// model the mean signal there equals the sensitivity, or the power at which half of the frames of
    /// typical length have errors.
    fn range_of(&self, rate: RateIndex) -> f64 {
        match &self.model {
            Model::Threshold(threshold) => threshold.range[usize::from(rate.0)],
            Model::Sinr(sinr) => sinr.distance_to(self.weakest_dbm(rate, sinr)),
        }
    }

    /// The weakest mean signal at which half of the frames of typical length are received at this rate,
    /// without interference and fading, dBm.
    pub(crate) fn weakest_dbm(&self, rate: RateIndex, sinr: &Sinr) -> f64 {
        sinr.sensitivity_dbm.max(sinr.noise_floor_dbm + needed_snr_db(self.phy, rate, sinr.error_model))
    }
}

impl Sinr {
    /// Distance in metres at which the mean signal falls to a power, without obstacles and shadowing. Antenna
    /// gains count if all antennas are omnidirectional and alike.
    fn distance_to(&self, dbm: f64) -> f64 {
        let antennas_db = self.antennas.as_ref().and_then(Antennas::uniform_db).map_or(0.0, |db| 2.0 * db);
        self.path_loss.distance(from_db(dbm - self.tx_power_dbm - antennas_db))
    }
}

/// Sensitivity in dBm, to two decimals, of a receiver that detects every frame which it can decode at the
/// slowest of these rates.
pub(crate) fn detects_from(phy: &PhyProfile, rates: [RateIndex; 2], sinr: &Sinr) -> f64 {
    let needed_db = rates.map(|rate| needed_snr_db(phy, rate, sinr.error_model));
    let least_db = needed_db[0].min(needed_db[1]);
    ((sinr.noise_floor_dbm + least_db) * 100.0).round() / 100.0
}

/// Signal-to-noise ratio in dB at which half of the frames of typical length are received at a rate.
fn needed_snr_db(phy: &PhyProfile, rate: RateIndex, model: ErrorModel) -> f64 {
    let rate = phy.rate(rate);
    let (mut low, mut high) = (-30.0, 80.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if rate.success(model, from_db(middle), TYPICAL_BITS) < 0.5 { low = middle } else { high = middle }
    }
    high
}

/// Number of bisections in the search for a signal-to-noise ratio: enough for less than a millionth of a
/// decibel.
const BISECTIONS: u32 = 30;
/// Length in bits of the typical frame that defines the range of a rate under the SINR model.
const TYPICAL_BITS: f64 = 8000.0;

impl MacParams {
    /// The MAC defaults for a radio. `is_rate_given`: the scenario fixes the data rates, so that no rate
    /// control chooses them.
    pub fn beside(radio: &RadioParams, is_rate_given: bool) -> Self {
        radio.budget.mac(radio.phy, is_rate_given)
    }

    /// Whether a CTS resets the contention window.
    // DEVIATION dcf-1: 802.11b under `standard` resets the contention window at the CTS, unless `window_reset =
    // "ack"`. 802.11 (9.2.4) resets it only after a success or at a retry limit. Data that fails after its CTS is
    // therefore retried with the second window.
    pub(crate) fn resets_window_at_cts(&self, phy: &PhyProfile) -> bool {
        let usual = self.flavour == Flavour::Standard && *phy == DOT11B;
        self.window_reset.map_or(usual, |reset| reset == WindowReset::Cts)
    }
}

impl Default for MacParams {
    fn default() -> Self {
        Self {
            flavour: Flavour::Ns2,
            timing: Timing::Standard,
            rts_threshold: Some(0),
            protection: Protection::Off,
            eifs: true,
            llc: false,
            queue: 50,
            queue_kind: QueueKind::Single,
            codel: CodelParams::default(),
            short_retry: Some(7),
            long_retry: Some(4),
            link_delay: Duration::from_micros(25),
            rate_control: RateControlParams::Fixed,
            ampdu: None,
            amsdu: None,
            turns: None,
            cw_min: None,
            cw_max: None,
            window_reset: None,
            edca: None,
        }
    }
}

impl Default for RadioParams {
    fn default() -> Self {
        Self::new(&DOT11B)
    }
}

impl Default for Threshold {
    fn default() -> Self {
        Self { range: vec![250.0; DOT11B.rates.len()], sense_range: 550.0, capture_db: 10.0 }
    }
}

/// ns-2's transmit power, dBm.
pub const NS2_TX_POWER_DBM: f64 = 24.5;

/// Uses ns-2's transmit power. Without interference, it decodes up to 250 m and senses up to 550 m.
impl Default for Sinr {
    fn default() -> Self {
        Self {
            tx_power_dbm: NS2_TX_POWER_DBM,
            path_loss: PathLoss::NS2,
            shadowing_db: 0.0,
            fading: Fading::None,
            heights: Vec::new(),
            antennas: None,
            obstacles: None,
            measured: None,
            noise_floor_dbm: DOT11B.noise_floor_dbm(),
            // Power of the two-ray law at 550 m.
            cca_dbm: -78.071,
            // Power of the two-ray law at 250 m.
            sensitivity_dbm: -64.375,
            detection_db: None,
            error_model: ErrorModel::Nist,
            capture_db: 10.0,
        }
    }
}
