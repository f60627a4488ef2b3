//! `multihop sweep`.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow};
use multihop_scenario::{Extensions, Source};
use multihop_sim::batch::{in_order, perform};
use multihop_sim::journal::{Journal, Shard};
use multihop_sim::results::RunResult;
use multihop_sim::sweep::{Plan, Run};

use crate::args::SweepArgs;
use crate::progress::RunsProgress;
use crate::{CommandError, IN_PYTHON, output, table};

/// Runs every combination of a scenario's axes; runs that the folder already holds are not repeated.
pub(crate) fn sweep(args: &SweepArgs, extensions: &Extensions) -> Result<(), CommandError> {
    if args.on.is_some() {
        return Err(anyhow!("sweep --on {IN_PYTHON}").into());
    }
    let plan = Plan::new_with(&Source::from_file(&args.file)?, &args.set, extensions)?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let journal = args.out.as_deref().map(|folder| open(folder, args.shard)).transpose()?;
    let mine: Vec<usize> =
        (0..plan.runs()).filter(|&index| args.shard.is_none_or(|shard| shard.has(index))).collect();
    let mut combinations: Vec<Vec<RunResult>> = vec![Vec::new(); plan.combinations()];
    let progress = RunsProgress::new(&args.file.display().to_string(), mine.len());
    in_order(
        mine.len(),
        jobs,
        |place| one(&plan, mine[place], journal.as_ref(), &progress),
        |_, answer| -> anyhow::Result<()> {
            let (run, result) = answer?;
            if args.json {
                output::json(&plan.label(&run, result), false)?;
            } else {
                combinations[run.combination].push(result);
            }
            Ok(())
        },
    )?;
    drop(progress);
    if let Some(folder) = &args.out {
        // Opened once more, for what other shards have written in the meantime.
        results(&plan, &lock(&open(folder, args.shard)?), folder)?;
    }
    if !args.json {
        output::line(format_args!("{}", table::sweep(&plan, &combinations)))?;
    }
    Ok(())
}

fn open(folder: &Path, shard: Option<Shard>) -> anyhow::Result<Mutex<Journal>> {
    output::folder(folder)?;
    let journal =
        Journal::open(folder, shard).with_context(|| format!("cannot store runs in {}", folder.display()))?;
    Ok(Mutex::new(journal))
}

/// One run, from the journal if it is there.
fn one(
    plan: &Plan,
    index: usize,
    journal: Option<&Mutex<Journal>>,
    progress: &RunsProgress,
) -> anyhow::Result<(Run, RunResult)> {
    let run = plan.run(index)?;
    if let Some(entry) = journal.and_then(|journal| lock(journal).entry(&run.key)) {
        progress.had();
        return Ok((run, entry.result));
    }
    let entry = progress
        .follow(|progress| perform(&run.key, &run.scenario, progress))
        .with_context(|| format!("run {index}, seed {}", run.scenario.seed))?;
    if let Some(journal) = journal {
        lock(journal).append(&entry).context("cannot write the journal of runs")?;
    }
    Ok((run, entry.result))
}

fn lock(journal: &Mutex<Journal>) -> MutexGuard<'_, Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes results.jsonl once all runs have finished; prints how many are missing until then.
fn results(plan: &Plan, journal: &Journal, folder: &Path) -> anyhow::Result<()> {
    let finished = plan.finished(journal)?;
    let missing = plan.runs() - finished.len();
    if missing > 0 {
        eprintln!(
            "{missing} of {} runs are missing; results.jsonl is written when the last one finishes",
            plan.runs()
        );
        return Ok(());
    }
    let (mut out, file) = output::file(&folder.join("results.jsonl"))?;
    let mut lines = finished.into_iter().map(|result| result.timeless().to_line());
    lines
        .try_for_each(|line| writeln!(out, "{line}"))
        .and_then(|()| out.flush())
        .context("cannot write results.jsonl")?;
    file.keep()
}
