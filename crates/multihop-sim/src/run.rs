//! Runs one scenario with one seed.

use std::io;
use std::ops::ControlFlow;

use multihop_core::{BitRate, Duration, Instant};

use crate::observe::{Observer, Outputs};
use crate::oracle::ShortestPaths;
use crate::record::Recorder;
use crate::results::RunResult;
use crate::trace::{Capture, Qlogs, TextTrace};
use crate::world::World;
use multihop_scenario::{App, Layout, NotConnected, Scenario, Series};

/// Reason for which a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No connected placement was found.
    #[error(transparent)]
    Placement(#[from] NotConnected),
    /// An output could not be written.
    #[error("cannot write an output of the run: {0}")]
    Write(#[from] io::Error),
    /// A run in real time cannot search for the best rate.
    #[error("a paced flow cannot run in real time; give app = \"cbr\" and a rate")]
    PacedLive,
    /// A recording cannot be replayed.
    #[error("the recording {0}")]
    Recording(String),
    /// The caller's [`Progress`] cancelled the run.
    #[error("the run was cancelled")]
    Cancelled,
}

/// Called several times a second, and at the end of the warm-up, with the completed fraction of a run, from 0 to 1;
/// `Break` cancels the run.
pub type Progress<'a> = &'a mut dyn FnMut(f64) -> ControlFlow<()>;

/// A [`Progress`] that neither shows nor cancels anything.
pub const fn unattended(_share: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Runs a scenario and returns its results.
pub fn run(scenario: &Scenario, outputs: Outputs, progress: Progress<'_>) -> Result<RunResult, RunError> {
    if !is_paced(scenario) {
        return simulate(scenario, outputs, progress);
    }
    let rate = best_rate(scenario, &mut |share| progress(share * SEARCH_SHARE))?;
    let mut result = simulate(&at_rate(scenario, rate), outputs, &mut |share| {
        progress(SEARCH_SHARE + share * (1.0 - SEARCH_SHARE))
    })?;
    name_applications(&mut result, scenario);
    Ok(result)
}

/// Whether the rate of some flow must be searched for.
pub(crate) fn is_paced(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| matches!(flow.app, App::Paced { .. }))
}

/// Replaces the applications in a result by their names in the scenario, which differ from the applications
/// that ran.
fn name_applications(result: &mut RunResult, scenario: &Scenario) {
    for (flow, wanted) in result.flows.iter_mut().zip(&scenario.flows) {
        wanted.app.name().clone_into(&mut flow.app);
    }
}

/// Largest simulated time between progress reports, as a fraction of a run.
const LONGEST_STEP: u64 = 200;
/// Longest time between two reports of the progress, approximately, on the wall clock.
const ATTENTIVE: std::time::Duration = std::time::Duration::from_millis(100);
/// Simulated time of the first progress step.
const FIRST_STEP: Duration = Duration::from_millis(100);
const SHORTEST_STEP: Duration = Duration::from_micros(1);
/// Number of rates per step of the previous scan, in a finer scan for the best rate.
const FINER: i32 = 5;
/// Fraction of the progress that the search for the best rate takes in a run with paced flows.
const SEARCH_SHARE: f64 = 0.9;

fn simulate(scenario: &Scenario, outputs: Outputs, progress: Progress<'_>) -> Result<RunResult, RunError> {
    let clock = wall_clock();
    let layout = scenario.topology.place(scenario.seed)?;
    let observer = observer(scenario, &layout, outputs)?;
    let mut world = World::new(scenario, &layout, observer);
    let mut steps = Steps::new(scenario.duration);
    steps.run_until(&mut world, Instant::ZERO + scenario.warmup, progress)?;
    world.begin_measuring();
    steps.report(&world, progress)?;
    steps.run_until(&mut world, Instant::ZERO + scenario.duration, progress)?;
    let (result, observer) = world.finish(clock());
    observer.finish()?;
    Ok(result)
}

/// Divides a run into steps with a progress report after each. Results do not depend on their lengths.
struct Steps {
    duration: Duration,
    longest: Duration,
    next: Duration,
}

impl Steps {
    fn new(duration: Duration) -> Self {
        let longest = (duration / LONGEST_STEP).max(SHORTEST_STEP);
        Self { duration, longest, next: longest.min(FIRST_STEP) }
    }

    fn run_until(
        &mut self,
        world: &mut World<'_>,
        end: Instant,
        progress: Progress<'_>,
    ) -> Result<(), RunError> {
        while world.now() < end && !world.observer().has_failed() {
            let clock = wall_clock();
            world.run_until((world.now() + self.next).min(end));
            self.adapt(clock());
            self.report(world, progress)?;
        }
        Ok(())
    }

    fn report(&self, world: &World<'_>, progress: Progress<'_>) -> Result<(), RunError> {
        let share = world.now().as_secs_f64() / self.duration.as_secs_f64();
        if progress(share).is_break() { Err(RunError::Cancelled) } else { Ok(()) }
    }

    fn adapt(&mut self, took: std::time::Duration) {
        if took > ATTENTIVE {
            self.next = (self.next / 2).max(SHORTEST_STEP);
        } else if took < ATTENTIVE / 4 {
            self.next = (self.next * 2).min(self.longest);
        }
    }
}

pub(crate) fn observer(scenario: &Scenario, layout: &Layout, outputs: Outputs) -> io::Result<Observer> {
    let nodes = layout.positions.len();
    let recorder = match (outputs.record, &scenario.record) {
        (Some(out), Some(record)) => {
            let shortest =
                record.what.contains(&Series::Shortest).then(|| ShortestPaths::of(scenario, layout));
            Some(Recorder::new(out, record, scenario.flows.len(), nodes, shortest.flatten())?)
        }
        _ => None,
    };
    let trace = outputs.trace.map(TextTrace::new).transpose()?;
    let capture =
        outputs.pcap.map(|out| Capture::new(out, scenario, layout, outputs.pcap_filter)).transpose()?;
    let mut observer = Observer::new(trace, capture, recorder);
    observer.omits_lists = outputs.without_lists;
    if !outputs.qlog.is_empty() {
        observer.write_qlogs(Qlogs::new(outputs.qlog, scenario)?);
    }
    Ok(observer)
}

/// Returns a function for the wall-clock time since this call, which is zero because a browser's module has
/// no clock. Only `wall_seconds` and `events_per_second` depend on it.
#[cfg(target_family = "wasm")]
pub(crate) fn wall_clock() -> impl Fn() -> std::time::Duration {
    || std::time::Duration::ZERO
}

/// Returns a function for the wall-clock time since this call. Only `wall_seconds` and `events_per_second`
/// depend on it.
#[cfg(not(target_family = "wasm"))]
#[expect(clippy::disallowed_methods, reason = "wall_seconds is wall-clock time")]
pub(crate) fn wall_clock() -> impl Fn() -> std::time::Duration {
    let begin = std::time::Instant::now();
    move || begin.elapsed()
}

/// The scenario with this constant rate for every paced flow.
fn at_rate(scenario: &Scenario, rate: BitRate) -> Scenario {
    let mut scenario = scenario.clone();
    for flow in &mut scenario.flows {
        if let App::Paced { size } = flow.app {
            flow.app = App::Cbr { rate, size };
        }
    }
    scenario
}

/// The constant rate, equal for all paced flows, with the highest total goodput. Goodput grows with the rate
/// until the network saturates, then falls or stays. A coarse geometric scan finds the maximum. Two finer
/// scans, each over the two steps around the best rate so far, narrow it to 1%.
fn best_rate(scenario: &Scenario, progress: Progress<'_>) -> Result<BitRate, RunError> {
    let mut centre = scenario.radio().bit_rate().as_f64() / 8.0;
    let mut ratio = 1.25;
    let mut best = (0.0, BitRate(1));
    // Beyond saturation, goodput may vary only by chance. Among rates with nearly the best goodput, the
    // lowest one is nearest to the saturation point.
    for (round, steps, nearly) in [(0, 10, 0.95), (1, FINER, 1.0), (2, FINER, 1.0)] {
        let mut tried = Vec::new();
        for step in -steps..=steps {
            let rate = rate(centre * libm::pow(ratio, f64::from(step)));
            let share = f64::from(round) / 3.0 + f64::from(step + steps) / f64::from(3 * (2 * steps + 1));
            let goodput = paced_goodput(&at_rate(scenario, rate), scenario, &mut |_| progress(share))?;
            if goodput > best.0 {
                best = (goodput, rate);
            }
            tried.push((goodput, rate));
        }
        let (_, rate) = tried.into_iter().find(|&(goodput, _)| goodput >= nearly * best.0).unwrap_or(best);
        centre = rate.as_f64();
        ratio = libm::pow(ratio, 1.0 / f64::from(FINER));
    }
    Ok(best.1)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn rate(bits_per_second: f64) -> BitRate {
    BitRate((bits_per_second as u64).max(1))
}

fn paced_goodput(at_rate: &Scenario, scenario: &Scenario, progress: Progress<'_>) -> Result<f64, RunError> {
    let result = simulate(at_rate, Outputs::default(), progress)?;
    let paced = scenario.flows.iter().map(|flow| matches!(flow.app, App::Paced { .. }));
    Ok(result.flows.iter().zip(paced).filter(|(_, paced)| *paced).map(|(f, _)| f.goodput_kbps).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use multihop_scenario::Source;

    fn chain() -> Scenario {
        let text = "duration = 5.0\nwarmup = 1.0\n[topology]\nkind = \"chain\"\nhops = 4\n\
                    [[flow]]\ntransport = \"newreno\"\n";
        Scenario::load(&Source::Toml { text: text.to_owned(), name: "chain.toml".to_owned() }, &[]).unwrap()
    }

    #[test]
    fn results_do_not_depend_on_the_steps() {
        let scenario = chain();
        let layout = scenario.topology.place(scenario.seed).unwrap();
        let result = |step: Duration| {
            let mut world = World::new(&scenario, &layout, Observer::new(None, None, None));
            let mut steps = Steps { duration: scenario.duration, longest: step, next: step };
            steps.run_until(&mut world, Instant::ZERO + scenario.duration, &mut unattended).unwrap();
            serde_json::to_value(world.finish(std::time::Duration::ZERO).0.timeless()).unwrap()
        };
        assert_eq!(result(Duration::from_micros(137)), result(Duration::from_secs(5)));
    }

    #[test]
    fn a_run_is_cancelled_where_its_caller_says() {
        let mut last = 0.0;
        let outcome = run(&chain(), Outputs::default(), &mut |share| {
            last = share;
            if share >= 0.5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(outcome, Err(RunError::Cancelled)));
        assert!((0.5..0.6).contains(&last), "{last}");
    }
}
