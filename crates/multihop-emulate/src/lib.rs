//! Emulation: a scenario runs in real time, and real programs are its traffic. Each node and host is a network
//! namespace with a TUN or TAP interface; what a program sends there crosses the simulated network.
//!
//! The simulated network itself is [`multihop_sim::live`], which has no clock.
#![cfg(target_os = "linux")]

mod clock;
mod driver;
mod enter;
mod lateness;
mod programs;
mod readers;
mod sandbox;
mod slice;
mod stations;

use std::io;
use std::path::PathBuf;

use multihop_core::Duration;
use multihop_scenario::{NotConnected, Scenario};
use multihop_sim::Outputs;
use multihop_sim::RunError;
use multihop_sim::live::{Live, Recording};
use multihop_sim::results::RunResult;
use serde::Serialize;

use driver::{Driver, Outside};
use programs::Programs;
use readers::Readers;
use sandbox::Sandbox;
use stations::Stations;

pub use enter::enter;
pub use lateness::{EmulationResult, Quantiles};
pub use programs::ProgramResult;
pub use readers::{emulations, read_frames};

/// What an emulation does besides running the scenario's programs.
#[derive(Default)]
pub struct Options {
    /// Outputs of the simulated network.
    pub outputs: Outputs,
    /// Records the packets that enter.
    pub recording: Option<Recording>,
    /// A program that the emulation ends with.
    pub command: Option<Command>,
    /// Where the output of the scenario's programs goes: `program-N.txt` in this folder; without one it is that of this
    /// process.
    pub folder: Option<PathBuf>,
    /// Whether standard output belongs to something else, so that programs write to standard error.
    pub stdout_is_taken: bool,
    /// Whether to wait for the last moments before each event without sleeping: less late, for a whole processor.
    pub busy_wait: bool,
    /// Whether the recording is read while it grows.
    pub is_followed: bool,
    /// Called when everything is ready, before the clock starts, with a function that says whether a signal has arrived.
    pub ready: Option<Ready>,
    /// The lateness of 99% of wake-ups and deliveries above which the result is invalid.
    pub late_limit: Option<Duration>,
}

/// What is called with a function that says whether a signal has arrived.
pub type Ready = Box<dyn FnOnce(&dyn Fn() -> bool)>;

/// A program that an emulation ends with.
pub struct Command {
    /// The node or host whose network it has: number or name.
    pub station: String,
    /// The program and its arguments.
    pub words: Vec<std::ffi::OsString>,
}

/// The result of an emulation.
#[derive(Clone, Debug, Serialize)]
pub struct Emulated {
    /// What the simulated network measured.
    #[serde(flatten)]
    pub run: RunResult,
    /// How well it kept up with the wall clock.
    pub emulation: EmulationResult,
    /// The scenario's programs in their order, then the command.
    pub programs: Vec<ProgramResult>,
    /// The signal that ended the emulation, if one did.
    #[serde(skip)]
    pub interrupted: Option<i32>,
}

/// Why an emulation has no result.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// The machine does not allow it.
    #[error("cannot {action}: {error}")]
    System {
        /// What was tried.
        action: String,
        /// The reason.
        error: io::Error,
    },
    /// There is no such node or host, or it is not clear which emulation is meant.
    #[error("{0}")]
    NotFound(String),
    /// No connected placement was found.
    #[error(transparent)]
    Placement(#[from] NotConnected),
    /// The simulated network failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Names what was tried in an error of the system.
trait Tried<T> {
    fn tried(self, action: impl FnOnce() -> String) -> Result<T, EmulateError>;
}

impl<T, E: Into<io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, action: impl FnOnce() -> String) -> Result<T, EmulateError> {
        self.map_err(|error| EmulateError::System { action: action(), error: error.into() })
    }
}

/// Runs a scenario with real programs. Without root this process must have one thread, because it becomes root of a
/// user namespace.
pub fn emulate(scenario: &Scenario, options: Options) -> Result<Emulated, EmulateError> {
    let live = Live::new(scenario, options.outputs, options.recording)?;
    let names = stations::names(scenario)?;
    let command =
        options.command.map(|command| stations::find(&names, &command.station).map(|n| (n, command.words)));
    // Before this process becomes another user.
    let folder = enter::folder();
    multihop_linux::netns::gain_rights().tried(|| {
        "become root of a user namespace, which an ordinary user needs (allowed: one thread, and user namespaces \
         in the kernel's settings)"
            .to_owned()
    })?;
    let stations = Stations::new(scenario)?;
    let signals = driver::catch_signals()?;
    let sandbox = Sandbox::new(stations.namespaces(), &names)?;
    let entry = enter::Entry::new(&folder, &scenario.name, &names, &stations, &sandbox)?;
    let readers = Readers::new(&folder);
    let programs = Programs::new(scenario, command.transpose()?, options.folder, options.stdout_is_taken);
    if let Some(ready) = options.ready {
        ready(&|| signals.noted().is_some());
    }
    let outside = Outside { signals, readers, busy_wait: options.busy_wait };
    let driver = Driver::new(scenario, live, stations, programs, sandbox, outside)?;
    let emulated = driver.run(options.late_limit, options.is_followed);
    drop(entry);
    emulated
}
