//! The files of a node. All functions block.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use multihop_disk::durable::NewFile;
use multihop_disk::own;
use multihop_net::PublicKey;
use multihop_spread::{Event, Header, Input, TransferId};
use sha2::{Digest, Sha256};

use super::Received;

/// Files of a node: that of a source, or those of a receiver.
pub(super) struct Disk {
    inbox: Option<Inbox>,
    files: BTreeMap<TransferId, Stored>,
}

/// Folder of a receiver.
pub(super) struct Inbox {
    folder: PathBuf,
    overwrite: bool,
}

/// A file, complete or not.
struct Stored {
    header: Header,
    file: File,
    /// Path of the incomplete file; `None` for a file that has its name.
    part: Option<PathBuf>,
}

/// Work that a node requests, with the manifest of the file if the work needs it.
pub(super) struct Job {
    pub(super) event: Event,
    pub(super) manifest: Vec<u8>,
}

/// Result of a job.
pub(super) enum Outcome {
    /// An answer for the node.
    Answer(Input),
    /// A file is verified and has its name.
    Received(TransferId, Received),
    /// The disk has failed, or the file is not wanted.
    Failed(TransferId, io::Error),
}

impl Inbox {
    pub(super) fn new(folder: &Path, overwrite: bool) -> Self {
        Self { folder: folder.to_owned(), overwrite }
    }

    /// Opens the file of a transfer: one with these contents, an incomplete one, or a new one.
    fn open(&self, header: &Header) -> io::Result<(File, Option<PathBuf>)> {
        let path = self.folder.join(&header.name);
        if let Ok(found) = path.symlink_metadata() {
            if found.is_file() && found.len() == header.size {
                let mut file = File::open(&path)?;
                if hash(&mut file)? == header.sha256 {
                    return Ok((file, None));
                }
            }
            if !found.is_file() || !self.overwrite {
                let text =
                    format!("{} exists with other contents; recv --overwrite replaces a file", header.name);
                return Err(io::Error::other(text));
            }
        }
        let part = self.folder.join(format!(".multihop-spread-{}.part", header.id()));
        if let Ok(found) = part.symlink_metadata() {
            own::check(part.as_os_str(), own::Identity::from(&found))?;
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(nix::fcntl::OFlag::O_NOFOLLOW.bits())
            .open(&part)?;
        file.set_len(header.size)?;
        Ok((file, Some(part)))
    }
}

impl Disk {
    /// Files of a receiver.
    pub(super) fn inbox(inbox: Inbox) -> Self {
        Self { inbox: Some(inbox), files: BTreeMap::new() }
    }

    /// The file of a source.
    pub(super) fn source(header: Header, file: File) -> Self {
        let id = header.id();
        Self { inbox: None, files: BTreeMap::from([(id, Stored { header, file, part: None })]) }
    }

    /// Does the work that a node requests; `None` if it needs no answer.
    pub(super) fn work(&mut self, Job { event, manifest }: Job) -> Option<Outcome> {
        let outcome = match event {
            Event::Offered { transfer, header } => match self.open(header) {
                Ok(()) => Outcome::Answer(Input::Accept(transfer)),
                Err(error) => Outcome::Failed(transfer, error),
            },
            Event::Survey { transfer } => {
                let whole = self.survey(transfer, &manifest);
                Outcome::Answer(Input::Surveyed { transfer, whole })
            }
            Event::Store { transfer, block, contents } => match self.store(transfer, block, &contents) {
                Ok(()) => return None,
                Err(error) => Outcome::Failed(transfer, error),
            },
            Event::Read { transfer, block } => {
                let contents = self.read(transfer, block, &manifest);
                Outcome::Answer(Input::Contents { transfer, block, contents })
            }
            Event::Complete(transfer) => match self.complete(transfer) {
                Ok(Header { name, size, source, .. }) => {
                    let (name, size) = (name.clone(), *size);
                    let received = Received { name, size, from: PublicKey::from_bytes(*source) };
                    Outcome::Received(transfer, received)
                }
                Err(error) => Outcome::Failed(transfer, error),
            },
            Event::Progress(_) | Event::Done(_) => return None,
        };
        Some(outcome)
    }

    /// Opens the file of an offer.
    fn open(&mut self, header: Header) -> io::Result<()> {
        let Some(inbox) = &self.inbox else { return Err(io::Error::other("a source takes no files")) };
        let (file, part) = inbox.open(&header)?;
        self.files.insert(header.id(), Stored { header, file, part });
        Ok(())
    }

    /// The blocks that an earlier run has stored.
    fn survey(&self, transfer: TransferId, manifest: &[u8]) -> Vec<u32> {
        let Some(stored) = self.files.get(&transfer) else { return Vec::new() };
        let is_whole = |block: &u32| {
            stored.read(*block).is_ok_and(|bytes| stored.header.is_block(*block, &bytes, manifest))
        };
        (1..stored.header.blocks()).filter(is_whole).collect()
    }

    /// Stores a block.
    fn store(&self, transfer: TransferId, block: u32, contents: &[u8]) -> io::Result<()> {
        let Some(stored) = self.files.get(&transfer) else { return Ok(()) };
        stored.file.write_all_at(contents, stored.header.offset(block))
    }

    /// Contents of a block; `None` if they cannot be read or have changed.
    fn read(&self, transfer: TransferId, block: u32, manifest: &[u8]) -> Option<Vec<u8>> {
        let stored = self.files.get(&transfer)?;
        stored.read(block).ok().filter(|bytes| stored.header.is_block(block, bytes, manifest))
    }

    /// Verifies a file and gives it its name; both are on the disk when this returns.
    fn complete(&mut self, transfer: TransferId) -> io::Result<&Header> {
        let unknown = || io::Error::other("the transfer is unknown");
        let (inbox, stored) = (self.inbox.as_ref().ok_or_else(unknown)?, self.files.get_mut(&transfer));
        let stored = stored.ok_or_else(unknown)?;
        let Some(part) = stored.part.clone() else { return Ok(&stored.header) };
        if hash(&mut File::open(&part)?)? != stored.header.sha256 {
            fs::remove_file(&part)?;
            return Err(io::Error::other(format!("{}: the hash of the file is wrong", stored.header.name)));
        }
        let new = NewFile::resume(&inbox.folder.join(&stored.header.name), &part);
        if inbox.overwrite {
            new.keep()?
        } else {
            new.keep_new()?
        }
        stored.part = None;
        Ok(&stored.header)
    }
}

impl Stored {
    fn read(&self, block: u32) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.header.block_len(block)];
        self.file.read_exact_at(&mut bytes, self.header.offset(block))?;
        Ok(bytes)
    }
}

fn hash(file: &mut File) -> io::Result<[u8; 32]> {
    let (mut sha256, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sha256.finalize().into()),
            length => sha256.update(&buffer[..length]),
        }
    }
}
