//! `multihop send`.

use std::path::Path;

use anyhow::Context;
use indicatif::MultiProgress;
use multihop_net::files::{self, Options, Sources};
use multihop_net::{TpaStream, dial};
use multihop_scenario::Extensions;

use super::args::SendArgs;
use super::bar::Bar;
use super::{run, settings};
use crate::{CommandError, output};

/// Sends files and folders to a receiver.
pub(crate) fn send(args: &SendArgs, extensions: &Extensions) -> Result<(), CommandError> {
    let config = settings::connecting(&args.net, &args.transfer.usual(), extensions)?;
    let options = Options { patience: args.transfer.patience, ..Options::default() };
    run(args.net.verbose, async {
        let sources = sources(args).map_err(anyhow::Error::from)?;
        let stream = dial(&args.to, &config).await;
        let stream = stream.with_context(|| format!("cannot connect to {}", args.to))?;
        let bar = Bar::new(&MultiProgress::new(), args.transfer.quiet);
        let mut stream = AbortUnlessDone { stream, is_done: false };
        let sent =
            files::send(&mut stream.stream, sources, options, &mut |progress| bar.show(progress)).await;
        stream.is_done = sent.is_ok();
        match bar.end(&sent.map_err(anyhow::Error::from)?) {
            Some(sentence) => Ok(output::line(format_args!("sent {sentence}"))?),
            None => Ok(()),
        }
    })
}

/// A stream that is aborted if the transfer does not complete: otherwise unsent data would keep the receiver
/// waiting.
struct AbortUnlessDone {
    stream: TpaStream,
    is_done: bool,
}

impl Drop for AbortUnlessDone {
    fn drop(&mut self) {
        if !self.is_done {
            self.stream.abort();
        }
    }
}

fn sources(args: &SendArgs) -> Result<Sources, files::Error> {
    let mut sources = Sources::new();
    for path in &args.paths {
        if path == Path::new("-") {
            sources.add_stream(&args.name, Box::new(tokio::io::stdin()))?;
        } else {
            sources.add(path)?;
        }
    }
    Ok(sources)
}
