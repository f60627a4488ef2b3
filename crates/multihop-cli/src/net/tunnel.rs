//! `multihop tunnel`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use multihop_net::tunnel::{self, Way};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::args::TunnelArgs;
use super::{first, listen, run, settings};
use crate::{Failure, output};

/// Carries TCP over TPA: one end of it, until it is interrupted.
pub(crate) fn tunnel(args: &TunnelArgs) -> Result<(), Failure> {
    match (&args.listen, &args.gateway) {
        (Some(address), _) => run(args.net.verbose, async {
            let say = |line: String| output::line(format_args!("{line}"));
            let listener = listen(address, &args.net, &usual(), say).await?;
            let served = tunnel::gateway(&listener, args.allow.clone()).await;
            Ok(served.context("cannot take connections any more")?)
        }),
        (None, Some(gateway)) => {
            let config = settings::connecting(&args.net, &usual())?;
            run(args.net.verbose, async {
                let at = first(gateway).await.with_context(|| format!("cannot find {gateway}"))?;
                if args.fallback_tcp {
                    eprintln!("--fallback-tcp: where {at} does not answer, nothing protects the connections");
                }
                tunnel::raise_limit_of_descriptors();
                Ok(enter(args, Way::new(at, config, args.fallback_tcp), at).await?)
            })
        }
        (None, None) => unreachable!("the parser wants one of them"),
    }
}

/// Opens every local port, and serves all of them.
async fn enter(args: &TunnelArgs, way: Arc<Way>, gateway: SocketAddr) -> anyhow::Result<()> {
    let mut entrances: JoinSet<io::Result<()>> = JoinSet::new();
    for entrance in &args.forward {
        let listener = open(entrance.local, &format!("to {} by {gateway}", entrance.target)).await?;
        entrances.spawn(tunnel::forward(listener, entrance.target.clone(), way.clone()));
    }
    for local in &args.socks {
        let listener = open(*local, &format!("by SOCKS5 and {gateway}")).await?;
        entrances.spawn(tunnel::socks(listener, way.clone()));
    }
    while let Some(ended) = entrances.join_next().await {
        ended.context("a local port has stopped")?.context("cannot take connections any more")?;
    }
    Ok(())
}

/// A path may be gone for two minutes; a peer that is gone for good is noticed though nothing is said. A
/// connection that has ended has a socket until it lingers no more: for two of the longest RTOs.
fn usual() -> [(&'static str, String); 3] {
    [("user_timeout", "120"), ("keepalive", "60"), ("linger", "20")]
        .map(|(key, value)| (key, value.to_owned()))
}

async fn open(local: SocketAddr, what: &str) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(local).await.with_context(|| format!("cannot listen at {local}"))?;
    let local = listener.local_addr().unwrap_or(local);
    if !local.ip().is_loopback() {
        eprintln!("{local}: everybody who can reach this host may use it");
    }
    output::line(format_args!("{local} goes {what}"))?;
    Ok(listener)
}
