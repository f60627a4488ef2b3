//! Sending over one connection after another, until the receiver has everything.
//!
//! A connection ends when either host restarts or both change their addresses, and it may be slow to notice. The sender
//! therefore dials again as soon as it has heard nothing for [`SILENCE`], and goes on over the new connection: the
//! receiver says how much of each file it has.

use std::future::pending;
use std::io;
use std::pin::pin;
use std::time::Duration;

use multihop_net::Stream;
use tokio::time::{Instant, sleep, timeout};

use super::place::BUSY;
use super::send::send_between;
use super::talk::meet;
use super::{Error, Options, Progress, Report, Sources, Summary};
use crate::frames::Heartbeat;

/// Sends all files over `first` and then over connections that `dial` opens, until the receiver has them.
/// `sources` lists the same files at each call. The patience of `options` is the time without progress after
/// which sending fails.
pub async fn send_lasting(
    first: Stream,
    dial: impl AsyncFn() -> io::Result<Stream>,
    mut sources: impl FnMut() -> Result<Sources, Error>,
    options: Options,
    report: Report<'_>,
) -> Result<Summary, Error> {
    let mut connection = AbortOnDrop::new(first);
    let mut progress = LastProgress { at: Instant::now(), moved: 0, moved_before: 0 };
    // The counters of connections before the current one.
    let mut before = Summary::default();
    loop {
        let sources = sources()?;
        let mut watched = |step: Progress| {
            progress.note(&step);
            report(step);
        };
        let attempt = attempt(&mut connection.stream, &dial, sources, options, &mut watched).await;
        let lost = match attempt {
            Attempt::Done(summary) => {
                connection.is_complete = true;
                let Summary { counters, .. } = before.with(&connection.stream);
                return Ok(Summary { counters, ..progress.complete(summary) });
            }
            Attempt::Lost { error, .. } if is_final(&error) => return Err(error),
            Attempt::Lost { error, heard } => {
                progress.at = heard.map_or(progress.at, |heard| progress.at.max(heard));
                error
            }
            Attempt::Replaced(next) => {
                report(Progress::Note(
                    "no packets from the peer: continuing over a new connection".to_owned(),
                ));
                before = before.with(&connection.stream);
                connection = AbortOnDrop::new(next);
                progress.begin_attempt();
                continue;
            }
        };
        before = before.with(&connection.stream);
        connection.stream.abort();
        let left = options.patience.saturating_sub(progress.at.elapsed());
        if left <= PAUSE {
            return Err(lost);
        }
        report(Progress::Note(format!("{lost}; trying again for up to {:.0} s", left.as_secs_f64().ceil())));
        sleep(PAUSE).await;
        // The loss of the connection explains more than a failure of dialling again.
        let next = dial_within(&dial, progress.at + options.patience).await.map_err(|_| lost)?;
        connection = AbortOnDrop::new(next);
        progress.begin_attempt();
    }
}

/// Sends all files over this connection, which is aborted if the transfer does not complete.
pub async fn send_over(
    stream: Stream,
    sources: Sources,
    options: Options,
    report: Report<'_>,
) -> Result<Summary, Error> {
    let mut connection = AbortOnDrop::new(stream);
    let sent = send_between(meet(&mut connection.stream, options.patience), sources, options, report).await;
    connection.is_complete = sent.is_ok();
    sent.map(|summary| summary.with(&connection.stream))
}

/// A connection that is aborted unless its transfer is complete: unsent data would keep the receiver waiting.
struct AbortOnDrop {
    stream: Stream,
    is_complete: bool,
}

impl AbortOnDrop {
    const fn new(stream: Stream) -> Self {
        Self { stream, is_complete: false }
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if !self.is_complete {
            self.stream.abort();
        }
    }
}

/// Dials until a connection is open, or until `end`; the error is that of the last attempt.
pub async fn dial_within(dial: &impl AsyncFn() -> io::Result<Stream>, end: Instant) -> io::Result<Stream> {
    loop {
        let error = match timeout(DIAL_MAX, dial()).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => error,
            Err(_) => no_answer(),
        };
        if !may_pass(&error) || Instant::now() + PAUSE >= end {
            return Err(error);
        }
        sleep(PAUSE).await;
    }
}

