//! Receiving end of a file transfer.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::io::SeekFrom;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncSeekExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::batch::Batch;
use super::claims::{Claim, Claims, Sender};
use super::folder::Folder;
use super::list::{NAMES_MAX, bound, total};
use super::message::{EntryKind, FileEntry, Hash, TransferMessage, VERSION};
use super::names::Name;
use super::place::{self, Partial, Present, Root, cannot_write, finish_folders, make_links, survey};
use super::reading::Reader;
use super::talk::{FIRST, MessageReader, MessageWriter, meet, part};
use super::turns::{Peer, Turn, Turns};
use super::unsynced::Unsynced;
use super::zeros::ZEROS;
use super::{Error, Options, Progress, Report, Summary};
use crate::frames::BODY_MAX;

/// Destination of received files.
pub enum Target {
    /// The files are stored in this folder, under the names in the sender's list.
    Folder(PathBuf),
    /// The contents of a single file are written to this stream.
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

/// Receives all files of a sender.
pub async fn receive<S>(
    stream: S,
    target: Target,
    options: Options,
    report: Report<'_>,
) -> Result<Summary, Error>
where
    S: AsyncRead + AsyncWrite,
{
    let (sender, claims, reader) = (Sender::Token, Arc::default(), Reader::of_one_peer());
    let peer = Peer::new(None, Ipv4Addr::UNSPECIFIED.into());
    let alone = Visit { sender, peer, claims, reader, slots: Turns::new(1) };
    receive_visit(stream, target, options, report, &alone).await
}

/// One transfer to a receiver that serves several senders, with its permit and its claims.
pub(super) struct Visit {
    pub(super) sender: Sender,
    pub(super) peer: Peer,
    pub(super) claims: Arc<Claims>,
    pub(super) reader: Reader,
    /// Slots for transfers that are not idle; others wait.
    pub(super) slots: Arc<Turns>,
}

/// Receives all files of one sender while other transfers run.
pub(super) async fn receive_visit<S>(
    stream: S,
    target: Target,
    options: Options,
    report: Report<'_>,
    visit: &Visit,
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
        let claim = visit.claims.enter(visit.sender, incoming.pulse());
        let taken = claim.taken();
        let mut receiver = FileReceiver {
            incoming: &mut incoming,
            outgoing: &mut outgoing,
            options,
            claim,
            visit,
            slot: None,
            root: None,
            batch: Batch::default(),
            report: &mut report,
        };
        tokio::select! {
            done = receiver.converse(target) => done,
            () = taken => Err(Error::Here("the same sender has begun a new transfer".to_owned())),
        }
    };
    part(incoming, outgoing, &done).await;
    done.map(|files| Summary { files, ..summary })
}

struct FileReceiver<'a, R, W> {
    incoming: &'a mut MessageReader<R>,
    outgoing: &'a mut MessageWriter<W>,
    options: Options,
    claim: Claim,
    visit: &'a Visit,
    slot: Option<Turn>,
    /// Folder of the target; `None` until the sender's list shows that a folder is needed.
    root: Option<Arc<Root>>,
    /// Complete files that wait for their final names.
    batch: Batch,
    report: Report<'a>,
}

