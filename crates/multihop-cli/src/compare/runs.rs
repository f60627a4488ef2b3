//! Comparison of runs, as rows of metrics.

use std::num::NonZeroUsize;

use multihop_scenario::{Extensions, Scenario};
use multihop_sim::batch::in_order;
use multihop_sim::difference::first_difference;
use multihop_sim::results::RunResult;
use serde_json::json;

use super::keys::differing;
use super::{Comparison, First, NOTHING, rows, told, told_keys};
use crate::CommandError;
use crate::args::CompareArgs;
use crate::interrupt::Interrupt;
use crate::page::{self, Shown};
use crate::progress::RunsProgress;
use crate::terminal::Verbosity;

/// A run with one seed, its scenario and its result.
type Ended = (Shown, Scenario, RunResult);

/// Compares runs; also returns the runs with the first seed.
pub(super) fn compare(
    args: &CompareArgs,
    names: Vec<String>,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(Comparison, Vec<Ended>), CommandError> {
    let runs = runs(args, extensions)?;
    let seeds = runs.len() / names.len();
    let results = simulated(&runs, args, verbosity)?;
    let lists: Vec<Vec<&RunResult>> = results.chunks(seeds).map(|list| list.iter().collect()).collect();
    let mut notes = vec![match args.seeds {
        Some(_) => format!("means over {seeds} seeds, paired; ± half the 95% confidence interval"),
        None => "one run each: pass --seeds N for intervals".to_owned(),
    }];
    let own: Vec<u64> = lists.iter().map(|list| list[0].seed).collect();
    if own.iter().any(|seed| *seed != own[0]) {
        notes.push("the runs have different seeds: their differences are not paired".to_owned());
    }
    let (a, b) = (&runs[0], &runs[seeds]);
    let first = if a.0.is_recorded() || b.0.is_recorded() {
        notes.push("recordings are compared without the first difference between packets".to_owned());
        None
    } else {
        Some(First::of(first_difference(&a.1, &b.1).map_err(anyhow::Error::from)?))
    };
    let requests: Vec<_> = runs.iter().step_by(seeds).map(|(shown, _)| &shown.request).collect();
    let keys = Some(differing(&requests)?);
    let comparison = Comparison { names, keys, rows: rows("", &lists), first, notes };
    let first_of_each = runs.into_iter().zip(results).step_by(seeds);
    Ok((comparison, first_of_each.map(|((shown, scenario), result)| (shown, scenario, result)).collect()))
}

/// Runs every scenario with every seed; runs of one name are adjacent.
fn runs(args: &CompareArgs, extensions: &Extensions) -> Result<Vec<(Shown, Scenario)>, CommandError> {
    let mut runs = Vec::new();
    for name in &args.names {
        let seeds: Vec<Option<u64>> = match args.seeds {
            None => vec![None],
            Some(count) => (1..=count.get() as u64).map(Some).collect(),
        };
        for seed in seeds {
            let seed = seed.map(|seed| ("seed".to_owned(), seed.to_string()));
            let overrides: Vec<_> = args.set.iter().cloned().chain(seed).collect();
            let shown = Shown::named(name, &overrides)?;
            let scenario = shown.scenario(extensions)?;
            if args.out.is_some() {
                shown.check(&scenario)?;
            }
            runs.push((shown, scenario));
        }
    }
    Ok(runs)
}

fn simulated(
    runs: &[(Shown, Scenario)],
    args: &CompareArgs,
    verbosity: Verbosity,
) -> Result<Vec<RunResult>, CommandError> {
    let interrupt = Interrupt::catch()?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let progress = RunsProgress::new("compare", runs.len(), verbosity);
    let mut results = Vec::new();
    let outcome = in_order(
        runs.len(),
        jobs,
        |index| {
            let (shown, scenario) = &runs[index];
            progress.follow(|| interrupt.control(), |progress| shown.simulate(scenario, progress))
        },
        |_, result| -> Result<(), CommandError> {
            results.push(result?);
            Ok(())
        },
    );
    drop(progress);
    match outcome {
        Ok(()) => Ok(results),
        Err(CommandError::Other(error)) => Err(interrupt.explain(error, || ": nothing is kept".to_owned())),
        Err(error) => Err(error),
    }
}

/// Text of the page with these runs.
pub(super) fn page(runs: &[Ended], comparison: &Comparison) -> Result<String, CommandError> {
    let named = runs.iter().zip(&comparison.names).map(|((shown, scenario, result), name)| {
        let mut run = shown.data(&result.clone().timeless(), scenario)?;
        run["name"] = json!(name);
        Ok(run)
    });
    let named = named.collect::<Result<Vec<_>, CommandError>>()?;
    let (heading, rows) = comparison.table();
    let first = comparison.first.as_ref().and_then(|first| {
        let events = first.events.each_ref().map(|event| event.as_deref().map_or(NOTHING.to_owned(), told));
        Some(json!({ "at": first.at?, "events": events }))
    });
    let keys = comparison.keys.iter().flat_map(|keys| told_keys(keys));
    let notes: Vec<_> = keys.chain(comparison.notes.iter().cloned()).collect();
    let comparison = json!({ "heading": heading, "rows": rows, "first": first, "notes": notes });
    Ok(page::filled(&json!({ "runs": named, "comparison": comparison }))?)
}
