//! Implements `multihop send`, which sends files and streams.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use multihop_apps::code::{Ended, Offer};
use multihop_apps::files::{self, Options, Sources, Summary};
use multihop_apps::tunnel::{Address, Host};
use multihop_apps::{dial, reachable_at};
use multihop_net::{Config, Stream};
use multihop_scenario::Extensions;
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::args::{CODES, SendArgs, files_at};
use super::confinement::Confinement;
use super::meter::{Form, Meter, ended, event, failed};
use super::{Kind, first, host, run, settings, spread};
use crate::bars::bars;
use crate::terminal::{Verbosity, note};
use crate::{CommandError, output};

/// Sends files and folders to a receiver, or to the host on which the printed code is entered.
pub(crate) fn send(
    args: &SendArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    if let Some(group) = args.to_all {
        return spread::send(args, group, verbosity);
    }
    let (to, paths) = args.arguments.split_last().expect("clap requires an argument");
    let is_path = is_input(to) || to.exists();
    match settings::mode(&args.net) {
        settings::Mode::Missing => return with_code(args, verbosity, extensions),
        // The token in the environment does not belong to this transfer.
        settings::Mode::Inherited if is_path => return with_code(args, verbosity, extensions),
        settings::Mode::Inherited | settings::Mode::Given => {}
    }
    let to = receiver(to).map_err(CommandError::Usage)?;
    if paths.is_empty() {
        return Err(CommandError::Usage(format!("nothing to send: pass PATH before the host {to}")));
    }
    let config = settings::connecting(&args.net, &args.transfer.usual(), extensions)?;
    run(Kind::Task, &Confinement::none(), verbosity, &args.net.log, async {
        let sources = sources(args, paths).map_err(anyhow::Error::from)?;
        let left_out = sources.left_out();
        let stream = connect(args, &to, &config).await;
        let stream = stream
            .with_context(|| format!("cannot connect to {to}"))
            .inspect_err(|error| failed(&args.transfer, &to.to_string(), error))?;
        let dial = async || dial(&to, &config).await;
        let sent = lasting_transfer(args, verbosity, (sources, paths), stream, dial).await;
        finish(sent.map_err(anyhow::Error::from)?, left_out)
    })
}

/// Sends to whoever has the code.
fn with_code(args: &SendArgs, verbosity: Verbosity, extensions: &Extensions) -> Result<(), CommandError> {
    let paths = &args.arguments;
    if args.wait {
        let text = "--wait goes with a host to send to, and with --token, --key or --plain".to_owned();
        return Err(CommandError::Usage(text));
    }
    if let Some(last) = paths.last().filter(|last| !is_input(last) && !last.exists()) {
        let text = format!(
            "'{}' is not a file or folder; to send to a host, pass --token, --key or --plain as well",
            last.display()
        );
        return Err(CommandError::Usage(text));
    }
    let config = settings::with_code(&args.net, &args.transfer.usual(), extensions)?;
    run(Kind::Task, &Confinement::none(), verbosity, &args.net.log, async {
        let first = sources(args, paths).map_err(anyhow::Error::from)?;
        let (left_out, mut first) = (first.left_out(), Some(first));
        let offer = open(args, config).await?;
        show(args, verbosity, &offer)?;
        let send = async |stream| -> anyhow::Result<_> {
            let sources = first.take().map_or_else(|| sources(args, paths), Ok)?;
            Ok(transfer(args, verbosity, sources, stream).await?)
        };
        // Standard input can be read only once.
        let once = paths.iter().any(|path| is_input(path));
        let retry = |error: &anyhow::Error| {
            let may = !once
                && matches!(error.downcast_ref(), Some(error) if !matches!(error, files::Error::Here(_)));
            if may {
                eprintln!("multihop: {error}; the code is still valid");
            }
            may
        };
        let sent = offer.serve(send, retry).await.inspect_err(|error| {
            if error.is::<Ended>() {
                failed(&args.transfer, "", error);
            }
        });
        finish(sent?, left_out)
    })
}

/// Listens for a receiver with a new code.
async fn open(args: &SendArgs, config: Config) -> anyhow::Result<Offer> {
    let any = Address { host: Host::Ip(Ipv4Addr::UNSPECIFIED.into()), port: CODES };
    let at = first(args.listen.as_ref().unwrap_or(&any)).await?;
    let lifetime = args.expire.unwrap_or(LIFETIME);
    let opened = match Offer::open(at, config.clone(), lifetime).await {
        // Another process on this host is sending.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && args.listen.is_none() => {
            Offer::open(SocketAddr::new(at.ip(), 0), config, lifetime).await
        }
        opened => opened,
    };
    opened.with_context(|| format!("cannot listen on {at}"))
}

