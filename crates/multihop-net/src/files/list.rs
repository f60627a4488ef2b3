//! What the sender sends: files and folders of this host, and standard input.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tokio::io::AsyncRead;

use super::Error;
use super::message::{EntryKind, FileEntry};
use super::names::{Name, is_partial, printable};

/// The files and folders to send, with their names at the receiver.
#[derive(Default)]
pub struct Sources {
    pub(super) list: Vec<Source>,
    /// What was skipped, and why.
    pub(super) notes: Vec<String>,
    /// Bytes of all names.
    names: usize,
    tops: BTreeSet<Name>,
}

pub(super) struct Source {
    pub(super) entry: FileEntry,
    pub(super) origin: Origin,
}

pub(super) enum Origin {
    Folder,
    File(PathBuf),
    Stream(Option<Box<dyn AsyncRead + Send + Sync + Unpin>>),
}

impl Sources {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, or a folder with its contents, under the last component of its path. Inside a folder, links
    /// and special files are skipped, with a note.
    pub fn add(&mut self, path: &Path) -> Result<(), Error> {
        let bad = |why: std::io::Error| Error::Here(format!("cannot read {}: {why}", path.display()));
        let found = fs::metadata(path).map_err(bad)?;
        let real = match path.file_name() {
            Some(_) => path.to_owned(),
            None => fs::canonicalize(path).map_err(bad)?, // "." and ".."
        };
        let name = real.file_name().ok_or_else(|| Error::Here("the root folder has no name".to_owned()))?;
        let name = self.top(name.as_bytes())?;
        if found.is_dir() {
            self.folder(&real, name)
        } else if found.is_file() {
            File::open(path).map_err(bad)?;
            self.push(file(name, &found), Origin::File(real))
        } else {
            let text = format!(
                "cannot send {}: neither a file nor a folder; use - for standard input",
                path.display()
            );
            Err(Error::Here(text))
        }
    }

    /// Adds a stream of unknown length, which becomes a file with this name.
    pub fn add_stream(
        &mut self,
        name: &str,
        stream: Box<dyn AsyncRead + Send + Sync + Unpin>,
    ) -> Result<(), Error> {
        let name = self.top(name.as_bytes())?;
        self.push(FileEntry { kind: EntryKind::File, size: None, name }, Origin::Stream(Some(stream)))
    }

    /// Bytes to send, if known.
    pub(super) fn bytes(&self) -> Option<u64> {
        total(self.list.iter().map(|source| &source.entry))
    }

    /// Number of files.
    pub(super) fn files(&self) -> u32 {
        let files = self.list.iter().filter(|source| source.entry.kind != EntryKind::Folder).count();
        u32::try_from(files).expect("the list is bounded")
    }

    fn top(&mut self, name: &[u8]) -> Result<Name, Error> {
        let name = parse(name)?;
        if self.tops.insert(name.clone()) {
            Ok(name)
        } else {
            Err(Error::Here(format!("two sources have the name '{name}': send them separately")))
        }
    }

    /// Adds a folder depth-first in order of names, so that equal folders give equal lists.
    fn folder(&mut self, path: &Path, name: Name) -> Result<(), Error> {
        let bad = |why: std::io::Error| Error::Here(format!("cannot read {}: {why}", path.display()));
        let mut names = Vec::new();
        for child in fs::read_dir(path).map_err(bad)? {
            names.push(child.map_err(bad)?.file_name());
            bound(self.list.len() + names.len())?;
        }
        names.sort();
        self.push(FileEntry { kind: EntryKind::Folder, size: Some(0), name: name.clone() }, Origin::Folder)?;
        for child in names.iter().filter(|child| !is_partial(child.as_bytes())) {
            self.child(&path.join(child), &name, child)?;
        }
        Ok(())
    }

    fn child(&mut self, path: &Path, above: &Name, name: &OsStr) -> Result<(), Error> {
        let found = fs::symlink_metadata(path)
            .map_err(|why| Error::Here(format!("cannot read {}: {why}", path.display())))?;
        let name = parse(&[above.as_bytes(), b"/", name.as_bytes()].concat())?;
        if found.is_dir() {
            self.folder(path, name)
        } else if found.is_file() {
            self.push(file(name, &found), Origin::File(path.to_owned()))
        } else {
            let what = if found.is_symlink() { "a link" } else { "neither a file nor a folder" };
            self.notes.push(format!("skipped: {} is {what}", printable(path.as_os_str().as_bytes())));
            bound(self.notes.len())
        }
    }

    fn push(&mut self, entry: FileEntry, origin: Origin) -> Result<(), Error> {
        self.names += entry.name.as_bytes().len();
        self.list.push(Source { entry, origin });
        bound(self.list.len())?;
        if self.names > NAMES_MAX { Err(too_many()) } else { Ok(()) }
    }
}

/// Opens a file of the list, unless it was replaced or changed.
pub(super) fn open(path: &Path, size: u64) -> Result<(File, Stamp), Error> {
    let bad = |why: &dyn std::fmt::Display| Error::Here(format!("cannot read {}: {why}", path.display()));
    // O_NONBLOCK: a pipe that replaced the file must not block.
    let flags = nix::libc::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(|why| bad(&why))?;
    let found = file.metadata().map_err(|why| bad(&why))?;
    if found.is_file() && found.len() == size {
        Ok((file, Stamp::of(&found)))
    } else {
        Err(bad(&"it changed during the transfer: repeat the transfer"))
    }
}

/// What changes when a file is written to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stamp {
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    pub(super) fn of(found: &Metadata) -> Self {
        Self { size: found.len(), seconds: found.mtime(), nanoseconds: found.mtime_nsec() }
    }
}

/// Bytes of all files, if every size is known.
pub(super) fn total<'a>(entries: impl Iterator<Item = &'a FileEntry>) -> Option<u64> {
    entries.map(|entry| entry.size).try_fold(0_u64, |sum, size| sum.checked_add(size?))
}

/// Checks the limits of a list.
pub(super) fn bound(entries: usize) -> Result<(), Error> {
    if entries > ENTRIES_MAX { Err(too_many()) } else { Ok(()) }
}

fn too_many() -> Error {
    let names = NAMES_MAX / (1024 * 1024);
    Error::Here(format!("too many files, allowed: {ENTRIES_MAX} with {names} MiB of names; use tar and -"))
}

fn file(name: Name, found: &Metadata) -> FileEntry {
    let kind = if found.mode() & 0o111 == 0 { EntryKind::File } else { EntryKind::Executable };
    FileEntry { kind, size: Some(found.len()), name }
}

fn parse(name: &[u8]) -> Result<Name, Error> {
    Name::parse(name).map_err(|bad| Error::Here(format!("cannot send: {bad}")))
}

/// Entries of a list.
pub(super) const ENTRIES_MAX: usize = 250_000;
/// Bytes of all names of a list.
pub(super) const NAMES_MAX: usize = 32 * 1024 * 1024;
