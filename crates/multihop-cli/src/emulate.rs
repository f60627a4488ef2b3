//! Implements `multihop emulate` and `multihop enter`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use anyhow::Context;
use multihop_emulate::{Client, Command, EmulateError, Emulated, Options, ProgramResult, Quantiles, Ready};
use multihop_scenario::{Extensions, Request, Scenario, Source};
use multihop_sim::Outputs;
use multihop_sim::live::{Recording, identity};

use crate::live::{self, LivePage, Scratch};
use crate::network::{EmulateArgs, EnterArgs};
use crate::output::NewFile;
use crate::page::Shown;
use crate::terminal::{self, Verbosity};
use crate::{CommandError, capture, input, output, table};

/// Runs a scenario in real time with real programs.
pub(crate) fn emulate(
    args: &EmulateArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let (source, client) = if args.control {
        let mut requests = BufReader::new(stdin()?);
        let source = match args.file.as_path() {
            file if is_stdout(file) => scenario_line(&mut requests)?,
            file => input::source(file)?,
        };
        (source, Some(Client { requests: Box::new(requests), replies: stdout()? }))
    } else {
        (input::source(&args.file)?, None)
    };
    let overrides = args.changes.overrides();
    let has_traffic = !args.command.is_empty() || args.control;
    let load = if has_traffic { Scenario::load_network } else { Scenario::load_with };
    let scenario = load(&source, &overrides, extensions)?;
    let mut files = Vec::new();
    let outputs = outputs(args, &scenario, &mut files)?;
    let request = Request::new(&source, &overrides);
    let begun = begin_recording(args, &request, &scenario, &mut files)?;
    let (recording, place) =
        begun.map(|Begun { recording, place, scratch }| (recording, (place, scratch))).unzip();
    let (served, serving) = channel();
    let ready = match (&place, args.live) {
        (Some((place, _)), true) => {
            Shown::of(request.clone()).check_simulated(&scenario)?;
            let page = LivePage::bind(&request, place.clone())?;
            Some(Box::new(move |is_interrupted: &dyn Fn() -> bool| {
                live::invite(&page);
                let serving = page.serve();
                serving.wait(|| {
                    if is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                // The receiver waits for the end of the emulation.
                let _ = served.send(serving);
            }) as Ready)
        }
        _ => None,
    };
    let pcap_to_stdout = args.pcap.as_deref().is_some_and(is_stdout);
    let command = (!args.command.is_empty())
        .then(|| Command { station: args.node.clone(), words: args.command.clone() });
    let options = Options {
        outputs,
        recording,
        command,
        client,
        folder: args.out.clone(),
        stdout_is_taken: args.json || args.control || pcap_to_stdout,
        busy_wait: args.busy_wait,
        late_limit: args.late_limit,
        virtual_time: args.virtual_time,
        is_followed: args.live,
        ready,
    };
    let emulated = multihop_emulate::emulate(&scenario, options).map_err(error);
    if let Ok(serving) = serving.try_recv() {
        serving.finish();
    }
    let emulated = emulated?;
    drop(place);
    files.into_iter().try_for_each(NewFile::keep)?;
    if let Some(folder) = &args.out {
        output::json_file(&folder.join("result.json"), &emulated)?;
    }
    if args.control {
        output::json(&serde_json::json!({"event": "result", "result": emulated}), false)?;
    } else if args.json {
        output::json(&emulated, false)?;
    } else if verbosity.quiet {
        // The result is in the folder, and the exit code shows success or failure.
    } else if pcap_to_stdout {
        eprintln!("{}", summary(&emulated));
    } else {
        output::line(format_args!("{}", summary(&emulated)))?;
    }
    verdict(args, &emulated)
}

/// Recording in progress, with the path of its file.
struct Begun {
    recording: Recording,
    place: PathBuf,
    /// Recording that is deleted at the end because the user did not request it.
    scratch: Option<Scratch>,
}

/// Begins the recording that `--record` requests or `--live` needs.
fn begin_recording(
    args: &EmulateArgs,
    request: &Request,
    scenario: &Scenario,
    files: &mut Vec<NewFile>,
) -> Result<Option<Begun>, CommandError> {
    if args.record.is_none() && !args.live {
        return Ok(None);
    }
    let identity = identity(&request.source(), &request.overrides, scenario)?;
    let (out, place, scratch) = if let Some(path) = &args.record {
        let out = write_later(path, files)?;
        let place = files.last().map_or_else(|| path.clone(), |file| file.place().to_owned());
        (out, place, None)
    } else {
        let (scratch, out) = Scratch::new()?;
        (out, scratch.path(), Some(scratch))
    };
    let recording = Recording::new(out, &identity, request);
    let recording = recording.with_context(|| format!("cannot write {}", place.display()))?;
    Ok(Some(Begun { recording, place, scratch }))
}

/// Runs a shell or another program at a station of an emulation, and ends with its exit code.
pub(crate) fn enter(args: &EnterArgs) -> Result<(), CommandError> {
    let status = multihop_emulate::enter(&args.node, args.pid, &args.command).map_err(error)?;
    // The exit code after a signal is that of a shell.
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    std::process::exit(code.unwrap_or(1))
}

/// Whether the emulation was a success.
fn verdict(args: &EmulateArgs, emulated: &Emulated) -> Result<(), CommandError> {
    if let Some(signal) = emulated.interrupted {
        return Err(CommandError::Interrupted { signal, kept: String::new() });
    }
    if !emulated.emulation.valid {
        let message = "the result is invalid: more than 1% of the events or packets were later than --late-limit, or \
             more than 1% of the time was lost";
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
        outputs.pcap_filter = capture::filter(&args.capture, scenario)?;
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

/// Standard output without a buffer, for a reader that shows packets immediately.
fn stdout() -> anyhow::Result<Box<dyn Write + Send>> {
    let stdout = io::stdout().as_fd().try_clone_to_owned().context("cannot write to standard output")?;
    Ok(Box::new(File::from(stdout)))
}

/// Standard input without the buffer of this process, so that another thread can read it.
fn stdin() -> anyhow::Result<File> {
    let stdin = io::stdin().as_fd().try_clone_to_owned().context("cannot read standard input")?;
    Ok(File::from(stdin))
}

/// Reads a scenario that is a line of JSON.
fn scenario_line(from: &mut impl BufRead) -> anyhow::Result<Source> {
    let mut text = String::new();
    from.take(LONGEST_SCENARIO)
        .read_line(&mut text)
        .context("cannot read the scenario from standard input")?;
    Ok(Source::Json { text, name: "stdin".to_owned() })
}

fn write_later(path: &Path, files: &mut Vec<NewFile>) -> anyhow::Result<Box<dyn Write + Send>> {
    let (writer, file) = output::file(path)?;
    files.push(file);
    Ok(Box::new(writer))
}

/// Text about an emulation for the user: metrics, lateness and exit codes of the programs.
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
        "{}, seed {}: {} packets entered the network, {} left it, {:.1} s of virtual time",
        run.scenario, run.seed, emulation.entered, emulation.left, run.sim_seconds
    ));
    if emulation.virtual_time {
        lines.push("time was virtual: it waited for all programs".to_owned());
        return lines.join("\n");
    }
    let late = |late: &Option<Quantiles>| late.map_or("none".to_owned(), |late| late.to_string());
    lines.push(format!("lateness: events {}", late(&emulation.wakeups_late_ms)));
    lines.push(format!("          packets {}", late(&emulation.deliveries_late_ms)));
    lines.push(format!("time lost by late events: {:.2}%", 1e2 * emulation.lost_share));
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

/// Longest line with a scenario, bytes.
const LONGEST_SCENARIO: u64 = 16 << 20;
