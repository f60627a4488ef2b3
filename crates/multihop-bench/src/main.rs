//! How fast the simulator is: fixed scenarios in virtual time, each in a process of its own.
//!
//! Wall time varies with whatever else the machine does, so instructions are counted as well.

mod cases;
mod cpu;
mod measure;
mod networks;
mod report;
mod targets;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;

use crate::cases::{CASES, Case};
use crate::measure::{Counter, Sample};
use crate::report::Row;

/// Run fixed scenarios; count events, frames, instructions, time and memory.
#[derive(Parser)]
struct Args {
    /// Shorter and fewer runs.
    #[arg(long)]
    quick: bool,
    /// Only the scenarios whose name contains this.
    #[arg(long, value_name = "NAME", default_value = "")]
    filter: String,
    /// Where the results go.
    #[arg(long, value_name = "FILE", default_value = "out/bench.json")]
    json: PathBuf,
    /// Run one scenario once in this process and print what was counted, for example under a profiler.
    #[arg(long, value_name = "NAME", requires = "seconds")]
    one: Option<String>,
    /// Simulated seconds of that run.
    #[arg(long, value_name = "S", requires = "one")]
    seconds: Option<f64>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if cfg!(debug_assertions) {
        bail!("a debug build says nothing about speed, use --release");
    }
    if let (Some(name), Some(seconds)) = (&args.one, args.seconds) {
        let sample = Sample::take(Case::named(name)?, seconds)?;
        return Ok(writeln!(io::stdout(), "{}", serde_json::to_string(&sample)?)?);
    }
    let counter = Counter::find();
    if counter.is_none() {
        eprintln!("valgrind is not installed: instructions are not counted");
    }
    let cases: Vec<_> = CASES.iter().filter(|case| case.name.contains(&args.filter)).collect();
    if cases.is_empty() {
        bail!("no scenario has {:?} in its name, there are: {}", args.filter, cases::names());
    }
    let mut rows = Vec::new();
    for (done, case) in cases.iter().enumerate() {
        eprintln!("{}/{} {}", done + 1, cases.len(), case.name);
        rows.push(row(case, args.quick, counter.as_ref())?);
    }
    writeln!(io::stdout(), "{}", report::text(&rows))?;
    write_json(&args.json, &rows)
}

fn row(case: &Case, quick: bool, counter: Option<&Counter>) -> anyhow::Result<Row> {
    let (runs, seconds) = if quick { (3, case.seconds / 10.0) } else { (5, case.seconds) };
    let samples: Vec<_> = (0..runs).map(|_| Sample::in_a_child(case, seconds)).collect::<Result<_, _>>()?;
    let cost = counter.map(|counter| counter.count(case)).transpose()?;
    let peaks = if case.watched && !quick { peaks(case)? } else { None };
    Ok(Row::new(case, &samples, cost, peaks))
}

/// Peak memory of a run and of a longer one.
fn peaks(case: &Case) -> anyhow::Result<Option<[u64; 2]>> {
    let [once, longer] = targets::WATCHED.map(|seconds| Sample::in_a_child(case, seconds));
    Ok(once?.peak_bytes.zip(longer?.peak_bytes).map(<[u64; 2]>::from))
}

fn write_json(file: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let describe = || format!("cannot write {}", file.display());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(describe)?;
    }
    fs::write(file, report::json(rows)?).with_context(describe)
}
