//! Commands to a vehicle, beside its pictures and its telemetry: three channels of one connection.
//!
//!     cargo run -p multihop-net --example commands -- vehicle 0.0.0.0:7460
//!     cargo run -p multihop-net --example commands -- operator 10.0.0.1:7460 TOKEN
//!
//! A command never waits behind a picture. Telemetry that cannot arrive within 200 ms is not sent.

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use multihop_net::{ChannelOptions, Config, Listener, Security, Stream, Token, Transport, mesh};
use tokio::time::{Instant, sleep};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["vehicle", address] => {
            let token = Token::generate()?;
            let listener = Listener::bind(address.parse()?, config(token.clone())).await?;
            writeln!(io::stdout(), "listening on {}, token {token}", listener.local_addr())?;
            drive(&listener.accept().await?).await?;
        }
        ["operator", address, token] => {
            let slowest = operate(address.parse()?, token.parse()?, 20).await?;
            writeln!(io::stdout(), "slowest of 20 commands: {slowest:.1?}")?;
        }
        _ => return Err("usage: commands vehicle ADDRESS | commands operator ADDRESS TOKEN".into()),
    }
    Ok(())
}

/// `mesh` with channels, encrypted, between ends that know the token.
pub(crate) fn config(token: Token) -> Config {
    let transport = Transport::mesh(mesh::Config { channels: true, ..mesh::Config::net() });
    Config { transport, ..Config::new(Security::Token(token)) }
}

/// Sends pictures and telemetry, and answers commands, until the operator resets the connection.
pub(crate) async fn drive(operator: &Stream) -> io::Result<()> {
    let deadline = Some(Duration::from_millis(200).into());
    let telemetry = operator.open_channel(ChannelOptions { priority: 1, deadline, ..named("telemetry") })?;
    let pictures = operator.open_channel(ChannelOptions { priority: 5, ..named("pictures") })?;
    let Some(commands) = operator.accept_channel().await? else { return Ok(()) };
    tokio::select! {
        ended = async { loop { pictures.send(vec![7; 2_000_000]).await?; } } => ended,
        ended = async { loop { telemetry.send(vec![1; 100]).await?; sleep(Duration::from_millis(20)).await; } } => ended,
        ended = async { while commands.recv().await?.is_some() { commands.send(b"done".to_vec()).await?; } Ok(()) } => ended,
    }
}

/// Sends commands one after the other while telemetry and pictures arrive; returns the slowest answer.
pub(crate) async fn operate(vehicle: SocketAddr, token: Token, count: usize) -> io::Result<Duration> {
    let stream = Stream::connect(vehicle, &config(token)).await?;
    let commands = stream.open_channel(ChannelOptions { priority: 0, ..named("commands") })?;
    for _ in ["telemetry", "pictures"] {
        let Some(channel) = stream.accept_channel().await? else { return Ok(Duration::ZERO) };
        tokio::spawn(async move { while let Ok(Some(_)) = channel.recv().await {} });
    }
    let mut slowest = Duration::ZERO;
    for _ in 0..count {
        let sent = Instant::now();
        commands.send(vec![0; 2_000]).await?;
        commands.recv().await?;
        slowest = slowest.max(sent.elapsed());
    }
    stream.abort();
    Ok(slowest)
}

fn named(name: &str) -> ChannelOptions {
    ChannelOptions { name: name.to_owned(), ..ChannelOptions::default() }
}
