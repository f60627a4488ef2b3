//! The commands for real networks.

pub(crate) mod args;
mod confinement;
mod keygen;
mod keys;
mod log;
mod meter;
mod metrics;
mod perf;
mod perf_document;
mod recv;
#[cfg(target_os = "linux")]
mod route;
#[cfg(target_os = "linux")]
mod route_metrics;
#[cfg(target_os = "linux")]
mod route_page;
#[cfg(target_os = "linux")]
mod route_status;
mod send;
mod settings;
mod signals;
mod spread;
mod tunnel;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use multihop_apps::reachable_at;
use multihop_apps::tunnel::Address;
use multihop_net::{Config, Listener, Token};
use multihop_scenario::Extensions;
#[cfg(all(feature = "simulate", not(target_os = "linux")))]
use multihop_scenario::Source;
use signal_hook::consts::SIGTERM;
use tokio::runtime::Builder;

use args::{LogArgs, NetArgs};
use confinement::Confinement;
pub(crate) use keygen::keygen;
pub(crate) use keys::keys;
pub(crate) use perf::perf;
pub(crate) use recv::recv;
#[cfg(all(feature = "simulate", target_os = "linux"))]
pub(crate) use route::check as check_route;
#[cfg(target_os = "linux")]
pub(crate) use route::route;
pub(crate) use send::send;
pub(crate) use tunnel::tunnel;

use crate::terminal::Verbosity;
use crate::{CommandError, output};

/// Always refuses the configuration of a routing daemon, which runs on Linux only.
#[cfg(all(feature = "simulate", not(target_os = "linux")))]
pub(crate) fn check_route(
    _: &Source,
    _: &[(String, String)],
    _: &Extensions,
) -> Result<String, CommandError> {
    Err(CommandError::Usage("the configuration of a routing daemon is checked on Linux only".to_owned()))
}

/// Effect of SIGTERM on a command's exit code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// SIGTERM interrupts unfinished work, so the command ends with exit code 143.
    Task,
    /// SIGTERM ends the command with exit code 0, because a service runs until it is stopped.
    Service,
}

/// Runs a command until it ends or a signal ends it.
fn run(
    kind: Kind,
    confinement: &Confinement,
    verbosity: Verbosity,
    args: &LogArgs,
    work: impl Future<Output = Result<(), CommandError>>,
) -> Result<(), CommandError> {
    log::log(verbosity, args);
    let mut runtime = Builder::new_multi_thread();
    confinement.confine_threads(&mut runtime);
    let runtime = runtime.worker_threads(WORKERS).enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let result = runtime.block_on(async {
        let ended = signals::ending()?;
        tokio::select! {
            result = work => result,
            signal = ended => match kind {
                Kind::Service if signal == SIGTERM => Ok(()),
                _ => Err(CommandError::Interrupted { signal, kept: String::new() }),
            },
        }
    });
    // The last resets and ACKs must leave the host. Standard input is not awaited.
    runtime.block_on(async { tokio::time::sleep(LINGER_TIME).await });
    runtime.shutdown_background();
    result
}

/// A problem with the input of a command, in one line.
fn problem(error: CommandError) -> String {
    match error {
        CommandError::Input(problems) => problems.to_string(),
        CommandError::Usage(problem) | CommandError::Taken(problem) => problem,
        CommandError::Other(error) => format!("{error:#}"),
        CommandError::Reported | CommandError::LeftOut(_) | CommandError::Interrupted { .. } => {
            unreachable!("reading input neither reports nor waits")
        }
    }
}

/// Opens the listener and prints the commands for the peer; returns the generated token, if there is one.
async fn listen(
    address: &Address,
    args: &NetArgs,
    usual: settings::Usual<'_>,
    extensions: &Extensions,
    adjust: impl FnOnce(&mut Config),
) -> Result<(Listener, Option<Token>), CommandError> {
    let (listener, token) = open(address, args, usual, extensions, adjust).await?;
    announce(&listener, token.as_ref(), print)?;
    Ok((listener, token))
}

fn print(line: String) -> anyhow::Result<()> {
    output::line(format_args!("{line}"))
}

/// Opens the listener; returns the generated token, if there is one.
async fn open(
    address: &Address,
    args: &NetArgs,
    usual: settings::Usual<'_>,
    extensions: &Extensions,
    adjust: impl FnOnce(&mut Config),
) -> Result<(Listener, Option<Token>), CommandError> {
    let (mut config, token) = settings::listening(args, usual, extensions)?;
    adjust(&mut config);
    let at = first(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let listener = Listener::bind(at, config).await.with_context(|| format!("cannot listen on {at}"))?;
    Ok((listener, token))
}

/// Prints the commands for the peer.
fn announce(
    listener: &Listener,
    token: Option<&Token>,
    say: impl Fn(String) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    say(format!("listening on {}", listener.local_addr()))?;
    // Callers see this key at first contact.
    if let Some(key) = listener.key() {
        say(format!("key: {key}"))?;
    }
    token.map_or(Ok(()), |token| say(format!("token: {token}")))
}

/// The commands for the other host, one for each address of this host. `command` creates a command from
/// `HOST[:PORT]` and the options that both ends need.
fn commands(
    (local, usual): (SocketAddr, u16),
    args: &NetArgs,
    token: Option<&Token>,
    command: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let secret = match token {
        Some(token) => format!("--token {token}"),
        None if args.plain => "--plain".to_owned(),
        None if args.key.is_some() => "--key FILE".to_owned(),
        None => "--token WORD".to_owned(),
    };
    let transport = args.transport.as_ref().map(|name| format!(" --transport {name}")).unwrap_or_default();
    let options = secret + &transport;
    let of = |address: IpAddr| command(&host(address, local.port(), usual), &options);
    reachable_at(local).into_iter().map(of).collect()
}

/// Prints the commands for the other host.
fn advise(commands: Vec<String>, say: impl Fn(String) -> anyhow::Result<()>) -> anyhow::Result<()> {
    say("on the other host:".to_owned())?;
    commands.into_iter().try_for_each(|command| say(format!("  {command}")))
}

/// The first address of a host.
async fn first(address: &Address) -> anyhow::Result<SocketAddr> {
    address.look_up().await?.first().copied().context("the name resolves to no address")
}

/// `HOST[:PORT]` for the command line of another host; the port is left out if it is `usual`.
fn host(address: IpAddr, port: u16, usual: u16) -> String {
    match address {
        IpAddr::V4(address) if port == usual => address.to_string(),
        IpAddr::V6(address) if port == usual => format!("[{address}]"),
        address => SocketAddr::new(address, port).to_string(),
    }
}

/// Number of threads of the runtime: one for the socket, one for files.
const WORKERS: usize = 2;
/// Time for the last datagrams to leave the host, a few times the delay of a delayed ACK.
const LINGER_TIME: Duration = Duration::from_millis(100);
