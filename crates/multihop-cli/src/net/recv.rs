//! `multihop recv`.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use indicatif::MultiProgress;
use multihop_net::TpaListener;
use multihop_net::files::{self, Options, Served, Target, Watcher};
use multihop_scenario::Extensions;

use super::args::RecvArgs;
use super::bar::{Bar, sentence};
use super::{listen, run};
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
        let listener = listen(&args.listen, &args.net, &args.transfer.usual(), extensions, say).await?;
        if into_stream { stream(args, &listener).await } else { folder(args, &listener).await }
    })
}

async fn folder(args: &RecvArgs, listener: &TpaListener) -> Result<(), CommandError> {
    let bars = MultiProgress::new();
    let begin = |_| -> Watcher {
        let bar = Bar::new(&bars, args.transfer.quiet);
        Box::new(move |progress| bar.show(progress))
    };
    let mut broken = Ok(());
    let mut end = |Served { from, time, result }| match result {
        Ok(summary) => {
            if !args.transfer.quiet {
                broken = output::line(format_args!("received {} from {from}", sentence(&summary, time)));
            }
            if args.once || broken.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        Err(error) => {
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
    let bar = Bar::new(&MultiProgress::new(), args.transfer.quiet);
    let target = Target::Stream(Box::new(tokio::io::stdout()));
    let received = files::receive(stream, target, options(args), &mut |progress| bar.show(progress)).await;
    if let Some(sentence) = bar.end(&received.map_err(anyhow::Error::from)?) {
        eprintln!("received {sentence}");
    }
    Ok(())
}

fn options(args: &RecvArgs) -> Options {
    Options { overwrite: args.overwrite, patience: args.transfer.patience }
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
