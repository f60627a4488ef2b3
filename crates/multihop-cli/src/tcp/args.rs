//! The arguments of `multihop tcp`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// `multihop tcp`.
#[derive(Parser)]
pub(crate) struct TcpArgs {
    #[command(subcommand)]
    pub(crate) command: TcpCommand,
}

/// What to do with the controls.
#[derive(Subcommand)]
pub(crate) enum TcpCommand {
    /// Load the controls for the whole machine, until unload or the next start.
    ///
    /// Programs choose them by name, such as iperf3 -C mh_ap; ip route and sysctl choose them for others.
    Load(LoadArgs),
    /// Remove the controls. Connections that use one keep it until they end.
    Unload,
    /// Show the connections that use a control.
    Status(StatusArgs),
    /// Run a program whose TCP connections use a control, and nothing else does.
    Run(TcpRunArgs),
}

/// `multihop tcp load`.
#[derive(Parser)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) links: LinkArgs,
    /// Read arriving packets, for the length of paths and for ADTCP, only of connections of this cgroup (version 2); by
    /// default of all.
    #[arg(long, value_name = "DIR")]
    pub(crate) cgroup: Option<PathBuf>,
}

/// What the controls cannot find out.
#[derive(Parser)]
pub(crate) struct LinkArgs {
    /// Bit rate of the links, Mb/s.
    #[arg(long, value_name = "MBPS", default_value = "2", value_parser = kilobits)]
    pub(crate) bit_rate: u32,
}

/// `multihop tcp status`.
#[derive(Parser)]
pub(crate) struct StatusArgs {
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `multihop tcp run`.
#[derive(Parser)]
pub(crate) struct TcpRunArgs {
    #[command(flatten)]
    pub(crate) links: LinkArgs,
    /// The control.
    #[arg(long, value_name = "NAME", default_value = "mh_ap")]
    pub(crate) control: ControlName,
    /// Write every ACK that the connections get into this file, as CSV.
    #[arg(long, value_name = "FILE")]
    pub(crate) samples: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Names of the controls.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ControlName {
    /// Adaptive pacing (TCP-AP).
    #[value(name = "mh_ap")]
    Ap,
    /// A window of a quarter of the hops.
    #[value(name = "mh_clamp")]
    Clamp,
    /// The control law of mesh: a rate, from the delay in queues.
    #[value(name = "mh_mesh")]
    Mesh,
    /// ADTCP: the window stays after losses without congestion; the other end uses it as well.
    #[value(name = "mh_adtcp")]
    Adtcp,
}

/// A rate in Mb/s, as kb/s.
fn kilobits(text: &str) -> Result<u32, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.001..=1e6).contains(rate));
    let rate = rate.ok_or("allowed: a number from 0.001 to 1000000")?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range has been checked")]
    Ok((rate * 1e3).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::kilobits;

    #[test]
    fn bit_rates_are_numbers_within_bounds() {
        assert_eq!((kilobits("2"), kilobits("5.5"), kilobits("0.001")), (Ok(2000), Ok(5500), Ok(1)));
        for wrong in ["0", "-2", "1e7", "NaN", "fast"] {
            assert_eq!(kilobits(wrong), Err("allowed: a number from 0.001 to 1000000".to_owned()), "{wrong}");
        }
    }
}
