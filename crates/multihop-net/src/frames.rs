//! Messages on a byte stream: kind (1 byte), length of the body (4 bytes, big-endian), body.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::{Instant, sleep_until, timeout};

/// Reads messages.
pub(crate) struct FrameReader<R> {
    inner: BufReader<R>,
    patience: Duration,
    body: Vec<u8>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Fails when nothing has moved for `patience`.
    pub(crate) fn new(inner: R, patience: Duration) -> Self {
        Self { inner: BufReader::with_capacity(BODY_MAX, inner), patience, body: Vec::new() }
    }

    /// Reads the next message and returns its kind, see [`body`](Self::body); `None` if the stream ends before it.
    pub(crate) async fn next(&mut self) -> io::Result<Option<u8>> {
        let mut head = [0; HEAD];
        match self.fill(&mut head).await? {
            0 => return Ok(None),
            HEAD => {}
            _ => return Err(cut_off()),
        }
        let [kind, length @ ..] = head;
        let length = u32::from_be_bytes(length) as usize;
        if length > BODY_MAX {
            let text = format!("received a message of {length} bytes, allowed: {BODY_MAX}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let mut body = std::mem::take(&mut self.body);
        body.resize(length, 0);
        let got = self.fill(&mut body).await?;
        self.body = body;
        if got < length { Err(cut_off()) } else { Ok(Some(kind)) }
    }

    /// The stream.
    pub(crate) fn get_ref(&self) -> &R {
        self.inner.get_ref()
    }

    /// The stream; buffered input is dropped.
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
        while self.fill(&mut scrap).await? == scrap.len() {}
        Ok(())
    }

    /// Fills the buffer; returns the bytes read, fewer only at the end of the stream.
    async fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match patiently(self.patience, self.inner.read(&mut buffer[filled..])).await? {
                0 => break,
                n => filled += n,
            }
        }
        Ok(filled)
    }
}

/// Writes messages.
pub(crate) struct FrameWriter<W> {
    inner: W,
    patience: Duration,
    message: Vec<u8>,
    /// When the last message was sent.
    last: Instant,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// Fails when nothing has moved for `patience`.
    pub(crate) fn new(inner: W, patience: Duration) -> Self {
        Self { inner, patience, message: Vec::with_capacity(HEAD + BODY_MAX), last: Instant::now() }
    }

    /// Sends one message; its body has [`BODY_MAX`] bytes at most.
    pub(crate) async fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len()).expect("our own messages are short");
        self.message.clear();
        self.message.push(kind);
        self.message.extend(length.to_be_bytes());
        self.message.extend_from_slice(body);
        let mut rest = self.message.as_slice();
        while !rest.is_empty() {
            let n = patiently(self.patience, self.inner.write(rest)).await?;
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest = &rest[n..];
        }
        self.last = Instant::now();
        Ok(())
    }

    /// The stream.
    pub(crate) fn get_ref(&self) -> &W {
        &self.inner
    }

    /// The stream.
    pub(crate) fn into_inner(self) -> W {
        self.inner
    }

    /// Flushes the stream.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        patiently(self.patience, self.inner.flush()).await
    }

    /// Closes our side; returns once the peer has everything.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        patiently(self.patience, self.inner.shutdown()).await
    }

    /// Waits for `work`; meanwhile keepalive messages of this kind go to the peer.
    pub(crate) async fn meanwhile<T>(&mut self, kind: u8, work: impl Future<Output = T>) -> io::Result<T> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                () = sleep_until(self.last + KEEPALIVE) => {
                    self.send(kind, &[]).await?;
                    self.flush().await?;
                }
                done = &mut work => return Ok(done),
            }
        }
    }
}

async fn patiently<T>(patience: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(patience, work).await.unwrap_or_else(|_| {
        let text = format!("nothing received from the peer for {} s", patience.as_secs_f64());
        Err(io::Error::new(io::ErrorKind::TimedOut, text))
    })
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the stream ended in the middle of a message")
}

/// Longest body.
pub(crate) const BODY_MAX: usize = 32 * 1024;
const HEAD: usize = 5;
/// Time between two keepalive messages: far below any `patience`.
const KEEPALIVE: Duration = Duration::from_secs(10);
