//! The commands that use real networks.

pub(crate) mod args;
mod bar;
mod keygen;
mod perf;
mod recv;
mod send;
mod settings;
mod tunnel;

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use multihop_net::TpaListener;
use multihop_net::tunnel::Address;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use args::NetArgs;
pub(crate) use keygen::keygen;
pub(crate) use perf::perf;
pub(crate) use recv::recv;
pub(crate) use send::send;
pub(crate) use tunnel::tunnel;

use crate::Failure;

/// Runs a command until it ends, or until somebody ends it.
fn run(verbose: u8, work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    log(verbose);
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let runtime = runtime.context("cannot start")?;
    let result = runtime.block_on(async {
        let interrupted = interrupted()?;
        tokio::select! {
            result = work => result,
            number = interrupted => Err(Failure::Interrupted(number)),
        }
    });
    // Peers are told that we go, or that we have heard that they do. Standard input is not waited for.
    runtime.block_on(async { tokio::time::sleep(FAREWELL).await });
    runtime.shutdown_background();
    result
}

/// The number of the signal that ends us.
fn interrupted() -> anyhow::Result<impl Future<Output = i32>> {
    let listen = |kind| signal(kind).context("cannot listen to signals");
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
        }
    })
}

/// Listens, and says what the other end must be told, by `say`.
async fn listen(
    address: &Address,
    args: &NetArgs,
    usual: settings::Usual<'_>,
    say: impl Fn(String) -> anyhow::Result<()>,
) -> Result<TpaListener, Failure> {
    let (config, token) = settings::listening(args, usual)?;
    let at = first(address).await.with_context(|| format!("cannot listen at {address}"))?;
    let listener = TpaListener::bind(at, config).await.with_context(|| format!("cannot listen at {at}"))?;
    say(format!("listening at {}", listener.local_addr()))?;
    if let Some(token) = token {
        say(format!("token: {token}"))?;
    }
    Ok(listener)
}

/// The first address of a host.
async fn first(address: &Address) -> anyhow::Result<SocketAddr> {
    address.look_up().await?.first().copied().context("the name has no address")
}

/// Log lines go to standard error: what went wrong, and more if asked.
fn log(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    // A program that carries this command may have its own.
    let _ = tracing::subscriber::set_global_default(lines.with_target(false).without_time().finish());
}

/// One moves the socket, the other the files.
const WORKERS: usize = 2;
/// For the last datagrams to leave: some times the interval for which TPA may hold an ACK.
const FAREWELL: Duration = Duration::from_millis(100);
