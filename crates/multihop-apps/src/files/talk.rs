//! Message streams in both directions.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf, split};
use tokio::time::{Instant, timeout};

use super::Error;
use super::message::{QUEUED, TransferMessage, WAIT};
use super::reading::{Reader, Stop, StopOnDrop};
use crate::frames::{FrameReader, FrameWriter, Heartbeat};

/// Messages from the peer.
pub(super) struct MessageReader<R> {
    reader: FrameReader<R>,
    patience: Duration,
    /// Time since which the peer has been serving other transfers first.
    queued: Option<Instant>,
}

/// Messages to the peer.
pub(super) struct MessageWriter<W> {
    writer: FrameWriter<W>,
    scratch: Vec<u8>,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    /// Record of when the peer was last heard.
    pub(super) fn pulse(&self) -> Arc<Heartbeat> {
        Arc::clone(self.reader.pulse())
    }

    /// The next message other than a keepalive; an error if the peer gave up.
    pub(super) async fn next(&mut self) -> Result<TransferMessage<'_>, Error> {
        let kind = self.advance().await?;
        self.message(kind)
    }

    /// Reads the next message other than a keepalive, and returns its kind. Dropping a call loses no data.
    pub(super) async fn advance(&mut self) -> Result<u8, Error> {
        loop {
            match self.reader.next().await? {
                Some(WAIT) if self.reader.body() == QUEUED => {
                    let since = *self.queued.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.patience {
                        return Err(Error::Here(served_others(self.patience)));
                    }
                }
                Some(kind) => {
                    self.queued = None;
                    if kind != WAIT {
                        return Ok(kind);
                    }
                }
                None => return Err(too_soon()),
            }
        }
    }

    /// The message that [`advance`](Self::advance) has read.
    pub(super) fn message(&self, kind: u8) -> Result<TransferMessage<'_>, Error> {
        match TransferMessage::parse(kind, self.reader.body()) {
            Some(TransferMessage::Failed(reason)) => Err(Error::There(reason)),
            Some(message) => Ok(message),
            None => Err(Error::Protocol(format!("invalid message of kind {kind}"))),
        }
    }
}

impl<W: AsyncWrite + Unpin> MessageWriter<W> {
    /// Sends keepalives often enough for a peer that gives up after this time.
    pub(super) fn keep_alive_for(&mut self, patience: Duration) {
        self.writer.keep_alive_for(patience);
    }

    pub(super) async fn say(&mut self, message: &TransferMessage<'_>) -> io::Result<()> {
        let (kind, body) = message.emit(&mut self.scratch);
        self.writer.send(kind, body).await
    }

    /// Queues a message. A short one may wait for later ones, until [`flush`](Self::flush).
    pub(super) async fn say_later(&mut self, message: &TransferMessage<'_>) -> io::Result<()> {
        let (kind, body) = message.emit(&mut self.scratch);
        self.writer.send_later(kind, body).await
    }

    pub(super) async fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().await
    }

    /// Waits for `work`, with keepalives to the peer.
    pub(super) async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> io::Result<T> {
        self.writer.meanwhile(WAIT, &[], work).await
    }

    /// Waits for a permit, and meanwhile sends keepalives that report the wait to the peer.
    pub(super) async fn queued<T>(&mut self, turn: impl Future<Output = T>) -> io::Result<T> {
        self.writer.meanwhile(WAIT, QUEUED, turn).await
    }

    /// Does blocking work that stops soon after the connection ends, which drops this future.
    pub(super) async fn stoppable<T, F>(&mut self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(Stop) -> T + Send + 'static,
    {
        let stop = Stop::default();
        let _stop = StopOnDrop(stop.clone());
        self.blocking(move || work(stop)).await
    }

    /// Hashes a hole of a file.
    pub(super) async fn hash_hole(
        &mut self,
        reader: &Reader,
        mut hasher: blake3::Hasher,
        length: u32,
    ) -> Result<blake3::Hasher, Error> {
        let reader = reader.clone();
        let hash = move |stop| reader.until(stop).hash_zeros(&mut hasher, length.into()).map(|()| hasher);
        let hashed = self.stoppable(hash).await?;
        hashed.map_err(|error| Error::Here(error.to_string()))
    }

    /// Waits for blocking work, with keepalives to the peer.
    pub(super) async fn blocking<T, F>(&mut self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let done = self.meanwhile(tokio::task::spawn_blocking(work)).await?;
        done.map_err(|error| Error::Here(format!("an internal task failed: {error}")))
    }
}

/// Starts the protocol on a stream.
pub(super) fn meet<S>(
    stream: S,
    patience: Duration,
) -> (MessageReader<ReadHalf<S>>, MessageWriter<WriteHalf<S>>)
where
    S: AsyncRead + AsyncWrite,
{
    let (reader, writer) = split(stream);
    let reader = FrameReader::new(reader, patience);
    let writer = FrameWriter::beside(&reader, writer);
    (MessageReader { reader, patience, queued: None }, MessageWriter { writer, scratch: Vec::new() })
}

/// Ends the protocol: sends this end's error, if there is one, and waits until the peer has received it.
pub(super) async fn part<R, W, T>(
    mut incoming: MessageReader<R>,
    mut outgoing: MessageWriter<W>,
    done: &Result<T, Error>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    // The result is the same whether or not the peer receives this.
    let _ = timeout(CLOSE_TIMEOUT, async {
        match done {
            Err(Error::Here(reason) | Error::Protocol(reason)) => {
                outgoing.say(&TransferMessage::Failed(reason.clone())).await?;
            }
            Err(Error::Stream(_)) => return Ok(()),
            Ok(_) | Err(Error::There(_)) => {}
        }
        outgoing.writer.finish().await?;
        incoming.reader.drain().await
    })
    .await;
}

fn served_others(patience: Duration) -> String {
    format!("the receiver has been serving other senders for {} s", patience.as_secs_f64())
}

fn too_soon() -> Error {
    Error::Stream(io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the peer closed the connection before the end of the transfer",
    ))
}

/// Longest wait for the first message of the peer.
pub(super) const FIRST: Duration = Duration::from_secs(10);
/// Longest wait for the peer to close the connection after both ends have the result.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
