//! The sending end.

use std::collections::BTreeMap;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::list::{Origin, Source, Sources, Stamp, open};
use super::message::{EntryKind, FileEntry, Have, TransferMessage, VERSION};
use super::place::hash_prefix;
use super::talk::{FAREWELL, MessageReader, MessageWriter, meet, part};
use super::{Error, Options, Progress, Report, Summary};
use crate::frames::BODY_MAX;

/// Sends everything, and waits until the receiver has it.
pub async fn send<S>(
    stream: S,
    sources: Sources,
    options: Options,
    report: Report<'_>,
) -> Result<Summary, Error>
where
    S: AsyncRead + AsyncWrite,
{
    let (mut incoming, mut outgoing) = meet(stream, options.patience);
    let mut summary = Summary { files: sources.files(), ..Summary::default() };
    let mut report = |progress: Progress| {
        summary.note(&progress);
        report(progress);
    };
    let done = converse(&mut incoming, &mut outgoing, sources, &mut report).await;
    part(incoming, outgoing, &done).await;
    done.map(|()| summary)
}

/// Sends and receives concurrently: the receiver may give up at any moment.
async fn converse<R, W>(
    incoming: &mut MessageReader<R>,
    outgoing: &mut MessageWriter<W>,
    sources: Sources,
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
            return heard.and_then(|_| Err(Error::Protocol("it sent a result before the end".to_owned())));
        }
        spoken = speak(outgoing, sources, haves, report) => spoken,
    };
    match spoken {
        // A receiver that gives up sends the reason first.
        Err(lost @ Error::Stream(_)) => match timeout(FAREWELL, hear).await {
            Ok(Err(reason @ Error::There(_))) => Err(reason),
            _ => Err(lost),
        },
        Err(other) => Err(other),
        Ok(()) if hear.await? == files => Ok(()),
        Ok(()) => Err(Error::Protocol("it reported another number of files".to_owned())),
    }
}

/// Reads what the receiver has, then its result: the number of complete files.
async fn hear<R>(
    incoming: &mut MessageReader<R>,
    ready: oneshot::Sender<BTreeMap<u32, Have>>,
    entries: usize,
) -> Result<u32, Error>
where
    R: AsyncRead + Unpin,
{
    let mut haves = BTreeMap::new();
    loop {
        match incoming.next().await? {
            TransferMessage::Have(have) if haves.len() < entries => haves.insert(have.index, have),
            TransferMessage::Ready => break,
            _ => return Err(out_of_order()),
        };
    }
    // The channel has no receiver once the transfer has failed.
    let _ = ready.send(haves);
    match incoming.next().await? {
        TransferMessage::Verdict { files } => Ok(files),
        _ => Err(out_of_order()),
    }
}

async fn speak<W>(
    outgoing: &mut MessageWriter<W>,
    sources: Sources,
    haves: oneshot::Receiver<BTreeMap<u32, Have>>,
    report: Report<'_>,
) -> Result<(), Error>
where
    W: AsyncWrite + Unpin,
{
    report(Progress::Begin { files: sources.files(), bytes: sources.bytes() });
    sources.notes.iter().cloned().map(Progress::Note).for_each(&mut *report);
    outgoing.say(&TransferMessage::Hello { version: VERSION }).await?;
    for source in &sources.list {
        outgoing.say(&TransferMessage::FileEntry(Ok(source.entry.clone()))).await?;
    }
    let entries = u32::try_from(sources.list.len()).expect("the list is bounded");
    outgoing.say(&TransferMessage::Listed { entries }).await?;
    outgoing.flush().await?;
    let Ok(mut haves) = haves.await else { return Err(out_of_order()) };
    for (index, source) in (0..).zip(sources.list) {
        if source.entry.kind != EntryKind::Folder {
            report(Progress::File(source.entry.name.to_string()));
            file(outgoing, index, source, haves.remove(&index), report).await?;
        }
    }
    outgoing.say(&TransferMessage::Done).await?;
    Ok(outgoing.flush().await?)
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
    match (origin, entry.size) {
        (Origin::File(path), Some(size)) => {
            let start = {
                let path = path.clone();
                outgoing.blocking(move || begin(&path, size, have)).await??
            };
            outgoing.say(&TransferMessage::File { index, offset: start.offset }).await?;
            report(Progress::Had(start.offset));
            let mut file = tokio::fs::File::from_std(start.file);
            let body = (&mut file).take(size - start.offset);
            let sent = contents(outgoing, &entry, body, start.hasher, report).await?;
            let now = file.metadata().await.map_err(|why| cannot_read(&path, &why))?;
            if start.offset + sent < size || Stamp::of(&now) != start.stamp {
                return Err(Error::Here(format!(
                    "'{}' changed during the transfer: repeat the transfer",
                    entry.name
                )));
            }
        }
        (Origin::Stream(Some(stream)), _) => {
            outgoing.say(&TransferMessage::File { index, offset: 0 }).await?;
            contents(outgoing, &entry, stream, blake3::Hasher::new(), report).await?;
        }
        _ => unreachable!("a file has a size, and a folder is not sent"),
    }
    Ok(())
}

/// The next file to send.
struct Start {
    file: std::fs::File,
    stamp: Stamp,
    offset: u64,
    hasher: blake3::Hasher,
}

/// Skips what the receiver has, if its hash agrees.
fn begin(path: &Path, size: u64, have: Option<Have>) -> Result<Start, Error> {
    let (mut file, stamp) = open(path, size)?;
    let bad = |why: io::Error| cannot_read(path, &why);
    if let Some(have) = have.filter(|have| (1..=size).contains(&have.offset)) {
        let hasher = hash_prefix(&mut file, have.offset).map_err(bad)?;
        if hasher.finalize() == have.hash {
            return Ok(Start { file, stamp, offset: have.offset, hasher });
        }
        file.seek(SeekFrom::Start(0)).map_err(bad)?;
    }
    Ok(Start { file, stamp, offset: 0, hasher: blake3::Hasher::new() })
}

/// Sends the rest of a file, and its hash; returns the bytes sent.
async fn contents<W>(
    outgoing: &mut MessageWriter<W>,
    entry: &FileEntry,
    mut body: impl AsyncRead + Unpin,
    mut hasher: blake3::Hasher,
    report: Report<'_>,
) -> Result<u64, Error>
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
    outgoing.say(&TransferMessage::End { hash: hasher.finalize().into() }).await?;
    Ok(sent)
}

fn cannot_read(path: &Path, why: &io::Error) -> Error {
    Error::Here(format!("cannot read {}: {why}", path.display()))
}

fn out_of_order() -> Error {
    Error::Protocol("message out of order".to_owned())
}
