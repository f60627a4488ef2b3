//! Files with one entry per line, which users edit too. Empty lines and lines that begin with `#` are ignored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::identity::{in_file, invalid};

/// The entries of a file; `parse` gets the number of the line, from 1. A missing file counts as empty.
pub(super) fn load<T>(path: &Path, parse: fn(usize, &str) -> Result<T, String>) -> io::Result<Vec<T>> {
    let text = match fs::read_to_string(path) {
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

/// Adds a line to the file, which only its owner can read; returns the number of the line.
pub(super) fn append(path: &Path, line: &str) -> io::Result<usize> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut file = private(OpenOptions::new().append(true).create(true)).open(path)?;
    let before = fs::read_to_string(path)?;
    // An editor may have left the last line without a line break.
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    file.write_all(format!("{gap}{line}").as_bytes())?;
    file.sync_all()?;
    Ok(before.lines().count() + 1)
}

/// Removes the lines with these numbers. The file is replaced at once: a crash leaves the old or the new one.
pub(super) fn remove(path: &Path, numbers: &[usize]) -> io::Result<()> {
    let text = fs::read_to_string(path)?;
    let numbered = text.lines().enumerate().map(|(n, line)| (n + 1, line));
    let kept = numbered.filter(|(number, _)| !numbers.contains(number));
    let kept: String = kept.flat_map(|(_, line)| [line, "\n"]).collect();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file: File = private(OpenOptions::new().write(true).create(true).truncate(true)).open(&new)?;
    file.write_all(kept.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
