//! Implements `multihop recv`, which receives files and streams.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use multihop_apps::code::{Code, redeem};
use multihop_apps::files::{self, Options, Served, Target, Watcher};
use multihop_net::{Listener, Stream};
use multihop_sandbox::Needs;
use multihop_scenario::Extensions;
use serde_json::json;

use super::args::{FILES, RecvArgs};
use super::confinement::{Confinement, folders_of_keys};
use super::meter::{Form, Meter, ended, event, failed, members, sentence};
use super::{Kind, advise, announce, commands, metrics, open, print, run, settings, signals, spread};
use crate::bars::bars;
use crate::terminal::Verbosity;
use crate::{CommandError, output};

/// Receives files and folders from every sender that connects, or from the sender with the same code.
pub(crate) fn recv(
    args: &RecvArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let code: Option<Code> = match args.words.join(" ") {
        words if words.is_empty() => None,
        words => {
            Some(words.parse().map_err(|problem| CommandError::Usage(format!("invalid code: {problem}")))?)
        }
    };
    let into_stream = args.to == Path::new("-");
    if args.transfer.json && into_stream {
        return Err(CommandError::Usage("--json cannot be used with --to -".to_owned()));
    }
    if !into_stream {
        make(&args.to).with_context(|| format!("cannot create the folder {}", args.to.display()))?;
    }
    if let Some(group) = args.group {
        return spread::receive(args, group, verbosity);
    }
    metrics::of_transfers(&args.metrics)?;
    // All files of a batch are open at the same time.
    multihop_apps::tunnel::raise_limit_of_descriptors();
    let kind = if code.is_none() && !args.once && !into_stream { Kind::Service } else { Kind::Task };
    let confinement = Confinement::new(args.sandbox, needs(args, into_stream, code.is_some()))?;
    run(kind, &confinement, verbosity, &args.net.log, async {
        let say = |line: String| {
            if into_stream {
                eprintln!("{line}");
                return Ok(());
            }
            print(line)
        };
        if let Some(code) = code {
            confinement.enter()?;
            let config = settings::with_code(&args.net, &args.transfer.usual(), extensions)?;
            let stream = redeem(&code, args.at.as_ref(), config).await.context("cannot fetch by this code");
            let stream = stream.inspect_err(|error| failed(&args.transfer, "", error))?;
            return one(args, verbosity, stream).await;
        }
        let (listener, token) =
            open(&args.listen, &args.net, &args.transfer.usual(), extensions, |_| ()).await?;
        confinement.enter()?;
        let at = (listener.local_addr(), FILES);
        let send = |host: &str, secret: &str| format!("multihop send PATH... {host} {secret}");
        let commands = commands(at, &args.net, token.as_ref(), send);
        if args.transfer.json {
            let token = token.map(|token| token.to_string());
            let members = json!({ "address": listener.local_addr(), "token": token, "send": commands });
            event("listening", "", members);
        } else {
            announce(&listener, token.as_ref(), say)?;
            if !verbosity.quiet {
                advise(commands, say)?;
            }
        }
        let work = async {
            if into_stream {
                let stream = listener.accept().await.context("cannot accept connections any more")?;
                return one(args, verbosity, stream).await;
            }
            folder(args, verbosity, &listener).await
        };
        signals::serving(&listener, &args.net, &args.transfer.usual(), extensions, work).await
    })
}

/// Privileges and files that a listening receiver needs; a receiver with a code also searches for the sender.
fn needs(args: &RecvArgs, into_stream: bool, has_code: bool) -> Needs {
    Needs {
        internet: true,
        read: folders_of_keys(&args.net),
        write: if into_stream { Vec::new() } else { vec![args.to.clone()] },
        names: has_code,
        ..Needs::default()
    }
}

async fn folder(args: &RecvArgs, verbosity: Verbosity, listener: &Listener) -> Result<(), CommandError> {
    let bars = bars();
    let form = Form::of(&args.transfer, verbosity);
    let begin = |from: SocketAddr| -> Watcher {
        let mut meter = Meter::new(&bars, form, from.to_string());
        tracing::info!(peer = %from, "transfer began");
        Box::new(move |progress| meter.show(progress))
    };
    let mut broken = Ok(());
    let mut end = |Served { from, time, result }| match result {
        Ok(summary) => {
            ended(&from, &summary, time);
            if form == Form::Json {
                event("end", &from.to_string(), members(&summary, time));
            } else if !verbosity.quiet {
                broken = output::line(format_args!("received {} from {from}", sentence(&summary, time)));
            }
            if args.once || broken.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        Err(error) => {
            failed(&args.transfer, &from.to_string(), &error);
            tracing::error!(peer = %from, %error, "transfer failed");
            ControlFlow::Continue(())
        }
    };
    let end = |done| bars.suspend(|| end(done));
    let served = files::serve(listener, &args.to, options(args), begin, end).await;
    served.context("cannot accept connections any more")?;
    Ok(broken?)
}

/// Receives over this connection only.
async fn one(args: &RecvArgs, verbosity: Verbosity, mut stream: Stream) -> Result<(), CommandError> {
    let (form, from) = (Form::of(&args.transfer, verbosity), stream.peer_addr().to_string());
    let mut meter = Meter::new(&bars(), form, from.clone());
    tracing::info!(peer = %from, "transfer began");
    let begin = Instant::now();
    let into_stream = args.to == Path::new("-");
    let target = if into_stream {
        Target::Stream(Box::new(tokio::io::stdout()))
    } else {
        Target::Folder(args.to.clone())
    };
    let received =
        files::receive(&mut stream, target, options(args), &mut |progress| meter.show(progress)).await;
    let received = received.inspect_err(|error| failed(&args.transfer, &from, error));
    let summary = received.map_err(anyhow::Error::from)?.with(&stream);
    ended(&from, &summary, begin.elapsed());
    match meter.end(&summary) {
        Some(sentence) if into_stream && !verbosity.quiet => eprintln!("received {sentence}"),
        Some(sentence) if !verbosity.quiet => output::line(format_args!("received {sentence} from {from}"))?,
        _ => {}
    }
    Ok(())
}

fn options(args: &RecvArgs) -> Options {
    Options { overwrite: args.overwrite, patience: args.transfer.patience }
}

/// Creates a folder without its parents, so that a mistyped path creates no tree.
fn make(folder: &Path) -> io::Result<()> {
    match multihop_disk::durable::create_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(io::Error::other("the name exists and is not a folder"))
        }
        made => made,
    }
}
