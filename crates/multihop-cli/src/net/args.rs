//! The arguments of the commands for real networks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use multihop_apps::files::SymbolicLinks;
use multihop_apps::tunnel::{self, Address, Entrance, Host, Net, Rule};
use multihop_net::PublicKey;

use crate::args::EXIT_CODES;
use crate::values::key_value;

/// `multihop send`.
#[derive(Parser)]
#[command(after_help = EXIT_CODES, override_usage = "multihop send [OPTIONS] PATH...\n       \
    multihop send [OPTIONS] PATH... HOST[:PORT] <--token WORD | --key FILE | --plain>")]
pub(crate) struct SendArgs {
    /// Files and folders; - is standard input. Without a host, a code of four words is printed, which the other host
    /// passes to multihop recv. With --token, --key or --plain, the last argument is the host that runs multihop
    /// recv; its port is 7450 unless given.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) arguments: Vec<PathBuf>,
    /// With a code: address to listen on; the default port is 7453, or another one if that is taken.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = codes_at, conflicts_with = "security")]
    pub(crate) listen: Option<Address>,
    /// With a code: seconds after which nobody can begin to use it; default 600.
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true, conflicts_with = "security")]
    pub(crate) expire: Option<Duration>,
    /// Wait until the receiver listens, for up to --patience. Without it, a receiver that is not there is an error.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Name under which the receiver stores standard input.
    #[arg(long, value_name = "NAME", default_value = "stdin")]
    pub(crate) name: String,
    /// What becomes of symbolic links in folders. Without this option they are left out and the exit code is 3.
    #[arg(long, value_name = "WHAT")]
    pub(crate) links: Option<LinksArg>,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    #[command(flatten)]
    pub(crate) net: NetArgs,
}

/// What becomes of symbolic links.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LinksArg {
    /// Leave them out.
    Skip,
    /// Send them as links, except those that may lead out of the folder.
    Keep,
    /// Send what they point to.
    Follow,
}

impl From<LinksArg> for SymbolicLinks {
    fn from(arg: LinksArg) -> Self {
        match arg {
            LinksArg::Skip => Self::Skip,
            LinksArg::Keep => Self::Keep,
            LinksArg::Follow => Self::Follow,
        }
    }
}

/// `multihop recv`.
#[derive(Parser)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RecvArgs {
    /// The code that multihop send printed: four words. Fetches its files, and ends.
    #[arg(value_name = "WORDS", conflicts_with_all = ["listen", "once", "security", "silent"])]
    pub(crate) words: Vec<String>,
    /// With a code: the host of the sender; its port is 7453 unless given. Without this option the sender is searched
    /// in the local network (IPv4).
    #[arg(long, value_name = "HOST[:PORT]", value_parser = codes_at, requires = "words")]
    pub(crate) at: Option<Address>,
    /// Address to listen on; the port is 7450 unless given.
    #[arg(long, value_name = "HOST[:PORT]", default_value = "0.0.0.0", value_parser = files_at)]
    pub(crate) listen: Address,
    /// Folder to write to, created if missing; - is standard output, for one file. With a code the default is the
    /// current folder.
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present = "words",
        default_value = ".",
        hide_default_value = true
    )]
    pub(crate) to: PathBuf,
    /// Exit after the first complete transfer.
    #[arg(long)]
    pub(crate) once: bool,
    /// Replace existing files whose contents differ.
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    #[command(flatten)]
    pub(crate) net: NetArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// Whether a command that goes on for long is confined.
#[derive(Args, Clone, Copy)]
pub(crate) struct SandboxArgs {
    /// Keep all rights, files and system calls after the start: for debugging, and for transports and name services
    /// that need more than multihop.
    #[arg(long)]
    pub(crate) no_sandbox: bool,
}

/// Options of both ends of a transfer.
#[derive(Args)]
pub(crate) struct TransferArgs {
    /// Give up after this many seconds without anything from the peer, also while connecting. The two ends may have
    /// different values: each sends signs of life often enough for the other.
    #[arg(long, value_name = "S", default_value = "120", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) patience: Duration,
    /// Show the progress also if standard error is not a terminal: a line per second.
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) progress: bool,
    /// Print events as lines of JSON on standard output.
    #[arg(long, conflicts_with_all = ["quiet", "progress"])]
    pub(crate) json: bool,
}

