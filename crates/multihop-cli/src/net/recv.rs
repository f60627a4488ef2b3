//! `multihop recv`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use multihop_net::code::{Code, redeem};
use multihop_net::files::{self, Options, Served, Target, Watcher};
use multihop_net::{Token, TpaListener, TpaStream, reachable_at};
use multihop_scenario::Extensions;
use serde_json::json;

use super::args::{FILES, RecvArgs};
use super::meter::{Form, Meter, event, failed, members, sentence};
use super::{announce, host, open, run, settings};
use crate::bars::bars;
use crate::terminal::Verbosity;
use crate::{CommandError, output};

/// Receives files and folders: from every sender that connects, or from the one that has this code.
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
    // Files of a batch are open at the same time.
    multihop_net::tunnel::raise_limit_of_descriptors();
    run(verbosity, async {
        let say = |line: String| {
            if into_stream {
                eprintln!("{line}");
                return Ok(());
            }
            output::line(format_args!("{line}"))
        };
        if let Some(code) = code {
            let config = settings::with_code(&args.net, &args.transfer.usual(), extensions)?;
            let stream = redeem(&code, args.at.as_ref(), config).await.context("cannot fetch by this code");
            let stream = stream.inspect_err(|error| failed(&args.transfer, "", error))?;
            return one(args, verbosity, stream).await;
        }
        let (listener, token) = open(&args.listen, &args.net, &args.transfer.usual(), extensions).await?;
        if args.transfer.json {
            let addresses = commands(args, listener.local_addr(), token.as_ref());
            let token = token.map(|token| token.to_string());
            let members = json!({ "address": listener.local_addr(), "token": token, "send": addresses });
            event("listening", "", members);
        } else {
            announce(&listener, token.as_ref(), say)?;
            if !verbosity.quiet {
                say("on the other host:".to_owned())?;
                let commands = commands(args, listener.local_addr(), token.as_ref());
                commands.into_iter().try_for_each(|command| say(format!("  {command}")))?;
            }
        }
        if !into_stream {
            return folder(args, verbosity, &listener).await;
        }
        one(args, verbosity, listener.accept().await.context("cannot accept connections any more")?).await
    })
}

async fn folder(args: &RecvArgs, verbosity: Verbosity, listener: &TpaListener) -> Result<(), CommandError> {
    let bars = bars();
    let form = Form::of(&args.transfer, verbosity);
    let begin = |from: SocketAddr| -> Watcher {
        let mut meter = Meter::new(&bars, form, from.to_string());
        Box::new(move |progress| meter.show(progress))
    };
    let mut broken = Ok(());
    let mut end = |Served { from, time, result }| match result {
        Ok(summary) => {
            if form == Form::Json {
                event("end", &from.to_string(), members(&summary, time));
            } else if !verbosity.quiet {
                broken = output::line(format_args!("received {} from {from}", sentence(&summary, time)));
            }
            if args.once || broken.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        Err(error) => {
            failed(&args.transfer, &from.to_string(), &error);
            eprintln!("multihop: from {from}: {error}");
            ControlFlow::Continue(())
        }
    };
    let end = |done| bars.suspend(|| end(done));
    let served = files::serve(listener, &args.to, options(args), begin, end).await;
    served.context("cannot accept connections any more")?;
    Ok(broken?)
}

/// Receives over this connection only.
async fn one(args: &RecvArgs, verbosity: Verbosity, stream: TpaStream) -> Result<(), CommandError> {
    let (form, from) = (Form::of(&args.transfer, verbosity), stream.peer_addr().to_string());
    let mut meter = Meter::new(&bars(), form, from.clone());
    let into_stream = args.to == Path::new("-");
    let target = if into_stream {
        Target::Stream(Box::new(tokio::io::stdout()))
    } else {
        Target::Folder(args.to.clone())
    };
    let received = files::receive(stream, target, options(args), &mut |progress| meter.show(progress)).await;
    let received = received.inspect_err(|error| failed(&args.transfer, &from, error));
    match meter.end(&received.map_err(anyhow::Error::from)?) {
        Some(sentence) if into_stream && !verbosity.quiet => eprintln!("received {sentence}"),
        Some(sentence) if !verbosity.quiet => output::line(format_args!("received {sentence} from {from}"))?,
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
    let command =
        |address: IpAddr| format!("multihop send PATH... {} {security}", host(address, local.port(), FILES));
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
