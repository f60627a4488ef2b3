//! Implements `multihop motion`, which writes the movements of a scenario for other programs.

use std::io::{self, BufWriter, Write};

use anyhow::Context;
use multihop_core::Duration;
use multihop_scenario::{Extensions, Scenario};
use multihop_sim::motion::{Format, Motion};

use crate::args::{MotionArgs, MotionFormat};
use crate::check::contents;
use crate::terminal::Verbosity;
use crate::{CommandError, input, output};

/// Writes the movement of a scenario's nodes.
pub(crate) fn motion(
    args: &MotionArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    let source = input::source(&args.file)?;
    let scenario = Scenario::load_with(&source, &args.changes.overrides(), extensions)?;
    if verbosity.verbose > 0 {
        eprintln!("{}: {}", args.file.display(), contents(&scenario));
    }
    let motion = Motion::of(&scenario).map_err(anyhow::Error::from)?;
    let format = match args.format {
        MotionFormat::Ns2 => Format::Ns2,
        MotionFormat::Bonnmotion => Format::Bonnmotion,
        MotionFormat::Netanim => Format::Netanim { every: args.every.unwrap_or(EVERY) },
        MotionFormat::Links => Format::Links { every: args.every.unwrap_or(EVERY) },
    };
    if args.format == MotionFormat::Links && !motion.has_powers() {
        let message =
            "--format links needs reception by SINR: --set radio.model=sinr, or another radio.budget";
        return Err(CommandError::Usage(message.to_owned()));
    }
    match &args.out {
        Some(path) => {
            let (out, file) = output::file(path)?;
            let written = write(motion, format, out);
            written.with_context(|| format!("cannot write {}", path.display()))?;
            file.keep()?;
            if verbosity.verbose > 0 {
                eprintln!("wrote {}", path.display());
            }
        }
        None => write(motion, format, BufWriter::new(io::stdout().lock()))
            .context("cannot write to standard output")?,
    }
    Ok(())
}

fn write(motion: Motion, format: Format, mut out: impl Write) -> io::Result<()> {
    motion.write(format, &mut out)?;
    out.flush()
}

/// Time between two frames of an animation, or between two measurements of links.
const EVERY: Duration = Duration::from_millis(500);
