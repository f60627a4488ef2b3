//! Sending end of a file transfer.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::list::{Origin, Source, Sources, Stamp, open};
use super::message::{FileEntry, HOLE_MAX, Hash, Have, TransferMessage};
use super::reading::{Reader, Reading};
use super::talk::{CLOSE_TIMEOUT, MessageReader, MessageWriter, meet, part};
use super::zeros::{Extent, next_extent};
use super::{Error, Options, Progress, Report, Summary};
use crate::frames::BODY_MAX;

/// Sends all files over one connection, and waits until the receiver has them.
pub async fn send<S>(
    stream: S,
    sources: Sources,
    options: Options,
    report: Report<'_>,
) -> Result<Summary, Error>
where
    S: AsyncRead + AsyncWrite,
{
    send_between(meet(stream, options.patience), sources, options, report).await
}

/// Sends all files over the two directions of a connection.
pub(super) async fn send_between<R, W>(
    (mut incoming, mut outgoing): (MessageReader<R>, MessageWriter<W>),
    sources: Sources,
    options: Options,
    report: Report<'_>,
) -> Result<Summary, Error>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut summary = Summary { files: sources.files(), ..Summary::default() };
    let mut report = |progress: Progress| {
        summary.note(&progress);
        report(progress);
    };
    let done = converse(&mut incoming, &mut outgoing, sources, options.patience, &mut report).await;
    part(incoming, outgoing, &done).await;
    done.map(|()| summary)
}

/// Sends and receives concurrently: the receiver may give up at any moment.
async fn converse<R, W>(
    incoming: &mut MessageReader<R>,
    outgoing: &mut MessageWriter<W>,
    sources: Sources,
    patience: Duration,
    report: Report<'_>,
) -> Result<(), Error>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (entries, files) = (sources.list.len(), sources.files());
    let (ready, haves) = oneshot::channel();
    let mut hear = std::pin::pin!(hear(incoming, ready, entries));
    let spoken = tokio::select! {
        biased;
        heard = &mut hear => {
            return heard.and_then(|_| Err(Error::Protocol("result received before the last file was sent".to_owned())));
        }
        spoken = speak(outgoing, sources, patience, haves, report) => spoken,
    };
    match spoken {
        // A receiver that gives up first sends the reason.
        Err(lost @ Error::Stream(_)) => match timeout(CLOSE_TIMEOUT, hear).await {
            Ok(Err(reason @ Error::There(_))) => Err(reason),
            _ => Err(lost),
        },
        Err(other) => Err(other),
        Ok(()) if hear.await? == files => Ok(()),
        Ok(()) => Err(Error::Protocol("the number of files in the result is wrong".to_owned())),
    }
}

/// The receiver's list of existing data, and its patience.
struct Ready {
    haves: BTreeMap<u32, Have>,
    patience: Duration,
}

/// Reads the receiver's list of existing data, then its result: the number of complete files.
async fn hear<R>(
    incoming: &mut MessageReader<R>,
    ready: oneshot::Sender<Ready>,
    entries: usize,
) -> Result<u32, Error>
where
    R: AsyncRead + Unpin,
{
    let mut haves = BTreeMap::new();
    let patience = loop {
        match incoming.next().await.map_err(until_ready)? {
            TransferMessage::Have(have) if haves.len() < entries => haves.insert(have.index, have),
            TransferMessage::Ready { patience } => break patience,
            _ => return Err(out_of_order()),
        };
    };
    // After a failed transfer the channel has no receiver.
    let _ = ready.send(Ready { haves, patience });
    match incoming.next().await? {
        TransferMessage::Verdict { files } => Ok(files),
        _ => Err(out_of_order()),
    }
}

/// Error for a sender that has waited in vain.
fn until_ready(error: Error) -> Error {
    match error {
        Error::Stream(error) if error.kind() == io::ErrorKind::TimedOut => {
            Error::Stream(io::Error::new(error.kind(), format!("{error}, before it was ready to receive")))
        }
        other => other,
    }
}

