//! The receiver's files: their locations, and the data that already exists. All functions block.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::folder::{self, Folder, Found, OwnFile};
use super::message::{EntryKind, FileEntry, Hash, Have, MODE_MAX};
use super::names::{LinkTarget, Name, partial};
use super::reading::Reading;

/// The part of a file that is present before the transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present {
    pub(super) have: Have,
    /// Whether the file has its final name, not the temporary one.
    pub(super) finished: bool,
}

/// Entries of the sender's list that the receiver's folder already has.
pub(super) struct Survey {
    pub(super) present: Vec<Present>,
    /// Indices of the folders that this transfer has created.
    pub(super) created: Vec<u32>,
}

/// Finds which parts of the announced files exist, and creates the folders; the error is the reason why they cannot
/// be stored.
pub(super) fn survey(
    root: &Root,
    entries: &[FileEntry],
    overwrite: bool,
    reading: &Reading,
) -> Result<Survey, String> {
    let mut present = Vec::new();
    for (index, entry) in (0..).zip(entries) {
        let found = look(root, entry, overwrite, reading).map_err(|why| cannot_write(&entry.name, &why))?;
        if let Some((offset, hash, finished)) = found {
            present.push(Present { have: Have { index, offset, hash }, finished });
        }
    }
    let here = present.iter().map(|present| present.have.offset).sum();
    let stored = entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.stored));
    let needed = stored.saturating_sub(here);
    let free = root.folder.free().map_err(|why| format!("cannot determine the free space: {why}"))?;
    if needed > free {
        return Err(format!("not enough space: needed {needed} bytes, free {free}"));
    }
    Ok(Survey { present, created: make_folders(root, entries)? })
}

/// Size and hash of the existing part of a file, and whether the file is complete.
fn look(
    root: &Root,
    entry: &FileEntry,
    overwrite: bool,
    reading: &Reading,
) -> io::Result<Option<(u64, Hash, bool)>> {
    let Some(place) = root.find(&entry.name)? else { return Ok(None) };
    match (&entry.kind, place.folder.find(&place.name)?) {
        (EntryKind::Folder, Found::Nothing | Found::Folder) => return Ok(None),
        (EntryKind::Folder, _) => return Err(io::Error::other("it exists and is not a folder")),
        (EntryKind::Link(target), found) => return place.check_link(target, found, overwrite).map(|()| None),
        (EntryKind::File, Found::Folder | Found::Special) => {
            return Err(io::Error::other("it exists and is not a file"));
        }
        (EntryKind::File, Found::Link) if !overwrite => {
            return Err(io::Error::other("it exists and is a link; recv --overwrite replaces the link"));
        }
        (EntryKind::File, Found::File { size }) if entry.size == Some(size) => {
            let mut file = place.folder.open_file(&place.name)?;
            return Ok(Some((size, reading.hash(&mut file, size)?.finalize().into(), true)));
        }
        (EntryKind::File, Found::File { .. }) if !overwrite => return Err(exists()),
        (EntryKind::File, Found::File { .. } | Found::Link | Found::Nothing) => {}
    }
    match (place.folder.open_own(&place.partial)?, entry.size) {
        // A file that other users may have opened is usable only if no data will be added.
        (OwnFile::Open { mut file, size, is_private }, Some(whole))
            if (1..=whole).contains(&size) && (is_private || size == whole) =>
        {
            Ok(Some((size, reading.hash(&mut file, size)?.finalize().into(), false)))
        }
        _ => Ok(None),
    }
}

fn make_folders(root: &Root, entries: &[FileEntry]) -> Result<Vec<u32>, String> {
    let mut created = Vec::new();
    let folders = (0..).zip(entries).filter(|(_, entry)| entry.kind == EntryKind::Folder);
    for (index, FileEntry { name, mode, .. }) in folders {
        let made = root.make(name).and_then(|place| {
            let is_new = place.folder.make(&place.name, *mode)?;
            place.folder.enter(&place.name).map(|_| is_new)
        });
        if made.map_err(|why| cannot_write(name, &why))? {
            created.push(index);
        }
    }
    Ok(created)
}

/// Creates the symbolic links among these entries.
pub(super) fn make_links(root: &Root, entries: &[FileEntry], overwrite: bool) -> Result<(), String> {
    for entry in entries {
        if let EntryKind::Link(target) = &entry.kind {
            let made = root.make(&entry.name).and_then(|place| place.make_link(entry, target, overwrite));
            made.map_err(|why| cannot_write(&entry.name, &why))?;
        }
    }
    Ok(())
}

