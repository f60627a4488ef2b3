//! The far end of a tunnel: connects to the targets.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use multihop_net::{Channel, Listener, PublicKey, Stream};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::address::Address;
use super::channel_stream::ChannelStream;
use super::classes::Classes;
use super::datagrams::relay;
use super::interface::Interface;
use super::packets::{Exchange, Lanes};
use super::request::Request;
use super::rules::Rule;
use super::splice::{Reset, splice};
use super::targets::{connect_any, resolve};
use super::{REQUEST, Refusal, within};

/// Targets that the peers of a gateway may reach.
struct Gate {
    rules: Vec<Rule>,
    packets: Option<Arc<Exchange>>,
}

/// Serves the connections of a listener until the listener closes: connects them to the targets that a rule allows.
/// With an interface, connections may also carry IP packets, and `classes` assigns each packet to a class.
pub async fn gateway(
    listener: &Listener,
    rules: Vec<Rule>,
    interface: Option<Interface>,
    classes: Classes,
) -> io::Result<()> {
    let (packets, _dispatcher) = interface.map(|interface| Exchange::start(interface, classes)).unzip();
    let gate = Arc::new(Gate { rules, packets });
    let mut connections = JoinSet::new();
    for number in 0.. {
        let stream = listener.accept().await?;
        let gate = gate.clone();
        connections.spawn(async move {
            let (from, lanes) = (stream.peer_addr(), Arc::new(Lanes::new(number)));
            let result = serve(stream, 0, &gate, &lanes).await;
            if let Some(stream) = report(from, result) {
                serve_channels(Arc::new(stream), gate, lanes).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
    Ok(())
}

/// Outcome of a request.
enum Served<S> {
    /// The stream has ended: its request, and the bytes in both directions.
    Ended(Request, u64, u64),
    /// The stream stays open while the peer opens channels.
    Channels(S),
}

/// Logs the end of a stream; returns a stream whose channels are to be served.
fn report<S>(from: SocketAddr, result: io::Result<Served<S>>) -> Option<S> {
    match result {
        Ok(Served::Channels(stream)) => return Some(stream),
        Ok(Served::Ended(wanted, up, down)) => {
            tracing::info!(peer = %from, %wanted, up, down, "connection ended");
        }
        Err(error) => tracing::warn!(limit = 60_u64, peer = %from, %error, "connection failed"),
    }
    None
}

/// Serves the channels of a connection until it ends.
async fn serve_channels(stream: Arc<Stream>, gate: Arc<Gate>, lanes: Arc<Lanes>) {
    let mut channels = JoinSet::new();
    while let Ok(Some(channel)) = stream.accept_channel().await {
        let (from, key) = (stream.peer_addr(), stream.peer_key());
        channels.spawn(serve_channel(channel, (from, key), gate.clone(), lanes.clone()));
    }
    // Streams in channels end with the connection, after the bytes that they received have gone on to their targets.
    while channels.join_next().await.is_some() {}
}

/// Serves the streams of a channel, one after another.
async fn serve_channel(
    mut channel: Channel,
    (from, key): (SocketAddr, Option<PublicKey>),
    gate: Arc<Gate>,
    lanes: Arc<Lanes>,
) {
    let class = channel.options().priority;
    loop {
        let (mut stream, ended) = ChannelStream::new(channel, key, true);
        // A channel waits for its next stream for any time.
        if stream.readable().await.is_err() {
            return;
        }
        report(from, serve(stream, class, &gate, &lanes).await);
        // Both results are errors once the connection has ended.
        let Ok(last) = ended.await else { return };
        let Ok(free) = last.finish().await else { return };
        channel = free;
    }
}

/// Serves one stream from its request to its end.
async fn serve<S: Reset>(mut near: S, class: u8, gate: &Gate, lanes: &Arc<Lanes>) -> io::Result<Served<S>> {
    let wanted = within(REQUEST, Request::read(&mut near)).await?;
    let met = match &wanted {
        Ok(Request::Tcp(wanted)) => connect(wanted, &gate.rules).await.map(Some),
        Ok(Request::Packets) if gate.packets.is_none() => Err(Refusal::NotAllowed),
        Ok(Request::Datagrams) if gate.rules.is_empty() => Err(Refusal::NotAllowed),
        Ok(Request::Channels) if !S::HAS_CHANNELS => Err(Refusal::Command),
        Ok(Request::Packets | Request::Datagrams | Request::Channels) => Ok(None),
        Err(refusal) => Err(*refusal),
    };
    let answer = met.as_ref().map_or_else(|refusal| *refusal as u8, |_| 0);
    near.write_all(&[answer]).await?;
    near.flush().await?;
    let (wanted, ended) = match (wanted, met) {
        (Ok(wanted @ Request::Tcp(_)), Ok(Some(far))) => (wanted, splice(near, far).await),
        (Ok(wanted @ Request::Packets), Ok(_)) => {
            let exchange = gate.packets.as_ref().expect("it was granted");
            (wanted, exchange.serve(near, lanes, class).await)
        }
        (Ok(Request::Channels), Ok(_)) => return Ok(Served::Channels(near)),
        (Ok(wanted), Ok(_)) => (wanted, relay(near, &gate.rules).await),
        (wanted, met) => {
            // The number must arrive before the connection closes.
            let _ = within(REQUEST, near.shutdown()).await;
            let what = wanted.map_or_else(|_| "the requested target".to_owned(), |wanted| wanted.to_string());
            let why = met.err().unwrap_or(Refusal::General);
            return Err(io::Error::other(format!("no connection to {what}: {why}")));
        }
    };
    let (up, down) = ended.map_err(|why| io::Error::new(why.kind(), format!("{wanted}: {why}")))?;
    Ok(Served::Ended(wanted, up, down))
}

async fn connect(wanted: &Address, rules: &[Rule]) -> Result<TcpStream, Refusal> {
    connect_any(&resolve(wanted, rules).await?).await.map_err(|error| Refusal::of(&error))
}
