//! Comparison of sweeps: runs with the same values of the axes and the same seed are pairs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use multihop_scenario::Extensions;
use multihop_sim::results::RunResult;
use serde::Deserialize;
use serde_json::Value;

use super::keys::differing;
use super::{Comparison, rows};
use crate::CommandError;
use crate::args::CompareArgs;
use crate::sweep_folder::SweepFolder;

const FILE: &str = "results.jsonl";

/// Whether a path is the folder of a sweep.
pub(super) fn is_sweep(name: &Path) -> bool {
    name.join(FILE).is_file()
}

/// A line of a sweep's results.
#[derive(Deserialize)]
struct Line {
    sweep: BTreeMap<String, Value>,
    #[serde(flatten)]
    result: RunResult,
}

/// The axes and the seed of a run.
type Place = (String, u64);

pub(super) fn compare(
    args: &CompareArgs,
    names: Vec<String>,
    extensions: &Extensions,
) -> Result<Comparison, CommandError> {
    if args.out.is_some() || args.seeds.is_some() || !args.set.is_empty() {
        let message = "--out, --seeds and --set are for runs: a comparison of sweeps runs nothing";
        return Err(CommandError::Usage(message.to_owned()));
    }
    let sweeps = args.names.iter().map(|name| read(name)).collect::<Result<Vec<_>, _>>()?;
    let is_everywhere = |place: &&Place| sweeps.iter().all(|sweep| sweep.contains_key(*place));
    let common: Vec<&Place> = sweeps[0].keys().filter(is_everywhere).collect();
    if common.is_empty() {
        let message = "no two runs have the same values of the axes and the same seed";
        return Err(CommandError::Usage(message.to_owned()));
    }
    let mut combinations: Vec<&str> = common.iter().map(|(axes, _)| axes.as_str()).collect();
    combinations.dedup();
    let rows = combinations.iter().flat_map(|axes| {
        let places = common.iter().filter(|(other, _)| other == axes);
        let pairs: Vec<&Place> = places.copied().collect();
        let lists: Vec<Vec<_>> =
            sweeps.iter().map(|sweep| pairs.iter().map(|place| &sweep[*place]).collect()).collect();
        rows(axes, &lists)
    });
    let rows = rows.collect();
    let left_out = sweeps.iter().map(|sweep| sweep.len() - common.len()).sum::<usize>();
    let mut notes = vec!["means over seeds, paired; ± half the 95% confidence interval".to_owned()];
    if left_out > 0 {
        notes.push(format!("left out: {left_out} runs that only one of the sweeps has"));
    }
    let folders = args.names.iter().map(|name| SweepFolder::open(name, extensions));
    let folders = folders.collect::<Result<Option<Vec<_>>, _>>()?;
    let requests =
        |folders: Vec<SweepFolder>| differing(&folders.iter().map(SweepFolder::request).collect::<Vec<_>>());
    let keys = folders.map(requests).transpose()?;
    Ok(Comparison { names, keys, rows, first: None, notes })
}

/// The results of a sweep, by axes and seed.
fn read(folder: &Path) -> Result<BTreeMap<Place, RunResult>, CommandError> {
    if !is_sweep(folder) {
        let message =
            format!("{} has no {FILE}: a sweep can only be compared with other sweeps", folder.display());
        return Err(CommandError::Usage(message));
    }
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut results = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line: Line = serde_json::from_str(line)
            .with_context(|| format!("{}, line {} is damaged", path.display(), index + 1))?;
        results.insert((axes(&line.sweep), line.result.seed), line.result);
    }
    Ok(results)
}

/// The values of the axes as text.
fn axes(values: &BTreeMap<String, Value>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    values.iter().map(|(key, value)| format!("{key}={}", text(value))).collect::<Vec<_>>().join(" ")
}
