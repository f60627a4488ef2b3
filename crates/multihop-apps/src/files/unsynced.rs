//! Entries that must reach the disk before a transfer is reported as complete: names, links, modes, and
//! existing files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use super::folder::Folder;
use super::message::{EntryKind, FileEntry};
use super::place::{Root, cannot_write};

/// Folders and files that may have to be synced, opened before the folders get their final modes, which may prevent
/// opening.
pub(super) struct Unsynced {
    /// Folders that are synced individually.
    folders: Vec<Arc<Folder>>,
    files: Vec<File>,
    /// Folders whose whole file systems are synced at the next commit.
    file_systems: FileSystems,
}

/// One folder of each file system, by which the file system is synced.
pub(super) type FileSystems = BTreeMap<u64, Arc<Folder>>;

impl Unsynced {
    /// The entries of a list whose files have their final names. `present` contains the indices of files that
    /// this transfer has not written; another program may have written them without a sync.
    pub(super) fn of(root: &Root, entries: &[FileEntry], present: &[u32]) -> Result<Self, String> {
        let mut found = Self { folders: Vec::new(), files: Vec::new(), file_systems: FileSystems::new() };
        let is_small = !syncs_file_systems(entries.len());
        let mut last = None;
        for (index, entry) in (0..).zip(entries) {
            let added = if is_small {
                found.add_alone(root, entry, present.binary_search(&index).is_ok())
            } else {
                found.add_file_system(root, entry, &mut last)
            };
            added.map_err(|why| cannot_write(&entry.name, &why))?;
        }
        Ok(found)
    }

    fn add_alone(&mut self, root: &Root, entry: &FileEntry, is_present: bool) -> io::Result<()> {
        let folders = root.folders_of(entry)?;
        if is_present && let (Some(folder), (_, name)) = (folders.last(), entry.name.split()) {
            self.files.push(folder.open_file(name)?);
        }
        self.folders.extend(folders);
        Ok(())
    }

    fn add_file_system(
        &mut self,
        root: &Root,
        entry: &FileEntry,
        last: &mut Option<Arc<Folder>>,
    ) -> io::Result<()> {
        let parent = root.folder_of(entry)?;
        let folder = match entry.kind {
            EntryKind::Folder => Arc::new(parent.enter(entry.name.split().1)?),
            EntryKind::File | EntryKind::Link(_) => parent,
        };
        if last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, &folder)) {
            self.file_systems.insert(folder.device()?, Arc::clone(&folder));
            *last = Some(folder);
        }
        Ok(())
    }

    /// Writes everything to the disk.
    pub(super) fn sync(&self) -> Result<(), String> {
        let files = || self.files.iter().try_for_each(File::sync_all);
        let folders = || self.folders.iter().try_for_each(|folder| folder.sync());
        let synced = files().and_then(|()| folders()).and_then(|()| sync_file_systems(&self.file_systems));
        synced.map_err(|why| format!("cannot write to the disk: {why}"))
    }
}

/// Whether to sync whole file systems instead of this number of files. Syncing a few files takes less time
/// than syncing a file system that other programs use.
pub(super) fn syncs_file_systems(files: usize) -> bool {
    files > FEW && cfg!(target_os = "linux")
}

#[cfg(target_os = "linux")]
pub(super) fn sync_file_systems(folders: &FileSystems) -> io::Result<()> {
    folders.values().try_for_each(|folder| folder.sync_all())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn sync_file_systems(_: &FileSystems) -> io::Result<()> {
    Ok(())
}

const FEW: usize = 4;
