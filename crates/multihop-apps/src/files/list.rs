//! List of the entries that a sender sends: files and folders of this host, and standard input.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tokio::io::AsyncRead;

use super::Error;
use super::message::{EntryKind, FileEntry, MODE_MAX, Modified};
use super::names::{LinkTarget, Name, is_partial, printable};

/// The files and folders to send, with their names at the receiver.
#[derive(Default)]
pub struct Sources {
    pub(super) list: Vec<Source>,
    links: Option<SymbolicLinks>,
    /// Messages about entries that were skipped, with the reason.
    pub(super) notes: Vec<String>,
    /// Number of entries that were skipped although no option excludes them.
    left_out: usize,
    /// Folders being read above the current one, by device and inode, to detect cycles of links.
    above: Vec<(u64, u64)>,
    /// Length of all names together, bytes.
    names: usize,
    tops: BTreeSet<Name>,
}

pub(super) struct Source {
    pub(super) entry: FileEntry,
    pub(super) origin: Origin,
}

/// Treatment of symbolic links in a folder. Without a choice they are left out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SymbolicLinks {
    /// Leave symbolic links out of the transfer.
    Skip,
    /// Send links as links, except links that may lead out of the folder that is sent.
    Keep,
    /// Send the files and folders to which the links point.
    Follow,
}

pub(super) enum Origin {
    /// A folder or a link, without data.
    Nothing,
    File(PathBuf),
    Stream(Option<Box<dyn AsyncRead + Send + Sync + Unpin>>),
}

impl Sources {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the treatment of symbolic links in folders that are added later.
    #[must_use]
    pub fn links(self, links: SymbolicLinks) -> Self {
        Self { links: Some(links), ..self }
    }

    /// Number of entries in folders that are not sent, each with a note; links left out by
    /// [`SymbolicLinks::Skip`] do not count.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Adds a file, or a folder with its contents, under the last component of its path. Inside a folder, special
    /// files are skipped, with a note.
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
            self.folder(&real, name, &found)
        } else if found.is_file() {
            File::open(path).map_err(bad)?;
            self.push(entry(EntryKind::File, name, &found), Origin::File(real))
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
        let (kind, mode) = (EntryKind::File, 0o666);
        let entry = FileEntry { kind, mode, modified: None, size: None, stored: 0, name };
        self.push(entry, Origin::Stream(Some(stream)))
    }

    /// Total size of all files in the list, bytes; `None` if a size is unknown.
    pub(super) fn bytes(&self) -> Option<u64> {
        total(self.list.iter().map(|source| &source.entry))
    }

    /// Number of files in the list, without folders and links.
    pub(super) fn files(&self) -> u32 {
        let files = self.list.iter().filter(|source| source.entry.is_file()).count();
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
    fn folder(&mut self, path: &Path, name: Name, found: &Metadata) -> Result<(), Error> {
        let mut names = Vec::new();
        for child in fs::read_dir(path).map_err(|why| cannot_read(path, &why))? {
            names.push(child.map_err(|why| cannot_read(path, &why))?.file_name());
            bound(self.list.len() + names.len())?;
        }
        names.sort();
        self.push(entry(EntryKind::Folder, name.clone(), found), Origin::Nothing)?;
        self.above.push((found.dev(), found.ino()));
        for child in &names {
            self.child(&path.join(child), &name, child)?;
        }
        self.above.pop();
        Ok(())
    }

    fn child(&mut self, path: &Path, above: &Name, name: &OsStr) -> Result<(), Error> {
        if is_partial(name.as_bytes()) {
            return self.leave_out(path, "is an incomplete file of another transfer");
        }
        let found = fs::symlink_metadata(path).map_err(|why| cannot_read(path, &why))?;
        let name = parse(&[above.as_bytes(), b"/", name.as_bytes()].concat())?;
        if found.is_symlink() { self.link(path, name, &found) } else { self.entry(path, name, &found) }
    }

    /// Adds a folder or a file.
    fn entry(&mut self, path: &Path, name: Name, found: &Metadata) -> Result<(), Error> {
        if found.is_dir() {
            self.folder(path, name, found)
        } else if found.is_file() {
            self.push(entry(EntryKind::File, name, found), Origin::File(path.to_owned()))
        } else {
            self.leave_out(path, "is neither a file nor a folder")
        }
    }

    fn link(&mut self, path: &Path, name: Name, found: &Metadata) -> Result<(), Error> {
        match self.links {
            None => self.leave_out(path, "is a link; --links sends it"),
            Some(SymbolicLinks::Skip) => self.note(path, "is a link"),
            Some(SymbolicLinks::Keep) => {
                let target = fs::read_link(path).map_err(|why| cannot_read(path, &why))?;
                // The target must stay inside the sent folder, which is the first component.
                let ups = name.parents().saturating_sub(1);
                match LinkTarget::parse(&name, target.as_os_str().as_bytes(), ups) {
                    Ok(target) => self.push(entry(EntryKind::Link(target), name, found), Origin::Nothing),
                    Err(_) => self.leave_out(path, "is a link that may lead out of the folder"),
                }
            }
            Some(SymbolicLinks::Follow) => match fs::metadata(path) {
                Ok(found) if self.above.contains(&(found.dev(), found.ino())) => {
                    self.leave_out(path, "is a link to a folder that contains it")
                }
                Ok(found) => self.entry(path, name, &found),
                Err(_) => self.leave_out(path, "is a link to nothing"),
            },
        }
    }

    fn leave_out(&mut self, path: &Path, why: &str) -> Result<(), Error> {
        self.left_out += 1;
        self.note(path, why)
    }

    fn note(&mut self, path: &Path, why: &str) -> Result<(), Error> {
        self.notes.push(format!("skipped: {} {why}", printable(path.as_os_str().as_bytes())));
        bound(self.notes.len())
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
    // O_NONBLOCK prevents that a pipe which replaced the file blocks.
    let flags = nix::libc::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(|why| bad(&why))?;
    let found = file.metadata().map_err(|why| bad(&why))?;
    if found.is_file() && found.len() == size {
        Ok((file, Stamp::of(&found)))
    } else {
        Err(bad(&"it changed during the transfer: repeat the transfer"))
    }
}

/// Size, times and inode of a file, which change when the file is written.
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

    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

/// Total size of all files, bytes; `None` if a size is unknown.
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

fn entry(kind: EntryKind, name: Name, found: &Metadata) -> FileEntry {
    let mode = u16::try_from(found.mode() & u32::from(MODE_MAX)).expect("nine bits");
    let nanoseconds = u32::try_from(found.mtime_nsec()).unwrap_or(0);
    let modified = Some(Modified { seconds: found.mtime(), nanoseconds });
    let size = if kind == EntryKind::File { found.len() } else { 0 };
    // POSIX leaves the unit undefined; on all systems it is 512 bytes.
    let stored = size.min(found.blocks().saturating_mul(512));
    FileEntry { kind, mode, modified, size: Some(size), stored, name }
}

fn cannot_read(path: &Path, why: &std::io::Error) -> Error {
    Error::Here(format!("cannot read {}: {why}", path.display()))
}

fn parse(name: &[u8]) -> Result<Name, Error> {
    Name::parse(name).map_err(|bad| Error::Here(format!("cannot send: {bad}")))
}

/// Maximum number of entries in a list.
pub(super) const ENTRIES_MAX: usize = 250_000;
/// Bytes of all names of a list.
pub(super) const NAMES_MAX: usize = 32 * 1024 * 1024;
