//! Run that advances step by step and reports all of its events, for viewers.

mod description;

use multihop_core::{Duration, Instant};
use multihop_radio::mobility::Path;
use multihop_scenario::{Layout, NotConnected, Scenario};

use crate::live::recording::Entry;
use crate::live::{Change, Entered, interfaces};
use crate::observe::Observer;
use crate::results::RunResult;
use crate::run::is_paced;
use crate::view::inputs::Inputs;
use crate::world::World;

pub use self::description::Description;

/// A run that advances in steps. Its result equals that of [`crate::run()`].
pub struct ViewedRun<'a> {
    world: World<'a>,
    scenario: &'a Scenario,
    measures: bool,
    inputs: Option<Inputs>,
}

/// Reason for which a scenario cannot be viewed.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// No connected placement was found.
    #[error(transparent)]
    Placement(#[from] NotConnected),
    /// The scenario has paced flows, whose rate is found by many runs.
    #[error(
        "found a flow with app = \"paced\", allowed: ftp, file, pareto, cbr, poisson, voice, web, video, messages, \
         spread, relay"
    )]
    Paced,
    /// A recording cannot be replayed.
    #[error("the recording {0}")]
    Recording(String),
}

impl<'a> ViewedRun<'a> {
    /// Creates a run before its first event.
    pub fn new(scenario: &'a Scenario) -> Result<Self, ViewError> {
        if is_paced(scenario) {
            return Err(ViewError::Paced);
        }
        let layout = scenario.topology.place(scenario.seed)?;
        let mut observer = Observer::new(None, None, None);
        observer.watch().turn_on();
        let world = World::new(scenario, &layout, observer);
        Ok(Self { world, scenario, measures: false, inputs: None })
    }

    /// Creates the replay of a recorded run; `recording` is the part of the recording that has arrived.
    pub fn replay(scenario: &'a Scenario, recording: &[u8]) -> Result<Self, ViewError> {
        let inputs = Inputs::new(recording).map_err(ViewError::Recording)?;
        let mut run = Self::new(scenario)?;
        run.world.keep_order();
        run.inputs = Some(inputs);
        Ok(run)
    }

    /// Takes in further bytes of the recording that have arrived.
    pub fn feed(&mut self, recording: &[u8]) {
        if let Some(inputs) = &mut self.inputs {
            inputs.feed(recording);
        }
    }

    /// The end of the run, or of the known part of a recording.
    pub fn end(&self) -> Instant {
        let end = Instant::ZERO + self.scenario.duration;
        self.inputs.as_ref().and_then(|inputs| inputs.end).unwrap_or(end)
    }

    /// Instant up to which the run can be simulated.
    pub fn known(&self) -> Instant {
        self.inputs.as_ref().map_or(Instant::ZERO + self.scenario.duration, |inputs| inputs.known)
    }

    /// Handles all events before `end`, at most up to the end of the run, and lets packets of the recording
    /// enter.
    pub fn advance(&mut self, end: Instant) {
        let end = end.min(self.known());
        while let Some(entry) = self.inputs.as_mut().and_then(|inputs| inputs.take(end)) {
            self.run_until(entry.at());
            while self.world.poll_exit().is_some() {}
            self.enter(&entry);
        }
        self.run_until(end);
    }

    /// Enters a recorded packet into the world, or applies a recorded change. Damaged entries are ignored.
    fn enter(&mut self, entry: &Entry) {
        if let Entry::Change { bytes, .. } = entry
            && let Ok(change) = Change::recorded(bytes, self.scenario)
        {
            self.world.change(&change);
        }
        if let Entry::Packet { node, interface, bytes, .. } = entry
            && interfaces::exists(self.scenario, *node, *interface)
            && let Ok(entered) = Entered::parse(self.scenario, *node, *interface, bytes)
        {
            entered.enter(&mut self.world, *node, *interface);
        }
    }

    fn run_until(&mut self, end: Instant) {
        let warm = Instant::ZERO + self.scenario.warmup;
        if !self.measures && end >= warm {
            self.world.run_until(warm);
            self.world.begin_measuring();
            self.measures = true;
        }
        if end > self.world.now() {
            self.world.run_until(end);
        }
    }

    /// Whether states of stations and fields of packets are recorded from now on.
    pub fn set_detailed(&mut self, detailed: bool) {
        let now = self.world.now();
        self.world.observer_mut().watch().set_detailed(now, detailed);
    }

    /// The records since the last call of [`ViewedRun::clear`].
    pub fn records(&mut self) -> &[u32] {
        self.world.observer_mut().watch().records()
    }

    /// Fields of the packets sent since the last call of [`ViewedRun::clear`], by uid.
    pub fn fields(&mut self) -> &[(u64, Vec<(&'static str, String)>)] {
        self.world.observer_mut().watch().fields()
    }

    /// The names to which records refer by number.
    pub fn names(&mut self) -> &[&'static str] {
        self.world.observer_mut().watch().names()
    }

    /// Deletes all records that were made so far.
    pub fn clear(&mut self) {
        self.world.observer_mut().watch().clear();
    }

    /// Simulates the rest of the run and returns its result. `last` receives the records of packets that were still
    /// in transit at the end.
    pub fn finish(mut self, last: &mut Vec<u32>) -> RunResult {
        self.advance(self.end());
        self.clear();
        let (result, mut observer) = self.world.finish(core::time::Duration::ZERO);
        last.extend_from_slice(observer.watch().records());
        result.timeless()
    }
}

/// The nodes of a run.
#[derive(Debug)]
pub struct Nodes {
    /// Positions of the nodes at the start, and their names.
    pub layout: Layout,
    /// Path of each node.
    pub paths: Vec<Path>,
}

impl Nodes {
    /// Positions of a scenario's nodes, and their movements until its end.
    pub fn of(scenario: &Scenario) -> Result<Self, NotConnected> {
        let layout = scenario.topology.place(scenario.seed)?;
        let until = Instant::ZERO + scenario.duration.max(Duration::from_nanos(1));
        let paths =
            scenario.movements(&layout).into_iter().map(|movement| movement.recorded(until)).collect();
        Ok(Self { layout, paths })
    }
}
