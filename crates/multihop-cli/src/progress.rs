//! Progress of a command: a bar on a terminal, plain lines elsewhere, nothing for short work.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use multihop_sim::Progress;

use crate::bars::bars;
use crate::terminal::Verbosity;

/// Shows the finished share of the work, on standard error.
pub(crate) struct ProgressDisplay {
    what: String,
    begin: Instant,
    bar: Option<ProgressBar>,
    verbosity: Verbosity,
    /// Tenths that have been printed.
    tenths: u8,
}

impl ProgressDisplay {
    /// Starts the clock.
    pub(crate) fn new(what: &str, verbosity: Verbosity) -> Self {
        let what = what.to_owned();
        Self { what, begin: Instant::now(), bar: None, verbosity, tenths: 0 }
    }

    /// Prints a line, if the user wants to know more.
    fn tell(&self, text: &str) {
        if self.verbosity.verbose == 0 {
            return;
        }
        let line = || eprintln!("{}: {text}", self.what);
        self.bar.as_ref().map_or_else(line, |bar| bar.suspend(line));
    }

    /// Shows that this share of the work is done, from 0 to 1.
    pub(crate) fn show(&mut self, share: f64) {
        self.show_with(share, "");
    }

    /// The same with a note, such as `3 of 12 runs`.
    pub(crate) fn show_with(&mut self, share: f64, note: &str) {
        if self.verbosity.quiet || self.begin.elapsed() < PATIENCE {
            return;
        }
        let comma = if note.is_empty() { "" } else { ", " };
        if std::io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| bar(&self.what));
            bar.set_prefix(format!("{note}{comma}"));
            bar.set_position(per_mille(share));
        } else if let Ok(tenths) = u8::try_from(per_mille(share) / 100)
            && tenths > self.tenths
        {
            self.tenths = tenths;
            eprintln!("{}: {note}{comma}{}0%", self.what, tenths);
        }
    }
}

/// Removes the bar.
impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {prefix}{percent}%, {eta} left");
    let bar = bars().add(ProgressBar::new(1000).with_message(what.to_owned()));
    bar.set_style(style.expect("the template is valid").progress_chars("=> "));
    bar
}

/// The progress of a list of runs on several threads.
pub(crate) struct RunsProgress {
    runs: usize,
    state: Mutex<RunsState>,
}

struct RunsState {
    display: ProgressDisplay,
    finished: usize,
    /// The sum of the shares of all runs.
    share: f64,
}

impl RunsProgress {
    /// Starts the clock of a list of `runs`.
    pub(crate) fn new(what: &str, runs: usize, verbosity: Verbosity) -> Self {
        let state = RunsState { display: ProgressDisplay::new(what, verbosity), finished: 0, share: 0.0 };
        Self { runs, state: Mutex::new(state) }
    }

    /// Counts a run that an earlier command has finished.
    pub(crate) fn had(&self) {
        self.grown_by(1.0, true);
    }

    /// Follows one run, which goes on as long as `control` says so.
    pub(crate) fn follow<T>(
        &self,
        control: impl Fn() -> ControlFlow<()>,
        run: impl FnOnce(Progress<'_>) -> T,
    ) -> T {
        let mut before = 0.0;
        let outcome = run(&mut |share| {
            self.grown_by(share - before, false);
            before = share;
            control()
        });
        self.grown_by(1.0 - before, true);
        outcome
    }

    fn grown_by(&self, share: f64, is_over: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.share += share;
        state.finished += usize::from(is_over);
        let note = format!("{} of {} runs", state.finished, self.runs);
        if is_over {
            state.display.tell(&note);
        }
        let share = state.share / self.runs as f64;
        state.display.show_with(share, &note);
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn per_mille(share: f64) -> u64 {
    (share * 1000.0) as u64
}

/// Work that takes less time shows no progress.
const PATIENCE: Duration = Duration::from_secs(2);
