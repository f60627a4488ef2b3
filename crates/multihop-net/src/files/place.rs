//! The receiver's files: where they are stored, and what exists already. All functions block.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};

use super::folder::{Folder, Found};
use super::list::total;
use super::message::{EntryKind, FileEntry, Hash, Have};
use super::names::{Name, partial};

/// The part of a file that is present before the transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    pub(super) have: Have,
    /// It has its final name, not the temporary one.
    pub(super) finished: bool,
}

/// Finds which parts of the announced files exist; the error is the reason why they cannot be stored.
pub(super) fn survey(root: &Folder, entries: &[FileEntry], overwrite: bool) -> Result<Vec<Present>, String> {
    let mut held = Vec::new();
    for (index, entry) in (0..).zip(entries) {
        let found = look(root, entry, overwrite).map_err(|why| cannot_write(&entry.name, &why))?;
        if let Some((offset, hash, finished)) = found {
            held.push(Present { have: Have { index, offset, hash }, finished });
        }
    }
    let here = held.iter().map(|held| held.have.offset).sum();
    let needed = total(entries.iter()).map_or(0, |bytes| bytes.saturating_sub(here));
    let free = root.free().map_err(|why| format!("cannot determine the free space: {why}"))?;
    if needed > free {
        return Err(format!("not enough space: needed {needed} bytes, free {free}"));
    }
    make_folders(root, entries)?;
    Ok(held)
}

/// Size and hash of the part of a file that exists, and whether it is complete.
fn look(root: &Folder, entry: &FileEntry, overwrite: bool) -> io::Result<Option<(u64, Hash, bool)>> {
    let Some(place) = Place::find(root, &entry.name)? else { return Ok(None) };
    match (entry.kind, place.folder.find(&place.name)?) {
        (EntryKind::Folder, Found::Nothing | Found::Folder) => return Ok(None),
        (EntryKind::Folder, _) => return Err(io::Error::other("it exists and is not a folder")),
        (_, Found::Folder | Found::Other) => {
            return Err(io::Error::other("it exists and is not a file"));
        }
        (_, Found::File { size }) if entry.size == Some(size) => {
            let mut file = place.folder.open_file(&place.name)?;
            return Ok(Some((size, hash_prefix(&mut file, size)?.finalize().into(), true)));
        }
        (_, Found::File { .. }) if !overwrite => return Err(exists()),
        (_, Found::File { .. } | Found::Nothing) => {}
    }
    match (place.folder.find(&place.partial)?, entry.size) {
        (Found::File { size }, Some(whole)) if (1..=whole).contains(&size) => {
            let mut file = place.folder.open_file(&place.partial)?;
            Ok(Some((size, hash_prefix(&mut file, size)?.finalize().into(), false)))
        }
        _ => Ok(None),
    }
}

fn make_folders(root: &Folder, entries: &[FileEntry]) -> Result<(), String> {
    let folders = entries.iter().filter(|entry| entry.kind == EntryKind::Folder);
    for FileEntry { name, .. } in folders {
        let made = Place::make(root, name).and_then(|place| {
            place.folder.make(&place.name)?;
            place.folder.enter(&place.name).map(drop)
        });
        made.map_err(|why| cannot_write(name, &why))?;
    }
    Ok(())
}

/// An incomplete file, open for writing.
pub(super) struct Partial {
    place: Place,
    file: File,
}

impl Partial {
    /// Opens it at `offset` if the part before is unchanged; returns the hash so far.
    pub(super) fn begin(
        root: &Folder,
        entry: &FileEntry,
        offset: u64,
        expected: Option<Hash>,
    ) -> io::Result<(Self, blake3::Hasher)> {
        let place = Place::make(root, &entry.name)?;
        let mut file = place.folder.make_file(&place.partial, entry.kind == EntryKind::Executable)?;
        match file.try_lock() {
            Ok(()) if place.folder.is(&place.partial, &file)? => {}
            Ok(()) | Err(TryLockError::WouldBlock) => {
                return Err(io::Error::other("another transfer is writing it"));
            }
            Err(TryLockError::Error(why)) => return Err(why),
        }
        let hasher = hash_prefix(&mut file, offset)?;
        if offset > 0 && expected != Some(hasher.finalize().into()) {
            return Err(io::Error::other("another program changed it"));
        }
        file.set_len(offset)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok((Self { place, file }, hasher))
    }

    /// The file itself.
    pub(super) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The file is complete: syncs it to the disk and gives it its final name.
    pub(super) fn finish(self, overwrite: bool) -> io::Result<()> {
        self.file.sync_all()?;
        match self.place.folder.rename(&self.place.partial, &self.place.name, overwrite) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
            done => done,
        }
    }

    /// Deletes it: the received data is useless.
    pub(super) fn discard(self) -> io::Result<()> {
        self.place.folder.remove(&self.place.partial)
    }
}

/// Folder and names of one file.
struct Place {
    folder: Folder,
    name: OsString,
    partial: OsString,
}

impl Place {
    /// `None` if a parent folder does not exist.
    fn find(root: &Folder, name: &Name) -> io::Result<Option<Self>> {
        match Self::walk(root, name, |_, _| Ok(())) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates the parent folders.
    fn make(root: &Folder, name: &Name) -> io::Result<Self> {
        Self::walk(root, name, Folder::make)
    }

    fn walk(
        root: &Folder,
        name: &Name,
        before: impl Fn(&Folder, &OsStr) -> io::Result<()>,
    ) -> io::Result<Self> {
        let (folders, last) = name.split();
        let mut folder = root.again()?;
        for name in folders {
            before(&folder, name)?;
            folder = folder.enter(name)?;
        }
        Ok(Self { folder, name: last.to_owned(), partial: partial(last).into() })
    }
}

/// The hash of the first `length` bytes; leaves the position after them.
pub(super) fn hash_prefix(file: &mut File, length: u64) -> io::Result<blake3::Hasher> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    let mut prefix = file.take(length);
    let mut hashed = 0;
    loop {
        match prefix.read(&mut buffer)? {
            0 if hashed < length => return Err(io::ErrorKind::UnexpectedEof.into()),
            0 => return Ok(hasher),
            n => {
                hasher.update(&buffer[..n]);
                hashed += n as u64;
            }
        }
    }
}

/// The message for the users at both ends.
pub(super) fn cannot_write(name: &Name, why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::NotFound => format!("cannot write '{name}': its folder no longer exists"),
        _ => format!("cannot write '{name}': {why}"),
    }
}

pub(super) fn exists() -> io::Error {
    io::Error::other("it exists with other contents; recv --overwrite replaces it")
}
