//! The command `multihop` as a library: arguments in, text and exit code out.
//!
//! Other programs use it to provide the same command with protocols of their own.
//!
//! * [`main`] runs the command with the built-in protocols.
//! * [`main_with`] runs it with user-defined protocols, which scenarios name like the built-in ones.
//!
//! ```
//! let arguments = ["multihop", "example", "chain-4"].map(Into::into);
//! assert_eq!(multihop_cli::main(arguments.to_vec()), 0);
//! ```
//!
//! The libraries do the work: this crate reads arguments, prints tables and messages, and writes files. It offers no
//! functions to simulate or to transfer files; call `multihop-sim`, `multihop-net` or `multihop-apps` for these.
//!
//! Two features, both enabled by default, select the commands. `network` has those that send packets over real networks
//! or run real programs; a command without it is built in a third of the time. `simulate` has those for scenarios; a
//! command without it is small.

#![cfg_attr(
    not(feature = "simulate"),
    expect(
        dead_code,
        reason = "commands for scenarios use more of the tables, files and values that all commands share"
    )
)]

#[cfg(not(any(feature = "network", feature = "simulate")))]
compile_error!("multihop-cli needs one of the features network and simulate");

#[cfg(all(feature = "network", feature = "simulate", target_os = "linux"))]
mod air;
mod args;
mod bars;
#[cfg(feature = "simulate")]
mod capture;
#[cfg(feature = "simulate")]
mod check;
#[cfg(feature = "simulate")]
mod compare;
mod diagnostics;
#[cfg(all(feature = "network", feature = "simulate", target_os = "linux"))]
mod emulate;
#[cfg(all(feature = "network", feature = "simulate", target_os = "linux"))]
mod extcap;
mod http;
#[cfg(feature = "simulate")]
mod input;
#[cfg(feature = "simulate")]
mod interrupt;
#[cfg(feature = "simulate")]
mod live;
#[cfg(feature = "simulate")]
mod motion;
#[cfg(feature = "network")]
mod net;
#[cfg(feature = "network")]
mod network;
mod output;
#[cfg(feature = "simulate")]
mod page;
#[cfg(feature = "simulate")]
mod progress;
#[cfg(feature = "simulate")]
mod run;
#[cfg(all(feature = "simulate", feature = "view"))]
mod run_log;
mod shell;
#[cfg(feature = "simulate")]
mod start;
#[cfg(feature = "simulate")]
mod sweep;
#[cfg(feature = "simulate")]
mod sweep_folder;
mod table;
#[cfg(feature = "network")]
mod tcp;
mod terminal;
mod values;
#[cfg(feature = "simulate")]
mod view;

use std::ffi::OsString;

use clap::Parser;
use multihop_scenario::{Extensions, Problems};

use args::{Args, Command};
use terminal::{Verbosity, note};

/// Runs the command with the protocols of this repository; `args` begins with the command's name. Returns the
/// exit code.
pub fn main(args: Vec<OsString>) -> i32 {
    main_with(args, &multihop_routing_extra::extensions())
}

/// Runs the command with these protocols in addition to the built-in ones. A program that keeps the usual
/// protocols adds its own to `multihop_routing_extra::extensions()`.
pub fn main_with(args: Vec<OsString>, extensions: &Extensions) -> i32 {
    let args = match Args::try_parse_from(args).and_then(Args::check) {
        Ok(args) => args,
        Err(usage) => {
            // If neither stdout nor stderr can be written, the error cannot be reported.
            let _ = usage.print();
            return usage.exit_code();
        }
    };
    match command(args.command, args.verbosity, extensions) {
        Ok(()) => 0,
        Err(CommandError::Input(problems)) => {
            diagnostics::print(&problems);
            2
        }
        Err(CommandError::Reported) => 2,
        Err(CommandError::Usage(problem)) => {
            note(format_args!("multihop: {problem}"));
            2
        }
        Err(CommandError::Taken(problem)) => {
            note(format_args!("multihop: {problem}"));
            4
        }
        Err(CommandError::Interrupted { signal, kept }) => {
            eprintln!("multihop: interrupted{kept}");
            128 + signal // the convention of shells
        }
        Err(CommandError::LeftOut(number)) => {
            let what = if number == 1 { "1 entry was" } else { &format!("{number} entries were") };
            eprintln!("multihop: {what} left out");
            3
        }
        Err(CommandError::Other(error)) if error.is::<output::Closed>() => 128 + SIGPIPE,
        Err(CommandError::Other(error)) => {
            note(format_args!("multihop: {error:#}"));
            1
        }
    }
}