/// The bytes that a transfer has moved, and the time of its last progress.
struct LastProgress {
    /// Time at which bytes were last transferred, or at which the receiver last showed that it was working,
    /// for example reading its files.
    at: Instant,
    /// Number of bytes transferred over all connections.
    moved: u64,
    /// Number of bytes transferred over earlier connections.
    moved_before: u64,
}

impl LastProgress {
    fn note(&mut self, step: &Progress) {
        if let Progress::Moved(bytes) = step {
            self.moved += bytes;
        }
        if matches!(step, Progress::Moved(_) | Progress::Hole(_) | Progress::Complete) {
            self.at = Instant::now();
        }
    }

    fn begin_attempt(&mut self) {
        self.moved_before = self.moved;
    }

    /// Summary over all connections. The summary of the last connection counts bytes of earlier connections
    /// as already present.
    fn complete(&self, last: Summary) -> Summary {
        Summary { moved: self.moved, had: last.had.saturating_sub(self.moved_before), ..last }
    }
}

/// Outcome of one connection of a transfer.
enum Attempt {
    Done(Summary),
    /// The connection failed before the transfer was complete. `heard` is the time of the receiver's last message, or `None` if the connection was
    /// short.
    Lost {
        error: Error,
        heard: Option<Instant>,
    },
    /// Nothing was received over the connection for [`SILENCE`], and another connection replaces it.
    Replaced(Stream),
}

async fn attempt(
    stream: &mut Stream,
    dial: &impl AsyncFn() -> io::Result<Stream>,
    sources: Sources,
    options: Options,
    report: Report<'_>,
) -> Attempt {
    let begin = Instant::now();
    let (incoming, outgoing) = meet(stream, options.patience);
    let pulse = incoming.pulse();
    let sending = pin!(send_between((incoming, outgoing), sources, options, report));
    tokio::select! {
        biased;
        done = sending => match done {
            Ok(summary) => Attempt::Done(summary),
            Err(error) => {
                let heard = Instant::now().checked_sub(pulse.silence());
                // Connections that end soon after their beginning count as no progress.
                let heard = heard.filter(|&heard| heard >= begin + SILENCE);
                Attempt::Lost { error, heard }
            }
        },
        stream = replacement(&pulse, dial) => Attempt::Replaced(stream),
    }
}

/// Dials a connection that replaces one on which nothing arrives.
async fn replacement(pulse: &Heartbeat, dial: &impl AsyncFn() -> io::Result<Stream>) -> Stream {
    loop {
        let silence = pulse.silence();
        if silence < SILENCE {
            sleep(SILENCE - silence).await;
            continue;
        }
        match timeout(DIAL_MAX, dial()).await {
            Ok(Ok(stream)) if pulse.silence() >= SILENCE => return stream,
            Ok(Err(error)) if !may_pass(&error) => return pending().await,
            _ => sleep(PAUSE).await,
        }
    }
}

/// Whether the error is permanent, so that another connection would fail as well.
fn is_final(error: &Error) -> bool {
    match error {
        Error::Here(_) | Error::Protocol(_) => true,
        // The transfer over the previous connection has not ended yet.
        Error::There(reason) => !reason.ends_with(BUSY),
        Error::Stream(error) => error.kind() == io::ErrorKind::InvalidData,
    }
}

/// Whether a failure to connect may be temporary: the listener is not running yet, or there is no path to it.
fn may_pass(error: &io::Error) -> bool {
    use multihop_net::Error::{Aborted, Refused, Reset, TimedOut, TooMany, Unreachable};
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(error) => matches!(error, Refused | Reset | TimedOut | Unreachable | Aborted | TooMany),
        None => !matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput),
    }
}

fn no_answer() -> io::Error {
    let text = format!("the peer did not answer within {} s", DIAL_MAX.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, text)
}

/// Time without a message after which a receiver counts as gone. A live receiver sends at least once a
/// second.
const SILENCE: Duration = Duration::from_secs(3);
/// Longest time of one attempt to connect; the next attempt resolves the address again.
const DIAL_MAX: Duration = Duration::from_secs(4);
/// Time between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(500);
