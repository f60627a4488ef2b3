//! The commands for real networks.

pub(crate) mod args;
mod keygen;
mod keys;
mod meter;
mod perf;
mod recv;
#[cfg(target_os = "linux")]
mod route;
#[cfg(target_os = "linux")]
mod route_page;
#[cfg(target_os = "linux")]
mod route_status;
mod send;
mod settings;
mod tunnel;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use multihop_net::text::printable;
use multihop_net::tunnel::Address;
use multihop_net::{Token, TpaListener, reachable_at};
use multihop_scenario::Extensions;
#[cfg(not(target_os = "linux"))]
use multihop_scenario::{RouterSettings, Source};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::debug_fn;

use args::NetArgs;
pub(crate) use keygen::keygen;
pub(crate) use keys::keys;
pub(crate) use perf::perf;
pub(crate) use recv::recv;
#[cfg(target_os = "linux")]
pub(crate) use route::{check as check_route, route};
pub(crate) use send::send;
pub(crate) use tunnel::tunnel;

use crate::terminal::Verbosity;
use crate::{CommandError, output};

/// Checks the configuration of a routing daemon; returns what it describes.
#[cfg(not(target_os = "linux"))]
pub(crate) fn check_route(source: &Source) -> Result<String, CommandError> {
    Ok(RouterSettings::load(source, &[]).map(|settings| settings.protocol.to_owned())?)
}

/// Runs a command until it ends or a signal interrupts it.
fn run(
    verbosity: Verbosity,
    work: impl Future<Output = Result<(), CommandError>>,
) -> Result<(), CommandError> {
    log(verbosity.verbose);
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let result = runtime.block_on(async {
        let interrupted = interrupted()?;
        tokio::select! {
            result = work => result,
            signal = interrupted => Err(CommandError::Interrupted { signal, kept: String::new() }),
        }
    });
    // The last resets and ACKs must leave. Standard input is not waited for.
    runtime.block_on(async { tokio::time::sleep(FAREWELL).await });
    runtime.shutdown_background();
    result
}

/// Resolves to the number of the signal that ends the program.
fn interrupted() -> anyhow::Result<impl Future<Output = i32>> {
    let listen = |kind| signal(kind).context("cannot handle signals");
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
        }
    })
}

/// Opens the listener and prints what the peer needs; returns the token that it has made, if any.
async fn listen(
    address: &Address,
    args: &NetArgs,
    usual: settings::Usual<'_>,
    extensions: &Extensions,
) -> Result<(TpaListener, Option<Token>), CommandError> {
    let (listener, token) = open(address, args, usual, extensions).await?;
    announce(&listener, token.as_ref(), print)?;
    Ok((listener, token))
}

fn print(line: String) -> anyhow::Result<()> {
    output::line(format_args!("{line}"))
}

/// Opens the listener; returns the token that it has made, if any.
async fn open(
    address: &Address,
    args: &NetArgs,
    usual: settings::Usual<'_>,
    extensions: &Extensions,
) -> Result<(TpaListener, Option<Token>), CommandError> {
    let (config, token) = settings::listening(args, usual, extensions)?;
    let at = first(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let listener = TpaListener::bind(at, config).await.with_context(|| format!("cannot listen on {at}"))?;
    Ok((listener, token))
}

/// Prints what the peer needs.
fn announce(
    listener: &TpaListener,
    token: Option<&Token>,
    say: impl Fn(String) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    say(format!("listening on {}", listener.local_addr()))?;
    // What callers see at first contact.
    if let Some(key) = listener.key() {
        say(format!("key: {key}"))?;
    }
    token.map_or(Ok(()), |token| say(format!("token: {token}")))
}

/// The commands for the other host, one for each address of this one; `command` makes them of `HOST[:PORT]` and the
/// options that both ends need.
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

/// `HOST[:PORT]` for the command line of another host; `usual` is the port that it need not say.
fn host(address: IpAddr, port: u16, usual: u16) -> String {
    match address {
        IpAddr::V4(address) if port == usual => address.to_string(),
        IpAddr::V6(address) if port == usual => format!("[{address}]"),
        address => SocketAddr::new(address, port).to_string(),
    }
}

/// Writes the log to standard error: warnings, and more with `--verbose`.
fn log(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    // The embedding program may have installed its own.
    let _ = tracing::subscriber::set_global_default(lines(level, std::io::stderr));
}

/// One line for each event. What peers have sent cannot control the terminal, or look like another line.
fn lines(
    level: tracing::Level,
    writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static,
) -> impl tracing::Subscriber + Send + Sync {
    let fields = debug_fn(|writer, field, value| {
        let value = printable(&format!("{value:?}"));
        if field.name() == "message" { write!(writer, "{value}") } else { write!(writer, "{field}={value}") }
    });
    tracing_subscriber::fmt()
        .fmt_fields(fields.delimited(" "))
        .with_max_level(level)
        .with_writer(writer)
        .with_target(false)
        .without_time()
        .finish()
}

/// One for the socket, one for files.
const WORKERS: usize = 2;
/// For the last datagrams to leave: a few times the delay of a delayed ACK.
const FAREWELL: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn control_characters_do_not_reach_the_log() {
        let written = Lines::default();
        let to = written.clone();
        let evil = "a\u{1b}[2J\r\n\u{7f}\u{9b}31m\u{85}\u{2028}\u{202e}\u{2066}z";
        tracing::subscriber::with_default(lines(tracing::Level::WARN, move || to.clone()), || {
            tracing::warn!(wanted = %evil, quoted = evil, "{evil}");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let line = text.strip_suffix('\n').unwrap();
        assert!(!line.contains(multihop_net::text::is_unprintable), "{line:?}");
        assert!(line.contains("wanted=a\\u{1b}[2J") && line.ends_with("z\""), "{line}");
    }
}
