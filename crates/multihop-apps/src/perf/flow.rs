//! Both ends of a measured flow.

use std::io;

use multihop_net::Stream;
use tokio::io::AsyncRead;

use super::clock::Clock;
use super::gauge::Gauge;
use super::message::{self, PerfRequest};
use super::turns::{Turns, theirs};
use super::{Amount, EndTotals, FlowOutcome, nonsense, udp};
use crate::frames::{BODY_MAX, FrameReader};

/// Requests a flow, and waits until the listening end begins.
pub(super) async fn begin(stream: Stream, request: PerfRequest) -> io::Result<Turns> {
    let mut turns = Turns::new(stream);
    turns.send(message::REQUEST, &request.emit()).await?;
    turns.expect(message::GO).await?;
    Ok(turns)
}

/// Runs a flow at the end that requested it; returns the stream for its statistics.
pub(super) async fn run(
    mut turns: Turns,
    request: PerfRequest,
    gauge: Gauge,
) -> io::Result<(FlowOutcome, Stream)> {
    let (ours, theirs) = match request.udp {
        Some(rate) => udp::ask(&mut turns, &request, rate, &gauge).await?,
        None => ask(&mut turns, &request, &gauge).await?,
    };
    let stats = turns.stats();
    let (sender, receiver) = if request.reverse { (theirs, ours) } else { (ours, theirs) };
    let mss = if request.udp.is_some() { udp::LENGTH } else { stats.mss };
    let (transport, reverse, hops) = (stats.transport, request.reverse, stats.hops);
    let outcome = FlowOutcome { transport, reverse, sender, receiver, hops, mss };
    Ok((outcome, turns.close().await))
}

/// Runs a measurement and returns the totals of this end and of the other.
async fn ask(turns: &mut Turns, request: &PerfRequest, gauge: &Gauge) -> io::Result<(EndTotals, EndTotals)> {
    let mut clock = Clock::start();
    if request.reverse {
        let bytes = drain(turns.reader(), &mut clock, |bytes| gauge.set_bytes(bytes)).await?;
        let ours = clock.tally(&turns.stats(), bytes);
        turns.send(message::END, &[]).await?;
        return Ok((ours, theirs(turns).await?));
    }
    let bytes = fill(turns, request.amount, &mut clock).await?;
    let theirs = theirs(turns).await?;
    // All segments are counted only after all data has arrived.
    Ok((clock.tally(&turns.stats(), bytes), theirs))
}

/// Runs the listening end of a flow.
pub(super) async fn answer(mut turns: Turns, request: PerfRequest) -> io::Result<EndTotals> {
    turns.send(message::GO, &[]).await?;
    let tally = match request.udp {
        Some(rate) => udp::answer(&mut turns, &request, rate).await?,
        None => {
            let mut clock = Clock::start();
            let bytes = if request.reverse {
                let bytes = fill(&mut turns, request.amount, &mut clock).await?;
                turns.expect(message::END).await?;
                bytes
            } else {
                drain(turns.reader(), &mut clock, |_| ()).await?
            };
            clock.tally(&turns.stats(), bytes)
        }
    };
    turns.send(message::TALLY, &message::emit(&tally)).await?;
    turns.close().await;
    Ok(tally)
}

/// Sends the planned amount; returns the bytes sent.
async fn fill(turns: &mut Turns, amount: Amount, clock: &mut Clock) -> io::Result<u64> {
    let mut writer = turns.writer();
    clock.begin();
    let mut bytes = 0;
    loop {
        let left = match amount {
            Amount::Time(time) if clock.elapsed() < time => BODY_MAX as u64,
            Amount::Time(_) => 0,
            Amount::Bytes(all) => all - bytes,
        };
        let n = left.min(BODY_MAX as u64);
        if n == 0 {
            break;
        }
        writer.send(message::DATA, &ZEROS[..usize::try_from(n).expect("a message")]).await?;
        bytes += n;
    }
    writer.send(message::END, &[]).await?;
    Ok(bytes)
}

/// Receives data until its end; returns the bytes received.
async fn drain<R: AsyncRead + Unpin>(
    reader: &mut FrameReader<R>,
    clock: &mut Clock,
    mut each: impl FnMut(u64),
) -> io::Result<u64> {
    // Over a slow path, the whole first message takes long.
    reader.wait().await?;
    clock.begin();
    let mut bytes = 0;
    loop {
        match reader.next().await? {
            Some(message::DATA) => bytes += reader.body().len() as u64,
            Some(message::END) => return Ok(bytes),
            _ => return Err(nonsense()),
        }
        each(bytes);
    }
}

static ZEROS: [u8; BODY_MAX] = [0; BODY_MAX];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;

    use super::super::PATIENCE;
    use super::*;

    #[tokio::test]
    async fn time_counts_from_the_first_byte_that_arrives() {
        const PAUSE: Duration = Duration::from_millis(50);
        let (mut far, near) = tokio::io::duplex(64);
        let sender = async move {
            far.write_all(&[message::DATA]).await.unwrap();
            tokio::time::sleep(PAUSE).await;
            far.write_all(&[0, 0, 0, 2, 7, 7, message::END, 0, 0, 0, 0]).await.unwrap();
        };
        let mut clock = Clock::start();
        let mut reader = FrameReader::new(near, PATIENCE);
        let (bytes, ()) = tokio::join!(drain(&mut reader, &mut clock, |_| ()), sender);
        assert_eq!(bytes.unwrap(), 2);
        assert!(clock.elapsed() >= PAUSE, "{:?}", clock.elapsed());
    }
}
