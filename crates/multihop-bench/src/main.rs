//! Speed of the simulator: fixed scenarios in virtual time, each in its own process.
//!
//! Wall-clock time varies with the load of the machine, so instructions are counted as well.

mod cases;
mod cpu;
mod machine;
mod measure;
mod networks;
mod report;
mod rows;
mod scaling;
mod targets;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;

use crate::cases::{CASES, Case};
use crate::machine::Moment;
use crate::measure::{InstructionCounter, Sample, Stretch, events_before};
use crate::networks::Size;
use crate::rows::{Memory, Report, Row};
use crate::scaling::Scaling;

/// Run fixed scenarios; count events, frames, instructions, time and memory.
#[derive(Parser)]
struct Args {
    /// Fewer and shorter runs.
    #[arg(long)]
    quick: bool,
    /// Only the scenarios whose name contains this.
    #[arg(long, value_name = "NAME", default_value = "")]
    filter: String,
    /// File to which the results are written as JSON.
    #[arg(long, value_name = "FILE", default_value = "out/bench.json")]
    json: PathBuf,
    /// Run one scenario once in this process and print its counts, for example under a profiler.
    #[arg(long, value_name = "NAME", requires = "seconds")]
    one: Option<String>,
    /// With --one: simulated seconds of the run.
    #[arg(long, value_name = "S", requires = "one")]
    seconds: Option<f64>,
    /// With --one: simulated seconds at the start that are not measured.
    #[arg(long, value_name = "S", requires = "one", default_value_t = 0.0)]
    from: f64,
    /// With --one: number of nodes, instead of the scenario's.
    #[arg(long, value_name = "N", requires = "one")]
    nodes: Option<u32>,
    /// With --one: seed of the run.
    #[arg(long, value_name = "N", requires = "one", default_value_t = 1)]
    seed: u32,
    /// With --one, under callgrind: count instructions only in the measured interval.
    #[arg(long, requires = "one")]
    counted: bool,
    /// With --one: measure what the lists of a result have (nodes, links, queues).
    #[arg(long, requires = "one")]
    lists: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if cfg!(debug_assertions) {
        bail!("a debug build cannot be measured: use --release");
    }
    if let (Some(name), Some(seconds)) = (&args.one, args.seconds) {
        let sample = one(&args, Case::named(name)?, seconds)?;
        return Ok(writeln!(io::stdout(), "{}", serde_json::to_string(&sample)?)?);
    }
    let report = measure(&args)?;
    writeln!(io::stdout(), "{}", report::text(&report))?;
    write_json(&args.json, &report)
}

fn one(args: &Args, case: &Case, seconds: f64) -> anyhow::Result<Sample> {
    let size = Size { nodes: args.nodes.unwrap_or(case.nodes), seed: args.seed };
    Stretch { case, size, times: [args.from, seconds] }.run(args.counted, args.lists)
}

fn measure(args: &Args) -> anyhow::Result<Report> {
    let counter = InstructionCounter::find();
    if counter.is_none() {
        eprintln!("valgrind is not installed: instructions are not counted");
    }
    let cases: Vec<_> = CASES.iter().filter(|case| case.name.contains(&args.filter)).collect();
    let scales = scaling::NAME.contains(&args.filter);
    if cases.is_empty() && !scales {
        bail!("no scenario has {:?} in its name, there are: {}", args.filter, cases::names());
    }
    let before = Moment::now();
    let scaling = if scales {
        eprintln!("{}", scaling::NAME);
        let (seconds, rounds) = if args.quick { (5.0, 1) } else { (20.0, 5) };
        Scaling::measure(Case::named("mobile-50-aodv")?, seconds, rounds)?
    } else {
        None
    };
    let mut rows = Vec::new();
    for (done, case) in cases.iter().enumerate() {
        eprintln!("{}/{} {}", done + 1, cases.len(), case.name);
        let quick = case.quick();
        let case = if args.quick { &quick } else { *case };
        rows.push(row(case, counter.as_ref())?);
    }
    let machine = before.zip(Moment::now()).map(|(before, after)| before.until(after));
    Ok(Report { rows, scaling, machine })
}

fn row(case: &Case, counter: Option<&InstructionCounter>) -> anyhow::Result<Row> {
    let samples: Vec<_> = (0..RUNS).map(|_| Sample::of(case)).collect::<Result<_, _>>()?;
    let events = samples[0].events - events_before(case, case.timed[0])?;
    let cost = counter.map(|counter| counter.count(case)).transpose()?;
    Ok(Row::new(case, &samples, events, cost, memory(case)?))
}

/// Measures the peak memory in separate runs.
fn memory(case: &Case) -> anyhow::Result<Memory> {
    let peak = |nodes, seconds| {
        let stretch = Stretch { case, size: Size { nodes, seed: 1 }, times: [0.0, seconds] };
        stretch.in_a_child().map(|sample| sample.peak_bytes)
    };
    let [once, longer] = targets::WATCHED;
    let over_time = match case.watched {
        true => peak(case.nodes, once)?.zip(peak(case.nodes, longer)?).map(<[u64; 2]>::from),
        false => None,
    };
    let few = case.nodes / 10;
    let of_few = match case.nodes >= MANY {
        true => peak(few, if case.watched { once } else { case.timed[1] })?.map(|bytes| (few, bytes)),
        false => None,
    };
    Ok(Memory { peak_bytes: None, peak_bytes_over_time: over_time, peak_bytes_of_few: of_few })
}

fn write_json(file: &Path, report: &Report) -> anyhow::Result<()> {
    let describe = || format!("cannot write {}", file.display());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(describe)?;
    }
    fs::write(file, report::json(report)?).with_context(describe)
}

/// Number of runs of each scenario.
const RUNS: usize = 3;
/// Number of nodes from which memory per node is reported.
const MANY: u32 = 100;
