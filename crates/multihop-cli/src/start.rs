//! Starting points for scenarios: `multihop example` and `multihop init`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use multihop_scenario::{EXAMPLES, Example};

use crate::terminal::{self, Verbosity};
use crate::{CommandError, output};

/// Prints an example, or lists all of them.
pub(crate) fn example(name: Option<&str>) -> Result<(), CommandError> {
    let Some(name) = name else { return Ok(list()?) };
    let example = Example::find(name.trim_end_matches(".toml")).ok_or_else(|| {
        let hint = Example::nearest(name).map(|near| format!(", did you mean {near:?}?"));
        let hint = hint.unwrap_or_else(|| "; multihop example lists them".to_owned());
        CommandError::Usage(format!("there is no example {name:?}{hint}"))
    })?;
    Ok(output::line(format_args!("{}", example.text.trim_end()))?)
}

fn list() -> anyhow::Result<()> {
    let longest = EXAMPLES.iter().map(|example| example.name.len()).max().unwrap_or(0);
    let width = terminal::width_of_output().unwrap_or(usize::MAX);
    EXAMPLES.iter().try_for_each(|example| {
        let line = format!("{:longest$}  {}", example.name, example.about());
        output::line(format_args!("{}", terminal::cut(&line, width)))
    })
}

/// Writes a scenario as a starting point; an existing file is not changed.
pub(crate) fn init(file: &Path, verbosity: Verbosity) -> Result<(), CommandError> {
    let shown = file.display();
    if file.exists() {
        return Err(anyhow!("{shown} exists already; name another file: multihop init FILE").into());
    }
    let (mut out, new) = output::file(file)?;
    let written = out.write_all(TEMPLATE.as_bytes()).and_then(|()| out.flush());
    written.with_context(|| format!("cannot write {shown}"))?;
    new.keep_new()?;
    if !verbosity.quiet {
        output::line(format_args!("wrote {shown}; next: multihop run {shown}"))?;
    }
    Ok(())
}

const TEMPLATE: &str = include_str!("template.toml");
