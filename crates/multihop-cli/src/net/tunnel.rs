//! Implements `multihop tunnel`, which forwards TCP connections and packets between hosts.

use std::fmt::Arguments;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use multihop_apps::tunnel::{self, Classes, Dialer, Gateway, Gateways, Interface};
use multihop_net::{Config, TransportName, mesh};
use multihop_sandbox::{Needs, Right};
use multihop_scenario::{Extensions, transport_name};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::args::{KeyFiles, NetArgs, TUNNEL, TunnelArgs};
use super::confinement::{Confinement, folder_of, folders_of_keys};
use super::{Kind, advise, commands, first, listen, metrics, print, run, settings, signals};
use crate::terminal::{Verbosity, note};
use crate::{CommandError, output};

/// Runs one end of a tunnel until it is interrupted.
pub(crate) fn tunnel(
    args: &TunnelArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    metrics::of_connections(&args.metrics)?;
    let Some(address) = &args.listen else { return near(args, verbosity, extensions) };
    // A connection to a target is marked, so that the firewall does not redirect it once more.
    let rights = vec![Right::Marks];
    let needs = Needs { rights, read: folders_of_keys(&args.net), ..needs() };
    let confinement = Confinement::new(args.sandbox, needs)?;
    run(Kind::Service, &confinement, verbosity, &args.net.log, async {
        let adjust = |config: &mut Config| (config.channels, config.marks) = (true, args.dscp);
        let (listener, token) = listen(address, &args.net, &usual(), extensions, adjust).await?;
        let at = (listener.local_addr(), TUNNEL);
        let near = |host: &str, secret: &str| near_end(args, host, secret);
        // Before there is an interface, whose address cannot be the gateway's.
        let commands = commands(at, &args.net, token.as_ref(), near);
        let interface = interface(args, verbosity, "this gateway")?;
        let classes = Classes::new(args.classes.clone());
        confinement.enter()?;
        if !verbosity.quiet {
            advise(commands, print)?;
        }
        let served = async {
            let served = tunnel::gateway(&listener, args.allow.clone(), interface, classes).await;
            Ok(served.context("cannot accept connections any more")?)
        };
        signals::serving(&listener, &args.net, &usual(), extensions, served).await
    })
}

fn near(args: &TunnelArgs, verbosity: Verbosity, extensions: &Extensions) -> Result<(), CommandError> {
    let mut config = settings::connecting(&args.net, &usual(), extensions)?;
    config.marks = args.dscp;
    check_classes(args, &config)?;
    let rights = if args.fallback_tcp { vec![Right::Marks] } else { Vec::new() };
    let needs = Needs { rights, write: written_keys(args), ..needs() };
    let confinement = Confinement::new(args.sandbox, needs)?;
    run(Kind::Service, &confinement, verbosity, &args.net.log, async {
        let (gateways, via) = far_ends(args).await?;
        if args.fallback_tcp {
            note(format_args!("--fallback-tcp: connections are unprotected if {via} does not answer"));
        }
        tunnel::raise_limit_of_descriptors();
        let classes = (!args.classes.is_empty()).then(|| Classes::new(args.classes.clone()));
        let dialer = Dialer::new(gateways, config, args.fallback_tcp, classes);
        Ok(enter(args, verbosity, dialer, &via, &confinement).await?)
    })
}

/// Refuses classes over a transport without channels.
fn check_classes(args: &TunnelArgs, config: &Config) -> Result<(), CommandError> {
    let name = config.transport.name;
    if args.classes.is_empty() || TransportName::new(mesh::NAME) == Some(name) {
        return Ok(());
    }
    Err(CommandError::Usage(format!(
        "--class: found the transport {name}, allowed: {}",
        transport_name::MESH
    )))
}

/// Rights that both ends of a tunnel need.
fn needs() -> Needs {
    Needs { internet: true, tcp: true, names: true, ..Needs::default() }
}

