//! The true causes of losses, and their identification by the ends of a flow, for transports such as ADTCP.
//! This monitor changes no result, because it detects links with its own copy of the tracks.

use std::collections::BTreeMap;

use multihop_core::{DropReason, FlowId, Instant, NodeId};
use multihop_radio::mobility::Track;
use multihop_transport::connection::Connection;
use multihop_transport::observe::Value;
use multihop_wire::tcp::NetworkState;

use super::action::Loss;
use super::ids::EndId;
use crate::results::{Accuracy, Identification};
use multihop_scenario::{Layout, Scenario};

/// Monitors the losses of all flows whose transport identifies them.
#[derive(Debug)]
pub(super) struct LossMonitor {
    tracks: Vec<Track>,
    /// Losses of each flow; `None` if its transport does not identify losses.
    range: f64,
    /// Losses of each flow; `None` if its transport does not identify losses.
    flows: Vec<Option<(Rows, Tally)>>,
}

/// Cause of a packet's loss (section 2.1 of the ADTCP paper).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cause {
    /// An interface queue overflowed.
    Congestion,
    /// The channel damaged the segment, or the MAC dropped it although the link exists.
    ChannelError,
    /// A route had failed, but another path existed.
    RouteChange,
    /// No path existed between the ends of the flow.
    Disconnection,
}

/// Losses of one flow, by cause and by the receiver's rule.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// Losses as judged by each rule of the receiver at the time of the loss, in the order of [`RULES`].
    by_rule: [Score; RULES.len()],
    /// Number of losses at which the receiver was in each state, by cause.
    states: [BTreeMap<&'static str, u64>; Cause::ALL.len()],
    /// Losses judged by the state that the sender had received when it reacted.
    acted: Score,
    /// Losses, by cause, to which the sender has not reacted yet.
    pending: [u64; Cause::ALL.len()],
    /// Number of reactions of the sender: fast retransmits and timeouts.
    actions: u64,
}

/// Losses by cause: all losses, and losses judged as congestion.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    lost: [u64; Cause::ALL.len()],
    congestion: [u64; Cause::ALL.len()],
}

impl LossMonitor {
    /// Creates the monitor; `None` if no transport identifies losses.
    pub(super) fn new(scenario: &Scenario, layout: &Layout, ends: &[Box<dyn Connection>]) -> Option<Self> {
        let flow = |n: usize| {
            let id = FlowId(u32::try_from(n).expect("a checked number of flows"));
            Rows::of(&*ends[EndId::receiver(id).index()]).map(|rows| (rows, Tally::default()))
        };
        let flows: Vec<_> = (0..scenario.flows.len()).map(flow).collect();
        flows.iter().any(Option::is_some).then(|| Self {
            tracks: scenario.tracks(layout),
            range: scenario.decode_range(),
            flows,
        })
    }

    /// Restarts the counts at the end of the warm-up.
    pub(super) fn restart(&mut self) {
        for (_, tally) in self.flows.iter_mut().flatten() {
            *tally = Tally { actions: tally.actions, ..Tally::default() };
        }
    }

    pub(super) fn result(&self, flow: FlowId) -> Option<Identification> {
        let (_, tally) = self.flows[flow.index()].as_ref()?;
        let [joint, idd, stt] = tally.by_rule.map(Score::accuracy);
        let named = |by_cause: [u64; Cause::ALL.len()]| {
            Cause::ALL.iter().zip(by_cause).map(|(cause, n)| (cause.name().to_owned(), n)).collect()
        };
        let states = Cause::ALL.iter().zip(&tally.states).map(|(cause, states)| {
            (cause.name().to_owned(), states.iter().map(|(&name, &n)| (name.to_owned(), n)).collect())
        });
        Some(Identification {
            losses: named(tally.by_rule[0].lost),
            states: states.collect(),
            joint,
            idd,
            stt,
            acted: tally.acted.accuracy(),
        })
    }

    /// Records the loss of a flow's packet. `connected`: whether a path existed.
    pub(super) fn note_loss(
        &mut self,
        now: Instant,
        loss: &Loss,
        connected: bool,
        receiver: &dyn Connection,
    ) {
        let Self { tracks, range, flows } = self;
        let Some(Some((rows, tally))) = flows.get_mut(loss.flow.index()) else { return };
        let mut exists = |link: [NodeId; 2]| {
            let [a, b] = link.map(|id| tracks[id.index()].at(now));
            a.distance(b) <= *range
        };
        let cause = match loss.reason {
            DropReason::QueueFull => Cause::Congestion,
            DropReason::ChannelError => Cause::ChannelError,
            _ if loss.failed_link.is_some_and(&mut exists) => Cause::ChannelError,
            _ if connected => Cause::RouteChange,
            _ => Cause::Disconnection,
        };
        let congested = rows.congested.map(|index| rows.read(receiver, index) == Some(1.0));
        tally.lose(cause, congested, network_state(rows.read(receiver, rows.network)));
    }

