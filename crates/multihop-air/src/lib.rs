//! A simulated radio medium under the Wi-Fi stack of Linux.
//!
//! The kernel module `mac80211_hwsim` makes radios without hardware, and passes their frames to a program. [`air`] is such a
//! program: the frames enter the queues of a scenario's stations, and the simulated channel access, interference and
//! movement decide when and whether they arrive.
//!
//! Each node is a named network namespace (`air-0`, `air-1`, ...) with an interface `wlan0` for `iw` or `wpa_supplicant`.
//!
//! ```no_run
//! use multihop_air::{Options, air};
//! use multihop_scenario::{Extensions, Scenario, Source};
//!
//! let text = "duration = 10.0\ntopology = { kind = \"chain\", hops = 1 }\n";
//! let source = Source::Toml { text: text.to_owned(), name: "pair".to_owned() };
//! let scenario = Scenario::load_network(&source, &[], &Extensions::default())?;
//! let words = ["ip", "netns", "exec", "air-0", "iw", "dev"].map(Into::into).to_vec();
//! let result = air(&scenario, Options { command: words, ..Options::default() })?;
//! println!("{} frames", result.air.transmitted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg(target_os = "linux")]

mod driver;
#[cfg(fuzzing)]
pub mod fuzzing;
mod hwsim;
mod medium;
mod radios;
mod result;
mod wmediumd;

use std::ffi::OsString;
use std::io;

use multihop_core::{Duration, Instant};
use multihop_linux::netlink::GenericSocket;
use multihop_linux::wait::Signals;
use multihop_scenario::Scenario;
use multihop_sim::RunError;
use nix::libc;

use driver::Driver;
use medium::Medium;

pub use multihop_sim::live::Quantiles;
pub use result::{AirResult, AirRun};
pub use wmediumd::{Wmediumd, WmediumdError};

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Program and arguments whose end ends the run; none if empty. The program runs outside of the namespaces.
    pub command: Vec<OsString>,
    /// The lateness of 99% of events and deliveries above which the result is invalid. With a limit, the result is also
    /// invalid if more than 1% of the time was lost.
    pub late_limit: Option<Duration>,
    /// Whether stations neither wait for the frames of others nor suffer from them. Allowed with at most 100 nodes.
    pub no_contention: bool,
    /// Addresses of the nodes' first radios; if empty, `02:00` and the number of the node.
    pub addresses: Vec<[u8; 6]>,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum AirError {
    /// The system does not allow an operation.
    #[error("cannot {action}: {error}")]
    System {
        /// Operation that was tried.
        action: String,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The kernel lacks a family of generic netlink.
    #[error("the kernel has no {0}: modprobe mac80211_hwsim radios=0")]
    Missing(String),
    /// Programs run in a network namespace that has the name of a node's namespace.
    #[error(
        "found the network namespace {name} with the processes {programs}; end them, then: ip netns del {name}"
    )]
    Used {
        /// Name of the namespace.
        name: String,
        /// Numbers of the processes, separated by commas.
        programs: String,
    },
    /// The scenario has too many nodes for a run without contention.
    #[error("topology: found {0} nodes, allowed with --no-contention: at most {max}", max = medium::MAX_WITHOUT_CONTENTION)]
    TooMany(usize),
    /// The simulated network failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Names what was tried in an error of the system.
trait Tried<T> {
    fn tried(self, action: impl FnOnce() -> String) -> Result<T, AirError>;
}

impl<T, E: Into<io::Error>> Tried<T> for Result<T, E> {
    fn tried(self, action: impl FnOnce() -> String) -> Result<T, AirError> {
        self.map_err(|error| AirError::System { action: action(), error: error.into() })
    }
}

/// Makes the radios of a scenario, and is their medium until the end of the scenario, of the command, or until a signal.
/// Needs root, and the module `mac80211_hwsim`.
pub fn air(scenario: &Scenario, options: Options) -> Result<AirRun, AirError> {
    let medium = Medium::new(scenario, options.no_contention, &options.addresses)?;
    let missing = || AirError::Missing(hwsim::FAMILY.to_owned());
    let opened =
        GenericSocket::open(hwsim::FAMILY).tried(|| "open a socket to the kernel's radios".to_owned())?;
    let mut socket = opened.ok_or_else(missing)?;
    let signals = Signals::catch_ending().tried(|| "handle signals".to_owned())?;
    let mut register = socket.request(hwsim::CMD_REGISTER, libc::NLM_F_ACK);
    socket.ask(&mut register).tried(|| "become the medium of the kernel's radios".to_owned())?;
    let namespaces = radios::make(&mut socket, medium.radios())?;
    let mut command = match options.command.split_first() {
        Some((program, arguments)) => {
            let started = std::process::Command::new(program).args(arguments).spawn();
            Some(started.tried(|| format!("start {}", program.display()))?)
        }
        None => None,
    };
    let mut driver = Driver::new(medium, socket, Instant::ZERO + scenario.duration);
    let ended = driver.run(&mut command, &signals);
    if let Some(child) = &mut command {
        // A command that has ended cannot be killed.
        let _ = child.kill();
        child.wait().tried(|| "wait for the command".to_owned())?;
    }
    let result = driver.finish(ended?, options.late_limit);
    drop(namespaces);
    result
}
