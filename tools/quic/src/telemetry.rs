//! Telemetry of 200 bytes, fifty times a second, in datagrams of one connection.

use std::time::Duration;

use anyhow::{Context, Result};
use quinn::{Connection, Endpoint, VarInt};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::messages::now;

/// Receives datagrams for this time, or until the connection ends; prints the departure and arrival of each,
/// nanoseconds.
pub async fn serve(endpoint: Endpoint, length: Duration) -> Result<()> {
    let connection = endpoint.accept().await.context("the endpoint is open")?.await?;
    let (mut arrived, end) = (Vec::<[u64; 2]>::new(), Instant::now() + length);
    while let Ok(Ok(datagram)) = tokio::time::timeout_at(end, connection.read_datagram()).await {
        let departure = *datagram.first_chunk().context("eight bytes of a clock")?;
        arrived.push([u64::from_be_bytes(departure), now()?]);
    }
    println!("{}", serde_json::json!({ "telemetry": arrived }));
    Ok(())
}

/// Sends datagrams for this time. A full buffer drops its oldest datagram.
pub async fn send(connection: Connection, length: Duration) -> Result<()> {
    let mut tick = interval(Duration::from_millis(20));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let end = Instant::now() + length;
    while Instant::now() < end {
        tick.tick().await;
        let mut message = vec![0; BYTES];
        message[..8].copy_from_slice(&now()?.to_be_bytes());
        connection.send_datagram(message.into())?;
    }
    connection.close(VarInt::from_u32(0), b"done");
    Ok(())
}

const BYTES: usize = 200;
