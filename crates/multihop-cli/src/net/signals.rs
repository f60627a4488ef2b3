//! Handling of signals: those that end a command, and SIGHUP, by which a listener reads its keys again.

use std::io::{self, IsTerminal};

use anyhow::Context;
use multihop_net::Listener;
use multihop_scenario::Extensions;
use signal_hook::consts::SIGHUP;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::args::NetArgs;
use super::{problem, settings};
use crate::CommandError;

/// Resolves to the number of the signal that ends the program.
pub(super) fn ending() -> anyhow::Result<impl Future<Output = i32>> {
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt().as_raw_value(),
            _ = terminate.recv() => SignalKind::terminate().as_raw_value(),
        }
    })
}

/// Serves until `work` ends; SIGHUP makes the listener read its keys again.
pub(super) async fn serving(
    listener: &Listener,
    args: &NetArgs,
    usual: settings::Usual<'_>,
    extensions: &Extensions,
    work: impl Future<Output = Result<(), CommandError>>,
) -> Result<(), CommandError> {
    let had_terminal = has_terminal();
    let mut hangups = listen(SignalKind::hangup())?;
    let reload = async {
        loop {
            hangups.recv().await;
            // SIGHUP also reports a closed terminal, which ends a program that was started there.
            if had_terminal && !has_terminal() {
                return Err(CommandError::Interrupted { signal: SIGHUP, kept: String::new() });
            }
            match reload(listener, args, usual, extensions) {
                Ok(ended) => tracing::info!(connections_ended = ended, "keys reloaded"),
                Err(error) => tracing::warn!(error = problem(error), "keys not reloaded"),
            }
        }
    };
    tokio::select! {
        result = work => result,
        result = reload => result,
    }
}

/// Reads the keys again; returns the number of connections that ended because their keys were removed.
fn reload(
    listener: &Listener,
    args: &NetArgs,
    usual: settings::Usual<'_>,
    extensions: &Extensions,
) -> Result<usize, CommandError> {
    if args.key.is_none() {
        return Ok(0);
    }
    let (config, _) = settings::listening(args, usual, extensions)?;
    Ok(listener.set_keys(&config).context("cannot use the keys")?)
}

fn listen(kind: SignalKind) -> anyhow::Result<Signal> {
    signal(kind).context("cannot handle signals")
}

/// Whether standard input or an output is an open terminal.
fn has_terminal() -> bool {
    io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal()
}