/// `multihop perf`.
#[derive(Parser)]
#[command(after_help = EXIT_CODES, group(ArgGroup::new("end").args(["server", "listen"]).required(true)))]
pub(crate) struct PerfArgs {
    /// Host of the listening end; its port is 7451 unless given.
    #[arg(value_name = "HOST[:PORT]", value_parser = perf_at)]
    pub(crate) server: Option<Address>,
    /// Listen on this address; the port is 7451 unless given.
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        num_args = 0..=1,
        default_missing_value = "0.0.0.0",
        value_parser = perf_at,
        conflicts_with_all = ["reverse", "bidir", "parallel", "udp", "time", "bytes", "interval", "json"]
    )]
    pub(crate) listen: Option<Address>,
    /// Let the listening end send.
    #[arg(long, short)]
    pub(crate) reverse: bool,
    /// Let both ends send at the same time.
    #[arg(long, conflicts_with = "reverse")]
    pub(crate) bidir: bool,
    /// Use this many connections at the same time in each direction; a row for each, and their sum.
    #[arg(long, short = 'P', value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=128))]
    pub(crate) parallel: u8,
    /// Send UDP datagrams at a given rate instead of a stream, to see what the path loses. They are zeros, unprotected, on
    /// a port of their own.
    #[arg(long, short)]
    pub(crate) udp: bool,
    /// With --udp: bits per second of each connection, with suffix k, M or G; default 1M.
    #[arg(long, short, value_name = "RATE", value_parser = bytes, requires = "udp", allow_negative_numbers = true)]
    pub(crate) bitrate: Option<u64>,
    /// Send for this many seconds; default 10.
    #[arg(long, short, value_name = "S", value_parser = seconds, conflicts_with = "bytes", allow_negative_numbers = true)]
    pub(crate) time: Option<Duration>,
    /// Send this many bytes; the suffixes k, M and G are powers of 1000.
    #[arg(long, short = 'n', value_name = "N", value_parser = bytes, allow_negative_numbers = true)]
    pub(crate) bytes: Option<u64>,
    /// Seconds between two lines of output.
    #[arg(long, short, value_name = "S", default_value = "1", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) interval: Duration,
    /// Print the result as one JSON document.
    #[arg(long, short = 'J')]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) net: NetArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// `multihop tunnel`.
#[derive(Parser)]
#[command(
    after_help = EXIT_CODES,
    group(ArgGroup::new("end").args(["gateways", "to_targets", "listen"]).required(true)),
    group(ArgGroup::new("entrances").multiple(true)),
    group(ArgGroup::new("permits").multiple(true))
)]
pub(crate) struct TunnelArgs {
    /// Host of the gateway; its port is 7452 unless given. Of several, the first that answers is used.
    #[arg(value_name = "HOST[:PORT]", value_parser = tunnel_at, requires = "entrances")]
    pub(crate) gateways: Vec<Address>,
    /// Each target is its own gateway: its host runs multihop tunnel --listen at port 7452.
    #[arg(long, requires = "entrances", conflicts_with = "tun")]
    pub(crate) to_targets: bool,
    /// Be the gateway and listen on this address; the port is 7452 unless given.
    #[arg(
        long,
        value_name = "HOST[:PORT]",
        num_args = 0..=1,
        default_missing_value = "0.0.0.0",
        value_parser = tunnel_at,
        requires = "permits",
        conflicts_with_all = ["forward", "socks", "transparent", "fallback_tcp"]
    )]
    pub(crate) listen: Option<Address>,
    /// Targets that the gateway may connect to: web.example:80, 10.0.0.0/8:1-1023, localhost:22, *:*. All others
    /// are refused.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["gateways", "to_targets"], group = "permits")]
    pub(crate) allow: Vec<Rule>,
    /// Listen on a local port and carry its connections to one target.
    #[arg(long, value_name = "[ADDRESS:]PORT:HOST:PORT", group = "entrances")]
    pub(crate) forward: Vec<Entrance>,
    /// Serve SOCKS5 on a local port: TCP, and UDP by UDP ASSOCIATE.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = tunnel::local, group = "entrances")]
    pub(crate) socks: Vec<SocketAddr>,
    /// Accept TCP connections that the firewall redirects to a local port, and carry each to where it was going. Linux,
    /// with rules of nftables or iptables.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = tunnel::local, group = "entrances")]
    pub(crate) transparent: Vec<SocketAddr>,
    /// Carry all IP packets between the two hosts: create a TUN interface with this address. Both ends need this
    /// option, with addresses of one network. Linux, as root.
    #[arg(long, value_name = "ADDRESS/BITS", groups = ["entrances", "permits"])]
    pub(crate) tun: Option<Net>,
    /// Connect to targets by TCP, unprotected, if no gateway answers.
    #[arg(long)]
    pub(crate) fallback_tcp: bool,
    #[command(flatten)]
    pub(crate) net: NetArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

