//! The arguments of `multihop tcp`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Arguments of `multihop tcp`.
#[derive(Parser)]
pub(crate) struct TcpArgs {
    #[command(subcommand)]
    pub(crate) command: TcpCommand,
}

/// Subcommands of `multihop tcp`.
#[derive(Subcommand)]
pub(crate) enum TcpCommand {
    /// Load the congestion controls for the whole machine, until multihop tcp unload or the next boot.
    ///
    /// A program selects a control by name, as in iperf3 -C mh_ap. ip route and sysctl select a
    /// control for other programs.
    Load(LoadArgs),
    /// Remove the congestion controls from the kernel. Open connections keep their control until they end.
    Unload,
    /// Show the connections that use one of the congestion controls.
    Status(StatusArgs),
    /// Run one program whose TCP connections use a congestion control, without loading it for other programs.
    Run(TcpRunArgs),
}

/// Arguments of `multihop tcp load`.
#[derive(Parser)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) links: LinkArgs,
    /// Read headers of arriving packets only for connections of this cgroup (version 2); by default for all
    /// connections. Without these headers the number of hops is unknown, and mh_adtcp behaves as NewReno.
    #[arg(long, value_name = "DIR")]
    pub(crate) cgroup: Option<PathBuf>,
}

/// Properties of links that the controls cannot find out themselves.
#[derive(Parser)]
pub(crate) struct LinkArgs {
    /// Bit rate of the links, Mb/s.
    #[arg(long, value_name = "MBPS", default_value = "2", value_parser = kilobits)]
    pub(crate) bit_rate: u32,
}

/// Arguments of `multihop tcp status`.
#[derive(Parser)]
pub(crate) struct StatusArgs {
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `multihop tcp run`.
#[derive(Parser)]
pub(crate) struct TcpRunArgs {
    #[command(flatten)]
    pub(crate) links: LinkArgs,
    /// Congestion control that the program's connections use.
    #[arg(long, value_name = "NAME", default_value = "mh_ap")]
    pub(crate) control: ControlName,
    /// Write a row of CSV to this file for every ACK that the connections receive.
    #[arg(long, value_name = "FILE")]
    pub(crate) samples: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Names of the controls.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum ControlName {
    /// Adaptive pacing of segments (TCP-AP).
    #[value(name = "mh_ap")]
    Ap,
    /// Window of at most one segment for every four hops of the path.
    #[value(name = "mh_clamp")]
    Clamp,
    /// Control law of mesh: a sending rate set by queueing delay.
    #[value(name = "mh_mesh")]
    Mesh,
    /// ADTCP: keeps the window after losses without congestion; the other end must use mh_adtcp, too.
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
