//! Progress of a command: a bar on a terminal, occasional lines elsewhere, nothing for short work.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use multihop_scenario::Scenario;
use multihop_sim::Progress;

use crate::bars::bars;
use crate::terminal::Verbosity;

/// Shows the finished share of the work, on standard error.
pub(crate) struct ProgressDisplay {
    what: String,
    begin: Instant,
    bar: Option<ProgressBar>,
    verbosity: Verbosity,
    lines: Lines,
    /// Simulated time of a run, s; `None` if the share of the work differs from the share of the simulated time.
    simulated: Option<f64>,
    /// Share of the work that earlier commands have completed.
    stored: f64,
}

impl ProgressDisplay {
    /// Starts the clock of any work.
    pub(crate) fn new(what: &str, verbosity: Verbosity) -> Self {
        Self {
            what: what.to_owned(),
            begin: Instant::now(),
            bar: None,
            verbosity,
            lines: Lines::default(),
            simulated: None,
            stored: 0.0,
        }
    }

    /// Starts the clock of one run.
    pub(crate) fn of_run(scenario: &Scenario, verbosity: Verbosity) -> Self {
        // The rate of paced flows is found by many runs.
        let is_searched = scenario.flows.iter().any(|flow| flow.app.name() == "paced");
        let mut display = Self::new(&scenario.name, verbosity);
        display.simulated = (!is_searched).then(|| scenario.duration.as_secs_f64());
        display
    }

    /// Prints a line if the user wants details.
    fn tell(&self, text: &str) {
        if self.verbosity.verbose == 0 {
            return;
        }
        let line = || eprintln!("{}: {text}", self.what);
        self.bar.as_ref().map_or_else(line, |bar| bar.suspend(line));
    }

    /// Shows the completed share of the work, from 0 to 1.
    pub(crate) fn show(&mut self, share: f64) {
        let note = self.simulated.map(|seconds| simulated(share, seconds));
        self.show_with(share, note.as_deref());
    }

    /// Shows the completed share of the work, with a note such as `3 of 12 runs`.
    fn show_with(&mut self, share: f64, note: Option<&str>) {
        if self.verbosity.quiet {
            return;
        }
        let elapsed = self.begin.elapsed();
        let text = || state(note, share, left(elapsed, share - self.stored, 1.0 - share));
        if std::io::stderr().is_terminal() {
            if elapsed >= PATIENCE {
                let text = text();
                let bar = self.bar.get_or_insert_with(|| bar(&self.what));
                bar.set_prefix(text);
                bar.set_position(per_mille(share));
            }
        } else if self.lines.is_due(elapsed) {
            eprintln!("{}: {}", self.what, text());
        }
    }
}

/// Removes the bar from the terminal.
impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {prefix}");
    let bar = bars().add(ProgressBar::new(1000).with_message(what.to_owned()));
    bar.set_style(style.expect("the template is valid").progress_chars("=> "));
    bar
}

/// State of progress lines, which are printed at intervals where standard error is no terminal.
#[derive(Default)]
struct Lines {
    /// Time of the last line, relative to the beginning of the work.
    last: Option<Duration>,
}

impl Lines {
    /// Whether a line is printed now.
    fn is_due(&mut self, elapsed: Duration) -> bool {
        let due = self.last.map_or(FIRST_LINE, |last| last + BETWEEN_LINES);
        let is_due = elapsed >= due;
        if is_due {
            self.last = Some(elapsed);
        }
        is_due
    }
}

/// Text of the state: a note, the share, and the remaining time if known.
fn state(note: Option<&str>, share: f64, left: Option<Duration>) -> String {
    let percent = format!("{}%", per_mille(share) / 10);
    let left = left.map(|left| format!("{} left", in_words(left)));
    note.map(str::to_owned).into_iter().chain([percent]).chain(left).collect::<Vec<_>>().join(", ")
}

fn simulated(share: f64, seconds: f64) -> String {
    let digits = if seconds < 10.0 { 2 } else { 0 };
    format!("{:.digits$} of {seconds} simulated s", share * seconds)
}

