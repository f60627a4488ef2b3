//! Both ends of one flow.

use std::io;
use std::time::Duration;

use multihop_net::{Stats, TpaStream};
use nix::sys::resource::{UsageWho, getrusage};
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::gauge::Gauge;
use super::message::{self, PerfRequest};
use super::{Amount, EndTotals, FAREWELL, FlowOutcome, PATIENCE, nonsense, udp};
use crate::frames::{BODY_MAX, FrameReader, FrameWriter};

/// The connection of a flow, on which either end speaks in turn.
pub(super) struct Turns(FrameReader<TpaStream>);

impl Turns {
    pub(super) fn new(stream: TpaStream) -> Self {
        Self(FrameReader::new(stream, PATIENCE))
    }

    pub(super) fn stats(&self) -> Stats {
        self.stream().stats()
    }

    pub(super) fn stream(&self) -> &TpaStream {
        self.0.get_ref()
    }

    /// Waits this long for messages.
    pub(super) fn be_patient_for(&mut self, patience: Duration) {
        self.0.set_patience(patience);
    }

    fn writer(&mut self) -> FrameWriter<&mut TpaStream> {
        FrameWriter::new(self.0.get_mut(), PATIENCE)
    }

    pub(super) async fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        self.writer().send(kind, body).await
    }

    /// Waits for a message of this kind; returns its body.
    pub(super) async fn expect(&mut self, kind: u8) -> io::Result<Vec<u8>> {
        if self.0.next().await? == Some(kind) { Ok(self.0.body().to_vec()) } else { Err(nonsense()) }
    }

    /// Closes the connection. The result is complete; this only avoids a reset at the peer.
    pub(super) async fn close(self) -> TpaStream {
        let mut stream = self.0.into_inner();
        let _ = timeout(FAREWELL, stream.shutdown()).await;
        stream
    }
}

/// Asks for a flow, and waits until the listening end begins.
pub(super) async fn begin(stream: TpaStream, request: PerfRequest) -> io::Result<Turns> {
    let mut turns = Turns::new(stream);
    turns.send(message::REQUEST, &request.emit()).await?;
    turns.expect(message::GO).await?;
    Ok(turns)
}

/// Runs a flow at the end that asks for it; returns the stream for its statistics.
pub(super) async fn run(
    mut turns: Turns,
    request: PerfRequest,
    gauge: Gauge,
) -> io::Result<(FlowOutcome, TpaStream)> {
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

/// The totals of this end and of the other.
async fn ask(turns: &mut Turns, request: &PerfRequest, gauge: &Gauge) -> io::Result<(EndTotals, EndTotals)> {
    let mut clock = Clock::start();
    if request.reverse {
        let bytes = drain(&mut turns.0, &mut clock, |bytes| gauge.set_bytes(bytes)).await?;
        let ours = clock.tally(&turns.stats(), bytes);
        turns.send(message::END, &[]).await?;
        return Ok((ours, theirs(turns).await?));
    }
    let bytes = fill(turns, request.amount, &mut clock).await?;
    let theirs = theirs(turns).await?;
    // All segments are counted only once everything has arrived.
    Ok((clock.tally(&turns.stats(), bytes), theirs))
}

/// The totals of the listening end.
pub(super) async fn theirs(turns: &mut Turns) -> io::Result<EndTotals> {
    message::parse(&turns.expect(message::TALLY).await?).ok_or_else(nonsense)
}

/// The listening end of a flow.
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
                drain(&mut turns.0, &mut clock, |_| ()).await?
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
    // A slow path takes long for the whole of the first message.
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

/// The clock of one end.
pub(super) struct Clock {
    begin: Option<Instant>,
    end: Option<Duration>,
    cpu: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { begin: None, end: None, cpu: cpu() }
    }

    /// Starts the clock, at the first data.
    pub(super) fn begin(&mut self) {
        self.begin.get_or_insert_with(Instant::now);
    }

    /// Stops the clock, at the last data.
    pub(super) fn stop(&mut self) {
        self.end = Some(self.elapsed());
    }

    /// Time since the first data.
    pub(super) fn elapsed(&self) -> Duration {
        self.begin.map(|begin| begin.elapsed()).unwrap_or_default()
    }

    /// Time from the first data until the clock was stopped, or until now.
    pub(super) fn time(&self) -> Duration {
        self.end.unwrap_or_else(|| self.elapsed())
    }

    /// CPU time of this process since the start.
    pub(super) fn cpu(&self) -> Duration {
        cpu().saturating_sub(self.cpu)
    }

    fn tally(&self, stats: &Stats, bytes: u64) -> EndTotals {
        EndTotals::of(stats, bytes, self.time(), self.cpu())
    }
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    let Ok(used) = getrusage(UsageWho::RUSAGE_SELF) else { return Duration::ZERO };
    let sum = [used.user_time(), used.system_time()].map(|time| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
    });
    sum.into_iter().sum()
}

static ZEROS: [u8; BODY_MAX] = [0; BODY_MAX];

#[cfg(test)]
mod tests {
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
