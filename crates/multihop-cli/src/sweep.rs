//! `multihop sweep`.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, anyhow};
use multihop_scenario::Source;
use multihop_sim::Outputs;
use multihop_sim::journal::{self, Journal, Shard};
use multihop_sim::results::RunResult;
use multihop_sim::sweep::{Plan, Run, in_order};

use crate::args::SweepArgs;
use crate::progress::Progress;
use crate::{Failure, IN_PYTHON, output, table};

/// Runs every combination of a scenario's axes, but for those that the folder has already.
pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    if args.on.is_some() {
        return Err(anyhow!("sweep --on {IN_PYTHON}").into());
    }
    let plan = Plan::new(&Source::from_file(&args.file)?, &args.set)?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let journal = args.out.as_deref().map(|folder| open(folder, args.shard)).transpose()?;
    let mine: Vec<usize> =
        (0..plan.runs()).filter(|&index| args.shard.is_none_or(|shard| shard.has(index))).collect();
    let mut combinations: Vec<Vec<RunResult>> = vec![Vec::new(); plan.combinations()];
    let mut progress = Progress::new(&args.file.display().to_string());
    in_order(
        mine.len(),
        jobs,
        |place| one(&plan, mine[place], journal.as_ref()),
        |place, answer| -> anyhow::Result<()> {
            let (run, result) = answer?;
            if args.json {
                output::json(&plan.label(&run, result), false)?;
            } else {
                combinations[run.combination].push(result);
            }
            progress.show((place + 1) as f64 / mine.len() as f64);
            Ok(())
        },
    )?;
    drop(progress);
    if let Some(folder) = &args.out {
        results(&plan, folder)?;
    }
    if !args.json {
        output::line(format_args!("{}", table::sweep(&plan, &combinations)))?;
    }
    Ok(())
}

fn open(folder: &Path, shard: Option<Shard>) -> anyhow::Result<Mutex<Journal>> {
    output::folder(folder)?;
    let journal =
        Journal::open(folder, shard).with_context(|| format!("cannot keep runs in {}", folder.display()))?;
    Ok(Mutex::new(journal))
}

/// The result of one run, from the journal if it has it.
fn one(plan: &Plan, index: usize, journal: Option<&Mutex<Journal>>) -> anyhow::Result<(Run, RunResult)> {
    let run = plan.run(index)?;
    let lock = || journal.map(|journal| journal.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(result) = lock().and_then(|journal| journal.get(&run.key).cloned()) {
        return Ok((run, result));
    }
    let result = multihop_sim::run(&run.scenario, Outputs::default(), &mut |_| {})
        .with_context(|| format!("run {index}, seed {}", run.scenario.seed))?;
    if let Some(mut journal) = lock() {
        journal.append(&run.key, &result).context("cannot write the journal of runs")?;
    }
    Ok((run, result))
}

/// Writes results.jsonl once no run is missing; says how many are until then.
fn results(plan: &Plan, folder: &Path) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    let finished = journal::finished(folder).context("cannot read the journal of runs")?;
    let missing = plan.write(finished, &mut lines).context("cannot put the results together")?;
    if missing > 0 {
        eprintln!("{missing} of {} runs are missing; results.jsonl is written with the last", plan.runs());
        return Ok(());
    }
    let mut file = output::file(&folder.join("results.jsonl"))?;
    file.write_all(&lines).and_then(|()| file.flush()).context("cannot write results.jsonl")
}