/// Sets modes and times of the folders at the end, because writing into a folder changes them. A folder that existed
/// before keeps its mode.
pub(super) fn finish_folders(root: &Root, entries: &[FileEntry], created: &[u32]) -> Result<(), String> {
    // Contents of a folder come before the folder.
    let folders = entries.iter().enumerate().rev().filter(|(_, entry)| entry.kind == EntryKind::Folder);
    for (index, entry) in folders {
        let set = || {
            let place = root.make(&entry.name)?;
            let folder = place.folder.enter(&place.name)?;
            entry.modified.map_or(Ok(()), |time| folder.set_modified(time))?;
            let is_new = created.binary_search_by_key(&index, |created| *created as usize).is_ok();
            if is_new { folder.set_mode(entry.mode) } else { Ok(()) }
        };
        set().map_err(|why| cannot_write(&entry.name, &why))?;
    }
    Ok(())
}

/// An incomplete file, open for writing. When dropped, it is deleted unless a later transfer can resume it.
pub(super) struct Partial {
    place: Place,
    file: File,
    mode: u16,
    modified: Option<super::message::Modified>,
    is_temporary: bool,
}

impl Partial {
    /// Opens the file at `offset` if the bytes before `offset` are unchanged; returns the hash of these bytes.
    pub(super) fn begin(
        root: &Root,
        entry: &FileEntry,
        offset: u64,
        expected: Option<Hash>,
        reading: &Reading,
    ) -> io::Result<(Self, blake3::Hasher)> {
        let mut partial = Self::open(root, entry, offset)?;
        let hasher = reading.hash(&mut partial.file, offset)?;
        if offset > 0 && expected != Some(hasher.finalize().into()) {
            return Err(io::Error::other("another program changed it"));
        }
        partial.file.set_len(offset)?;
        partial.file.seek(SeekFrom::Start(offset))?;
        Ok((partial, hasher))
    }

    fn open(root: &Root, entry: &FileEntry, offset: u64) -> io::Result<Self> {
        let (place, file) = open(root, &entry.name, entry.size != Some(offset) || offset == 0)?;
        let (mode, modified) = (entry.mode, entry.modified);
        // A stream of unknown size cannot be compared with the sender's next stream.
        Ok(Self { place, file, mode, modified, is_temporary: entry.size.is_none() })
    }

    /// Writes a whole file that is in memory under its temporary name.
    pub(super) fn store(root: &Root, entry: &FileEntry, contents: &[u8]) -> io::Result<Self> {
        let mut partial = Self::open(root, entry, 0)?;
        partial.file.set_len(0)?;
        partial.file.write_all(contents)?;
        Ok(partial)
    }

    /// Handle of the partial file, with a position shared by all copies.
    pub(super) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Folder in which the file will have its final name.
    pub(super) fn folder(&self) -> &Arc<Folder> {
        &self.place.folder
    }

    /// Sets mode and time of a completely written file, which will soon have its final name. Until then only its owner
    /// may read it.
    pub(super) fn complete(&self) -> io::Result<()> {
        folder::set_mode(&self.file, self.mode)?;
        self.modified.map_or(Ok(()), |time| folder::set_modified(&self.file, time))
    }

    /// Writes the contents of the partial file to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives the partial file its final name; its contents are on the disk.
    pub(super) fn publish(mut self, overwrite: bool) -> io::Result<()> {
        match self.place.folder.rename(&self.place.partial, &self.place.name, overwrite) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
            done => {
                self.is_temporary &= done.is_err();
                done
            }
        }
    }

    /// Deletes the partial file, because its data is useless.
    pub(super) fn discard(mut self) -> io::Result<()> {
        self.is_temporary = false;
        self.place.folder.remove(&self.place.partial)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if self.is_temporary {
            // The failure of the transfer is the error to report.
            let _ = self.place.folder.remove(&self.place.partial);
        }
    }
}

/// Opens or creates an incomplete file that no other transfer is writing. If data will be added, no other user can read it.
fn open(root: &Root, name: &Name, adds_data: bool) -> io::Result<(Place, File)> {
    let place = root.make(name)?;
    let file = match place.folder.open_own(&place.partial)? {
        OwnFile::Open { file, is_private, .. } => {
            lock(&place, &file)?;
            if is_private || !adds_data {
                file
            } else {
                // A user who has already opened the file could read the added data, whatever mode the file
                // gets now.
                place.folder.remove(&place.partial)?;
                create(&place)?
            }
        }
        OwnFile::Closed => {
            place.folder.remove(&place.partial)?;
            create(&place)?
        }
        OwnFile::Nothing => create(&place)?,
    };
    if adds_data {
        folder::set_private(&file)?;
    }
    Ok((place, file))
}

fn create(place: &Place) -> io::Result<File> {
    let file = place.folder.create(&place.partial)?;
    lock(place, &file)?;
    Ok(file)
}

/// Locks an incomplete file against other transfers.
fn lock(place: &Place, file: &File) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) if place.folder.is(&place.partial, file)? => return Ok(()),
            Ok(()) => return Err(busy()),
            // A transfer that has just ended may still be writing its last block.
            Err(TryLockError::WouldBlock) if begin.elapsed() < LAST_WRITE => {
                std::thread::sleep(LAST_WRITE / 10);
            }
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Error(why)) => return Err(why),
        }
    }
}

