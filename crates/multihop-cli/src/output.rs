//! Standard output and files.

use std::fmt::{self, Arguments};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Prints one line on standard output.
pub(crate) fn line(text: Arguments<'_>) -> anyhow::Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
        written => written.context("cannot write to standard output"),
    }
}

/// The reader of standard output has closed it, as `head` does when it has seen enough.
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

/// Creates a folder and its parents.
pub(crate) fn folder(path: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))
}

/// A file under a temporary name, which it loses when it is complete. It is deleted when it is dropped before.
pub(crate) struct NewFile {
    path: PathBuf,
    /// `None` for a device or a pipe, which is written directly.
    part: Option<PathBuf>,
}

/// Creates a file. A failure leaves the file that had the name before.
pub(crate) fn file(path: &Path) -> anyhow::Result<(BufWriter<File>, NewFile)> {
    // A link is followed.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_special = path.metadata().is_ok_and(|found| !found.is_file());
    let part = (!is_special).then(|| with_end(&path, ".part"));
    let opened = match &part {
        Some(part) => multihop_net::own::create(part, 0o666),
        None => File::options().write(true).open(&path),
    };
    let file = opened.with_context(|| format!("cannot create {}", path.display()))?;
    Ok((BufWriter::new(file), NewFile { path, part }))
}

impl NewFile {
    /// Where it is until then.
    pub(crate) fn place(&self) -> &Path {
        self.part.as_deref().unwrap_or(&self.path)
    }

    /// Gives the file its name: everything has been written and flushed.
    pub(crate) fn keep(mut self) -> anyhow::Result<()> {
        let Some(part) = &self.part else { return Ok(()) };
        let kept = File::open(part).and_then(|file| file.sync_all());
        let kept = kept.and_then(|()| std::fs::rename(part, &self.path));
        kept.with_context(|| format!("cannot write {}", self.path.display()))?;
        self.part = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // The reason why it is incomplete is the error to report.
            let _ = std::fs::remove_file(part);
        }
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

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
        // A killed program has left it.
        fs::write(&part, "half a line").unwrap();
        json_file(&path, &1).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1\n");
        assert!(!part.exists());
    }
}
