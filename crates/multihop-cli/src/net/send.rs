//! `multihop send`.

use std::io;
use std::path::Path;

use anyhow::Context;
use indicatif::MultiProgress;
use multihop_net::files::{self, Options, Sources};
use multihop_net::{Config, TpaStream, dial};
use multihop_scenario::Extensions;
use serde_json::json;
use tokio::time::timeout;

use super::args::SendArgs;
use super::meter::{Form, Meter, event};
use super::{run, settings};
use crate::{CommandError, output};

/// Sends files and folders to a receiver.
pub(crate) fn send(args: &SendArgs, extensions: &Extensions) -> Result<(), CommandError> {
    let config = settings::connecting(&args.net, &args.transfer.usual(), extensions)?;
    let options = Options { patience: args.transfer.patience, ..Options::default() };
    run(args.net.verbose, async {
        let sources = sources(args).map_err(anyhow::Error::from)?;
        let left_out = sources.left_out();
        let stream = connect(args, &config).await;
        let stream = stream.with_context(|| format!("cannot connect to {}", args.to))?;
        let form = Form::of(&args.transfer);
        let mut meter = Meter::new(&MultiProgress::new(), form, stream.peer_addr().to_string());
        let mut stream = AbortUnlessDone { stream, is_done: false };
        let sent =
            files::send(&mut stream.stream, sources, options, &mut |progress| meter.show(progress)).await;
        stream.is_done = sent.is_ok();
        if let (Form::Json, Err(error)) = (form, &sent) {
            event("failed", &args.to.to_string(), json!({ "error": error.to_string() }));
        }
        match meter.end(&sent.map_err(anyhow::Error::from)?) {
            Some(sentence) if !args.transfer.quiet => output::line(format_args!("sent {sentence}"))?,
            _ => {}
        }
        if left_out > 0 { Err(CommandError::LeftOut(left_out)) } else { Ok(()) }
    })
}

/// Connects within the patience.
async fn connect(args: &SendArgs, config: &Config) -> io::Result<TpaStream> {
    let patience = args.transfer.patience;
    timeout(patience, dial(&args.to, config)).await.unwrap_or_else(|_| {
        let text = format!("the peer did not answer within {} s", patience.as_secs_f64());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
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
    if let Some(links) = args.links {
        sources = sources.links(links.into());
    }
    for path in &args.paths {
        if path == Path::new("-") {
            sources.add_stream(&args.name, Box::new(tokio::io::stdin()))?;
        } else {
            sources.add(path)?;
        }
    }
    Ok(sources)
}
