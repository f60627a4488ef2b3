//! Output to standard output and to files.

use std::fmt::{self, Arguments};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use multihop_disk::durable;
use multihop_sim::tables::Rows;

/// Prints one line on standard output.
pub(crate) fn line(text: Arguments<'_>) -> anyhow::Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
        written => written.context("cannot write to standard output"),
    }
}

/// The reader of standard output has closed it, like `head` after enough lines.
#[derive(Debug)]
pub(crate) struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output was closed")
    }
}

impl std::error::Error for Closed {}

/// Prints one JSON document on standard output.
pub(crate) fn json(document: &impl serde::Serialize, pretty: bool) -> anyhow::Result<()> {
    let text = if pretty { serde_json::to_string_pretty(document) } else { serde_json::to_string(document) };
    line(format_args!("{}", text.context("cannot write the result as JSON")?))
}

/// Writes one JSON document into a file.
pub(crate) fn json_file(path: &Path, document: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(document).context("cannot write the result as JSON")?;
    let (mut out, file) = file(path)?;
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    written.with_context(|| format!("cannot write {}", path.display()))?;
    file.keep()
}

/// Writes each table of results into a file of a folder: flows.csv, ...
pub(crate) fn csv_files(
    folder: &Path,
    write: impl Fn(Rows, &mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    for rows in Rows::ALL {
        let path = folder.join(format!("{}.csv", rows.name()));
        let (mut out, file) = file(&path)?;
        let written = write(rows, &mut out).and_then(|()| out.flush());
        written.with_context(|| format!("cannot write {}", path.display()))?;
        file.keep()?;
    }
    Ok(())
}

/// Prints a table of results on standard output.
pub(crate) fn csv(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> anyhow::Result<()> {
    let mut text = Vec::new();
    write(&mut text).context("cannot write the result as CSV")?;
    line(format_args!("{}", String::from_utf8_lossy(&text).trim_end_matches('\n')))
}

/// Creates a folder and its parents.
pub(crate) fn folder(path: &Path) -> anyhow::Result<()> {
    durable::create_folders(path).with_context(|| format!("cannot create {}", path.display()))
}

/// A file that is written under a temporary name and gets its final name when it is complete. It is deleted if
/// dropped before.
pub(crate) struct NewFile(durable::NewFile);

/// Creates a file that replaces the old one only when it is complete. After a failure, the old file remains.
pub(crate) fn file(path: &Path) -> anyhow::Result<(BufWriter<File>, NewFile)> {
    let (file, new) = durable::NewFile::create(path, USUAL_MODE)
        .with_context(|| format!("cannot create {}", path.display()))?;
    Ok((BufWriter::new(file), NewFile(new)))
}

impl NewFile {
    /// Path of the file while it is incomplete.
    #[cfg_attr(not(feature = "network"), expect(dead_code, reason = "only commands of the network need it"))]
    pub(crate) fn place(&self) -> &Path {
        self.0.place()
    }

    /// Gives the file its final name, after everything has been written and flushed. The file then survives a loss of
    /// power.
    pub(crate) fn keep(self) -> anyhow::Result<()> {
        let path = self.0.path().to_owned();
        self.0.keep().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Like [`keep`](Self::keep), but refuses to replace an existing file.
    pub(crate) fn keep_new(self) -> anyhow::Result<()> {
        let path = self.0.path().to_owned();
        self.0.keep_new().with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Mode of a new file, reduced by the umask.
const USUAL_MODE: u32 = 0o666;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_that_others_have_prepared_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let [path, part, precious] =
            ["result.json", "result.json.part", "precious"].map(|name| folder.path().join(name));
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, &part).unwrap();
        let error = json_file(&path, &1).unwrap_err();
        assert!(
            format!("{error:#}").contains("result.json.part exists and is not a regular file"),
            "{error:#}"
        );
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        fs::remove_file(&part).unwrap();
        // A killed program has left this file.
        fs::write(&part, "half a line").unwrap();
        json_file(&path, &1).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1\n");
        assert!(!part.exists());
    }
}
