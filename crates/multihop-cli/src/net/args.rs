//! Arguments of the commands for real networks.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use multihop_apps::files::SymbolicLinks;
use multihop_apps::spread::GROUP;
use multihop_apps::tunnel::{self, Address, ClassRule, Entrance, Host, Net, Rule};
use multihop_net::PublicKey;

use crate::args::exit_codes;
use crate::values::key_value;

/// Arguments of `multihop send`.
#[derive(Parser)]
#[command(after_help = exit_codes!("3 the command left something out"), override_usage = "multihop send [OPTIONS] PATH...\n       \
    multihop send [OPTIONS] PATH... HOST[:PORT] <--token WORD | --key FILE | --plain>\n       \
    multihop send [OPTIONS] FILE --to-all[=GROUP] --key FILE --shared-key FILE")]
pub(crate) struct SendArgs {
    /// Files and folders; - is standard input. Without a host, the command prints a code of four words, with which
    /// multihop recv on the other host fetches the files. With --token, --key or --plain, the last argument is the host
    /// that runs multihop recv; the default port is 7450.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) arguments: Vec<PathBuf>,
    /// With a code: address to listen on; the default port is 7453, or any free port if 7453 is taken.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = codes_at, conflicts_with = "security")]
    pub(crate) listen: Option<Address>,
    /// With a code: seconds after which the code can no longer be used to start a transfer; default 600.
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true, conflicts_with = "security")]
    pub(crate) expire: Option<Duration>,
    /// Wait for up to --patience until the receiver listens. Without this option, a receiver that does not listen is an
    /// error.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Send one file to all nodes that run multihop recv --group, over several hops. GROUP is the multicast or broadcast
    /// address of the group; default 239.192.74.57:7457.
    #[arg(
        long,
        value_name = "GROUP",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "239.192.74.57:7457",
        value_parser = group,
        requires = "shared_key",
        conflicts_with_all = ["listen", "expire", "wait", "name", "links"]
    )]
    pub(crate) to_all: Option<SocketAddr>,
    /// With --to-all: number of receivers for which to wait before the file is sent.
    #[arg(long, value_name = "N", default_value = "1", requires = "to_all", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) expect: u16,
    #[command(flatten)]
    pub(crate) group: GroupArgs,
    /// Name under which the receiver stores standard input.
    #[arg(long, value_name = "NAME", default_value = "stdin")]
    pub(crate) name: String,
    /// Treatment of symbolic links in folders. Without this option links are left out and the exit code is 3.
    #[arg(long, value_name = "WHAT")]
    pub(crate) links: Option<LinksArg>,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    #[command(flatten)]
    pub(crate) net: NetArgs,
}

/// Treatment of symbolic links in folders that are sent.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LinksArg {
    /// Leave symbolic links out.
    Skip,
    /// Send symbolic links as links, except those that may lead out of the folder.
    Keep,
    /// Send the files to which symbolic links point.
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

/// Arguments of `multihop recv`.
#[derive(Parser)]
#[command(after_help = exit_codes!())]
pub(crate) struct RecvArgs {
    /// Code of four words that multihop send printed. The command fetches the files offered under this code, and ends.
    #[arg(value_name = "WORDS", conflicts_with_all = ["listen", "once", "security", "silent"])]
    pub(crate) words: Vec<String>,
    /// With a code: host of the sender; the default port is 7453. Without this option the command searches the local
    /// network for the sender (IPv4).
    #[arg(long, value_name = "HOST[:PORT]", value_parser = codes_at, requires = "words")]
    pub(crate) at: Option<Address>,
    /// Address to listen on; the default port is 7450.
    #[arg(long, value_name = "HOST[:PORT]", default_value = "0.0.0.0", value_parser = files_at)]
    pub(crate) listen: Address,
    /// Receive files of multihop send --to-all, and relay them to other members. GROUP is the multicast or broadcast
    /// address of the group; default 239.192.74.57:7457.
    #[arg(
        long,
        value_name = "GROUP",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "239.192.74.57:7457",
        value_parser = group,
        requires = "shared_key",
        conflicts_with_all = ["words", "listen", "silent", "metrics"]
    )]
    pub(crate) group: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) group_options: GroupArgs,
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
    pub(crate) metrics: MetricsArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    #[command(flatten)]
    pub(crate) net: NetArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// Options of members of a group.