/// Prints the command for the other host.
fn show(args: &SendArgs, verbosity: Verbosity, offer: &Offer) -> anyhow::Result<()> {
    let (code, local) = (offer.code(), offer.local_addr());
    let lifetime = args.expire.unwrap_or(LIFETIME).as_secs_f64();
    let command = format!("multihop recv {code}");
    let at = |address| format!("{command} --at {}", host(address, local.port(), CODES));
    let elsewhere: Vec<_> = reachable_at(local).into_iter().map(at).collect();
    if args.transfer.json {
        let members = json!({
            "code": code.to_string(), "address": local, "seconds": lifetime, "recv": command, "recv_at": elsewhere,
        });
        event("code", "", members);
        return Ok(());
    }
    output::line(format_args!("code: {code}"))?;
    if let Some(problem) = offer.unseen() {
        note(format_args!(
            "the receiver cannot find this host in the local network and needs --at: {problem}"
        ));
    }
    if verbosity.quiet {
        return Ok(());
    }
    output::line(format_args!("on the other host, in the same network:\n  {command}\nelsewhere:"))?;
    elsewhere.iter().try_for_each(|command| output::line(format_args!("  {command}")))?;
    output::line(format_args!("the code is valid for one transfer that begins within {lifetime:.0} s"))
}

fn receiver(argument: &Path) -> Result<Address, String> {
    let text = argument.to_str().ok_or_else(|| "HOST[:PORT] is not valid UTF-8".to_owned())?;
    files_at(text)
        .map_err(|problem| format!("'{text}' is neither a file, a folder nor HOST[:PORT]: {problem}"))
}

/// Connects, with retries within the patience.
async fn connect(args: &SendArgs, to: &Address, config: &Config) -> io::Result<Stream> {
    let patience = args.transfer.patience;
    if args.wait {
        return files::dial_within(&async || dial(to, config).await, Instant::now() + patience).await;
    }
    timeout(patience, dial(to, config)).await.unwrap_or_else(|_| {
        let text = format!("the peer did not answer within {} s", patience.as_secs_f64());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    })
}

/// Sends over this connection, and over others that `dial` opens; returns the result as a line, unless it is
/// not printed. Standard input, which can be read only once, is sent over the first connection.
async fn lasting_transfer(
    args: &SendArgs,
    verbosity: Verbosity,
    (first, paths): (Sources, &[PathBuf]),
    stream: Stream,
    dial: impl AsyncFn() -> io::Result<Stream>,
) -> Result<Option<String>, files::Error> {
    if paths.iter().any(|path| is_input(path)) {
        return transfer(args, verbosity, first, stream).await;
    }
    let mut first = Some(first);
    let list = || first.take().map_or_else(|| sources(args, paths), Ok);
    let peer = stream.peer_addr().to_string();
    metered(args, verbosity, peer, async |options, report| {
        files::send_lasting(stream, dial, list, options, report).await
    })
    .await
}

/// Sends over this connection alone; returns the result as a line, if it is to be printed.
async fn transfer(
    args: &SendArgs,
    verbosity: Verbosity,
    sources: Sources,
    stream: Stream,
) -> Result<Option<String>, files::Error> {
    let peer = stream.peer_addr().to_string();
    metered(args, verbosity, peer, async |options, report| {
        files::send_over(stream, sources, options, report).await
    })
    .await
}

/// Shows the progress of a transfer; returns the result as a line, if it is to be printed.
async fn metered(
    args: &SendArgs,
    verbosity: Verbosity,
    peer: String,
    send: impl AsyncFnOnce(Options, files::Report<'_>) -> Result<Summary, files::Error>,
) -> Result<Option<String>, files::Error> {
    let options = Options { patience: args.transfer.patience, ..Options::default() };
    let mut meter = Meter::new(&bars(), Form::of(&args.transfer, verbosity), peer.clone());
    tracing::info!(peer, "transfer began");
    let begin = Instant::now();
    let sent = send(options, &mut |progress| meter.show(progress)).await;
    let summary = sent.inspect_err(|error| failed(&args.transfer, &peer, error))?;
    ended(&peer, &summary, begin.elapsed());
    Ok(meter.end(&summary).filter(|_| !verbosity.quiet))
}

/// Prints the result of a transfer; an error if links were left out.
fn finish(sent: Option<String>, left_out: usize) -> Result<(), CommandError> {
    if let Some(sentence) = sent {
        output::line(format_args!("sent {sentence}"))?;
    }
    if left_out > 0 { Err(CommandError::LeftOut(left_out)) } else { Ok(()) }
}

fn sources(args: &SendArgs, paths: &[PathBuf]) -> Result<Sources, files::Error> {
    let mut sources = Sources::new();
    if let Some(links) = args.links {
        sources = sources.links(links.into());
    }
    for path in paths {
        if is_input(path) {
            sources.add_stream(&args.name, Box::new(tokio::io::stdin()))?;
        } else {
            sources.add(path)?;
        }
    }
    Ok(sources)
}

/// Whether a path means standard input.
fn is_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Time for which a code is valid.
const LIFETIME: Duration = Duration::from_secs(600);