/// Number of the signal that ends a program whose output has no reader.
const SIGPIPE: i32 = 13;

/// Reason for which a command failed.
enum CommandError {
    /// The input is wrong: exit code 2.
    Input(Problems),
    /// An error that was already reported to the user.
    Reported,
    /// The arguments are wrong in a way that clap cannot check: exit code 2.
    Usage(String),
    /// Another `multihop route` runs in this network namespace: exit code 4.
    #[cfg_attr(not(feature = "network"), expect(dead_code, reason = "only commands of the network need it"))]
    Taken(String),
    /// This many entries were not sent, all others were: exit code 3.
    #[cfg_attr(not(feature = "network"), expect(dead_code, reason = "only commands of the network need it"))]
    LeftOut(usize),
    /// A signal with this number arrived. Contains a description of the kept work, with leading punctuation.
    Interrupted { signal: i32, kept: String },
    /// Another error occurred: exit code 1.
    Other(anyhow::Error),
}

fn command(command: Command, verbosity: Verbosity, extensions: &Extensions) -> Result<(), CommandError> {
    match command {
        #[cfg(feature = "simulate")]
        Command::Run(args) => run::run(&args, verbosity, extensions),
        #[cfg(feature = "simulate")]
        Command::Sweep(args) => sweep::sweep(&args, verbosity, extensions),
        #[cfg(feature = "simulate")]
        Command::Check(args) => check::check(&args, verbosity, extensions),
        #[cfg(feature = "simulate")]
        Command::View(args) => view::view(&args, verbosity, extensions),
        #[cfg(feature = "simulate")]
        Command::Compare(args) => compare::compare(&args, verbosity, extensions),
        #[cfg(feature = "simulate")]
        Command::Motion(args) => motion::motion(&args, verbosity, extensions),
        #[cfg(feature = "network")]
        Command::Network(command) => network::perform(command, verbosity, extensions),
        #[cfg(not(all(feature = "network", feature = "simulate")))]
        Command::Unknown(words) => Err(CommandError::Usage(format!("no command {:?} {PART}", words[0]))),
        Command::Bench { .. } => Err(CommandError::Usage(format!("bench {IN_PYTHON} multihop"))),
        Command::Break { .. } => Err(CommandError::Usage(format!("break {IN_PYTHON} 'multihop[break]'"))),
        Command::Papers { .. } => Err(CommandError::Usage(format!("papers {IN_PYTHON} 'multihop[papers]'"))),
        #[cfg(feature = "simulate")]
        Command::Schema => Ok(output::json(&multihop_scenario::schema_with(extensions), true)?),
        #[cfg(feature = "simulate")]
        Command::Example { name } => start::example(name.as_deref()),
        #[cfg(feature = "simulate")]
        Command::Init { file } => start::init(&file, verbosity),
        Command::Completions { shell } => shell::completions(shell),
        Command::Manual { folder } => shell::manual(&folder),
    }
}

/// Error message about commands that need the Python package: the text between the command's name and the name of the
/// package's extra.
const IN_PYTHON: &str = "needs the Python package, which provides the same command: pip install";

/// End of messages about commands that need the feature `network`.
#[cfg(not(feature = "network"))]
pub(crate) const PART: &str = "in this build, which only simulates (run, sweep, check, compare, ...): make build compiles all of multihop";

/// End of messages about commands that need the feature `simulate`.
#[cfg(not(feature = "simulate"))]
pub(crate) const PART: &str = "in this build, which has the commands for networks alone (send, recv, perf, tunnel, route, ...): make build compiles all of multihop";

impl From<Problems> for CommandError {
    fn from(problems: Problems) -> Self {
        Self::Input(problems)
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}
