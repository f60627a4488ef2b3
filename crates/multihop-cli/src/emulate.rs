//! `multihop emulate` and `multihop enter`.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use anyhow::Context;
use multihop_emulate::{Command, EmulateError, Emulated, Options, ProgramResult, Quantiles};
use multihop_scenario::{Extensions, Scenario};
use multihop_sim::Outputs;
use multihop_sim::live::{Recording, identity};

use crate::args::{EmulateArgs, EnterArgs};
use crate::output::NewFile;
use crate::terminal::{self, Verbosity};
use crate::{CommandError, input, output, table};

/// Runs a scenario in real time with real programs.
pub(crate) fn emulate(
    args: &EmulateArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let source = input::source(&args.file)?;
    let overrides = args.overrides();
    let load = if args.command.is_empty() { Scenario::load_with } else { Scenario::load_network };
    let scenario = load(&source, &overrides, extensions)?;
    let mut files = Vec::new();
    let outputs = outputs(args, &scenario, &mut files)?;
    let recording = match &args.record {
        Some(path) => {
            let identity = identity(&source, &overrides, &scenario)?;
            let out = write_later(path, &mut files)?;
            let begin = || format!("cannot write {}", path.display());
            Some(Recording::new(out, &identity).with_context(begin)?)
        }
        None => None,
    };
    let pcap_to_stdout = args.pcap.as_deref().is_some_and(is_stdout);
    let command = (!args.command.is_empty())
        .then(|| Command { station: args.node.clone(), words: args.command.clone() });
    let options = Options {
        outputs,
        recording,
        command,
        folder: args.out.clone(),
        stdout_is_taken: args.json || pcap_to_stdout,
        busy_wait: args.busy_wait,
        late_limit: args.late_limit,
    };
    let emulated = multihop_emulate::emulate(&scenario, options).map_err(error)?;
    files.into_iter().try_for_each(NewFile::keep)?;
    if let Some(folder) = &args.out {
        output::json_file(&folder.join("result.json"), &emulated)?;
    }
    if args.json {
        output::json(&emulated, false)?;
    } else if verbosity.quiet {
        // The result is in the folder, and the exit code says whether it is good.
    } else if pcap_to_stdout {
        eprintln!("{}", summary(&emulated));
    } else {
        output::line(format_args!("{}", summary(&emulated)))?;
    }
    verdict(args, &emulated)
}

/// Runs a shell or another program at a station of an emulation, and ends with its exit code.
pub(crate) fn enter(args: &EnterArgs) -> Result<(), CommandError> {
    let status = multihop_emulate::enter(&args.node, args.pid, &args.command).map_err(error)?;
    // As a shell says it.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    std::process::exit(code.unwrap_or(1))
}

/// Whether the emulation was a success.
fn verdict(args: &EmulateArgs, emulated: &Emulated) -> Result<(), CommandError> {
    if let Some(signal) = emulated.interrupted {
        return Err(CommandError::Interrupted { signal, kept: String::new() });
    }
    if !emulated.emulation.valid {
        let message =
            "the result is invalid: more than 1% of the events or packets were later than --late-limit";
        return Err(anyhow::anyhow!(message).into());
    }
    match emulated.programs.last() {
        Some(last) if !args.command.is_empty() && last.exit_code != Some(0) && !last.stopped => {
            Err(anyhow::anyhow!("{}: {}", last.command, ending(last)).into())
        }
        _ => Ok(()),
    }
}

fn error(error: EmulateError) -> CommandError {
    match error {
        EmulateError::NotFound(message) => CommandError::Usage(message),
        error => CommandError::Other(error.into()),
    }
}

fn outputs(
    args: &EmulateArgs,
    scenario: &Scenario,
    files: &mut Vec<NewFile>,
) -> Result<Outputs, CommandError> {
    let mut outputs = Outputs::default();
    if let Some(path) = &args.pcap {
        outputs.pcap = Some(if is_stdout(path) { stdout()? } else { write_later(path, files)? });
    }
    if let Some(folder) = &args.out {
        output::folder(folder)?;
        if args.trace {
            outputs.trace = Some(write_later(&folder.join("packets.txt"), files)?);
        }
        if scenario.record.is_some() {
            outputs.record = Some(write_later(&folder.join("series.csv"), files)?);
        }
    }
    Ok(outputs)
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Standard output without a buffer, for a reader that shows packets as they come.
fn stdout() -> anyhow::Result<Box<dyn Write + Send>> {
    let stdout = io::stdout().as_fd().try_clone_to_owned().context("cannot write to standard output")?;
    Ok(Box::new(std::fs::File::from(stdout)))
}

fn write_later(path: &Path, files: &mut Vec<NewFile>) -> anyhow::Result<Box<dyn Write + Send>> {
    let (writer, file) = output::file(path)?;
    files.push(file);
    Ok(Box::new(writer))
}

/// What a person wants to know.
fn summary(emulated: &Emulated) -> String {
    let Emulated { run, emulation, programs, .. } = emulated;
    let mut lines = Vec::new();
    if !run.flows.is_empty() {
        lines.push(format!("{}\n", table::run(run, terminal::width_of_output())));
    }
    for program in programs {
        lines.push(format!("node {}: {}: {}", program.node, program.command, ending(program)));
    }
    lines.push(format!(
        "{}, seed {}: {} packets entered, {} left, {:.1} virtual s",
        run.scenario, run.seed, emulation.entered, emulation.left, run.sim_seconds
    ));
    let late = |late: &Option<Quantiles>| match late {
        Some(late) => {
            format!("{:.2} ms in the median, {:.2} in 99%, {:.2} at most", late.p50, late.p99, late.max)
        }
        None => "none".to_owned(),
    };
    lines.push(format!("late: events {}", late(&emulation.wakeups_late_ms)));
    lines.push(format!("      packets {}", late(&emulation.deliveries_late_ms)));
    lines.push(format!("lost: {:.2}% of the time", 1e2 * emulation.lost_share));
    lines.join("\n")
}

fn ending(program: &ProgramResult) -> String {
    match (&program.error, program.exit_code, program.signal) {
        (Some(error), ..) => error.clone(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(_)) if program.stopped => "stopped".to_owned(),
        (None, None, signal) => format!("ended by signal {}", signal.unwrap_or_default()),
    }
}
