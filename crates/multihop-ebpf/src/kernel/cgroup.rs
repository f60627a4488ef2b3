//! Control groups (cgroups), to whose sockets programs can be attached.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

use crate::TcpError;

/// A cgroup and its open directory.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
    directory: File,
}

impl Cgroup {
    /// Cgroup that contains all processes.
    pub(super) fn root() -> Result<Self, TcpError> {
        Self::open(mount()?)
    }

    pub(super) fn open(path: PathBuf) -> Result<Self, TcpError> {
        let directory = File::open(&path).map_err(|error| failed("cannot open", &path, error))?;
        Ok(Self { path, directory })
    }

    /// Creates an empty cgroup below the cgroup of this process, named after the process.
    fn child() -> Result<Self, TcpError> {
        let path = current()?.join(format!("{}{}", prefix()?, process::id()));
        fs::create_dir(&path).map_err(|error| failed("cannot make the cgroup", &path, error))?;
        Self::open(path)
    }

    /// Moves this process into the cgroup.
    fn enter(&self) -> Result<(), TcpError> {
        fs::write(self.path.join("cgroup.procs"), process::id().to_string())
            .map_err(|error| failed("cannot enter the cgroup", &self.path, error))
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// A cgroup for one program. It is removed with this value, unless processes of the program remain in it.
#[derive(Debug)]
pub(super) struct Scratch(Cgroup);

impl Scratch {
    pub(super) fn new() -> Result<Self, TcpError> {
        Cgroup::child().map(Self)
    }

    /// Calls a function while this process is in the cgroup. Programs started by the function stay in the
    /// cgroup.
    pub(super) fn within<T>(&self, function: impl FnOnce() -> T) -> Result<T, TcpError> {
        let home = Cgroup::open(current()?)?;
        self.0.enter()?;
        let result = function();
        home.enter()?;
        Ok(result)
    }
}

impl AsFd for Scratch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The cgroup stays while processes remain in it; the next command removes it afterwards.
        let _ = fs::remove_dir(&self.0.path);
    }
}

/// Removes empty cgroups of commands that were killed.
pub(super) fn sweep() {
    let (Ok(parent), Ok(prefix)) = (current(), prefix()) else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(prefix.as_str()));
        if owner.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The cgroup of this process.
fn current() -> Result<PathBuf, TcpError> {
    let groups = read("/proc/self/cgroup")?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/")).ok_or(TcpError::NoCgroups)?;
    Ok(mount()?.join(path))
}

/// Directory at which cgroups of version 2 are mounted.
fn mount() -> Result<PathBuf, TcpError> {
    mount_in(&read("/proc/self/mounts")?).ok_or(TcpError::NoCgroups)
}

fn mount_in(mounts: &str) -> Option<PathBuf> {
    // A line contains device, directory, type and options.
    let mut rows = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    rows.find(|row| row.get(2) == Some(&"cgroup2")).and_then(|row| row.get(1).map(PathBuf::from))
}

fn read(file: &str) -> Result<String, TcpError> {
    fs::read_to_string(file).map_err(|error| failed("cannot read", Path::new(file), error))
}

fn failed(what: &str, path: &Path, error: io::Error) -> TcpError {
    TcpError::File { what: format!("{what} {}", path.display()), error }
}

/// Prefix of the names of cgroups for one program, which end with the number of the creating process. It
/// includes the namespace, because other namespaces may use the same process number.
fn prefix() -> Result<String, TcpError> {
    namespace().map(|namespace| format!("multihop-tcp-{namespace}-"))
}

/// Inode number of the process-number namespace of this process.
pub(super) fn namespace() -> Result<u64, TcpError> {
    let path = Path::new("/proc/self/ns/pid");
    fs::metadata(path).map(|found| found.ino()).map_err(|error| failed("cannot read", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_version_2_is_found_among_others() {
        let mounts =
            "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount_in(mounts), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mount_in("proc /proc proc rw 0 0\n"), None);
    }
}