/// Destination of the bytes of a file.
enum Sink<'a> {
    /// No destination: the file exists with this hash, so that received bytes are only compared.
    Nowhere(Hash),
    /// A small file, written when it is complete.
    Memory(Vec<u8>),
    Partial(Partial, tokio::fs::File),
    Stream(&'a mut (dyn AsyncWrite + Send + Unpin)),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> FileReceiver<'_, R, W> {
    async fn converse(&mut self, target: Target) -> Result<u32, Error> {
        self.hello().await?;
        let entries: Arc<[FileEntry]> = self.list().await?.into();
        let files = entries.iter().filter(|entry| entry.is_file()).count();
        let files = u32::try_from(files).expect("the list is bounded");
        (self.report)(Progress::Begin { files, bytes: total(entries.iter()) });
        match target {
            Target::Folder(path) => self.fill_folder(&path, &entries).await?,
            Target::Stream(stream) => {
                self.fill_stream(stream, &entries).await?;
                self.done().await?;
            }
        }
        self.outgoing.say(&TransferMessage::Verdict { files }).await?;
        Ok(files)
    }

    /// Reads the sender's request. A peer that sends none must not delay others.
    async fn hello(&mut self) -> Result<(), Error> {
        let patience = FIRST.min(self.options.patience);
        let Ok(first) = timeout(patience, self.next()).await else {
            let text = format!("no request within {} s", patience.as_secs_f64());
            return Err(Error::Stream(std::io::Error::new(std::io::ErrorKind::TimedOut, text)));
        };
        match first? {
            TransferMessage::Hello { patience } => self.outgoing.keep_alive_for(patience),
            TransferMessage::OtherVersion(version) => {
                return Err(Error::Here(format!("the sender uses version {version}, allowed: {VERSION}")));
            }
            _ => return Err(Error::Protocol("the peer is not multihop send".to_owned())),
        }
        Ok(())
    }

    /// Reads and checks the sender's list. A sender with a short list needs no slot before the end of the
    /// list.
    async fn list(&mut self) -> Result<Vec<FileEntry>, Error> {
        let mut entries = Vec::new();
        let mut names = 0;
        let patience = self.options.patience;
        loop {
            if names >= SHORT_LIST || entries.len() >= SHORT_LIST / size_of::<FileEntry>() {
                self.take_slot().await?;
            }
            let Ok(next) = timeout(patience, self.next()).await else {
                let text = format!(
                    "the next part of the file list did not arrive within {} s",
                    patience.as_secs_f64()
                );
                return Err(Error::Here(text));
            };
            match next? {
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
        self.take_slot().await?;
        match conflict(&entries) {
            Some(reason) => Err(Error::Here(format!("refused: {reason}"))),
            None => Ok(entries),
        }
    }

    /// Waits until this transfer may use the disk and memory of this host.
    async fn take_slot(&mut self) -> Result<(), Error> {
        if self.slot.is_none() {
            self.slot = Some(self.outgoing.queued(self.visit.slots.take(self.visit.peer)).await?);
        }
        Ok(())
    }

    async fn fill_folder(&mut self, path: &Path, entries: &Arc<[FileEntry]>) -> Result<(), Error> {
        let busy = |name| Error::Here(cannot_write(name, &place::busy()));
        self.outgoing.meanwhile(self.claim.take_over(entries)).await?.map_err(busy)?;
        // The message must not reveal this host's path to the sender.
        let root = Folder::open(path)
            .map_err(|why| Error::Here(format!("cannot open the folder to write to: {why}")))?;
        let root = Arc::new(Root::new(root));
        self.root = Some(Arc::clone(&root));
        let survey = {
            let (root, entries, overwrite) = (root.clone(), entries.clone(), self.options.overwrite);
            let reader = self.visit.reader.clone();
            let survey = move |stop| survey(&root, &entries, overwrite, &reader.until(stop));
            let found = self.outgoing.stoppable(survey).await?;
            found.map_err(Error::Here)?
        };
        for present in &survey.present {
            self.outgoing.say_later(&TransferMessage::Have(present.have)).await?;
        }
        self.ready().await?;
        let present: Vec<u32> = survey
            .present
            .iter()
            .filter(|present| present.finished)
            .map(|present| present.have.index)
            .collect();
        let filled = self.fill(&root, entries, survey.present).await;
        // Files that have arrived are kept, even if the transfer fails later.
        let kept = self.commit().await;
        filled.and(kept)?;
        let (entries, overwrite) = (entries.clone(), self.options.overwrite);
        let finish = move || {
            make_links(&root, &entries, overwrite)?;
            let unsynced = Unsynced::of(&root, &entries, &present)?;
            finish_folders(&root, &entries, &survey.created)?;
            unsynced.sync()
        };
        self.outgoing.blocking(finish).await?.map_err(Error::Here)
    }

    /// Receives the files of the list, and the end.
    async fn fill(
        &mut self,
        root: &Arc<Root>,
        entries: &[FileEntry],
        present: Vec<Present>,
    ) -> Result<(), Error> {
        let mut present = present.into_iter().peekable();
        for (index, entry) in (0..).zip(entries).filter(|(_, entry)| entry.is_file()) {
            let present = present.next_if(|present| present.have.index == index);
            let offset = self.file(index).await?;
            (self.report)(Progress::File(entry.name.to_string()));
            (self.report)(Progress::Had(offset));
            let (sink, hasher) = self.sink(root, entry, offset, present).await?;
            self.contents(entry, sink, offset, hasher).await?;
            (self.report)(Progress::Complete);
            if self.batch.is_due() {
                self.commit().await?;
            }
        }
        self.done().await
    }

    /// Gives all complete files their final names.
    async fn commit(&mut self) -> Result<(), Error> {
        let batch = std::mem::take(&mut self.batch);
        let Some(root) = self.root.clone().filter(|_| !batch.is_empty()) else { return Ok(()) };
        let names: Vec<Name> = batch.names().cloned().collect();
        let overwrite = self.options.overwrite;
        let committed = self.outgoing.blocking(move || batch.commit(&root, overwrite)).await?;
        names.iter().for_each(|name| self.claim.remove(name));
        committed.map_err(Error::Here)
    }

    async fn done(&mut self) -> Result<(), Error> {
        match self.next().await? {
            TransferMessage::Done => Ok(()),
            _ => Err(out_of_order()),
        }
    }

    async fn fill_stream(
        &mut self,
        mut stream: Box<dyn AsyncWrite + Send + Unpin>,
        entries: &[FileEntry],
    ) -> Result<(), Error> {
        let [entry @ FileEntry { kind: EntryKind::File, .. }] = entries else {
            return Err(Error::Here("only a single file can be written to a stream".to_owned()));
        };
        self.ready().await?;
        if self.file(0).await? != 0 {
            return Err(out_of_order());
        }
        (self.report)(Progress::File(entry.name.to_string()));
        self.contents(entry, Sink::Stream(&mut *stream), 0, blake3::Hasher::new()).await?;
        (self.report)(Progress::Complete);
        Ok(())
    }

    async fn ready(&mut self) -> Result<(), Error> {
        let patience = self.options.patience;
        self.outgoing.say(&TransferMessage::Ready { patience }).await?;
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
        root: &Arc<Root>,
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
        let bad = |why| Error::Here(cannot_write(&entry.name, &why));
        if finished && !self.options.overwrite {
            return Err(bad(place::exists()));
        }
        if !self.claim.add(&entry.name) {
            return Err(bad(place::busy()));
        }
        if entry.size.is_some_and(|size| size <= BODY_MAX as u64) && offset == 0 {
            return Ok((Sink::Memory(Vec::new()), blake3::Hasher::new()));
        }
        let (root, copy) = (root.clone(), entry.clone());
        let (hash, reader) = (held.map(|held| held.have.hash), self.visit.reader.clone());
        let begun = self.outgoing.stoppable(move |stop| {
            let (partial, hasher) = Partial::begin(&root, &copy, offset, hash, &reader.until(stop))?;
            let file = partial.file()?;
            Ok((partial, file, hasher))
        });
        let (partial, file, hasher) = begun.await?.map_err(bad)?;
        Ok((Sink::Partial(partial, tokio::fs::File::from_std(file)), hasher))
    }

    /// Writes the data of a file from `at` on, and completes the file.
    async fn contents(
        &mut self,
        entry: &FileEntry,
        mut sink: Sink<'_>,
        mut at: u64,
        mut hasher: blake3::Hasher,
    ) -> Result<(), Error> {
        let bad = |why: std::io::Error| Error::Here(cannot_write(&entry.name, &why));
        let told: Hash = loop {
            let kind = self.advance().await?;
            let (data, hole) = match self.incoming.message(kind)? {
                TransferMessage::Data(data) => (data, 0),
                TransferMessage::Hole(length) => (&[][..], length),
                TransferMessage::End { hash } => break hash,
                _ => return Err(out_of_order()),
            };
            let length = u64::from(hole) + data.len() as u64;
            at = at.saturating_add(length);
            if entry.size.is_some_and(|size| at > size) {
                return Err(Error::Protocol(format!("'{}' is longer than announced", entry.name)));
            }
            hasher.update(data);
            match &mut sink {
                Sink::Nowhere(_) => return Err(out_of_order()),
                Sink::Memory(contents) => {
                    contents.extend_from_slice(data);
                    contents.resize(contents.len() + hole as usize, 0);
                }
                Sink::Partial(_, file) if hole > 0 => {
                    self.outgoing.meanwhile(skip(file, at)).await?.map_err(bad)?;
                }
                Sink::Partial(_, file) => {
                    self.outgoing.meanwhile(file.write_all(data)).await?.map_err(bad)?
                }
                Sink::Stream(stream) => {
                    self.outgoing.meanwhile(write(*stream, data, hole)).await?.map_err(bad)?;
                }
            }
            if hole > 0 {
                hasher = self.outgoing.hash_hole(&self.visit.reader, hasher, hole).await?;
            }
            (self.report)(if hole > 0 { Progress::Hole(length) } else { Progress::Moved(length) });
        };
        let hash = if let Sink::Nowhere(hash) = sink { hash } else { hasher.finalize().into() };
        let whole = entry.size.is_none_or(|size| at == size) && hash == told;
        match sink {
            Sink::Nowhere(_) => {}
            Sink::Memory(contents) if whole => self.batch.add_contents(entry.clone(), contents),
            Sink::Memory(_) => {}
            Sink::Stream(stream) => self.outgoing.meanwhile(stream.flush()).await?.map_err(bad)?,
            Sink::Partial(partial, mut file) => {
                // The flush reports a failed write.
                self.outgoing.meanwhile(file.flush()).await?.map_err(bad)?;
                drop(file);
                if whole {
                    self.batch.add_partial(entry.clone(), partial);
                } else {
                    partial.discard().map_err(bad)?;
                }
            }
        }
        if whole {
            Ok(())
        } else {
            Err(Error::Here(format!("'{}' was damaged: its hash is wrong", entry.name)))
        }
    }

    async fn next(&mut self) -> Result<TransferMessage<'_>, Error> {
        let kind = self.advance().await?;
        self.incoming.message(kind)
    }

    /// Waits for the next message. The slot of a sender that pauses goes to other transfers; the sender then
    /// waits for a new slot.
    async fn advance(&mut self) -> Result<u8, Error> {
        if let Ok(kind) = self.outgoing.meanwhile(timeout(IDLE, self.incoming.advance())).await? {
            return kind;
        }
        let had_slot = self.slot.is_some();
        if had_slot {
            self.commit().await?;
            self.slot = None;
        }
        let kind = self.outgoing.meanwhile(self.incoming.advance()).await??;
        if had_slot {
            self.take_slot().await?;
        }
        Ok(kind)
    }
}

/// Leaves a hole in a file, up to `at`.
async fn skip(file: &mut tokio::fs::File, at: u64) -> std::io::Result<()> {
    // The length is set so that a later transfer resumes after the hole.
    file.set_len(at).await?;
    file.seek(SeekFrom::Start(at)).await.map(drop)
}

/// Writes data, then a number of zeros.
async fn write(out: &mut (dyn AsyncWrite + Send + Unpin), data: &[u8], zeros: u32) -> std::io::Result<()> {
    out.write_all(data).await?;
    let mut left = zeros as usize;
    while left > 0 {
        let part = left.min(ZEROS.len());
        out.write_all(&ZEROS[..part]).await?;
        left -= part;
    }
    Ok(())
}

/// Reason for which these entries cannot all exist: a name that occurs twice, or below something that is not a folder.
fn conflict(entries: &[FileEntry]) -> Option<String> {
    let mut names: Vec<&Name> = entries.iter().map(|entry| &entry.name).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Some(format!("the name '{}' occurs twice", pair[0]));
    }
    let leaves: BTreeSet<&[u8]> = entries
        .iter()
        .filter(|entry| entry.kind != EntryKind::Folder)
        .map(|entry| entry.name.as_bytes())
        .collect();
    let is_below_leaf = |name: &&&Name| {
        let bytes = name.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        ends.map(|(end, _)| &bytes[..end]).any(|parent| leaves.contains(parent))
    };
    let name = names.iter().find(is_below_leaf)?;
    Some(format!("the name '{name}' is below one that is not a folder"))
}

fn out_of_order() -> Error {
    Error::Protocol("message out of order".to_owned())
}

/// Time after which a sender that sends only keepalives counts as paused.
const IDLE: Duration = Duration::from_secs(5);
/// Bytes of a list that is read without a slot.
const SHORT_LIST: usize = 64 * 1024;
