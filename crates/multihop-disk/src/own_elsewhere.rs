use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a file for writing; an existing regular file is replaced, anything else with this name is refused. The mode
/// has no effect.
pub fn create(path: &Path, _mode: u32) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).open(path);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !fs::symlink_metadata(path)?.is_file() {
                return Err(io::Error::other(format!("{} exists and is not a regular file", path.display())));
            }
            fs::remove_file(path)?;
            create()
        }
        created => created,
    }
}
