//! Command line of `multihop`: subcommands and their arguments.

#[cfg(not(all(feature = "network", feature = "simulate")))]
use std::ffi::OsString;
#[cfg(feature = "simulate")]
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[cfg(feature = "simulate")]
use clap::ValueEnum;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
#[cfg(feature = "simulate")]
use multihop_core::Duration;
#[cfg(feature = "simulate")]
use multihop_sim::journal::Shard;

#[cfg(feature = "network")]
use crate::network::NetworkCommand;
use crate::terminal::Verbosity;
#[cfg(feature = "simulate")]
use crate::values::{from_one, from_zero, key_value, positive_seconds, seconds, snap_length};

/// Exit codes for the end of a help text, with the codes that only this command has.
macro_rules! exit_codes {
    ($($own:literal),*) => {
        concat!(
            "Exit codes: 0 success, also of a service ended by SIGTERM; 1 failure; 2 wrong arguments or files; ",
            $($own, "; ",)*
            "128 + N: signal N ended unfinished work."
        )
    };
}
#[cfg(feature = "network")]
pub(crate) use exit_codes;

/// Reliable transport over wireless multi-hop networks, simulated and real.
#[derive(Parser)]
#[command(name = "multihop", version, after_help = exit_codes!(
    "3 send left something out",
    "4 another multihop route runs in this network namespace"
))]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

impl Args {
    /// Rejects combinations that clap cannot express.
    pub(crate) fn check(self) -> Result<Self, clap::Error> {
        #[cfg(feature = "simulate")]
        if let Command::Motion(MotionArgs { format, every: Some(_), .. }) = &self.command
            && ![MotionFormat::Netanim, MotionFormat::Links].contains(format)
        {
            let message = "--every needs --format netanim or --format links";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        #[cfg(feature = "network")]
        if let Command::Network(command) = &self.command {
            command.check().map_err(|message| Self::command().error(ErrorKind::ArgumentConflict, message))?;
        }
        Ok(self)
    }
}

/// Subcommands of `multihop`, with their arguments.
#[derive(Subcommand)]
#[cfg_attr(
    feature = "network",
    expect(clippy::large_enum_variant, reason = "there is one value, and it is moved once")
)]
pub(crate) enum Command {
    /// Run one scenario once.
    #[cfg(feature = "simulate")]
    Run(RunArgs),
    /// Run every combination of a scenario's `[sweep]` table.
    #[cfg(feature = "simulate")]
    Sweep(SweepArgs),
    /// Check scenario files, networks for multihop emulate, and configurations of multihop route; show each problem at
    /// its line.
    #[cfg(feature = "simulate")]
    Check(CheckArgs),
    /// Print the JSON Schema of scenario files.
    #[cfg(feature = "simulate")]
    Schema,
    /// Print one of the built-in example scenarios; without a name, list them.
    #[cfg(feature = "simulate")]
    Example {
        /// Name of the scenario. Other commands accept this name in place of a file.
        name: Option<String>,
    },
    /// Write a commented scenario to start from.
    #[cfg(feature = "simulate")]
    Init {
        /// Path of the file to write. An existing file is not overwritten.
        #[arg(default_value = "scenario.toml")]
        file: PathBuf,
    },
    /// Write a page that shows a run in a browser: map, time line of every frame, series.
    #[cfg(feature = "simulate")]
    View(ViewArgs),
    /// Compare runs or sweeps: paired differences with intervals, and where two runs first differ.
    #[cfg(feature = "simulate")]
    Compare(CompareArgs),
    /// Export the movement of a scenario's nodes for other simulators and viewers.
    #[cfg(feature = "simulate")]
    Motion(MotionArgs),
    #[cfg(feature = "network")]
    #[command(flatten)]
    Network(NetworkCommand),
    /// A command of builds with more features, or none at all.
    #[cfg(not(all(feature = "network", feature = "simulate")))]
    #[command(external_subcommand)]
    Unknown(Vec<OsString>),
    /// Print completions for a shell.
    Completions {
        /// Shell that reads the completions.
        shell: Shell,
    },
    /// Write the manual pages into a folder.
    Manual {
        /// Folder, created if missing.
        folder: PathBuf,
    },
    /// Compare a congestion control with others in 100 networks, with the Python package.
    #[command(disable_help_flag = true)]
    Bench {
        /// Arguments for the Python package.
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<String>,
    },
    /// Search for small networks in which a transport or a routing protocol does badly, with the Python package.
    #[command(disable_help_flag = true)]
    Break {
        /// Arguments for the Python package.
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<String>,
    },
    /// Repeat experiments of published papers, with the Python package multihop-papers.
    #[command(disable_help_flag = true)]
    Papers {
        /// Arguments for the Python package.
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<String>,
    },
}

