//! Commands of 2 kB beside images of 2 MB over one connection: each message is a stream of its own, and streams of
//! commands have the higher priority.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};
use quinn::{Connection, Endpoint, RecvStream, SendStream, VarInt};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// Messages that have arrived.
#[derive(Default)]
struct Arrived {
    /// Departure and arrival of each message, nanoseconds.
    commands: Vec<[u64; 2]>,
    images: Vec<[u64; 2]>,
}

/// Receives messages until the connection ends; prints the times of each.
pub async fn serve(endpoint: Endpoint) -> Result<()> {
    let connection = endpoint.accept().await.context("the endpoint is open")?.await?;
    let arrived = Arc::new(Mutex::new(Arrived::default()));
    while let Ok(stream) = connection.accept_uni().await {
        tokio::spawn(receive(stream, Arc::clone(&arrived)));
    }
    let arrived = arrived.lock().expect("no task panics");
    println!("{}", serde_json::json!({ "commands": arrived.commands, "images": arrived.images }));
    Ok(())
}

/// Receives one message, which begins with its kind and its departure.
async fn receive(mut stream: RecvStream, arrived: Arc<Mutex<Arrived>>) -> Result<()> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await?;
    let departure = u64::from_be_bytes(*head.last_chunk().context("nine bytes")?);
    stream.read_to_end(MAX_BYTES).await?;
    let times = [departure, now()?];
    let mut arrived = arrived.lock().expect("no task panics");
    if head[0] == COMMAND {
        arrived.commands.push(times)
    } else {
        arrived.images.push(times)
    }
    Ok(())
}

/// Sends commands ten times a second, and images of this size one after another, for this time.
pub async fn send(
    connection: Connection,
    length: Duration,
    commands: bool,
    image: Option<usize>,
) -> Result<()> {
    let mut tasks = JoinSet::new();
    if commands {
        tasks.spawn(send_commands(connection.clone()));
    }
    if let Some(bytes) = image {
        tasks.spawn(send_images(connection.clone(), bytes));
    }
    sleep(length).await;
    tasks.shutdown().await;
    connection.close(VarInt::from_u32(0), b"done");
    Ok(())
}

async fn send_commands(connection: Connection) -> Result<()> {
    let mut tick = interval(Duration::from_millis(100));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        tick.tick().await;
        let message = message(COMMAND, COMMAND_BYTES)?;
        let connection = connection.clone();
        tokio::spawn(async move { send_one(connection, message, 10).await });
    }
}

async fn send_images(connection: Connection, bytes: usize) -> Result<()> {
    loop {
        // Further images would fill the connection's buffer, and commands would wait for room in it.
        send_one(connection.clone(), message(IMAGE, bytes)?, 0).await?.stopped().await?;
    }
}

async fn send_one(connection: Connection, message: Vec<u8>, priority: i32) -> Result<SendStream> {
    let mut stream = connection.open_uni().await?;
    stream.set_priority(priority)?;
    stream.write_all(&message).await?;
    stream.finish()?;
    Ok(stream)
}

fn message(kind: u8, length: usize) -> Result<Vec<u8>> {
    let mut message = vec![0; length];
    message[0] = kind;
    message[1..9].copy_from_slice(&now()?.to_be_bytes());
    Ok(message)
}

/// The clock that all processes of a host share, nanoseconds.
pub fn now() -> Result<u64> {
    Ok(u64::try_from(Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?).as_nanos())?)
}

/// Address of any interface, in the family of another address.
pub fn any(to: SocketAddr) -> &'static str {
    if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }
}

const COMMAND: u8 = 0;
const IMAGE: u8 = 1;
const COMMAND_BYTES: usize = 2_000;
/// Longest message that is received, bytes.
const MAX_BYTES: usize = 10_000_000;
