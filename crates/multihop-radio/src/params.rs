//! The radio and MAC parameters of a scenario. The defaults are ns-2's.

use std::collections::BTreeMap;
use std::sync::Arc;

use multihop_core::{BitRate, Duration, Instant, NodeId};

use crate::budget::Budget;
use crate::decibels::from_db;
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
#[derive(Clone, Debug, PartialEq)]
pub struct RadioParams {
    /// The physical layer.
    pub phy: &'static PhyProfile,
    /// Where the defaults come from.
    pub budget: Budget,
    /// Most spatial streams of data.
    pub streams: u8,
    /// Whether the scenario names `rate`, so that by default no rate control chooses another.
    pub is_rate_given: bool,
    /// The rate of unicast data, where `link_rates` has no other.
    pub rate: RateIndex,
    /// Rates of unicast data that differ by sender and receiver.
    pub link_rates: LinkRates,
    /// The rate of RTS and broadcasts, and of answers where the profile has no other.
    pub basic_rate: RateIndex,
    /// The preamble of every frame whose rate has none of its own.
    pub preamble: &'static Preamble,
    /// How reception is decided.
    pub model: Model,
    /// Probability that a data packet is lost on one hop after the MAC has delivered it.
    pub loss: f64,
    /// Probability that a frame is received in error (the MAC retries).
    pub frame_loss: f64,
    /// Bursts of frame errors on each link.
    pub burst: Option<Burst>,
}

/// Rates of unicast data that differ from the scenario's: of all data of a station, or of its data to one receiver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkRates {
    /// By sender and receiver; `None` stands for all receivers.
    list: BTreeMap<(NodeId, Option<NodeId>), RateIndex>,
}

impl LinkRates {
    /// Sets the rate from a station to one receiver, or to all without a rate of their own; returns the previous one.
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

    /// The rates of one station.
    pub(crate) fn of_sender(&self, from: NodeId) -> Vec<(Option<NodeId>, RateIndex)> {
        self.list
            .range((from, None)..)
            .take_while(|((id, _), _)| *id == from)
            .map(|((_, to), rate)| (*to, *rate))
            .collect()
    }
}

/// How reception is decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// Fixed ranges and pairwise capture, as in ns-2.
    Threshold(Threshold),
    /// Signal to interference and noise over the frame.
    Sinr(Sinr),
}

/// ns-2's reception model.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Metres up to which a frame can be decoded, for each rate of the profile.
    pub range: Vec<f64>,
    /// Metres at which a frame is sensed.
    pub sense_range: f64,
    /// How much stronger the first frame must be to survive a second, in dB.
    pub capture_db: f64,
}

/// The SINR model.
#[derive(Clone, Debug, PartialEq)]
pub struct Sinr {
    /// Transmit power, dBm.
    pub tx_power_dbm: f64,
    /// Attenuation over distance.
    pub path_loss: PathLoss,
    /// Standard deviation of log-normal shadowing, dB; one draw for each pair of nodes.
    pub shadowing_db: f64,
    /// Fading.
    pub fading: Fading,
    /// The height of each node's antenna, metres; empty: the height in `path_loss`.
    pub heights: Vec<f64>,
    /// Antennas that favour directions.
    pub antennas: Option<Antennas>,
    /// What stands between the nodes.
    pub obstacles: Option<Arc<Obstacles>>,
    /// Links that were measured.
    pub measured: Option<Box<Measured>>,
    /// Thermal noise and noise figure together, over the width of a channel, dBm.
    pub noise_floor_dbm: f64,
    /// Total received power at which the medium is busy, dBm.
    pub cca_dbm: f64,
    /// Weakest frame that a receiver locks to, dBm.
    pub sensitivity_dbm: f64,
    /// Smallest ratio of signal to noise and interference at its first bit at which it does, in dB; `None`: any.
    pub detection_db: Option<f64>,
    /// How the errors of OFDM are computed.
    pub error_model: ErrorModel,
    /// How much stronger a second frame must be to take over a receiver in the preamble of the
    /// first, in dB.
    pub capture_db: f64,
}

/// Measured links in place of path loss, antennas, obstacles, shadowing and fading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The file with the traces, relative to the scenario's folder.
    pub file: String,
    /// Values between two samples.
    pub interpolation: Interpolation,
    /// Traces in the file.
    pub traces: Arc<LinkTraces>,
}

/// Gilbert-Elliott: each direction of a link is good or bad, and each frame may change its state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Frame error rate in the good state.
    pub good: f64,
    /// Frame error rate in the bad state.
    pub bad: f64,
    /// Probability per frame of changing to the bad state.
    pub p: f64,
    /// Probability per frame of changing to the good state.
    pub r: f64,
}

