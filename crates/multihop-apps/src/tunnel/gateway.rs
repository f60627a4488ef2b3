//! The far end of a tunnel: connects to the targets.

use std::io;
use std::sync::Arc;

use multihop_net::Listener;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::address::Address;
use super::datagrams::relay;
use super::interface::Interface;
use super::packets::Exchange;
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

/// Serves every connection, for targets that a rule allows and, with an interface, for IP packets; ends with the
/// listener.
pub async fn gateway(listener: &Listener, rules: Vec<Rule>, interface: Option<Interface>) -> io::Result<()> {
    let (packets, _dispatcher) = interface.map(Exchange::start).unzip();
    let gate = Arc::new(Gate { rules, packets });
    let mut connections = JoinSet::new();
    for number in 0.. {
        let stream = listener.accept().await?;
        let (gate, from) = (gate.clone(), stream.peer_addr());
        connections.spawn(async move {
            match serve(stream, &gate, number).await {
                Ok((wanted, up, down)) => tracing::info!(peer = %from, %wanted, up, down, "connection ended"),
                Err(error) => tracing::warn!(limit = 60_u64, peer = %from, %error, "connection failed"),
            }
        });
        while connections.try_join_next().is_some() {}
    }
    Ok(())
}

/// Serves one connection from its request to its end; `number` differs from that of every other connection.
async fn serve(mut near: impl Reset, gate: &Gate, number: u64) -> io::Result<(Request, u64, u64)> {
    let wanted = within(REQUEST, Request::read(&mut near)).await?;
    let met = match &wanted {
        Ok(Request::Tcp(wanted)) => connect(wanted, &gate.rules).await.map(Some),
        Ok(Request::Packets) if gate.packets.is_none() => Err(Refusal::NotAllowed),
        Ok(Request::Datagrams) if gate.rules.is_empty() => Err(Refusal::NotAllowed),
        Ok(Request::Packets | Request::Datagrams) => Ok(None),
        Err(refusal) => Err(*refusal),
    };
    let answer = met.as_ref().map_or_else(|refusal| *refusal as u8, |_| 0);
    near.write_all(&[answer]).await?;
    near.flush().await?;
    let (wanted, ended) = match (wanted, met) {
        (Ok(wanted @ Request::Tcp(_)), Ok(Some(far))) => (wanted, splice(near, far).await),
        (Ok(wanted @ Request::Packets), Ok(_)) => {
            let exchange = gate.packets.as_ref().expect("it was granted");
            (wanted, exchange.serve(near, number).await)
        }
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
    Ok((wanted, up, down))
}

async fn connect(wanted: &Address, rules: &[Rule]) -> Result<TcpStream, Refusal> {
    connect_any(&resolve(wanted, rules).await?).await.map_err(|error| Refusal::of(&error))
}
