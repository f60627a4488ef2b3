//! Sleeping radios, the time that each radio spends in each state, and batteries.

use std::collections::VecDeque;

use multihop_core::{Duration, Instant, NodeId};
use multihop_radio::energy::{Energy, Times};

use super::World;
use super::agenda::Owner;
use super::air::Air;
use crate::engine::Rank;
use multihop_scenario::{Scenario, Sleep};

/// Energy spent by all radios, and the sleeping radios. Empty if no radio sleeps and no battery is limited.
pub(super) struct Power {
    nodes: Vec<Radio>,
    /// Instants at which radios fall asleep and wake, in order of time.
    switches: VecDeque<Switch>,
    has_batteries: bool,
}

/// Sleep and spent energy of one radio.
#[derive(Clone, Default)]
struct Radio {
    /// Number of sleep intervals that the radio is in now.
    sleeps: u32,
    asleep_since: Instant,
    /// Time asleep since the measurement began, without the current sleep.
    slept: Duration,
    /// Energy consumed before the measurement began, J.
    spent_before: f64,
    /// Instant at which the battery of the radio's node became empty, and the radio's time in each state
    /// until then.
    empty: Option<(Instant, Times)>,
}

#[derive(Clone, Copy)]
struct Switch {
    at: Instant,
    node: NodeId,
    falls_asleep: bool,
}

impl Power {
    pub(super) fn new(scenario: &Scenario, nodes: usize) -> Self {
        let batteries =
            |energy: &Energy| (0..).map(NodeId).take(nodes).any(|n| energy.battery.of(n).is_some());
        let has_batteries = scenario.energy.as_ref().is_some_and(batteries);
        let mut switches: Vec<_> = scenario.sleeps.iter().flat_map(Switch::of).collect();
        switches.sort_by_key(|switch| (switch.at, switch.node));
        let nodes = if has_batteries || !switches.is_empty() { nodes } else { 0 };
        Self { nodes: vec![Radio::default(); nodes], switches: switches.into(), has_batteries }
    }

    pub(super) fn has_batteries(&self) -> bool {
        self.has_batteries
    }

    /// Instant at which the battery of a node became empty.
    pub(super) fn empty_at(&self, node: NodeId) -> Option<Instant> {
        self.nodes.get(node.index())?.empty.map(|(at, _)| at)
    }
}

impl Radio {
    /// Time asleep since the measurement began, including the current sleep.
    fn slept_until(&self, now: Instant) -> Duration {
        self.slept + if self.sleeps > 0 { now - self.asleep_since } else { Duration::ZERO }
    }
}

impl Switch {
    fn of(sleep: &Sleep) -> impl Iterator<Item = Self> + use<> {
        let falls = Self { at: sleep.from, node: sleep.node, falls_asleep: true };
        let wakes = sleep.until.map(|at| Self { at, node: sleep.node, falls_asleep: false });
        [Some(falls), wakes].into_iter().flatten()
    }
}

