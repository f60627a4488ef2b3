//! The folder of `multihop sweep --out`: its runs, and the choice of one of them by a command.

use std::path::{Path, PathBuf};

use anyhow::Context;
use multihop_scenario::{Extensions, Request};
use multihop_sim::journal::Journal;
use multihop_sim::results::RunResult;
use multihop_sim::sweep::{Plan, Run};

use crate::args::ViewArgs;
use crate::page::Shown;
use crate::{CommandError, output, table, terminal};

/// File in a sweep's folder that contains the varied scenario.
pub(crate) const SWEEP_FILE: &str = "sweep.json";

/// Folder of a sweep: its plan and the journal of finished runs.
pub(crate) struct SweepFolder {
    path: PathBuf,
    request: Request,
    plan: Plan,
    journal: Journal,
}

/// A run of the folder.
pub(crate) struct Chosen {
    pub(crate) shown: Shown,
    /// Path of the sweep's page, unless the command line names a file.
    pub(crate) page: PathBuf,
}

/// A run of a sweep, with its result if it has ended.
type Listed = (Run, Option<RunResult>);

impl SweepFolder {
    /// The sweep in a folder; `None` if the folder contains something else.
    pub(crate) fn open(folder: &Path, extensions: &Extensions) -> Result<Option<Self>, CommandError> {
        let path = folder.join(SWEEP_FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let request: Request =
            serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        let plan = Plan::new_with(&request.source(), &request.overrides, extensions)?;
        let journal = Journal::open(folder, None)
            .with_context(|| format!("cannot read the runs in {}", folder.display()))?;
        Ok(Some(Self { path: folder.to_owned(), request, plan, journal }))
    }

    /// The scenario that was varied.
    pub(crate) const fn request(&self) -> &Request {
        &self.request
    }

    /// The run that the arguments select. If several runs match, lists them and returns `None`.
    pub(crate) fn choose(&self, args: &ViewArgs) -> Result<Option<Chosen>, CommandError> {
        if let Some(number) = args.run {
            let run = usize::try_from(number).ok().filter(|&index| index < self.plan.runs());
            let index = run.ok_or_else(|| {
                let last = self.plan.runs() - 1;
                CommandError::Usage(format!(
                    "--run {number}: allowed: 0 to {last}, as multihop view {} lists them",
                    self.path.display()
                ))
            })?;
            return Ok(Some(self.chosen(&self.plan.run(index)?)));
        }
        let fitting = self.fitting(args)?;
        match &fitting[..] {
            [] => Err(CommandError::Usage(self.nothing_fits(args))),
            [(run, _)] => Ok(Some(self.chosen(run))),
            _ => {
                self.list(&fitting)?;
                Ok(None)
            }
        }
    }

    /// The runs that match the axis values and the seed in the arguments.
    fn fitting(&self, args: &ViewArgs) -> Result<Vec<Listed>, CommandError> {
        let axes = self.plan.keys();
        let place = |key: &String| {
            axes.iter().position(|axis| axis == key).ok_or_else(|| {
                let place = self.path.display();
                CommandError::Usage(format!(
                    "{key} is no axis of the sweep in {place}, allowed: {}",
                    axes.join(", ")
                ))
            })
        };
        let wanted = args.changes.set.iter().map(|(key, value)| Ok((place(key)?, value)));
        let wanted = wanted.collect::<Result<Vec<_>, CommandError>>()?;
        let mut fitting = Vec::new();
        for index in 0..self.plan.runs() {
            let run = self.plan.run(index)?;
            let values = self.plan.values(run.combination);
            let has_values = wanted.iter().all(|&(place, value)| table::value(&values[place]) == *value);
            if has_values && args.changes.seed.is_none_or(|seed| seed == run.scenario.seed) {
                let result = self.journal.entry(&run.key).map(|entry| entry.result);
                fitting.push((run, result));
            }
        }
        Ok(fitting)
    }

    fn nothing_fits(&self, args: &ViewArgs) -> String {
        let mut lines =
            vec![format!("no run of the sweep in {} has these values, allowed:", self.path.display())];
        for (place, axis) in self.plan.keys().iter().enumerate() {
            let mut values: Vec<String> = Vec::new();
            for combination in 0..self.plan.combinations() {
                let value = table::value(&self.plan.values(combination)[place]);
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            lines.push(format!("  --set {axis}= {}", values.join(", ")));
        }
        if args.changes.seed.is_some() {
            let seeds =
                (0..self.plan.runs()).filter_map(|index| Some(self.plan.run(index).ok()?.scenario.seed));
            let bounds = seeds.fold((u64::MAX, 0), |(low, high), seed| (low.min(seed), high.max(seed)));
            lines.push(format!("  --seed {} to {}", bounds.0, bounds.1));
        }
        lines.join("\n")
    }

    fn chosen(&self, run: &Run) -> Chosen {
        let shown = Shown::of(Request::new(&self.request.source(), &run.overrides));
        let shown = match self.journal.entry(&run.key) {
            Some(entry) => shown.with_result(entry.result),
            None => shown,
        };
        Chosen { shown, page: self.path.join(format!("run-{}.html", run.index)) }
    }

    fn list(&self, fitting: &[Listed]) -> Result<(), CommandError> {
        let measured = ["seed", "goodput kb/s", "delivered", "delay ms", "p95 ms"];
        let heading: Vec<String> = ["run".to_owned()]
            .into_iter()
            .chain(self.plan.keys().iter().cloned())
            .chain(measured.map(str::to_owned))
            .collect();
        let rows: Vec<Vec<String>> = fitting
            .iter()
            .map(|(run, result)| {
                let totals = result.as_ref().map(|result| result.totals);
                let delay = totals.and_then(|totals| totals.delay_ms);
                [run.index.to_string()]
                    .into_iter()
                    .chain(self.plan.values(run.combination).iter().map(table::value))
                    .chain([
                        run.scenario.seed.to_string(),
                        table::number(totals.map(|totals| totals.goodput_kbps), 1),
                        table::number(totals.and_then(|totals| totals.delivery_ratio), 4),
                        table::number(delay.map(|delay| delay.mean), 1),
                        table::number(delay.map(|delay| delay.p95), 1),
                    ])
                    .collect()
            })
            .collect();
        output::line(format_args!("{}", table::compared(&heading, &rows, terminal::width_of_output())))?;
        let axis = self.plan.keys().first().map_or_else(String::new, |axis| format!("--set {axis}=... "));
        let folder = self.path.display();
        output::line(format_args!(
            "choose one of these runs: multihop view {folder} --run N, or with {axis}--seed N"
        ))?;
        Ok(())
    }
}
