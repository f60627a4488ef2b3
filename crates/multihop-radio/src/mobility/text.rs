//! Limits, numbers and problems that the readers of movement files share.

use core::fmt;

use multihop_core::{Duration, Instant};

/// An error in a movement file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// Line of the file where reading failed, counted from 1.
    pub line: usize,
    /// Value that was found and values that are allowed.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.message)
    }
}

impl core::error::Error for Problem {}

/// The non-empty lines of a file, numbered from 1.
pub(super) fn lines(text: &str) -> Result<impl Iterator<Item = (usize, &str)>, Problem> {
    if text.len() > LONGEST_FILE {
        let message = format!("found {} bytes, allowed: up to {LONGEST_FILE}", text.len());
        return Err(Problem { line: 1, message });
    }
    let text = text.trim_start_matches('\u{feff}');
    Ok((1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty()))
}

/// Reads a coordinate in metres, at most [`FARTHEST`] from the origin.
pub(super) fn coordinate(text: &str) -> Result<f64, String> {
    number(text, -FARTHEST, FARTHEST)
}

/// Reads an instant given in seconds since the start, from 0 to [`LATEST`].
pub(super) fn time(text: &str) -> Result<Instant, String> {
    number(text, 0.0, LATEST).map(|seconds| Instant::ZERO + Duration::from_secs_f64(seconds))
}

pub(super) fn number(text: &str, low: f64, high: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        _ => Err(format!("found {:?}, allowed: a number from {low:e} to {high:e}", shorten(text))),
    }
}

/// Formats an instant as seconds with nine decimals, which is exact.
pub(super) fn seconds(at: Instant) -> String {
    let nanos = at.as_nanos();
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Truncates `text` to at most 60 characters.
pub(super) fn shorten(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}

/// Largest allowed coordinate, metres from the origin.
pub const FARTHEST: f64 = 1e7;
/// Latest instant of a movement file, in seconds.
pub const LATEST: f64 = 1e9;
/// Largest size of a movement file, bytes.
pub const LONGEST_FILE: usize = 64 << 20;
/// Largest number of nodes in a movement file.
pub const MAX_NODES: usize = 100_000;
