//! Rate control: the choice of the rate for each transmission of unicast data.
//!
//! A station has one [`RateControl`] with a small state machine for each neighbour. It chooses the rate of
//! every data frame and receives the outcome of every transmission. Broadcasts and control frames use the
//! basic rate.

mod keys;
mod ladder;
mod lookaround;
mod minstrel;

use core::ops::Range;
use std::collections::BTreeMap;

use multihop_core::settings::Settings;
use multihop_core::{Duration, Instant, NodeId, Rng};

use self::keys::COUNT;
use self::ladder::Ladder;
use self::minstrel::Minstrel;
use crate::airtime::Airtime;
use crate::frame::{Category, Outgoing, PacketHandle};
use crate::mac::Contention;
use crate::params::{Model, RadioParams};
use crate::phy_profile::{PhyProfile, RateIndex};

/// The rule by which stations choose rates.
#[derive(Clone, Debug, PartialEq)]
pub enum RateControlParams {
    /// All data uses the rate of the scenario.
    Fixed,
    /// The next higher rate after successes, the next lower rate after failures: ARF, AARF and CARA.
    Ladder(LadderParams),
    /// Statistics find the rate with the highest throughput: Minstrel; with rates of 802.11n, Minstrel-HT.
    Minstrel(MinstrelParams),
    /// A real kernel has chosen the rates of each frame. Packets without such rates use the rate of the scenario.
    Kernel,
}

impl RateControlParams {
    /// Whether stations choose among rates by the outcomes of their own transmissions.
    pub const fn adapts(&self) -> bool {
        !matches!(self, Self::Fixed | Self::Kernel)
    }
}

/// When a ladder moves up or down.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct LadderParams {
    /// Largest number of successes, which a failed trial doubles.
    #[key(COUNT, when = self.most_successes > self.successes, then = Self::raise_most)]
    pub most_successes: u16,
    /// Number of consecutive successes after which the next higher rate is tried.
    #[key(COUNT, then = Self::raise_most)]
    pub successes: u16,
    /// Number of consecutive failures after which the next lower rate is used.
    #[key(COUNT)]
    pub failures: u16,
    /// Number of transmissions at one rate after which any success leads to a trial of the next higher one; under aarf it grows in
    /// proportion to successes.
    #[key(COUNT)]
    pub timer: u16,
    /// Whether the first failure at a rate that is being tried ends the trial.
    pub trial_fails_at_once: bool,
    /// Number of consecutive failures after which an RTS precedes data of any length.
    #[key(COUNT, when = self.rts_after.is_some())]
    pub rts_after: Option<u16>,
}

/// Parameters of Minstrel's measurements.
#[derive(Clone, Debug, PartialEq, Settings)]
pub struct MinstrelParams {
    /// Time between two evaluations of the statistics, s.
    #[key(0.001..=1000.0)]
    pub interval: Duration,
    /// Weight of the earlier estimate of a probability against the last interval.
    #[key(0.0..=1.0)]
    pub weight: f64,
    /// Share of packets that try another rate; of 802.11n, fifty a second do.
    ///
    /// Minstrel-HT has a rule of its own.
    #[key(0.0..=1.0)]
    pub lookaround: f64,
}

impl LadderParams {
    /// ARF as Kamerman and Monteban describe it (1997). The paper gives no duration for its timer; Lacage et al. count 15 frames.
    pub const ARF: Self = Self {
        successes: 10,
        most_successes: 10,
        failures: 2,
        timer: 15,
        trial_fails_at_once: true,
        rts_after: None,
    };

    /// AARF by Lacage, Manshaei and Turletti (2004): ARF whose threshold doubles with each failed trial, to 50.
    pub const AARF: Self = Self { most_successes: 50, ..Self::ARF };

    /// CARA-1 by Kim, Kim, Choi and Qiao (2006): ARF that sends an RTS after the first failure, and then
    /// tries the same rate again.
    pub const CARA: Self = Self { trial_fails_at_once: false, rts_after: Some(1), ..Self::ARF };
}

impl Default for MinstrelParams {
    fn default() -> Self {
        Self { interval: Duration::from_millis(100), weight: 0.75, lookaround: 0.1 }
    }
}

