//! Place of one node in a file of positions.

use crate::document::shorten;

/// Named or numbered node of a layout, with its position.
#[derive(Debug, PartialEq)]
pub(super) struct Place {
    pub(super) name: Option<String>,
    /// Position in metres: x, y.
    pub(super) position: [f64; 2],
}

/// A coordinate in metres, or a message that names the line.
pub(super) fn coordinate(text: &str, line: impl FnOnce() -> usize) -> Result<f64, String> {
    let metres = text.trim().parse().ok().filter(|metres: &f64| metres.abs() <= FARTHEST);
    metres.ok_or_else(|| {
        let (line, text) = (line(), shorten(text));
        format!("{line}: found {text:?}, allowed: a number from -{FARTHEST:e} to {FARTHEST:e}")
    })
}

/// Largest allowed coordinate, metres from the origin.
const FARTHEST: f64 = 1e7;
