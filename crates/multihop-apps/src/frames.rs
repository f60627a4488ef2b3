//! Messages on a byte stream: kind (1 byte), length of the body (4 bytes, big-endian), body.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// Record of when the peer was last heard.
#[derive(Debug)]
pub(crate) struct Heartbeat(Mutex<PeerActivity>);

#[derive(Debug)]
struct PeerActivity {
    /// Time at which bytes last arrived, or at which this end began to wait for them.
    last: Instant,
    waiting: bool,
}

impl Heartbeat {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(PeerActivity { last: Instant::now(), waiting: false }))
    }

    /// Time for which this end has been waiting for the peer; zero while this end is busy.
    pub(crate) fn silence(&self) -> Duration {
        let heard = self.lock();
        if heard.waiting { heard.last.elapsed() } else { Duration::ZERO }
    }

    fn last(&self) -> Instant {
        self.lock().last
    }

    fn set(&self, waiting: bool) {
        *self.lock() = PeerActivity { last: Instant::now(), waiting };
    }

    fn lock(&self) -> MutexGuard<'_, PeerActivity> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads messages from a stream, each with its kind and length.
pub(crate) struct FrameReader<R> {
    inner: BufReader<R>,
    patience: Duration,
    pulse: Arc<Heartbeat>,
    head: [u8; HEAD],
    body: Vec<u8>,
    /// Bytes of the next message that have been read.
    got: usize,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Creates a reader that fails if no bytes arrive for `patience`.
    pub(crate) fn new(inner: R, patience: Duration) -> Self {
        let inner = BufReader::with_capacity(BODY_MAX, inner);
        Self { inner, patience, pulse: Arc::new(Heartbeat::new()), head: [0; HEAD], body: Vec::new(), got: 0 }
    }

    /// Record of when the peer was last heard.
    pub(crate) fn pulse(&self) -> &Arc<Heartbeat> {
        &self.pulse
    }

    /// Reads the next message and returns its kind, see [`body`](Self::body); `None` if the stream ends
    /// before the message. Dropping a call loses no data: the next call continues with the same message.
    pub(crate) async fn next(&mut self) -> io::Result<Option<u8>> {
        while self.got < HEAD {
            match read(&mut self.inner, &self.pulse, self.patience, &mut self.head[self.got..]).await? {
                0 if self.got == 0 => return Ok(None),
                0 => return Err(cut_off()),
                n => self.got += n,
            }
        }
        let [kind, length @ ..] = self.head;
        let length = u32::from_be_bytes(length) as usize;
        if length > BODY_MAX {
            let text = format!("received a message of {length} bytes, allowed: {BODY_MAX}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.body.resize(length, 0);
        while self.got < HEAD + length {
            let rest = &mut self.body[self.got - HEAD..];
            match read(&mut self.inner, &self.pulse, self.patience, rest).await? {
                0 => return Err(cut_off()),
                n => self.got += n,
            }
        }
        self.got = 0;
        Ok(Some(kind))
    }

    /// Waits for the first byte of the next message, or for the end of the stream.
    pub(crate) async fn wait(&mut self) -> io::Result<()> {
        self.pulse.set(true);
        let ready = timeout(self.patience, self.inner.fill_buf()).await;
        self.pulse.set(false);
        ready.unwrap_or_else(|_| Err(silent(self.patience))).map(drop)
    }

    /// The stream from which messages are read.
    pub(crate) fn get_ref(&self) -> &R {
        self.inner.get_ref()
    }

    /// Mutable access to the stream, for writing.
    pub(crate) fn get_mut(&mut self) -> &mut R {
        self.inner.get_mut()
    }

    /// Sets the time without any movement after which reading fails.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Returns the stream; buffered input is dropped.
    pub(crate) fn into_inner(self) -> R {
        self.inner.into_inner()
    }

    /// The body of the last message.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Reads and discards until the peer has closed its side.
    pub(crate) async fn drain(&mut self) -> io::Result<()> {
        let mut scrap = [0; 4096];
        while read(&mut self.inner, &self.pulse, self.patience, &mut scrap).await? > 0 {}
        Ok(())
    }
}

/// Reads some bytes; 0 only at the end of the stream.
async fn read<R: AsyncRead + Unpin>(
    inner: &mut BufReader<R>,
    pulse: &Heartbeat,
    patience: Duration,
    buffer: &mut [u8],
) -> io::Result<usize> {
    pulse.set(true);
    let read = timeout(patience, inner.read(buffer)).await;
    // A peer that is gone remains silent.
    if let Ok(Ok(_)) = read {
        pulse.set(false);
    }
    read.unwrap_or_else(|_| Err(silent(patience)))
}

/// Writes messages to a stream, each with its kind and length.
pub(crate) struct FrameWriter<W> {
    inner: W,
    patience: Duration,
    /// Activity of the peer. `patience` restarts whenever the peer sends a message, because such a peer is
    /// only slow.
    pulse: Option<Arc<Heartbeat>>,
    /// Messages that are not yet sent.
    messages: Vec<u8>,
    /// When the last message was sent.
    last: Instant,
    /// Longest time between two messages while this end is busy.
    keepalive: Duration,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// Creates a writer that fails if no bytes leave for `patience`.
    pub(crate) fn new(inner: W, patience: Duration) -> Self {
        let messages = Vec::with_capacity(2 * (HEAD + BODY_MAX));
        let last = Instant::now();
        Self { inner, patience, pulse: None, messages, last, keepalive: KEEPALIVE }
    }

    /// Creates a writer for the other direction of a reader's stream. Each message that the reader receives
    /// restarts the writer's patience.
    pub(crate) fn beside<R: AsyncRead + Unpin>(reader: &FrameReader<R>, inner: W) -> Self {
        Self { pulse: Some(Arc::clone(&reader.pulse)), ..Self::new(inner, reader.patience) }
    }

    /// Sends keepalives often enough for a peer that gives up after this time.
    pub(crate) fn keep_alive_for(&mut self, patience: Duration) {
        self.keepalive = (patience / 4).clamp(KEEPALIVE_MIN, KEEPALIVE);
    }

    /// Sends one message; its body has [`BODY_MAX`] bytes at most.
    pub(crate) async fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        self.push(kind, body);
        self.write().await
    }

    /// Queues a message for sending. A short message waits for later ones, until [`flush`](Self::flush).
    pub(crate) async fn send_later(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        self.push(kind, body);
        if self.messages.len() < BODY_MAX { Ok(()) } else { self.write().await }
    }

    fn push(&mut self, kind: u8, body: &[u8]) {
        let length = u32::try_from(body.len()).expect("our own messages are short");
        self.messages.push(kind);
        self.messages.extend(length.to_be_bytes());
        self.messages.extend_from_slice(body);
    }

    async fn write(&mut self) -> io::Result<()> {
        let mut rest = self.messages.as_slice();
        while !rest.is_empty() {
            let n = patiently(self.patience, self.pulse.as_deref(), self.inner.write(rest)).await?;
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = &rest[n..];
        }
        self.messages.clear();
        self.last = Instant::now();
        Ok(())
    }

    /// Writes all queued messages and flushes the stream.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        self.write().await?;
        patiently(self.patience, self.pulse.as_deref(), self.inner.flush()).await
    }

