//! What can be typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Reliable transport over wireless multihop networks, simulated.
#[derive(Parser)]
#[command(name = "multihop", version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is to be done.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run one scenario once.
    Run(RunArgs),
    /// Run every combination of a scenario's `[sweep]` table.
    Sweep(SweepArgs),
    /// Say what is wrong with a scenario, with file, line and column.
    Check {
        /// Scenario file.
        file: PathBuf,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
}

/// `multihop run`.
#[derive(Parser)]
pub(crate) struct RunArgs {
    /// Scenario file.
    pub(crate) file: PathBuf,
    /// Root of the random streams, in place of the scenario's.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Set a key of the scenario, for example topology.hops=8 or flow.*.transport=tcp-2.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Write result.json, and series.csv if the scenario has a `[record]` table, into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write packets.txt into the folder, one line for each packet event.
    #[arg(long, requires = "out")]
    pub(crate) trace: bool,
    /// Write packets.pcapng into the folder, one interface for each node.
    #[arg(long, requires = "out")]
    pub(crate) pcap: bool,
    /// Print the result as one JSON document, and everything else on standard error.
    #[arg(long)]
    pub(crate) json: bool,
}

impl RunArgs {
    /// All that is laid on top of the file.
    pub(crate) fn overrides(&self) -> Vec<(String, String)> {
        let seed = self.seed.map(|seed| ("seed".to_owned(), seed.to_string()));
        self.set.iter().cloned().chain(seed).collect()
    }
}

/// `multihop sweep`.
#[derive(Parser)]
pub(crate) struct SweepArgs {
    /// Scenario file.
    pub(crate) file: PathBuf,
    /// Runs at the same time; one for each processor if not given.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Set a key of the scenario for every run.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Write results.jsonl into this folder. Series and packets come from single runs.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print each result as one line of JSON, and everything else on standard error.
    #[arg(long)]
    pub(crate) json: bool,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("found no equals sign, allowed: KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
