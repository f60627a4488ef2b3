//! Files that packages install with the command: completions for shells, and manual pages.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::{CommandError, output};

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "multihop", &mut script);
    Ok(output::line(format_args!("{}", String::from_utf8_lossy(&script).trim_end()))?)
}

/// Writes a manual page for each command into a folder.
pub(crate) fn manual(folder: &Path) -> Result<(), CommandError> {
    output::folder(folder)?;
    let written = clap_mangen::generate_to(Args::command(), folder);
    Ok(written.with_context(|| format!("cannot write manual pages into {}", folder.display()))?)
}
