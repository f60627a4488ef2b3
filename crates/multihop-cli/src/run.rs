//! `multihop run`.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use multihop_scenario::{Extensions, Scenario, Source};
use multihop_sim::Outputs;
use multihop_sim::results::RunResult;

use crate::args::RunArgs;
use crate::progress::ProgressDisplay;
use crate::{CommandError, output, table};

/// Runs one scenario once.
pub(crate) fn run(args: &RunArgs, extensions: &Extensions) -> Result<(), CommandError> {
    let source = Source::from_file(&args.file)?;
    let scenario = Scenario::load_with(&source, &args.overrides(), extensions)?;
    if scenario.record.is_some() && args.out.is_none() {
        eprintln!("series of the [record] table are not written: pass --out DIR");
    }
    let outputs = outputs(args, &scenario)?;
    let mut progress = ProgressDisplay::new(&scenario.name);
    let result = multihop_sim::run(&scenario, outputs, &mut |share| progress.show(share));
    drop(progress);
    let result = result.map_err(anyhow::Error::from)?;
    if let Some(folder) = &args.out {
        write(&folder.join("result.json"), &result)?;
    }
    if args.json {
        output::json(&result, false)?
    } else {
        output::line(format_args!("{}", table::run(&result)))?
    }
    Ok(())
}

/// The output files that the arguments ask for.
fn outputs(args: &RunArgs, scenario: &Scenario) -> anyhow::Result<Outputs> {
    let Some(folder) = &args.out else { return Ok(Outputs::default()) };
    output::folder(folder)?;
    let file = |wanted: bool, name: &str| -> anyhow::Result<Option<Box<dyn Write + Send>>> {
        if wanted { Ok(Some(Box::new(output::file(&folder.join(name))?))) } else { Ok(None) }
    };
    Ok(Outputs {
        trace: file(args.trace, "packets.txt")?,
        pcap: file(args.pcap, "packets.pcapng")?,
        record: file(scenario.record.is_some(), "series.csv")?,
    })
}

fn write(path: &Path, result: &RunResult) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(result).context("cannot write the result as JSON")?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}
