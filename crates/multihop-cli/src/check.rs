//! `multihop check`.

use std::path::Path;

use multihop_scenario::{Extensions, Problems, Scenario};

use crate::args::CheckArgs;
use crate::terminal::Verbosity;
use crate::{CommandError, diagnostics, input, output};

/// Checks scenarios and every combination of their sweeps.
pub(crate) fn check(
    args: &CheckArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let mut checked = Ok(());
    for file in &args.files {
        match check_one(file, extensions) {
            Ok(()) if verbosity.quiet => {}
            Ok(()) => output::line(format_args!("{}: no problems", file.display()))?,
            Err(problems) => {
                diagnostics::print(&problems);
                checked = Err(CommandError::Reported);
            }
        }
    }
    checked
}

fn check_one(file: &Path, extensions: &Extensions) -> Result<(), Problems> {
    let source = input::source(file)?;
    let scenario = Scenario::load_with(&source, &[], extensions)?;
    if scenario.sweep.is_some() {
        multihop_sim::sweep::Plan::new_with(&source, &[], extensions)?;
    }
    Ok(())
}
