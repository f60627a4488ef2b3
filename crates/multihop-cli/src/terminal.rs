//! Terminal: verbosity of notes, and width.

use std::fmt::Arguments;

use clap::{ArgAction, Args};
use terminal_size::Width;

/// Verbosity of a command: which messages it prints.
#[derive(Args, Clone, Copy)]
pub(crate) struct Verbosity {
    /// Print only results, errors, and notes of what the command skipped; no progress.
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Report more events; repeat the option for still more.
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// Columns of the terminal of standard output; `None` for files and pipes, which have no limit.
pub(crate) fn width_of_output() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| columns.into())
}

/// Prints a message to standard error; a terminal gets line breaks between words.
pub(crate) fn note(message: Arguments<'_>) {
    let width = terminal_size::terminal_size_of(std::io::stderr()).map(|(Width(columns), _)| columns.into());
    eprintln!("{}", broken(&message.to_string(), width.unwrap_or(usize::MAX)));
}

/// Breaks lines longer than `width` at spaces; a longer word is not broken.
fn broken(text: &str, width: usize) -> String {
    text.lines().map(|line| broken_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn broken_line(line: &str, width: usize) -> String {
    let mut column = 0;
    let mut out = String::with_capacity(line.len());
    for (place, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if place == 0 {
            column = length;
        } else if column + 1 + length > width {
            out.push('\n');
            column = length;
        } else {
            out.push(' ');
            column += 1 + length;
        }
        out += word;
    }
    out
}

/// The longest beginning of a line that fits into the width.
pub(crate) fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(3)).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::{broken, cut};

    #[test]
    fn lines_are_cut_by_characters() {
        assert_eq!(cut("fünf äpfel", 10), "fünf äpfel");
        assert_eq!(cut("fünf äpfel", 9), "fünf ä...");
        assert_eq!(cut("fünf", 2), "...");
    }

    #[test]
    fn messages_are_broken_between_words() {
        let text = "multihop: fünf äpfel\nund birnen";
        assert_eq!(broken(text, usize::MAX), text);
        assert_eq!(broken(text, 14), "multihop: fünf\näpfel\nund birnen");
        assert_eq!(broken("a verylongword b", 5), "a\nverylongword\nb");
        assert_eq!(broken("  a b", 4), "  a\nb");
    }
}
