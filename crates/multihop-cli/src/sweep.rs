//! `multihop sweep`.

use std::io::Write;
use std::num::NonZeroUsize;

use anyhow::Context;
use multihop_sim::Outputs;
use multihop_sim::results::RunResult;
use multihop_sim::scenario::Source;
use multihop_sim::sweep::{Plan, Run, in_order};

use crate::args::SweepArgs;
use crate::progress::Progress;
use crate::{Failure, output, table};

/// Runs every combination of a scenario's axes.
pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    let plan = Plan::new(&Source::from_file(&args.file)?, &args.set)?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let mut lines = match &args.out {
        Some(folder) => {
            output::folder(folder)?;
            Some(output::file(&folder.join("results.jsonl"))?)
        }
        None => None,
    };
    let mut combinations: Vec<Vec<RunResult>> = vec![Vec::new(); plan.combinations()];
    let mut progress = Progress::new(&args.file.display().to_string());
    in_order(
        plan.runs(),
        jobs,
        |index| one(&plan, index),
        |index, answer| -> anyhow::Result<()> {
            let (run, result) = answer?;
            let labelled = plan.label(&run, result);
            if let Some(lines) = &mut lines {
                serde_json::to_writer(&mut *lines, &labelled).context("cannot write results.jsonl")?;
                lines.write_all(b"\n").context("cannot write results.jsonl")?;
            }
            if args.json {
                output::json(&labelled, false)?;
            } else {
                combinations[run.combination].push(labelled.result);
            }
            progress.show((index + 1) as f64 / plan.runs() as f64);
            Ok(())
        },
    )?;
    drop(progress);
    if let Some(lines) = &mut lines {
        lines.flush().context("cannot write results.jsonl")?;
    }
    if !args.json {
        output::line(format_args!("{}", table::sweep(&plan, &combinations)))?;
    }
    Ok(())
}

fn one(plan: &Plan, index: usize) -> anyhow::Result<(Run, RunResult)> {
    let run = plan.run(index)?;
    let result = multihop_sim::run(&run.scenario, Outputs::default(), &mut |_| {})
        .with_context(|| format!("run {index}, seed {}", run.scenario.seed))?;
    Ok((run, result))
}
