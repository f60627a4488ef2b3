//! Emulation: runs a scenario in real time with real programs as its traffic.
//!
//! Each node and host of the scenario is a network namespace with a TUN or TAP interface. Packets that a program sends
//! there cross the simulated network and leave it at another namespace.
//!
//! * [`emulate`] runs a scenario; [`Options`] has its outputs, its recording and a command for one station.
//! * [`Emulated`] is the result: the simulator's metrics, the lateness of the emulation and the programs' exit codes.
//! * [`enter()`] starts a program in a station of a running emulation; [`emulations`] lists those that run.
//!
//! A program pings over two hops of Wi-Fi. The example is only compiled: it needs Linux with user namespaces or root.
//!
//! ```no_run
//! use multihop_emulate::{Command, Options, emulate};
//! use multihop_scenario::{Extensions, Scenario, Source};
//!
//! let text = r#"
//!     duration = 10.0
//!     topology = { kind = "chain", hops = 2 }
//! "#;
//! let source = Source::Toml { text: text.to_owned(), name: "ping".to_owned() };
//! let scenario = Scenario::load_network(&source, &[], &Extensions::default())?;
//! let words = ["ping", "-c", "3", "10.0.0.3"].map(Into::into).to_vec();
//! let command = Some(Command { station: "0".to_owned(), words });
//! let emulated = emulate(&scenario, Options { command, ..Options::default() })?;
//! println!("{:?}", emulated.programs);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The simulated network itself is [`multihop_sim::live`], which has no clock. In real time an emulation is not
//! deterministic: programs and the machine decide when packets enter. Its recording can be replayed exactly. With
//! [`Options::virtual_time`] programs wait for the network, and each run gives the same result.
#![cfg(target_os = "linux")]

mod barrier;
mod captured;
mod clock;
mod control;
mod driver;
mod enter;
mod image;
mod lateness;
mod programs;
mod readers;
mod request;
mod root;
mod sandbox;
mod slice;
mod stations;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use multihop_core::{Duration, NodeId};
use multihop_linux::wait::Doorbell;
use multihop_scenario::{NotConnected, Port, Scenario};
use multihop_sim::Outputs;
use multihop_sim::RunError;
use multihop_sim::live::{Live, Recording};
use multihop_sim::results::RunResult;
use serde::Serialize;

use barrier::Barrier;
use control::Control;
use driver::{Driver, Outside};
use programs::{Place, Programs};
use readers::Readers;
use sandbox::Sandbox;
use stations::Stations;

pub use control::Client;
pub use enter::enter;
pub use lateness::EmulationResult;
pub use multihop_sim::live::Quantiles;
pub use programs::ProgramResult;
pub use readers::{emulations, read_frames};

/// Options of an emulation: outputs, recording, a command in place of programs, and how it waits.
#[derive(Default)]
pub struct Options {
    /// Outputs of the simulated network.
    pub outputs: Outputs,
    /// Records the packets that enter.
    pub recording: Option<Recording>,
    /// A program whose end ends the emulation.
    pub command: Option<Command>,
    /// A program that controls the emulation.
    pub client: Option<Client>,
    /// Folder in which the output of the scenario's programs is stored as `program-N.txt`; `None` if the
    /// programs have the output of this process.
    pub folder: Option<PathBuf>,
    /// Whether standard output is used for something else, so that programs write to standard error.
    pub stdout_is_taken: bool,
    /// Whether the last moments before each event are waited for without sleeping: events are less late, but
    /// one processor is always busy.
    pub busy_wait: bool,
    /// Whether the recording is read while it grows.
    pub is_followed: bool,
    /// Called when everything is ready, before the clock starts, with a function that says whether a signal has arrived.
    pub ready: Option<Ready>,
    /// Whether time is virtual: it advances only while all programs wait, so that results are the same in each run.
    pub virtual_time: bool,
    /// The lateness of 99% of wake-ups and deliveries above which the result is invalid.
    pub late_limit: Option<Duration>,
}

