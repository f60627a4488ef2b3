//! The commands that send packets over real networks, or run real programs over the simulated one.

#[cfg(feature = "simulate")]
use std::ffi::OsString;
#[cfg(feature = "simulate")]
use std::path::PathBuf;

#[cfg(feature = "simulate")]
use clap::Parser;
use clap::Subcommand;
#[cfg(feature = "simulate")]
use multihop_core::Duration;
use multihop_scenario::Extensions;

#[cfg(feature = "simulate")]
use crate::args::{CaptureArgs, ChangeArgs};
use crate::net::args::{KeygenArgs, KeysArgs, PerfArgs, RecvArgs, RouteArgs, SendArgs, TunnelArgs};
use crate::tcp::args::TcpArgs;
use crate::terminal::Verbosity;
#[cfg(feature = "simulate")]
use crate::values::positive_seconds;
use crate::{CommandError, net, tcp};
#[cfg(all(feature = "simulate", target_os = "linux"))]
use crate::{air, emulate, extcap};

/// Subcommands that use networks of the operating system.
#[derive(Subcommand)]
pub(crate) enum NetworkCommand {
    /// Run a scenario in real time, with real programs as its traffic (Linux).
    ///
    /// Each node and host is a network namespace. Packets of programs in these namespaces cross the simulated network.
    /// The emulation starts the programs of the scenario's `[[program]]` tables and the command after `--`, and ends
    /// when the command ends. In the environment of programs and command, $ADDRESS_N is the address of node or host N.
    #[cfg(feature = "simulate")]
    Emulate(EmulateArgs),
    /// Be the radio medium of Linux's Wi-Fi stack, by the kernel module mac80211_hwsim (Linux, as root).
    ///
    /// Node N has the network namespace air-N with the Wi-Fi interface wlan0, for iw, wpa_supplicant and all other
    /// programs. The scenario's channel access, interference and movement decide when and whether frames arrive. The command
    /// after `--` runs outside of these namespaces; without it, the medium exists until the end of the scenario.
    #[cfg(feature = "simulate")]
    Air(AirArgs),
    /// Open a shell, or run a program, at a node of a running emulation (Linux).
    #[cfg(feature = "simulate")]
    Enter(EnterArgs),
    /// Show running emulations to Wireshark as interfaces, by its extcap protocol (Linux).
    ///
    /// Wireshark calls this command through a script in one of its extcap folders (listed under Help, About, Folders).
    /// The script is executable and has two lines: `#!/bin/sh` and `exec multihop extcap "$@"`.
    #[cfg(feature = "simulate")]
    Extcap(ExtcapArgs),
    /// Send files and folders: by a code of four words for another person, or to a host that runs multihop recv.
    Send(SendArgs),
    /// Receive files and folders from multihop send: from a sender with a code, or from all senders with a token or key.
    Recv(RecvArgs),
    /// Measure the goodput to a host that runs multihop perf --listen.
    Perf(PerfArgs),
    /// Forward TCP, UDP or all IP traffic to a gateway, over mesh or TPA.
    Tunnel(TunnelArgs),
    /// Use congestion controls for multi-hop networks in the kernel's TCP, by eBPF (Linux, as root).
    Tcp(TcpArgs),
    /// Run a routing daemon: exchange routes with neighbours and install them in this host's kernel (Linux).
    ///
    /// Installed routes have the protocol number 77 (`ip route show proto 77`). The daemon removes its routes when
    /// it ends, and reads its configuration again on SIGHUP. The daemon needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE,
    /// and drops all other rights.
    Route(RouteArgs),
    /// Make a key pair: write the private key to a file, print the public key.
    Keygen(KeygenArgs),
    /// List, add and remove the keys of known listeners and of callers that may connect.
    Keys(KeysArgs),
}

impl NetworkCommand {
    /// Rejects combinations that clap cannot express.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self {
            #[cfg(feature = "simulate")]
            Self::Emulate(EmulateArgs { json: true, pcap: Some(pcap), .. }) if pcap.as_os_str() == "-" => {
                Err("--json and --pcap - both need standard output")
            }
            #[cfg(feature = "simulate")]
            Self::Emulate(EmulateArgs { control: true, pcap: Some(pcap), .. }) if pcap.as_os_str() == "-" => {
                Err("--control and --pcap - both need standard output")
            }
            _ => Ok(()),
        }
    }
}