impl TransferArgs {
    /// TPA gives up no earlier than the transfer.
    pub(crate) fn usual(&self) -> [(&'static str, String); 1] {
        [("user_timeout", format!("{:?}", self.patience.as_secs_f64()))]
    }
}

/// `multihop keygen`.
#[derive(Parser)]
pub(crate) struct KeygenArgs {
    /// File for the private key. An existing file is not overwritten.
    pub(crate) file: PathBuf,
    /// Make a shared key for --shared-key instead, to be copied to the other end.
    #[arg(long)]
    pub(crate) shared: bool,
}

/// `multihop keys`.
#[derive(Parser)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    pub(crate) action: KeysAction,
    #[command(flatten)]
    pub(crate) files: KeyFiles,
}

/// The two files of keys of other hosts.
#[derive(Args)]
pub(crate) struct KeyFiles {
    /// File of the keys of known listeners, instead of multihop/known_peers in the user's data folder.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) known_peers: Option<PathBuf>,
    /// File of the keys of callers that may connect, instead of multihop/authorized_keys in the user's data folder.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) authorized_keys: Option<PathBuf>,
}

/// What `multihop keys` does.
#[derive(Subcommand)]
pub(crate) enum KeysAction {
    /// List both files.
    List,
    /// Add a key.
    #[command(subcommand)]
    Add(AddKey),
    /// Remove a key.
    #[command(subcommand)]
    Remove(RemoveKey),
}

/// `multihop keys add`.
#[derive(Subcommand)]
pub(crate) enum AddKey {
    /// Store the key of a listener, to which this user connects.
    Known {
        /// The listener, as it is given to send, perf and tunnel, with its port.
        #[arg(value_name = "HOST:PORT")]
        name: Address,
        /// Its public key.
        key: PublicKey,
    },
    /// Let a caller connect to the listeners of this user.
    Authorized {
        /// The caller's public key.
        key: PublicKey,
        /// A note, by which the key can be recognised and removed.
        #[arg(default_value = "")]
        note: String,
    },
}

/// `multihop keys remove`.
#[derive(Subcommand)]
pub(crate) enum RemoveKey {
    /// Forget the key of a listener.
    Known {
        /// The listener, as `multihop keys list` shows it.
        #[arg(value_name = "HOST:PORT")]
        name: Address,
    },
    /// No longer accept a caller.
    Authorized {
        /// The caller's public key, or the note beside it.
        #[arg(value_name = "KEY|NOTE")]
        key: String,
    },
}

/// The event log.
#[derive(Args)]
pub(crate) struct LogArgs {
    /// Write events to standard error as lines of JSON.
    #[arg(long)]
    pub(crate) log_json: bool,
}