/// Configuration that the rate controls of all stations of a scenario share.
#[derive(Clone, Debug)]
pub struct Rates {
    params: RateControlParams,
    /// Rates in use, ascending, without duplicate bit rates; under Minstrel-HT grouped by streams. Other rate
    /// indices refer to this list.
    list: Vec<RateIndex>,
    /// Ranges of `list` with the same number of streams, under Minstrel-HT; otherwise empty.
    groups: Vec<Range<usize>>,
    /// Initial rate for a new neighbour: the scenario's rate. Under Minstrel-HT it is the lowest rate,
    /// because Minstrel-HT never samples rates slower than the most reliable one.
    first: usize,
    /// Duration of one packet's transmission without interference, including channel access and ACK.
    times: Vec<Duration>,
    /// Share of each entry of `times` that the bytes of the packet take. An aggregate takes this share for
    /// each packet.
    bodies: Vec<Duration>,
}

/// The rate control of one station.
#[derive(Clone, Debug)]
pub struct RateControl {
    neighbours: Vec<Neighbour>,
    /// Index of the neighbour that was served last.
    recent: usize,
    /// Numbers of transmissions at each rate of the profile.
    sent: Vec<u64>,
    /// Rates of single packets, in the order of their transmissions, under [`RateControlParams::Kernel`].
    given: BTreeMap<PacketHandle, Vec<RateIndex>>,
    rng: Rng,
}

#[derive(Clone, Debug)]
struct Neighbour {
    node: NodeId,
    /// Instant at which a packet for the neighbour was last served.
    used: Instant,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Ladder(Ladder),
    Minstrel(Box<Minstrel>),
}

/// Properties of the next transmission attempt.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Packet of the transmission.
    pub packet: PacketHandle,
    /// Neighbour that receives the transmission.
    pub to: NodeId,
    /// Number of earlier transmissions of the packet.
    pub number: u32,
    /// Largest number of transmissions of the packet; `None` is no limit.
    pub limit: Option<u32>,
}

/// Decision of the rate control about the next transmission.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Choice {
    /// Rate at which the frame is transmitted.
    pub rate: RateIndex,
    /// Whether an RTS must precede the frame, whatever its length.
    pub announces: bool,
    /// Whether the packet samples a rate. Such a packet is not aggregated, so that little is lost if the rate fails.
    pub is_trial: bool,
}

impl Rates {
    /// The rates of a scenario; `None` if the rate is fixed.
    pub(crate) fn new(
        params: &RateControlParams,
        radio: &RadioParams,
        airtime: &Airtime,
        contention: &Contention,
    ) -> Option<Self> {
        if *params == RateControlParams::Fixed {
            return None;
        }
        let has_range = |rate: &RateIndex| match &radio.model {
            Model::Threshold(threshold) => threshold.range[usize::from(rate.0)] > 0.0,
            Model::Sinr(_) => true,
        };
        let usable = radio.usable_rates().filter(has_range).collect();
        let (list, groups) = match params {
            RateControlParams::Minstrel(_) => in_groups(usable, radio.phy),
            _ => (ascending(usable, radio.phy), Vec::new()),
        };
        let bit_rate = |rate: &RateIndex| radio.phy.rate(*rate).bit_rate;
        let given = list.iter().position(|rate| bit_rate(rate) == radio.bit_rate());
        let first = if groups.is_empty() { given.expect("the rate of a scenario has a range") } else { 0 };
        let packet = Outgoing {
            packet: PacketHandle::NONE,
            to: NodeId(0),
            bytes: TYPICAL_BYTES,
            urgent: false,
            category: Category::BestEffort,
            queued: Instant::ZERO,
        };
        let access = contention.difs + contention.slot * u64::from(contention.cw_min / 2) + contention.sifs;
        let bytes = airtime.data_bytes(&packet);
        let body = |&rate: &RateIndex| match groups.is_empty() {
            true => airtime.frame(rate, bytes) - airtime.frame(rate, 0),
            // Times are not rounded to symbols: a symbol of a wide channel has so many bits that a packet
            // takes equally many symbols at several rates, and the faster of these rates would never be
            // sampled.
            false => radio.phy.rate(rate).bit_rate.time_for(bytes),
        };
        let bodies: Vec<_> = list.iter().map(body).collect();
        let time = |(&rate, &body)| access + airtime.frame(rate, 0) + body + airtime.ack(rate);
        let times = list.iter().zip(&bodies).map(time).collect();
        Some(Self { params: params.clone(), list, groups, first, times, bodies })
    }

