//! Implements `multihop tcp` in programs that contain the eBPF controls.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Command, ExitStatus};
use std::thread;

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use multihop_ebpf::{Control, KernelConnection, Reports, Run, Sample, Settings, TcpError};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::args::{ControlName, LinkArgs, TcpArgs, TcpCommand, TcpRunArgs};
use crate::{CommandError, output};

/// Performs the subcommand of `multihop tcp`.
pub(crate) fn tcp(args: &TcpArgs) -> Result<(), CommandError> {
    match &args.command {
        TcpCommand::Load(args) => multihop_ebpf::load(settings(&args.links), args.cgroup.clone())?,
        TcpCommand::Unload => multihop_ebpf::unload()?,
        TcpCommand::Status(args) => status(args.json)?,
        TcpCommand::Run(args) => return run(args),
    }
    Ok(())
}

impl From<TcpError> for CommandError {
    fn from(error: TcpError) -> Self {
        Self::Other(error.into())
    }
}

fn settings(links: &LinkArgs) -> Settings {
    Settings { kbps: links.bit_rate }
}

/// Output of `multihop tcp status --json`.
#[derive(Serialize)]
struct Status {
    loaded: bool,
    connections: Vec<KernelConnection>,
}

fn status(json: bool) -> Result<(), CommandError> {
    let status = Status { loaded: multihop_ebpf::is_loaded(), connections: multihop_ebpf::flows()? };
    if json {
        return Ok(output::json(&status, false)?);
    }
    let loaded = if status.loaded { "loaded" } else { "not loaded" };
    output::line(format_args!("controls for the whole machine: {loaded}"))?;
    if !status.connections.is_empty() {
        output::line(format_args!("{}", table(&status.connections)))?;
    }
    Ok(())
}

fn table(connections: &[KernelConnection]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(HEADER);
    for one in connections {
        table.add_row([
            one.local.to_string(),
            one.remote.to_string(),
            one.control.to_owned(),
            one.hops.map_or("-".to_owned(), |hops| hops.to_string()),
            one.pace_kbps.map_or("-".to_owned(), |pace| format!("{pace:.1}")),
            format!("{:.3}", one.cov),
            one.window.to_string(),
            format!("{:.1}", one.srtt_ms),
            one.adtcp.as_ref().map_or("-".to_owned(), |adtcp| format!("{} of {}", adtcp.kept, adtcp.losses)),
            one.adtcp.as_ref().map_or("-".to_owned(), |adtcp| newest(&adtcp.received)),
            one.adtcp.as_ref().map_or("-".to_owned(), |adtcp| newest(&adtcp.returned)),
        ]);
    }
    for column in table.column_iter_mut().skip(3).take(NUMBERS) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Text of the state in the newest ACK of these.
fn newest(reports: &Reports) -> String {
    reports.newest.map_or("-".to_owned(), multihop_ebpf::state_name)
}

/// Runs a program, and ends with its exit code.
fn run(args: &TcpRunArgs) -> Result<(), CommandError> {
    let control = match args.control {
        ControlName::Ap => Control::Ap,
        ControlName::Clamp => Control::Clamp,
        ControlName::Mesh => Control::Mesh,
        ControlName::Adtcp => Control::Adtcp,
    };
    let mut samples = args.samples.as_deref().map(output::file).transpose()?;
    if let Some((out, _)) = &mut samples {
        writeln!(out, "{}", Sample::COLUMNS).context("cannot write samples")?;
    }
    let status = perform(args, control, |sample| {
        if let Some((out, _)) = &mut samples {
            // The failure is reported again when the file is completed.
            let _ = writeln!(out, "{}", sample.row());
        }
    })?;
    if let Some((mut out, file)) = samples {
        out.flush().context("cannot write samples")?;
        file.keep()?;
    }
    // The exit code after a signal is that of a shell.
    process::exit(status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1))
}

fn perform(
    args: &TcpRunArgs,
    control: Control,
    take: impl FnMut(&Sample),
) -> Result<ExitStatus, CommandError> {
    let mut run = Run::new(control, settings(&args.links), args.samples.is_some())?;
    // The program receives interrupts from the keyboard itself. Signals sent only to this process are
    // forwarded.
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot handle signals")?;
    let mut child = run.spawn(Command::new(&args.command[0]).args(&args.command[1..]))?;
    let (handle, id) = (signals.handle(), child.id());
    let passing = thread::spawn(move || {
        for signal in &mut signals {
            if signal == SIGTERM {
                multihop_ebpf::terminate(id);
            }
        }
    });
    let status = run.wait(&mut child, take);
    handle.close();
    passing.join().expect("passing signals on does not panic");
    Ok(status?)
}

const HEADER: [&str; 11] = [
    "local",
    "remote",
    "control",
    "hops",
    "pace kb/s",
    "variation",
    "window",
    "srtt ms",
    "kept",
    "told",
    "tells",
];
/// Number of columns with numbers, after the first three.
const NUMBERS: usize = 6;
