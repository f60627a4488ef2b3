//! Standard output and files.

use std::fmt::Arguments;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;

/// Prints one line on standard output.
pub(crate) fn line(text: Arguments<'_>) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{text}").context("cannot write to standard output")
}

/// Prints one JSON document on standard output.
pub(crate) fn json(document: &impl serde::Serialize, pretty: bool) -> anyhow::Result<()> {
    let text = if pretty { serde_json::to_string_pretty(document) } else { serde_json::to_string(document) };
    line(format_args!("{}", text.context("cannot write the result as JSON")?))
}

/// Creates a folder and its parents.
pub(crate) fn folder(path: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))
}

/// Creates a file.
pub(crate) fn file(path: &Path) -> anyhow::Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    Ok(BufWriter::new(file))
}
