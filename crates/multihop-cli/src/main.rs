//! The command `multihop`: arguments in, text out. What happens in between is in the libraries.

mod args;
mod output;
mod progress;
mod run;
mod sweep;
mod table;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use multihop_sim::scenario::{Problems, Scenario, Source};

use args::{Args, Command};

/// Why a command did not do what it was asked to.
enum Failure {
    /// The input is wrong: exit code 2.
    Input(Problems),
    /// Something else went wrong: exit code 1.
    Other(anyhow::Error),
}

fn main() -> ExitCode {
    match command(Args::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Input(problems)) => {
            eprintln!("{problems}");
            ExitCode::from(2)
        }
        Err(Failure::Other(error)) => {
            eprintln!("multihop: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Check { file } => check(&file),
        Command::Schema => Ok(output::json(&multihop_sim::scenario::schema(), true)?),
    }
}

/// Says whether a scenario, with all that its sweep varies, can be run.
fn check(file: &Path) -> Result<(), Failure> {
    let source = Source::from_file(file)?;
    let scenario = Scenario::load(&source, &[])?;
    if scenario.sweep.is_some() {
        multihop_sim::sweep::Plan::new(&source, &[])?;
    }
    Ok(output::line(format_args!("{}: no problems", file.display()))?)
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Input(problems)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}
