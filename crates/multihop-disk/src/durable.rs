//! Files and folders that are whole after a loss of power: a file is the old one, the new one, or has a temporary name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::own;

/// A file that is written under a temporary name and gets its final name when it is complete. It is deleted if
/// dropped before.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    /// Path with the temporary name; `None` for a device or a pipe, which is written directly.
    part: Option<PathBuf>,
}

impl NewFile {
    /// Creates a file named like `path` with the suffix `.part`; the umask reduces `mode`. A symbolic link at `path`
    /// is followed. A device or pipe at `path` is opened for writing.
    pub fn create(path: &Path, mode: u32) -> io::Result<(File, Self)> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Ok((OpenOptions::new().write(true).open(&path)?, Self { path, part: None }));
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = PathBuf::from(name);
        Ok((own::create(&part, mode)?, Self { path, part: Some(part) }))
    }

    /// Takes over a file with this temporary name that an earlier process has begun. Both are in one folder.
    pub fn resume(path: &Path, part: &Path) -> Self {
        Self { path: path.to_owned(), part: Some(part.to_owned()) }
    }

    /// The path that is written: with the temporary name, except for a device or a pipe.
    pub fn place(&self) -> &Path {
        self.part.as_deref().unwrap_or(&self.path)
    }

    /// The path of the complete file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name, in place of an existing file. All contents must have been written to the [`File`];
    /// when this returns, they and the name are on the disk.
    pub fn keep(self) -> io::Result<()> {
        self.publish(|part, path| fs::rename(part, path))
    }

    /// Gives the file its name unless that exists, which is the error [`ErrorKind::AlreadyExists`]; otherwise as
    /// [`keep`](Self::keep).
    pub fn keep_new(self) -> io::Result<()> {
        self.publish(rename_new)
    }

    fn publish(mut self, rename: impl FnOnce(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        // Windows syncs only what is open for writing.
        OpenOptions::new().read(true).write(cfg!(windows)).open(part)?.sync_all()?;
        rename(part, &self.path)?;
        self.part = None;
        sync_folder(parent(&self.path))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // The reason why the file is incomplete is the error to report.
            let _ = fs::remove_file(part);
        }
    }
}

/// Writes a new file that only its owner can read. An existing file is the error [`ErrorKind::AlreadyExists`].
pub fn write_new_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let (mut file, new) = NewFile::create(path, PRIVATE)?;
    file.write_all(contents)?;
    new.keep_new()
}

/// Replaces the text of a file, which only its owner can read, by what `change` makes of it; a missing file has no text.
/// Changes by several processes happen one after another.
pub fn edit_private(path: &Path, change: impl FnOnce(&str) -> String) -> io::Result<()> {
    // Without locks, as on some network file systems, the last of two simultaneous changes remains.
    let folder = File::open(parent(path)).ok();
    let _ = folder.as_ref().map(File::lock);
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let (mut file, new) = NewFile::create(path, PRIVATE)?;
    file.write_all(change(&before).as_bytes())?;
    new.keep()
}

/// Creates a folder and its parents; their names are on the disk when this returns. Existing folders are kept.
pub fn create_folders(path: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut folder = path;
    while !folder.as_os_str().is_empty() && !folder.is_dir() {
        missing.push(folder);
        folder = folder.parent().unwrap_or(Path::new(""));
    }
    fs::create_dir_all(path)?;
    // Another program may have created the last folder without a sync.
    if missing.is_empty() {
        missing.push(path);
    }
    missing.into_iter().rev().try_for_each(|folder| sync_folder(parent(folder)))
}

/// Creates a folder in an existing one; its name is on the disk when this returns. An existing folder is kept.
pub fn create_folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
        created => created?,
    }
    sync_folder(parent(path))
}

/// Writes the names in a folder to the disk. Does nothing if the file system offers no such operation, or if this user
/// may not read the folder.
fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path).and_then(|folder| folder.sync_all()) {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::InvalidInput | ErrorKind::Unsupported | ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// The folder of a file.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn rename_new(part: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(part, path) {
        Ok(()) => fs::remove_file(part),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Not every file system has hard links.
        Err(_) if path.symlink_metadata().is_ok() => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(part, path),
    }
}

/// The mode of a file for its owner only.
const PRIVATE: u32 = 0o600;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|name| name.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_has_its_name_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let (mut file, new) = NewFile::create(&path, 0o666).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read(new.place()).unwrap(), b"new");
        new.keep().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_file_that_is_dropped_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        drop(NewFile::create(&path, 0o666).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_new_file_replaces_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_new_private(&path, b"first").unwrap();
        let again = write_new_private(&path, b"second").unwrap_err();
        // Somebody creates it in the meantime.
        let late = NewFile::create(&path, 0o600).unwrap().1.keep_new().unwrap_err();
        assert_eq!([again, late].map(|error| error.kind()), [ErrorKind::AlreadyExists; 2]);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_file_of_an_earlier_process_gets_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, part) = (folder.path().join("a"), folder.path().join(".a.part"));
        fs::write(&part, "whole").unwrap();
        NewFile::resume(&path, &part).keep_new().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_link_is_followed_and_a_device_is_written_directly() {
        let folder = tempfile::tempdir().unwrap();
        let [link, target] = ["link", "target"].map(|name| folder.path().join(name));
        fs::write(&target, "old").unwrap();
        symlink(&target, &link).unwrap();
        NewFile::create(&link, 0o666).unwrap().1.keep().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"");
        assert_eq!(fs::read_link(&link).unwrap(), target);
        let (mut file, new) = NewFile::create(Path::new("/dev/null"), 0o666).unwrap();
        file.write_all(b"text").unwrap();
        new.keep().unwrap();
    }

    #[test]
    fn simultaneous_changes_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::thread::scope(|scope| {
            for n in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    (0..10).for_each(|_| edit_private(path, |text| format!("{text}{n}\n")).unwrap());
                });
            }
        });
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 80);
    }

    #[test]
    fn folders_are_created_with_their_parents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        create_folders(&path).unwrap();
        create_folders(&path).unwrap();
        assert!(path.is_dir());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(create_folders(&folder.path().join("file/sub")).is_err());
    }
}