/// Arguments of `multihop check`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct CheckArgs {
    /// Files or examples; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print every link at the start of the run: distance, received power, signal-to-noise ratio, fastest rate, and
    /// whether the link delivers data frames at the scenario's rate.
    #[arg(long)]
    pub(crate) links: bool,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
}

/// Arguments of `multihop run`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct RunArgs {
    /// Scenario file or example; - is standard input. With --replay: by default, the scenario of the recording.
    #[arg(required_unless_present = "replay")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// Write result.json, run.json for multihop view, and series.csv if the scenario has a `[record]` table, into this
    /// folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write packets.txt into the folder of --out, with one line for each packet event.
    #[arg(long, requires = "out")]
    pub(crate) trace: bool,
    /// Write flow-N.sqlog into the folder of --out for each flow N: the events of its sender in the format qlog.
    #[arg(long, requires = "out")]
    pub(crate) qlog: bool,
    /// Write packets.pcapng into the folder of --out, with one interface for each radio of each node.
    #[arg(long, requires = "out")]
    pub(crate) pcap: bool,
    #[command(flatten)]
    pub(crate) capture: CaptureArgs,
    /// Repeat an emulation in virtual time from a recording that multihop emulate --record wrote.
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Serve a page that follows the run; the run begins when a browser opens the page.
    #[arg(long, conflicts_with = "replay")]
    pub(crate) live: bool,
    /// Write a page that shows the run in a browser: NAME.html, or with --out view.html in its folder.
    #[arg(long)]
    pub(crate) view: bool,
    /// Print the result as one JSON document, and everything else on standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the flows as CSV, and everything else on standard error. With --out also write flows.csv, nodes.csv,
    /// links.csv, queues.csv and runs.csv into its folder.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// The frames of a capture file.
#[cfg(feature = "simulate")]
#[derive(clap::Args)]
pub(crate) struct CaptureArgs {
    /// Capture only at this node, by number or name; may be repeated.
    #[arg(long, value_name = "NODE", requires = "pcap")]
    pub(crate) pcap_node: Vec<String>,
    /// Capture from this time on, in seconds.
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true, requires = "pcap")]
    pub(crate) pcap_from: Option<Duration>,
    /// Capture until this time, in seconds.
    #[arg(long, value_name = "S", value_parser = positive_seconds, allow_negative_numbers = true, requires = "pcap")]
    pub(crate) pcap_until: Option<Duration>,
    /// Keep this many bytes of each packet, radiotap header included.
    #[arg(long, value_name = "BYTES", value_parser = snap_length, allow_negative_numbers = true, requires = "pcap")]
    pub(crate) pcap_length: Option<u32>,
}

