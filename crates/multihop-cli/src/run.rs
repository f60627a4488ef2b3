//! Implements `multihop run`, which simulates one scenario.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

use anyhow::Context;
use multihop_scenario::{Extensions, Record, Request, Scenario};
use multihop_sim::live::{identity, replay as replay_of};
use multihop_sim::results::RunResult;
use multihop_sim::tables::{self, Rows};
use multihop_sim::{Outputs, Progress, missing_series};

use crate::args::RunArgs;
use crate::interrupt::Interrupt;
use crate::live::Followed;
use crate::output::NewFile;
use crate::page::{self, RUN_FILE, Shown};
use crate::progress::ProgressDisplay;
use crate::terminal::Verbosity;
use crate::{CommandError, capture, input, output, table, terminal, view};

/// Runs one scenario once.
pub(crate) fn run(args: &RunArgs, verbosity: Verbosity, extensions: &Extensions) -> Result<(), CommandError> {
    let (shown, request) = shown(args)?;
    let (source, overrides) = (request.source(), request.overrides);
    let load = if args.replay.is_some() { Scenario::load_network } else { Scenario::load_with };
    let scenario = load(&source, &overrides, extensions)?;
    if scenario.record.is_some() && args.out.is_none() && !verbosity.quiet {
        eprintln!("series of the [record] table are not written: pass --out DIR");
    }
    if !verbosity.quiet {
        multihop_sim::notes(&scenario).iter().for_each(|text| terminal::note(format_args!("note: {text}")));
    }
    if args.live {
        shown.check_simulated(&scenario)?;
    } else if args.view {
        shown.check(&scenario)?;
    }
    let (outputs, files) = outputs(args, &scenario)?;
    let interrupt = Interrupt::catch()?;
    let mut progress = ProgressDisplay::of_run(&scenario, verbosity);
    let mut finished = 0.0;
    let mut followed =
        args.live.then(|| Followed::begin(&shown.request, &scenario, || interrupt.control())).transpose()?;
    let mut show = |share| {
        if let Some(followed) = &mut followed {
            followed.passed(share);
        }
        finished = share;
        progress.show(share);
        interrupt.control()
    };
    let result = match &args.replay {
        None => multihop_sim::run(&scenario, outputs, &mut show).map_err(anyhow::Error::from),
        Some(recording) => {
            let identity = identity(&source, &overrides, &scenario)?;
            replay(&scenario, &identity, recording, outputs, &mut show)
        }
    };
    drop(progress);
    if let Some(followed) = followed {
        followed.finish()?;
    }
    let result = result.map_err(|error| {
        interrupt.explain(error, || format!(" at {:.0}%: nothing is kept of the run", 100.0 * finished))
    })?;
    files.into_iter().try_for_each(NewFile::keep)?;
    if let (Some(record), Some(folder), false) = (&scenario.record, &args.out, verbosity.quiet) {
        report_missing_series(record, folder)?;
    }
    if let Some(folder) = &args.out {
        output::json_file(&folder.join("result.json"), &result)?;
        if args.replay.is_none() {
            output::json_file(&folder.join(RUN_FILE), &shown.request)?;
        }
        if args.csv {
            output::csv_files(folder, |rows, out| tables::write_run(rows, &result, out))?;
        }
        if verbosity.verbose > 0 {
            eprintln!("wrote {}", folder.display());
        }
    }
    if args.json {
        output::json(&result, false)?;
    } else if args.csv {
        output::csv(|out| tables::write_run(Rows::Flows, &result, out))?;
    } else {
        output::line(format_args!("{}", table::run(&result, terminal::width_of_output())))?;
    }
    if args.view {
        let name = args.out.as_ref().or(args.file.as_ref()).or(args.replay.as_ref());
        let path = page::beside(name.expect("a scenario or a recording"));
        page::write(&shown.filled(&result.timeless(), &scenario)?, &path)?;
        view::say(&path, args.json || args.csv)?;
    }
    Ok(())
}

/// The run for its page, and the request that is simulated: that of the arguments, or of the recording alone.
fn shown(args: &RunArgs) -> Result<(Shown, Request), CommandError> {
    let overrides = args.changes.overrides();
    let source = args.file.as_ref().map(|file| input::source(file)).transpose()?;
    let request = source.map(|source| Request::new(&source, &overrides));
    Ok(match (request, &args.replay) {
        (Some(request), None) => (Shown::of(request.clone()), request),
        (Some(request), Some(recording)) => (Shown::named(recording, &[])?, request),
        (None, recording) => {
            let recording = recording.as_ref().expect("a file is required without a recording");
            let shown = Shown::named(recording, &overrides)?;
            let request = shown.request.clone();
            (shown, request)
        }
    })
}

/// The file with the series of the `[record]` table.
const SERIES_FILE: &str = "series.csv";

/// The output files that the arguments request.
fn outputs(args: &RunArgs, scenario: &Scenario) -> Result<(Outputs, Vec<NewFile>), CommandError> {
    let mut files = Vec::new();
    let Some(folder) = &args.out else {
        // The table and the rows of flows do not use the lists.
        let without_lists = !args.json && !args.view;
        return Ok((Outputs { without_lists, ..Outputs::default() }, files));
    };
    let pcap_filter = capture::filter(&args.capture, scenario)?;
    output::folder(folder)?;
    let mut file = |wanted: bool, name: &str| -> anyhow::Result<Option<Box<dyn Write + Send>>> {
        if !wanted {
            return Ok(None);
        }
        let (writer, file) = output::file(&folder.join(name))?;
        files.push(file);
        Ok(Some(Box::new(writer)))
    };
    let flows = if args.qlog { scenario.flows.len() } else { 0 };
    let outputs = Outputs {
        trace: file(args.trace, "packets.txt")?,
        pcap: file(args.pcap, "packets.pcapng")?,
        pcap_filter,
        record: file(scenario.record.is_some(), SERIES_FILE)?,
        qlog: (0..flows)
            .filter_map(|flow| file(true, &format!("flow-{flow}.sqlog")).transpose())
            .collect::<anyhow::Result<_>>()?,
        without_lists: false,
    };
    Ok((outputs, files))
}

/// Reports requested series that have no rows.
fn report_missing_series(record: &Record, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(SERIES_FILE);
    let read = File::open(&path).and_then(|file| missing_series(record, BufReader::new(file)));
    let missing = read.with_context(|| format!("cannot read {}", path.display()))?;
    if !missing.is_empty() {
        let names = missing.join(", ");
        eprintln!("{} has no rows of {names}: no flow or node of the run has this series", path.display());
    }
    Ok(())
}

fn replay(
    scenario: &Scenario,
    identity: &str,
    recording: &Path,
    outputs: Outputs,
    progress: Progress<'_>,
) -> anyhow::Result<RunResult> {
    let file = File::open(recording).with_context(|| format!("cannot read {}", recording.display()))?;
    Ok(replay_of(scenario, identity, &mut BufReader::new(file), outputs, progress)?)
}
