//! `multihop recv`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use indicatif::MultiProgress;
use multihop_net::files::{self, Options, Served, Target, Watcher};
use multihop_net::{Token, TpaListener, reachable_at};
use multihop_scenario::Extensions;
use serde_json::json;

use super::args::{FILES, RecvArgs};
use super::meter::{Form, Meter, event, members, sentence};
use super::{announce, open, run};
use crate::{CommandError, output};

/// Receives files and folders.
pub(crate) fn recv(args: &RecvArgs, extensions: &Extensions) -> Result<(), CommandError> {
    let into_stream = args.to == Path::new("-");
    if !into_stream {
        make(&args.to).with_context(|| format!("cannot create the folder {}", args.to.display()))?;
    }
    // Files of a batch are open at the same time.
    multihop_net::tunnel::raise_limit_of_descriptors();
    run(args.net.verbose, async {
        let say = |line: String| {
            if into_stream {
                eprintln!("{line}");
                return Ok(());
            }
            output::line(format_args!("{line}"))
        };
        if args.transfer.json && into_stream {
            return Err(CommandError::Usage("--json cannot be used with --to -".to_owned()));
        }
        let (listener, token) = open(&args.listen, &args.net, &args.transfer.usual(), extensions).await?;
        if args.transfer.json {
            let addresses = commands(args, listener.local_addr(), token.as_ref());
            let token = token.map(|token| token.to_string());
            let members = json!({ "address": listener.local_addr(), "token": token, "send": addresses });
            event("listening", "", members);
        } else {
            announce(&listener, token.as_ref(), say)?;
            if !args.transfer.quiet {
                say("on the other host:".to_owned())?;
                let commands = commands(args, listener.local_addr(), token.as_ref());
                commands.into_iter().try_for_each(|command| say(format!("  {command}")))?;
            }
        }
        if into_stream { stream(args, &listener).await } else { folder(args, &listener).await }
    })
}

async fn folder(args: &RecvArgs, listener: &TpaListener) -> Result<(), CommandError> {
    let bars = MultiProgress::new();
    let form = Form::of(&args.transfer);
    let begin = |from: SocketAddr| -> Watcher {
        let mut meter = Meter::new(&bars, form, from.to_string());
        Box::new(move |progress| meter.show(progress))
    };
    let mut broken = Ok(());
    let mut end = |Served { from, time, result }| match result {
        Ok(summary) => {
            if form == Form::Json {
                event("end", &from.to_string(), members(&summary, time));
            } else if !args.transfer.quiet {
                broken = output::line(format_args!("received {} from {from}", sentence(&summary, time)));
            }
            if args.once || broken.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        Err(error) => {
            if form == Form::Json {
                event("failed", &from.to_string(), json!({ "error": error.to_string() }));
            }
            eprintln!("multihop: from {from}: {error}");
            ControlFlow::Continue(())
        }
    };
    let end = |done| bars.suspend(|| end(done));
    let served = files::serve(listener, &args.to, options(args), begin, end).await;
    served.context("cannot accept connections any more")?;
    Ok(broken?)
}

/// Writes one file to standard output, from one transfer.
async fn stream(args: &RecvArgs, listener: &TpaListener) -> Result<(), CommandError> {
    let stream = listener.accept().await.context("cannot accept connections any more")?;
    let from = stream.peer_addr().to_string();
    let mut meter = Meter::new(&MultiProgress::new(), Form::of(&args.transfer), from);
    let target = Target::Stream(Box::new(tokio::io::stdout()));
    let received = files::receive(stream, target, options(args), &mut |progress| meter.show(progress)).await;
    match meter.end(&received.map_err(anyhow::Error::from)?) {
        Some(sentence) if !args.transfer.quiet => eprintln!("received {sentence}"),
        _ => {}
    }
    Ok(())
}

fn options(args: &RecvArgs) -> Options {
    Options { overwrite: args.overwrite, patience: args.transfer.patience }
}

/// The commands for the other host, one for each address of this one.
fn commands(args: &RecvArgs, local: SocketAddr, token: Option<&Token>) -> Vec<String> {
    let security = match token {
        Some(token) => format!("--token {token}"),
        None if args.net.plain => "--plain".to_owned(),
        None if args.net.key.is_some() => "--key FILE".to_owned(),
        None => "--token WORD".to_owned(),
    };
    let command = |address: IpAddr| {
        let to = match (local.port(), address) {
            (FILES, IpAddr::V4(address)) => address.to_string(),
            (FILES, IpAddr::V6(address)) => format!("[{address}]"),
            (port, address) => SocketAddr::new(address, port).to_string(),
        };
        format!("multihop send PATH... {to} {security}")
    };
    reachable_at(local).into_iter().map(command).collect()
}

/// Creates the folder but not its parents, so that a mistyped path makes no tree.
fn make(folder: &Path) -> io::Result<()> {
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(io::Error::other("the name exists and is not a folder"))
        }
        made => made,
    }
}