    /// Closes the sending side; returns once the peer has received all data.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        patiently(self.patience, self.pulse.as_deref(), self.inner.shutdown()).await
    }

    /// Waits for `work`. Meanwhile keepalive messages of this kind and with this body are sent to the peer.
    pub(crate) async fn meanwhile<T>(
        &mut self,
        kind: u8,
        body: &[u8],
        work: impl Future<Output = T>,
    ) -> io::Result<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                () = sleep_until(self.last + self.keepalive) => {
                    self.send(kind, body).await?;
                    self.flush().await?;
                }
                done = &mut work => return Ok(done),
            }
        }
    }
}

/// Awaits `work`; fails if neither the work completes nor a message of the peer arrives within `patience`.
async fn patiently<T>(
    patience: Duration,
    pulse: Option<&Heartbeat>,
    work: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let mut work = std::pin::pin!(work);
    let begin = Instant::now();
    loop {
        let heard = pulse.map_or(begin, |pulse| pulse.last().max(begin));
        match timeout_at(heard + patience, &mut work).await {
            Ok(done) => return done,
            Err(_) if pulse.is_some_and(|pulse| pulse.last() > heard) => {}
            Err(_) => return Err(silent(patience)),
        }
    }
}

fn silent(patience: Duration) -> io::Error {
    let text = format!("nothing received from the peer for {} s", patience.as_secs_f64());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the stream ended in the middle of a message")
}

/// Maximum length of a message's body, bytes.
pub(crate) const BODY_MAX: usize = 32 * 1024;
const HEAD: usize = 5;
/// Longest time between two messages of a busy end. After twice this time without a message, a peer treats
/// the end as gone.
const KEEPALIVE: Duration = Duration::from_secs(1);
/// Shortest interval of the keepalives that a peer can request.
const KEEPALIVE_MIN: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use tokio::io::duplex;
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_reader_that_is_interrupted_loses_nothing() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (mut near, far) = duplex(64);
            let mut reader = FrameReader::new(far, Duration::from_secs(1000));
            for byte in [7, 0, 0, 0, 2, b'h', b'i'] {
                assert!(pin!(reader.next()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
                near.write_all(&[byte]).await.unwrap();
            }
            assert_eq!(reader.next().await.unwrap(), Some(7));
            assert_eq!(reader.body(), b"hi");
            drop(near);
            assert_eq!(reader.next().await.unwrap(), None);
        });
    }
}