/// Arguments of `multihop sweep`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct SweepArgs {
    /// Scenario file or example; - is standard input.
    pub(crate) file: PathBuf,
    /// Number of parallel runs; by default one per processor.
    #[arg(long, value_name = "N", value_parser = from_one, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Set a key of the scenario for every run, also one that the sweep varies.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Write results.jsonl into this folder. Runs in the folder's journal, runs.jsonl, are not repeated. The journal
    /// also contains the recorded series. For packet traces use multihop run.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run part I of N, for job arrays. The part that finishes last writes results.jsonl.
    #[arg(long, value_name = "I/N", requires = "out")]
    pub(crate) shard: Option<Shard>,
    /// Run on a cluster with the Dask scheduler at this address. Needs the Python package.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) on: Option<String>,
    /// Print each result as one line of JSON, and everything else on standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a row for each run as CSV, and everything else on standard error. With --out also write runs.csv,
    /// flows.csv, nodes.csv, links.csv and queues.csv into its folder.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// Arguments of `multihop view`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct ViewArgs {
    /// Scenario file or example; folder of multihop run --out; folder of multihop sweep --out, where --run, or --set and
    /// --seed, select one run; recording of multihop emulate, or its folder. - is standard input.
    #[arg(required_unless_present = "playground")]
    pub(crate) file: Option<PathBuf>,
    /// Write a page in which the reader builds a network and simulates it.
    #[arg(long, conflicts_with_all = ["file", "seed", "set", "run"])]
    pub(crate) playground: bool,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// Write the page into this file; by default NAME.html, or view.html in the folder.
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) out: Option<PathBuf>,
    /// Number of a run in a folder of multihop sweep; multihop view FOLDER lists the runs with their numbers.
    #[arg(long, value_name = "N", value_parser = from_zero, conflicts_with_all = ["seed", "set"], allow_negative_numbers = true)]
    pub(crate) run: Option<u64>,
}

/// Arguments of `multihop compare`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct CompareArgs {
    /// Scenario files, examples or folders of multihop run --out; or folders of multihop sweep --out. All arguments
    /// are compared with the first.
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) names: Vec<PathBuf>,
    /// Run each scenario with the seeds 1 to N.
    #[arg(long, value_name = "N", value_parser = from_one, allow_negative_numbers = true)]
    pub(crate) seeds: Option<NonZeroUsize>,
    /// Number of parallel runs; by default one per processor.
    #[arg(long, value_name = "N", value_parser = from_one, allow_negative_numbers = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Set a key of every scenario.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Write a page that shows the runs side by side.
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) out: Option<PathBuf>,
    /// Print the comparison as one JSON document, and everything else on standard error.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `multihop motion`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct MotionArgs {
    /// Scenario file or example; - is standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// Format in which the movements are written.
    #[arg(long)]
    pub(crate) format: MotionFormat,
    /// Time between two frames of netanim or two rows of a link, in seconds; default 0.5. Only for netanim and links:
    /// the other formats contain every waypoint.
    #[arg(long, value_name = "S", value_parser = positive_seconds, allow_negative_numbers = true)]
    pub(crate) every: Option<Duration>,
    /// Write into this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Formats of movement files.
#[cfg(feature = "simulate")]
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum MotionFormat {
    /// An ns-2 script as written by setdest; ns-3 also reads it.
    Ns2,
    /// The native format of BonnMotion.
    Bonnmotion,
    /// XML for NetAnim, ns-3's viewer.
    Netanim,
    /// CSV with the SNR of all links over time, for radio.measured.
    Links,
}

/// Changes of a scenario's keys.
#[cfg(feature = "simulate")]
#[derive(clap::Args)]
pub(crate) struct ChangeArgs {
    /// Seed of the run, in place of the scenario's.
    #[arg(long, value_name = "N", value_parser = from_zero, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Set a key of the scenario, for example topology.hops=8 or flow.*.transport=tcp-2.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
}

#[cfg(feature = "simulate")]
impl ChangeArgs {
    /// Overrides that the arguments request.
    pub(crate) fn overrides(&self) -> Vec<(String, String)> {
        let seed = self.seed.map(|seed| ("seed".to_owned(), seed.to_string()));
        self.set.iter().cloned().chain(seed).collect()
    }
}