/// The MAC.
#[derive(Clone, Debug, PartialEq)]
pub struct MacParams {
    /// Whose rules apply.
    pub flavour: Flavour,
    /// Whose frame sizes apply.
    pub timing: Timing,
    /// Frames of at least this many bytes (as the flavour counts them) use RTS; `None`: no frame does.
    pub rts_threshold: Option<u32>,
    /// What precedes unicast data at a rate of OFDM that no RTS announces.
    pub protection: Protection,
    /// Whether a station waits longer after a reception error (EIFS).
    pub eifs: bool,
    /// Whether every data frame has 8 bytes of LLC/SNAP.
    pub llc: bool,
    /// Length of the interface queue, packets.
    pub queue: usize,
    /// How the interface queue prefers routing messages.
    pub queue_kind: QueueKind,
    /// Which packets leave the interface queue, and how.
    pub codel: CodelParams,
    /// Limit of transmissions of an RTS, or of a data frame without RTS; `None`: no limit.
    pub short_retry: Option<u32>,
    /// Limit of transmissions of a data frame after RTS; `None`: no limit.
    pub long_retry: Option<u32>,
    /// Time that a packet takes between IP and MAC, in each direction.
    pub link_delay: Duration,
    /// How the rate of unicast data is chosen.
    pub rate_control: RateControlParams,
    /// Most MPDUs of a frame (A-MPDU), at most 64; `None`: one.
    pub ampdu: Option<u32>,
    /// Most bytes of several packets in one MPDU (A-MSDU); `None`: one packet.
    pub amsdu: Option<u32>,
    /// Smallest contention window, slots; `None`: that of the profile.
    pub cw_min: Option<u32>,
    /// Largest contention window, slots; `None`: that of the profile.
    pub cw_max: Option<u32>,
    /// Which answer resets the contention window; `None`: as flavour and profile have it.
    pub window_reset: Option<WindowReset>,
    /// Four access categories; `None`: DCF.
    // DEVIATION edca-2: frames keep the format of DCF.
    pub edca: Option<EdcaParams>,
}

/// How stations of 802.11b, which do not hear OFDM, learn of data at a rate of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protection {
    /// Not at all.
    Off,
    /// By a CTS to the station itself, at the basic rate.
    CtsToSelf,
}

/// Which answer resets the contention window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WindowReset {
    /// A CTS, and an ACK.
    Cts,
    /// An ACK: IEEE 802.11, and ns-2.
    Ack,
}

/// What differs from the standard's parameters of EDCA.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdcaParams {
    /// In the order of [`crate::frame::Category::ALL`].
    pub categories: [CategoryParams; 4],
}

/// One access category; `None`: as the standard has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CategoryParams {
    /// Slots of its interframe space after SIFS.
    pub aifsn: Option<u32>,
    /// Smallest contention window, slots.
    pub cw_min: Option<u32>,
    /// Largest contention window, slots.
    pub cw_max: Option<u32>,
    /// Limit of a transmission opportunity; zero: one packet.
    pub txop: Option<Duration>,
}

/// A discipline of the interface queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Discipline {
    /// In the order of arrival; what finds the queue full is dropped.
    DropTail,
    /// Packets that have waited too long are marked or dropped (RFC 8289).
    Codel,
    /// The same for each flow, and flows take turns (RFC 8290).
    FqCodel,
}

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CodelParams {
    /// The discipline.
    pub discipline: Discipline,
    /// How long packets may wait.
    pub target: Duration,
    /// For how long they may wait longer than that.
    pub interval: Duration,
    /// From when on packets of scalable congestion controls are marked.
    pub mark_above: Duration,
}

impl Default for CodelParams {
    /// RFC 8289 §4.2 to §4.4; the threshold as in RFC 9332 §A.1, for links of today.
    fn default() -> Self {
        Self {
            discipline: Discipline::DropTail,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mark_above: Duration::from_millis(1),
        }
    }
}

/// How the interface queue prefers routing messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QueueKind {
    /// One queue; routing messages go to its head, the newest first (ns-2's PriQueue).
    Single,
    /// Routing messages have their own queue, served first and in order (CMUPriQueue, which DSR uses).
    ByPriority,
}

/// Which rules the MAC follows where ns-2 deviates from the standard.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flavour {
    /// ns-2's Mac802_11.
    Ns2,
    /// IEEE 802.11.
    Standard,
}

/// Which frame sizes and rates apply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Timing {
    /// Frames of IEEE 802.11: RTS 20, CTS and ACK 14, data header 28 bytes, behind preamble and PLCP header.
    Standard,
    /// The accounting of the papers of 1999 to 2001: RTS 40, CTS and ACK 39, data header 47 bytes,
    /// all at the data rate, nothing for the PLCP.
    Ns2Of1999,
}

impl RadioParams {
    /// A PHY profile with ns-2's radio.
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

    /// A PHY profile with the radio of a budget.
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

