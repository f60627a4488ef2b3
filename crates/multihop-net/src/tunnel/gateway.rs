//! The far end of a tunnel: connects to the targets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::address::Address;
use super::rules::{Rule, allowed};
use super::splice::{Reset, splice};
use super::{CONNECT, MAGIC, REQUEST, Refusal, within};
use crate::listener::TpaListener;

/// Serves every connection, for targets that a rule allows; ends with the listener.
pub async fn gateway(listener: &TpaListener, rules: Vec<Rule>) -> io::Result<()> {
    let rules: Arc<[Rule]> = rules.into();
    let mut connections = JoinSet::new();
    loop {
        let stream = listener.accept().await?;
        let (rules, from) = (rules.clone(), stream.peer_addr());
        connections.spawn(async move {
            match serve(stream, &rules).await {
                Ok((wanted, up, down)) => tracing::info!(%from, %wanted, up, down, "connection ended"),
                Err(error) => tracing::warn!(%from, "{error}"),
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// One connection from its request to its end.
pub(super) async fn serve(mut near: impl Reset, rules: &[Rule]) -> io::Result<(Address, u64, u64)> {
    let wanted = within(REQUEST, async {
        let mut magic = [0; MAGIC.len()];
        near.read_exact(&mut magic).await?;
        if magic == *MAGIC {
            Address::read(&mut near).await
        } else {
            Err(io::Error::other("no tunnel request received"))
        }
    })
    .await?;
    let met = match &wanted {
        Ok(wanted) => connect(wanted, rules).await,
        Err(refusal) => Err(*refusal),
    };
    let number = met.as_ref().map_or_else(|refusal| *refusal as u8, |_| 0);
    near.write_all(&[number]).await?;
    near.flush().await?;
    match (wanted, met) {
        (Ok(wanted), Ok(far)) => {
            let (up, down) = splice(near, far)
                .await
                .map_err(|why| io::Error::new(why.kind(), format!("{wanted}: {why}")))?;
            Ok((wanted, up, down))
        }
        (wanted, met) => {
            // The number must arrive before the connection closes.
            let _ = within(REQUEST, near.shutdown()).await;
            let what = wanted.map_or_else(|_| "the requested target".to_owned(), |wanted| wanted.to_string());
            let why = met.map_or_else(|refusal| refusal, |_| Refusal::General);
            Err(io::Error::other(format!("no connection to {what}: {why}")))
        }
    }
}

async fn connect(wanted: &Address, rules: &[Rule]) -> Result<TcpStream, Refusal> {
    let found = within(REQUEST, wanted.look_up()).await.map_err(|_| Refusal::Host)?;
    let found = allowed(rules, wanted, &found);
    if found.is_empty() {
        return Err(Refusal::NotAllowed);
    }
    connect_any(&found).await.map_err(|error| Refusal::of(&error))
}

/// Tries the addresses in order.
pub(super) async fn connect_any(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::HostUnreachable, "the name resolves to no address");
    for address in addresses {
        match within(CONNECT, TcpStream::connect(address)).await {
            Ok(stream) => {
                ready(&stream);
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Disables Nagle's algorithm for interactive use, and enables keepalives to detect a lost peer.
pub(super) fn ready(stream: &TcpStream) {
    // The connection also works without them.
    let _ = stream.set_nodelay(true);
    let _ = socket2::SockRef::from(stream).set_keepalive(true);
}
