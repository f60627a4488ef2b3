//! Complete files that wait for their final names. Syncing many small files one by one would take most of a
//! transfer's time. Therefore a batch is synced at once, and only then renamed: a crash leaves no incomplete
//! file with its final name.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::folder::Folder;
use super::message::FileEntry;
use super::names::Name;
use super::place::{Partial, Root, cannot_write};
use super::unsynced::{FileSystems, sync_file_systems, syncs_file_systems};

/// Files that have arrived and wait to be published together.
#[derive(Default)]
pub(super) struct Batch {
    files: Vec<(FileEntry, Arrived)>,
    /// Bytes of the batch in memory.
    bytes: usize,
    /// Time at which the first file of the batch arrived.
    since: Option<Instant>,
}

enum Arrived {
    /// Whole contents of a small file, in memory.
    Memory(Vec<u8>),
    /// A file that is complete under its temporary name.
    Disk(Partial),
}

impl Batch {
    /// Adds a file that is in memory.
    pub(super) fn add_contents(&mut self, entry: FileEntry, contents: Vec<u8>) {
        self.bytes += contents.len();
        self.add(entry, Arrived::Memory(contents));
    }

    /// Adds a file that is written.
    pub(super) fn add_partial(&mut self, entry: FileEntry, partial: Partial) {
        self.add(entry, Arrived::Disk(partial));
    }

    fn add(&mut self, entry: FileEntry, arrived: Arrived) {
        self.since.get_or_insert_with(Instant::now);
        self.files.push((entry, arrived));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether the batch should be committed now.
    pub(super) fn is_due(&self) -> bool {
        self.files.len() >= FILES_MAX
            || self.bytes >= BYTES_MAX
            || self.since.is_some_and(|since| since.elapsed() >= AGE_MAX)
    }

    /// Names of the files in the batch.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.files.iter().map(|(entry, _)| &entry.name)
    }

    /// Syncs the contents of all files of the batch, then renames each file to its final name. Stops at the
    /// first file that cannot be written. The renames themselves are not synced.
    pub(super) fn commit(self, root: &Root, overwrite: bool) -> Result<(), String> {
        let mut ready = Vec::with_capacity(self.files.len());
        let mut written = Ok(());
        for (entry, arrived) in self.files {
            match write(root, &entry, arrived) {
                Ok(partial) => ready.push((entry.name, partial)),
                Err(why) => {
                    written = Err(cannot_write(&entry.name, &why));
                    break;
                }
            }
        }
        publish(ready, overwrite, sync_file_systems).and(written)
    }
}

/// Writes these files to the disk, then gives each its final name.
fn publish(
    ready: Vec<(Name, Partial)>,
    overwrite: bool,
    sync_file_systems: impl Fn(&FileSystems) -> io::Result<()>,
) -> Result<(), String> {
    let Some((first, _)) = ready.first() else { return Ok(()) };
    if syncs_file_systems(ready.len()) {
        let synced = by_device(&ready).and_then(|folders| sync_file_systems(&folders));
        synced.map_err(|why| cannot_write(first, &why))?;
    } else {
        for (name, partial) in &ready {
            partial.sync().map_err(|why| cannot_write(name, &why))?;
        }
    }
    for (name, partial) in ready {
        partial.publish(overwrite).map_err(|why| cannot_write(&name, &why))?;
    }
    Ok(())
}

fn write(root: &Root, entry: &FileEntry, arrived: Arrived) -> io::Result<Partial> {
    let partial = match arrived {
        Arrived::Memory(contents) => Partial::store(root, entry, &contents)?,
        Arrived::Disk(partial) => partial,
    };
    partial.complete()?;
    Ok(partial)
}

/// Finds one folder of each file system that contains these files.
fn by_device(ready: &[(Name, Partial)]) -> io::Result<FileSystems> {
    let mut found = FileSystems::new();
    let mut last: Option<&Arc<Folder>> = None;
    for folder in ready.iter().map(|(_, partial)| partial.folder()) {
        if last.is_none_or(|last| !Arc::ptr_eq(last, folder)) {
            found.insert(folder.device()?, Arc::clone(folder));
            last = Some(folder);
        }
    }
    Ok(found)
}

/// Largest number of files in a batch. All files stay open until the commit ends, so that many simultaneous
/// transfers need a higher limit of descriptors.
const FILES_MAX: usize = 256;
const BYTES_MAX: usize = 4 << 20;
/// Longest time that a batch waits for its commit, so that over a slow path files appear soon after their
/// arrival.
const AGE_MAX: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::super::message::EntryKind;
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_batch_is_synced_once_and_only_then_renamed() {
        let folder = tempfile::TempDir::new().unwrap();
        let root = Root::new(Folder::open(folder.path()).unwrap());
        let entry = |n: u32| {
            let (kind, size) = (EntryKind::File, Some(4));
            let name = Name::parse(format!("sub/{n}").as_bytes()).unwrap();
            FileEntry { kind, mode: 0o644, modified: None, size, stored: 4, name }
        };
        let store = |n: u32| {
            let contents = n.to_le_bytes().to_vec();
            (entry(n).name, write(&root, &entry(n), Arrived::Memory(contents)).unwrap())
        };
        let names = || {
            let names = fs::read_dir(folder.path().join("sub")).unwrap();
            let mut names: Vec<_> =
                names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let syncs = Cell::new(0);
        let sync = |folders: &FileSystems| {
            syncs.set(syncs.get() + 1);
            assert_eq!((folders.len(), names().len()), (1, 100));
            for name in names() {
                assert!(name.ends_with(".part"), "{name} before the sync");
                assert_eq!(fs::metadata(folder.path().join("sub").join(name)).unwrap().len(), 4);
            }
            Ok(())
        };
        publish((0..100).map(store).collect(), false, sync).unwrap();
        assert_eq!(syncs.get(), 1);
        assert_eq!(names().len(), 100);
        assert!(names().iter().all(|name| {
            fs::read(folder.path().join("sub").join(name)).unwrap()
                == name.parse::<u32>().unwrap().to_le_bytes()
        }));
    }
}