    /// Whether stations may use RTS for data below the RTS threshold.
    pub(crate) fn may_announce(&self) -> bool {
        matches!(&self.params, RateControlParams::Ladder(ladder) if ladder.rts_after.is_some())
    }

    /// Airtime of one packet at a rate, s, in frames with an average of `packets` packets.
    fn seconds(&self, rate: usize, packets: f64) -> f64 {
        let (time, body) = (self.times[rate].as_secs_f64(), self.bodies[rate].as_secs_f64());
        (time - body) / packets + body
    }

    fn top(&self) -> usize {
        self.list.len() - 1
    }

    fn new_state(&self, now: Instant) -> State {
        match &self.params {
            RateControlParams::Fixed | RateControlParams::Kernel => {
                unreachable!("a station that chooses no rates has no statistics")
            }
            RateControlParams::Ladder(params) => State::Ladder(Ladder::new(params, self.first)),
            RateControlParams::Minstrel(_) => State::Minstrel(Box::new(Minstrel::new(now, self))),
        }
    }
}

impl RateControl {
    /// Creates the rate control of a station without statistics of any neighbour.
    pub(crate) fn new(rates: &Rates, rng: Rng) -> Self {
        let last = rates.list.iter().map(|rate| usize::from(rate.0)).max().expect("a profile has rates");
        Self { neighbours: Vec::new(), recent: 0, sent: vec![0; last + 1], given: BTreeMap::new(), rng }
    }

    /// Chooses the rate of a transmission.
    pub(crate) fn choose(&mut self, now: Instant, attempt: &Attempt, rates: &Rates) -> Choice {
        if matches!(rates.params, RateControlParams::Kernel) {
            let given = self.given.get(&attempt.packet).map_or(&[][..], Vec::as_slice);
            let number = usize::try_from(attempt.number).unwrap_or(usize::MAX);
            let rate = given.get(number).or(given.last()).copied().unwrap_or(rates.list[rates.first]);
            return Choice { rate, announces: false, is_trial: false };
        }
        let neighbour = self.find(now, attempt.to, rates);
        let (index, announces, is_trial) = match (&mut self.neighbours[neighbour].state, &rates.params) {
            (State::Ladder(ladder), RateControlParams::Ladder(params)) => {
                let (index, announces) = ladder.choose(params);
                (index, announces, false)
            }
            (State::Minstrel(minstrel), RateControlParams::Minstrel(params)) => {
                let index = minstrel.choose(now, attempt, params, rates, &mut self.rng);
                (index, false, minstrel.is_trial())
            }
            _ => unreachable!("all neighbours have the state of the one rule"),
        };
        Choice { rate: rates.list[index], announces, is_trial }
    }

    /// Rate of packets to a neighbour that sample no other rate. The call does not change the statistics.
    pub(crate) fn usual(&self, to: NodeId, rates: &Rates) -> RateIndex {
        let known = self.neighbours.iter().find(|neighbour| neighbour.node == to);
        let index = match known.map(|neighbour| &neighbour.state) {
            None => rates.first,
            Some(State::Ladder(ladder)) => ladder.rate(),
            Some(State::Minstrel(minstrel)) => minstrel.fastest(),
        };
        rates.list[index]
    }

    /// Records the outcome of a transmission at the chosen rate.
    pub(crate) fn report(
        &mut self,
        now: Instant,
        to: NodeId,
        rate: RateIndex,
        delivered: bool,
        rates: &Rates,
    ) {
        if matches!(rates.params, RateControlParams::Kernel) {
            return;
        }
        let neighbour = self.find(now, to, rates);
        match (&mut self.neighbours[neighbour].state, &rates.params) {
            (State::Ladder(ladder), RateControlParams::Ladder(params)) => {
                ladder.report(delivered, params, rates.top());
            }
            (State::Minstrel(minstrel), RateControlParams::Minstrel(_)) => {
                let index = rates.list.iter().position(|&known| known == rate);
                minstrel.report(index.expect("a rate that was chosen"), delivered);
            }
            _ => unreachable!("all neighbours have the state of the one rule"),
        }
    }

