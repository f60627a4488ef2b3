//! Connection to a client: a program that controls an emulation by lines of JSON.

use std::cell::RefCell;
use std::io::{BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use multihop_linux::wait::Doorbell;
use nix::unistd::{Pid, getppid};
use serde_json::Value;

use crate::{EmulateError, Tried};

/// Streams of the client: its requests, and the replies to it.
pub struct Client {
    /// Requests, one JSON object a line. Their end ends the emulation.
    pub requests: Box<dyn BufRead + Send>,
    /// Replies and events, one JSON object a line.
    pub replies: Box<dyn Write + Send>,
}

/// Lines from and to the client, which threads of their own read and write, so that the network waits for neither.
pub(crate) struct Control {
    lines: Receiver<Line>,
    /// Line that was received before it is due.
    next: RefCell<Option<Line>>,
    /// Queue of replies to the client; `None` while the emulation ends.
    replies: Option<Sender<String>>,
    /// Replies that the client has not taken yet.
    backlog: Arc<AtomicUsize>,
    /// Disconnected once all replies have been written.
    written: Receiver<()>,
    /// Process that started this one and holds the client's end of the streams.
    parent: Pid,
}

/// Input from the client.
pub(crate) enum Line {
    /// A line without its end.
    Request(Vec<u8>),
    /// A line of more than [`MAX_LINE`] bytes.
    TooLong,
    /// The client has closed its stream.
    End,
}

/// Longest line of a request, bytes.
pub(crate) const MAX_LINE: usize = 1 << 20;
/// Replies that may wait for a client before no further request is read.
const MAX_BACKLOG: usize = 64;
/// Requests that may wait for the network before no further one is read from the stream.
const MAX_REQUESTS: usize = 64;
/// Longest time for which the end of an emulation waits for a client that does not read its replies.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

impl Control {
    /// Starts to read requests. Each request rings `bell`, which wakes the driver.
    pub(crate) fn new(client: Client, bell: Arc<Doorbell>) -> Result<Self, EmulateError> {
        let Client { requests, replies: mut to_client } = client;
        let (found, lines) = sync_channel(MAX_REQUESTS);
        let (replies, to_write) = channel::<String>();
        let (is_open, written) = channel();
        let backlog = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&backlog);
        let start = || "start a thread".to_owned();
        thread::Builder::new()
            .name("requests".to_owned())
            .spawn(move || read(requests, &found, &bell))
            .tried(start)?;
        let write = move || {
            let _open: Sender<()> = is_open;
            for line in to_write {
                // A client that is gone takes nothing; the end of its requests ends the emulation.
                let _ = to_client.write_all(line.as_bytes()).and_then(|()| to_client.flush());
                counted.fetch_sub(1, Ordering::Relaxed);
            }
        };
        thread::Builder::new().name("replies".to_owned()).spawn(write).tried(start)?;
        Ok(Self {
            lines,
            next: RefCell::default(),
            replies: Some(replies),
            backlog,
            written,
            parent: getppid(),
        })
    }

    /// The next line of the client, unless it has to take replies first.
    pub(crate) fn poll(&self) -> Option<Line> {
        if getppid() != self.parent {
            return Some(Line::End);
        }
        if self.backlog.load(Ordering::Relaxed) >= MAX_BACKLOG {
            return None;
        }
        self.next.take().or_else(|| self.lines.try_recv().ok())
    }

    /// Whether the client has closed its stream, and no request before the end is left.
    pub(crate) fn is_over(&self) -> bool {
        let mut next = self.next.borrow_mut();
        if next.is_none() {
            *next = self.lines.try_recv().ok();
        }
        getppid() != self.parent || matches!(*next, Some(Line::End))
    }

    /// Sends a reply or an event.
    pub(crate) fn send(&self, message: &Value) {
        self.backlog.fetch_add(1, Ordering::Relaxed);
        let replies = self.replies.as_ref().expect("nothing is sent after the end");
        replies.send(format!("{message}\n")).expect("the thread lives as long as this");
    }
}

impl Drop for Control {
    /// Waits until the client has taken all replies, or no longer than [`PATIENCE`].
    fn drop(&mut self) {
        drop(self.replies.take());
        let _ = self.written.recv_timeout(PATIENCE);
    }
}

fn read(mut from: Box<dyn BufRead + Send>, to: &SyncSender<Line>, bell: &Doorbell) {
    loop {
        let line = next_line(&mut from);
        let is_last = matches!(line, Line::End);
        if to.send(line).is_err() {
            return;
        }
        bell.ring();
        if is_last {
            return;
        }
    }
}

fn next_line(from: &mut impl BufRead) -> Line {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_LINE + 1).expect("a small number");
    match from.by_ref().take(limit).read_until(b'\n', &mut bytes) {
        Err(_) | Ok(0) => Line::End,
        Ok(_) if bytes.last() == Some(&b'\n') => {
            bytes.pop();
            Line::Request(bytes)
        }
        Ok(_) if bytes.len() <= MAX_LINE => Line::Request(bytes),
        Ok(_) => match from.skip_until(b'\n') {
            Ok(_) => Line::TooLong,
            Err(_) => Line::End,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_next_one_is_read() {
        let longest = "x".repeat(MAX_LINE);
        let text = format!("{longest}\n{longest}x\n\nlast");
        let mut from = text.as_bytes();
        assert!(matches!(next_line(&mut from), Line::Request(line) if line.len() == MAX_LINE));
        assert!(matches!(next_line(&mut from), Line::TooLong));
        assert!(matches!(next_line(&mut from), Line::Request(line) if line.is_empty()));
        assert!(matches!(next_line(&mut from), Line::Request(line) if line == b"last"));
        assert!(matches!(next_line(&mut from), Line::End));
    }
}
