//! Files with one entry per line, which users edit too. Empty lines and lines that begin with `#` are ignored.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use multihop_disk::durable;

/// The entries of a file; `parse` gets the number of the line, from 1. A missing file counts as empty.
pub(super) fn load<T>(path: &Path, parse: fn(usize, &str) -> Result<T, String>) -> io::Result<Vec<T>> {
    let text = match read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(in_file(path, &error)),
    };
    let numbered = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
    let entries = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = |(number, line)| {
        parse(number, line)
            .map_err(|problem| invalid(format!("{}, line {number}: {problem}", path.display())))
    };
    entries.map(read).collect()
}

/// Reads a file of keys. Fails if all users can write to the file, because its lines decide which keys are trusted.
fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    if file.metadata()?.mode() & 0o002 != 0 {
        let name = path.display();
        let text = format!("all users can write to this file; check its lines, then run chmod o-w {name}");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Adds a line to the file, which only its owner can read; returns the number of the line. A loss of power leaves the old
/// or the new file; in a folder in which this process may create no file, as in a sandbox, it may leave a part of the line.
pub(super) fn append(path: &Path, line: &str) -> io::Result<usize> {
    if let Some(folder) = path.parent() {
        durable::create_folders(folder)?;
    }
    let mut number = 0;
    let mut added = |before: &str| {
        number = before.lines().count() + 1;
        // An editor may have left the last line without a line break.
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        format!("{gap}{line}")
    };
    match durable::edit_private(path, |before| before.to_owned() + &added(before)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path.is_file() => {
            let text = added(&read(path)?);
            let mut file = File::options().append(true).open(path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
        }
        edited => edited?,
    }
    Ok(number)
}

/// Removes the lines with these numbers. A loss of power leaves the old or the new file.
pub(super) fn remove(path: &Path, numbers: &[usize]) -> io::Result<()> {
    durable::edit_private(path, |before| {
        let numbered = before.lines().enumerate().map(|(n, line)| (n + 1, line));
        let kept = numbered.filter(|(number, _)| !numbers.contains(number));
        kept.flat_map(|(_, line)| [line, "\n"]).collect()
    })
}

pub(super) fn in_file(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

pub(super) fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_that_all_users_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "a line\n").unwrap();
        let lines = || load(&path, |_, line| Ok(line.to_owned()));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(lines().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(lines().unwrap(), ["a line"]);
    }

    #[test]
    fn a_removal_writes_into_no_file_that_others_have_prepared() {
        let folder = tempfile::tempdir().unwrap();
        let [path, new, precious] = ["file", "file.part", "precious"].map(|name| folder.path().join(name));
        fs::write(&path, "one\ntwo\n").unwrap();
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, &new).unwrap();
        remove(&path, &[1]).unwrap_err();
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        fs::remove_file(&new).unwrap();
        remove(&path, &[1]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two\n");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            fs::write(&path, &text).unwrap();
            let entries = load(&path, |number, line| Ok((number, line.to_owned()))).unwrap();
            prop_assert!(entries.len() <= text.lines().count());
            prop_assert!(entries.iter().all(|(number, line)| text.lines().nth(number - 1).unwrap().trim() == line));
        }
    }
}