/// Folder into which the receiver writes.
pub(super) struct Root {
    folder: Arc<Folder>,
    /// Folder of the last file, in which the next file usually is.
    last: Mutex<Option<NamedFolder>>,
}

/// A folder with the name by which it was opened.
type NamedFolder = (Box<[u8]>, Arc<Folder>);

/// Folder and names of one file.
struct Place {
    folder: Arc<Folder>,
    name: OsString,
    partial: OsString,
}

impl Root {
    pub(super) fn new(folder: Folder) -> Self {
        Self { folder: Arc::new(folder), last: Mutex::new(None) }
    }

    /// Finds the folder and entry of a name; `None` if a parent folder does not exist.
    fn find(&self, name: &Name) -> io::Result<Option<Place>> {
        match self.place(name, |_, _| Ok(false)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    /// Creates the folders above a name.
    fn make(&self, name: &Name) -> io::Result<Place> {
        self.place(name, |folder, name| folder.make(name, MODE_MAX))
    }

    /// Opens the folder that contains an entry.
    pub(super) fn folder_of(&self, entry: &FileEntry) -> io::Result<Arc<Folder>> {
        Ok(self.place(&entry.name, |_, _| Ok(false))?.folder)
    }

    /// The receiver's folder and all folders above an entry, and the entry itself if it is a folder.
    pub(super) fn folders_of(&self, entry: &FileEntry) -> io::Result<Vec<Arc<Folder>>> {
        let mut found = vec![Arc::clone(&self.folder)];
        let (parents, last) = entry.name.split();
        for name in parents.chain((entry.kind == EntryKind::Folder).then_some(last)) {
            let inner = found[found.len() - 1].enter(name)?;
            found.push(Arc::new(inner));
        }
        Ok(found)
    }

    fn place(&self, name: &Name, before: impl Fn(&Folder, &OsStr) -> io::Result<bool>) -> io::Result<Place> {
        let (folders, last) = name.split();
        let mut cache = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match &*cache {
            Some((parent, folder)) if **parent == *name.parent() => Arc::clone(folder),
            _ => {
                let mut folder = Arc::clone(&self.folder);
                for name in folders {
                    before(&folder, name)?;
                    folder = Arc::new(folder.enter(name)?);
                }
                *cache = Some((name.parent().into(), Arc::clone(&folder)));
                folder
            }
        };
        Ok(Place { folder, name: last.to_owned(), partial: partial(last).into() })
    }
}

impl Place {
    /// Whether a link can be created here.
    fn check_link(&self, target: &LinkTarget, found: Found, overwrite: bool) -> io::Result<()> {
        match found {
            Found::Nothing => Ok(()),
            Found::Folder | Found::Special => {
                Err(io::Error::other("it exists and is neither a file nor a link"))
            }
            Found::File { .. } | Found::Link if overwrite || self.has_link(target)? => Ok(()),
            Found::File { .. } | Found::Link => Err(exists()),
        }
    }

    fn has_link(&self, target: &LinkTarget) -> io::Result<bool> {
        let found = self.folder.read_link(&self.name)?;
        Ok(found.is_some_and(|found| found.as_bytes() == target.as_bytes()))
    }

    /// Deletes the leftovers of an interrupted transfer under the temporary name.
    fn free_partial(&self) -> io::Result<()> {
        match self.folder.find(&self.partial)? {
            Found::Link => self.folder.remove(&self.partial),
            _ => match self.folder.open_own(&self.partial)? {
                OwnFile::Nothing => Ok(()),
                OwnFile::Closed | OwnFile::Open { .. } => self.folder.remove(&self.partial),
            },
        }
    }

    fn make_link(&self, entry: &FileEntry, target: &LinkTarget, overwrite: bool) -> io::Result<()> {
        if self.has_link(target)? {
            return Ok(());
        }
        let target = OsStr::from_bytes(target.as_bytes());
        match self.folder.make_link(&self.name, target) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
            Err(_) if !overwrite => return Err(exists()),
            Err(_) => {
                self.free_partial()?;
                self.folder.make_link(&self.partial, target)?;
                self.folder.rename(&self.partial, &self.name, true)?;
            }
            Ok(()) => {}
        }
        entry.modified.map_or(Ok(()), |time| self.folder.set_link_modified(&self.name, time))
    }
}

/// The error message for the users at both ends.
pub(super) fn cannot_write(name: &Name, why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::NotFound => format!("cannot write '{name}': its folder no longer exists"),
        _ => format!("cannot write '{name}': {why}"),
    }
}

pub(super) fn exists() -> io::Error {
    io::Error::other("it exists with other contents; recv --overwrite replaces it")
}

pub(super) fn busy() -> io::Error {
    io::Error::other(BUSY)
}

/// Last words of the reason that a sender receives if another transfer writes its file.
pub(super) const BUSY: &str = "another transfer is writing it";
/// Longest wait for a write in progress when a transfer has ended.
const LAST_WRITE: Duration = Duration::from_millis(500);