async fn speak<W>(
    outgoing: &mut MessageWriter<W>,
    sources: Sources,
    patience: Duration,
    ready: oneshot::Receiver<Ready>,
    report: Report<'_>,
) -> Result<(), Error>
where
    W: AsyncWrite + Unpin,
{
    report(Progress::Begin { files: sources.files(), bytes: sources.bytes() });
    sources.notes.iter().cloned().map(Progress::Note).for_each(&mut *report);
    outgoing.say(&TransferMessage::Hello { patience }).await?;
    for source in &sources.list {
        outgoing.say_later(&TransferMessage::FileEntry(Ok(source.entry.clone()))).await?;
    }
    let entries = u32::try_from(sources.list.len()).expect("the list is bounded");
    outgoing.say(&TransferMessage::Listed { entries }).await?;
    outgoing.flush().await?;
    let Ok(Ready { mut haves, patience }) = ready.await else { return Err(out_of_order()) };
    outgoing.keep_alive_for(patience);
    let mut files = (0..).zip(sources.list).filter(|(_, source)| source.entry.is_file());
    let mut small = Vec::new();
    loop {
        let next = files.next();
        if small.len() >= SMALL_FILES || next.as_ref().is_none_or(|(_, source)| !is_small(source)) {
            small_files(outgoing, std::mem::take(&mut small), report).await?;
        }
        let Some((index, source)) = next else { break };
        let have = haves.remove(&index);
        if is_small(&source) {
            small.push((index, source, have));
        } else {
            report(Progress::File(source.entry.name.to_string()));
            file(outgoing, index, source, have, report).await?;
        }
    }
    outgoing.say(&TransferMessage::Done).await?;
    Ok(outgoing.flush().await?)
}

/// Whether a file fits into one message.
fn is_small(source: &Source) -> bool {
    matches!(source.origin, Origin::File(_)) && source.entry.size.is_some_and(|size| size <= BODY_MAX as u64)
}

/// Sends files that fit into one message each. They are read in this thread, because a change of threads per
/// file would take more time than reading it.
async fn small_files<W>(
    outgoing: &mut MessageWriter<W>,
    sources: Vec<(u32, Source, Option<Have>)>,
    report: Report<'_>,
) -> Result<(), Error>
where
    W: AsyncWrite + Unpin,
{
    if sources.is_empty() {
        return Ok(());
    }
    let reader = Reader::of_one_peer();
    let read = move |stop| -> Vec<_> {
        let reading = reader.until(stop);
        let read = |(index, source, have)| (index, whole(&source, have, &reading), source.entry);
        sources.into_iter().map(read).collect()
    };
    for (index, contents, entry) in outgoing.stoppable(read).await? {
        report(Progress::File(entry.name.to_string()));
        let Whole { offset, rest, hash } = contents?;
        outgoing.say_later(&TransferMessage::File { index, offset }).await?;
        report(Progress::Had(offset));
        if !rest.is_empty() {
            outgoing.say_later(&TransferMessage::Data(&rest)).await?;
            report(Progress::Moved(rest.len() as u64));
        }
        outgoing.say_later(&TransferMessage::End { hash }).await?;
        report(Progress::Complete);
    }
    Ok(outgoing.flush().await?)
}

/// Contents of a small file, read into memory.
struct Whole {
    /// Number of bytes at the file's start that the receiver has already.
    offset: u64,
    rest: Vec<u8>,
    hash: Hash,
}

fn whole(source: &Source, have: Option<Have>, reading: &Reading) -> Result<Whole, Error> {
    let (Origin::File(path), Some(size)) = (&source.origin, source.entry.size) else {
        unreachable!("a small file has a path and a size");
    };
    let mut start = begin(path, size, have, reading)?;
    let mut rest = Vec::new();
    let read = (&mut start.file).take(size - start.offset).read_to_end(&mut rest);
    let now = read.and_then(|_| start.file.metadata()).map_err(|why| cannot_read(path, &why))?;
    start.check(source, rest.len() as u64, &now)?;
    start.hasher.update(&rest);
    Ok(Whole { offset: start.offset, rest, hash: start.hasher.finalize().into() })
}

/// Sends one file, from the receiver's offset on.
async fn file<W>(
    outgoing: &mut MessageWriter<W>,
    index: u32,
    source: Source,
    have: Option<Have>,
    report: Report<'_>,
) -> Result<(), Error>
where
    W: AsyncWrite + Unpin,
{
    let Source { entry, origin } = source;
    let reader = Reader::of_one_peer();
    let hasher = match (origin, entry.size) {
        (Origin::File(path), Some(size)) => {
            let start = {
                let (path, reader) = (path.clone(), reader.clone());
                outgoing.stoppable(move |stop| begin(&path, size, have, &reader.until(stop))).await??
            };
            outgoing.say(&TransferMessage::File { index, offset: start.offset }).await?;
            report(Progress::Had(start.offset));
            extents(outgoing, &entry, &path, &reader, start, report).await?
        }
        (Origin::Stream(Some(stream)), _) => {
            outgoing.say(&TransferMessage::File { index, offset: 0 }).await?;
            contents(outgoing, &entry, stream, blake3::Hasher::new(), report).await?.1
        }
        _ => unreachable!("a file has a size, and a folder is not sent"),
    };
    outgoing.say(&TransferMessage::End { hash: hasher.finalize().into() }).await?;
    report(Progress::Complete);
    Ok(())
}