/// Security and transport: the same for all commands.
#[derive(Args)]
pub(crate) struct NetArgs {
    /// No protection: anybody can connect, eavesdrop and modify traffic.
    #[arg(long, group = "security")]
    pub(crate) plain: bool,
    /// Shared secret. A listening end without --plain, --token and --key creates one and prints it. The
    /// environment variable MULTIHOP_TOKEN can also contain it.
    #[arg(long, value_name = "WORD", group = "security")]
    pub(crate) token: Option<String>,
    /// File with this end's private key, from multihop keygen.
    #[arg(long, value_name = "FILE", group = "security")]
    pub(crate) key: Option<PathBuf>,
    /// File with a secret that both ends have in addition to their keys, from multihop keygen --shared. It protects
    /// what is recorded today against future quantum computers.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) shared_key: Option<PathBuf>,
    /// To listen: answer nobody who does not prove to know the token, or to own an authorised key. With keys, callers
    /// must know this end's key beforehand.
    #[arg(long, conflicts_with = "plain")]
    pub(crate) silent: bool,
    /// Public key that the peer must have.
    #[arg(long, value_name = "KEY", requires = "key")]
    pub(crate) peer: Option<String>,
    /// To connect: file of the keys of known listeners, instead of multihop/known_peers in the user's data folder.
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "peer")]
    pub(crate) known_peers: Option<PathBuf>,
    /// To connect: refuse a listener whose key is not known yet.
    #[arg(long, requires = "key", conflicts_with = "peer")]
    pub(crate) strict: bool,
    /// To listen: file of the keys of callers that may connect, instead of multihop/authorized_keys in the user's
    /// data folder.
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "peer")]
    pub(crate) authorized_keys: Option<PathBuf>,
    /// Transport, by its name in scenario files: mesh, a kind of TPA or TCP, or a user-defined transport. Both ends must
    /// name it, or two kinds of TPA, or two of TCP. Without this option and --set: mesh, or TPA if the other end has
    /// only TPA.
    #[arg(long, value_name = "NAME")]
    pub(crate) transport: Option<String>,
    /// Set a parameter of the transport by its name in scenario files: cwnd_max=12, user_timeout=60. Without
    /// --transport it is one of TPA, which is then used.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// The host that receives files.
pub(crate) fn files_at(text: &str) -> Result<Address, String> {
    address(text, FILES)
}

fn codes_at(text: &str) -> Result<Address, String> {
    address(text, CODES)
}

fn perf_at(text: &str) -> Result<Address, String> {
    address(text, PERF)
}

fn tunnel_at(text: &str) -> Result<Address, String> {
    address(text, TUNNEL)
}

/// A host with its port, or with the command's default port.
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
        .ok_or_else(|| "allowed: a whole number above 0, with suffix k, M or G if needed".to_owned())
}

/// Default port of `recv`.
pub(crate) const FILES: u16 = 7450;
/// Default port of `send` with a code.
pub(crate) const CODES: u16 = 7453;
/// Default port of `perf --listen`.
pub(crate) const PERF: u16 = 7451;
/// Default port of a gateway.
pub(crate) const TUNNEL: u16 = 7452;

/// `multihop route`.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true, after_help = EXIT_CODES)]
pub(crate) struct RouteArgs {
    #[command(subcommand)]
    pub(crate) question: Option<RouteQuestion>,
    /// Names of the interfaces over which it talks to neighbours.
    #[arg(value_name = "INTERFACE")]
    pub(crate) interfaces: Vec<String>,
    /// Routes of IPv6 in place of IPv4; one daemon of each family can run on a host.
    #[arg(long, global = true)]
    pub(crate) ipv6: bool,
    /// Configuration in TOML: interfaces, ipv6, group, announce, neighbors, within, table, priority, forward, user, on_demand, and the
    /// table routing as in scenarios.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set a key of the configuration, for example routing.hello_interval=1, or routing.protocol=aodv.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Announce a network behind this host, or default for the way to all others.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) announce: Vec<String>,
    /// Listen only to the neighbour whose interface has this address. Can be repeated.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) neighbor: Vec<String>,
    /// File with a key that all hosts have (multihop keygen --shared): packets are signed, and others are not used.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<String>,
    /// Make routes only to destinations in this network. Can be repeated.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) within: Vec<String>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// What `multihop route` can be asked.
#[derive(Clone, Copy, Subcommand)]
pub(crate) enum RouteQuestion {
    /// Print the state of the running daemon, or show it in a page.
    Status {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
        /// Serve a page with the state, which changes while one looks, at this address.
        #[arg(
            long,
            value_name = "ADDRESS:PORT",
            num_args = 0..=1,
            default_missing_value = "127.0.0.1:8698",
            conflicts_with = "json"
        )]
        page: Option<SocketAddr>,
    },
    /// Remove the routes that a killed daemon has left.
    Flush,
}