    /// Records possible reactions of a sender to losses.
    pub(super) fn note_action(&mut self, flow: FlowId, sender: &dyn Connection) {
        if let Some((rows, tally)) = &mut self.flows[flow.index()] {
            tally.act(rows.actions(sender), || network_state(rows.read(sender, rows.reported)));
        }
    }
}

impl Tally {
    fn lose(&mut self, cause: Cause, congested: [bool; RULES.len()], state: NetworkState) {
        for (score, congested) in self.by_rule.iter_mut().zip(congested) {
            score.add(cause, congested, 1);
        }
        for name in state.names() {
            *self.states[cause as usize].entry(name).or_default() += 1;
        }
        self.pending[cause as usize] += 1;
    }

    fn act(&mut self, actions: u64, reported: impl FnOnce() -> NetworkState) {
        if actions == self.actions {
            return;
        }
        self.actions = actions;
        let congested = reported().has(NetworkState::CONGESTION);
        for (cause, lost) in Cause::ALL.into_iter().zip(std::mem::take(&mut self.pending)) {
            self.acted.add(cause, congested, lost);
        }
    }
}

impl Score {
    fn add(&mut self, cause: Cause, congested: bool, losses: u64) {
        self.lost[cause as usize] += losses;
        if congested {
            self.congestion[cause as usize] += losses;
        }
    }

    fn accuracy(self) -> Accuracy {
        let lost: u64 = self.lost.iter().sum();
        let called: u64 = self.congestion.iter().sum();
        let hits = self.congestion[Cause::Congestion as usize];
        let missed = self.lost[Cause::Congestion as usize] - hits;
        let share = |n: u64| (lost > 0).then(|| n as f64 / lost as f64);
        Accuracy { losses: lost, wrong: share(missed + called - hits), incompatible: share(missed) }
    }
}

impl Cause {
    const ALL: [Self; 4] = [Self::Congestion, Self::ChannelError, Self::RouteChange, Self::Disconnection];

    const fn name(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::ChannelError => "channel-error",
            Self::RouteChange => "route-change",
            Self::Disconnection => "disconnection",
        }
    }
}

/// Names of the quantities by which a receiver declares the verdict of each of its rules: whether the rule
/// indicates congestion.
const RULES: [&str; 3] = ["congested_joint", "congested_idd", "congested_stt"];

/// Indices of an end's declared quantities that the monitor reads.
#[derive(Clone, Copy, Debug)]
struct Rows {
    /// The state of the network that the receiver infers.
    network: usize,
    congested: [usize; RULES.len()],
    /// State in the latest report that the sender received.
    reported: usize,
    fast_retransmits: usize,
}

impl Rows {
    /// Rows of the quantities by which an end reports identified losses; `None` if its transport does not identify
    /// losses.
    fn of(end: &dyn Connection) -> Option<Self> {
        let names: Vec<_> = (0..).map_while(|index| end.quantity(index)).map(|row| row.name).collect();
        let index = |name: &str| names.iter().position(|known| *known == name);
        let [joint, idd, stt] = RULES.map(index);
        Some(Self {
            network: index("network")?,
            congested: [joint?, idd?, stt?],
            reported: index("reported")?,
            fast_retransmits: index("fast_retransmits")?,
        })
    }

    fn read(&self, end: &dyn Connection, index: usize) -> Option<f64> {
        end.value(index)?.number()
    }

    /// Number of a sender's reactions to losses: fast retransmits and timeouts.
    fn actions(&self, sender: &dyn Connection) -> u64 {
        let fast = match sender.value(self.fast_retransmits) {
            Some(Value::Count(count)) => count,
            _ => 0,
        };
        fast + sender.counters().timeouts
    }
}

/// Network state from its bits; normal if unknown.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bits, which were written as a number"
)]
fn network_state(bits: Option<f64>) -> NetworkState {
    bits.map_or_else(NetworkState::default, |bits| NetworkState::from_bits(bits as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_agree_with_hand_computed_ones() {
        let mut tally = Tally::default();
        let (late, congested) = ([false, true, false], [true; 3]);
        tally.lose(Cause::Congestion, congested, NetworkState::CONGESTION);
        tally.lose(Cause::Congestion, late, NetworkState::NORMAL);
        tally.lose(Cause::ChannelError, late, NetworkState::CHANNEL_ERROR);
        tally.lose(Cause::RouteChange, congested, NetworkState::CONGESTION);
        let accuracy = |losses, wrong, incompatible| Accuracy { losses, wrong, incompatible };
        let [joint, idd, stt] = tally.by_rule.map(Score::accuracy);
        assert_eq!(joint, accuracy(4, Some(0.5), Some(0.25)));
        assert_eq!(idd, accuracy(4, Some(0.5), Some(0.0)));
        assert_eq!(stt, accuracy(4, Some(0.5), Some(0.25)));
        // The sender reacts once to all losses, after a report of congestion.
        tally.act(1, || NetworkState::CONGESTION);
        tally.act(1, || NetworkState::NORMAL);
        tally.act(2, || NetworkState::NORMAL);
        assert_eq!(tally.acted.accuracy(), accuracy(4, Some(0.5), Some(0.0)));
        assert_eq!(Score::default().accuracy(), accuracy(0, None, None));
    }
}