impl World<'_> {
    pub(super) fn start_power(&mut self) {
        self.schedule_sleep();
        if self.power.has_batteries {
            (0..self.node_count()).map(NodeId).for_each(|node| self.check_battery(node));
        }
    }

    /// Lets radios fall asleep or wake.
    pub(super) fn handle_sleep(&mut self) {
        let now = self.context.now;
        while let Some(switch) = self.power.switches.pop_front_if(|switch| switch.at <= now) {
            self.switch(switch);
        }
        self.schedule_sleep();
    }

    fn schedule_sleep(&mut self) {
        let next = self.power.switches.front().map(|next| next.at);
        self.context.agenda.arm(Owner::Sleep, Rank::Timer, NodeId(0), next);
    }

    fn switch(&mut self, switch: Switch) {
        let Self { context, airs, power, .. } = self;
        let (now, node) = (context.now, switch.node);
        let radio = &mut power.nodes[node.index()];
        if radio.empty.is_some() {
            return;
        }
        if switch.falls_asleep {
            radio.sleeps += 1;
            if radio.sleeps == 1 {
                radio.asleep_since = now;
                airs.of_mut(context.scenario, node).for_each(|air| air.silence(context, node));
            }
        } else {
            radio.sleeps -= 1;
            if radio.sleeps == 0 {
                radio.slept += now - radio.asleep_since;
                airs.of_mut(context.scenario, node).for_each(|air| air.wake(node, now));
            }
        }
    }

    /// Silences the radios of a node, or ends the silence. It counts as sleep, in addition to the scenario's
    /// sleep.
    pub(super) fn set_frozen(&mut self, node: NodeId, falls_asleep: bool) {
        if self.power.nodes.is_empty() {
            self.power.nodes = vec![Radio::default(); self.node_count() as usize];
        }
        self.switch(Switch { at: self.context.now, node, falls_asleep });
    }

    /// Time that the radios of a node have spent in each state since the measurement began, added up.
    pub(super) fn times(&self, node: NodeId) -> Times {
        if let Some((_, times)) = self.power.nodes.get(node.index()).and_then(|radio| radio.empty) {
            return times;
        }
        let mut sum = Times::default();
        for air in self.airs.of(self.context.scenario, node) {
            let Times { transmit, receive, idle, sleep } = self.times_of(air, node);
            sum.transmit += transmit;
            sum.receive += receive;
            sum.idle += idle;
            sum.sleep += sleep;
        }
        sum
    }

    /// Time that one radio of a node has spent in each state since the measurement began.
    fn times_of(&self, air: &Air, node: NodeId) -> Times {
        let (now, station) = (self.context.now, &air.stations[node.index()]);
        let radio = self.power.nodes.get(node.index());
        let asleep = radio.map_or(Duration::ZERO, |radio| radio.slept_until(now));
        let transmitting = station.mac.counters().transmitting;
        // DEVIATION energy-1: Energy is power times time in each state of the radio. ns-2 charges each frame.
        // Overheard and undecodable frames cost more in multihop.
        Times::within(now - self.measured_from, transmitting, station.receiving_until(now), asleep)
    }

    /// Time that one radio of a node has spent in each state since the measurement began. Transmission while
    /// signals of others occupy the receiver counts as transmission only. A station whose battery is empty
    /// counts as asleep.
    pub(super) fn times_without_overlap(&self, air: &Air, node: NodeId) -> Times {
        let (now, station) = (self.context.now, &air.stations[node.index()]);
        let radio = self.power.nodes.get(node.index());
        let asleep = radio.map_or(Duration::ZERO, |radio| match radio.empty {
            // All radios of a node sleep at the same time.
            Some((at, times)) => times.sleep / self.radio_count(node) + (now - at.max(self.measured_from)),
            None => radio.slept_until(now),
        });
        let occupied = station.receiving_until(now).saturating_sub(air.stats.overlap(node));
        let transmitting = station.mac.counters().transmitting;
        Times::within(now - self.measured_from, transmitting, occupied, asleep)
    }

    /// The number of a node's radios.
    fn radio_count(&self, node: NodeId) -> u64 {
        self.airs.of(self.context.scenario, node).count() as u64
    }

    /// Restarts the measurement of energy and sleep, at the end of the warm-up.
    pub(super) fn restart_power(&mut self) {
        let scenario = self.context.scenario;
        let now = self.context.now;
        for node in (0..).map(NodeId).take(self.power.nodes.len()) {
            let joules = |energy: &Energy| energy.powers.joules(&self.times(node)).iter().sum::<f64>();
            let spent = scenario.energy.as_ref().map_or(0.0, joules);
            let radio = &mut self.power.nodes[node.index()];
            radio.spent_before += spent;
            (radio.slept, radio.asleep_since) = (Duration::ZERO, now);
            radio.empty = radio.empty.map(|(at, _)| (at, Times::default()));
        }
    }

    /// Silences the node if its battery is empty. Otherwise schedules the next check for the instant at which
    /// the battery would be empty if the node's radios used the highest power.
    pub(super) fn check_battery(&mut self, node: NodeId) {
        let scenario = self.context.scenario;
        let Some(energy) = &scenario.energy else { return };
        let Some(battery) = energy.battery.of(node) else { return };
        let (now, times) = (self.context.now, self.times(node));
        let highest = energy.powers.highest() * self.radio_count(node) as f64;
        let radio = &mut self.power.nodes[node.index()];
        let spent: f64 = energy.powers.joules(&times).iter().sum();
        let left = battery - radio.spent_before - spent;
        let seconds = left / highest;
        // DEVIATION energy-2: A battery is empty when its energy lasts less than 1 ms, not at 0 J.
        let next = (seconds > MIN_SECONDS_LEFT)
            .then(|| now + Duration::from_secs_f64(seconds.min(MAX_CHECK_INTERVAL)));
        self.context.agenda.arm(Owner::Battery(node), Rank::Timer, node, next);
        if next.is_none() {
            radio.empty = Some((now, times));
            let Self { context, airs, .. } = self;
            airs.of_mut(context.scenario, node).for_each(|air| air.silence(context, node));
        }
    }
}

/// Remaining time below which a battery counts as empty, in seconds.
const MIN_SECONDS_LEFT: f64 = 1e-3;
/// Longest wait between two checks of a battery, in seconds.
const MAX_CHECK_INTERVAL: f64 = 1e9;
