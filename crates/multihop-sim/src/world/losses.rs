//! Why segments of an ADTCP are lost, and what its ends think of it. Nothing here changes what
//! happens: whether links exist is asked of a second set of tracks.

use std::collections::BTreeMap;

use multihop_core::{DropReason, FlowId, Instant, NodeId};
use multihop_radio::mobility::Track;
use multihop_transport::tcp::{Identify, Levels};
use multihop_wire::tcp::NetworkState;

use super::World;
use super::ends::{EndId, Ends};
use crate::packet::{Body, Packet};
use crate::results::{Accuracy, Identification};
use multihop_scenario::{Layout, Scenario};

/// Watches the losses of every ADTCP.
#[derive(Debug)]
pub(super) struct LossMonitor {
    tracks: Vec<Track>,
    /// Metres over which a link exists.
    range: f64,
    /// The packet that a MAC has just given up on, and whether the link to its next hop exists.
    given_up: Option<(u64, bool)>,
    /// By flow; `None`: no ADTCP.
    flows: Vec<Option<Tally>>,
}

/// Why a packet was lost (section 2.1 of the ADTCP paper).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cause {
    /// An interface queue overflowed.
    Congestion,
    /// The channel damaged it, or the MAC gave up on a link that exists.
    ChannelError,
    /// Its route had ceased to hold, though there was another path.
    RouteChange,
    /// There was no path.
    Disconnection,
}

/// One flow's losses.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// At the moment of each loss, by what the receiver's metrics said then: in the order of
    /// [`RULES`].
    by_rule: [Score; RULES.len()],
    /// How often the receiver was in each state when a packet was lost for each cause.
    states: [BTreeMap<&'static str, u64>; Cause::ALL.len()],
    /// When the sender acted on it, by the state it had been told.
    acted: Score,
    /// Losses by cause that the sender has not acted on.
    pending: [u64; Cause::ALL.len()],
    /// Times that it acted: fast retransmits and timeouts.
    actions: u64,
}

/// Losses by cause: all, and those that were taken for congestion.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    lost: [u64; Cause::ALL.len()],
    congestion: [u64; Cause::ALL.len()],
}

impl LossMonitor {
    /// `None` if no flow is an ADTCP.
    pub(super) fn new(scenario: &Scenario, layout: &Layout, ends: &Ends) -> Option<Self> {
        let flow = |n: usize| {
            let id = FlowId(u32::try_from(n).expect("a checked number of flows"));
            let watched = ends.end(EndId::receiver(id)).tcp().is_some_and(|tcp| tcp.config().is_adtcp());
            watched.then(Tally::default)
        };
        let flows: Vec<_> = (0..scenario.flows.len()).map(flow).collect();
        flows.iter().any(Option::is_some).then(|| Self {
            tracks: scenario.tracks(layout),
            range: scenario.decode_range(),
            given_up: None,
            flows,
        })
    }

    /// The warm-up is over.
    pub(super) fn restart(&mut self) {
        for tally in self.flows.iter_mut().flatten() {
            *tally = Tally { actions: tally.actions, ..Tally::default() };
        }
    }

    pub(super) fn result(&self, flow: FlowId) -> Option<Identification> {
        let tally = self.flows[flow.index()].as_ref()?;
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

    /// A MAC gives up on a packet.
    fn give_up(&mut self, now: Instant, packet: &Packet, node: NodeId, next_hop: NodeId) {
        let [a, b] = [node, next_hop].map(|id| self.tracks[id.index()].at(now));
        self.given_up = Some((packet.uid, a.distance(b) <= self.range));
    }
}

impl World<'_> {
    /// A MAC gave up on a packet, and the routing protocol will be told.
    pub(super) fn note_given_up(&mut self, node: NodeId, next_hop: NodeId, packet: &Packet) {
        if let Some(monitor) = &mut self.losses {
            monitor.give_up(self.now, packet, node, next_hop);
        }
    }

    /// It has been told, and dropped the packet or found another way.
    pub(super) fn forget_given_up(&mut self) {
        if let Some(monitor) = &mut self.losses {
            monitor.given_up = None;
        }
    }

    /// A packet goes no further.
    pub(super) fn note_loss(&mut self, packet: &Packet, reason: DropReason) {
        let Some(monitor) = &mut self.losses else { return };
        let Some(id) = packet.flow() else { return };
        let Some(Some(tally)) = monitor.flows.get_mut(id.index()) else { return };
        let flow = &self.scenario.flows[id.index()];
        let is_data = matches!(&packet.body, Body::Tcp(segment) if !segment.payload.is_empty());
        if !is_data || packet.source != flow.from {
            return;
        }
        let on_live_link = monitor.given_up == Some((packet.uid, true));
        let oracle = self.oracle.as_mut().filter(|oracle| oracle.knows(id));
        let connected = oracle.is_none_or(|oracle| oracle.hops(self.now, id).is_some());
        let cause = match reason {
            DropReason::QueueFull => Cause::Congestion,
            DropReason::ChannelError => Cause::ChannelError,
            _ if on_live_link => Cause::ChannelError,
            _ if connected => Cause::RouteChange,
            _ => Cause::Disconnection,
        };
        if let Some(receiver) = self.ends.end(EndId::receiver(id)).tcp() {
            let levels = receiver.levels().copied().unwrap_or_default();
            let state = receiver.network_state().unwrap_or_default();
            tally.lose(cause, &levels, state);
        }
    }

