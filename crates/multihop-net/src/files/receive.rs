//! The receiving end.

use std::fmt::{self, Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::folder::Folder;
use super::list::{NAMES_MAX, bound, total};
use super::message::{EntryKind, FileEntry, Hash, TransferMessage, VERSION};
use super::names::Name;
use super::place::{Partial, Present, cannot_write, survey};
use super::talk::{MessageReader, MessageWriter, meet, part};
use super::{Error, Options, Progress, Report, Summary};

/// Where the received files go.
pub enum Target {
    /// Into this folder.
    Folder(PathBuf),
    /// One file, into this stream.
    Stream(Box<dyn AsyncWrite + Send + Unpin>),
}

impl Debug for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "Folder({})", path.display()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// Receives everything that the sender sends.
pub async fn receive<S>(
    stream: S,
    target: Target,
    options: Options,
    report: Report<'_>,
) -> Result<Summary, Error>
where
    S: AsyncRead + AsyncWrite,
{
    let (mut incoming, mut outgoing) = meet(stream, options.patience);
    let mut summary = Summary::default();
    let done = {
        let mut report = |progress: Progress| {
            summary.note(&progress);
            report(progress);
        };
        let mut receiver = FileReceiver {
            incoming: &mut incoming,
            outgoing: &mut outgoing,
            overwrite: options.overwrite,
            report: &mut report,
        };
        receiver.converse(target).await
    };
    part(incoming, outgoing, &done).await;
    done.map(|files| Summary { files, ..summary })
}

struct FileReceiver<'a, R, W> {
    incoming: &'a mut MessageReader<R>,
    outgoing: &'a mut MessageWriter<W>,
    overwrite: bool,
    report: Report<'a>,
}

