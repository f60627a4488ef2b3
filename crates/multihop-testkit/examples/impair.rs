//! Impaired networks for real programs: `cargo run -p multihop-testkit --example impair -- --help`.

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::{Args, Parser, Subcommand};
use multihop_core::{Duration, Instant};
use multihop_testkit::impaired::{Cut, Relay, Settings};

/// Impaired networks for real programs. The seed decides the faults of each packet.
#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Relay UDP datagrams to another address and back until interrupted.
    Relay {
        /// Address that clients send to.
        #[arg(long, value_name = "ADDR")]
        listen: SocketAddr,
        /// Address that datagrams are relayed to.
        #[arg(long, value_name = "ADDR")]
        to: SocketAddr,
        #[command(flatten)]
        link: LinkArgs,
    },
    /// Join network namespaces into a chain without faults, and run a shell command at both ends; needs root.
    Chain {
        /// Hops between the first namespace (10.0.0.1) and the last (10.0.HOPS-1.2).
        #[arg(long, value_name = "N", default_value_t = 1)]
        hops: u8,
        /// Command in the last namespace: started first, killed when the other one exits.
        #[arg(long, value_name = "COMMAND")]
        far: String,
        /// Command in the first namespace; its exit code is the result.
        #[arg(long, value_name = "COMMAND")]
        near: String,
    },
    /// Join two network namespaces (10.77.0.1 and 10.77.0.2) and run a shell command in each; needs root.
    Path {
        /// Command at 10.77.0.2: started first, killed when the other one exits.
        #[arg(long, value_name = "COMMAND")]
        far: String,
        /// Command at 10.77.0.1; its exit code is the result.
        #[arg(long, value_name = "COMMAND")]
        near: String,
        /// MTU of the interfaces in bytes.
        #[arg(long, value_name = "BYTES", default_value_t = 1500)]
        mtu: u16,
        #[command(flatten)]
        link: LinkArgs,
    },
}

/// The link, the same in both directions, with independent random numbers.
#[derive(Args)]
struct LinkArgs {
    /// Data rate in Mb/s; unlimited unless given.
    #[arg(long, value_name = "MBPS")]
    rate: Option<f64>,
    /// One-way delay in ms.
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    delay: f64,
    /// Length of the queue in packets.
    #[arg(long, value_name = "PACKETS", default_value_t = 50)]
    queue: usize,
    /// Share of packets lost.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    loss: f64,
    /// Mean length of loss bursts in ms (Gilbert's model in time); 0: independent losses.
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    burst: f64,
    /// Share of packets duplicated.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    duplicate: f64,
    /// Share of packets held back for up to 20 ms, and thus reordered.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    reorder: f64,
    /// Share of packets with one bit flipped.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    corrupt: f64,
    /// Interval without connectivity, in seconds since the start; may be repeated.
    #[arg(long, value_name = "FROM:UNTIL")]
    cut: Vec<String>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl LinkArgs {
    fn settings(&self) -> anyhow::Result<Settings> {
        for (name, share) in [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
            ("corrupt", self.corrupt),
        ] {
            ensure!((0.0..=1.0).contains(&share), "--{name} is {share}, allowed: 0 to 1");
        }
        ensure!(self.delay >= 0.0, "--delay is {}, allowed: 0 or more", self.delay);
        ensure!(self.burst >= 0.0, "--burst is {}, allowed: 0 or more", self.burst);
        ensure!(self.rate.is_none_or(|rate| rate > 0.0), "--rate is 0 or less, allowed: above 0");
        Ok(Settings {
            rate: self.rate.map(bits),
            delay: Duration::from_secs_f64(self.delay / 1e3),
            queue: self.queue,
            loss: self.loss,
            burst: Duration::from_secs_f64(self.burst / 1e3),
            duplicate: self.duplicate,
            reorder: self.reorder,
            corrupt: self.corrupt,
            cuts: self.cut.iter().map(|text| cut(text)).collect::<anyhow::Result<_>>()?,
            ..Settings::default()
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be positive; `as` saturates"
)]
fn bits(rate: f64) -> u64 {
    (rate * 1e6) as u64
}

fn cut(text: &str) -> anyhow::Result<Cut> {
    let wrong = || format!("--cut is {text:?}, allowed: FROM:UNTIL in seconds, such as 10:30");
    let (from, until) = text.split_once(':').with_context(wrong)?;
    let (from, until): (f64, f64) = (from.parse().with_context(wrong)?, until.parse().with_context(wrong)?);
    ensure!(0.0 <= from && from <= until, wrong());
    let at = |seconds| Instant::ZERO + Duration::from_secs_f64(seconds);
    Ok(Cut { from: at(from), until: at(until) })
}

fn main() -> anyhow::Result<ExitCode> {
    match Command::parse().what {
        What::Relay { listen, to, link } => {
            let relay = Relay::start(listen, to, link.settings()?, link.seed)
                .with_context(|| format!("cannot relay from {listen} to {to}"))?;
            eprintln!("relay: {} to {to}", relay.address());
            relay.join()?;
            Ok(ExitCode::SUCCESS)
        }
        What::Chain { hops, far, near } => namespaces::chain(hops, &far, &near),
        What::Path { far, near, mtu, link } => namespaces::path(&far, &near, mtu, &link),
    }
}

#[cfg(target_os = "linux")]
mod namespaces {
    use std::process::{self, ExitCode};

    use anyhow::{Context, ensure};
    use multihop_linux::netns::Namespace;
    use multihop_testkit::impaired::{Chain, Path};

    use crate::LinkArgs;

    const NEEDS: &str = "cannot create network namespaces: this needs root, the command ip and /dev/net/tun";

    pub(crate) fn path(far: &str, near: &str, mtu: u16, link: &LinkArgs) -> anyhow::Result<ExitCode> {
        let path = Path::start(&link.settings()?, mtu, link.seed).context(NEEDS)?;
        let code = run(&path.far, far, &path.near, near)?;
        let [there, back] = path.counters();
        eprintln!("{}", serde_json::json!({ "there": there, "back": back }));
        Ok(code)
    }

    pub(crate) fn chain(hops: u8, far: &str, near: &str) -> anyhow::Result<ExitCode> {
        ensure!(hops > 0, "--hops is 0, allowed: 1 or more");
        let chain = Chain::new(hops).context(NEEDS)?;
        run(&chain.hosts[usize::from(hops)], far, &chain.hosts[0], near)
    }

    fn run(last: &Namespace, far: &str, first: &Namespace, near: &str) -> anyhow::Result<ExitCode> {
        let mut server = last.spawn(process::Command::new("sh").args(["-c", &format!("exec {far}")]))?;
        let status = first.spawn(process::Command::new("sh").args(["-c", near]))?.wait()?;
        server.kill()?;
        server.wait()?;
        Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
    }
}

#[cfg(not(target_os = "linux"))]
mod namespaces {
    use std::process::ExitCode;

    use crate::LinkArgs;

    pub(crate) fn path(_: &str, _: &str, _: u16, _: &LinkArgs) -> anyhow::Result<ExitCode> {
        anyhow::bail!("network namespaces and TUN need Linux")
    }

    pub(crate) fn chain(_: u8, _: &str, _: &str) -> anyhow::Result<ExitCode> {
        anyhow::bail!("network namespaces need Linux")
    }
}
