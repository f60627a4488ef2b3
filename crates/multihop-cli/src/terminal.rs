//! How much is said, and how wide the terminal is.

use clap::{ArgAction, Args};
use terminal_size::Width;

/// How much a command says.
#[derive(Args, Clone, Copy)]
pub(crate) struct Verbosity {
    /// Print only results, errors and what is left out; no progress.
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more of what happens; repeat for even more.
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// Columns of the terminal to which standard output goes; `None` for files and pipes, which have no limit.
pub(crate) fn width_of_output() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| columns.into())
}

/// The begin of a line, so long that it fits.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(3)).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn lines_are_cut_by_characters() {
        assert_eq!(cut("fünf äpfel", 10), "fünf äpfel");
        assert_eq!(cut("fünf äpfel", 9), "fünf ä...");
        assert_eq!(cut("fünf", 2), "...");
    }
}