    /// Sets the rates of a packet, in the order of its transmissions. The last one holds for further transmissions. Without
    /// rates, earlier ones of the packet are removed.
    pub(crate) fn give(&mut self, packet: PacketHandle, rates: Vec<RateIndex>) {
        if rates.is_empty() {
            self.given.remove(&packet);
        } else {
            self.given.insert(packet, rates);
        }
    }

    /// A frame to a neighbour had several MPDUs, or could have had.
    pub(crate) fn note_length(&mut self, to: NodeId, mpdus: u32) {
        let known = self.neighbours.iter_mut().find(|neighbour| neighbour.node == to);
        if let Some(State::Minstrel(minstrel)) = known.map(|neighbour| &mut neighbour.state) {
            minstrel.note_length(mpdus);
        }
    }

    /// Counts one transmission at `rate`.
    pub(crate) fn count(&mut self, rate: RateIndex) {
        self.sent[usize::from(rate.0)] += 1;
    }

    /// Number of transmissions at each rate of the profile since the last reset of the counters.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (RateIndex, u64)> {
        (0..).map(RateIndex).zip(self.sent.iter().copied())
    }

    /// Sets the number of transmissions at every rate to zero.
    pub(crate) fn clear_counts(&mut self) {
        self.sent.fill(0);
    }

    /// Index of a neighbour's statistics. A new neighbour may replace the least recently served one.
    fn find(&mut self, now: Instant, node: NodeId, rates: &Rates) -> usize {
        if self.neighbours.get(self.recent).is_none_or(|neighbour| neighbour.node != node) {
            self.recent = match self.neighbours.iter().position(|neighbour| neighbour.node == node) {
                Some(known) => known,
                None => self.add(Neighbour { node, used: now, state: rates.new_state(now) }),
            };
        }
        self.neighbours[self.recent].used = now;
        self.recent
    }

    fn add(&mut self, neighbour: Neighbour) -> usize {
        if self.neighbours.len() < MAX_NEIGHBOURS {
            self.neighbours.push(neighbour);
            return self.neighbours.len() - 1;
        }
        let by_use = self.neighbours.iter().enumerate().min_by_key(|(_, known)| known.used);
        let (oldest, _) = by_use.expect("there are neighbours");
        self.neighbours[oldest] = neighbour;
        oldest
    }
}

/// Rates in ascending order of speed, with one of several equal rates.
fn ascending(mut list: Vec<RateIndex>, phy: &PhyProfile) -> Vec<RateIndex> {
    let bit_rate = |rate: &RateIndex| phy.rate(*rate).bit_rate;
    list.sort_by_key(bit_rate);
    list.dedup_by_key(|rate| bit_rate(rate));
    list
}

/// Modulation and coding schemes of 802.11n or 802.11ac, and the range of each number of streams in the list.
/// Profiles without such schemes return the rates in ascending order.
fn in_groups(list: Vec<RateIndex>, phy: &PhyProfile) -> (Vec<RateIndex>, Vec<Range<usize>>) {
    let streams = |rate: &RateIndex| phy.rate(*rate).label.streams();
    let schemes: Vec<_> = list.iter().copied().filter(|rate| streams(rate).is_some()).collect();
    if schemes.is_empty() {
        return (ascending(list, phy), Vec::new());
    }
    let mut end = 0;
    let chunks = schemes.chunk_by(|one, next| streams(one) == streams(next));
    let range = |chunk: &[RateIndex]| {
        let begin = end;
        end += chunk.len();
        begin..end
    };
    let groups = chunks.map(range).collect();
    (schemes, groups)
}

/// Neighbours that a station remembers.
const MAX_NEIGHBOURS: usize = 64;

/// The length of the packet whose throughput Minstrel compares, bytes.
const TYPICAL_BYTES: u32 = 1200;

#[cfg(test)]
mod tests;
