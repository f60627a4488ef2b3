//! A folder held open: names are resolved component by component relative to it, and no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{
    Mode, SFlag, UtimensatFlags, fchmod, fstat, fstatat, futimens, mkdirat, umask, utimensat,
};
use nix::sys::time::TimeSpec;
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};

use super::message::Modified;
use multihop_disk::own::{self, Identity};

/// An open folder, which remains the same when its path is renamed or replaced.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

/// Kind of the entry that a name refers to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Found {
    Nothing,
    File {
        size: u64,
    },
    Folder,
    /// A symbolic link, whatever it points to.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// An incomplete file of an earlier transfer.
#[derive(Debug)]
pub(super) enum OwnFile {
    Nothing,
    /// The mode of the file does not let its owner open it.
    Closed,
    Open {
        file: File,
        size: u64,
        /// Whether no other user can have opened the file.
        is_private: bool,
    },
}

impl Folder {
    /// Opens the folder that the user named; its path may contain links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?))
    }

    /// Opens a folder in this one.
    pub(super) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match openat(&self.0, name, flags, Mode::empty()) {
            Ok(folder) => Ok(Self(folder)),
            // With O_DIRECTORY, opening a link fails: ENOTDIR on Linux, ELOOP on other systems.
            Err(Errno::ENOTDIR | Errno::ELOOP) => {
                Err(io::Error::new(io::ErrorKind::NotADirectory, "the name exists and is not a folder"))
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Creates a folder in this one unless it exists; returns whether it was created. The owner can write to the
    /// folder until its final mode is set.
    pub(super) fn make(&self, name: &OsStr, mode: u16) -> io::Result<bool> {
        match mkdirat(&self.0, name, Mode::from_bits_truncate((mode | 0o700).into())) {
            Ok(()) => Ok(true),
            Err(Errno::EEXIST) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    /// Sets the mode, less this process's umask.
    pub(super) fn set_mode(&self, mode: u16) -> io::Result<()> {
        set_mode(&self.0, mode)
    }

    /// Sets the modification time of the folder.
    pub(super) fn set_modified(&self, time: Modified) -> io::Result<()> {
        set_modified(&self.0, time)
    }

    /// Device number of the file system that contains the folder.
    pub(super) fn device(&self) -> io::Result<u64> {
        Ok(File::from(self.0.try_clone()?).metadata()?.dev())
    }

    /// Kind of file at this name; links are not followed.
    pub(super) fn find(&self, name: &OsStr) -> io::Result<Found> {
        let found = match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => return Ok(Found::Nothing),
            found => found?,
        };
        Ok(match SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT {
            SFlag::S_IFREG => Found::File { size: found.st_size.try_into().unwrap_or(0) },
            SFlag::S_IFDIR => Found::Folder,
            SFlag::S_IFLNK => Found::Link,
            _ => Found::Special,
        })
    }

    /// Opens an existing file for reading.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        let file = File::from(openat(&self.0, name, OFlag::O_RDONLY | FILE, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("is not a file")) }
    }

    /// Opens an incomplete file of an earlier transfer for reading and writing. Other users may have prepared the name:
    /// it must be a regular file of this user, without other names.
    pub(super) fn open_own(&self, name: &OsStr) -> io::Result<OwnFile> {
        let flags = OFlag::O_RDWR | FILE;
        let file = match openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::ENOENT) => return Ok(OwnFile::Nothing),
            Err(Errno::EACCES) => {
                let found = fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
                own::check(name, Identity::from(&found))?;
                return Ok(OwnFile::Closed);
            }
            Err(Errno::ELOOP | Errno::ENXIO | Errno::EISDIR) => return Err(own::not_regular(name)),
            Err(other) => return Err(other.into()),
        };
        let found = file.metadata()?;
        own::check(name, Identity::from(&found))?;
        let is_private = found.mode() & 0o077 == 0;
        Ok(OwnFile::Open { file, size: found.len(), is_private })
    }

    /// Creates a file for reading and writing, for its owner only. The name must be free.
    pub(super) fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | FILE;
        Ok(File::from(openat(&self.0, name, flags, PRIVATE)?))
    }

    /// Whether the name still refers to this file.
    pub(super) fn is(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        let file = fstat(file)?;
        match fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => Ok(false),
            found => Ok(found.map(|found| (found.st_dev, found.st_ino) == (file.st_dev, file.st_ino))?),
        }
    }

    /// Renames a file or link to its final name. `overwrite` allows replacing files and links only.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr, overwrite: bool) -> io::Result<()> {
        if !overwrite {
            return self.rename_new(from, to);
        }
        match self.find(to)? {
            Found::Nothing | Found::File { .. } | Found::Link => {
                Ok(nix::fcntl::renameat(&self.0, from, &self.0, to)?)
            }
            Found::Folder | Found::Special => {
                Err(io::Error::other("it exists and is neither a file nor a link"))
            }
        }
    }

    /// Creates a symbolic link in the folder.
    pub(super) fn make_link(&self, name: &OsStr, target: &OsStr) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name)?)
    }

    /// Sets the modification time of a symbolic link.
    pub(super) fn set_link_modified(&self, name: &OsStr, time: Modified) -> io::Result<()> {
        let [access, change] = times(time);
        Ok(utimensat(&self.0, name, &access, &change, UtimensatFlags::NoFollowSymlink)?)
    }

    /// The target of a symbolic link; `None` if the name is not one.
    pub(super) fn read_link(&self, name: &OsStr) -> io::Result<Option<OsString>> {
        match nix::fcntl::readlinkat(&self.0, name) {
            Err(Errno::ENOENT | Errno::EINVAL) => Ok(None),
            target => Ok(Some(target?)),
        }
    }

    /// Writes the names in this folder to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(nix::unistd::fsync(&self.0)?)
    }

    /// Writes all data of this folder's file system to the disk.
    #[cfg(target_os = "linux")]
    pub(super) fn sync_all(&self) -> io::Result<()> {
        Ok(nix::unistd::syncfs(&self.0)?)
    }

    /// Deletes the file with this name.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Free bytes of the file system.
    #[cfg_attr(
        target_os = "linux",
        expect(clippy::useless_conversion, reason = "macOS counts blocks in 32 bits")
    )]
    pub(super) fn free(&self) -> io::Result<u64> {
        let found = nix::sys::statvfs::fstatvfs(&self.0)?;
        Ok(u64::from(found.blocks_available()).saturating_mul(found.fragment_size()))
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let flags = nix::fcntl::RenameFlags::RENAME_NOREPLACE;
        match nix::fcntl::renameat2(&self.0, from, &self.0, to, flags) {
            // Not every file system supports this operation.
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

/// Takes all rights to an open file from other users.
pub(super) fn set_private(file: impl AsFd) -> io::Result<()> {
    Ok(fchmod(file, PRIVATE)?)
}

/// Sets the mode of an open file, less this process's umask.
pub(super) fn set_mode(file: impl AsFd, mode: u16) -> io::Result<()> {
    Ok(fchmod(file, Mode::from_bits_truncate(mode.into()) & !usual_umask())?)
}

/// Sets the modification time of an open file.
pub(super) fn set_modified(file: impl AsFd, time: Modified) -> io::Result<()> {
    let [access, change] = times(time);
    Ok(futimens(file, &access, &change)?)
}

fn times(time: Modified) -> [TimeSpec; 2] {
    #[expect(clippy::useless_conversion, reason = "it is shorter on 32-bit systems")]
    let seconds = time.seconds.try_into().unwrap_or(0);
    [TimeSpec::UTIME_OMIT, TimeSpec::new(seconds, time.nanoseconds.into())]
}

/// The process's umask at its first use.
fn usual_umask() -> Mode {
    static UMASK: OnceLock<Mode> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let usual = umask(Mode::S_IRWXG | Mode::S_IRWXO);
        umask(usual);
        usual
    })
}

/// Mode of incomplete files, which only their owner can read.
const PRIVATE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
/// Flags with which files are opened: a pipe must not block.
const FILE: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK);
