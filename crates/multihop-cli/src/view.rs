//! Implements `multihop view`: a page that shows a run in a browser.

use std::path::{Path, PathBuf};

use multihop_scenario::Extensions;
use serde_json::json;

use crate::args::ViewArgs;
use crate::page::{self, Shown, beside};
use crate::sweep_folder::SweepFolder;
use crate::terminal::Verbosity;
use crate::{CommandError, output};

/// Writes the page of a run, or the playground.
pub(crate) fn view(
    args: &ViewArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let sweep = args.file.as_deref().map(|name| SweepFolder::open(name, extensions)).transpose()?.flatten();
    if let Some(sweep) = sweep {
        let Some(chosen) = sweep.choose(args)? else { return Ok(()) };
        let path = args.out.as_deref().unwrap_or(&chosen.page);
        page::write(&chosen.shown.page(extensions, verbosity)?, path)?;
        return say(path, false);
    }
    if args.run.is_some() {
        let message = "--run chooses a run of a folder that multihop sweep --out has written";
        return Err(CommandError::Usage(message.to_owned()));
    }
    let (page, path) = match &args.file {
        Some(name) => {
            (Shown::named(name, &args.changes.overrides())?.page(extensions, verbosity)?, beside(name))
        }
        None => (page::filled(&json!({ "runs": [] }))?, PathBuf::from("playground.html")),
    };
    let path = args.out.as_deref().unwrap_or(&path);
    page::write(&page, path)?;
    say(path, false)
}

/// Prints the path of a page.
pub(crate) fn say(path: &Path, stdout_is_taken: bool) -> Result<(), CommandError> {
    let message = format!("{}: open it in a browser", path.display());
    if stdout_is_taken {
        eprintln!("{message}");
    } else {
        output::line(format_args!("{message}"))?;
    }
    Ok(())
}