/// Estimated remaining time if the share `done` took `elapsed` and the share `rest` proceeds at the same speed.
fn left(elapsed: Duration, done: f64, rest: f64) -> Option<Duration> {
    let seconds = elapsed.as_secs_f64() * rest.max(0.0) / done;
    (done > 0.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

/// A time in a suitable unit.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..59.5 => format!("{seconds:.0} s"),
        ..3570.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
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
        self.update(|state| state.display.stored += 1.0 / self.runs as f64, 1.0, true);
    }

    /// Reports the progress of one run, which continues while `control` returns `Continue`. A run that fails does not
    /// count as finished.
    pub(crate) fn follow<T, E>(
        &self,
        control: impl Fn() -> ControlFlow<()>,
        run: impl FnOnce(Progress<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut before = 0.0;
        let outcome = run(&mut |share| {
            self.update(|_| (), share - before, false);
            before = share;
            control()
        });
        if outcome.is_ok() {
            self.update(|_| (), 1.0 - before, true);
        }
        outcome
    }

    fn update(&self, change: impl FnOnce(&mut RunsState), share: f64, is_over: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.share += share;
        state.finished += usize::from(is_over);
        let note = format!("{} of {} runs", state.finished, self.runs);
        if is_over {
            state.display.tell(&note);
        }
        let share = state.share / self.runs as f64;
        state.display.show_with(share, Some(&note));
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
fn per_mille(share: f64) -> u64 {
    // A sum of shares may miss a whole number by rounding errors.
    (share * 1000.0 + 1e-6) as u64
}

/// Duration of a run from which on a progress bar is shown.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time of the first line without a terminal.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// Time between two lines.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: Verbosity = Verbosity { quiet: true, verbose: 0 };

    #[test]
    fn long_work_without_a_terminal_prints_a_line_every_half_minute() {
        let mut lines = Lines::default();
        let seconds = (0..3600_u64).filter(|second| lines.is_due(Duration::from_secs(*second)));
        let seconds: Vec<u64> = seconds.collect();
        assert_eq!(seconds[..4], [10, 40, 70, 100]);
        assert_eq!(seconds.len(), 120);
    }

    #[test]
    fn the_state_of_a_run_has_simulated_time_share_and_remaining_time() {
        let note = simulated(0.25, 400.0);
        let left = left(Duration::from_secs(60), 0.25, 0.75);
        assert_eq!(state(Some(&note), 0.25, left), "100 of 400 simulated s, 25%, 3 min left");
        assert_eq!(state(None, 0.0, None), "0%");
        assert_eq!(simulated(0.5, 2.5), "1.25 of 2.5 simulated s");
        for (seconds, words) in [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3569, "59 min"), (5400, "1.5 h")] {
            assert_eq!(in_words(Duration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn stored_runs_count_as_finished_and_take_no_time() {
        let progress = RunsProgress::new("x", 10, SILENT);
        (0..8).for_each(|_| progress.had());
        let one = |progress: Progress<'_>| -> Result<(), ()> {
            assert!(progress(0.5).is_continue());
            Ok(())
        };
        progress.follow(|| ControlFlow::Continue(()), one).unwrap();
        let state = progress.state.lock().unwrap();
        assert_eq!(state.finished, 9);
        assert_eq!(per_mille(state.share / 10.0), 900);
        let done = state.share / 10.0 - state.display.stored;
        // One of two runs has taken ten seconds.
        let left = left(Duration::from_secs(10), done, 1.0 - state.share / 10.0);
        assert_eq!(left.map(in_words).as_deref(), Some("10 s"));
    }

    #[test]
    fn a_run_that_fails_does_not_count_as_finished() {
        let progress = RunsProgress::new("x", 2, SILENT);
        let fails = |progress: Progress<'_>| {
            let _ = progress(0.5);
            Err::<(), ()>(())
        };
        assert_eq!(progress.follow(|| ControlFlow::Break(()), fails), Err(()));
        assert_eq!(progress.state.lock().unwrap().finished, 0);
    }
}