    /// A sender may have acted on losses.
    pub(super) fn note_action(&mut self, flow: FlowId) {
        let Some(monitor) = &mut self.losses else { return };
        let Some(tally) = &mut monitor.flows[flow.index()] else { return };
        if let Some(sender) = self.ends.end(EndId::sender(flow)).tcp() {
            let counters = sender.counters();
            tally.act(counters.fast_retransmits + counters.timeouts, sender.told_state());
        }
    }
}

impl Tally {
    fn lose(&mut self, cause: Cause, levels: &Levels, state: NetworkState) {
        for (score, rule) in self.by_rule.iter_mut().zip(RULES) {
            score.add(cause, rule.state(levels), 1);
        }
        for name in names(state) {
            *self.states[cause as usize].entry(name).or_default() += 1;
        }
        self.pending[cause as usize] += 1;
    }

    fn act(&mut self, actions: u64, told: Option<NetworkState>) {
        if actions == self.actions {
            return;
        }
        self.actions = actions;
        let told = told.unwrap_or_default();
        for (cause, lost) in Cause::ALL.into_iter().zip(std::mem::take(&mut self.pending)) {
            self.acted.add(cause, told, lost);
        }
    }
}

impl Score {
    fn add(&mut self, cause: Cause, state: NetworkState, losses: u64) {
        self.lost[cause as usize] += losses;
        if state.has(NetworkState::CONGESTION) {
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

/// The names of what is set.
fn names(state: NetworkState) -> impl Iterator<Item = &'static str> {
    let bits = [
        (NetworkState::CONGESTION, "congestion"),
        (NetworkState::CHANNEL_ERROR, "channel-error"),
        (NetworkState::ROUTE_CHANGE, "route-change"),
        (NetworkState::DISCONNECTION, "disconnection"),
    ];
    let normal = (state == NetworkState::NORMAL).then_some("normal");
    normal.into_iter().chain(bits.into_iter().filter(move |(bit, _)| state.has(*bit)).map(|(_, name)| name))
}

const RULES: [Identify; 3] = [Identify::Joint, Identify::Idd, Identify::Stt];

#[cfg(test)]
mod tests {
    use multihop_transport::tcp::Level;

    use super::*;
    use crate::extension::Extensions;
    use crate::observe::Observer;
    use crate::results::RunResult;
    use multihop_scenario::Source;

    #[test]
    fn shares_by_hand() {
        let mut tally = Tally::default();
        let late = Levels { idd: Level::High, ..Levels::default() };
        let congested = Levels { stt: Level::Low, ..late };
        tally.lose(Cause::Congestion, &congested, NetworkState::CONGESTION);
        tally.lose(Cause::Congestion, &late, NetworkState::NORMAL);
        tally.lose(Cause::ChannelError, &late, NetworkState::CHANNEL_ERROR);
        tally.lose(Cause::RouteChange, &congested, NetworkState::CONGESTION);
        let accuracy = |losses, wrong, incompatible| Accuracy { losses, wrong, incompatible };
        let [joint, idd, stt] = tally.by_rule.map(Score::accuracy);
        assert_eq!(joint, accuracy(4, Some(0.5), Some(0.25)));
        assert_eq!(idd, accuracy(4, Some(0.5), Some(0.0)));
        assert_eq!(stt, accuracy(4, Some(0.5), Some(0.25)));
        // The sender acts once on all of them, and has been told of congestion.
        tally.act(1, Some(NetworkState::CONGESTION));
        tally.act(1, Some(NetworkState::NORMAL));
        tally.act(2, Some(NetworkState::NORMAL));
        assert_eq!(tally.acted.accuracy(), accuracy(4, Some(0.5), Some(0.0)));
        assert_eq!(Score::default().accuracy(), accuracy(0, None, None));
    }

    fn run(scenario: &Scenario, watched: bool) -> RunResult {
        let layout = scenario.topology.place(scenario.seed).unwrap();
        let mut world = World::new(scenario, &layout, &Extensions::default(), Observer::default());
        assert!(world.losses.is_some());
        world.losses = world.losses.filter(|_| watched);
        world.begin_measuring();
        world.run_until(Instant::ZERO + scenario.duration);
        world.finish(std::time::Duration::ZERO).0
    }

    #[test]
    fn who_watches_changes_nothing() {
        let text = "duration = 40.0\n[radio]\nloss = 0.01\n\
                    [topology]\nkind = \"random\"\nnodes = 12\narea = [400.0, 800.0]\nconnected = false\n\
                    [mobility]\nkind = \"random-waypoint\"\nspeed = [10.0, 30.0]\n\
                    [routing]\nprotocol = \"dsr\"\n[[flow]]\nfrom = 0\nto = 1\ntransport = \"adtcp\"\n";
        let source = Source::Toml { text: text.to_owned(), name: "x.toml".to_owned() };
        let scenario = Scenario::load(&source, &[]).unwrap();
        let mut watched = run(&scenario, true);
        let found = watched.flows[0].identification.take().expect("the flow is an ADTCP");
        assert!(found.losses["channel-error"] > 0 && found.losses["route-change"] > 0, "{found:?}");
        assert_eq!(watched, run(&scenario, false));
    }
}
