//! Input of scenarios: from files, examples and standard input.

use std::io;
use std::path::Path;

use multihop_scenario::{Problems, Source};

/// Reads a scenario: a file, an example, or `-` for standard input.
pub(crate) fn source(name: &Path) -> Result<Source, Problems> {
    if name == Path::new("-") {
        return Source::from_reader(io::stdin().lock(), "stdin");
    }
    Source::named(name)
}