/// Sends the data and the holes of a file; returns its hash.
async fn extents<W>(
    outgoing: &mut MessageWriter<W>,
    entry: &FileEntry,
    path: &Path,
    reader: &Reader,
    start: Start,
    report: Report<'_>,
) -> Result<blake3::Hasher, Error>
where
    W: AsyncWrite + Unpin,
{
    let bad = |why: io::Error| cannot_read(path, &why);
    let Start { file, stamp, offset: mut at, mut hasher } = start;
    let size = stamp.size();
    while at < size {
        let other = file.try_clone().map_err(bad)?;
        let found = outgoing.blocking(move || Ok((next_extent(&other, at, size)?, other))).await?;
        let (Extent { hole, data }, other) = found.map_err(bad)?;
        let mut left = hole;
        while left > 0 {
            let part = u32::try_from(left).unwrap_or(u32::MAX).min(HOLE_MAX);
            outgoing.say(&TransferMessage::Hole(part)).await?;
            hasher = outgoing.hash_hole(reader, hasher, part).await?;
            report(Progress::Hole(part.into()));
            left -= u64::from(part);
        }
        let body = tokio::fs::File::from_std(other).take(data);
        let sent;
        (sent, hasher) = contents(outgoing, entry, body, hasher, report).await?;
        at += hole + sent;
        if sent < data {
            break;
        }
    }
    let now = file.metadata().map_err(bad)?;
    if at < size || Stamp::of(&now) != stamp { Err(changed(entry)) } else { Ok(hasher) }
}

/// Next file to send, with the position at which it starts.
struct Start {
    file: std::fs::File,
    stamp: Stamp,
    offset: u64,
    hasher: blake3::Hasher,
}

impl Start {
    /// Fails if the file has changed, or if it has ended after `sent` bytes.
    fn check(&self, source: &Source, sent: u64, now: &Metadata) -> Result<(), Error> {
        let is_whole = source.entry.size == Some(self.offset + sent);
        if is_whole && Stamp::of(now) == self.stamp { Ok(()) } else { Err(changed(&source.entry)) }
    }
}

/// Skips the bytes that the receiver has, if their hash agrees.
fn begin(path: &Path, size: u64, have: Option<Have>, reading: &Reading) -> Result<Start, Error> {
    let (mut file, stamp) = open(path, size)?;
    let bad = |why: io::Error| cannot_read(path, &why);
    if let Some(have) = have.filter(|have| (1..=size).contains(&have.offset)) {
        let hasher = reading.hash(&mut file, have.offset).map_err(bad)?;
        if hasher.finalize() == have.hash {
            return Ok(Start { file, stamp, offset: have.offset, hasher });
        }
        file.seek(SeekFrom::Start(0)).map_err(bad)?;
    }
    Ok(Start { file, stamp, offset: 0, hasher: blake3::Hasher::new() })
}

/// Sends data; returns the bytes sent, and the hash so far.
async fn contents<W>(
    outgoing: &mut MessageWriter<W>,
    entry: &FileEntry,
    mut body: impl AsyncRead + Unpin,
    mut hasher: blake3::Hasher,
    report: Report<'_>,
) -> Result<(u64, blake3::Hasher), Error>
where
    W: AsyncWrite + Unpin,
{
    let mut buffer = vec![0; BODY_MAX];
    let mut sent = 0;
    loop {
        let n = outgoing.meanwhile(body.read(&mut buffer)).await?;
        let n = n.map_err(|why| Error::Here(format!("cannot read '{}': {why}", entry.name)))?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        outgoing.say(&TransferMessage::Data(&buffer[..n])).await?;
        sent += n as u64;
        report(Progress::Moved(n as u64));
    }
    Ok((sent, hasher))
}

fn changed(entry: &FileEntry) -> Error {
    Error::Here(format!("'{}' changed during the transfer: repeat the transfer", entry.name))
}

fn cannot_read(path: &Path, why: &io::Error) -> Error {
    Error::Here(format!("cannot read {}: {why}", path.display()))
}

fn out_of_order() -> Error {
    Error::Protocol("message out of order".to_owned())
}

/// Largest number of small files that are read at once.
const SMALL_FILES: usize = 64;