#[derive(Args)]
pub(crate) struct GroupArgs {
    /// With a group: interface over which to send and receive, for example wlan0. Can be repeated. By default the operating
    /// system selects the interface. Linux.
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
}

/// Whether a command that goes on for long is confined.
#[derive(Args, Clone, Copy)]
pub(crate) struct SandboxArgs {
    /// Run without the sandbox: keep all rights, and access to all files and system calls, after the start. For
    /// debugging, and for user-defined protocols and name lookups that need more than the sandbox allows.
    #[arg(long)]
    pub(crate) no_sandbox: bool,
}

/// Options of both ends of a transfer.
#[derive(Args)]
pub(crate) struct TransferArgs {
    /// Give up after this many seconds without a packet from the peer, also while connecting. The two ends may have
    /// different values: each end sends keep-alive packets often enough for the other.
    #[arg(long, value_name = "S", default_value = "120", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) patience: Duration,
    /// Show the progress even if standard error is not a terminal: a line per second.
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) progress: bool,
    /// Print events as lines of JSON on standard output.
    #[arg(long, conflicts_with_all = ["quiet", "progress"])]
    pub(crate) json: bool,
}

/// Arguments of `multihop perf`.
#[derive(Parser)]
#[command(after_help = exit_codes!(), group(ArgGroup::new("end").args(["server", "listen"]).required(true)))]
pub(crate) struct PerfArgs {
    /// Host that runs multihop perf --listen; the default port is 7451.
    #[arg(value_name = "HOST[:PORT]", value_parser = perf_at)]
    pub(crate) server: Option<Address>,
    /// Listen on this address; the default port is 7451.
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
    /// Number of simultaneous connections in each direction. The output has a row for each connection and one for their
    /// sum.
    #[arg(long, short = 'P', value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=128))]
    pub(crate) parallel: u8,
    /// Send UDP datagrams at a given rate instead of a stream, to measure the losses of the path. The datagrams contain
    /// zeros, are not protected, and use a port of their own.
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

/// Arguments of `multihop tunnel`.
#[derive(Parser)]
#[command(
    after_help = exit_codes!(),
    group(ArgGroup::new("end").args(["gateways", "to_targets", "listen"]).required(true)),
    group(ArgGroup::new("entrances").multiple(true)),
    group(ArgGroup::new("permits").multiple(true))
)]
pub(crate) struct TunnelArgs {
    /// Host of the gateway; the default port is 7452. If several gateways are given, the command uses the first
    /// gateway that answers.
    #[arg(value_name = "HOST[:PORT]", value_parser = tunnel_at, requires = "entrances")]
    pub(crate) gateways: Vec<Address>,
    /// Use the host of each target as its gateway: every target host runs multihop tunnel --listen at port 7452.
    #[arg(long, requires = "entrances", conflicts_with = "tun")]
    pub(crate) to_targets: bool,
    /// Be the gateway and listen on this address; the default port is 7452.
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
    /// Targets to which the gateway may connect, such as web.example:80, 10.0.0.0/8:1-1023, localhost:22 or *:*. The
    /// gateway refuses all other targets.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["gateways", "to_targets"], group = "permits")]
    pub(crate) allow: Vec<Rule>,
    /// Listen on a local port and forward its connections to one target.
    #[arg(long, value_name = "[ADDRESS:]PORT:HOST:PORT", group = "entrances")]
    pub(crate) forward: Vec<Entrance>,
    /// Serve SOCKS5 on a local port: TCP, and UDP by UDP ASSOCIATE.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = tunnel::local, group = "entrances")]
    pub(crate) socks: Vec<SocketAddr>,
    /// Accept TCP connections that the firewall redirects to this local port, and forward each to its original
    /// destination. Needs Linux and rules of nftables or iptables.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = tunnel::local, group = "entrances")]
    pub(crate) transparent: Vec<SocketAddr>,
    /// Forward all IP packets between the two hosts: create a TUN interface with this address. Both ends need this
    /// option, with addresses of one network. Needs Linux and root.
    #[arg(long, value_name = "ADDRESS/BITS", groups = ["entrances", "permits"])]
    pub(crate) tun: Option<Net>,
    /// Give flows a class, from 0 (sent first) to 7: 22=0, 8000-8999=6, ef=1 or *=5. FLOWS is the TCP or UDP port of a
    /// target, a range of ports, a DSCP of packets of --tun, or * for all flows. The first match counts; other flows
    /// have class 4. With --class all flows share one connection. Needs the transport mesh; with --tun, each end sets
    /// the classes of the packets that it sends.
    #[arg(long = "class", value_name = "FLOWS=CLASS")]
    pub(crate) classes: Vec<ClassRule>,
    /// Mark packets with the DSCP of their class: radios with EDCA or WMM then send class 0 as voice, 1 and 2 as video,
    /// 3 and 4 as best effort, and 5 to 7 as background traffic, at every hop. Each end marks only the packets that it
    /// sends.
    #[arg(long)]
    pub(crate) dscp: bool,
    /// Connect to targets by TCP, unprotected, if no gateway answers.
    #[arg(long)]
    pub(crate) fallback_tcp: bool,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
    #[command(flatten)]
    pub(crate) net: NetArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

impl TransferArgs {
    /// Default keys of a transfer's transport: TPA gives up no earlier than the transfer.
    pub(crate) fn usual(&self) -> [(&'static str, String); 1] {
        [("user_timeout", format!("{:?}", self.patience.as_secs_f64()))]
    }
}

/// Arguments of `multihop keygen`.
#[derive(Parser)]
pub(crate) struct KeygenArgs {
    /// File for the private key. An existing file is not overwritten.
    pub(crate) file: PathBuf,
    /// Write a shared key instead of a key pair: for --shared-key, or for --key of multihop route. Copy the file to the
    /// other hosts.
    #[arg(long)]
    pub(crate) shared: bool,
}

/// Arguments of `multihop keys`.
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

/// Subcommands of `multihop keys`.
#[derive(Subcommand)]
pub(crate) enum KeysAction {
    /// List the keys of both files.
    List,
    /// Add a key of a listener or of a caller.
    #[command(subcommand)]
    Add(AddKey),
    /// Remove a key of a listener or of a caller.
    #[command(subcommand)]
    Remove(RemoveKey),
}

/// Arguments of `multihop keys add`.
#[derive(Subcommand)]
pub(crate) enum AddKey {
    /// Store the key of a listener, to which this user connects.
    Known {
        /// Host and port of the listener, as passed to send, perf and tunnel.
        #[arg(value_name = "HOST:PORT")]
        name: Address,
        /// Public key of the listener.
        key: PublicKey,
    },
    /// Accept the caller with this key at the listeners of this user.
    Authorized {
        /// The caller's public key.
        key: PublicKey,
        /// Note that identifies the key in the list, and with which multihop keys remove finds it.
        #[arg(default_value = "")]
        note: String,
    },
}

/// Arguments of `multihop keys remove`.
#[derive(Subcommand)]
pub(crate) enum RemoveKey {
    /// Forget the key of a listener.
    Known {
        /// Host and port of the listener, as shown by multihop keys list.
        #[arg(value_name = "HOST:PORT")]
        name: Address,
    },
    /// Refuse the caller with this key from now on.
    Authorized {
        /// Public key of the caller, or the note stored with it.
        #[arg(value_name = "KEY|NOTE")]
        key: String,
    },
}

/// Options of the metrics for Prometheus.
#[derive(Args, Clone)]
pub(crate) struct MetricsArgs {
    /// Serve metrics for Prometheus at this address, such as 127.0.0.1:9464.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

/// Options of the event log.
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
    /// Token: a secret of both ends. A listening end without --plain, --token and --key creates and prints a token. The
    /// environment variable MULTIHOP_TOKEN can also contain the token.
    #[arg(long, value_name = "WORD", group = "security")]
    pub(crate) token: Option<String>,
    /// File with this end's private key, from multihop keygen.
    #[arg(long, value_name = "FILE", group = "security")]
    pub(crate) key: Option<PathBuf>,
    /// File with a secret that both ends have in addition to their keys, from multihop keygen --shared. The
    /// secret protects traffic recorded today against future quantum computers.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) shared_key: Option<PathBuf>,
    /// To listen: answer only callers that have the token or an authorised key. With keys, callers must know this end's
    /// public key beforehand.
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
    /// Transport, by its name in scenario files: mesh, a kind of TPA or TCP, or a user-defined transport. Both ends
    /// must name the same transport, two kinds of TPA, or two kinds of TCP. Without --transport and --set: mesh, or TPA
    /// if the other end has only TPA.
    #[arg(long, value_name = "NAME")]
    pub(crate) transport: Option<String>,
    /// Set a parameter of the transport by its name in scenario files: cwnd_max=12, user_timeout=60. With --set
    /// and without --transport, the transport is TPA.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// To connect: send from this address of this host. With --token or --key a second --local adds a second path, for
    /// example one over Wi-Fi and one over LTE.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) local: Vec<IpAddr>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// The host that receives files.
pub(crate) fn files_at(text: &str) -> Result<Address, String> {
    address(text, FILES)
}

/// Parses `ADDRESS[:PORT]` of a group.
fn group(text: &str) -> Result<SocketAddr, String> {
    let address = text.trim_matches(['[', ']']).parse().map(|address| SocketAddr::new(address, GROUP.port()));
    address
        .or_else(|_| text.parse())
        .map_err(|_| "allowed: ADDRESS or ADDRESS:PORT of multicast or broadcast".to_owned())
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

/// Arguments of `multihop route`.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true, after_help = exit_codes!("4 another multihop route runs in this network namespace"))]
pub(crate) struct RouteArgs {
    #[command(subcommand)]
    pub(crate) question: Option<RouteQuestion>,
    /// Interfaces over which the daemon exchanges messages with neighbours.
    #[arg(value_name = "INTERFACE")]
    pub(crate) interfaces: Vec<String>,
    /// Route IPv6 instead of IPv4. A host can run one daemon for IPv4 and one for IPv6.
    #[arg(long)]
    pub(crate) ipv6: bool,
    /// Configuration in TOML: interfaces, ipv6, group, announce, neighbors, within, table, priority, forward, user, on_demand, and the
    /// table routing as in scenarios.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set a key of the configuration, for example routing.hello_interval=1, or routing.protocol=aodv.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Announce a network behind this host, such as 10.1.0.0/16; the word default announces a default route. Can be
    /// repeated.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) announce: Vec<String>,
    /// Accept messages only from the neighbour whose interface has this address. Can be repeated.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) neighbor: Vec<String>,
    /// File with a key that all hosts share (from multihop keygen --shared). The daemon signs its packets, and ignores
    /// packets without a valid signature.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<String>,
    /// Install routes only to destinations in this network. Can be repeated.
    #[arg(long, value_name = "NETWORK")]
    pub(crate) within: Vec<String>,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// Questions that `multihop route` puts to a running daemon.
#[derive(Clone, Subcommand)]
pub(crate) enum RouteQuestion {
    /// Print the state of the running daemon, or show it on a page.
    Status {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
        /// Serve a page at this address that shows the state and keeps it up to date; default 127.0.0.1:8698.
        #[arg(
            long,
            value_name = "ADDRESS:PORT",
            num_args = 0..=1,
            default_missing_value = "127.0.0.1:8698",
            conflicts_with = "json"
        )]
        page: Option<SocketAddr>,
        /// Ask the daemon that routes IPv6 instead of the one that routes IPv4.
        #[arg(long)]
        ipv6: bool,
    },
    /// Remove the routes of a daemon that was killed.
    Flush {
        /// Remove routes of IPv6 instead of routes of IPv4.
        #[arg(long)]
        ipv6: bool,
    },
    /// Print a shared key as hexadecimal digits, which babeld and BIRD read (hmac-sha256). Keep the digits private.
    Key {
        /// File of `multihop keygen --shared`.
        file: String,
    },
}
