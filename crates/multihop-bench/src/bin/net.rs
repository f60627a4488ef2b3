//! Speed of TPA on real sockets: a stream over loopback with both ends in this process, encrypted and plain, with
//! several windows.

use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use multihop_net::{Config, Listener, Security, Stream, Token, Transport, tpa};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Send bytes over loopback; measure wall-clock time, CPU time and datagrams.
#[derive(Parser)]
struct Args {
    /// Megabytes that each run sends, summed over all connections.
    #[arg(long, value_name = "MB", default_value_t = 200)]
    megabytes: usize,
    /// Parallel connections, all to one listener.
    #[arg(long, value_name = "N", default_value_t = 1)]
    connections: usize,
    /// Substring that selects runs by their names; empty selects all.
    #[arg(long, value_name = "NAME", default_value = "")]
    filter: String,
    /// Use a single thread, which is easier to profile.
    #[arg(long)]
    single: bool,
}

/// Name of a run, its largest window, its longest segment, and whether it is encrypted.
const CASES: &[(&str, u8, u16, bool)] = &[
    ("plain, window 3", 3, 1460, false),
    ("plain, window 12", 12, 1460, false),
    ("plain, window 12, 8948-byte segments", 12, 8948, false),
    ("encrypted, window 3", 3, 1460, true),
    ("encrypted, window 12", 12, 1460, true),
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if cfg!(debug_assertions) {
        bail!("a debug build cannot be measured: use --release");
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["loopback", "MB/s", "CPU s/GB", "datagrams", "retransmitted", "RTT us"]);
    for &(name, window, mss, encrypted) in CASES.iter().filter(|case| case.0.contains(&args.filter)) {
        let mut builder = match args.single {
            true => tokio::runtime::Builder::new_current_thread(),
            false => tokio::runtime::Builder::new_multi_thread(),
        };
        let runtime = builder.enable_all().build()?;
        let config = config(window, mss, encrypted)?;
        table.add_row(runtime.block_on(run(name, config, &args))?);
    }
    for column in 1..6 {
        let column = table.column_mut(column).context("the header has six columns")?;
        column.set_cell_alignment(CellAlignment::Right);
    }
    Ok(writeln!(io::stdout(), "{table}")?)
}

fn config(window: u8, mss: u16, encrypted: bool) -> anyhow::Result<Config> {
    let security = if encrypted { Security::Token(Token::generate()?) } else { Security::Plain };
    let mut config = Config::new(security);
    config.transport = Transport::tpa(tpa::Config { cwnd_max: window, mss, ..tpa::Config::net() });
    Ok(config)
}

async fn run(name: &str, config: Config, args: &Args) -> anyhow::Result<Vec<String>> {
    let listener = Listener::bind(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0), config.clone()).await?;
    let addr = listener.local_addr();
    let bytes = args.megabytes * 1_000_000 / args.connections.max(1);
    let (begun, cpu) = (Instant::now(), cpu_seconds().context("no processor times")?);
    let mut tasks = Vec::new();
    for _ in 0..args.connections.max(1) {
        let config = config.clone();
        tasks.push(tokio::spawn(async move { send(Stream::connect(addr, &config).await?, bytes).await }));
        let stream = listener.accept().await?;
        tasks.push(tokio::spawn(async move { receive(stream).await }));
    }
    let (mut datagrams, mut again, mut rtt) = (0, 0, 0.0_f64);
    for task in tasks {
        let (sent, repeated, round_trip) = task.await??;
        (datagrams, again, rtt) = (datagrams + sent, again + repeated, rtt.max(round_trip));
    }
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds().context("no processor times")? - cpu);
    let megabytes = args.megabytes as f64;
    Ok(vec![
        name.to_owned(),
        format!("{:.1}", megabytes / seconds),
        format!("{:.2}", cpu / megabytes * 1e3),
        datagrams.to_string(),
        again.to_string(),
        format!("{:.0}", rtt * 1e6),
    ])
}

/// Datagrams, retransmitted segments, and the round-trip time of one end.
type Counts = (u64, u64, f64);

async fn send(mut stream: Stream, bytes: usize) -> anyhow::Result<Counts> {
    let block = vec![0x5a; CHUNK];
    let mut left = bytes;
    while left > 0 {
        left -= stream.write(&block[..left.min(CHUNK)]).await?;
    }
    stream.shutdown().await?;
    Ok(counts(&stream))
}

async fn receive(mut stream: Stream) -> anyhow::Result<Counts> {
    let mut block = vec![0; CHUNK];
    while stream.read(&mut block).await? > 0 {}
    Ok(counts(&stream))
}

fn counts(stream: &Stream) -> Counts {
    let stats = stream.stats();
    let round_trip = stats.rtt.unwrap_or_default().as_secs_f64();
    (stats.datagrams_sent, stats.counters.retransmitted, round_trip)
}

/// CPU time of this process, user and system.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The fields follow the name, which may contain spaces. The state is the first field, utime and stime are
    // the 12th and 13th.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: f64 = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    Some(ticks / TICKS)
}

/// Clock ticks per second (`getconf CLK_TCK`), 100 on every Linux of the last decades.
const TICKS: f64 = 100.0;
const CHUNK: usize = 64 * 1024;