/// The file of known listeners, to which the near end adds a gateway at first contact. A sandbox can only name a file that
/// exists.
fn written_keys(args: &TunnelArgs) -> Vec<PathBuf> {
    let NetArgs { known_peers, strict, .. } = &args.net;
    if args.net.key.is_none() || args.net.peer.is_some() || *strict {
        return Vec::new();
    }
    let files = KeyFiles { known_peers: known_peers.clone(), authorized_keys: None };
    let Ok(path) = files.known_path() else { return Vec::new() };
    // If that fails, the first contact fails with the reason.
    let _ = std::fs::create_dir_all(folder_of(&path));
    let _ = File::options().create(true).append(true).mode(0o600).open(&path);
    vec![path]
}

/// Resolves the gateways; also returns the text by which messages name them.
async fn far_ends(args: &TunnelArgs) -> anyhow::Result<(Gateways, String)> {
    if args.to_targets {
        return Ok((Gateways::OfTargets(TUNNEL), "each target".to_owned()));
    }
    let (mut gateways, mut names) = (Vec::new(), Vec::new());
    for gateway in &args.gateways {
        let at = first(gateway).await.with_context(|| format!("cannot resolve {gateway}"))?;
        gateways.push(Gateway::new(gateway, at));
        names.push(at.to_string());
    }
    Ok((Gateways::Listed(gateways), names.join(" or ")))
}

/// Command of the near end for the targets that this gateway permits.
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

/// Prints the addresses at which the tunnel listens, unless `verbosity` is quiet.
fn say(verbosity: Verbosity, line: Arguments<'_>) -> anyhow::Result<()> {
    if verbosity.quiet { Ok(()) } else { output::line(line) }
}

/// Opens and serves every local port, and the interface.
async fn enter(
    args: &TunnelArgs,
    verbosity: Verbosity,
    dialer: Arc<Dialer>,
    via: &str,
    confinement: &Confinement,
) -> anyhow::Result<()> {
    let mut entrances: JoinSet<io::Result<()>> = JoinSet::new();
    for entrance in &args.forward {
        let listener = TcpListener::bind(entrance.local).await;
        let listener =
            opened(listener, entrance.local, verbosity, &format!("{} via {via}", entrance.target))?;
        entrances.spawn(tunnel::forward(listener, entrance.target.clone(), dialer.clone()));
    }
    for local in &args.socks {
        let listener = TcpListener::bind(local).await;
        let listener = opened(listener, *local, verbosity, &format!("SOCKS5 via {via}"))?;
        entrances.spawn(tunnel::socks(listener, dialer.clone()));
    }
    for local in &args.transparent {
        let listener = tunnel::listen_for_redirected(*local).await;
        let listener = opened(listener, *local, verbosity, &format!("redirected connections via {via}"))?;
        entrances.spawn(tunnel::transparent(listener, dialer.clone()));
    }
    if let Some(interface) = interface(args, verbosity, via)? {
        entrances.spawn(tunnel::packets(interface, dialer));
    }
    confinement.enter()?;
    while let Some(ended) = entrances.join_next().await {
        ended.context("a local port failed")?.context("the tunnel ended")?;
    }
    Ok(())
}

/// Default times for connections that survive outages. A path may be lost for two minutes; keepalives detect a
/// vanished peer while a connection is idle. A closed connection occupies a socket while it lingers, so the linger
/// time is limited to two of the longest retransmission timeouts.
fn usual() -> [(&'static str, String); 3] {
    [("user_timeout", "120"), ("keepalive", "60"), ("linger", "20")]
        .map(|(key, value)| (key, value.to_owned()))
}

/// Prints the targets of a local port, and who can use the port.
fn opened(
    listener: io::Result<TcpListener>,
    local: SocketAddr,
    verbosity: Verbosity,
    what: &str,
) -> anyhow::Result<TcpListener> {
    let listener = listener.with_context(|| format!("cannot listen on {local}"))?;
    let local = listener.local_addr().unwrap_or(local);
    if !local.ip().is_loopback() {
        note(format_args!(
            "{local}: not a loopback address, so every host that reaches it can use the tunnel"
        ));
    }
    say(verbosity, format_args!("{local} -> {what}"))?;
    Ok(listener)
}
