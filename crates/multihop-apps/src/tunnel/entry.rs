//! The near end of a tunnel: accepts TCP connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::address::Address;
use super::classes::USUAL;
use super::datagrams::associate;
use super::dialer::{Dialer, Far};
use super::request::Request;
use super::socks::Wanted;
use super::splice::{Reset, splice};
use super::targets::ready;
use super::{REQUEST, redirected, socks as words, within};

/// Carries every connection of a listener to one target.
pub async fn forward(listener: TcpListener, target: Address, dialer: Arc<Dialer>) -> io::Result<()> {
    accept(listener, move |near| {
        let (target, dialer) = (target.clone(), dialer.clone());
        async move { carry(near, &target, &dialer).await }
    })
    .await
}

/// Forwards each connection that the firewall has redirected to `listener`, to the address to which the client connected.
pub async fn transparent(listener: TcpListener, dialer: Arc<Dialer>) -> io::Result<()> {
    let own = listener.local_addr()?;
    accept(listener, move |near| {
        let dialer = dialer.clone();
        async move {
            match redirected::target(&near, own) {
                Ok(target) => carry(near, &Address::from_addr(target), &dialer).await,
                Err(error) => {
                    near.reset();
                    Err(error)
                }
            }
        }
    })
    .await
}

async fn carry(near: TcpStream, target: &Address, dialer: &Dialer) -> io::Result<(u64, u64)> {
    match dialer.open(target).await {
        Ok(far) => join(near, far).await,
        Err(refusal) => {
            near.reset();
            Err(io::Error::other(format!("no connection to {target}: {refusal}")))
        }
    }
}

/// Serves SOCKS5: carries every connection of a listener to the target that its client names, and datagrams.
pub async fn socks(listener: TcpListener, dialer: Arc<Dialer>) -> io::Result<()> {
    accept(listener, move |mut near| {
        let dialer = dialer.clone();
        async move {
            match within(REQUEST, words::request(&mut near)).await? {
                Wanted::Connect(target) => connect(near, &target, &dialer).await,
                Wanted::Associate => carry_datagrams(near, &dialer).await,
            }
        }
    })
    .await
}

async fn connect(mut near: TcpStream, target: &Address, dialer: &Dialer) -> io::Result<(u64, u64)> {
    let met = dialer.open(target).await;
    let told = met.as_ref().map(|_| words::NOWHERE).map_err(|refusal| *refusal);
    within(REQUEST, words::reply(&mut near, told)).await?;
    match met {
        Ok(far) => join(near, far).await,
        Err(refusal) => Err(io::Error::other(format!("no connection to {target}: {refusal}"))),
    }
}

async fn carry_datagrams(mut near: TcpStream, dialer: &Dialer) -> io::Result<(u64, u64)> {
    let socket = UdpSocket::bind((near.local_addr()?.ip(), 0)).await?;
    let local = socket.local_addr()?;
    let met = dialer.request(&Request::Datagrams, USUAL).await;
    let told = met.as_ref().map(|_| local).map_err(|refusal| *refusal);
    within(REQUEST, words::reply(&mut near, told)).await?;
    match met {
        Ok(far) => associate(near, socket, far).await,
        Err(refusal) => Err(io::Error::other(format!("no datagrams: {refusal}"))),
    }
}

async fn join(near: TcpStream, far: Far) -> io::Result<(u64, u64)> {
    match far {
        Far::Gateway(far) => splice(near, far).await,
        Far::Tcp(far) => splice(near, far).await,
    }
}

/// Serves every connection, at most [`CONNECTIONS`] at a time; others wait.
async fn accept<F, W>(listener: TcpListener, serve: F) -> io::Result<()>
where
    F: Fn(TcpStream) -> W,
    W: Future<Output = io::Result<(u64, u64)>> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let place = room.clone().acquire_owned().await.expect("it is never closed");
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many open files, or a client that is already gone.
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
                continue;
            }
        };
        ready(&stream);
        let work = serve(stream);
        connections.spawn(async move {
            match work.await {
                Ok((up, down)) => tracing::info!(peer = %from, up, down, "connection ended"),
                Err(error) => tracing::warn!(limit = 60_u64, peer = %from, %error, "connection failed"),
            }
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
}

/// Largest number of concurrent connections at one local port.
const CONNECTIONS: usize = 512;
/// Pause after an error that is likely to persist for a moment.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);