    /// The rates with at most as many spatial streams as stations use, in the order of the profile.
    pub fn usable_rates(&self) -> impl Iterator<Item = RateIndex> + use<> {
        let (phy, most) = (self.phy, self.streams);
        phy.rate_indices().filter(move |&rate| phy.rate(rate).label.streams().is_none_or(|n| n <= most))
    }

    /// The bit rate of unicast data.
    pub fn bit_rate(&self) -> BitRate {
        self.phy.rate(self.rate).bit_rate
    }

    /// Metres over which unicast data can be decoded at the scenario's rate.
    pub fn decode_range(&self) -> f64 {
        self.range_of(self.rate)
    }

    /// The longest range of all rates, which rate control may use.
    pub fn longest_range(&self) -> f64 {
        self.usable_rates().map(|rate| self.range_of(rate)).fold(0.0, f64::max)
    }

    /// Metres over which a station decodes unicast data of another, if no rate control chooses its rate.
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

    /// Metres over which a station senses the frames of another without interference: the distance at which the mean signal
    /// falls to the threshold of the carrier sense under the SINR model, or to the sensitivity of the receiver.
    pub fn sense_range(&self) -> f64 {
        match &self.model {
            Model::Threshold(threshold) => threshold.sense_range,
            Model::Sinr(sinr) => sinr.distance_to(sinr.cca_dbm.min(sinr.sensitivity_dbm)),
        }
    }

    /// Metres over which a frame of this rate can be decoded without interference. Under the SINR model it is the distance
    /// at which the mean signal falls to the sensitivity, or to the noise at which half of the frames of a typical length
    /// have errors.
    fn range_of(&self, rate: RateIndex) -> f64 {
        match &self.model {
            Model::Threshold(threshold) => threshold.range[usize::from(rate.0)],
            Model::Sinr(sinr) => sinr.distance_to(self.weakest_dbm(rate, sinr)),
        }
    }

    /// The weakest mean signal of which half of the frames of a typical length are received at this rate, without
    /// interference and fading, dBm.
    pub(crate) fn weakest_dbm(&self, rate: RateIndex, sinr: &Sinr) -> f64 {
        sinr.sensitivity_dbm.max(sinr.noise_floor_dbm + needed_snr_db(self.phy, rate, sinr.error_model))
    }
}

impl Sinr {
    /// Metres over which the mean signal falls to a power, without obstacles and shadowing. Antennas count if all are alike
    /// in all directions.
    fn distance_to(&self, dbm: f64) -> f64 {
        let antennas_db = self.antennas.as_ref().and_then(Antennas::uniform_db).map_or(0.0, |db| 2.0 * db);
        self.path_loss.distance(from_db(dbm - self.tx_power_dbm - antennas_db))
    }
}

/// The sensitivity of a receiver that detects every frame which it can decode at the slowest of these rates, dBm to two
/// decimals.
pub(crate) fn detects_from(phy: &PhyProfile, rates: [RateIndex; 2], sinr: &Sinr) -> f64 {
    let needed_db = rates.map(|rate| needed_snr_db(phy, rate, sinr.error_model));
    let least_db = needed_db[0].min(needed_db[1]);
    ((sinr.noise_floor_dbm + least_db) * 100.0).round() / 100.0
}

/// The ratio of signal to noise at which half of the frames of a typical length are received at a rate, dB.
fn needed_snr_db(phy: &PhyProfile, rate: RateIndex, model: ErrorModel) -> f64 {
    let rate = phy.rate(rate);
    let (mut low, mut high) = (-30.0, 80.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if rate.success(model, from_db(middle), TYPICAL_BITS) < 0.5 { low = middle } else { high = middle }
    }
    high
}

/// Steps of the search for a ratio of signal to noise: enough for less than a millionth of a decibel.
const BISECTIONS: u32 = 30;
/// Bits of the frame that decides the range of a rate under the SINR model.
const TYPICAL_BITS: f64 = 8000.0;

impl MacParams {
    /// The defaults beside a radio. `is_rate_given`: the scenario fixes the rates of data, so that no rate control chooses
    /// them.
    pub fn beside(radio: &RadioParams, is_rate_given: bool) -> Self {
        radio.budget.mac(radio.phy, is_rate_given)
    }

    /// Whether a CTS resets the contention window.
    // DEVIATION dcf-1: in the standard flavour with 802.11b; IEEE 802.11 waits for the end of the exchange.
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

/// ns-2's transmit power. Without interference, it decodes up to 250 m and senses up to 550 m.
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
            // Two-ray at 550 m.
            cca_dbm: -78.071,
            // Two-ray at 250 m.
            sensitivity_dbm: -64.375,
            detection_db: None,
            error_model: ErrorModel::Nist,
            capture_db: 10.0,
        }
    }
}