/// Callback for the instant at which all programs are started. Its argument is a function that reports whether a signal
/// has arrived.
pub type Ready = Box<dyn FnOnce(&dyn Fn() -> bool)>;

/// A program whose end ends the emulation.
pub struct Command {
    /// Node or host in whose network namespace the command runs: number or name.
    pub station: String,
    /// The program and its arguments.
    pub words: Vec<std::ffi::OsString>,
}

/// The result of an emulation.
#[derive(Clone, Debug, Serialize)]
pub struct Emulated {
    /// Measurements of the simulated network.
    #[serde(flatten)]
    pub run: RunResult,
    /// Measurements of how well the emulation kept up with the wall clock.
    pub emulation: EmulationResult,
    /// Results of the scenario's programs in their order, then of the command.
    pub programs: Vec<ProgramResult>,
    /// The signal that ended the emulation, if one did.
    #[serde(skip)]
    pub interrupted: Option<i32>,
}

/// Why an emulation has no result.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// The system does not allow an operation.
    #[error("cannot {action}: {error}")]
    System {
        /// Operation that was tried.
        action: String,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The scenario has no such node or host, or it is not clear which emulation is meant.
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
    multihop_linux::netns::gain_rights().tried(|| {
        "become root of a user namespace, which an ordinary user needs (allow it by sysctl \
         user.max_user_namespaces=15000, on Debian kernel.unprivileged_userns_clone=1, on Ubuntu \
         kernel.apparmor_restrict_unprivileged_userns=0; this process must have one thread)"
            .to_owned()
    })?;
    let stations = Stations::new(scenario)?;
    let signals = driver::catch_signals()?;
    let bell = Arc::new(Doorbell::new().tried(|| "make a pair of sockets".to_owned())?);
    let prepare = || "prepare virtual time".to_owned();
    let library = options.virtual_time.then(barrier::library).transpose().tried(prepare)?;
    let sandbox = Sandbox::new(stations.namespaces(), &names, Arc::clone(&bell), library)?;
    let readers = Readers::new();
    let entry = enter::Entry::new(
        &scenario.name,
        &names,
        &stations,
        &sandbox,
        readers.as_ref().and_then(Readers::name),
    )?;
    let is_captured = options.client.is_some();
    let is_preloaded = options.virtual_time;
    let barrier = is_preloaded.then(|| {
        refuse_kernels(scenario)?;
        Barrier::new(&stations.namespaces(), scenario.emulation.mtu).tried(prepare)
    });
    let programs = Programs::new(
        scenario,
        command.transpose()?,
        Place { folder: options.folder, stdout_is_taken: options.stdout_is_taken, is_captured, is_preloaded },
    );
    if let Some(ready) = options.ready {
        ready(&|| signals.noted().is_some());
    }
    let control = options.client.map(|client| Control::new(client, Arc::clone(&bell))).transpose()?;
    let outside = Outside { signals, readers, control, bell, names, busy_wait: options.busy_wait };
    let driver = Driver::new(scenario, live, stations, programs, sandbox, outside)?;
    let emulated = driver.run(options.late_limit, options.is_followed, barrier.transpose()?);
    drop(entry);
    emulated
}

/// Refuses scenarios in which kernels route, because their clocks are real.
fn refuse_kernels(scenario: &Scenario) -> Result<(), EmulateError> {
    let found = if scenario.emulation.gateway.is_some() {
        "emulation.gateway"
    } else if (0..multihop_sim::live::stations(scenario))
        .any(|n| scenario.port(NodeId(u32::try_from(n).unwrap_or(u32::MAX))) == Port::Tap)
    {
        "emulation.interface = \"tap\""
    } else {
        return Ok(());
    };
    Err(EmulateError::NotFound(format!(
        "found {found}, allowed with --virtual-time: isolated networks with tun"
    )))
}