/// Where the bytes of a file go.
enum Sink<'a> {
    /// It exists, with this hash.
    Nowhere(Hash),
    Partial(Partial, tokio::fs::File),
    Stream(&'a mut (dyn AsyncWrite + Send + Unpin)),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> FileReceiver<'_, R, W> {
    async fn converse(&mut self, target: Target) -> Result<u32, Error> {
        let entries: Arc<[FileEntry]> = self.list().await?.into();
        let files = entries.iter().filter(|entry| entry.kind != EntryKind::Folder).count();
        let files = u32::try_from(files).expect("the list is bounded");
        (self.report)(Progress::Begin { files, bytes: total(entries.iter()) });
        match target {
            Target::Folder(path) => self.fill_folder(&path, &entries).await?,
            Target::Stream(stream) => self.fill_stream(stream, &entries).await?,
        }
        match self.next().await? {
            TransferMessage::Done => self.outgoing.say(&TransferMessage::Verdict { files }).await?,
            _ => return Err(out_of_order()),
        }
        Ok(files)
    }

    /// Reads the sender's list, and checks it.
    async fn list(&mut self) -> Result<Vec<FileEntry>, Error> {
        match self.next().await? {
            TransferMessage::Hello { version: VERSION } => {}
            TransferMessage::Hello { version } => {
                return Err(Error::Here(format!("the sender uses version {version}, allowed: {VERSION}")));
            }
            _ => return Err(Error::Protocol("the peer is not multihop send".to_owned())),
        }
        let mut entries = Vec::new();
        let mut names = 0;
        loop {
            match self.next().await? {
                TransferMessage::FileEntry(Ok(entry)) => {
                    names += entry.name.as_bytes().len();
                    entries.push(entry);
                    bound(if names > NAMES_MAX { usize::MAX } else { entries.len() })?;
                }
                TransferMessage::FileEntry(Err(bad)) => return Err(Error::Here(format!("refused: {bad}"))),
                TransferMessage::Listed { entries: told } if told as usize == entries.len() => break,
                _ => return Err(out_of_order()),
            }
        }
        match twice(&entries) {
            Some(name) => Err(Error::Here(format!("refused: the name '{name}' occurs twice"))),
            None => Ok(entries),
        }
    }

    async fn fill_folder(&mut self, path: &Path, entries: &Arc<[FileEntry]>) -> Result<(), Error> {
        // The message does not reveal our path to the sender.
        let root = Folder::open(path).map_err(|why| Error::Here(format!("no folder to write to: {why}")))?;
        let root = Arc::new(root);
        let mut held = {
            let (root, entries, overwrite) = (root.clone(), entries.clone(), self.overwrite);
            let found = self.outgoing.blocking(move || survey(&root, &entries, overwrite)).await?;
            found.map_err(Error::Here)?
        }
        .into_iter()
        .peekable();
        for have in held.clone().map(|held| held.have) {
            self.outgoing.say(&TransferMessage::Have(have)).await?;
        }
        self.ready().await?;
        for (index, entry) in (0..).zip(entries.iter()).filter(|(_, entry)| entry.kind != EntryKind::Folder) {
            let held = held.next_if(|held| held.have.index == index);
            let offset = self.file(index).await?;
            (self.report)(Progress::File(entry.name.to_string()));
            (self.report)(Progress::Had(offset));
            let (sink, hasher) = self.sink(&root, entry, offset, held).await?;
            self.contents(entry, sink, offset, hasher).await?;
        }
        Ok(())
    }

    async fn fill_stream(
        &mut self,
        mut stream: Box<dyn AsyncWrite + Send + Unpin>,
        entries: &[FileEntry],
    ) -> Result<(), Error> {
        let [entry @ FileEntry { kind: EntryKind::File | EntryKind::Executable, .. }] = entries else {
            return Err(Error::Here("only a single file can be written to a stream".to_owned()));
        };
        self.ready().await?;
        if self.file(0).await? != 0 {
            return Err(out_of_order());
        }
        (self.report)(Progress::File(entry.name.to_string()));
        self.contents(entry, Sink::Stream(&mut *stream), 0, blake3::Hasher::new()).await
    }

    async fn ready(&mut self) -> Result<(), Error> {
        self.outgoing.say(&TransferMessage::Ready).await?;
        Ok(self.outgoing.flush().await?)
    }

    /// The offset of the next file.
    async fn file(&mut self, expected: u32) -> Result<u64, Error> {
        match self.next().await? {
            TransferMessage::File { index, offset } if index == expected => Ok(offset),
            _ => Err(out_of_order()),
        }
    }

    async fn sink(
        &mut self,
        root: &Arc<Folder>,
        entry: &FileEntry,
        offset: u64,
        held: Option<Present>,
    ) -> Result<(Sink<'static>, blake3::Hasher), Error> {
        let had = held.map_or(0, |held| held.have.offset);
        let finished = held.is_some_and(|held| held.finished);
        if offset != 0 && offset != had {
            return Err(out_of_order());
        }
        if let Some(held) = held.filter(|held| held.finished && offset == had) {
            return Ok((Sink::Nowhere(held.have.hash), blake3::Hasher::new()));
        }
        if finished && !self.overwrite {
            return Err(Error::Here(cannot_write(&entry.name, &super::place::exists())));
        }
        let (root, copy) = (root.clone(), entry.clone());
        let hash = held.map(|held| held.have.hash);
        let begun = self.outgoing.blocking(move || {
            let (partial, hasher) = Partial::begin(&root, &copy, offset, hash)?;
            let file = partial.file()?;
            Ok((partial, file, hasher))
        });
        let (partial, file, hasher) =
            begun.await?.map_err(|why| Error::Here(cannot_write(&entry.name, &why)))?;
        Ok((Sink::Partial(partial, tokio::fs::File::from_std(file)), hasher))
    }

    /// Writes the data of a file from `at` on, and finishes it.
    async fn contents(
        &mut self,
        entry: &FileEntry,
        mut sink: Sink<'_>,
        mut at: u64,
        mut hasher: blake3::Hasher,
    ) -> Result<(), Error> {
        let bad = |why: std::io::Error| Error::Here(cannot_write(&entry.name, &why));
        let told: Hash = loop {
            let data = match self.outgoing.meanwhile(self.incoming.next()).await?? {
                TransferMessage::Data(data) => data,
                TransferMessage::End { hash } => break hash,
                _ => return Err(out_of_order()),
            };
            at = at.saturating_add(data.len() as u64);
            if entry.size.is_some_and(|size| at > size) {
                return Err(Error::Protocol(format!("'{}' is longer than announced", entry.name)));
            }
            hasher.update(data);
            let out: &mut (dyn AsyncWrite + Send + Unpin) = match &mut sink {
                Sink::Nowhere(_) => return Err(out_of_order()),
                Sink::Partial(_, file) => file,
                Sink::Stream(stream) => stream,
            };
            self.outgoing.meanwhile(out.write_all(data)).await?.map_err(bad)?;
            (self.report)(Progress::Moved(data.len() as u64));
        };
        let hash = if let Sink::Nowhere(hash) = sink { hash } else { hasher.finalize().into() };
        let damaged = || Error::Here(format!("'{}' was damaged: its hash is wrong", entry.name));
        let whole = entry.size.is_none_or(|size| at == size) && hash == told;
        match sink {
            Sink::Nowhere(_) => {}
            Sink::Stream(stream) => self.outgoing.meanwhile(stream.flush()).await?.map_err(bad)?,
            Sink::Partial(partial, mut file) => {
                // A failed write is reported by the flush.
                self.outgoing.meanwhile(file.flush()).await?.map_err(bad)?;
                let overwrite = self.overwrite;
                let end = move || if whole { partial.finish(overwrite) } else { partial.discard() };
                self.outgoing.blocking(end).await?.map_err(bad)?;
            }
        }
        if whole { Ok(()) } else { Err(damaged()) }
    }

    async fn next(&mut self) -> Result<TransferMessage<'_>, Error> {
        self.outgoing.meanwhile(self.incoming.next()).await?
    }
}

/// A name that occurs more than once.
fn twice(entries: &[FileEntry]) -> Option<&Name> {
    let mut names: Vec<&Name> = entries.iter().map(|entry| &entry.name).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

fn out_of_order() -> Error {
    Error::Protocol("message out of order".to_owned())
}
