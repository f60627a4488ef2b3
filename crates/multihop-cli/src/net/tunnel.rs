//! `multihop tunnel`.

use std::fmt::Arguments;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use multihop_net::tunnel::{self, Dialer, Interface};
use multihop_scenario::Extensions;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::args::{TUNNEL, TunnelArgs};
use super::{advise, commands, first, listen, print, run, settings};
use crate::terminal::{Verbosity, note};
use crate::{CommandError, output};

/// Runs one end of a tunnel until it is interrupted.
pub(crate) fn tunnel(
    args: &TunnelArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    match (&args.listen, &args.gateway) {
        (Some(address), _) => run(verbosity, async {
            let (listener, token) = listen(address, &args.net, &usual(), extensions).await?;
            let at = (listener.local_addr(), TUNNEL);
            let near = |host: &str, secret: &str| near_end(args, host, secret);
            // Before there is an interface, whose address cannot be the gateway's.
            let commands = commands(at, &args.net, token.as_ref(), near);
            let interface = interface(args, verbosity, "this gateway")?;
            if !verbosity.quiet {
                advise(commands, print)?;
            }
            let served = tunnel::gateway(&listener, args.allow.clone(), interface).await;
            Ok(served.context("cannot accept connections any more")?)
        }),
        (None, Some(gateway)) => {
            let config = settings::connecting(&args.net, &usual(), extensions)?;
            run(verbosity, async {
                let at = first(gateway).await.with_context(|| format!("cannot resolve {gateway}"))?;
                if args.fallback_tcp {
                    note(format_args!("--fallback-tcp: connections are unprotected if {at} does not answer"));
                }
                tunnel::raise_limit_of_descriptors();
                let dialer = Dialer::new(gateway, at, config, args.fallback_tcp);
                Ok(enter(args, verbosity, dialer, at).await?)
            })
        }
        (None, None) => unreachable!("clap requires one of them"),
    }
}

/// The command of the near end for what this gateway permits.
fn near_end(args: &TunnelArgs, gateway: &str, secret: &str) -> String {
    let socks = if args.allow.is_empty() { "" } else { " --socks 1080" };
    let tun = if args.tun.is_none() { "" } else { " --tun ADDRESS/BITS" };
    format!("multihop tunnel {gateway} {secret}{socks}{tun}")
}

/// Creates the TUN interface, if one is wanted.
fn interface(args: &TunnelArgs, verbosity: Verbosity, other: &str) -> anyhow::Result<Option<Interface>> {
    let Some(net) = args.tun else { return Ok(None) };
    let interface = Interface::open(net)
        .with_context(|| format!("cannot create a TUN interface with the address {net}"))?;
    say(verbosity, format_args!("{}: {net} -> IP via {other}", interface.name()))?;
    Ok(Some(interface))
}

/// Prints where the tunnel begins, unless the user wants to know nothing.
fn say(verbosity: Verbosity, line: Arguments<'_>) -> anyhow::Result<()> {
    if verbosity.quiet { Ok(()) } else { output::line(line) }
}

/// Opens and serves every local port, and the interface.
async fn enter(
    args: &TunnelArgs,
    verbosity: Verbosity,
    dialer: Arc<Dialer>,
    gateway: SocketAddr,
) -> anyhow::Result<()> {
    let mut entrances: JoinSet<io::Result<()>> = JoinSet::new();
    for entrance in &args.forward {
        let listener = open(entrance.local, verbosity, &format!("{} via {gateway}", entrance.target)).await?;
        entrances.spawn(tunnel::forward(listener, entrance.target.clone(), dialer.clone()));
    }
    for local in &args.socks {
        let listener = open(*local, verbosity, &format!("SOCKS5 via {gateway}")).await?;
        entrances.spawn(tunnel::socks(listener, dialer.clone()));
    }
    if let Some(interface) = interface(args, verbosity, &gateway.to_string())? {
        entrances.spawn(tunnel::packets(interface, dialer));
    }
    while let Some(ended) = entrances.join_next().await {
        ended.context("a local port stopped")?.context("the tunnel ended")?;
    }
    Ok(())
}

/// A path may be lost for two minutes; keepalives detect a peer that is gone while a connection is idle. A closed
/// connection occupies a socket while it lingers, so that is limited to two of the longest RTOs.
fn usual() -> [(&'static str, String); 3] {
    [("user_timeout", "120"), ("keepalive", "60"), ("linger", "20")]
        .map(|(key, value)| (key, value.to_owned()))
}

async fn open(local: SocketAddr, verbosity: Verbosity, what: &str) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(local).await.with_context(|| format!("cannot listen on {local}"))?;
    let local = listener.local_addr().unwrap_or(local);
    if !local.ip().is_loopback() {
        note(format_args!(
            "{local}: not a loopback address, so every host that reaches it can use the tunnel"
        ));
    }
    say(verbosity, format_args!("{local} -> {what}"))?;
    Ok(listener)
}
