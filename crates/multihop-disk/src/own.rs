//! Files of this user in folders to which other users may write.
//!
//! Another user can prepare a file, a link or a pipe under a name that can be guessed, to read or redirect what is
//! written there.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::sys::stat::{FileStat, SFlag};
use nix::unistd::geteuid;

/// Creates a file for writing in a folder where other users may create files under the same name; the umask reduces
/// `mode`. A regular file of this user, left by a killed program, is replaced. Anything else with this name is
/// refused.
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check(path.as_os_str(), Identity::from(&fs::symlink_metadata(path)?))?;
            fs::remove_file(path)?;
            create()
        }
        created => created,
    }
}

/// Owner, type and number of names (hard links) of a file.
pub struct Identity {
    is_regular: bool,
    owner: u32,
    names: u64,
}

impl From<&Metadata> for Identity {
    fn from(found: &Metadata) -> Self {
        Self { is_regular: found.is_file(), owner: found.uid(), names: found.nlink() }
    }
}

impl From<&FileStat> for Identity {
    fn from(found: &FileStat) -> Self {
        let is_regular = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG;
        #[expect(clippy::useless_conversion, reason = "it is shorter on other systems")]
        Self { is_regular, owner: found.st_uid, names: found.st_nlink.into() }
    }
}

/// Refuses everything but a regular file of this user with one name.
pub fn check(name: &OsStr, found: Identity) -> io::Result<()> {
    if !found.is_regular || found.names > 1 {
        Err(not_regular(name))
    } else if found.owner != geteuid().as_raw() {
        Err(io::Error::other(format!("{} belongs to another user", name.display())))
    } else {
        Ok(())
    }
}

/// The error for a link, a pipe, a device, a folder, or a file with several names.
pub fn not_regular(name: &OsStr) -> io::Error {
    io::Error::other(format!("{} exists and is not a regular file, or has several names", name.display()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn only_an_own_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (path, precious) = (folder.path().join("a"), folder.path().join("precious"));
        fs::write(&precious, "precious").unwrap();
        let create = || create(&path, 0o600);
        create().unwrap().write_all(b"old and long").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        create().unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);

        let refused = |expected: &str| {
            let error = create().unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}");
            fs::remove_file(&path).unwrap();
        };
        fs::remove_file(&path).unwrap();
        symlink(&precious, &path).unwrap();
        refused("is not a regular file, or has several names");
        fs::hard_link(&precious, &path).unwrap();
        refused("is not a regular file, or has several names");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        refused("is not a regular file, or has several names");
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        fs::write(&path, "bait").unwrap();
        if chown(&path, Some(12_345), None).is_ok() {
            refused("belongs to another user");
        }
    }
}
