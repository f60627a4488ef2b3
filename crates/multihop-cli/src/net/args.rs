//! What can be typed after the commands that use real networks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, ArgGroup, Args, Parser};
use multihop_net::tunnel::{self, Address, Entrance, Host, Rule};

use crate::values::key_value;

/// `multihop send`.
#[derive(Parser)]
pub(crate) struct SendArgs {
    /// Files and folders; - is standard input.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Host of the receiver, and its port if that is not 7450.
    #[arg(value_name = "HOST[:PORT]", value_parser = files_at)]
    pub(crate) to: Address,
    /// Name of the file that standard input becomes.
    #[arg(long, value_name = "NAME", default_value = "stdin")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    #[command(flatten)]
    pub(crate) net: NetArgs,
}

/// `multihop recv`.
#[derive(Parser)]
pub(crate) struct RecvArgs {
    /// Where to listen; a host without a port takes 7450.
    #[arg(long, value_name = "HOST[:PORT]", default_value = "0.0.0.0", value_parser = files_at)]
    pub(crate) listen: Address,
    /// Folder to write to, made if it is not there; - is standard output, for one file.
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
    /// End after the first transfer that is complete.
    #[arg(long)]
    pub(crate) once: bool,
    /// Replace files that are there with other contents.
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    #[command(flatten)]
    pub(crate) net: NetArgs,
}

/// What both ends of a transfer know.
#[derive(Args)]
pub(crate) struct TransferArgs {
    /// Give up when the other end has not been heard for this time, s.
    #[arg(long, value_name = "S", default_value = "120", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) patience: Duration,
    /// Print only errors, and what is left out.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `multihop perf`.
#[derive(Parser)]
#[command(group(ArgGroup::new("end").args(["server", "listen"]).required(true)))]
pub(crate) struct PerfArgs {
    /// Host of the other end, and its port if that is not 7451.
    #[arg(value_name = "HOST[:PORT]", value_parser = perf_at)]
    pub(crate) server: Option<Address>,
    /// Be the other end, and listen here; a host without a port takes 7451.
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        num_args = 0..=1,
        default_missing_value = "0.0.0.0",
        value_parser = perf_at,
        conflicts_with_all = ["reverse", "time", "bytes", "interval", "json"]
    )]
    pub(crate) listen: Option<Address>,
    /// The other end sends.
    #[arg(long, short)]
    pub(crate) reverse: bool,
    /// Send for this time, s; 10 if neither this nor --bytes is given.
    #[arg(long, short, value_name = "S", value_parser = seconds, conflicts_with = "bytes", allow_negative_numbers = true)]
    pub(crate) time: Option<Duration>,
    /// Send this many bytes; k, M and G stand for thousands.
    #[arg(long, short = 'n', value_name = "N", value_parser = bytes, allow_negative_numbers = true)]
    pub(crate) bytes: Option<u64>,
    /// Time between two lines, s.
    #[arg(long, short, value_name = "S", default_value = "1", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) interval: Duration,
    /// Print the result as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) net: NetArgs,
}

/// `multihop tunnel`.
#[derive(Parser)]
#[command(group(ArgGroup::new("end").args(["gateway", "listen"]).required(true)))]
pub(crate) struct TunnelArgs {
    /// Host of the gateway, and its port if that is not 7452.
    #[arg(value_name = "HOST[:PORT]", value_parser = tunnel_at, requires = "entrances")]
    pub(crate) gateway: Option<Address>,
    /// Be the gateway, and listen here; a host without a port takes 7452.
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        num_args = 0..=1,
        default_missing_value = "0.0.0.0",
        value_parser = tunnel_at,
        requires = "allow",
        conflicts_with_all = ["forward", "socks", "fallback_tcp"]
    )]
    pub(crate) listen: Option<Address>,
    /// What a gateway connects to: web.example:80, 10.0.0.0/8:1-1023, localhost:22, *:*. Nothing else.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "gateway")]
    pub(crate) allow: Vec<Rule>,
    /// Carry what comes to a local port to one target.
    #[arg(long, value_name = "[ADDRESS:]PORT:HOST:PORT", group = "entrances")]
    pub(crate) forward: Vec<Entrance>,
    /// Serve SOCKS5 at a local port.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = tunnel::local, group = "entrances")]
    pub(crate) socks: Vec<SocketAddr>,
    /// Connect to targets by plain TCP, without protection, where the gateway does not answer.
    #[arg(long)]
    pub(crate) fallback_tcp: bool,
    #[command(flatten)]
    pub(crate) net: NetArgs,
}

impl TransferArgs {
    /// TPA waits as long as the transfer does.
    pub(crate) fn usual(&self) -> [(&'static str, String); 1] {
        [("user_timeout", format!("{:?}", self.patience.as_secs_f64()))]
    }
}

/// `multihop keygen`.
#[derive(Parser)]
pub(crate) struct KeygenArgs {
    /// File for the private key. One that is there already stays as it is.
    pub(crate) file: PathBuf,
}

/// Who the other end may be, and how TPA works: the same for all commands.
#[derive(Args)]
pub(crate) struct NetArgs {
    /// Protect nothing: anybody may connect, read along and change what is sent.
    #[arg(long, group = "security")]
    pub(crate) plain: bool,
    /// The secret that the listening end prints, which makes one if it gets none of these three. MULTIHOP_TOKEN
    /// does as well.
    #[arg(long, value_name = "WORD", group = "security")]
    pub(crate) token: Option<String>,
    /// File with our private key, from multihop keygen.
    #[arg(long, value_name = "FILE", group = "security")]
    pub(crate) key: Option<PathBuf>,
    /// The public key that the other end must have.
    #[arg(long, value_name = "KEY", requires = "key")]
    pub(crate) peer: Option<String>,
    /// File of the peers whose keys are known, in place of the one in the data folder of the user.
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "peer")]
    pub(crate) known_peers: Option<PathBuf>,
    /// Set a parameter of TPA, by its name in scenario files: cwnd_max=12, user_timeout=60, kind=tpa-ap-2.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Say more of what happens; twice for even more.
    #[arg(long, short, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

fn files_at(text: &str) -> Result<Address, String> {
    address(text, FILES)
}

fn perf_at(text: &str) -> Result<Address, String> {
    address(text, PERF)
}

fn tunnel_at(text: &str) -> Result<Address, String> {
    address(text, TUNNEL)
}

/// A host with its port, or with the port that a command has.
fn address(text: &str, port: u16) -> Result<Address, String> {
    match (text.parse::<Address>(), text.parse::<Host>()) {
        (Ok(address), _) => Ok(address),
        (Err(_), Ok(host)) => Ok(Address { host, port }),
        (Err(problem), Err(_)) => Err(problem),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| "allowed: a number above 0".to_owned())
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, scale) = match text.strip_suffix(['k', 'M', 'G']) {
        Some(digits) if text.ends_with('k') => (digits, 1_000),
        Some(digits) if text.ends_with('M') => (digits, 1_000_000),
        Some(digits) => (digits, 1_000_000_000),
        None => (text, 1),
    };
    let bytes = digits.parse().ok().and_then(|number: u64| number.checked_mul(scale));
    bytes
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| "allowed: a whole number above 0, and k, M or G".to_owned())
}

/// Port of `recv`.
const FILES: u16 = 7450;
/// Port of the other end of a measurement.
const PERF: u16 = 7451;
/// Port of a gateway.
const TUNNEL: u16 = 7452;
