//! Progress bars on standard error, which reserve room for the `^C` of an interrupt.

use std::io;

use console::Term;
use indicatif::{MultiProgress, ProgressDrawTarget, TermLike};

/// Creates the progress bars on standard error.
pub(crate) fn bars() -> MultiProgress {
    let terminal = Box::new(Narrowed(Term::buffered_stderr()));
    MultiProgress::with_draw_target(ProgressDrawTarget::term_like_with_hz(terminal, REFRESH))
}

/// A terminal that reserves room at the end of its lines for the `^C` of an interrupt. Otherwise `^C` would
/// move to the next line, and the bar could no longer be removed.
#[derive(Debug)]
struct Narrowed(Term);

impl TermLike for Narrowed {
    fn width(&self) -> u16 {
        self.0.size().1.saturating_sub(ROOM)
    }

    fn height(&self) -> u16 {
        self.0.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.0.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.0.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Width of `^C` and of the cursor, columns.
const ROOM: u16 = 3;
/// Number of redraws per second, equal to indicatif's default.
const REFRESH: u8 = 20;
