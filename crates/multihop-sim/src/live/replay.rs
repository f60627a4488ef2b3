//! Repeats a recorded run in virtual time.

use std::fmt::Display;
use std::io::BufRead;

use multihop_core::{Duration, Instant, Interface};
use multihop_scenario::Scenario;

use super::recording::{Entry, read_entry, read_head};
use super::{Change, Live, interfaces};
use crate::observe::Outputs;
use crate::results::RunResult;
use crate::run::{Progress, RunError};

/// Runs a scenario with the packets of a recording. The recording must be of the run with this
/// [`identity`](super::identity).
pub fn replay(
    scenario: &Scenario,
    identity: &str,
    recording: &mut impl BufRead,
    outputs: Outputs,
    progress: Progress<'_>,
) -> Result<RunResult, RunError> {
    let recorded = read_head(recording).map_err(RunError::Recording)?;
    if recorded.identity != identity {
        let message = "was made with another scenario, seed or --set";
        return Err(RunError::Recording(message.to_owned()));
    }
    let mut live = Live::new(scenario, outputs, None)?;
    loop {
        let entry = read_entry(recording, recorded.format).map_err(RunError::Recording)?;
        advance(&mut live, scenario, entry.at(), progress)?;
        while live.poll_exit().is_some() {}
        match entry {
            _ if live.has_failed() => return live.finish(),
            Entry::End { .. } => return live.finish(),
            Entry::Passed { .. } => {}
            Entry::Change { bytes, .. } => {
                let change = Change::recorded(&bytes, scenario).map_err(|error| damaged(&error))?;
                live.change(&change).map_err(|error| damaged(&error))?;
            }
            Entry::Packet { node, interface, bytes, .. } if interfaces::exists(scenario, node, interface) => {
                live.enter(node, interface, &bytes).map_err(|error| damaged(&error))?;
            }
            Entry::Packet { node, interface: Interface(n), .. } => {
                let message =
                    format!("has a packet of interface {n} of node {node}, which the scenario has not");
                return Err(RunError::Recording(message));
            }
        }
    }
}

/// Advances to the next entry, and reports the progress.
fn advance(
    live: &mut Live<'_>,
    scenario: &Scenario,
    at: Instant,
    progress: Progress<'_>,
) -> Result<(), RunError> {
    let end = Instant::ZERO + scenario.duration;
    if !(live.now()..=end).contains(&at) {
        return Err(RunError::Recording("has packets outside the time of the run".to_owned()));
    }
    while live.now() < at {
        live.advance((live.now() + STEP).min(at));
        let share = live.now().as_secs_f64() / scenario.duration.as_secs_f64();
        if progress(share).is_break() {
            return Err(RunError::Cancelled);
        }
        if live.has_failed() {
            break;
        }
    }
    Ok(())
}

fn damaged(error: &impl Display) -> RunError {
    RunError::Recording(format!("has a damaged entry: {error}"))
}

/// Simulated time between two reports of the progress.
const STEP: Duration = Duration::from_millis(500);
