//! Implements `multihop sweep`, which runs every combination of varied keys.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use multihop_scenario::{Extensions, Request};
use multihop_sim::batch::{in_order, perform};
use multihop_sim::journal::{Journal, Shard};
use multihop_sim::results::RunResult;
use multihop_sim::sweep::{Plan, Run, SweepResult};
use multihop_sim::tables::{self, Rows};

use crate::args::SweepArgs;
use crate::interrupt::Interrupt;
use crate::progress::RunsProgress;
use crate::sweep_folder::SWEEP_FILE;
use crate::terminal::Verbosity;
use crate::{CommandError, IN_PYTHON, input, output, table, terminal};

/// Runs every combination of a scenario's axes; runs whose results are in the folder are not repeated.
pub(crate) fn sweep(
    args: &SweepArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    if args.on.is_some() {
        return Err(CommandError::Usage(format!("sweep --on {IN_PYTHON} 'multihop[cluster]'")));
    }
    let source = input::source(&args.file)?;
    let plan = Plan::new_with(&source, &args.set, extensions)?;
    if !verbosity.quiet {
        plan.notes()?.iter().for_each(|text| terminal::note(format_args!("note: {text}")));
    }
    let interrupt = Interrupt::catch()?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let journal = args.out.as_deref().map(|folder| open(folder, args.shard)).transpose()?;
    let mine: Vec<usize> =
        (0..plan.runs()).filter(|&index| args.shard.is_none_or(|shard| shard.has(index))).collect();
    if let Some(folder) = &args.out {
        output::json_file(&folder.join(SWEEP_FILE), &Request::new(&source, &args.set))?;
    }
    let mut labelled: Vec<SweepResult> = Vec::new();
    let mut combinations: Vec<Vec<RunResult>> = vec![Vec::new(); plan.combinations()];
    // The table and the rows of runs do not use the lists.
    let lists = args.json || args.out.is_some();
    let progress = RunsProgress::new(&args.file.display().to_string(), mine.len(), verbosity);
    let outcome = in_order(
        mine.len(),
        jobs,
        |place| one(&plan, mine[place], lists, journal.as_ref(), &progress, &interrupt),
        |_, answer| -> anyhow::Result<()> {
            let (run, result) = answer?;
            if args.json {
                output::json(&plan.label(&run, result), false)?;
            } else if args.csv {
                labelled.push(plan.label(&run, result));
            } else {
                combinations[run.combination].push(result);
            }
            Ok(())
        },
    );
    drop(progress);
    if let Some(journal) = &journal {
        lock(journal).sync().context("cannot write the journal of runs")?;
    }
    outcome
        .map_err(|error| interrupt.explain(error, || kept(&plan, journal.as_ref(), args.out.as_deref())))?;
    if let Some(folder) = &args.out {
        // The folder is opened again, because other shards may have written entries in the meantime.
        results(&plan, &lock(&open(folder, args.shard)?), folder, args.csv)?;
    }
    if args.csv {
        output::csv(|out| tables::write_sweep(Rows::Runs, plan.keys(), &labelled, out))?;
    } else if !args.json {
        let table = table::sweep(&plan, &combinations, terminal::width_of_output());
        output::line(format_args!("{table}"))?;
    }
    Ok(())
}

fn open(folder: &Path, shard: Option<Shard>) -> anyhow::Result<Mutex<Journal>> {
    output::folder(folder)?;
    let journal =
        Journal::open(folder, shard).with_context(|| format!("cannot store runs in {}", folder.display()))?;
    Ok(Mutex::new(journal))
}

/// One run, taken from the journal if it is there. If `lists`, a new result includes the lists of nodes,
/// links and queues.
fn one(
    plan: &Plan,
    index: usize,
    lists: bool,
    journal: Option<&Mutex<Journal>>,
    progress: &RunsProgress,
    interrupt: &Interrupt,
) -> anyhow::Result<(Run, RunResult)> {
    let run = plan.run(index)?;
    if let Some(entry) = journal.and_then(|journal| lock(journal).entry(&run.key)) {
        progress.had();
        return Ok((run, entry.result));
    }
    let entry = progress
        .follow(|| interrupt.control(), |progress| perform(&run.key, &run.scenario, lists, progress))
        .with_context(|| format!("run {index}, seed {}", run.scenario.seed))?;
    if let Some(journal) = journal {
        lock(journal).append(&entry).context("cannot write the journal of runs")?;
    }
    Ok((run, entry.result))
}

/// Describes the remaining part of an interrupted sweep, and the command that continues it.
fn kept(plan: &Plan, journal: Option<&Mutex<Journal>>, folder: Option<&Path>) -> String {
    let (Some(journal), Some(folder)) = (journal, folder) else {
        return ": nothing is kept; with --out DIR finished runs are, and the same command goes on with the rest"
            .to_owned();
    };
    let finished = plan.finished(&lock(journal)).map_or(0, |finished| finished.len());
    let place = folder.display();
    format!(
        ": {finished} of {} runs are kept in {place}; the same command goes on with the rest",
        plan.runs()
    )
}

fn lock(journal: &Mutex<Journal>) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes results.jsonl, and tables as CSV if requested, once all runs have finished; before that, prints the
/// number of missing runs.
fn results(plan: &Plan, journal: &Journal, folder: &Path, csv: bool) -> anyhow::Result<()> {
    let finished = plan.finished(journal)?;
    let missing = plan.runs() - finished.len();
    if missing > 0 {
        eprintln!(
            "{missing} of {} runs are missing; results.jsonl is written when the last one finishes",
            plan.runs()
        );
        return Ok(());
    }
    if csv {
        let axes = plan.keys();
        output::csv_files(folder, |rows, out| tables::write_sweep(rows, axes, &finished, out))?;
    }
    let (mut out, file) = output::file(&folder.join("results.jsonl"))?;
    let mut lines = finished.into_iter().map(|result| result.timeless().to_line());
    lines
        .try_for_each(|line| writeln!(out, "{line}"))
        .and_then(|()| out.flush())
        .context("cannot write results.jsonl")?;
    file.keep()
}
