//! A folder held open: names are resolved in it one by one, and no link is followed.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{Mode, SFlag, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

/// An open folder, which remains the same when its path is renamed or replaced.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

/// What a name refers to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Found {
    Nothing,
    File { size: u64 },
    Folder,
    Other,
}

impl Folder {
    /// Opens the folder that the user named; its path may contain links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?))
    }

    /// Another handle of the same folder.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Opens a folder in this one.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match openat(&self.0, name, flags, Mode::empty()) {
            Ok(folder) => Ok(Self(folder)),
            // With O_DIRECTORY a link is an error: ENOTDIR on Linux, ELOOP elsewhere.
            Err(Errno::ENOTDIR | Errno::ELOOP) => {
                Err(io::Error::new(io::ErrorKind::NotADirectory, "the name exists and is not a folder"))
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Creates a folder in this one unless it exists.
    pub(super) fn make(&self, name: &OsStr) -> io::Result<()> {
        match mkdirat(&self.0, name, Mode::from_bits_truncate(0o777)) {
            Err(Errno::EEXIST) | Ok(()) => Ok(()),
            Err(other) => Err(other.into()),
        }
    }

    /// What this name refers to; a link is `Other`.
    pub(super) fn find(&self, name: &OsStr) -> io::Result<Found> {
        let found = match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => return Ok(Found::Nothing),
            found => found?,
        };
        Ok(match SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => Found::File { size: found.st_size.try_into().unwrap_or(0) },
            SFlag::S_IFDIR => Found::Folder,
            _ => Found::Other,
        })
    }

    /// Opens an existing file for reading.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let file = File::from(openat(&self.0, name, OFlag::O_RDONLY | FILE, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("is not a file")) }
    }

    /// Opens a file for reading and writing; creates it if missing.
    pub(super) fn make_file(&self, name: &OsStr, executable: bool) -> io::Result<File> {
        let mode = if executable { 0o777 } else { 0o666 };
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | FILE;
        let file = File::from(openat(&self.0, name, flags, Mode::from_bits_truncate(mode))?);
        let found = file.metadata()?;
        // Another program may have replaced it by a pipe, a device or a hard link.
        if found.is_file() && found.nlink() <= 1 {
            Ok(file)
        } else {
            Err(io::Error::other("the name exists and is not a regular file"))
        }
    }

    /// Whether a file still has this name.
    pub(super) fn is(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        let file = file.metadata()?;
        match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => Ok(false),
            found => Ok(found.map(|found| (found.st_dev, found.st_ino) == (file.dev(), file.ino()))?),
        }
    }

    /// Renames a file to its final name, and syncs the folder.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr, overwrite: bool) -> io::Result<()> {
        if overwrite {
            nix::fcntl::renameat(&self.0, from, &self.0, to)?;
        } else {
            self.rename_new(from, to)?;
        }
        nix::unistd::fsync(&self.0).map_err(io::Error::from)
    }

    /// Deletes a file.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Free bytes of the file system.
    pub(super) fn free(&self) -> io::Result<u64> {
        let found = nix::sys::statvfs::fstatvfs(&self.0)?;
        Ok(found.blocks_available().saturating_mul(found.fragment_size()))
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let flags = nix::fcntl::RenameFlags::RENAME_NOREPLACE;
        match nix::fcntl::renameat2(&self.0, from, &self.0, to, flags) {
            // Not every file system supports it.
            Err(Errno::EINVAL | Errno::ENOSYS) => self.rename_after_look(from, to),
            done => Ok(done?),
        }
    }

    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.rename_after_look(from, to)
    }

    fn rename_after_look(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match self.find(to)? {
            Found::Nothing => Ok(nix::fcntl::renameat(&self.0, from, &self.0, to)?),
            _ => Err(Errno::EEXIST.into()),
        }
    }
}

/// A pipe must not block.
const FILE: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK);