/// Runs one of the subcommands.
pub(crate) fn perform(
    command: NetworkCommand,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    match command {
        #[cfg(all(feature = "simulate", target_os = "linux"))]
        NetworkCommand::Emulate(args) => emulate::emulate(&args, verbosity, extensions),
        #[cfg(all(feature = "simulate", target_os = "linux"))]
        NetworkCommand::Air(args) => air::air(&args, verbosity, extensions),
        #[cfg(all(feature = "simulate", target_os = "linux"))]
        NetworkCommand::Enter(args) => emulate::enter(&args),
        #[cfg(all(feature = "simulate", target_os = "linux"))]
        NetworkCommand::Extcap(args) => extcap::extcap(&args),
        #[cfg(all(feature = "simulate", not(target_os = "linux")))]
        NetworkCommand::Air(_)
        | NetworkCommand::Emulate(_)
        | NetworkCommand::Enter(_)
        | NetworkCommand::Extcap(_) => Err(anyhow::anyhow!("emulations need Linux").into()),
        NetworkCommand::Send(args) => net::send(&args, verbosity, extensions),
        NetworkCommand::Recv(args) => net::recv(&args, verbosity, extensions),
        NetworkCommand::Perf(args) => net::perf(&args, verbosity, extensions),
        NetworkCommand::Tunnel(args) => net::tunnel(&args, verbosity, extensions),
        NetworkCommand::Tcp(args) => tcp::tcp(&args),
        #[cfg(target_os = "linux")]
        NetworkCommand::Route(args) => net::route(&args, verbosity, extensions),
        #[cfg(not(target_os = "linux"))]
        NetworkCommand::Route(_) => Err(anyhow::anyhow!("the routing daemon needs Linux").into()),
        NetworkCommand::Keygen(args) => net::keygen(&args),
        NetworkCommand::Keys(args) => net::keys(&args),
    }
}

/// Arguments of `multihop emulate`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct EmulateArgs {
    /// Scenario file or example; - is standard input. With a command, the scenario needs no flows.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// Write result.json, the output of the scenario's programs (program-N.txt), and series.csv if the scenario
    /// has a `[record]` table, into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write packets.txt into the folder of --out, with one line for each packet event.
    #[arg(long, requires = "out")]
    pub(crate) trace: bool,
    /// Write the frames of all nodes into this capture file (pcapng); - is standard output, for wireshark -k -i -.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) capture: CaptureArgs,
    /// Record the packets of the programs for multihop run --replay.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Serve a page that follows the emulation; the emulation begins when a browser opens the page.
    #[arg(long)]
    pub(crate) live: bool,
    /// Take requests from standard input and write replies to standard output: every line is one JSON object. Requests
    /// start programs, cut links or move nodes. If FILE is -, the first line of standard input is the scenario, as
    /// JSON.
    #[arg(long, conflicts_with_all = ["command", "json", "live"])]
    pub(crate) control: bool,
    /// Number or name of the node or host at which the command runs.
    #[arg(long, value_name = "NODE", default_value = "0")]
    pub(crate) node: String,
    /// Fail if more than 1% of the events or packets are more than this many seconds late, or if more than 1% of the time is
    /// lost.
    #[arg(long, value_name = "S", value_parser = positive_seconds, allow_negative_numbers = true)]
    pub(crate) late_limit: Option<Duration>,
    /// Advance time only while all programs wait: results are then the same in each run, on any machine. Programs need dynamic
    /// linking.
    #[arg(long, conflicts_with_all = ["late_limit", "busy_wait"])]
    pub(crate) virtual_time: bool,
    /// Shortly before each event, poll the clock instead of sleeping. Polling makes events less late, and keeps one
    /// processor busy all the time.
    #[arg(long)]
    pub(crate) busy_wait: bool,
    /// Print the result as one JSON document, and everything else on standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// A program and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `multihop air`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct AirArgs {
    /// Scenario file or example, or FILE.cfg of wmediumd; - is standard input. The scenario needs no flows.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    /// Fail if more than 1% of the events or frames are more than this many seconds late, or if more than 1% of the time is
    /// lost.
    #[arg(long, value_name = "S", value_parser = positive_seconds, allow_negative_numbers = true)]
    pub(crate) late_limit: Option<Duration>,
    /// Let each station transmit as if it were alone: frames of others neither delay nor disturb its own.
    #[arg(long)]
    pub(crate) no_contention: bool,
    /// Print the result as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// A program and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Arguments of `multihop enter`.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct EnterArgs {
    /// Number or name of the node or host.
    pub(crate) node: String,
    /// Process ID of the emulation; needed if several emulations run.
    #[arg(long)]
    pub(crate) pid: Option<u32>,
    /// A program and its arguments, in place of a shell.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `multihop extcap`, with the arguments that Wireshark gives.
#[cfg(feature = "simulate")]
#[derive(Parser)]
pub(crate) struct ExtcapArgs {
    /// List the interfaces: one for each running emulation.
    #[arg(long)]
    pub(crate) extcap_interfaces: bool,
    /// List the link types of an interface.
    #[arg(long)]
    pub(crate) extcap_dlts: bool,
    /// List the options of an interface, of which there are none.
    #[arg(long)]
    pub(crate) extcap_config: bool,
    /// Interface whose frames are captured.
    #[arg(long, value_name = "NAME")]
    pub(crate) extcap_interface: Option<String>,
    /// Write frames to the pipe until it is closed.
    #[arg(long)]
    pub(crate) capture: bool,
    /// Pipe to which the frames are written.
    #[arg(long, value_name = "FILE")]
    pub(crate) fifo: Option<PathBuf>,
    /// Filter that Wireshark passes; not used.
    #[arg(long, value_name = "FILTER", allow_hyphen_values = true)]
    pub(crate) extcap_capture_filter: Option<String>,
    /// Version that Wireshark passes; not used.
    #[arg(long, value_name = "VERSION")]
    pub(crate) extcap_version: Option<String>,
}
